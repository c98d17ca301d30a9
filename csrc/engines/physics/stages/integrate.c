/* mj_step: mj_forward, and then mj_Euler, mj_implicitSkip or mj_RungeKutta. */
#include <math.h>

#include "engines/physics/actuators.h"
#include "engines/physics/polynomials.h"

#define BAD 1e10 /* mjMAXVAL: MuJoCo takes what is larger, or NaN, for a sign that the simulation is unstable */

/* Leaves out lanes with numbers that are larger than `most`, or NaN. */
BE_INLINE void drop_beyond(be_physics_group *g, const be_vd *values, int64_t n, double most) {
    be_vl bad = be_lane_numbers() < 0;
    for (int64_t i = 0; i < n; i++) bad |= ~(be_abs(values[i]) <= most);
    g->present &= ~be_mask_bits(bad);
}
static void drop_bad(be_physics_group *g, const be_vd *values, int64_t n) { drop_beyond(g, values, n, BAD); }

/* mj_integratePos: moves positions at some velocity for a time. */
BE_INLINE void move(const be_physics_model *m, be_vd *qpos, const be_vd *velocity, be_vd time) {
    for (int j = 0; j < m->njnt; j++) {
        const int type = m->jnt_type[j];
        be_vd *position = qpos + m->jnt_qposadr[j];
        const be_vd *v = velocity + m->jnt_dofadr[j];
        if (type == BE_SLIDE || type == BE_HINGE) {
            position[0] += time * v[0];
            continue;
        }
        if (type == BE_FREE) {
            for (int k = 0; k < 3; k++) position[k] += time * v[k];
            position += 3, v += 3;
        }
        be_vd axis[3], turned[4]; /* mju_quatIntegrate */
        be_copy(axis, v, 3);
        const be_vd angle = time * be_normalize3(axis);
        be_axis_angle_quat(turned, axis, angle);
        be_normalize4(position, *m->version);
        be_mul_quat(position, position, turned, *m->version);
    }
}

/* The accelerations with which mj_Euler advances: damping is implicit. */
BE_INLINE const be_vd *damp(be_physics_group *g, const int wide, be_vd time) {
    const be_physics_model *m = g->m;
    const int polynomials = *m->polynomials;
    if (!*m->damps) return g->qacc;
    be_copy(g->damped, g->M, m->nC);
    for (int i = 0; i < m->nv; i++) {
        g->damped[m->M_rowadr[i] + m->M_rownnz[i] - 1] +=
            time * BE_POLY_OF(slope, dof_damping, BE_POLY_DAMPERS, i, be_abs(g->qvel[i]));
        g->moved[i] = g->qfrc_smooth[i] + g->qfrc_constraint[i];
    }
    g->present &= ~be_physics_factor(m, g->damped, g->damped_inverse);
    be_physics_solve(m, 0, (int)m->nv, g->moved, g->damped, g->damped_inverse);
    return g->moved;
}

/* The next states of actuators, which change at `rates`. */
BE_INLINE void activate(be_physics_group *g, const int wide, const be_vd *rates) {
    for (int i = 0; i < g->m->nu; i++) {
        const int at = g->m->actuator_actadr[i];
        if (at < 0) continue;
        g->act[at] = be_next_activation(g, wide, i, g->m->actuator_disabled[i] ? be_set1(0) : rates[at]);
        if (g->m->actuator_dyntype[i] == BE_INTEGRATOR && g->m->actuator_wraps[i]) {
            g->act[at] = be_wrapped(g, wide, i, g->act[at]);
        }
    }
}

BE_INLINE void advance(be_physics_group *g, const int wide) {
    const be_vd time = BE_K(opt_timestep, 0), *acceleration = g->moved;
    if (*g->m->opt_integrator >= BE_IMPLICIT) {
        BE_PHYSICS_STAGE_NAME(implicit)(g);
    } else {
        acceleration = damp(g, wide, time);
    }
    if (g->m->na && *g->m->acts) activate(g, wide, g->act_dot);
    for (int i = 0; i < g->m->nv; i++) g->qvel[i] += acceleration[i] * time;
    move(g->m, g->qpos, g->qvel, time);
}

/* Sums of the first `count` evaluations' velocities and accelerations, weighted. */
BE_INLINE void sum_of(const be_physics_group *g, const double *weights, int count, be_vd *velocity, be_vd *change) {
    const int64_t nv = g->m->nv;
    for (int64_t i = 0; i < nv; i++) {
        velocity[i] = change[i] = be_set1(0);
        for (int k = 0; k < count; k++) {
            velocity[i] += g->velocity[k * nv + i] * weights[k];
            change[i] += g->acceleration[k * nv + i] * weights[k];
        }
    }
}

/* States of actuators for the evaluation `stage` of mj_RungeKutta, or at the end of the step. */
BE_INLINE void activate_stage(be_physics_group *g, const int wide, const double *weights, int stage) {
    const int64_t na = g->m->na;
    be_vd rates[na];
    for (int64_t i = 0; i < na; i++) {
        rates[i] = be_set1(0);
        for (int k = 0; k < stage; k++) rates[i] += g->rates[k * na + i] * weights[k];
        g->act[i] = g->start_act[i];
        if (stage < 4) g->act[i] += rates[i] * BE_K(opt_timestep, 0);
    }
    if (stage == 4 && *g->m->acts) activate(g, wide, rates);
}

/* From MuJoCo 4 on, mj_RungeKutta is a Runge-Kutta-Munthe-Kaas method: angular velocities in the middle of a step are
 * seen from the step's start. The correction of order two has the factor 1 / t^2 - cot(t / 2) / (2 t), where t is the
 * angle; for small angles MuJoCo has a polynomial. Lanes that turn by more in one step are left out. */
#define SMALL 3.0625 /* of the angle's square */
BE_INLINE be_vd turn_factor(be_vd squared) {
    static const double terms[] = {0x1.bb4461c12159bp-47, 0x1.63f584ed94b16p-42, 0x1.d96c3e373ff92p-37,
                                   0x1.226d7efb1cba7p-31, 0x1.66a9947cefd5bp-26, 0x1.bbd7762ca65dcp-21,
                                   0x1.1566abc3ad7b2p-15, 0x1.6c16c16c1379bp-10, 0x1.5555555555559p-4};
    be_vd sum = be_set1(terms[0]);
    for (int k = 1; k < 9; k++) sum = squared * sum + terms[k];
    return sum;
}

/* `moved`: the velocities with which the middle was reached. */
BE_INLINE void see_from_start(be_physics_group *g, be_vd *velocity, const be_vd *moved, be_vd time) {
    const be_physics_model *m = g->m;
    for (int j = 0; j < m->njnt; j++) {
        if (m->jnt_type[j] != BE_FREE && m->jnt_type[j] != BE_BALL) continue;
        const int first = m->jnt_dofadr[j] + 3 * (m->jnt_type[j] == BE_FREE);
        be_vd *v = velocity + first, turn[3], once[3], twice[3];
        for (int k = 0; k < 3; k++) turn[k] = moved[first + k] * time;
        const be_vd squared = be_dot3(turn, turn), factor = turn_factor(squared);
        g->present &= be_mask_bits(squared < SMALL);
        be_cross(once, turn, v);
        be_cross(twice, turn, once);
        for (int k = 0; k < 3; k++) v[k] = factor * twice[k] + (0.5 * once[k] + v[k]);
    }
}

/* mj_RungeKutta of order 4; the first evaluation has been made. Leaves the mean acceleration of the step in g->moved.
 */
BE_INLINE void runge_kutta(be_physics_group *g, const int wide, int keep) {
    static const double weights[5][4] = {{0}, {0.5}, {0, 0.5}, {0, 0, 1}, {1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0}};
    const be_physics_model *m = g->m;
    const int64_t nv = m->nv;
    const be_vd time = BE_K(opt_timestep, 0);
    be_vd velocity[nv], change[nv];
    be_copy(g->start_qpos, g->qpos, m->nq);
    be_copy(g->start_qvel, g->qvel, nv);
    be_copy(g->start_act, g->act, m->na);
    for (int stage = 0;; stage++) {
        if (stage) {
            sum_of(g, weights[stage], stage, velocity, change);
            if (m->na) activate_stage(g, wide, weights[stage], stage);
            be_copy(g->qpos, g->start_qpos, m->nq);
            move(m, g->qpos, velocity, time);
            for (int64_t i = 0; i < nv; i++) g->qvel[i] = g->start_qvel[i] + change[i] * time;
            if (stage == 4) {
                be_copy(g->moved, change, nv);
                return;
            }
            g->senses = 0;
            g->forces = keep && stage == 3 && g->job->forces;
            be_physics_forward(g);
        }
        be_copy(g->velocity + stage * nv, g->qvel, nv);
        if (stage && *m->version >= 4000) see_from_start(g, g->velocity + stage * nv, velocity, time);
        be_copy(g->acceleration + stage * nv, g->qacc, nv);
        be_copy(g->rates + stage * m->na, g->act_dot, m->na);
    }
}

/* mj_step1, of what is read: without contacts and constraints. */
static void refresh(be_physics_group *g) {
    BE_PHYSICS_STAGE_NAME(kinematics)(g);
    BE_PHYSICS_STAGE_NAME(com_pos)(g);
    if (g->m->ntendon) BE_PHYSICS_STAGE_NAME(tendon)(g);
    BE_PHYSICS_STAGE_NAME(com_vel)(g);
    if (g->m->num_moments) BE_PHYSICS_STAGE_NAME(transmission)(g);
    if (g->job->sensors) BE_PHYSICS_STAGE_NAME(state_sensors)(g);
}

BE_INLINE void integrate(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    const int runge = *m->opt_integrator == BE_RK4;
    drop_bad(g, g->ctrl, m->nu);
    drop_bad(g, g->mocap_pos, 3 * m->nmocap); /* of which MuJoCo allows any number, too: it steps such lanes */
    drop_bad(g, g->mocap_quat, 4 * m->nmocap);
    for (int64_t k = 0; k < g->job->steps && g->present; k++) {
        const int final = k == g->job->steps - 1;
        if (g->job->before_step(g->job->context, g, k)) drop_bad(g, g->ctrl, m->nu);
        drop_bad(g, g->qpos, m->nq);
        drop_bad(g, g->qvel, m->nv);
        if (m->na) drop_beyond(g, g->act, m->na, INFINITY); /* MuJoCo allows any number */
        const int senses = final && g->job->sensors;
        g->senses = senses ? *m->senses : 0;
        g->forces = (final && !runge && g->job->forces) || g->senses & BE_SENSES_FORCES;
        be_physics_forward(g);
        if (senses) BE_PHYSICS_STAGE_NAME(sensors)(g);
        drop_bad(g, g->qacc, m->nv);
        if (runge) {
            runge_kutta(g, wide, final);
        } else {
            advance(g, wide);
        }
        be_copy(g->qacc_warmstart, g->qacc, m->nv);
        /* Before MuJoCo 4, what stays in qacc is the last evaluation's. */
        if (runge && *m->version >= 4000) be_copy(g->qacc, g->moved, m->nv);
        g->time += BE_K(opt_timestep, 0);
    }
    if (g->job->body_forces) {
        BE_PHYSICS_STAGE_NAME(body_forces)(g);
    } else if (g->job->accelerations) {
        BE_PHYSICS_STAGE_NAME(body_motion)(g);
    }
    if (g->job->pin && g->present) g->job->pin(g->job->context, g);
    /* MuJoCo finds bad numbers in its next step. But a NaN has a sign, which depends on how it came about. */
    drop_bad(g, g->qpos, m->nq);
    drop_bad(g, g->qvel, m->nv);
    if (m->na) drop_beyond(g, g->act, m->na, INFINITY);
    drop_bad(g, g->qacc, m->nv);
    if ((g->job->fresh || g->job->pin) && g->present) refresh(g);
}
BE_PHYSICS_STAGE(integrate)
