/* mj_makeConstraint, mj_makeImpedance and mj_referenceConstraint, for friction loss, limits of joints and contacts.
 * After the rows of friction loss, lane i's rows are its own: row k of two lanes may be of different constraints. */
#include <math.h>

#include "engines/physics/rows.h"

/* Where a lane's next row, or cone of `dim` rows, has its place: lanes have one of the same size at a place, if any.
 * With sparse matrices, lanes have constraints of the same size and chain at a place. */
static int place_of(const be_physics_group *g, int lane, int dim, be_chain chain) {
    int k = (int)g->next[lane];
    if (*g->m->sparse) {
        while (k < g->num_places &&
               (g->row_block[k] != dim || g->row_chain[k].last != chain.last || g->row_chain[k].count != chain.count)) {
            k += g->row_block[k];
        }
        return k;
    }
    while (k < g->num_places && g->row_dim[k] != dim) k += g->row_dim[k];
    return k;
}

/* The lanes of `left` whose next row, or cone, has the same place as the first one's. */
static be_vl same_place(const be_physics_group *g, unsigned left, int dim, be_chain chain, int *place) {
    const int k = *place = place_of(g, __builtin_ctz(left), dim, chain);
    unsigned here = 0;
    for (; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        if (place_of(g, lane, dim, chain) == k) here |= 1u << lane;
    }
    return be_lanes_of(here);
}

/* Finds a place for a cone of `dim` rows or, in models without cones, for the next `dim` rows, in some of the lanes
 * `left`, which are taken out of it, and are in *mask. `chain` is what they move. Returns -1 if there is no room: then
 * they get a bit in g->left. */
BE_INLINE int take_place(be_physics_group *g, unsigned *left, int dim, be_chain chain, be_vl *mask) {
    const int leaves_out = *g->m->opt_cone || *g->m->sparse;
    int k = (int)g->next[__builtin_ctz(*left)];
    if (leaves_out) {
        *mask = same_place(g, *left, dim, chain, &k);
    } else { /* all places are of rows */
        *mask = be_lanes_of(*left) & (g->next == k);
    }
    *left &= ~be_mask_bits(*mask);
    if (k + dim > g->m->num_rows) {
        g->left |= be_mask_bits(*mask);
        return -1;
    }
    for (; g->num_places < k + dim; g->num_places++) {
        ((be_vl *)g->row_here)[g->num_places] = be_lane_numbers() < 0;
        g->row_dim[g->num_places] = *g->m->opt_cone ? dim : 1;
        if (*g->m->sparse) g->row_chain[g->num_places] = chain, g->row_block[g->num_places] = dim;
    }
    if (leaves_out) g->nefc += *mask & dim; /* else it is `next`, in the end */
    g->next = (g->next & ~*mask) | (*mask & (k + dim));
    return k;
}

/* Writes a row to place k of some lanes. */
BE_INLINE void store(be_physics_group *g, be_vl mask, int k, const be_vd *row, int count, be_vd tree, be_vd R, be_vd D,
                     be_vd aref) {
    be_vd *to = g->J + k * g->m->nv;
    ((be_vl *)g->row_here)[k] |= mask;
    for (int i = 0; i < count; i++) to[i] = be_select(mask, row[i], to[i]);
    g->row_tree[k] = be_select(mask, tree, g->row_tree[k]);
    g->D[k] = be_select(mask, D, g->D[k]);
    g->R[k] = be_select(mask, R, g->R[k]);
    g->aref[k] = be_select(mask, aref, g->aref[k]);
}

/* Appends rows of one constraint, which move tree `tree`, to the lanes of `here`. They are nv numbers apart. Rows
 * without sound numbers are not stored, because others, which will be in these lanes later, multiply what is left of
 * them by 0: such lanes are left out. */
BE_INLINE void append(be_physics_group *g, unsigned here, const be_vd *rows, const int count, be_chain chain,
                      be_vd tree, be_vd R, const be_curve *c, be_vd inside) {
    const int64_t nv = g->m->nv;
    const be_vd D = 1 / R, pull = c->stiffness * c->impedance * inside;
    be_vd aref[BE_PHYSICS_PYRAMID];
    be_vl sound = BE_ALL_LANES;
    for (int i = 0; i < count; i++) {
        aref[i] = -c->damping * be_times_chain(g->m, chain, rows + i * nv, g->qvel) - pull;
        sound &= be_abs(aref[i]) < HUGE_VAL; /* it has the row's NaN, or its infinity as NaN */
    }
    g->present &= ~(be_mask_bits(~sound) & here);
    for (unsigned left = here & g->present; left;) {
        be_vl mask;
        const int k = take_place(g, &left, count, chain, &mask);
        for (int i = 0; k >= 0 && i < count; i++) {
            store(g, mask, k + i, rows + i * nv, chain.count, tree, R, D, aref[i]);
        }
    }
}

void be_physics_append_row(be_physics_group *g, unsigned here, const be_vd *row, be_chain chain, be_vd weight,
                           const be_curve *c, be_vd inside) {
    be_vd tree;
    if (*g->m->sparse) { /* then MuJoCo leaves out none */
        tree = be_set1(be_tree_of(g->m, chain.last));
    } else {
        here = be_mask_bits(be_physics_join_trees(g, be_lanes_of(here), row, &tree));
    }
    append(g, here, row, 1, chain, tree, be_positive((1 - c->impedance) * weight / c->impedance), c, inside);
}

/* The rows of an elliptic cone, as `append` does it. R is that of the normal direction. */
BE_INLINE void append_cone(be_physics_group *g, const int wide, unsigned here, int pair, be_vd tree, be_vd R,
                           const be_curve *c, be_vd inside) {
    const be_physics_model *m = g->m;
    const int dim = m->pair_dim[pair];
    const be_vd resistance = R / be_positive(BE_K(opt_impratio, 0));
    be_vd f[BE_CONE_DIMS], Rs[BE_CONE_DIMS] = {R, resistance}, aref[BE_CONE_DIMS];
    f[1] = BE_PAIR(FRICTION, pair, 0);
    f[0] = f[1] * be_sqrt(resistance / R);
    for (int j = 2; j < dim; j++) f[j] = BE_PAIR(FRICTION, pair, j - 1);
    for (int j = 2; j < dim; j++) Rs[j] = resistance * f[1] * f[1] / (f[j] * f[j]);
    for (int j = 0; j < dim; j++) {
        const be_vd velocity = be_dot(g->contact_jacobian + j * m->nv, g->qvel, m->nv);
        aref[j] = -c->damping * velocity - (j ? be_set1(0) : c->stiffness * c->impedance * inside);
        g->present &= ~(be_mask_bits(~(be_abs(aref[j]) < HUGE_VAL)) & here);
    }
    for (unsigned left = here & g->present; left;) {
        be_vl mask;
        const be_chain whole = {0, (int)m->nv};
        const int k = take_place(g, &left, dim, whole, &mask);
        for (int j = 0; k >= 0 && j < dim; j++) {
            store(g, mask, k + j, g->contact_jacobian + j * m->nv, (int)m->nv, tree, Rs[j], 1 / Rs[j], aref[j]);
            g->cone_friction[k + j] = be_select(mask, f[j], g->cone_friction[k + j]);
        }
    }
}

/* mj_instantiateFriction. R and D do not depend on the state: so they are among the model's numbers. */
BE_INLINE void friction(be_physics_group *g, const int wide, unsigned lanes) {
    const be_physics_model *m = g->m;
    for (int k = 0; k < m->nf; k++) {
        const int64_t at = m->ne + k;
        be_vd *row = g->J + at * m->nv, velocity;
        const int dof = m->friction_id[k], tendon = dof - (int)m->nv;
        if (tendon < 0) { /* its row is there since be_physics_isa.make */
            velocity = be_set1(0) + g->qvel[dof];
        } else {
            be_tendon_row(row, g, tendon);
            if (*m->spatial || m->num_trees > 1) { /* MuJoCo leaves out what moves nothing */
                g->left |= lanes & ~be_mask_bits(be_physics_join_trees(g, BE_ALL_LANES, row, &g->row_tree[at]));
            }
            velocity = be_dot(row, g->qvel, m->nv);
        }
        g->R[at] = BE_K(friction_R, k);
        g->D[at] = BE_K(friction_D, k);
        g->loss[k] = BE_K(friction_loss, k);
        g->bound[k] = g->R[at] * g->loss[k];
        g->aref[at] = -BE_K(friction_damping, k) * velocity;
    }
}

/* mj_instantiateLimit */
BE_INLINE void limits(be_physics_group *g, const int wide, unsigned lanes) {
    const be_physics_model *m = g->m;
    for (int j = 0; j < m->njnt; j++) {
        if (!m->jnt_limited[j]) continue;
        if (m->jnt_type[j] == BE_BALL) {
            be_physics_limit_ball(g, lanes, j);
            continue;
        }
        const be_vd at = g->qpos[m->jnt_qposadr[j]], margin = BE_K(jnt_margin, j);
        for (int side = -1; side <= 1; side += 2) {
            const be_vd distance = side * (BE_K(jnt_range, 2 * j + (side > 0)) - at);
            const unsigned here = be_mask_bits(distance < margin) & lanes;
            if (!here) continue;
            const int dof = m->jnt_dofadr[j];
            const be_vd inside = distance - margin;
            const be_curve c = {BE_CURVE_OF(jnt_curve, j, BE_STIFFNESS), BE_CURVE_OF(jnt_curve, j, BE_DAMPING),
                                BE_IMPEDANCE(jnt_curve, j, m->jnt_shape[j], inside)};
            const be_vd R = be_positive((1 - c.impedance) * BE_K(dof_invweight0, dof) / c.impedance);
            if (*m->sparse) {
                g->rows[0] = be_set1(-side);
                append(g, here, g->rows, 1, (be_chain){dof, 1}, be_set1(be_tree_of(m, dof)), R, &c, inside);
                continue;
            }
            be_zero(g->rows, m->nv);
            g->rows[dof] = be_set1(-side);
            append(g, here, g->rows, 1, (be_chain){0, (int)m->nv}, be_set1(be_tree_of(m, dof)), R, &c, inside);
        }
    }
}

/* How degree of freedom i moves candidate k of a contact, in the contact's three directions, and turns it around so
 * many of them; `sign` is that of the body. `offset` is where the contact is, from the middle of the tree. */
BE_INLINE void move_contact(be_physics_group *g, int i, const be_vd *offset, const be_vd *frame, double sign,
                            int turns) {
    const be_vd *dof = g->cdof + 6 * i;
    be_vd moves[3];
    be_cross(moves, dof, offset);
    for (int c = 0; c < 3; c++) moves[c] = sign * (dof[3 + c] + moves[c]);
    for (int axis = 0; axis < 3; axis++) {
        be_vd sum = be_set1(0);
        for (int c = 0; c < 3; c++) sum += moves[c] * frame[3 * axis + c];
        g->contact_jacobian[axis * g->m->nv + i] = sum;
    }
    for (int axis = 0; axis < turns; axis++) {
        be_vd sum = be_set1(0);
        for (int c = 0; c < 3; c++) sum += sign * dof[c] * frame[3 * axis + c];
        g->contact_jacobian[(3 + axis) * g->m->nv + i] = sum;
    }
}

/* mj_jacDifPair and the turn into the contact's frame: how candidate k moves and turns. Joints that move both bodies
 * move it by 0. */
BE_INLINE void jacobian(be_physics_group *g, int from, int to, int k, int turns) {
    const be_physics_model *m = g->m;
    const be_vd *frame = g->contact_frame + 9 * k, *centre = g->subtree_com + 3 * m->body_rootid[to];
    const be_vd *centre_from = g->subtree_com + 3 * m->body_rootid[from];
    be_vd offset[3], offset_from[3];
    be_sub3(offset, g->contact_pos + 3 * k, centre);
    be_sub3(offset_from, g->contact_pos + 3 * k, centre_from);
    if (!*m->sparse) be_zero(g->contact_jacobian, (3 + turns) * m->nv);
    for (int i = be_last_dof(m, to), j = be_last_dof(m, from); i != j;) {
        if (i > j) {
            move_contact(g, i, offset, frame, 1, turns);
            i = m->dof_parentid[i];
        } else {
            move_contact(g, j, offset_from, frame, -1, turns);
            j = m->dof_parentid[j];
        }
    }
}

/* The tree of joints that moves a body, or -1. */
static int tree_of_body(const be_physics_model *m, int body) {
    const int dof = be_last_dof(m, body);
    return dof < 0 ? -1 : be_tree_of(m, dof);
}

/* Moves the numbers of a chain to the beginning of `count` rows. */
static void pack(const be_physics_model *m, be_chain chain, be_vd *rows, int count) {
    const int32_t *dofs = be_chain_dofs(m, chain);
    for (int k = 0; k < count; k++, rows += m->nv) {
        for (int i = 0; i < chain.count; i++) rows[i] = rows[dofs[i]];
    }
}

/* mj_mergeChain, for two bodies that touch. Returns 0 if both have joints that the other one does not have. */
static int chain_of(const be_physics_model *m, int from, int to, be_chain *chain) {
    int i = be_last_dof(m, to), j = be_last_dof(m, from), moved = 0;
    *chain = (be_chain){i > j ? i : j, 0};
    for (; i != j; chain->count++) {
        moved |= i > j ? 1 : 2;
        if (i > j) {
            i = m->dof_parentid[i];
        } else {
            j = m->dof_parentid[j];
        }
    }
    return moved != 3;
}

/* mj_instantiateContact, for candidate k of a pair */
BE_INLINE void contact(be_physics_group *g, const int wide, unsigned here, int pair, int k) {
    const be_physics_model *m = g->m;
    const int64_t nv = m->nv;
    const int from = m->geom_bodyid[m->pair_geoms[2 * pair]], to = m->geom_bodyid[m->pair_geoms[2 * pair + 1]];
    const int dim = m->pair_dim[pair];
    be_chain chain = {0, (int)nv};
    if (*m->sparse && !chain_of(m, from, to, &chain)) {
        g->crossed |= here;
        return;
    }
    const int size = *m->opt_cone || dim == 1 ? dim : *m->sparse ? 2 * (dim - 1) : 1; /* of what has a place */
    const int tree_from = tree_of_body(m, from), tree_to = tree_of_body(m, to);
    const be_vd tree = be_set1(tree_to < 0 ? tree_from : tree_to);
    if (tree_from >= 0 && tree_to >= 0 && tree_from != tree_to)
        be_physics_join(g, be_lanes_of(here), tree_from, tree_to);
    for (unsigned left = here; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        ((double *)&g->contact_row[k])[lane] = place_of(g, lane, size, chain);
    }
    jacobian(g, from, to, k, dim > 3 ? dim - 3 : 0);
    if (*m->sparse) pack(m, chain, g->contact_jacobian, dim > 3 ? dim : 3);
    const be_vd inside = g->contact_dist[k] - BE_PAIR(MARGIN, pair, 0), friction = BE_PAIR(FRICTION, pair, 0);
    const be_curve c = {
        BE_PAIR(CURVE, pair, BE_STIFFNESS), BE_PAIR(CURVE, pair, BE_DAMPING),
        BE_IMPEDANCE_AT(pair_numbers, BE_PAIR_NUMBERS * pair + BE_PAIR_CURVE, m->pair_shape[pair], inside)};
    const be_vd weight = BE_K(body_invweight0, 2 * from) + BE_K(body_invweight0, 2 * to);
    if (dim == 1 || *m->opt_cone) {
        const be_vd R = be_positive((1 - c.impedance) * weight / c.impedance);
        if (dim == 1) {
            append(g, here, g->contact_jacobian, 1, chain, tree, R, &c, inside);
        } else {
            append_cone(g, wide, here, pair, tree, R, &c, inside);
        }
        return;
    }
    const be_vd R = be_positive((1 - c.impedance) * (weight + friction * friction * weight) / c.impedance);
    const be_vd mu = friction * be_sqrt(R / be_positive(BE_K(opt_impratio, 0)) / R);
    for (int axis = 1; axis < dim; axis++) {
        const be_vd steep = BE_PAIR(FRICTION, pair, axis - 1);
        be_vd *restrict plus = g->rows + 2 * (axis - 1) * nv, *restrict minus = plus + nv;
        for (int i = 0; i < chain.count; i++) {
            const be_vd normal = g->contact_jacobian[i], along = g->contact_jacobian[axis * nv + i];
            plus[i] = normal + along * steep;
            minus[i] = normal + along * -steep;
        }
    }
    if (dim == 3) {
        append(g, here, g->rows, 4, chain, tree, 2 * mu * mu * R, &c, inside);
    } else {
        append(g, here, g->rows, 2 * (dim - 1), chain, tree, 2 * mu * mu * R, &c, inside);
    }
}

BE_INLINE void make(be_physics_group *g, const int wide, unsigned lanes) {
    if (g->m->num_equalities) be_physics_make_equalities(g, lanes);
    friction(g, wide, lanes);
    limits(g, wide, lanes);
    if (g->m->ntendon) be_physics_limit_tendons(g, lanes);
    for (int i = 0; i < g->num_touching; i++) {
        const be_physics_touching *t = &g->touching[i];
        const unsigned here = be_mask_bits(((be_vl *)g->contact_here)[t->candidate]) & lanes;
        if (here) contact(g, wide, here, t->pair, t->candidate);
    }
}

void be_physics_make_constraint(be_physics_group *g, unsigned lanes) {
    const int first = (int)(g->m->ne + g->m->nf);
    g->nefc = g->next = be_lane_numbers() * 0 + first;
    for (int tree = 0; tree < g->m->num_trees; tree++) g->tree_first[tree] = be_set1(tree);
    g->joined = 0;
    for (g->num_places = 0; g->num_places < first; g->num_places++) {
        g->row_dim[g->num_places] = 1;
        ((be_vl *)g->row_here)[g->num_places] = g->num_places < g->m->ne ? be_lane_numbers() < 0 : BE_ALL_LANES;
    }
    if (g->wide) {
        make(g, 1, lanes);
    } else {
        make(g, 0, lanes);
    }
    if (!*g->m->opt_cone && !*g->m->sparse) g->nefc = g->next;
    for (int lane = 0; lane < BE_VL; lane++) g->job->rows[lane] += (int)g->nefc[lane];
}
