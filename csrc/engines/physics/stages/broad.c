/* Which pairs of geoms may touch in some lane. Boxes along the axes of the world tell, so that nothing is computed of
 * pairs that are far apart: first those around clumps of geoms that move together and blocks of geoms that never move,
 * and then those around single geoms. */
#include <math.h>
#include <string.h>

#include "engines/physics/group.h"

#define ROUNDING 1e-9 /* of a box's numbers, more than there is */

/* The box around a geom, which half of its pairs' greatest margin is added to: its low corner, then the high one. What
 * is NaN, or infinite, is near everything. */
BE_INLINE void bound(be_vd *box, const be_physics_group *g, const int wide, int geom) {
    const be_vd *place = g->geom_xpos + 3 * geom, *axes = g->geom_xmat + 9 * geom;
    be_vd bad = be_set1(0); /* or NaN: then no axis says anything */
    for (int i = 0; i < 3; i++) {
        be_vd middle = place[i], half = BE_K(geom_reach, geom);
        for (int j = 0; j < 3; j++) {
            middle += axes[3 * i + j] * BE_K(geom_box, 6 * geom + j);
            half += be_abs(axes[3 * i + j]) * BE_K(geom_box, 6 * geom + 3 + j);
        }
        half += (half + be_abs(middle) + 1) * ROUNDING;
        box[i] = middle - half;
        box[3 + i] = middle + half;
        bad += box[i] * 0 + box[3 + i] * 0;
    }
    for (int i = 0; i < 6; i++) box[i] += bad;
}

/* Makes a box larger, so that another one is in it; with one that is NaN or infinite, it becomes NaN. */
BE_INLINE void include(be_vd *box, const be_vd *other) {
    for (int i = 0; i < 6; i++) {
        const be_vl beyond = i < 3 ? other[i] < box[i] : other[i] > box[i];
        box[i] = be_select(beyond, other[i], box[i]) + other[i] * 0;
    }
}

static void include_shared(double *box, const double *other, int64_t stride) {
    for (int i = 0; i < 6; i++) {
        const double number = other[i * stride];
        const int beyond = i < 3 ? number < box[i] : number > box[i];
        box[i] = (beyond ? number : box[i]) + number * 0;
    }
}

static void make_empty(double *box) {
    for (int i = 0; i < 6; i++) box[i] = i < 3 ? INFINITY : -INFINITY;
}

void be_physics_bound_still(be_physics_group *g) {
    const be_physics_model *m = g->m;
    double *boxes = (double *)g->still_bounds, *blocks = (double *)g->block_bounds;
    for (int geom = 0; geom < m->ngeom && m->num_blocks; geom++) {
        if (!m->body_still[m->geom_bodyid[geom]]) continue;
        be_vd box[6];
        if (g->wide) {
            bound(box, g, 1, geom);
        } else {
            bound(box, g, 0, geom);
        }
        make_empty(boxes + 6 * geom);
        for (int lane = 0; lane < BE_VL; lane++) include_shared(boxes + 6 * geom, (const double *)box + lane, BE_VL);
    }
    for (int block = 0; block < m->num_blocks; block++) {
        make_empty(blocks + 6 * block);
        for (int cell = m->block_begin[block]; cell < m->block_begin[block + 1]; cell++) {
            include_shared(blocks + 6 * block, boxes + 6 * m->cell_geom[cell], 1);
        }
    }
}

/* Whether two boxes meet in any of the lanes `present`; they do where a number is NaN. The second one is that of all
 * lanes. */
BE_INLINE int meet_shared(const be_vd *box, const double *other, be_vl present) {
    be_vl apart = ~present;
    for (int i = 0; i < 3; i++) apart |= (box[i] > other[3 + i]) | (box[3 + i] < other[i]);
    return be_any(~apart);
}
BE_INLINE int meet(const be_vd *box, const be_vd *other, be_vl present) {
    be_vl apart = ~present;
    for (int i = 0; i < 3; i++) apart |= (box[i] > other[3 + i]) | (box[3 + i] < other[i]);
    return be_any(~apart);
}

BE_INLINE void bound_clumps(be_physics_group *g, const int wide) {
    const be_physics_model *m = g->m;
    for (int clump = 0; clump < m->num_clumps; clump++) {
        be_vd *box = g->clump_bounds + 6 * clump;
        for (int k = m->clump_begin[clump]; k < m->clump_begin[clump + 1]; k++) {
            const int geom = m->clump_geoms[k];
            bound(g->geom_bounds + 6 * geom, g, wide, geom);
            if (k == m->clump_begin[clump]) {
                be_copy(box, g->geom_bounds + 6 * geom, 6);
            } else {
                include(box, g->geom_bounds + 6 * geom);
            }
        }
    }
}

static void note(be_physics_group *g, int pair) { g->near[pair / 64] |= (uint64_t)1 << pair % 64; }

static void find_in_cell(be_physics_group *g, int cell, be_vl present) {
    const be_physics_model *m = g->m;
    const double *still = (const double *)g->still_bounds + 6 * m->cell_geom[cell];
    for (int k = m->cell_begin[cell]; k < m->cell_begin[cell + 1]; k++) {
        const int pair = m->cell_pairs[k], *geoms = m->pair_geoms + 2 * pair;
        const int geom = geoms[0] == m->cell_geom[cell] ? geoms[1] : geoms[0];
        if (meet_shared(g->geom_bounds + 6 * geom, still, present)) note(g, pair);
    }
}

static void find_in_blocks(be_physics_group *g, be_vl present) {
    const be_physics_model *m = g->m;
    for (int block = 0; block < m->num_blocks; block++) {
        const be_vd *clump = g->clump_bounds + 6 * m->block_clump[block];
        if (!meet_shared(clump, (const double *)g->block_bounds + 6 * block, present)) continue;
        for (int cell = m->block_begin[block]; cell < m->block_begin[block + 1]; cell++) {
            const double *still = (const double *)g->still_bounds + 6 * m->cell_geom[cell];
            if (meet_shared(clump, still, present)) find_in_cell(g, cell, present);
        }
    }
}

static void find_in_meetings(be_physics_group *g, be_vl present) {
    const be_physics_model *m = g->m;
    for (int i = 0; i < m->num_meetings; i++) {
        const int *clumps = m->meeting_clumps + 2 * i;
        if (!meet(g->clump_bounds + 6 * clumps[0], g->clump_bounds + 6 * clumps[1], present)) continue;
        for (int k = m->meeting_begin[i]; k < m->meeting_begin[i + 1]; k++) {
            const int pair = m->meeting_pairs[k], *geoms = m->pair_geoms + 2 * pair;
            if (meet(g->geom_bounds + 6 * geoms[0], g->geom_bounds + 6 * geoms[1], present)) note(g, pair);
        }
    }
}

/* Copies a pair's numbers of all lanes into the group's columns. */
static void fill(be_physics_group *g, int pair) {
    const int64_t first = g->m->at.pair_numbers + BE_PAIR_NUMBERS * pair;
    for (int lane = 0; lane < BE_VL; lane++) {
        const double *floats = g->job->floats[lane < g->job->count ? lane : 0] + first;
        for (int i = 0; i < BE_PAIR_NUMBERS; i++) ((double *)&g->wide_columns[first + i])[lane] = floats[i];
    }
}

static void fill_pairs(be_physics_group *g) {
    for (int64_t word = 0; word < be_physics_words(g->m); word++) {
        for (uint64_t left = g->near[word] & ~g->filled[word]; left; left &= left - 1) {
            fill(g, (int)(64 * word) + __builtin_ctzll(left));
        }
        g->filled[word] |= g->near[word];
    }
}

void be_physics_find_near(be_physics_group *g) {
    const be_vl present = be_lanes_of(g->present);
    memcpy(g->near, g->always, (size_t)be_physics_words(g->m) * sizeof *g->near);
    if (g->wide) {
        bound_clumps(g, 1);
    } else {
        bound_clumps(g, 0);
    }
    find_in_blocks(g, present);
    find_in_meetings(g, present);
    if (g->wide) fill_pairs(g);
}
