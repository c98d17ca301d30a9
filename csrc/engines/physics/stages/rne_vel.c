/* mjd_rne_vel: subtracts the derivatives of the bias force by velocities from g->qDeriv.
 *
 * A body's velocity changes with that of a degree of freedom d that moves it by cdof of d: MuJoCo's Dcvel. Rows of B
 * have, for each body, first the degrees of freedom that move it, and then those of bodies further out. */
#include "engines/physics/group.h"

/* How many degrees of freedom move body i. */
static int chain_of(const be_physics_model *m, int i) {
    const int body = m->body_weldid[i], n = m->body_dofnum[body];
    return n ? m->D_diag[m->body_dofadr[body] + n - 1] + 1 : 0;
}

/* The derivative of the cross product of motions e and v, for a motion v, by what e changes with: u. */
BE_INLINE void turn(be_vd *to, const be_vd *u, const be_vd *v) {
    to[0] = u[1] * v[2] - u[2] * v[1];
    to[1] = u[2] * v[0] - u[0] * v[2];
    to[2] = u[0] * v[1] - u[1] * v[0];
    to[3] = u[1] * v[5] - u[2] * v[4] + u[4] * v[2] - u[5] * v[1];
    to[4] = u[2] * v[3] - u[0] * v[5] - u[3] * v[2] + u[5] * v[0];
    to[5] = u[0] * v[4] - u[1] * v[3] + u[3] * v[1] - u[4] * v[0];
}

/* The derivatives of body i's acceleration: Dcacc. */
BE_INLINE void derive_acceleration(be_physics_group *g, int i, int chain) {
    const be_physics_model *m = g->m;
    const int parent = m->body_parentid[i], above = chain_of(m, parent);
    const int32_t *columns = m->B_colind + m->B_rowadr[i];
    be_vd *to = g->Dcacc + 6 * m->B_rowadr[i], part[6];
    be_copy(to, g->Dcacc + 6 * m->B_rowadr[parent], 6 * above);
    be_zero(to + 6 * above, 6 * (chain - above));
    for (int j = m->body_dofadr[i]; j < m->body_dofadr[i] + m->body_dofnum[i]; j++) {
        const int joint = m->dof_jntid[j], type = m->jnt_type[joint], within = j - m->jnt_dofadr[joint];
        int before = m->D_diag[j]; /* so many degrees of freedom turn this one */
        if (type == BE_BALL) before -= within;
        if (type == BE_FREE) before = within < 3 ? 0 : before - (within - 3);
        be_add_to(to + 6 * m->D_diag[j], g->cdof_dot + 6 * j, 6);
        for (int k = 0; k < before; k++) {
            turn(part, g->cdof + 6 * columns[k], g->cdof + 6 * j);
            for (int c = 0; c < 6; c++) to[6 * k + c] += part[c] * g->qvel[j];
        }
    }
}

/* How the cross product of body i's velocity with its momentum changes with its velocity: 6 x 6. */
BE_INLINE void derive_gyration(be_vd *to, const be_physics_group *g, int i) {
    const be_vd *v = g->cvel + 6 * i, *I = g->cinert + 10 * i, zero = be_set1(0);
    const be_vd inertia[36] = {I[0],  I[3], I[4], zero,  -I[8], I[7], I[3], I[1],  I[5],  I[8], zero, -I[6],
                               I[4],  I[5], I[2], -I[7], I[6],  zero, zero, I[8],  -I[7], I[9], zero, zero,
                               -I[8], zero, I[6], zero,  I[9],  zero, I[7], -I[6], zero,  zero, zero, I[9]};
    const be_vd by_force[6][4] = {{-v[2], v[1], -v[5], v[4]}, {v[2], -v[0], v[5], -v[3]}, {-v[1], v[0], -v[4], v[3]},
                                  {-v[2], v[1], zero, zero},  {v[2], -v[0], zero, zero},  {-v[1], v[0], zero, zero}};
    static const int places[6][4] = {{1, 2, 4, 5}, {0, 2, 3, 5}, {0, 1, 3, 4}, {4, 5}, {3, 5}, {3, 4}};
    be_vd f[6];
    be_mul_inert_vec(f, I, v);
    const be_vd by_velocity[36] = {zero,  f[2],  -f[1], zero, f[5],  -f[4], -f[2], zero,  f[0],  -f[5], zero, f[3],
                                   f[1],  -f[0], zero,  f[4], -f[3], zero,  zero,  f[5],  -f[4], zero,  zero, zero,
                                   -f[5], zero,  f[3],  zero, zero,  zero,  f[4],  -f[3], zero,  zero,  zero, zero};
    for (int r = 0; r < 6; r++) {
        const int count = r < 3 ? 4 : 2;
        for (int c = 0; c < 6; c++) {
            be_vd sum = zero;
            for (int k = 0; k < count; k++) sum += by_force[r][k] * inertia[6 * places[r][k] + c];
            to[6 * r + c] = by_velocity[6 * r + c] + sum;
        }
    }
}

/* The derivatives of the force on body i, without those on bodies further out: Dcfrcbody. */
BE_INLINE void derive_force(be_physics_group *g, int i, int chain) {
    const be_physics_model *m = g->m;
    const int first = m->B_rowadr[i];
    be_vd *to = g->Dcfrc + 6 * first, gyration[36];
    derive_gyration(gyration, g, i);
    for (int k = 0; k < chain; k++, to += 6) {
        const be_vd *u = g->cdof + 6 * m->B_colind[first + k];
        be_mul_inert_vec(to, g->cinert + 10 * i, g->Dcacc + 6 * (first + k));
        for (int r = 0; r < 6; r++) {
            be_vd sum = be_set1(0);
            for (int c = 0; c < 6; c++) sum += u[c] * gyration[6 * r + c];
            to[r] += sum;
        }
    }
    be_zero(to, 6 * (m->B_rownnz[i] - chain));
}

BE_INLINE void rne_vel(be_physics_group *g, const int wide) {
    (void)wide;
    const be_physics_model *m = g->m;
    for (int i = 1; i < m->nbody; i++) {
        const int chain = chain_of(m, i);
        if (chain == 0) continue;
        derive_acceleration(g, i, chain);
        derive_force(g, i, chain);
    }
    for (int i = (int)m->nbody - 1; i > 0; i--) {
        for (int k = m->B_rowadr[i]; k < m->B_rowadr[i] + m->B_rownnz[i]; k++) {
            if (m->B_above[k] >= 0) be_add_to(g->Dcfrc + 6 * m->B_above[k], g->Dcfrc + 6 * k, 6);
        }
    }
    for (int j = 0; j < m->nv; j++) {
        const be_vd *forces = g->Dcfrc + 6 * m->B_rowadr[m->dof_bodyid[j]];
        be_vd *row = g->qDeriv + m->D_rowadr[j];
        for (int k = 0; k < m->D_rownnz[j]; k++) row[k] -= be_dot6(forces + 6 * k, g->cdof + 6 * j);
    }
}
BE_PHYSICS_STAGE(rne_vel)
