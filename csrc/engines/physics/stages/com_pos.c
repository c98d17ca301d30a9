/* mj_comPos: centres of mass of subtrees, and inertias and degrees of freedom in frames at these. */
#include "engines/physics/group.h"

BE_INLINE void centres(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    be_vd *com = g->subtree_com;
    for (int i = 0; i < m->nbody; i++) {
        for (int k = 0; k < 3; k++) com[3 * i + k] = g->xipos[3 * i + k] * BE_K(body_mass, i);
    }
    for (int i = (int)m->nbody - 1; i > 0; i--) be_add_to(com + 3 * m->body_parentid[i], com + 3 * i, 3);
    for (int i = 0; i < m->nbody; i++) {
        if (BE_K1(body_subtreemass, i) < BE_MINVAL) {
            be_copy(com + 3 * i, g->xipos + 3 * i, 3);
            continue;
        }
        const be_vd share = 1.0 / BE_K(body_subtreemass, i);
        for (int k = 0; k < 3; k++) com[3 * i + k] *= share;
    }
}

/* mju_inertCom: the inertia of a body whose axes are the columns of r, at an offset d. */
BE_INLINE void inertia_at(be_vd *to, const be_vd *inertia, const be_vd *r, const be_vd *d, be_vd mass) {
    const be_vd t[9] = {r[0] * inertia[0], r[3] * inertia[0], r[6] * inertia[0], r[1] * inertia[1], r[4] * inertia[1],
                        r[7] * inertia[1], r[2] * inertia[2], r[5] * inertia[2], r[8] * inertia[2]};
    to[0] = r[0] * t[0] + r[1] * t[3] + r[2] * t[6] + mass * (d[1] * d[1] + d[2] * d[2]);
    to[1] = r[3] * t[1] + r[4] * t[4] + r[5] * t[7] + mass * (d[0] * d[0] + d[2] * d[2]);
    to[2] = r[6] * t[2] + r[7] * t[5] + r[8] * t[8] + mass * (d[0] * d[0] + d[1] * d[1]);
    to[3] = r[0] * t[1] + r[1] * t[4] + r[2] * t[7] - mass * d[0] * d[1];
    to[4] = r[0] * t[2] + r[1] * t[5] + r[2] * t[8] - mass * d[0] * d[2];
    to[5] = r[3] * t[2] + r[4] * t[5] + r[5] * t[8] - mass * d[1] * d[2];
    for (int k = 0; k < 3; k++) to[6 + k] = mass * d[k];
    to[9] = mass;
}

/* How joint j of body i moves things, seen from its tree's centre of mass. */
BE_INLINE void motions(be_physics_group *g, int i, int j) {
    const be_physics_model *m = g->m;
    be_vd *dof = g->cdof + 6 * m->jnt_dofadr[j], offset[3];
    be_sub3(offset, g->subtree_com + 3 * m->body_rootid[i], g->xanchor + 3 * j);
    switch (m->jnt_type[j]) {
    case BE_SLIDE:
        be_zero(dof, 3);
        be_copy(dof + 3, g->xaxis + 3 * j, 3);
        return;
    case BE_HINGE:
        be_copy(dof, g->xaxis + 3 * j, 3);
        be_cross(dof + 3, g->xaxis + 3 * j, offset);
        return;
    case BE_FREE:
        for (int k = 0; k < 18; k++) dof[k] = be_set1(k == 3 || k == 10 || k == 17);
        dof += 18;
        break;
    }
    for (int k = 0; k < 3; k++, dof += 6) {
        for (int c = 0; c < 3; c++) dof[c] = g->xmat[9 * i + k + 3 * c];
        be_cross(dof + 3, dof, offset);
    }
}

BE_INLINE void com_pos(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    centres(g, wide);
    be_zero(g->cinert, 10);
    for (int i = 1; i < m->nbody; i++) {
        be_vd offset[3], inertia[3];
        be_sub3(offset, g->xipos + 3 * i, g->subtree_com + 3 * m->body_rootid[i]);
        for (int k = 0; k < 3; k++) inertia[k] = BE_K(body_inertia, 3 * i + k);
        inertia_at(g->cinert + 10 * i, inertia, g->ximat + 9 * i, offset, BE_K(body_mass, i));
    }
    for (int i = 1; i < m->nbody; i++) {
        for (int j = m->body_jntadr[i]; j < m->body_jntadr[i] + m->body_jntnum[i]; j++) motions(g, i, j);
    }
}
BE_PHYSICS_STAGE(com_pos)
