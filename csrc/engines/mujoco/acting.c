/* What of a lane's state acts on its model: see be_mujoco_acting. */
#include <math.h>
#include <string.h>

#include "engines/mujoco/inside.h"

#define MOST 1e10 /* mjMAXVAL */

/* Copies the numbers of such a field to a model's array or, with `back`, from there. */
static void copy(const be_mujoco_acting *acting, char *field, char *array, int back) {
    const size_t bytes = (size_t)acting->bytes, run = acting->step == 1 ? (size_t)acting->count : 1;
    array += (size_t)acting->first * bytes;
    for (int64_t k = 0; k < acting->count; k += (int64_t)run) {
        memcpy(back ? field : array, back ? array : field, run * bytes);
        field += run * bytes;
        array += (size_t)acting->step * run * bytes;
    }
}

static char *field_of(const be_batch *batch, const be_mujoco_acting *acting, int64_t lane) {
    return (char *)batch->state[acting->field] + (size_t)(lane * acting->count) * (size_t)acting->bytes;
}

void be_mujoco_begin_acting(be_batch *batch, int64_t lane) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    for (int64_t k = 0; k < source->num_acting; k++) {
        const be_mujoco_acting *acting = &source->acting[k];
        copy(acting, field_of(batch, acting, lane), acting->compiled, 1);
    }
}

void be_mujoco_act(const be_batch *batch, int64_t lane, const be_mujoco_slot *slot) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    for (int64_t k = 0; k < source->num_acting; k++) {
        char *field = field_of(batch, &source->acting[k], lane);
        for (int kind = 0; kind < MJ_KINDS; kind++) {
            if (slot->model[kind]) copy(&source->acting[k], field, slot->acting[kind][k], 0);
        }
    }
}

int be_mujoco_acts_soundly(const be_batch *batch, int64_t lane) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    for (int64_t k = 0; k < source->num_acting; k++) {
        const double *numbers = (const double *)field_of(batch, &source->acting[k], lane);
        for (int64_t i = 0; i < source->acting[k].count; i++) {
            if (!(fabs(numbers[i]) <= MOST)) return 0;
        }
    }
    return 1;
}

void be_mujoco_act_on_floats(const be_batch *batch, int64_t lane, double *floats) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    for (int64_t k = 0; k < source->num_acting; k++) {
        const be_mujoco_acting *acting = &source->acting[k];
        const double *numbers = (const double *)field_of(batch, acting, lane);
        const int64_t *pair = acting->floats;
        for (int64_t i = 0; i < acting->num_floats; i++, pair += 2) floats[pair[1]] = numbers[pair[0]];
    }
    if (source->moves_still) floats[source->together.model.at.still_digest] = NAN;
}
