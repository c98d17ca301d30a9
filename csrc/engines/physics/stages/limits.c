/* mj_instantiateLimit, for ball joints and tendons. */
#include "engines/physics/rows.h"

BE_INLINE void limit_ball(be_physics_group *g, const int wide, unsigned lanes, int j) {
    const be_physics_model *m = g->m;
    const be_vd low = BE_K(jnt_range, 2 * j), high = BE_K(jnt_range, 2 * j + 1), margin = BE_K(jnt_margin, j);
    be_vd quat[4], *row = g->rows + m->jnt_dofadr[j];
    be_copy(quat, g->qpos + m->jnt_qposadr[j], 4);
    be_normalize4(quat, *m->version);
    be_zero(g->rows, m->nv);
    be_quat_turn(row, quat);
    const be_vd angle = be_normalize3(row), inside = be_select(low > high, low, high) - angle;
    const unsigned here = be_mask_bits(inside < margin) & lanes;
    if (!here) return;
    for (int k = 0; k < 3; k++) row[k] *= -1;
    const be_curve c = {BE_CURVE_OF(jnt_curve, j, BE_STIFFNESS), BE_CURVE_OF(jnt_curve, j, BE_DAMPING),
                        BE_IMPEDANCE(jnt_curve, j, m->jnt_shape[j], inside - margin)};
    const be_chain chain = {m->jnt_dofadr[j] + 2, *m->sparse ? 3 : (int)m->nv};
    be_physics_append_row(g, here, *m->sparse ? row : g->rows, chain, BE_K(dof_invweight0, m->jnt_dofadr[j]), &c,
                          inside - margin);
}

void be_physics_limit_ball(be_physics_group *g, unsigned lanes, int j) {
    if (g->wide) {
        limit_ball(g, 1, lanes, j);
    } else {
        limit_ball(g, 0, lanes, j);
    }
}

BE_INLINE void limit_tendons(be_physics_group *g, const int wide, unsigned lanes) {
    const be_physics_model *m = g->m;
    for (int i = 0; i < m->ntendon; i++) {
        if (m->tendon_limited[i] != BE_LIMIT_OWN) continue;
        const be_vd length = g->ten_length[i], margin = BE_K(tendon_margin, i);
        for (int side = -1; side <= 1; side += 2) {
            const be_vd distance = side * (BE_K(tendon_range, 2 * i + (side > 0)) - length);
            const unsigned here = be_mask_bits(distance < margin) & lanes;
            if (!here) continue;
            const be_vd inside = distance - margin;
            const be_curve c = {BE_CURVE_OF(tendon_curve, i, BE_STIFFNESS), BE_CURVE_OF(tendon_curve, i, BE_DAMPING),
                                BE_IMPEDANCE(tendon_curve, i, m->tendon_shape[i], inside)};
            be_zero(g->rows, m->nv);
            be_tendon_row(g->rows, g, i);
            for (int64_t k = 0; k < m->nv; k++) g->rows[k] *= -side;
            const be_chain whole = {0, (int)m->nv};
            be_physics_append_row(g, here, g->rows, whole, BE_K(tendon_invweight0, i), &c, inside);
        }
    }
}

void be_physics_limit_tendons(be_physics_group *g, unsigned lanes) {
    if (g->wide) {
        limit_tendons(g, 1, lanes);
    } else {
        limit_tendons(g, 0, lanes);
    }
}
