/* Constraints: solved here where all of a lane's are of known kinds, else left to the caller, lane by lane. */
#include "engines/physics/group.h"

/* Lanes in which a tendon is at a limit. */
BE_INLINE be_vl taut(const be_physics_group *g, const int wide) {
    be_vl found = be_lane_numbers() < 0;
    for (int i = 0; i < g->m->ntendon; i++) {
        if (!g->m->tendon_limited[i]) continue;
        const be_vd length = g->ten_length[i], margin = BE_K(tendon_margin, i);
        found |= ~(length - BE_K(tendon_range, 2 * i) >= margin) | ~(BE_K(tendon_range, 2 * i + 1) - length >= margin);
    }
    return found;
}

/* Lanes in which a joint is at a limit. */
BE_INLINE be_vl limited(const be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    be_vl found = be_lane_numbers() < 0;
    for (int j = 0; j < m->njnt; j++) {
        if (!m->jnt_limited[j]) continue;
        const be_vd at = g->qpos[m->jnt_qposadr[j]], margin = BE_K(jnt_margin, j);
        found |= ~(at - BE_K(jnt_range, 2 * j) >= margin) | ~(BE_K(jnt_range, 2 * j + 1) - at >= margin);
    }
    return found;
}

/* Notes that lanes are left to the caller. */
static void note(be_physics_group *g, unsigned lanes, int cause) {
    for (lanes &= g->present; lanes; lanes &= lanes - 1) g->job->left[__builtin_ctz(lanes)][cause]++;
}

/* Has the caller solve the lanes of `left`. */
static void leave(be_physics_group *g, unsigned left, unsigned limits, unsigned contacts) {
    const int more = (g->forces ? BE_WANTS_FORCES : 0) | (g->senses & BE_SENSES_CONTACTS ? BE_WANTS_SENSORS : 0);
    g->asked = left & contacts;
    for (left &= g->present; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        int wants = 0;
        if (limits >> lane & 1) wants |= BE_WANTS_LIMITS;
        if (contacts >> lane & 1) wants |= BE_WANTS_CONTACTS | more;
        if (!g->job->constrain(g->job->context, g, lane, wants)) g->present &= ~(1u << lane);
    }
}

void be_physics_constrain_lanes(be_physics_group *g) {
    const be_physics_model *m = g->m;
    be_copy(g->qacc, g->qacc_smooth, m->nv);
    be_zero(g->qfrc_constraint, m->nv);
    g->touched = 0;
    if (g->forces) be_zero(g->cfrc_ext, 6 * m->nbody);
    const unsigned limits = be_mask_bits(g->wide ? limited(g, 1) : limited(g, 0)) & g->present;
    const unsigned at_limit = m->ntendon ? be_mask_bits(g->wide ? taut(g, 1) : taut(g, 0)) & g->present : 0;
    unsigned foreign = *m->always ? g->present : m->num_pairs ? be_physics_near(g) & g->present : 0;
    if (*m->solves == BE_SOLVES_NOTHING) {
        foreign |= at_limit;
        note(g, limits | foreign, *m->always ? BE_LEFT_ALWAYS : BE_LEFT_SOLVER);
        leave(g, limits | foreign, limits, foreign);
        return;
    }
    note(g, foreign, BE_LEFT_PAIRS);
    note(g, at_limit & ~foreign, BE_LEFT_TENDONS);
    const unsigned known = g->left = foreign | at_limit;
    const unsigned touching = m->num_candidates ? be_physics_collide(g) & g->present : 0;
    note(g, g->left & ~known, BE_LEFT_PLACES);
    if (g->senses & BE_SENSES_CALLER) {
        note(g, touching & ~g->left, BE_LEFT_SENSORS);
        g->left |= touching;
    }
    const unsigned unsolved = g->left;
    const unsigned own = (limits | touching) & ~g->left;
    if (own) {
        be_physics_make_constraint(g, own);
        note(g, g->left & ~unsolved, BE_LEFT_ROWS);
        const unsigned ready = g->present & ~g->left;
        if (be_physics_has_pgs(m)) {
            be_physics_pgs(g, own & ready);
        } else {
            be_physics_newton(g, own & ready);
            note(g, g->left & ready, BE_LEFT_HESSIAN);
        }
        g->touched = touching & ready & ~g->left;
        if (g->forces) be_physics_post_constraint(g, g->touched);
    }
    leave(g, g->left, limits, g->left);
}
