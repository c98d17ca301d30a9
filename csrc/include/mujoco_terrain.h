/* Terrain that becomes harder for robots that can walk on it, for tasks in C: what batchenv.robots.TerrainLevels is for
 * tasks in NumPy. The model's terrain is that of batchenv.robots.add_terrain: square tiles, a row of them for each
 * level, a column for each kind. */
#ifndef BE_MUJOCO_TERRAIN_H
#define BE_MUJOCO_TERRAIN_H

#include <math.h>

#include "mujoco_task.h"

/* A row of the table of what the task reads: the sites in the middle of the tiles. name: that of the terrain. */
#define BE_TERRAIN_READ(name) {"model.site_pos", "site", name "_[0-9]+_[0-9]+"}

/* Four fields of the task's state that follow each other. They outlast episodes. */
enum { BE_TERRAIN_LEVEL, BE_TERRAIN_KIND, BE_TERRAIN_WALKED, BE_TERRAIN_ASKED };
#define BE_TERRAIN_FIELDS(first)                                                                                       \
    [(first) +                                                                                                         \
        BE_TERRAIN_LEVEL] = {"terrain_level", BE_I64, 1, "the level of the lane's tile; 0 is easy"},                   \
        [(first) + BE_TERRAIN_KIND] = {"terrain_kind", BE_I64, 1, "the kind of its terrain, which it keeps"},          \
        [(first) + BE_TERRAIN_WALKED] = {"terrain_walked", BE_F64, 1, "how far it has walked in this episode, m"},     \
        [(first) + BE_TERRAIN_ASKED] = {"terrain_asked", BE_F64, 1, "how far it was asked to walk in this episode, m"}

/* Which rows of the task's tables these are. */
typedef struct be_terrain {
    int read, fields;
} be_terrain;

/* How many kinds and levels there are: the first site of each level has another x. */
static inline int64_t be_terrain_kinds(const be_batch *batch, int64_t lane, const be_terrain *terrain) {
    const int64_t count = be_mujoco_count_of(batch, terrain->read);
    const double x = be_mujoco_read_at(batch, lane, terrain->read, 0)[0];
    int64_t kinds = 1;
    while (kinds < count && be_mujoco_read_at(batch, lane, terrain->read, kinds)[0] == x) kinds++;
    return kinds;
}
static inline int64_t be_terrain_levels(const be_batch *batch, int64_t lane, const be_terrain *terrain) {
    return be_mujoco_count_of(batch, terrain->read) / be_terrain_kinds(batch, lane, terrain);
}

/* Half the side of a tile, m; infinite if there is one tile. */
static inline double be_terrain_half(const be_batch *batch, int64_t lane, const be_terrain *terrain) {
    const int64_t kinds = be_terrain_kinds(batch, lane, terrain), count = be_mujoco_count_of(batch, terrain->read);
    if (count == 1) return HUGE_VAL;
    const int axis = count == kinds; /* one level: kinds are next to each other along y */
    const double *first = be_mujoco_read_at(batch, lane, terrain->read, 0);
    return fabs(be_mujoco_read_at(batch, lane, terrain->read, axis ? 1 : kinds)[axis] - first[axis]) / 2;
}

/* Where the lane's episodes begin: 3 numbers. State that users have set is brought into its range. */
static inline const double *be_terrain_origin(const be_batch *batch, int64_t lane, const be_terrain *terrain) {
    const int64_t kinds = be_terrain_kinds(batch, lane, terrain), levels = be_terrain_levels(batch, lane, terrain);
    int64_t level = *MJ_FIELD(batch, terrain->fields + BE_TERRAIN_LEVEL, const int64_t, lane);
    int64_t kind = *MJ_FIELD(batch, terrain->fields + BE_TERRAIN_KIND, const int64_t, lane);
    level = level < 0 ? 0 : level >= levels ? levels - 1 : level;
    kind = kind < 0 ? 0 : kind >= kinds ? kinds - 1 : kind;
    return be_mujoco_read_at(batch, lane, terrain->read, level * kinds + kind);
}

/* At an episode's start, before be_mujoco_begin(): decides the lane's level, and moves where it starts, whose position
 * the caller has written into MJ_QPOS, to the middle of its tile. A lane's next episode is a level higher if it has
 * walked farther than half a tile, and a level lower if it has walked less than half as far as it was asked to. Beyond
 * the last level it gets any one. Lanes start at any of the levels 0 to `most` at first. Draws one number. */
static inline void be_terrain_start(be_batch *batch, int64_t lane, const be_terrain *terrain, int64_t most) {
    const int64_t levels = be_terrain_levels(batch, lane, terrain);
    int64_t *level = MJ_FIELD(batch, terrain->fields + BE_TERRAIN_LEVEL, int64_t, lane);
    double *walked = MJ_FIELD(batch, terrain->fields + BE_TERRAIN_WALKED, double, lane);
    double *asked = MJ_FIELD(batch, terrain->fields + BE_TERRAIN_ASKED, double, lane);
    const int64_t any = be_rng_integers(&batch->rng[lane], 0, levels);
    if (be_mujoco_is_new(batch, lane)) {
        *level = any * (most + 1) / levels;
        *MJ_FIELD(batch, terrain->fields + BE_TERRAIN_KIND, int64_t, lane) =
            lane % be_terrain_kinds(batch, lane, terrain);
    } else {
        const int farther = *walked > be_terrain_half(batch, lane, terrain);
        *level += farther - (!farther && *walked < 0.5 * *asked);
        *level = *level >= levels ? any : *level < 0 ? 0 : *level;
    }
    const double *origin = be_terrain_origin(batch, lane, terrain);
    double *position = be_mujoco_arrays(batch, lane)[MJ_QPOS];
    for (int j = 0; j < 3; j++) position[j] += origin[j];
    *walked = *asked = 0;
}

/* After the physics: notes how far the lane has walked. speed: what it is asked for, m/s. */
static inline void be_terrain_update(be_batch *batch, int64_t lane, const be_terrain *terrain, double speed) {
    const double *origin = be_terrain_origin(batch, lane, terrain);
    const double *position = be_mujoco_arrays(batch, lane)[MJ_QPOS];
    const double x = position[0] - origin[0], y = position[1] - origin[1];
    *MJ_FIELD(batch, terrain->fields + BE_TERRAIN_WALKED, double, lane) = sqrt(x * x + y * y);
    *MJ_FIELD(batch, terrain->fields + BE_TERRAIN_ASKED, double, lane) += speed * be_mujoco_dt(batch);
}

#endif
