/* What the agent sees. */
#include <string.h>

#include "envs/minigrid/grid.h"
#include "envs/minigrid/view7.h"

static int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

/* Light goes from the agent's row outwards, in each row first to the right and then to the left; a cell that it reaches
 * and that is not opaque lets it through to the next cell of its row, and to the two ahead of these. Bit i of a row is
 * the cell in column i. */
static void spread_light(const uint64_t *clear, uint64_t *seen, int view) {
    const uint64_t last = UINT64_C(1) << (view - 1);
    memset(seen, 0, (size_t)view * sizeof *seen);
    seen[view - 1] = UINT64_C(1) << view / 2;
    for (int j = view - 1; j >= 0; j--) {
        uint64_t row = seen[j], ahead = 0;
        for (uint64_t bit = 1; bit < last; bit <<= 1) {
            if (!(row & clear[j] & bit)) continue;
            row |= bit << 1;
            ahead |= bit | bit << 1;
        }
        for (uint64_t bit = last; bit > 1; bit >>= 1) {
            if (!(row & clear[j] & bit)) continue;
            row |= bit >> 1;
            ahead |= bit | bit >> 1;
        }
        seen[j] = row;
        if (j > 0) seen[j - 1] |= ahead;
    }
}

static void write_view(const be_batch *batch, int64_t lane, uint8_t *image) {
    const int height = (int)batch->constants[HEIGHT];
    const int stride = (int)batch->constants[STRIDE], view = (int)batch->constants[VIEW];
    const mg_cell *cells = (const mg_cell *)batch->state[CELLS] + lane * batch->field_size[CELLS];
    const int32_t *agent = (const int32_t *)batch->state[AGENT] + 2 * lane;
    const int direction = ((const int32_t *)batch->state[DIRECTION])[lane];
    const mg_point f = mg_ahead((mg_point){0, 0}, direction), r = {-f.y, f.x};
    uint64_t clear[MG_MAX_VIEW] = {0}, seen[MG_MAX_VIEW];
    mg_cell seen_cells[MG_MAX_VIEW * MG_MAX_VIEW];
    for (int i = 0; i < view; i++) {
        for (int j = 0; j < view; j++) {
            const int x = agent[0] + f.x * (view - 1 - j) + r.x * (i - view / 2);
            const int y = agent[1] + f.y * (view - 1 - j) + r.y * (i - view / 2);
            const mg_cell cell = cells[mg_margin(view) + (clamp(y, -1, height) + 1) * stride + x];
            seen_cells[i * view + j] = cell;
            clear[j] |= (uint64_t)!mg_is_one_of(cell, MG_OPAQUE) << i;
        }
    }
    if (batch->constants[SEE_THROUGH] != 0) {
        memset(seen, 255, sizeof seen);
    } else {
        spread_light(clear, seen, view);
    }
    seen_cells[view / 2 * view + view - 1] = ((const uint8_t *)batch->state[CARRYING])[2 * lane];
    for (int i = 0; i < view; i++) {
        for (int j = 0; j < view; j++, image += 3) {
            const mg_cell cell = seen[j] >> i & 1 ? seen_cells[i * view + j] : MG_NOTHING;
            mg_encode(cell, image);
        }
    }
}

/* The same for a view of seven, of up to BE_VIEWS lanes. */
static void write_views7(const be_batch *batch, const int64_t *lanes, int64_t count, int64_t first, uint8_t *images) {
    const int height = (int)batch->constants[HEIGHT], stride = (int)batch->constants[STRIDE];
    const int64_t size = batch->field_size[CELLS];
    view7 views[BE_VIEWS];
    uint64_t clear[BE_VIEWS] = {0}, seen[BE_VIEWS];
    for (int64_t k = 0; k < count; k++) {
        const int32_t *agent = (const int32_t *)batch->state[AGENT] + 2 * lanes[k];
        const int direction = ((const int32_t *)batch->state[DIRECTION])[lanes[k]];
        const mg_cell *cells = (const mg_cell *)batch->state[CELLS] + lanes[k] * size;
        const rows7 rows = load_rows7(cells, stride, height, agent[0], agent[1], direction);
        views[k] = turn7(&rows, direction);
        clear[k] = clear7(views[k]);
    }
    if (batch->constants[SEE_THROUGH] != 0) {
        memset(seen, 255, sizeof seen);
    } else {
        spread_light7(clear, seen);
    }
    for (int64_t k = 0; k < count; k++) {
        const mg_cell carrying = ((const mg_cell *)batch->state[CARRYING])[2 * lanes[k]];
        write_image7(views[k], seen[k], carrying, images + (lanes[k] - first) * 3 * SIDE7 * SIDE7);
    }
}

void mg_write_views(const be_batch *batch, const int64_t *lanes, int64_t count, int64_t first, uint8_t *images) {
    const int64_t view = (int64_t)batch->constants[VIEW];
    for (int64_t k = 0; view != SIDE7 && k < count; k++) {
        write_view(batch, lanes[k], images + (lanes[k] - first) * 3 * view * view);
    }
    for (int64_t k = 0; view == SIDE7 && k < count; k += BE_VIEWS) {
        write_views7(batch, lanes + k, count - k < BE_VIEWS ? count - k : BE_VIEWS, first, images);
    }
}
