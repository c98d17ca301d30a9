/* mjd_inertiaBoxFluid: the derivatives of the fluid's forces on all bodies. */
#include "engines/physics/derivatives.h"
#include "engines/physics/fluid.h"

/* How far each degree of freedom that moves a body turns it about its axes, and moves it along these: 6 x count. */
BE_INLINE void moments_of(be_vd *moments, const be_physics_group *g, const be_vd *offset, int body, const int32_t *dofs,
                          int count) {
    const be_vd *axes = g->ximat + 9 * body;
    for (int p = 0; p < count; p++) {
        const be_vd *dof = g->cdof + 6 * dofs[p];
        be_vd swing[3], moving[3], turned[3], moved[3];
        be_cross(swing, dof, offset);
        for (int k = 0; k < 3; k++) moving[k] = dof[3 + k] + swing[k];
        be_mul_mat_t_vec3(turned, axes, dof);
        be_mul_mat_t_vec3(moved, axes, moving);
        for (int k = 0; k < 3; k++) moments[k * count + p] = turned[k], moments[(3 + k) * count + p] = moved[k];
    }
}

/* The derivatives by the body's own velocities: those of lift and drag. */
BE_INLINE void drags(be_vd *slopes, const be_physics_group *g, const int wide, const be_swimmer *s) {
    const be_vd density = BE_K(opt_density, 0), *box = s->box, *v = s->velocity;
    be_vd fourth[3];
    for (int k = 0; k < 3; k++) fourth[k] = box[k] * box[k] * box[k] * box[k];
    for (int k = 0; k < 3; k++) {
        const int a = k == 0, b = k == 2 ? 1 : 2; /* the other two axes */
        slopes[k] = -density * box[k] * (fourth[a] + fourth[b]) * 2 * be_abs(v[k]) / 64.0;
        slopes[3 + k] = -0.5 * density * box[a] * box[b] * 2 * be_abs(v[3 + k]);
    }
}

BE_INLINE void derive(be_physics_group *g, const int wide, int i, int windy) {
    const be_physics_model *m = g->m;
    const int body = m->body_weldid[i], nv = (int)m->nv;
    const be_swimmer s = be_swimmer_of(g, wide, i, windy);
    int32_t dofs[nv];
    int first = nv;
    for (int d = m->body_dofadr[body] + m->body_dofnum[body] - 1; d >= 0; d = m->dof_parentid[d]) dofs[--first] = d;
    const int count = nv - first;
    be_vd moments[6 * count + 1], slopes[6];
    moments_of(moments, g, s.offset, i, dofs + first, count);
    if (BE_K1(opt_viscosity, 0) > 0) {
        const be_vd viscosity = BE_K(opt_viscosity, 0), diameter = (s.box[0] + s.box[1] + s.box[2]) / 3.0;
        const be_vd turning = -BE_PI * diameter * diameter * diameter * viscosity;
        const be_vd moving = -3.0 * BE_PI * diameter * viscosity;
        for (int k = 0; k < 6; k++) {
            be_add_derivative(g, dofs + first, moments + k * count, count, k < 3 ? turning : moving);
        }
    }
    if (BE_K1(opt_density, 0) > 0) {
        drags(slopes, g, wide, &s);
        for (int k = 0; k < 6; k++) be_add_derivative(g, dofs + first, moments + k * count, count, slopes[k]);
    }
}

BE_INLINE void fluid_vel(be_physics_group *g, const int wide) {
    const int windy = be_has_wind(g);
    for (int i = 0; i < g->m->nbody; i++) {
        if (be_swims(g, i)) derive(g, wide, i, windy);
    }
}
BE_PHYSICS_STAGE(fluid_vel)
