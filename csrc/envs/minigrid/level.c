/* How a level becomes an env type: its state, resets and steps. */
#include <string.h>

#include "envs/minigrid/grid.h"

/* prepare() sets those sizes that depend on the level. */
const be_field mg_state[] = {
    [CELLS] =
        {"cells", BE_U8, 1,
         "the grid in rows, each with walls before and after it, and rows of walls above and below: in each byte a "
         "kind, 16 times a color, and 128 if it blocks the view",
         0, 255},
    [OBJECTS] = {"objects", BE_U8, 1, "in the same order: the number of the object in each cell; 0: none", 0, 255},
    [INSIDE] = {"inside", BE_U8, 2, "what is in box k: its cell at 2 k, its number at 2 k + 1", 0, 255},
    [NUM_OBJECTS] = {"num_objects", BE_I32, 1, "objects that have a number", 0, MG_MAX_OBJECTS},
    [AGENT] = {"agent_pos", BE_I32, 2, "column and row of the agent", 0, MG_MAX_SIDE - 1},
    [DIRECTION] = {"agent_dir", BE_I32, 1, "where the agent looks: 0 right, 1 down, 2 left, 3 up", 0, 3},
    [CARRYING] = {"carrying", BE_U8, 2, "the cell that the agent carries (1: nothing), and its number", 0, 255},
    [MAX_STEPS] = {"max_steps", BE_I32, 1, "steps after which the episode is cut short", 1, INT32_MAX},
    [MISSION] = {"mission_code", BE_I64, 1, "a number for what the mission says", INT64_MIN / 2, INT64_MAX / 2},
    [OWN] = {"own", BE_I32, 1, "numbers that the level keeps", INT32_MIN, INT32_MAX},
    [WORDS] = {"words", BE_U8, 1, "the mission's tokens or letters, where observations have them", 0, MG_NUM_WORDS},
    {0},
};

int mg_prepare(const mg_level *level, const be_param *params, be_setup *setup, be_error *error) {
    const int view = (int)setup->params[MG_PARAM_VIEW];
    if (view % 2 == 0) {
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "agent_view_size=%d must be an odd number, so that the agent is in the middle of its row", view);
    }
    mg_plan plan = {.num_actions = MG_NUM_ACTIONS};
    for (int k = 0; params[k].name; k++) {
        if (strcmp(params[k].name, "see_through_walls") == 0) plan.see_through = setup->params[k] != 0;
    }
    const int status = level->plan(setup->params, &plan, error);
    if (status != BE_OK) return status;
    if (plan.width < 3 || plan.height < 3 || plan.width > MG_MAX_SIDE || plan.height > MG_MAX_SIDE) {
        return be_fail(error, BE_ERROR_VALUE, -1, "the grid would have %d by %d cells: each side must be from 3 to %d",
                       plan.width, plan.height, MG_MAX_SIDE);
    }
    if (setup->params[MG_PARAM_MAX_STEPS] != 0) plan.max_steps = (int64_t)setup->params[MG_PARAM_MAX_STEPS];
    if (plan.max_steps < 1 || plan.max_steps > INT32_MAX) {
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "episodes would have %lld steps: set max_steps to a number from 1 to %d",
                       (long long)plan.max_steps, INT32_MAX);
    }
    const int stride = plan.width + mg_margin(view);
    be_space *const mission = &setup->space[MG_PORT_MISSION];
    if (plan.num_missions > 0) {
        mission->low[0] = (double)plan.first_mission;
        mission->high[0] = (double)(plan.first_mission + plan.num_missions - 1);
    }
    setup->constants[WIDTH] = plan.width;
    setup->constants[HEIGHT] = plan.height;
    setup->constants[STRIDE] = stride;
    setup->constants[VIEW] = view;
    setup->constants[SEE_THROUGH] = plan.see_through;
    setup->constants[STEPS] = (double)plan.max_steps;
    setup->constants[NUMBERED] = plan.num_objects > 0;
    setup->field_size[CELLS] = (mg_margin(view) + (plan.height + 2) * stride + 8) / 8 * 8; /* see the view's loads */
    setup->field_size[OBJECTS] = plan.num_objects > 0 ? setup->field_size[CELLS] : 1;
    setup->field_size[INSIDE] = 2 * (plan.num_objects + 1);
    setup->field_size[MISSION] = mission->ndim ? (int)mission->shape[0] : 1;
    setup->field_size[OWN] = plan.num_own > 0 ? plan.num_own : 1;
    if (plan.num_actions < MG_NUM_ACTIONS) be_space_discrete(&setup->space[MG_PORT_ACTION], plan.num_actions);
    return mg_prepare_observation(&plan, setup, error);
}

/* ---- a lane in the columns of the state ------------------------------------------------------------- */

/* Row k of these columns as a lane. */
BE_INLINE mg_lane lane_of(const be_batch *batch, const void *const *columns, int64_t k) {
    const int32_t *const agent = (const int32_t *)columns[AGENT] + 2 * k;
    const uint8_t *const carrying = (const uint8_t *)columns[CARRYING] + 2 * k;
    const int numbered = batch->constants[NUMBERED] != 0, margin = mg_margin((int)batch->constants[VIEW]);
    const int stride = (int)batch->constants[STRIDE];
    return (mg_lane){
        .batch = batch,
        .number = k,
        .width = (int)batch->constants[WIDTH],
        .height = (int)batch->constants[HEIGHT],
        .cells = (mg_cell *)columns[CELLS] + k * batch->field_size[CELLS],
        .objects = numbered ? (uint8_t *)columns[OBJECTS] + k * batch->field_size[OBJECTS] : NULL,
        .inside = numbered ? (uint8_t *)columns[INSIDE] + k * batch->field_size[INSIDE] : NULL,
        .num_objects = ((const int32_t *)columns[NUM_OBJECTS])[k],
        .stride = stride,
        .origin = margin + stride,
        .agent = {agent[0], agent[1]},
        .direction = ((const int32_t *)columns[DIRECTION])[k],
        .carrying = carrying[0],
        .carried = carrying[1],
        .max_steps = ((const int32_t *)columns[MAX_STEPS])[k],
        .mission = (int64_t *)columns[MISSION] + k * batch->field_size[MISSION],
        .own = (int32_t *)columns[OWN] + k * batch->field_size[OWN],
    };
}

BE_INLINE mg_lane open_lane(be_batch *batch, int64_t number) {
    mg_lane lane = lane_of(batch, (const void *const *)batch->state, number);
    lane.rng = &batch->rng[number];
    return lane;
}

/* Writes back what a step may change. */
BE_INLINE void close_lane(be_batch *batch, const mg_lane *lane) {
    int32_t *const agent = (int32_t *)batch->state[AGENT] + 2 * lane->number;
    uint8_t *const carrying = (uint8_t *)batch->state[CARRYING] + 2 * lane->number;
    agent[0] = lane->agent.x;
    agent[1] = lane->agent.y;
    ((int32_t *)batch->state[DIRECTION])[lane->number] = lane->direction;
    carrying[0] = lane->carrying;
    carrying[1] = (uint8_t)lane->carried;
}

static int is_cell(mg_cell cell) {
    return mg_kind(cell) != MG_NOTHING && mg_kind(cell) < MG_NUM_KINDS && mg_color(cell) < MG_NUM_COLORS &&
           cell == MG_CELL(mg_kind(cell), mg_color(cell));
}

/* What is wrong with a restored lane; NULL: nothing. */
static const char *find_fault(const mg_level *level, const mg_lane *lane) {
    const be_batch *batch = lane->batch;
    const int first = mg_index(lane, 0, 0), size = batch->field_size[CELLS];
    for (int k = 0; k < size; k++) {
        const int x = (k - first + lane->stride) % lane->stride, y = (k - first + lane->stride) / lane->stride - 1;
        const int inside = k >= first && mg_is_inside(lane, x, y);
        if (inside ? !is_cell(lane->cells[k]) : lane->cells[k] != MG_CELL(MG_WALL, MG_GREY)) return "cells";
        if (lane->objects && lane->objects[k] > (inside ? lane->num_objects : 0)) return "objects";
    }
    if (lane->objects ? 2 * lane->num_objects + 1 >= batch->field_size[INSIDE] : lane->num_objects != 0) {
        return "num_objects";
    }
    for (int k = 0; lane->inside && k <= lane->num_objects; k++) {
        if (lane->inside[2 * k] && !is_cell(lane->inside[2 * k])) return "inside";
        if (lane->inside[2 * k + 1] > lane->num_objects) return "inside";
    }
    if (!mg_is_inside(lane, lane->agent.x, lane->agent.y)) return "agent_pos";
    if (lane->carrying != MG_EMPTY && !(is_cell(lane->carrying) && mg_is_one_of(lane->carrying, MG_CARRIABLE))) {
        return "carrying";
    }
    if (lane->carried > lane->num_objects) return "carrying";
    if (!mg_is_mission(batch, lane->mission[0])) return "mission";
    if (level->is_sound) return level->is_sound(lane) ? NULL : "own";
    for (int k = 0; k < batch->field_size[OWN]; k++) {
        if (lane->own[k] < -MG_MAX_OWN || lane->own[k] > MG_MAX_OWN) return "own";
    }
    return NULL;
}

int mg_check_state(const mg_level *level, const be_batch *batch, const void *const *columns, int64_t count,
                   be_error *error) {
    for (int64_t k = 0; k < count; k++) {
        const mg_lane lane = lane_of(batch, columns, k);
        const char *fault = find_fault(level, &lane);
        if (fault == NULL) continue;
        return be_fail(error, BE_ERROR_VALUE, -1, "the %s of lane %lld cannot be those of this level", fault,
                       (long long)k);
    }
    return BE_OK;
}

/* ---- resets ----------------------------------------------------------------------------------------- */

int mg_observe(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    mg_write_observations(batch, lanes, count, rows);
    return BE_OK;
}

/* Before a level sets them. */
static void clear_mission(const be_batch *batch, mg_lane *lane) {
    memset(lane->mission, 0, (size_t)batch->field_size[MISSION] * sizeof(int64_t));
    memset(lane->own, 0, (size_t)batch->field_size[OWN] * sizeof(int32_t));
    lane->mission[0] = (int64_t)batch->constants[FIRST_MISSION];
}

/* Starts an episode in a lane. */
static void generate(const mg_level *level, be_batch *batch, int64_t number, mg_lane *lane) {
    *lane = open_lane(batch, number);
    lane->agent = (mg_point){-1, -1};
    lane->direction = -1;
    lane->carrying = MG_EMPTY;
    lane->carried = 0;
    lane->max_steps = (int32_t)batch->constants[STEPS];
    clear_mission(batch, lane);
    mg_clear(lane);
    level->generate(lane);
    if (!lane->failure && (!mg_is_inside(lane, lane->agent.x, lane->agent.y) || (unsigned)lane->direction > 3 ||
                           !mg_is_one_of(mg_get(lane, lane->agent.x, lane->agent.y), MG_WALKABLE))) {
        mg_fail(lane, MG_WRONG, "the agent was not placed in a cell where it can be");
    }
    mg_write_words(lane);
    if (lane->failure) { /* a state that can be saved and restored, until the lane's next reset */
        mg_clear(lane);
        lane->agent = (mg_point){0, 0};
        lane->direction = 0;
        clear_mission(batch, lane);
    }
    ((int32_t *)batch->state[MAX_STEPS])[number] = lane->max_steps;
    ((int32_t *)batch->state[NUM_OBJECTS])[number] = lane->num_objects;
    close_lane(batch, lane);
}

int mg_reset(const mg_level *level, be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows,
             be_error *error) {
    for (int64_t k = 0; k < count; k++) {
        mg_lane lane;
        generate(level, batch, lanes[k], &lane);
        const int status = mg_observe(batch, &lanes[k], 1, rows, error);
        if (status != BE_OK) return status;
        if (lane.failure) {
            be_fail_lane(batch, lanes[k], rows, "type %s: no level could be generated: %s", batch->type->name,
                         lane.reason);
        }
    }
    return BE_OK;
}

/* ---- steps ------------------------------------------------------------------------------------------ */

/* What a door, a box or anything else ahead of the agent becomes when it is toggled. */
BE_INLINE void toggle(mg_lane *lane, int front) {
    const mg_cell cell = lane->cells[front];
    const int color = mg_color(cell);
    switch (mg_kind(cell)) {
    case MG_OPEN_DOOR:
        lane->cells[front] = MG_CELL(MG_CLOSED_DOOR, color);
        break;
    case MG_CLOSED_DOOR:
        lane->cells[front] = MG_CELL(MG_OPEN_DOOR, color);
        break;
    case MG_LOCKED_DOOR:
        if (lane->carrying == MG_CELL(MG_KEY, color)) lane->cells[front] = MG_CELL(MG_OPEN_DOOR, color);
        break;
    case MG_BOX: {
        const uint8_t *content = lane->inside ? &lane->inside[2 * lane->objects[front]] : NULL;
        lane->cells[front] = content && content[0] ? content[0] : MG_EMPTY;
        if (lane->objects) lane->objects[front] = content[1];
        break;
    }
    default:
        break;
    }
}

/* Does result->action. */
BE_INLINE void act(mg_lane *lane, mg_step_result *result) {
    const int front = mg_index(lane, result->front.x, result->front.y);
    const mg_cell cell = lane->cells[front];
    switch (result->action) {
    case MG_LEFT:
        lane->direction = (lane->direction + 3) & 3;
        break;
    case MG_RIGHT:
        lane->direction = (lane->direction + 1) & 3;
        break;
    case MG_FORWARD:
        if (mg_is_one_of(cell, MG_WALKABLE)) lane->agent = result->front;
        if (mg_kind(cell) == MG_GOAL) mg_succeed(lane, result);
        if (mg_kind(cell) == MG_LAVA) result->terminated = 1;
        break;
    case MG_PICKUP:
        if (!mg_is_one_of(cell, MG_CARRIABLE) || lane->carrying != MG_EMPTY) break;
        lane->carrying = cell;
        lane->cells[front] = MG_EMPTY;
        if (lane->objects) {
            lane->carried = lane->objects[front];
            lane->objects[front] = 0;
        }
        break;
    case MG_DROP:
        if (cell != MG_EMPTY || lane->carrying == MG_EMPTY) break;
        lane->cells[front] = lane->carrying;
        if (lane->objects) lane->objects[front] = (uint8_t)lane->carried;
        lane->carrying = MG_EMPTY;
        lane->carried = 0;
        break;
    case MG_TOGGLE:
        toggle(lane, front);
        break;
    default:
        break;
    }
    result->truncated = result->steps >= lane->max_steps;
}

BE_INLINE void step_lane(const mg_level *level, be_batch *batch, int64_t number, int64_t row, const be_rows *rows,
                         int hooks) {
    mg_lane lane = open_lane(batch, number);
    const int32_t elapsed = batch->elapsed[number];
    mg_step_result result = {
        .action = (int)((const int64_t *)rows->port[MG_PORT_ACTION])[row],
        .front = mg_ahead(lane.agent, lane.direction),
        .steps = elapsed + (elapsed != INT32_MAX),
    };
    if (hooks) {
        const int front = mg_index(&lane, result.front.x, result.front.y);
        result.front_cell = lane.cells[front];
        result.front_object = lane.objects ? lane.objects[front] : 0;
        result.held = lane.carrying;
        if (level->before) level->before(&lane, &result);
    }
    act(&lane, &result);
    if (hooks && level->after) level->after(&lane, &result);
    close_lane(batch, &lane);
    rows->reward[row] = result.reward;
    rows->terminated[row] = result.terminated;
    rows->truncated[row] = result.truncated;
    if (hooks && lane.failure) be_fail_lane(batch, number, rows, "type %s: %s", batch->type->name, lane.reason);
}

#define BLOCK 64 /* lanes that are stepped before their views are written */

BE_INLINE void step_lanes(const mg_level *level, be_batch *batch, int64_t begin, int64_t end, const be_rows *rows,
                          int hooks) {
    for (int64_t first = begin; first < end; first += BLOCK) {
        const int64_t last = first + BLOCK < end ? first + BLOCK : end;
        int64_t lanes[BLOCK], count = 0;
        for (int64_t i = first; i < last; i++) {
            if (rows->skip[i - rows->first]) continue;
            step_lane(level, batch, i, i - rows->first, rows, hooks);
            lanes[count++] = i;
        }
        mg_write_observations(batch, lanes, count, rows);
    }
}

int mg_step(const mg_level *level, be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    (void)error;
    if (level->before || level->after) {
        step_lanes(level, batch, begin, end, rows, 1);
    } else {
        step_lanes(level, batch, begin, end, rows, 0);
    }
    return BE_OK;
}
