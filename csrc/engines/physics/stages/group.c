/* Makes groups of lanes, copies numbers into them and out of them, and has the table by which they are reached. */
#include "engines/physics/group.h"

#include <math.h>
#include <string.h>

#include "batchenv.h"

#define LINE 64 /* bytes of a cache line */

static size_t rounded(size_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

enum { BIT_SETS = 3 }; /* of pairs: always, near, filled */
static size_t set_bytes(const be_physics_model *m) { return rounded((size_t)be_physics_words(m) * sizeof(uint64_t)); }

static size_t bytes(const be_physics_model *m) {
    size_t vectors = (size_t)m->num_floats;
#define ADD(name, count) vectors += (size_t)(count);
    BE_PHYSICS_ARRAYS(ADD)
    BE_PHYSICS_SCRATCH(ADD)
#undef ADD
    const size_t places = *m->sparse ? rounded((size_t)m->num_rows * (sizeof(be_chain) + sizeof(int))) : 0;
    return rounded(sizeof(be_physics_group)) + places + rounded(vectors * sizeof(be_vd)) +
           rounded((size_t)m->num_rows * sizeof(int)) +
           rounded((size_t)m->num_candidates * sizeof(be_physics_touching)) + BIT_SETS * set_bytes(m);
}

static be_physics_group *make(const be_physics_model *m, void *memory) {
    be_physics_group *g = memset(memory, 0, bytes(m));
    be_vd *next = (be_vd *)((char *)memory + rounded(sizeof *g));
    g->m = m;
    g->wide_columns = next;
    next += m->num_floats;
#define PUT(name, count)                                                                                               \
    g->name = next;                                                                                                    \
    next += (count);
    BE_PHYSICS_ARRAYS(PUT)
    BE_PHYSICS_SCRATCH(PUT)
#undef PUT
    g->row_dim = (int *)next;
    g->touching = (be_physics_touching *)((char *)g->row_dim + rounded((size_t)m->num_rows * sizeof(int)));
    g->row_chain = (be_chain *)((char *)g->touching + rounded((size_t)m->num_candidates * sizeof *g->touching));
    g->row_block = (int *)(g->row_chain + (*m->sparse ? m->num_rows : 0));
    char *sets = (char *)memory + bytes(m) - BIT_SETS * set_bytes(m);
    g->always = (uint64_t *)sets;
    g->near = (uint64_t *)(sets + set_bytes(m));
    g->filled = (uint64_t *)(sets + 2 * set_bytes(m));
    for (int64_t k = 0; k < m->num_always; k++) {
        g->always[m->always_pairs[k] / 64] |= (uint64_t)1 << m->always_pairs[k] % 64;
    }
    for (int k = 0; k < m->nf; k++) { /* of friction loss: these rows are never written over */
        const int id = m->friction_id[k], dof = id < m->nv ? id : m->ten_J_colind[m->ten_J_rowadr[id - m->nv]];
        be_vd *tree = &g->row_tree[m->ne + k];
        if (id < m->nv) g->J[(m->ne + k) * m->nv + (*m->sparse ? 0 : id)] = be_set1(1);
        if (*m->sparse) g->row_chain[k] = (be_chain){id, 1}, g->row_block[k] = 1;
        while (m->tree_dofs[(int)(*tree)[0] + 1] <= dof) *tree += 1;
    }
    for (int k = 0; k < BE_PHYSICS_NUM_ARRAYS; k++) g->counts[k] = be_physics_array_size(m, k);
    return g;
}

static void read(const be_physics_group *g, int array, int lane, double *values) {
    const double *from = (const double *)g->arrays[array] + lane;
    const int64_t n = g->counts[array];
    for (int64_t i = 0; i < n; i++) values[i] = from[i * BE_VL];
}

static void write(be_physics_group *g, int array, int lane, const double *values) {
    double *to = (double *)g->arrays[array] + lane;
    const int64_t n = g->counts[array];
    for (int64_t i = 0; i < n; i++) to[i * BE_VL] = values[i];
}

/* Lanes without an env repeat the first one, whose numbers are sound. */
static void pad(be_physics_group *g) {
    static const int given[] = {BE_ARRAY_qpos,       BE_ARRAY_qvel,           BE_ARRAY_act,
                                BE_ARRAY_ctrl,       BE_ARRAY_qacc_warmstart, BE_ARRAY_mocap_pos,
                                BE_ARRAY_mocap_quat, BE_ARRAY_qfrc_applied,   BE_ARRAY_xfrc_applied};
    const size_t count = sizeof given / sizeof *given - (g->job->pushed ? 0 : 2);
    for (size_t k = 0; k < count; k++) {
        double *values = (double *)g->arrays[given[k]];
        const int64_t n = g->counts[given[k]];
        for (int64_t i = 0; i < n; i++) {
            for (int lane = g->job->count; lane < BE_VL; lane++) values[i * BE_VL + lane] = values[i * BE_VL];
        }
    }
}

enum { NEARBY = 64 }; /* numbers whose columns fit into the nearest cache */

/* Copies numbers begin to end - 1 of all lanes into columns. */
static void fill_range(be_physics_group *g, int64_t begin, int64_t end) {
    const be_physics_job *job = g->job;
    for (int64_t next; begin < end; begin = next) {
        next = begin + NEARBY < end ? begin + NEARBY : end;
        for (int lane = 0; lane < BE_VL; lane++) {
            const double *floats = job->floats[lane < job->count ? lane : 0];
            for (int64_t i = begin; i < next; i++) ((double *)&g->wide_columns[i])[lane] = floats[i];
        }
    }
}

/* The same for the geoms that may move, of an array with so many numbers of each. */
static void fill_moving(be_physics_group *g, int64_t start, int64_t count) {
    const be_physics_model *m = g->m;
    for (int64_t begin = 0, end; begin < m->ngeom; begin = end) {
        const int still = m->body_still[m->geom_bodyid[begin]];
        for (end = begin + 1; end < m->ngeom && m->body_still[m->geom_bodyid[end]] == still; end++) continue;
        if (!still) fill_range(g, start + count * begin, start + count * end);
    }
}

/* Copies the numbers of all lanes but what is there already, of geoms that never move, and those of pairs: these are
 * copied where the geoms come near each other. */
static void fill_columns(be_physics_group *g) {
    const be_physics_model *m = g->m;
    const int64_t of_geoms[][2] = {
        {m->at.geom_pos, 3}, {m->at.geom_quat, 4}, {m->at.geom_size, 3}, {m->at.geom_box, 6}, {m->at.geom_reach, 1}};
    int64_t begin = 0;
    for (size_t k = 0; k < sizeof of_geoms / sizeof *of_geoms && g->still_filled; k++) {
        fill_range(g, begin, of_geoms[k][0]);
        fill_moving(g, of_geoms[k][0], of_geoms[k][1]);
        begin = of_geoms[k][0] + of_geoms[k][1] * m->ngeom;
    }
    fill_range(g, begin, m->at.pair_numbers);
    g->still_filled = 1;
    memset(g->filled, 0, set_bytes(m));
}

/* Forgets what never moves, unless it is the same in all lanes of this step and of the last one. */
static void recall_still(be_physics_group *g) {
    const be_physics_job *job = g->job;
    const double *digest = job->floats[0] + g->m->at.still_digest;
    int same = 1;
    for (int lane = 1; lane < job->count; lane++) {
        const double *other = job->floats[lane] + g->m->at.still_digest;
        same &= digest[0] == other[0] && digest[1] == other[1];
    }
    if (!same || digest[0] != g->still_from[0] || digest[1] != g->still_from[1]) g->still = g->still_filled = 0;
    for (int k = 0; k < 2; k++) g->still_from[k] = same ? digest[k] : NAN;
}

static void step(be_physics_group *g, be_physics_job *job) {
    const unsigned all = (1u << job->count) - 1;
    g->job = job;
    g->floats = job->floats[0];
    g->wide = 0;
    for (int lane = 1; lane < job->count; lane++) g->wide |= job->floats[lane] != job->floats[0];
    recall_still(g);
    if (g->wide) fill_columns(g);
    for (int lane = 0; lane < BE_VL; lane++) ((double *)&g->time)[lane] = job->time[lane < job->count ? lane : 0];
    g->columns = g->wide_columns;
    if (job->count < BE_VL) pad(g);
    g->present = all;
    g->crossed = 0;
    BE_PHYSICS_STAGE_NAME(integrate)(g);
    job->failed = all & ~g->present;
}

const be_physics_isa BE_ISA_NAME(be_physics_isa) = {.name = BE_TEXT(BE_ISA_SUFFIX),
                                                    .lanes = BE_VL,
                                                    .bytes = bytes,
                                                    .make = make,
                                                    .read = read,
                                                    .write = write,
                                                    .step = step};
