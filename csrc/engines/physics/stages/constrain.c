/* Constraints: solved here where all of a lane's are of known kinds. Of other lanes the caller makes the rows, or
 * solves the constraints, lane by lane. */
#include <math.h>
#include <string.h>

#include "engines/physics/group.h"

/* Lanes in which a tendon is at a limit, which is of this kind. */
BE_INLINE be_vl taut(const be_physics_group *g, const int wide, int kind) {
    be_vl found = be_lane_numbers() < 0;
    for (int i = 0; i < g->m->ntendon; i++) {
        if (g->m->tendon_limited[i] != kind) continue;
        const be_vd length = g->ten_length[i], margin = BE_K(tendon_margin, i);
        found |= ~(length - BE_K(tendon_range, 2 * i) >= margin) | ~(BE_K(tendon_range, 2 * i + 1) - length >= margin);
    }
    return found;
}

static unsigned taut_lanes(const be_physics_group *g, int kind) {
    return be_mask_bits(g->wide ? taut(g, 1, kind) : taut(g, 0, kind)) & g->present;
}

/* Lanes in which a joint is at a limit; ball joints may only be near it. */
BE_INLINE be_vl limited(const be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    be_vl found = be_lane_numbers() < 0;
    for (int j = 0; j < m->njnt; j++) {
        if (!m->jnt_limited[j]) continue;
        const be_vd *q = g->qpos + m->jnt_qposadr[j], at = *q, margin = BE_K(jnt_margin, j);
        if (m->jnt_type[j] == BE_BALL) {
            found |= ~(at * at > BE_K(ball_reach, j) * (at * at + be_dot3(q + 1, q + 1)));
            continue;
        }
        found |= ~(at - BE_K(jnt_range, 2 * j) >= margin) | ~(BE_K(jnt_range, 2 * j + 1) - at >= margin);
    }
    return found;
}

/* Counts for lanes that the caller is asked, in `counts`: job->left or job->asked. */
static void note(const be_physics_group *g, int (*counts)[BE_LEFT_CAUSES], unsigned lanes, int cause) {
    for (lanes &= g->present; lanes; lanes &= lanes - 1, g->job->noted = 1) counts[__builtin_ctz(lanes)][cause]++;
}

/* What a lane with these constraints wants. */
static int wants_of(unsigned limits, unsigned contacts, int lane) {
    int wants = 0;
    if (limits >> lane & 1) wants |= BE_WANTS_LIMITS;
    if (contacts >> lane & 1) wants |= BE_WANTS_CONTACTS;
    return wants;
}

/* Has the caller solve the lanes of `left`. */
static void leave(be_physics_group *g, unsigned left, unsigned limits, unsigned contacts) {
    const int more = (g->forces ? BE_WANTS_FORCES : 0) | (g->senses & BE_SENSES_CONTACTS ? BE_WANTS_SENSORS : 0);
    g->asked = left & contacts;
    g->touched &= ~left;
    for (left &= g->present; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        int wants = wants_of(limits, contacts, lane);
        if (wants & BE_WANTS_CONTACTS) wants |= more;
        if (!g->job->constrain(g->job->context, g, lane, wants)) g->present &= ~(1u << lane);
    }
}

static const void *contact_of(const be_physics_rows *rows, int k, int64_t at) {
    return rows->contact + rows->id[k] * rows->contact_size + at;
}

/* How many of the caller's rows belong together from row k on. */
static int dim_of(const be_physics_model *m, const be_physics_rows *rows, int k) {
    if (*m->sparse && rows->type[k] >= BE_ROW_OF_CONTACT) {
        int end = k + 1;
        while (end < rows->count && rows->type[end] == rows->type[k] && rows->id[end] == rows->id[k]) end++;
        return end - k;
    }
    if (!*m->opt_cone || rows->type[k] != BE_ROW_OF_CONE) return 1;
    return *(const int32_t *)contact_of(rows, k, rows->dim_at);
}

static int first_tree(const be_physics_model *m, const be_physics_rows *rows, int island) {
    int tree = 0;
    while (tree < m->num_trees && rows->tree_island[tree] != island) tree++;
    return tree;
}

/* Notes which trees of a lane are one island. Returns 0 if another tree is between those of an island. */
static int put_islands(be_physics_group *g, int lane, const be_physics_rows *rows) {
    for (int tree = 0; rows->count && rows->island && tree < g->m->num_trees; tree++) {
        const int island = rows->tree_island[tree], first = island < 0 ? tree : first_tree(g->m, rows, island);
        if (first < tree && rows->tree_island[tree - 1] != island) return 0;
        ((double *)&g->tree_first[tree])[lane] = first;
    }
    return 1;
}

/* What row k of the caller's moves. Its count is -1 if that is of several chains. */
static be_chain chain_of(const be_physics_model *m, const be_physics_rows *rows, int k) {
    if (!*m->sparse) return (be_chain){0, (int)m->nv};
    const int32_t *dofs = rows->J_colind + rows->J_rowadr[k];
    be_chain chain = {rows->J_rownnz[k] ? dofs[rows->J_rownnz[k] - 1] : 0, rows->J_rownnz[k]};
    if (chain.count > m->L_rownnz[chain.last]) chain.count = -1;
    for (int i = 0; i < chain.count; i++) {
        if (dofs[i] != be_chain_dofs(m, chain)[i]) chain.count = -1;
    }
    return chain;
}

/* Copies row k of the caller's to place `place` of a lane. */
static void put_row(be_physics_group *g, int lane, int place, const be_physics_rows *rows, int k) {
    const int64_t nv = g->m->nv, count = *g->m->sparse ? rows->J_rownnz[k] : nv;
    const double *from = rows->J + (*g->m->sparse ? rows->J_rowadr[k] : k * nv);
    double *to = (double *)(g->J + place * nv) + lane;
    for (int64_t i = 0; i < count; i++) to[i * BE_VL] = from[i];
    ((double *)&g->D[place])[lane] = rows->D[k];
    ((double *)&g->R[place])[lane] = rows->R[k];
    ((double *)&g->aref[place])[lane] = rows->aref[k];
    ((double *)&g->row_tree[place])[lane] = rows->island ? first_tree(g->m, rows, rows->island[k]) : 0;
    ((be_vl *)g->row_here)[place] |= be_lanes_of(1u << lane);
}

static void put_friction(be_physics_group *g, int lane, int place, const be_physics_rows *rows, int k, int dim) {
    const double *friction = contact_of(rows, k, rows->friction_at);
    for (int j = 0; j < dim; j++) {
        double *to = (double *)&g->cone_friction[place + j] + lane;
        *to = j ? friction[j - 1] : *(const double *)contact_of(rows, k, rows->mu_at);
    }
}

/* Notes a contact whose force is wanted, at its first row k; others have their places after it. Returns 0 if there is
 * no room for it. */
static int put_contact(be_physics_group *g, int lane, int place, const be_physics_rows *rows, int k) {
    if (k && rows->type[k - 1] >= BE_ROW_OF_CONTACT && rows->id[k - 1] == rows->id[k]) return 1;
    if (g->num_foreign[lane] == BE_MOST_FOREIGN) return 0;
    be_foreign *to = &g->foreign[lane * BE_MOST_FOREIGN + g->num_foreign[lane]++];
    memcpy(to->pos, contact_of(rows, k, rows->pos_at), sizeof to->pos);
    memcpy(to->frame, contact_of(rows, k, rows->frame_at), sizeof to->frame);
    memcpy(to->friction, contact_of(rows, k, rows->friction_at), sizeof to->friction);
    memcpy(to->geoms, contact_of(rows, k, rows->geom_at), sizeof to->geoms);
    to->place = place;
    to->dim = *(const int32_t *)contact_of(rows, k, rows->dim_at);
    return 1;
}

/* Copies rows that the caller has made to a lane. Returns 0 if they do not fit. */
static int take_rows(be_physics_group *g, int lane, const be_physics_rows *rows) {
    const be_physics_model *m = g->m;
    if (rows->count > m->num_rows || rows->ne != m->ne || rows->nf != m->nf) return 0;
    if (!put_islands(g, lane, rows)) return 0;
    for (int k = 0; k < rows->count; k++) {
        if (!(__builtin_fabs(rows->aref[k]) < HUGE_VAL)) return 0;
    }
    const int noted = g->forces || g->senses & BE_SENSES_CONTACTS;
    g->num_foreign[lane] = 0;
    for (int k = 0; k < m->ne; k++) put_row(g, lane, k, rows, k);
    for (int k = (int)(m->ne + m->nf); k < rows->count;) { /* those of friction loss are there */
        const int dim = dim_of(m, rows, k);
        unsigned left = 1u << lane;
        be_vl mask;
        const be_chain chain = chain_of(m, rows, k);
        if (chain.count < 0) {
            g->crossed |= 1u << lane;
            return 0;
        }
        const int place = be_physics_take_place(g, &left, dim, chain, &mask);
        if (place < 0) return 0;
        for (int j = 0; j < dim; j++) put_row(g, lane, place + j, rows, k + j);
        if (dim > 1 && *m->opt_cone) put_friction(g, lane, place, rows, k, dim);
        if (noted && rows->type[k] >= BE_ROW_OF_CONTACT && !put_contact(g, lane, place, rows, k)) return 0;
        k += dim;
    }
    g->nefc[lane] = rows->count;
    g->job->rows[lane] += rows->count - (int)(m->ne + m->nf);
    return 1;
}

/* Has the caller make the rows of some lanes, which stay in g->left where that is not possible. */
static void ask(be_physics_group *g, unsigned lanes, unsigned limits) {
    for (lanes &= g->present; lanes; lanes &= lanes - 1) {
        const int lane = __builtin_ctz(lanes);
        be_physics_rows rows;
        if (!g->job->make_rows(g->job->context, g, lane, wants_of(limits, lanes, lane), &rows)) {
            g->present &= ~(1u << lane);
        } else if (take_rows(g, lane, &rows)) {
            g->left &= ~(1u << lane);
        }
    }
}

/* Makes the rows of some lanes, and has the caller make those of others. Lanes that cannot be solved here get a bit in
 * g->left. */
static void make_rows(be_physics_group *g, unsigned own, unsigned asked, unsigned limits) {
    be_physics_make_constraint(g, own);
    note(g, g->job->left, g->left & own, BE_LEFT_ROWS);
    if (g->joined) {
        const unsigned apart = be_physics_islands_apart(g) & own;
        note(g, g->job->left, apart & ~g->left, BE_LEFT_ISLANDS);
        g->left |= apart;
    }
    note(g, g->job->left, g->crossed & own & ~g->left, BE_LEFT_CHAINS);
    g->left |= g->crossed;
    ask(g, asked, limits);
    note(g, g->job->left, g->left & asked & ~g->crossed, BE_LEFT_ROWS);
    note(g, g->job->left, g->left & asked & g->crossed, BE_LEFT_CHAINS);
}

/* Solves the constraints of some lanes, of which `touching` have contacts, and of others, whose rows the caller has
 * made.
 */
static void solve(be_physics_group *g, unsigned own, unsigned asked, unsigned touching) {
    const unsigned lanes = own | asked;
    const unsigned ready = g->present & ~g->left;
    if (be_physics_has_pgs(g->m)) {
        be_physics_pgs(g, lanes & ready);
    } else {
        be_physics_newton(g, lanes & ready);
        note(g, g->job->left, g->left & ready, BE_LEFT_HESSIAN);
    }
    g->noted = asked & ready & ~g->left;
    if (g->forces) {
        const unsigned solved = own & ready & ~g->left;
        be_physics_post_constraint(g, solved & touching, solved);
        be_physics_post_foreign(g, g->noted);
    }
}

void be_physics_constrain_lanes(be_physics_group *g) {
    const be_physics_model *m = g->m;
    be_copy(g->qacc, g->qacc_smooth, m->nv);
    be_zero(g->qfrc_constraint, m->nv);
    /* What is wanted of contacts and equalities, and their rows alone do not tell. */
    const int more = (g->forces && *m->holds) || g->senses & (BE_SENSES_PAIRS | BE_SENSES_CALLER);
    g->touched = g->noted = 0;
    if (g->forces) be_physics_begin_forces(g);
    unsigned limits = be_mask_bits(g->wide ? limited(g, 1) : limited(g, 0)) & g->present;
    if (m->ntendon) limits |= taut_lanes(g, BE_LIMIT_OWN);
    const unsigned at_limit = m->ntendon ? taut_lanes(g, BE_LIMIT_FOREIGN) : 0;
    unsigned foreign = *m->always ? g->present : m->num_pairs ? be_physics_near(g) & g->present : 0;
    if (*m->solves == BE_SOLVES_NOTHING) {
        foreign |= at_limit;
        note(g, g->job->left, limits | foreign, *m->always ? BE_LEFT_ALWAYS : BE_LEFT_SOLVER);
        leave(g, limits | foreign, limits, foreign);
        return;
    }
    /* Lanes with contacts between chains are likely to have them again: nothing is done for them in vain. */
    const unsigned crossed = *m->sparse ? g->crossed & g->present : 0, known = g->left = foreign | at_limit | crossed;
    const unsigned touching = m->num_candidates ? be_physics_collide(g) & g->present : 0;
    const unsigned misplaced = g->left & ~known, asked = *m->asks && !more ? g->left & ~crossed : 0;
    g->touched &= ~asked;
    int (*counts)[BE_LEFT_CAUSES] = asked ? g->job->asked : g->job->left;
    note(g, g->job->left, crossed, BE_LEFT_CHAINS);
    note(g, counts, foreign & ~crossed, *m->always ? BE_LEFT_ALWAYS : BE_LEFT_PAIRS);
    note(g, counts, at_limit & ~foreign & ~crossed, BE_LEFT_TENDONS);
    note(g, counts, misplaced, BE_LEFT_PLACES);
    if (g->senses & BE_SENSES_CALLER) {
        note(g, g->job->left, g->touched & ~g->left, BE_LEFT_SENSORS);
        g->left |= g->touched;
    }
    const unsigned own = (m->num_equalities + m->ne + m->nf ? g->present : limits | touching) & ~g->left;
    if (own | asked) {
        make_rows(g, own, asked, limits);
        solve(g, own, asked, touching);
    }
    leave(g, g->left, limits, g->left);
}
