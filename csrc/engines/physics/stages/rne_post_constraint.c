/* mj_rnePostConstraint, as far as cfrc_ext: the forces of contacts on bodies. */
#include "engines/physics/group.h"

/* mj_contactForce: the force of candidate k along the axes of its frame, and its torque around them, in lanes `here`.
 */
BE_INLINE void contact_force(be_vd *along, const be_physics_group *g, const int wide, unsigned here, int pair, int k) {
    const int dim = g->m->pair_dim[pair], cone = *g->m->opt_cone || dim == 1, count = cone ? dim : 2 * (dim - 1);
    be_vd pyramid[10];
    be_zero(pyramid, count);
    for (unsigned left = here; left; left &= left - 1) {
        const int lane = __builtin_ctz(left), row = (int)((const double *)&g->contact_row[k])[lane];
        for (int i = 0; i < count; i++) {
            ((double *)&pyramid[i])[lane] = ((const double *)&g->efc_force[row + i])[lane];
        }
    }
    be_zero(along, 6);
    if (cone) {
        be_copy(along, pyramid, dim);
        return;
    }
    for (int i = 0; i < count; i++) along[0] += pyramid[i];
    for (int i = 0; i < dim - 1; i++) {
        along[1 + i] = (pyramid[2 * i] - pyramid[2 * i + 1]) * BE_K(pair_friction, 5 * pair + i);
    }
}

/* Adds torque and force at candidate k to those on a body; `sign` -1 takes them away. */
BE_INLINE void push(be_physics_group *g, be_vl here, int body, int k, const be_vd *force, int sign) {
    be_vd arm[3], around[3], *to = g->cfrc_ext + 6 * body;
    if (body == 0) return;
    be_sub3(arm, g->subtree_com + 3 * g->m->body_rootid[body], g->contact_pos + 3 * k);
    be_cross(around, arm, force + 3);
    for (int i = 0; i < 6; i++) {
        const be_vd part = i < 3 ? force[i] - around[i] : force[i];
        to[i] = be_select(here, sign < 0 ? to[i] - part : to[i] + part, to[i]);
    }
}

BE_INLINE void post(be_physics_group *g, const int wide, unsigned lanes) {
    const be_physics_model *m = g->m;
    for (int pair = 0, k = 0; pair < m->num_pairs; pair++) {
        if (!m->pair_own[pair]) continue;
        for (const int end = k + be_physics_candidates(m->pair_kind[pair]); k < end; k++) {
            const be_vl here = ((const be_vl *)g->contact_here)[k];
            if (!(be_mask_bits(here) & lanes)) continue;
            be_vd along[6], force[6];
            contact_force(along, g, wide, be_mask_bits(here) & lanes, pair, k);
            be_mul_mat_t_vec3(force, g->contact_frame + 9 * k, along + 3);
            be_mul_mat_t_vec3(force + 3, g->contact_frame + 9 * k, along);
            push(g, here, m->geom_bodyid[m->pair_geoms[2 * pair]], k, force, -1);
            push(g, here, m->geom_bodyid[m->pair_geoms[2 * pair + 1]], k, force, 1);
        }
    }
}

void be_physics_post_constraint(be_physics_group *g, unsigned lanes) {
    if (g->wide) {
        post(g, 1, lanes);
    } else {
        post(g, 0, lanes);
    }
}
