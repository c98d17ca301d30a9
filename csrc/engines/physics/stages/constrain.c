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

/* Counts for lanes that their constraints are left to the caller. */
static void note(const be_physics_group *g, unsigned lanes, int cause) {
    for (lanes &= g->present; lanes; lanes &= lanes - 1, g->job->noted = 1) g->job->left[__builtin_ctz(lanes)][cause]++;
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

/* Solves the constraints of some lanes, of which `touching` have contacts. */
static void solve(be_physics_group *g, unsigned lanes, unsigned touching) {
    const unsigned ready = g->present & ~g->left;
    if (be_physics_has_pgs(g->m)) {
        be_physics_pgs(g, lanes & ready);
    } else {
        be_physics_newton(g, lanes & ready);
        note(g, g->left & ready, BE_LEFT_HESSIAN);
    }
    if (g->forces) {
        const unsigned solved = lanes & ready & ~g->left;
        be_physics_post_constraint(g, solved & touching, solved);
    }
}

/* Finds the contacts of the lanes, and returns those that have some which push. Lanes for which the caller has to do
 * that get a bit in `left`. */
static unsigned find(be_physics_group *g) {
    const unsigned known = g->left;
    if (!g->m->num_candidates) return 0;
    g->called = 0;
    const unsigned touching = be_physics_collide(g) & g->present;
    for (unsigned left = g->called; left; left &= left - 1) g->job->called[__builtin_ctz(left)]++;
    note(g, g->crowded & ~known, BE_LEFT_ROWS);
    note(g, g->edges & ~known & ~g->crowded, BE_LEFT_EDGES);
    note(g, g->left & ~known & ~g->crowded & ~g->edges, BE_LEFT_PLACES);
    return touching;
}

/* Makes the rows of some lanes. Those that cannot be solved here get a bit in g->left. */
static void make_rows(be_physics_group *g, unsigned own) {
    be_physics_make_constraint(g, own);
    note(g, g->left & own, BE_LEFT_ROWS);
    if (g->joined) {
        const unsigned apart = be_physics_islands_apart(g) & own;
        note(g, apart & ~g->left, BE_LEFT_ISLANDS);
        g->left |= apart;
    }
    note(g, g->crossed & own & ~g->left, BE_LEFT_CHAINS);
    g->left |= g->crossed;
}

void be_physics_constrain_lanes(be_physics_group *g) {
    const be_physics_model *m = g->m;
    be_copy(g->qacc, g->qacc_smooth, m->nv);
    be_zero(g->qfrc_constraint, m->nv);
    g->touched = 0;
    if (g->forces) be_physics_begin_forces(g);
    unsigned limits = be_mask_bits(g->wide ? limited(g, 1) : limited(g, 0)) & g->present;
    if (m->ntendon) limits |= taut_lanes(g, BE_LIMIT_OWN);
    const unsigned at_limit = m->ntendon ? taut_lanes(g, BE_LIMIT_FOREIGN) : 0;
    if (m->num_pairs) be_physics_find_near(g);
    unsigned foreign = *m->always ? g->present : m->num_pairs ? be_physics_near(g) & g->present : 0;
    if (*m->solves == BE_SOLVES_NOTHING) {
        foreign |= at_limit;
        note(g, limits | foreign, *m->always ? BE_LEFT_ALWAYS : BE_LEFT_SOLVER);
        leave(g, limits | foreign, limits, foreign);
        return;
    }
    /* Lanes with contacts between chains are likely to have them again: nothing is done for them in vain. */
    const unsigned crossed = *m->sparse ? g->crossed & g->present : 0;
    g->left = foreign | at_limit | crossed;
    note(g, crossed, BE_LEFT_CHAINS);
    note(g, foreign & ~crossed, *m->always ? BE_LEFT_ALWAYS : BE_LEFT_PAIRS);
    note(g, at_limit & ~foreign & ~crossed, BE_LEFT_TENDONS);
    const unsigned touching = find(g);
    if (g->senses & BE_SENSES_CALLER) {
        note(g, g->touched & ~g->left, BE_LEFT_SENSORS);
        g->left |= g->touched;
    }
    const unsigned own = (m->num_equalities + m->ne + m->nf ? g->present : limits | touching) & ~g->left;
    if (own) {
        make_rows(g, own);
        solve(g, own, touching);
    }
    leave(g, g->left, limits, g->left);
}
