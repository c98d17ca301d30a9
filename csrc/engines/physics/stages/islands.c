/* Trees of joints that rows move together. */
#include "engines/physics/rows.h"

/* Makes one island of those of tree `tree` and of the trees `other`, in some lanes. */
static void join(be_physics_group *g, be_vl lanes, be_vd other, int tree) {
    const be_vd one = g->tree_first[tree];
    be_vd two = one;
    for (int k = 0; k < tree; k++) two = be_select(other == k, g->tree_first[k], two);
    const be_vd low = be_select(one < two, one, two), high = be_select(one < two, two, one);
    g->joined |= be_mask_bits(lanes);
    for (int k = 0; k < g->m->num_trees; k++) {
        g->tree_first[k] = be_select(lanes & (g->tree_first[k] == high), low, g->tree_first[k]);
    }
}

void be_physics_join(be_physics_group *g, be_vl lanes, int one, int two) {
    join(g, lanes, be_set1(one < two ? one : two), one < two ? two : one);
}

be_vl be_physics_join_trees(be_physics_group *g, be_vl lanes, const be_vd *row, be_vd *first) {
    const be_physics_model *m = g->m;
    be_vl found = be_lane_numbers() < 0;
    *first = be_set1(0);
    for (int tree = 0; tree < m->num_trees; tree++) {
        be_vl moves = be_lane_numbers() < 0;
        for (int i = m->tree_dofs[tree]; i < m->tree_dofs[tree + 1]; i++) moves |= row[i] != 0;
        moves &= lanes;
        if (be_any(moves & found)) join(g, moves & found, *first, tree);
        *first = be_select(moves & ~found, be_set1(tree), *first);
        found |= moves;
    }
    return found;
}

unsigned be_physics_islands_apart(const be_physics_group *g) {
    be_vl apart = be_lane_numbers() < 0;
    for (int tree = 1; g->joined && tree < g->m->num_trees; tree++) {
        apart |= (g->tree_first[tree] != tree) & (g->tree_first[tree] != g->tree_first[tree - 1]);
    }
    return be_mask_bits(apart);
}
