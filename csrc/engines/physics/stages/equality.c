/* mj_instantiateEquality, with mj_makeImpedance and mj_referenceConstraint for these rows (and mj_Jdotv). They are the
 * first rows, and the same in all lanes. */
#include <math.h>

#include "engines/physics/objects.h"
#include "engines/physics/rows.h"

/* An equality under way. */
typedef struct equality {
    int i, kind, rows;
    be_vd *J;        /* by row and degree of freedom */
    be_vd error[6];  /* efc_pos */
    be_vd change[6]; /* how fast the velocities of rows change at these velocities */
    be_vl moves;     /* lanes in which it moves anything */
} equality;

/* A coupling's joint or tendon: where it is, from where the model has it. `row` gets what moves it. */
BE_INLINE be_vd coupled(const be_physics_group *g, const int wide, const equality *e, int side, be_vd *row) {
    const be_physics_model *m = g->m;
    const int object = m->eq_objects[2 * e->i + side];
    be_zero(row, m->nv);
    if (e->kind == BE_EQUAL_TENDONS) {
        be_tendon_row(row, g, object);
        return g->ten_length[object] - BE_K(eq_start, 2 * e->i + side);
    }
    row[m->jnt_dofadr[object]] = be_set1(1);
    return g->qpos[m->jnt_qposadr[object]] - BE_K(eq_start, 2 * e->i + side);
}

#define DATA(k) BE_K(eq_data, BE_EQUALITY_DATA * e->i + (k))

/* A joint or tendon that follows another one's polynomial, or stays where it is. */
BE_INLINE void couple(be_physics_group *g, const int wide, equality *e) {
    const be_physics_model *m = g->m;
    const be_vd at = coupled(g, wide, e, 0, e->J);
    e->error[0] = at - DATA(0);
    if (m->eq_objects[2 * e->i + 1] >= 0) {
        const be_vd x = coupled(g, wide, e, 1, g->rows);
        const be_vd slope = DATA(1) + 2 * DATA(2) * x + 3 * DATA(3) * x * x + 4 * DATA(4) * x * x * x;
        e->error[0] -= DATA(1) * x + DATA(2) * x * x + DATA(3) * x * x * x + DATA(4) * x * x * x * x;
        for (int64_t k = 0; k < m->nv; k++) e->J[k] += g->rows[k] * -slope;
    }
    for (int64_t k = 0; k < m->nv; k++) e->moves |= e->J[k] != 0;
}

/* One of the two places that a connect or weld holds together. */
typedef struct anchor {
    int body;
    be_vd point[3], offset[3]; /* in the world, and from the tree's centre of mass */
    be_vd quat[4], own[4];     /* as rows have it, and as mj_Jdotv and forces do: see be_own_site_quat */
} anchor;

/* mj_equalityAnchors. The orientation, which only welds need, has the weld's `relpose`, or is the site's. */
BE_INLINE void anchor_of(anchor *a, const be_physics_group *g, const int wide, const equality *e, int side) {
    const be_physics_model *m = g->m;
    const int site = m->eq_objects[2 * e->i + side], version = *m->version;
    a->body = m->eq_bodies[2 * e->i + side];
    be_copy(a->quat, g->xquat + 4 * a->body, 4);
    if (m->eq_sites[e->i]) {
        be_copy(a->point, g->site_xpos + 3 * site, 3);
        if (e->kind == BE_EQUAL_WELD) {
            be_site_quat(a->quat, g, wide, site);
            be_own_site_quat(a->own, g, wide, site);
        }
    } else {
        const int at = 3 * (e->kind == BE_EQUAL_WELD ? 1 - side : side);
        const be_vd local[3] = {DATA(at), DATA(at + 1), DATA(at + 2)}, turn[4] = {DATA(6), DATA(7), DATA(8), DATA(9)};
        be_mul_mat_vec3(a->point, g->xmat + 9 * a->body, local);
        be_add_to(a->point, g->xpos + 3 * a->body, 3);
        if (e->kind == BE_EQUAL_WELD && side == 0) be_mul_quat(a->quat, a->quat, turn, version);
        be_copy(a->own, a->quat, 4);
    }
    be_sub3(a->offset, a->point, g->subtree_com + 3 * m->body_rootid[a->body]);
}

/* left * (0, v) * right: its last three numbers */
static void turn_between(be_vd *to, const be_vd *left, const be_vd *v, const be_vd *right, int version) {
    be_vd half[4], whole[4];
    be_mul_quat_axis(half, left, v, version);
    be_mul_quat(whole, half, right, version);
    be_copy(to, whole + 1, 3);
}

/* How degree of freedom i moves an anchor, and turns it. */
static void move_anchor(be_vd *to, const be_physics_group *g, const anchor *a, int i) {
    const be_vd *dof = g->cdof + 6 * i;
    be_vd swing[3];
    be_cross(swing, dof, a->offset);
    for (int k = 0; k < 3; k++) to[k] = dof[3 + k] + swing[k];
    be_copy(to + 3, dof, 3);
}

/* mj_jacDot times the velocities: how fast those of an anchor's point change, and its turning. */
static void change_of(be_vd *to, be_physics_group *g, const anchor *a, int turns) {
    const be_physics_model *m = g->m;
    const int64_t nv = m->nv;
    be_vd *J = g->contact_jacobian, moving[3], changes[6];
    be_zero(J, 6 * nv);
    be_point_velocity(moving, g, a->body, a->offset);
    for (int i = be_last_dof(m, a->body); i >= 0; i = m->dof_parentid[i]) {
        be_change_moves(changes, g, i, a->offset, moving);
        for (int k = 0; k < 6; k++) J[k * nv + i] = changes[k];
    }
    for (int k = 0; k < (turns ? 6 : 3); k++) to[k] = be_dot(J + k * nv, g->qvel, nv);
}

/* mju_derivQuat */
static void quat_change(be_vd *to, const be_vd *q, const be_vd *v) {
    to[0] = 0.5 * (-v[0] * q[1] - v[1] * q[2] - v[2] * q[3]);
    to[1] = 0.5 * (v[0] * q[0] + v[1] * q[3] - v[2] * q[2]);
    to[2] = 0.5 * (-v[0] * q[3] + v[1] * q[0] + v[2] * q[1]);
    to[3] = 0.5 * (v[0] * q[2] - v[1] * q[1] + v[2] * q[0]);
}

/* mj_Jdotv for a connect or weld. */
BE_INLINE void change_hold(be_physics_group *g, const int wide, equality *e, const anchor *one, const anchor *two) {
    const int welds = e->kind == BE_EQUAL_WELD, version = *g->m->version;
    be_vd first[6], second[6];
    change_of(first, g, one, welds);
    change_of(second, g, two, welds);
    for (int k = 0; k < 3; k++) e->change[k] = first[k] - second[k];
    if (!welds) return;
    const be_vd *spin1 = g->cvel + 6 * one->body, *spin2 = g->cvel + 6 * two->body;
    be_vd spin[3], faster[3], changes1[4], changes2[4], minus[4], minus_changes[4], terms[3][3];
    be_sub3(spin, spin1, spin2);
    be_sub3(faster, first + 3, second + 3);
    if (g->m->eq_sites[e->i]) {
        quat_change(changes1, one->own, spin1);
    } else {
        const be_vd turn[4] = {DATA(6), DATA(7), DATA(8), DATA(9)};
        quat_change(changes1, g->xquat + 4 * one->body, spin1);
        be_mul_quat(changes1, changes1, turn, version);
    }
    quat_change(changes2, two->own, spin2);
    be_neg_quat(minus, two->own);
    be_neg_quat(minus_changes, changes2);
    turn_between(terms[0], minus_changes, spin, one->own, version);
    turn_between(terms[1], minus, faster, one->own, version);
    turn_between(terms[2], minus, spin, changes1, version);
    for (int k = 0; k < 3; k++) e->change[3 + k] = 0.5 * (terms[0][k] + terms[1][k] + terms[2][k]) * DATA(10);
}

/* Two points, of a connect or weld, that are held together; a weld also holds their orientations. */
BE_INLINE void hold(be_physics_group *g, const int wide, equality *e) {
    const be_physics_model *m = g->m;
    const int64_t nv = m->nv;
    const int welds = e->kind == BE_EQUAL_WELD, version = *m->version;
    anchor one, two;
    be_vd minus[4];
    anchor_of(&one, g, wide, e, 0);
    anchor_of(&two, g, wide, e, 1);
    be_sub3(e->error, one.point, two.point);
    if (welds) {
        be_vd between[4];
        be_neg_quat(minus, two.quat);
        be_mul_quat(between, minus, one.quat, version);
        for (int k = 0; k < 3; k++) e->error[3 + k] = between[1 + k] * DATA(10);
        be_copy(g->weld_quats + 8 * e->i, one.own, 4);
        be_copy(g->weld_quats + 8 * e->i + 4, two.own, 4);
    }
    be_zero(e->J, e->rows * nv);
    for (int i = be_last_dof(m, one.body), j = be_last_dof(m, two.body); i >= 0 || j >= 0;) {
        const int dof = i > j ? i : j;
        be_vd moves[6], other[6], turn[3];
        be_zero(moves, 6);
        if (i == dof) {
            move_anchor(moves, g, &one, i);
            i = m->dof_parentid[i];
        }
        if (j == dof) {
            move_anchor(other, g, &two, j);
            for (int k = 0; k < 6; k++) moves[k] -= other[k];
            j = m->dof_parentid[j];
        }
        if (welds) {
            turn_between(turn, minus, moves + 3, one.quat, version);
            for (int k = 0; k < 3; k++) moves[3 + k] = 0.5 * turn[k] * DATA(10);
        }
        for (int k = 0; k < e->rows; k++) {
            e->moves |= moves[k] != 0;
            e->J[k * nv + dof] = moves[k];
        }
    }
    change_hold(g, wide, e, &one, &two);
}

/* mj_diagApprox of row k. */
BE_INLINE be_vd weight_of(const be_physics_group *g, const int wide, const equality *e, int k) {
    const be_physics_model *m = g->m;
    const int *objects = m->eq_objects + 2 * e->i, *bodies = m->eq_bodies + 2 * e->i;
    switch (e->kind) {
    case BE_EQUAL_JOINTS: {
        const be_vd weight = BE_K(dof_invweight0, m->jnt_dofadr[objects[0]]);
        return objects[1] < 0 ? weight : weight + BE_K(dof_invweight0, m->jnt_dofadr[objects[1]]);
    }
    case BE_EQUAL_TENDONS: {
        const be_vd weight = BE_K(tendon_invweight0, objects[0]);
        return objects[1] < 0 ? weight : weight + BE_K(tendon_invweight0, objects[1]);
    }
    default:
        return BE_K(body_invweight0, 2 * bodies[0] + (k > 2)) + BE_K(body_invweight0, 2 * bodies[1] + (k > 2));
    }
}

/* The trees of joints that an equality holds together: one of them, in each lane. */
static be_vd tree_of(be_physics_group *g, const equality *e) {
    const int *trees = g->m->eq_trees + 2 * e->i;
    be_vd first;
    if (g->m->num_trees == 1) return be_set1(0);
    if (e->kind == BE_EQUAL_JOINTS || e->kind == BE_EQUAL_TENDONS) {
        be_physics_join_trees(g, BE_ALL_LANES, e->J, &first);
        return first;
    }
    if (trees[0] >= 0 && trees[1] >= 0 && trees[0] != trees[1]) be_physics_join(g, BE_ALL_LANES, trees[0], trees[1]);
    return be_set1(trees[0] < 0 ? trees[1] : trees[0]);
}

/* The values of the rows in J, and which lanes have them: those of `lanes`. */
BE_INLINE void value(be_physics_group *g, const int wide, unsigned lanes, const equality *e, int at) {
    const be_physics_model *m = g->m;
    const be_vd tree = tree_of(g, e);
    const be_vd inside = e->rows == 1 ? e->error[0] : be_sqrt(be_dot(e->error, e->error, e->rows));
    const be_vd impedance = BE_IMPEDANCE(eq_curve, e->i, m->eq_shape[e->i], inside);
    const be_vd stiffness = BE_CURVE_OF(eq_curve, e->i, BE_STIFFNESS),
                damping = BE_CURVE_OF(eq_curve, e->i, BE_DAMPING);
    for (int k = 0; k < e->rows; k++) {
        const be_vd velocity = be_dot(e->J + k * m->nv, g->qvel, m->nv);
        be_vd aref = -damping * velocity - stiffness * impedance * e->error[k];
        if (e->rows > 1) aref -= e->change[k];
        g->R[at + k] = be_positive((1 - impedance) * weight_of(g, wide, e, k) / impedance);
        g->D[at + k] = 1 / g->R[at + k];
        g->aref[at + k] = aref;
        g->row_tree[at + k] = tree;
        ((be_vl *)g->row_here)[at + k] = be_lanes_of(lanes);
        g->present &= ~(be_mask_bits(~(be_abs(aref) < HUGE_VAL)) & lanes);
    }
}

BE_INLINE void make(be_physics_group *g, const int wide, unsigned lanes) {
    const be_physics_model *m = g->m;
    for (int i = 0; i < m->num_equalities; i++) {
        static const int rows[] = {
            [BE_EQUAL_CONNECT] = 3, [BE_EQUAL_WELD] = 6, [BE_EQUAL_JOINTS] = 1, [BE_EQUAL_TENDONS] = 1};
        const int at = m->eq_row[i];
        equality e = {.i = i, .kind = m->eq_kind[i], .moves = be_lane_numbers() < 0};
        e.rows = rows[e.kind];
        e.J = at < 0 ? g->equality_jacobian : g->J + at * m->nv;
        if (e.rows == 1) {
            couple(g, wide, &e);
        } else {
            hold(g, wide, &e);
        }
        g->left |= lanes & be_mask_bits(at < 0 ? e.moves : ~e.moves);
        if (at >= 0) value(g, wide, lanes, &e, at);
    }
}

void be_physics_make_equalities(be_physics_group *g, unsigned lanes) {
    if (g->wide) {
        make(g, 1, lanes);
    } else {
        make(g, 0, lanes);
    }
}
