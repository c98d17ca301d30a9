/* Models that differ from episode to episode: be_env_type.drawn. */
#include <math.h>
#include <string.h>

#include "core/episode.h"
#include "engines/mujoco/inside.h"

static double *row_of(const be_mujoco_source *source, int64_t lane) {
    return source->drawn + lane * (1 + source->num_drawn);
}

static const double *pool_row(const be_mujoco_source *source, int64_t index) {
    return source->pool_numbers + index * source->num_drawn;
}

/* Gives the lane one of the pool's models, if it has been made. */
static int share(const be_mujoco_source *source, int64_t lane, int64_t index) {
    be_mujoco_lane *handles = &source->lanes[lane];
    const be_mujoco_lane *made = &source->pool[index];
    void *model = __atomic_load_n(&made->model, __ATOMIC_ACQUIRE);
    if (handles->own || model == NULL) return 0;
    const int64_t num_arrays = source->arrays_per_lane - source->num_arrays;
    handles->model = model;
    handles->still = made->still;
    handles->floats = made->floats;
    handles->pooled = index + 1;
    if (num_arrays) memcpy(handles->arrays + source->num_arrays, made->arrays, (size_t)num_arrays * sizeof(double *));
    return 1;
}

void be_mujoco_share_model(be_mujoco_source *source, int64_t lane, int64_t index) {
    be_mujoco_lane *handles = &source->lanes[lane], *made = &source->pool[index];
    const int64_t num_arrays = source->arrays_per_lane - source->num_arrays;
    if (num_arrays) memcpy(made->arrays, handles->arrays + source->num_arrays, (size_t)num_arrays * sizeof(double *));
    made->still = handles->still;
    made->floats = handles->floats;
    handles->own = 0;
    handles->pooled = index + 1;
    __atomic_store_n(&made->model, handles->model, __ATOMIC_RELEASE); /* other lanes' threads see all of it */
}

void be_mujoco_take_shared(be_mujoco_source *source, int64_t lane, int64_t index) {
    source->lanes[lane].own = 0;
    (void)share(source, lane, index);
}

/* Gives the lane the model that its row says. */
static int take(const be_mujoco_source *source, int64_t lane, int raw) {
    double *row = row_of(source, lane);
    if (row[0] > 0 && share(source, lane, (int64_t)row[0] - 1)) {
        memcpy(row + 1, pool_row(source, (int64_t)row[0] - 1), (size_t)source->num_drawn * sizeof *row);
        return 1;
    }
    if (source->change_model(source->owner, lane, raw) == 0) return 1;
    memset(row + 1, 0, (size_t)source->num_drawn * sizeof *row);
    row[0] = MJ_DRAWN_FAILED;
    return 0;
}

int be_mujoco_draw_model(be_batch *batch, int64_t lane, be_error *error) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    be_rng *rng = &batch->rng[lane];
    if (source->drawn == NULL)
        return be_fail(error, BE_ERROR_ENGINE, lane, "be_mujoco_draw_model needs a table with rows: .drawn = drawn");
    double *row = row_of(source, lane);
    source->lanes[lane].drew = 1;
    if (source->num_pool) {
        row[0] = 1 + (double)be_rng_integers(rng, 0, source->num_pool);
    } else {
        row[0] = MJ_DRAWN_OWN;
        for (int64_t j = 0; j < source->num_drawn; j++) {
            row[1 + j] = source->drawn_normal[j] ? be_rng_standard_normal(rng) : be_rng_double(rng);
        }
    }
    if (take(source, lane, 1)) return BE_OK;
    return be_fail(error, BE_ERROR_ENGINE, lane, "the model of its episode could not be made");
}

int be_mujoco_settle_model(be_batch *batch, int64_t lane, int is_new, be_error *error) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    const int drew = source->lanes[lane].drew;
    source->lanes[lane].drew = 0;
    if (drew || !is_new || source->drawn == NULL || row_of(source, lane)[0] == MJ_NOT_DRAWN) return BE_OK;
    memset(row_of(source, lane), 0, be_mujoco_drawn_bytes(source));
    if (take(source, lane, 0)) return BE_OK;
    return be_fail(error, BE_ERROR_ENGINE, lane, "its compiled model could not be made again");
}

const double *be_mujoco_drawn_of(const be_batch *batch, int64_t lane, int64_t *count) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    if (count) *count = source->num_drawn;
    return source->drawn ? row_of(source, lane) + 1 : NULL;
}

int64_t be_mujoco_num_drawn(const be_setup *setup) { return ((const be_mujoco_source *)setup->engine)->num_drawn; }

int be_mujoco_is_new(const be_batch *batch, int64_t lane) {
    return MJ_FIELD(batch, MJ_FINGERPRINT, const int64_t, lane)[0] != be_mujoco_source_of(batch)->fingerprint;
}

size_t be_mujoco_drawn_bytes(const be_mujoco_source *source) {
    return source->drawn ? (size_t)(1 + source->num_drawn) * sizeof *source->drawn : 0;
}

void be_mujoco_save_drawn(const be_mujoco_source *source, int64_t lane, void *bytes) {
    if (source->drawn) memcpy(bytes, row_of(source, lane), be_mujoco_drawn_bytes(source));
}

/* What was saved may be of a batch with another pool, so the numbers decide which model it is. */
void be_mujoco_load_drawn(be_batch *batch, int64_t lane, const void *bytes) {
    const be_mujoco_source *source = be_mujoco_source_of(batch);
    const size_t size = be_mujoco_drawn_bytes(source);
    if (size == 0) return;
    double *row = row_of(source, lane);
    if (memcmp(row, bytes, size) == 0 && row[0] != MJ_DRAWN_FAILED) return;
    memcpy(row, bytes, size);
    if (row[0] == MJ_DRAWN_CHANGED) return; /* such a model is not in snapshots, as none is that set_params has made */
    if (row[0] != MJ_NOT_DRAWN && row[0] != MJ_DRAWN_FAILED) {
        const int of_pool = row[0] >= 1 && row[0] <= (double)source->num_pool && row[0] == floor(row[0]);
        const size_t numbers = size - sizeof *row;
        if (!of_pool || memcmp(row + 1, pool_row(source, (int64_t)row[0] - 1), numbers) != 0) row[0] = MJ_DRAWN_OWN;
    }
    if (take(source, lane, 0)) return;
    const be_error error = {BE_ERROR_ENGINE, lane, "the model that was saved with it could not be made again"};
    be_note_failure(batch, lane, &error);
}
