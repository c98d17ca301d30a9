/* mj_tendon: the lengths of tendons, and how far each degree of freedom moves them; their velocities, which
 * mj_fwdVelocity computes; and mj_tendonBias. */
#include "engines/physics/objects.h"
#include "engines/physics/rows.h"

BE_INLINE void fixed(be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    const int first = m->ten_J_rowadr[i], count = m->ten_J_rownnz[i];
    be_vd length = be_set1(0), *row = g->ten_J + first;
    for (int k = m->tendon_adr[i]; k < m->tendon_adr[i] + m->tendon_num[i]; k++) {
        length += BE_K(wrap_prm, k) * g->qpos[m->jnt_qposadr[m->wrap_objid[k]]];
    }
    for (int k = 0; k < count; k++) row[k] = BE_K(tendon_coefs, first + k);
    g->ten_length[i] = length;
}

/* ---- spatial tendons ---------------------------------------------------------------------------------- */

/* A point of a tendon's path, and the body that it is fixed to. */
typedef struct knot {
    be_vd point[3];
    int body;
} knot;

static knot knot_at(const be_physics_group *g, int site) {
    knot k = {.body = g->m->site_bodyid[site]};
    be_copy(k.point, g->site_xpos + 3 * site, 3);
    return k;
}

static be_vd distance(const knot *from, const knot *to) {
    be_vd apart[3];
    be_sub3(apart, from->point, to->point);
    return be_sqrt(be_dot3(apart, apart));
}

/* How far each degree of freedom moves the end of a line along a direction, away from its beginning; with `changes`,
 * how fast that changes. */
static void move_along(be_vd *moves, const be_physics_group *g, const knot *from, const knot *to,
                       const be_vd *direction, int changes) {
    const be_physics_model *m = g->m;
    const knot *knots[] = {from, to};
    be_vd offsets[2][3], moving[2][3];
    int last[2];
    be_zero(moves, m->nv);
    for (int side = 0; side < 2; side++) {
        be_sub3(offsets[side], knots[side]->point, g->subtree_com + 3 * m->body_rootid[knots[side]->body]);
        if (changes) be_point_velocity(moving[side], g, knots[side]->body, offsets[side]);
        last[side] = be_last_dof(m, knots[side]->body);
    }
    while (last[0] >= 0 || last[1] >= 0) {
        const int dof = last[0] > last[1] ? last[0] : last[1];
        be_vd columns[2][6];
        for (int side = 0; side < 2; side++) {
            be_zero(columns[side], 3);
            if (last[side] != dof) continue;
            if (changes) {
                be_change_moves(columns[side], g, dof, offsets[side], moving[side]);
            } else {
                be_move_point(columns[side], g, dof, offsets[side]);
            }
            last[side] = m->dof_parentid[dof];
        }
        be_sub3(columns[1], columns[1], columns[0]);
        moves[dof] = be_along(columns[1], direction);
    }
}

/* Adds how degrees of freedom change the distance of two points, times `share`, to tendon i's row in some lanes. */
static void add_distance(be_physics_group *g, int i, const knot *from, const knot *to, be_vd share, be_vl here) {
    const be_physics_model *m = g->m;
    const int32_t *dofs = m->ten_J_colind + m->ten_J_rowadr[i];
    be_vd direction[3], moves[m->nv], *row = g->ten_J + m->ten_J_rowadr[i];
    if (from->body == to->body || !be_any(here)) return;
    be_sub3(direction, to->point, from->point);
    be_normalize3(direction);
    move_along(moves, g, from, to, direction, 0);
    for (int k = 0; k < m->ten_J_rownnz[i]; k++) row[k] = be_select(here, row[k] + share * moves[dofs[k]], row[k]);
}

/* Whether the tendon goes on from place k of its path to the next one, and not over a pulley. */
static int begins_line(const be_physics_model *m, int k) {
    return m->wrap_type[k] != BE_WRAP_PULLEY && m->wrap_type[k + 1] != BE_WRAP_PULLEY;
}

/* mju_wrap: how long the arc is with which a tendon wraps around the geom that is number k in paths, and where it
 * begins and ends. Less than 0: the tendon goes straight on. */
BE_INLINE be_vd wrap(const be_physics_group *g, const int wide, int k, const knot *from, const knot *to, knot *arc) {
    const be_physics_model *m = g->m;
    const int geom = m->wrap_objid[k], site = m->wrap_side[k];
    const be_vd radius = BE_K(geom_size, 3 * geom);
    be_vd length = be_set1(-1);
    be_zero(arc[0].point, 3);
    be_zero(arc[1].point, 3);
    arc[0].body = arc[1].body = m->geom_bodyid[geom];
    for (unsigned left = g->present; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        double ends[6], pos[3], mat[9], side[3] = {0}, found[6];
        for (int c = 0; c < 3; c++) {
            ends[c] = from->point[c][lane];
            ends[3 + c] = to->point[c][lane];
            pos[c] = g->geom_xpos[3 * geom + c][lane];
            if (site >= 0) side[c] = g->site_xpos[3 * site + c][lane];
        }
        for (int c = 0; c < 9; c++) mat[c] = g->geom_xmat[9 * geom + c][lane];
        length[lane] = g->job->functions->mju_wrap(found, ends, ends + 3, pos, mat, radius[lane], m->wrap_type[k],
                                                   site < 0 ? NULL : side);
        if (length[lane] < 0) continue;
        for (int c = 0; c < 3; c++) arc[0].point[c][lane] = found[c], arc[1].point[c][lane] = found[3 + c];
    }
    return length;
}

BE_INLINE void spatial(be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    const int end = m->tendon_adr[i] + m->tendon_num[i];
    be_vd divisor = be_set1(1), length = be_set1(0);
    be_zero(g->ten_J + m->ten_J_rowadr[i], m->ten_J_rownnz[i]);
    for (int k = m->tendon_adr[i]; k + 1 < end;) {
        if (m->wrap_type[k] == BE_WRAP_PULLEY) divisor = BE_K(wrap_prm, k);
        if (!begins_line(m, k)) {
            k++;
            continue;
        }
        const int around = m->wrap_type[k + 1] != BE_WRAP_SITE;
        const knot from = knot_at(g, m->wrap_objid[k]), to = knot_at(g, m->wrap_objid[k + 1 + around]);
        const be_vd share = 1 / divisor, straight = distance(&from, &to) / divisor;
        if (!around) {
            length += straight;
            add_distance(g, i, &from, &to, share, BE_ALL_LANES);
        } else {
            knot arc[2];
            const be_vd on = wrap(g, wide, k + 1, &from, &to, arc);
            const be_vl wraps = ~(on < 0);
            const be_vd bent = (distance(&from, arc) + on + distance(arc + 1, &to)) / divisor;
            length += be_select(wraps, bent, straight);
            add_distance(g, i, &from, &to, share, ~wraps);
            add_distance(g, i, &from, arc, share, wraps);
            add_distance(g, i, arc + 1, &to, share, wraps);
        }
        k += 1 + around;
    }
    g->ten_length[i] = length;
}

BE_INLINE void tendon(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    for (int i = 0; i < m->ntendon; i++) {
        const int first = m->ten_J_rowadr[i];
        if (m->wrap_type[m->tendon_adr[i]] == BE_WRAP_JOINT) {
            fixed(g, wide, i);
        } else {
            spatial(g, wide, i);
        }
        g->ten_velocity[i] = be_dot_sparse(g->ten_J + first, g->qvel, m->ten_J_rownnz[i], m->ten_J_colind + first);
    }
}
BE_PHYSICS_STAGE(tendon)

/* ---- armature ------------------------------------------------------------------------------------------ */

/* Adds up `moves` times the velocities, as mj_tendonDot does it. */
static be_vd change_by(const be_physics_group *g, const be_vd *moves, be_vd divisor, be_vd sum) {
    const be_physics_model *m = g->m;
    if (!*m->sparse_jacobian) return sum + be_dot(moves, g->qvel, m->nv) / divisor;
    for (int d = 0; d < m->nv; d++) sum += moves[d] / divisor * g->qvel[d];
    return sum;
}

/* mj_tendonDot: how fast the velocity of a spatial tendon changes at these velocities. None with an armature wraps. */
BE_INLINE be_vd change_of(const be_physics_group *g, const int wide, int i) {
    const be_physics_model *m = g->m;
    be_vd divisor = be_set1(1), sum = be_set1(0);
    for (int k = m->tendon_adr[i]; k + 1 < m->tendon_adr[i] + m->tendon_num[i]; k++) {
        if (m->wrap_type[k] == BE_WRAP_PULLEY) divisor = BE_K(wrap_prm, k);
        if (!begins_line(m, k)) continue;
        const int sites[] = {m->wrap_objid[k], m->wrap_objid[k + 1]};
        const knot from = knot_at(g, sites[0]), to = knot_at(g, sites[1]);
        const be_object ends[] = {be_object_of(g, BE_OBJECT_SITE, sites[0]), be_object_of(g, BE_OBJECT_SITE, sites[1])};
        be_vd direction[3], turning[3], velocities[2][6], moves[m->nv];
        if (from.body == to.body) continue;
        be_sub3(direction, to.point, from.point);
        const be_vd norm = be_normalize3(direction);
        for (int side = 0; side < 2; side++) be_object_velocity(velocities[side], g, &ends[side], 0);
        be_sub3(turning, velocities[1] + 3, velocities[0] + 3);
        const be_vd away = be_dot3(direction, turning), scale = be_select(norm > BE_MINVAL, 1 / norm, be_set1(0));
        for (int c = 0; c < 3; c++) turning[c] = (turning[c] + direction[c] * -away) * scale;
        move_along(moves, g, &from, &to, direction, 1);
        sum = change_by(g, moves, divisor, sum);
        move_along(moves, g, &from, &to, turning, 0);
        sum = change_by(g, moves, divisor, sum);
    }
    return sum;
}

BE_INLINE void tendon_bias(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    for (int i = 0; i < m->ntendon; i++) {
        const int first = m->ten_J_rowadr[i];
        if (BE_K1(tendon_armature, i) == 0 || m->wrap_type[m->tendon_adr[i]] == BE_WRAP_JOINT) continue;
        const be_vd force = BE_K(tendon_armature, i) * change_of(g, wide, i);
        for (int k = first; k < first + m->ten_J_rownnz[i]; k++)
            g->qfrc_bias[m->ten_J_colind[k]] += force * g->ten_J[k];
    }
}
BE_PHYSICS_STAGE(tendon_bias)
