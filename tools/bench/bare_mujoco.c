/* The least that a batch of MuJoCo lanes costs: controls, MuJoCo's steps, and contact forces where a task needs them.
 * Built and called by bench_mujoco.py. */
#include <stdint.h>

typedef void call(const void *model, void *data);

typedef struct lane {
    const void *model;
    void *data;
    double *ctrl;
} lane;

void bare_step(const lane *lanes, int64_t count, const float *actions, int64_t num_ctrl, int64_t frame_skip,
               call *mj_step, call *post, int threads) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = 0; j < num_ctrl; j++) lanes[i].ctrl[j] = actions[i * num_ctrl + j];
        for (int64_t k = 0; k < frame_skip; k++) mj_step(lanes[i].model, lanes[i].data);
        if (post) post(lanes[i].model, lanes[i].data);
    }
}
