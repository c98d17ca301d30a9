/* mj_solNewton with dense matrices. Lanes iterate together: masks say which of them are still at it, and which rows
 * each of them has. MuJoCo's islands are trees of joints that rows move together: they are solved one after the other
 * (mj_solNewton_island). */
#include "engines/physics/cone.h"

/* M times a vector (mju_mulSymVecSparse). */
static void mul_m(const solver *s, be_vd *restrict to, const be_vd *v) {
    const be_physics_model *m = s->g->m;
    for (int i = 0; i < s->nv; i++) {
        const int at = m->M_rowadr[s->first + i], diagonal = m->M_rownnz[s->first + i] - 1;
        const be_vd *row = s->g->M + at;
        be_vd sum = row[diagonal] * v[i];
        for (int k = diagonal - 1; k >= 0; k--) {
            const int j = m->M_colind[at + k] - s->first;
            sum += row[k] * v[j];
            to[j] += row[k] * v[i];
        }
        to[i] = sum;
    }
}

/* ---- cost, gradient, Hessian ------------------------------------------------------------------------- */

/* Half of (Ma - qfrc_smooth) * (qacc - qacc_smooth), summed up on top of `sum`. */
static be_vd gauss(const solver *s, const be_vd *qacc, be_vd sum) {
    for (int i = 0; i < s->nv; i++) sum += 0.5 * (s->Ma[i] - s->qfrc_smooth[i]) * (qacc[i] - s->qacc_smooth[i]);
    return sum;
}

/* Whether qacc_warmstart costs more than qacc_smooth; `warm` and `smooth` are the costs of their rows. From 3.13 on,
 * MuJoCo computes the rest so that a start near qacc_smooth is not cheaper by an error of rounding. (It is not inlined,
 * because gcc 12 then ends with an internal error.) */
__attribute__((noinline)) static be_vl is_cold(solver *s, be_vd warm, be_vd smooth) {
    const be_physics_group *g = s->g;
    if (*g->m->version < 3013) {
        mul_m(s, s->Ma, g->qacc_warmstart);
        return gauss(s, g->qacc_warmstart, warm) > smooth;
    }
    for (int i = 0; i < s->nv; i++) s->search[i] = g->qacc_warmstart[i] - g->qacc_smooth[i];
    mul_m(s, s->Mv, s->search);
    return warm + 0.5 * be_dot(s->Mv, s->search, s->nv) > smooth;
}

static be_vd add_costs(const solver *s, const be_vd *jar, be_vd cost) {
    for (int k = 0; s->plain && k < s->rows; k++) {
        cost = be_select(pushes(s, k, jar[k]), cost + 0.5 * s->g->D[k] * jar[k] * jar[k], cost);
    }
    if (s->plain) return cost;
    const int lasting = (int)(s->g->m->ne + s->g->m->nf);
    for (int k = 0; k < lasting; k++) cost = add_cost(s, k, jar[k], cost);
    for (int k = lasting; k < s->rows; k += s->g->row_dim[k]) {
        for (const int end = plain_end(s, k); k < end; k++) {
            cost = be_select(pushes(s, k, jar[k]), cost + 0.5 * s->g->D[k] * jar[k] * jar[k], cost);
        }
        if (k == s->rows) break;
        const cone c = cone_of(s, k);
        const cone_point p = cone_point_of(&c, jar + k);
        cost = add_cone_cost(&c, jar + k, &p, cost);
    }
    return cost;
}

/* Starts from the cheaper one of qacc_warmstart and qacc_smooth. */
static void warmstart(solver *s) {
    be_physics_group *g = s->g;
    be_vd warm = be_set1(0), smooth = be_set1(0);
    for (int k = 0; k < s->rows; k++) {
        s->base[k] = times_row(s, k, g->qacc_smooth) - g->aref[k];
        s->jar[k] = times_row(s, k, g->qacc_warmstart) - g->aref[k];
    }
    smooth = add_costs(s, s->base, smooth);
    warm = add_costs(s, s->jar, warm);
    const be_vl cold = is_cold(s, warm, smooth);
    for (int i = 0; i < s->nv; i++) g->qacc[i] = be_select(cold, g->qacc_smooth[i], g->qacc_warmstart[i]);
    if (be_any(cold) || *g->m->version >= 3013) mul_m(s, s->Ma, g->qacc);
    for (int k = 0; k < s->rows; k++) s->jar[k] = be_select(cold, s->base[k], s->jar[k]);
}

static void add_force(solver *s, int k, be_vd force) {
    const int dof = only_dof(s, k);
    const be_vd *row = row_of(s, k);
    if (dof >= 0) {
        s->qfrc_constraint[dof] += force;
    } else {
        for (int i = 0; i < s->nv; i++) s->qfrc_constraint[i] += row[i] * force;
    }
}

/* The same for the cone that begins at row k. Returns what it adds up to. */
static be_vd update_cone(solver *s, int k, be_vd cost) {
    const cone c = cone_of(s, k);
    const cone_point p = cone_point_of(&c, s->jar + k);
    be_vd force[BE_CONE_DIMS];
    for (int j = 0; j < c.dim; j++) s->active[k + j] = p.bottom;
    s->middle[k] = p.middle;
    s->has_cones |= be_any(p.middle);
    if (!be_any(p.bottom | p.middle)) return cost;
    cone_forces(&c, s->jar + k, &p, force);
    for (int j = 0; j < c.dim; j++) add_force(s, k + j, force[j]);
    return add_cone_cost(&c, s->jar + k, &p, cost);
}

/* The same, and with what force, with sparse matrices. */
static be_vd update_sparse(solver *s) {
    be_vd cost = be_set1(0), *force = s->quad2; /* which are not in use now */
    const int lasting = (int)(s->g->m->ne + s->g->m->nf);
    for (int k = 0; k < lasting; k++) {
        s->active[k] = is_active(s, k, s->jar[k]);
        cost = add_cost(s, k, s->jar[k], cost);
        force[k] = force_of(s, k);
    }
    for (int k = lasting; k < s->rows; k++) {
        const be_vl active = s->active[k] = pushes(s, k, s->jar[k]);
        const be_vd D = s->g->D[k], jar = s->jar[k];
        cost = be_select(active, cost + 0.5 * D * jar * jar, cost);
        force[k] = be_select(active, -D * jar, be_set1(0));
    }
    be_physics_sparse_push(s, force);
    return cost;
}

/* mj_constraintUpdate: which rows are active, with what force, at what cost. */
static void update_constraints(solver *s) {
    be_vd cost = be_set1(0);
    s->has_cones = 0;
    if (*s->g->m->sparse) {
        s->cost = update_sparse(s) + gauss(s, s->qacc, be_set1(0));
        return;
    }
    be_zero(s->qfrc_constraint, s->nv);
    const int lasting = (int)(s->g->m->ne + s->g->m->nf);
    for (int k = 0; k < lasting; k++) {
        s->active[k] = is_active(s, k, s->jar[k]);
        if (!be_any(s->exists[k])) continue;
        cost = add_cost(s, k, s->jar[k], cost);
        add_force(s, k, force_of(s, k));
    }
    for (int k = lasting; k < s->rows; k += s->g->row_dim[k]) {
        for (const int end = plain_end(s, k); k < end; k++) {
            const be_vl active = s->active[k] = pushes(s, k, s->jar[k]);
            if (!be_any(active)) continue;
            const be_vd D = s->g->D[k], force = be_select(active, -D * s->jar[k], be_set1(0)), *row = row_of(s, k);
            cost = be_select(active, cost + 0.5 * D * s->jar[k] * s->jar[k], cost);
            for (int i = 0; i < s->nv; i++) s->qfrc_constraint[i] += row[i] * force;
        }
        if (k == s->rows) break;
        cost = update_cone(s, k, cost);
    }
    s->cost = cost + gauss(s, s->qacc, be_set1(0));
}

static void find_gradient(solver *s) {
    for (int i = 0; i < s->nv; i++) {
        s->grad[i] = s->Ma[i] - s->qfrc_smooth[i] - s->qfrc_constraint[i];
        s->Mgrad[i] = s->grad[i];
    }
}

/* mju_cholSolve. MuJoCo 4 goes back row by row. */
static void solve_newton_step(solver *s) {
    const int nv = s->nv;
    be_vd *restrict x = s->Mgrad, value; /* `value`: the x that has just been found */
    const be_vd *restrict L = s->has_cones ? s->L_with_cones : s->L;
    find_gradient(s);
    if (*s->g->m->sparse) {
        be_physics_sparse_solve(s);
        return;
    }
    x[0] = value = x[0] / L[0];
    for (int i = 1; i < nv; i++) {
        value = (x[i] - be_dot_and(L + i * nv, x, i - 1, L[i * nv + i - 1] * value)) / L[i * (nv + 1)];
        x[i] = value;
    }
    for (int i = nv - 1; i >= 0; i--) {
        if (*s->g->m->version < 4000) {
            for (int j = i + 1; j < nv; j++) value -= L[j * nv + i] * x[j];
        }
        x[i] = value = value / L[i * (nv + 1)];
        if (!i) break;
        be_vd next = x[i - 1];
        if (*s->g->m->version >= 4000) {
            next -= L[i * nv + i - 1] * value;
            for (int j = 0; j < i - 1; j++) x[j] -= L[i * nv + j] * value;
        }
        value = next;
    }
}

enum {
    TOGETHER = 4, /* rows: those of a contact */
    FEW = 12      /* degrees of freedom, of which it does not pay to leave out any */
};

/* Adds the squares of `count` rows to the lower half of H, row after row, while H is read and written once. */
BE_INLINE void add_rows(be_vd *restrict H, int64_t nv, const be_vd *const *rows, const be_vd *D, const int count) {
    for (int64_t i = 0; i < nv; i++) {
        be_vd scale[TOGETHER], *to = H + i * nv;
        be_vl any = none();
        for (int k = 0; k < count; k++) scale[k] = rows[k][i] * D[k];
        if (nv > FEW) { /* rows of contacts do not move most of the degrees of freedom */
            for (int k = 0; k < count; k++) any |= scale[k] != 0;
            if (!be_any(any)) continue;
        }
        for (int64_t j = 0; j <= i; j++) {
            be_vd sum = to[j];
            for (int k = 0; k < count; k++) sum += rows[k][j] * scale[k];
            to[j] = sum;
        }
    }
}

BE_INLINE void add_rows_of(be_vd *H, int64_t nv, const be_vd *const *rows, const be_vd *D, int count) {
    if (count == TOGETHER) add_rows(H, nv, rows, D, TOGETHER);
    if (count == 3) add_rows(H, nv, rows, D, 3);
    if (count == 2) add_rows(H, nv, rows, D, 2);
    if (count == 1) add_rows(H, nv, rows, D, 1);
}

/* The Hessian of the cost, factored (mju_cholFactor). Returns the lanes in which rounding has left it without a factor.
 */
static be_vl make_hessian(const solver *s, be_vd *restrict H) {
    const be_physics_group *g = s->g;
    const be_physics_model *m = g->m;
    const int nv = s->nv;
    for (int i = 0; i < nv; i++) be_zero(H + i * nv, i + 1);
    const be_vd *rows[TOGETHER] = {NULL};
    be_vd D[TOGETHER] = {be_set1(0)};
    int count = 0;
    const int lasting = (int)(m->ne + m->nf);
    for (int k = 0; k < s->rows; k++) {
        if (!be_any(s->active[k])) continue;
        const int dof = k < lasting ? only_dof(s, k) : -1;
        const be_vd scale = be_select(s->active[k], g->D[k], be_set1(0));
        if (dof >= 0 || count == TOGETHER) {
            add_rows_of(H, nv, rows, D, count);
            count = 0;
        }
        if (dof >= 0) {
            H[dof * (nv + 1)] += scale;
        } else {
            rows[count] = row_of(s, k), D[count++] = scale;
        }
    }
    add_rows_of(H, nv, rows, D, count);
    for (int i = 0; i < nv; i++) {
        const int at = m->M_rowadr[s->first + i];
        for (int k = 0; k < m->M_rownnz[s->first + i]; k++) H[i * nv + m->M_colind[at + k] - s->first] += g->M[at + k];
    }
    be_vl singular = none();
    be_vd below = be_set1(0); /* the number left of the diagonal */
    for (int j = 0; j < nv; j++) {
        be_vd diagonal = H[j * (nv + 1)];
        if (j) diagonal -= be_dot_and(H + j * nv, H + j * nv, j - 1, below * below);
        singular |= diagonal < BE_MINVAL;
        diagonal = be_sqrt(be_select(diagonal < BE_MINVAL, be_set1(BE_MINVAL), diagonal));
        H[j * (nv + 1)] = diagonal;
        const be_vd inverse = 1 / diagonal;
        if (j == nv - 1) break;
        below = (H[(j + 1) * nv + j] - be_dot(H + (j + 1) * nv, H + j * nv, j)) * inverse;
        H[(j + 1) * nv + j] = below;
        for (int i = j + 2; i < nv; i++) H[i * nv + j] = (H[i * nv + j] - be_dot(H + i * nv, H + j * nv, j)) * inverse;
    }
    return singular;
}

/* mju_cholUpdate with `count` rows of each lane, one after the other: adds them in the lanes of `plus`, and takes them
 * away in the others. Columns are the outer loop, because a row waits long for its square root and quotients, and the
 * next row can take the column meanwhile. Returns the lanes in which the matrix has lost rank. */
static be_vl update_factor(const int nv, be_vd *restrict L, be_vd *restrict rows, const be_vl *plus, int count) {
    be_vl lost = none();
    for (int j = 0; j < nv; j++) {
        for (int k = 0; k < count; k++) {
            be_vd *x = rows + k * nv;
            const be_vl acts = x[j] != 0;
            if (!be_any(acts)) continue;
            const be_vd diagonal = L[j * (nv + 1)], square = x[j] * x[j];
            be_vd sum = diagonal * diagonal + be_select(plus[k], square, -square);
            const be_vl bad = acts & (sum < BE_MINVAL);
            lost |= bad;
            sum = be_select(bad, be_set1(BE_MINVAL), sum);
            const be_vd r = be_sqrt(sum), c = r / diagonal, inverse = 1 / c, sine = x[j] / diagonal;
            const be_vd signed_sine = be_select(plus[k], sine, -sine);
            L[j * (nv + 1)] = be_select(acts, r, diagonal);
            for (int i = j + 1; i < nv; i++) {
                const be_vd old = L[i * nv + j], new = be_select(acts, (old + signed_sine * x[i]) * inverse, old);
                L[i * nv + j] = new;
                x[i] = be_select(acts, c * x[i] - sine * new, x[i]);
            }
        }
    }
    return lost;
}

/* Brings the factor up to date after rows have changed in lanes `going`. Lanes take their changed rows in order, but
 * each its own: they wait for the one with most changes, and not for every row that changes anywhere. */
static void update_hessian(solver *s, const be_vl *before, be_vl going) {
    if (*s->g->m->sparse) {
        s->singular |= be_physics_sparse_update(s, before, going);
        return;
    }
    const int nv = s->nv;
    unsigned changed[s->rows], waiting = 0;
    be_vl lost = none(), plus[nv];
    for (int k = 0; k < s->rows; k++) waiting |= changed[k] = be_mask_bits((s->active[k] ^ before[k]) & going);
    while (waiting) {
        int count = 0;
        for (; waiting && count < nv; count++) { /* there is room for nv rows of each lane */
            unsigned taken = 0;                  /* lanes that have their row number `count` */
            be_vd *row_here = s->H + count * nv;
            plus[count] = none();
            be_zero(row_here, nv);
            for (int k = 0; waiting & ~taken && k < s->rows; k++) {
                const unsigned here = changed[k] & ~taken;
                if (!here) continue;
                const be_vl mask = be_lanes_of(here);
                const be_vd root = be_sqrt(s->g->D[k]), *row = row_of(s, k);
                for (int i = 0; i < nv; i++) row_here[i] = be_select(mask, row[i] * root, row_here[i]);
                plus[count] |= s->active[k] & mask;
                changed[k] &= ~here;
                taken |= here;
            }
            waiting = 0;
            for (int k = 0; k < s->rows; k++) waiting |= changed[k];
        }
        lost |= update_factor(nv, s->L, s->H, plus, count);
        waiting &= ~be_mask_bits(lost);
    }
    if (!be_any(lost)) return;
    s->singular |= make_hessian(s, s->H) & lost;
    for (int i = 0; i < s->nv * s->nv; i++) s->L[i] = be_select(lost, s->H[i], s->L[i]);
}

/* Adds the cones that are in their middle zones to a copy of the factor (HessianCone). */
static void add_cones(solver *s) {
    const int nv = s->nv;
    if (!s->has_cones) return;
    be_copy(s->L_with_cones, s->L, (int64_t)nv * nv);
    for (int k = 0; k < s->rows; k += s->g->row_dim[k]) {
        if (s->g->row_dim[k] == 1 || !be_any(s->middle[k])) continue;
        const cone c = cone_of(s, k);
        const cone_point p = cone_point_of(&c, s->jar + k);
        be_vd H[BE_CONE_DIMS * BE_CONE_DIMS];
        be_physics_factor_cone(&c, &p, H);
        be_vl plus[BE_CONE_DIMS];
        be_zero(s->cone_rows, c.dim * nv);
        for (int j = 0; j < c.dim; j++) {
            const be_vd *row = row_of(s, k + j);
            plus[j] = BE_ALL_LANES;
            for (int q = 0; q <= j; q++) {
                for (int i = 0; i < nv; i++) s->cone_rows[q * nv + i] += row[i] * H[j * c.dim + q];
            }
        }
        for (int i = 0; i < c.dim * nv; i++) s->cone_rows[i] = be_select(p.middle, s->cone_rows[i], be_set1(0));
        update_factor(nv, s->L_with_cones, s->cone_rows, plus, c.dim);
    }
}

/* ---- the solver --------------------------------------------------------------------------------------- */

static be_vd at_least_0(be_vd x) { return be_select(x > 0, x, be_set1(0)); }
static be_vd decrement(const solver *s) { return at_least_0(0.5 * s->scale * be_dot(s->grad, s->Mgrad, s->nv)); }
static be_vd gradient_of(const solver *s) { return s->scale * be_sqrt(be_dot(s->grad, s->grad, s->nv)); }

static void set_search(solver *s, be_vl mask) {
    for (int i = 0; i < s->nv; i++) s->search[i] = be_select(mask, s->Mgrad[i] * -1, s->search[i]);
}

static void iterate(solver *s, be_vl going) {
    be_physics_group *g = s->g;
    be_vl before[s->rows];
    set_search(s, BE_ALL_LANES);
    for (int iteration = 0; iteration < *g->m->opt_iterations; iteration++) {
        mul_m(s, s->Mv, s->search);
        const result r = be_physics_search_line(s, going);
        going &= r.at != 0;
        if (!be_any(going)) return;
        for (int i = 0; i < s->nv; i++) {
            s->qacc[i] = be_select(going, s->qacc[i] + s->search[i] * r.at, s->qacc[i]);
            s->Ma[i] = be_select(going, s->Ma[i] + s->Mv[i] * r.at, s->Ma[i]);
        }
        for (int k = 0; k < s->rows; k++) {
            s->jar[k] = be_select(going, s->jar[k] + s->Jv[k] * r.at, s->jar[k]);
            before[k] = s->active[k];
        }
        update_constraints(s);
        if (iteration == *g->m->opt_iterations - 1) return; /* what follows is for the next one */
        update_hessian(s, before, going);
        add_cones(s);
        solve_newton_step(s);
        const be_vd improvement = s->scale * r.improvement, tolerance = s->tolerance;
        going &= ~(((improvement > 0) & (improvement < tolerance)) | (gradient_of(s) < tolerance) |
                   (decrement(s) < tolerance));
        if (!be_any(going)) return;
        set_search(s, going);
    }
}

/* Whether the start is good enough: first with M alone, then with the whole Hessian, which is made for the others. */
static be_vl start(solver *s, be_vl lanes) {
    const be_physics_group *g = s->g;
    update_constraints(s);
    find_gradient(s);
    be_physics_solve(g->m, s->first, s->first + s->nv, s->Mgrad - s->first, g->qLD, g->qLDiagInv);
    const be_vl level = gradient_of(s) < s->tolerance;
    be_vl done = (decrement(s) < s->tolerance) & level;
    if (!be_any(lanes & ~done)) return lanes & ~done;
    s->singular |= (*g->m->sparse ? be_physics_sparse_factor(s) : make_hessian(s, s->L)) & lanes & ~done;
    add_cones(s);
    solve_newton_step(s);
    done |= level & (decrement(s) < s->tolerance);
    return lanes & ~done;
}

/* Divides the group's scratch memory. */
static void lay_out(solver *s) {
    const int64_t nv = s->g->m->nv, rows = s->g->m->num_rows;
    be_vd *next = s->g->solver, **const by_row[] = {&s->jar, &s->Jv, &s->quad0, &s->quad1, &s->quad2, &s->base};
    be_vl **const masks[] = {&s->all, &s->exists, &s->active, &s->middle};
    for (int k = 0; k < 6; k++, next += rows) *by_row[k] = next;
    for (int k = 0; k < 4; k++, next += rows) *masks[k] = (be_vl *)next;
    for (int k = 0; k < 5; k++, next += nv) s->by_dof[k] = next;
    if (*s->g->m->sparse) {
        const int64_t size = s->g->m->nL;
        s->L = next, s->H = next + size, s->fresh_H = next + 2 * size, s->changes = next + 3 * size;
        s->fours = (be_vl *)(s->changes + BE_SPARSE_UPDATES * nv);
        return;
    }
    s->L = next, s->H = next + nv * nv, s->L_with_cones = next + 2 * nv * nv, s->cone_rows = next + 3 * nv * nv;
}

/* From now on, the solver works on degrees of freedom first..end-1. */
static void focus(solver *s, int first, int end) {
    be_physics_group *g = s->g;
    be_vd **const by_dof[] = {&s->Ma, &s->Mv, &s->grad, &s->Mgrad, &s->search};
    s->first = first, s->nv = end - first;
    for (int k = 0; k < 5; k++) *by_dof[k] = s->by_dof[k] + first;
    s->qacc = g->qacc + first, s->qfrc_constraint = g->qfrc_constraint + first;
    s->qacc_smooth = g->qacc_smooth + first, s->qfrc_smooth = g->qfrc_smooth + first;
}

/* Fills in efc_force. */
static void put_forces(const solver *s) {
    for (int k = 0; k < s->rows; k += s->g->row_dim[k]) {
        const int dim = s->g->row_dim[k];
        be_vd force[BE_CONE_DIMS];
        if (dim > 1) {
            const cone c = cone_of(s, k);
            const cone_point p = cone_point_of(&c, s->jar + k);
            cone_forces(&c, s->jar + k, &p, force);
        } else {
            force[0] = force_of(s, k);
        }
        for (int j = 0; j < dim; j++) {
            s->g->efc_force[k + j] = be_select(s->exists[k + j], force[j], s->g->efc_force[k + j]);
        }
    }
}

/* Solves for the trees in focus, in lanes `mine`, where they are an island. `again`: the start was computed for all
 * trees at once. */
static void solve(solver *s, be_vl mine, int again) {
    be_vl here = none();
    be_vd kept[s->nv];
    be_copy(kept, s->qfrc_constraint, s->nv);
    for (int k = 0; k < s->rows; k++) here |= s->exists[k];
    if (be_any(here)) {
        if (again) {
            mul_m(s, s->Ma, s->qacc);
            for (int k = 0; k < s->rows; k++) s->jar[k] = times_row(s, k, s->qacc) - s->g->aref[k];
        }
        be_vd trace = be_set1(0);
        for (int i = s->first; i < s->first + s->nv; i++) {
            trace += s->g->M[s->g->m->M_rowadr[i] + s->g->m->M_rownnz[i] - 1];
        }
        s->scale = 1 / trace;
        const be_vl going = start(s, here);
        if (be_any(going)) iterate(s, going);
        if (s->g->forces || s->g->senses) put_forces(s);
    }
    for (int i = 0; i < s->nv; i++) {
        s->qacc[i] = be_select(mine & ~here, s->qacc_smooth[i], s->qacc[i]);
        s->qfrc_constraint[i] = be_select(here, s->qfrc_constraint[i], be_select(mine, be_set1(0), kept[i]));
    }
}

/* Solves for the trees first..last, in the lanes of `lanes` in which they are an island. */
static void solve_island(solver *s, int first, int last, be_vl lanes) {
    const be_physics_group *g = s->g;
    for (int k = 0; k < s->rows; k++) {
        s->exists[k] = s->all[k] & lanes & (g->row_tree[k] >= first) & (g->row_tree[k] <= last);
    }
    focus(s, g->m->tree_dofs[first], g->m->tree_dofs[last + 1]);
    solve(s, lanes, 1);
}

void be_physics_newton(be_physics_group *g, unsigned lanes) {
    const be_physics_model *m = g->m;
    solver s = {.g = g, .tolerance = be_set1(g->floats[m->at.opt_tolerance]), .singular = none()};
    s.rows = lanes ? g->num_places : 0;
    if (s.rows == 0) return;
    lay_out(&s);
    s.plain = m->ne + m->nf == 0 && !*m->opt_cone;
    for (int k = 0; k < s.rows; k++) s.all[k] = ((be_vl *)g->row_here)[k] & be_lanes_of(lanes);
    be_vl *const of_tree = s.exists;
    const int sparse = *m->sparse, entries = sparse ? be_physics_sparse_count(g) : 0;
    be_column columns[entries + 1];
    int starts[sparse ? m->nv + 1 : 1];
    if (sparse) be_physics_sparse_begin(&s, columns, starts);
    s.exists = s.all;
    focus(&s, 0, (int)m->nv);
    warmstart(&s);
    if (m->num_trees == 1) solve(&s, BE_ALL_LANES, 0);
    s.exists = of_tree;
    for (int first = 0; m->num_trees > 1 && first < m->num_trees; first++) {
        be_vl open = g->tree_first[first] == first;
        for (int last = first; last < m->num_trees && be_any(open); last++) {
            be_vl ends = open;
            if (last + 1 < m->num_trees) ends &= g->tree_first[last + 1] != first;
            if (be_any(ends)) solve_island(&s, first, last, ends);
            open &= ~ends;
        }
    }
    g->left |= be_mask_bits(s.singular) & lanes; /* MuJoCo has ways out, which differ from version to version */
}
