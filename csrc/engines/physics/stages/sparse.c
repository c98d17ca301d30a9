/* What mj_solNewton computes with sparse matrices. Each row of constraints moves degrees of freedom of one chain: so
 * the Hessian H and its factor L (H = L' * L) have the sparsity of the tree of joints in all lanes, and row i of both
 * has the numbers of the degrees of freedom that move i, and of i itself. That of an ancestor of i has the first of
 * these.
 *
 * Up to MuJoCo 3.17, the factor is brought up to date row by row. MuJoCo 4 keeps the Hessian, too, and makes the factor
 * of it again where that is cheaper. */
#include "engines/physics/solver.h"

enum {
    TOGETHER = 4,       /* rows that are added to the Hessian, or taken out of one of its rows, at a time */
    LEAST_COST = 4097,  /* of a factor that may be made again */
    MOST_DOWNDATES = 32 /* before the Hessian is computed again */
};

static const be_vd *row_at(const solver *s, int k) { return s->g->J + (int64_t)k * s->g->m->nv; }

be_vd be_physics_sparse_times(const solver *s, int k, const be_vd *x) {
    const be_physics_group *g = s->g;
    const be_chain chain = g->row_chain[k];
    return be_dot_sparse(row_at(s, k), x - s->first, chain.count, be_chain_dofs(g->m, chain));
}

/* ---- J' * force ---------------------------------------------------------------------------------------- */

int be_physics_sparse_count(const be_physics_group *g) {
    int count = 0;
    for (int k = 0; k < g->num_places; k++) count += g->row_chain[k].count;
    return count;
}

void be_physics_sparse_begin(solver *s, be_column *columns, int *starts) {
    const be_physics_group *g = s->g;
    const be_physics_model *m = g->m;
    const int nv = (int)m->nv;
    s->columns = columns, s->starts = starts;
    for (int i = 0; i <= nv; i++) starts[i] = 0;
    for (int i = 0; i < nv; i++) s->fours[i] = none();
    for (int k = 0; k < s->rows; k++) {
        const int32_t *dofs = be_chain_dofs(m, g->row_chain[k]);
        for (int i = 0; i < g->row_chain[k].count; i++) {
            starts[dofs[i] + 1]++;
            s->fours[dofs[i]] -= s->all[k];
        }
    }
    for (int i = 0; i < nv; i++) s->fours[i] &= ~3, starts[i + 1] += starts[i];
    for (int k = s->rows - 1; k >= 0; k--) { /* from behind: then `starts` end as they were */
        const int32_t *dofs = be_chain_dofs(m, g->row_chain[k]);
        for (int i = 0; i < g->row_chain[k].count; i++) columns[--starts[dofs[i] + 1]] = (be_column){k, k * nv + i};
    }
    for (int i = 0; i < nv; i++) starts[i] = starts[i + 1];
    starts[nv] = be_physics_sparse_count(g);
}

/* mju_dotSparse of the rows of each lane that move degree of freedom i: four partial sums, which take turns, and the
 * rest. The next row of a lane belongs to its first sum; -0 is added where there is nothing to add. */
static be_vd push_of(const solver *s, const be_vd *force, int i) {
    const be_vd nothing = be_set1(-0.0), *J = s->g->J;
    const be_vl fours = s->fours[i];
    be_vd sum[4] = {nothing, nothing, nothing, nothing}, rest[3] = {nothing, nothing, nothing};
    be_vl seen = none();
    for (int e = s->starts[i]; e < s->starts[i + 1]; e++) {
        const be_column *c = &s->columns[e];
        const be_vl here = s->exists[c->place], four = here & (seen < fours), after = here & ~four;
        const be_vd product = J[c->at] * force[c->place], turn = sum[0] + product;
        for (int k = 0; k < 3; k++) sum[k] = be_select(four, sum[k + 1], sum[k]);
        sum[3] = be_select(four, turn, sum[3]);
        if (be_any(after)) {
            for (int k = 0; k < 3; k++) rest[k] = be_select(after & (seen == fours + k), product, rest[k]);
        }
        seen -= here;
    }
    const be_vd whole = be_select(fours > 0, (sum[0] + sum[2]) + (sum[1] + sum[3]), be_set1(0));
    return whole + rest[0] + rest[1] + rest[2];
}

void be_physics_sparse_push(solver *s, const be_vd *force) {
    for (int i = 0; i < s->nv; i++) s->qfrc_constraint[i] = push_of(s, force, s->first + i);
}

/* ---- the Hessian and its factor ------------------------------------------------------------------------ */

/* Adds the squares of `count` rows of one chain to H. */
BE_INLINE void add_squares(const be_physics_model *m, be_vd *H, be_chain chain, const be_vd *const *rows,
                           const be_vd *D, const int count) {
    const int32_t *dofs = be_chain_dofs(m, chain);
    const int before = m->L_rownnz[chain.last] - chain.count;
    for (int i = 0; i < chain.count; i++) {
        be_vd scale[TOGETHER], *to = H + m->L_rowadr[dofs[i]] + before;
        for (int k = 0; k < count; k++) scale[k] = rows[k][i] * D[k];
        for (int j = 0; j <= i; j++) {
            be_vd sum = to[j];
            for (int k = 0; k < count; k++) sum += rows[k][j] * scale[k];
            to[j] = sum;
        }
    }
}

/* Adds the square of each row, times D, to H in the lanes of `plus`, and takes it away in those of `minus`. */
static void add_rows(const solver *s, be_vd *H, const be_vl *plus, const be_vl *minus) {
    const be_physics_group *g = s->g;
    const be_vd *rows[TOGETHER] = {NULL}, zero = be_set1(0);
    be_vd D[TOGETHER] = {zero};
    be_chain chain = {0, 0};
    int count = 0;
    for (int k = 0; k <= s->rows; k++) {
        const int more = k < s->rows;
        if (more && !be_any(minus ? plus[k] | minus[k] : plus[k])) continue;
        const int same = more && g->row_chain[k].last == chain.last && g->row_chain[k].count == chain.count;
        if (count == TOGETHER) {
            add_squares(g->m, H, chain, rows, D, TOGETHER);
            count = 0;
        } else if (!same) {
            for (int i = 0; i < count; i++) add_squares(g->m, H, chain, rows + i, D + i, 1);
            count = 0;
        }
        if (!more) return;
        chain = g->row_chain[k];
        rows[count] = row_at(s, k);
        D[count] = be_select(plus[k], g->D[k], zero);
        if (minus) D[count] = be_select(minus[k], -g->D[k], D[count]);
        count++;
    }
}

/* M and the squares of all rows that are active. */
static void make_H(const solver *s, be_vd *H) {
    const be_physics_group *g = s->g;
    const be_physics_model *m = g->m;
    const int last = s->first + s->nv - 1, begin = m->L_rowadr[s->first];
    be_zero(H + begin, m->L_rowadr[last] + m->L_rownnz[last] - begin);
    add_rows(s, H, s->active, NULL);
    for (int i = s->first; i <= last; i++) { /* M may have the diagonal only */
        be_vd *to = H + m->L_rowadr[i] + m->L_rownnz[i] - m->M_rownnz[i];
        for (int k = 0; k < m->M_rownnz[i]; k++) to[k] += g->M[m->M_rowadr[i] + k];
    }
}

/* Takes `count` rows out of one, which has n numbers. */
BE_INLINE void take_out(be_vd *row, int n, const be_vd *const *rows, const int count) {
    be_vd scale[TOGETHER];
    for (int k = 0; k < count; k++) scale[k] = rows[k][n - 1];
    for (int j = 0; j < n; j++) {
        be_vd rest = row[j];
        for (int k = 0; k < count; k++) rest -= scale[k] * rows[k][j];
        row[j] = rest;
    }
}

/* mju_cholFactorNumeric, in some lanes. Returns those in which rounding has left H without a factor. */
static be_vl factor(const solver *s, be_vl lanes) {
    const be_physics_model *m = s->g->m;
    const int whole = be_mask_bits(~lanes) == 0;
    be_vl singular = none();
    be_vd row[m->nv];
    for (int i = s->first + s->nv - 1; i >= s->first; i--) {
        const int n = m->L_rownnz[i], top = m->L_top[i], end = m->L_end[i];
        const be_vd *rows[TOGETHER] = {NULL};
        int count = 0;
        be_copy(row, s->H + m->L_rowadr[i], n);
        /* Rows after the block, from the first one on, and then those of the block, from the last one on. */
        for (int k = 0; k < end - i - 1; k++) {
            const int other = k < end - top - 1 ? top + 1 + k : end - 1 - k;
            rows[count++] = s->L + m->L_rowadr[other];
            if (count == TOGETHER) take_out(row, n, rows, TOGETHER), count = 0;
        }
        if (count == 3) take_out(row, n, rows, 3);
        if (count == 2) take_out(row, n, rows, 2);
        if (count == 1) take_out(row, n, rows, 1);
        be_vd *to = s->L + m->L_rowadr[i];
        const be_vl bad = row[n - 1] < BE_MINVAL;
        singular |= bad;
        const be_vd diagonal = be_sqrt(be_select(bad, be_set1(BE_MINVAL), row[n - 1])), inverse = 1 / diagonal;
        for (int j = 0; j < n - 1; j++) to[j] = whole ? row[j] * inverse : be_select(lanes, row[j] * inverse, to[j]);
        to[n - 1] = be_select(lanes, diagonal, to[n - 1]);
    }
    return singular & lanes;
}

be_vl be_physics_sparse_factor(solver *s) {
    s->downdates = none();
    make_H(s, s->H);
    return factor(s, BE_ALL_LANES);
}

/* mju_cholUpdateSparse with `count` rows of each lane, one after the other: adds them in the lanes of `plus`, and takes
 * them away in the others. Returns the lanes in which the matrix has lost rank. (See update_factor of newton.c.) */
static be_vl update_factor(const solver *s, be_vd *rows, const be_vl *plus, int count, int last) {
    const be_physics_model *m = s->g->m;
    be_vl lost = none();
    for (int i = last; i >= s->first; i--) {
        const int32_t *dofs = m->L_colind + m->L_rowadr[i];
        const int before = m->L_rownnz[i] - 1;
        be_vd *L = s->L + m->L_rowadr[i];
        for (int k = 0; k < count; k++) {
            be_vd *x = rows + k * m->nv;
            const be_vd own = x[i], diagonal = L[before], square = own * own;
            const be_vl acts = own != 0;
            if (!be_any(acts)) continue;
            be_vd sum = diagonal * diagonal + be_select(plus[k], square, -square);
            const be_vl bad = acts & (sum < BE_MINVAL);
            lost |= bad;
            sum = be_select(bad, be_set1(BE_MINVAL), sum);
            const be_vd r = be_sqrt(sum), c = diagonal / r, sine = -own / r, turn = be_select(plus[k], -sine, sine);
            L[before] = be_select(acts, r, diagonal);
            for (int j = 0; j < before; j++) {
                const be_vd old = L[j], moved = x[dofs[j]];
                L[j] = be_select(acts, c * old + turn * moved, old);
                x[dofs[j]] = be_select(acts, sine * old + c * moved, moved);
            }
        }
    }
    return lost;
}

/* Brings the factor up to date with rows that have changed: those of `changed`, by row, a bit for each lane. Lanes take
 * them in order, but each its own. Returns the lanes in which the matrix has lost rank. */
static be_vl update(const solver *s, unsigned *changed) {
    const be_physics_group *g = s->g;
    unsigned waiting = 0;
    be_vl lost = none(), plus[BE_SPARSE_UPDATES];
    for (int k = 0; k < s->rows; k++) waiting |= changed[k];
    while (waiting) {
        int count = 0, last = s->first;
        for (; waiting && count < BE_SPARSE_UPDATES; count++) {
            unsigned taken = 0; /* lanes that have their row number `count` */
            be_vd *x = s->changes + count * g->m->nv;
            plus[count] = none();
            be_zero(x + s->first, s->nv);
            for (int k = 0; waiting & ~taken && k < s->rows; k++) {
                const unsigned here = changed[k] & ~taken;
                if (!here) continue;
                const be_vl mask = be_lanes_of(here);
                const be_vd root = be_sqrt(g->D[k]), *row = row_at(s, k);
                const int32_t *dofs = be_chain_dofs(g->m, g->row_chain[k]);
                for (int i = 0; i < g->row_chain[k].count; i++) {
                    x[dofs[i]] = be_select(mask, row[i] * root, x[dofs[i]]);
                }
                if (g->row_chain[k].last > last) last = g->row_chain[k].last;
                plus[count] |= s->active[k] & mask;
                changed[k] &= ~here;
                taken |= here;
            }
            waiting = 0;
            for (int k = 0; k < s->rows; k++) waiting |= changed[k];
        }
        lost |= update_factor(s, s->changes, plus, count, last);
        waiting &= ~be_mask_bits(lost);
    }
    return lost;
}

/* The lanes in which MuJoCo 4 makes the factor from the Hessian again (`again`), which it has brought up to date, or
 * has computed again, too (`whole`). */
static void choose(solver *s, const be_vl *before, be_vl going, be_vl *again, be_vl *whole) {
    const be_physics_model *m = s->g->m;
    be_vl cost = none(), downdates = cost;
    int64_t all = 0;
    for (int i = s->first; i < s->first + s->nv; i++) all += (int64_t)m->L_rownnz[i] * m->L_rownnz[i];
    for (int k = 0; k < s->rows; k++) {
        const be_vl changed = (s->active[k] ^ before[k]) & going;
        cost += changed & m->L_cost[s->g->row_chain[k].last];
        downdates -= changed & before[k];
    }
    s->downdates += downdates;
    *whole = (downdates > 0) & (s->downdates >= MOST_DOWNDATES);
    *again = all < LEAST_COST ? none() : ~*whole & (10 * cost > 3 * all);
}

/* Brings the Hessian and its factor up to date, where MuJoCo 4 keeps both. */
static be_vl update_both(solver *s, const be_vl *before, be_vl going) {
    be_vl again, whole, plus[s->rows], minus[s->rows];
    unsigned changed[s->rows];
    choose(s, before, going, &again, &whole);
    for (int k = 0; k < s->rows; k++) {
        plus[k] = s->active[k] & ~before[k] & going, minus[k] = before[k] & ~s->active[k] & going;
        changed[k] = be_mask_bits((plus[k] | minus[k]) & ~again & ~whole);
    }
    add_rows(s, s->H, plus, minus);
    whole |= update(s, changed);
    if (be_any(whole)) {
        const int last = s->first + s->nv - 1, end = s->g->m->L_rowadr[last] + s->g->m->L_rownnz[last];
        make_H(s, s->fresh_H);
        for (int i = s->g->m->L_rowadr[s->first]; i < end; i++) s->H[i] = be_select(whole, s->fresh_H[i], s->H[i]);
        s->downdates &= ~whole;
    }
    return be_any(again | whole) ? factor(s, again | whole) : none();
}

be_vl be_physics_sparse_update(solver *s, const be_vl *before, be_vl going) {
    if (*s->g->m->version >= 4000) return update_both(s, before, going);
    unsigned changed[s->rows];
    for (int k = 0; k < s->rows; k++) changed[k] = be_mask_bits((s->active[k] ^ before[k]) & going);
    const be_vl lost = update(s, changed);
    if (!be_any(lost)) return none();
    make_H(s, s->H);
    return factor(s, lost);
}

/* ---- solving with it ----------------------------------------------------------------------------------- */

/* What the x before make of row i, in MuJoCo 4: rows of a block take the rows before it together. */
static be_vd rest_of(const be_physics_model *m, const be_vd *L, const be_vd *x, int i, int last) {
    const int32_t *dofs = m->L_colind + m->L_rowadr[i];
    const int n = m->L_rownnz[i] - 1, first = m->L_first[i];
    if (first == i && (i == last || m->L_first[i + 1] != i)) return n ? x[i] - be_dot_sparse(L, x, n, dofs) : x[i];
    const int before = m->L_rownnz[first] - 1;
    be_vd sum = be_set1(0), rest;
    for (int j = 0; j < before; j++) sum += L[j] * x[dofs[j]];
    rest = x[i] - sum;
    for (int j = before; j < n; j++) rest -= L[j] * x[dofs[j]];
    return rest;
}

void be_physics_sparse_solve(solver *s) {
    const be_physics_model *m = s->g->m;
    const int last = s->first + s->nv - 1;
    be_vd *x = s->Mgrad - s->first;
    for (int i = last; i >= s->first; i--) {
        const int32_t *dofs = m->L_colind + m->L_rowadr[i];
        const int n = m->L_rownnz[i] - 1;
        const be_vd *L = s->L + m->L_rowadr[i], value = x[i] / L[n];
        const be_vl zero = x[i] == 0;
        x[i] = value;
        if (be_any(zero)) { /* MuJoCo skips these: subtracting 0 could change the sign of a 0 */
            for (int j = 0; j < n; j++) x[dofs[j]] = be_select(zero, x[dofs[j]], x[dofs[j]] - L[j] * value);
        } else {
            for (int j = 0; j < n; j++) x[dofs[j]] -= L[j] * value;
        }
    }
    for (int i = s->first; i <= last; i++) {
        const be_vd *L = s->L + m->L_rowadr[i];
        const int n = m->L_rownnz[i] - 1;
        if (*m->version >= 4000) {
            x[i] = rest_of(m, L, x, i, last);
        } else if (n) {
            x[i] -= be_dot_sparse(L, x, n, m->L_colind + m->L_rowadr[i]);
        }
        x[i] = x[i] / L[n];
    }
}
