/* DM Control's quadruped, which is to get out of a bowl with a bumpy ground. */
#include <stdlib.h>

#include "quadruped.h"

static const be_param params[] = {DM_PARAMS(4), {0}};

enum { POINTS = 201, BUMPS = 30 }; /* in each direction; a bump has 2 m */
enum { TERRAIN = DM_FIELDS };
static const be_field state[] = {
    DM_SHARED_STATE,
    {"terrain", BE_F32, POINTS * POINTS, "heights of the episode's ground, from 0 to 1"},
    {0},
};

enum { SIZE = QUADRUPED_OWN, WORKSPACE, RANGES };
static const be_read reads[] = {
    QUADRUPED_READS,
    [SIZE] = {"model.hfield_size"},
    [WORKSPACE] = {"site_xpos", "site", "workspace"},
    [RANGES] = {"sensordata", "sensor", "rf_.*"},
    {0},
};
static const be_port ports[] = {QUADRUPED_PORTS, {"origin", BE_OBSERVATION}, {"rangefinder", BE_OBSERVATION}, DM_INFOS};

static void sizes(const be_mujoco_view *view, int64_t *size) {
    common_sizes(view, size);
    size[QUADRUPED_PARTS] = 3;
    size[QUADRUPED_PARTS + 1] = view->reads[RANGES].count;
}

/* ---- the ground: scipy.ndimage.zoom of random bumps, by cubic splines -------------------------------------- */

/* Turns BUMPS values, `step` apart, into the coefficients of the spline through them, which is mirrored at both ends:
 * Unser, Aldroubi and Eden, "Fast B-spline transforms for continuous image representation and interpolation" (1991). */
static void to_coefficients(double *c, int step) {
    const double pole = -0.267949192431122706472553658494127633; /* sqrt(3) - 2 */
    const double gain = (1 - pole) * (1 - 1 / pole), last = be_math.pow(pole, BUMPS - 1);
    double power = pole;
    for (int i = 0; i < BUMPS; i++) c[i * step] *= gain;
    c[0] += last * c[(BUMPS - 1) * step];
    for (int i = 1; i < BUMPS - 1; i++, power *= pole) c[0] += power * (c[i * step] + last * c[(BUMPS - 1 - i) * step]);
    c[0] /= 1 - last * last;
    for (int i = 1; i < BUMPS; i++) c[i * step] += pole * c[(i - 1) * step];
    double *end = c + (BUMPS - 1) * step;
    *end = (pole * end[-step] + *end) * pole / (pole * pole - 1);
    for (int i = BUMPS - 2; i >= 0; i--) c[i * step] = pole * (c[(i + 1) * step] - c[i * step]);
}

/* Which coefficients a point of the ground is made of, in one direction, and their weights. */
typedef struct mix {
    int index[4];
    double weight[4];
} mix;

static mix mix_of(int point) {
    const double at = point * ((double)(BUMPS - 1) / (POINTS - 1)), whole = floor(at), y = at - whole, z = 1 - y;
    mix result;
    result.weight[1] = (y * y * (y - 2) * 3 + 4) / 6;
    result.weight[2] = (z * z * (z - 2) * 3 + 4) / 6;
    result.weight[0] = z * z * z / 6;
    result.weight[3] = 1 - result.weight[0] - result.weight[1] - result.weight[2];
    for (int k = 0; k < 4; k++) {
        const int index = abs((int)whole - 1 + k);
        result.index[k] = index < BUMPS ? index : 2 * (BUMPS - 1) - index;
    }
    return result;
}

static void draw_terrain(be_batch *b, int64_t lane) {
    float *heights = MJ_FIELD(b, TERRAIN, float, lane);
    double bumps[BUMPS][BUMPS];
    mix mixes[POINTS];
    for (int k = 0; k < BUMPS * BUMPS; k++)
        bumps[k / BUMPS][k % BUMPS] = be_random_state_uniform(dm_random(b, lane), 0.15, 1);
    for (int k = 0; k < BUMPS; k++) to_coefficients(&bumps[0][k], BUMPS);
    for (int k = 0; k < BUMPS; k++) to_coefficients(bumps[k], 1);
    for (int k = 0; k < POINTS; k++) mixes[k] = mix_of(k);
    for (int i = 0; i < POINTS; i++) {
        for (int j = 0; j < POINTS; j++) {
            const double step = 2.0 / (POINTS - 1), row = i * step + -1, column = j * step + -1;
            const double radius = be_clip_one(sqrt(column * column + row * row), 0.04, 1);
            const double bowl = 0.5 - be_numpy_cos(2 * M_PI * radius) / 2;
            double height = 0;
            for (int m = 0; m < 4; m++) {
                const double *line = bumps[mixes[i].index[m]], weight = mixes[i].weight[m];
                for (int n = 0; n < 4; n++) height += line[mixes[j].index[n]] * weight * mixes[j].weight[n];
            }
            *heights++ = (float)(bowl * height);
        }
    }
}

/* ---- the task ---------------------------------------------------------------------------------------------- */

static int start(be_batch *b, int64_t lane, be_error *error) {
    draw_terrain(b, lane);
    double quat[4];
    dm_draw_quat(b, lane, be_random_state_normal, quat);
    return place_clear(b, lane, quat, 0, 0, error);
}

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    double origin[3];
    row = write_common(b, lane, row);
    dm_in_frame(be_mujoco_read_of(b, lane, TORSO), be_mujoco_read_of(b, lane, TORSO_FRAME), 3,
                be_mujoco_of(b)->fused_vecmat, origin);
    for (int k = 0; k < 3; k++) *row++ = -origin[k];
    for (int64_t k = 0; k < be_mujoco_count_of(b, RANGES); k++) {
        const double range = *be_mujoco_read_at(b, lane, RANGES, k);
        *row++ = range == -1 ? 1 : be_numpy_tanh(range); /* -1: nothing is in sight */
    }
}

static double reward(const be_batch *b, int64_t lane) {
    const double size = be_mujoco_read_of(b, lane, SIZE)[0];
    const double distance = be_norm(be_mujoco_read_of(b, lane, WORKSPACE), 3, be_mujoco_of(b)->fused_dot);
    return upright(b, lane, be_numpy_cos(20 * (M_PI / 180))) * dm_linear(distance, size, HUGE_VAL, size, 0);
}

static const dm_task task = {QUADRUPED_PARTS + 2, sizes, start, write_observation, reward};
DM_TYPES_WITH(quadruped_escape, "QuadrupedEscape", 50, task, ports, state, params,
              ((const be_id[]){DM_ID("quadruped-escape", "QuadrupedEscape"), {0}}));
