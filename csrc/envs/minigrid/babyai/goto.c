/* BabyAI's levels of going to an object. */
#include "envs/minigrid/babyai/levelgen.h"

/* ---- one room ----------------------------------------------------------------------------------------- */

enum { ROOM_SIZE = MG_NUM_PARAMS, NUM_DISTS };

static const be_param room_params[] = {
    MG_PARAMS, [ROOM_SIZE] = BA_ROOM_SIZE(8, 3), [NUM_DISTS] = BA_DISTRACTORS(7), {0}};

static ba_layout room_layout(const double *params) {
    return (ba_layout){(int)params[ROOM_SIZE], 1, 1, (int)params[NUM_DISTS] + 1, 0};
}

static void go_to_red_ball(ba_task *task, int num_dists, int grey) {
    mg_lane *lane = task->lane;
    mg_thing things[MG_MAX_OBJECTS];
    mg_place_agent_in_room(&task->rooms, MG_RANDOM, MG_RANDOM);
    const mg_thing ball = mg_add_object(&task->rooms, 0, 0, MG_BALL, MG_RED);
    mg_add_distractors(&task->rooms, MG_RANDOM, MG_RANDOM, num_dists, 0, things);
    for (int k = 0; grey && k < num_dists && !lane->failure; k++) {
        const int place = mg_index(lane, things[k].place.x, things[k].place.y);
        lane->cells[place] = MG_CELL(mg_kind(lane->cells[place]), MG_GREY);
    }
    ba_require_reachable(task);
    ba_ask(task, BA_GO_TO, ba_like(ball.cell));
}

static void red_ball_grey(ba_task *task) { go_to_red_ball(task, (int)task->params[NUM_DISTS], 1); }
static const be_id red_ball_grey_ids[] = {{"BabyAI-GoToRedBallGrey-v0"}, {0}};
BABYAI_LEVEL(babyai_go_to_red_ball_grey, "BabyAIGoToRedBallGrey", room_layout, red_ball_grey, room_params,
             red_ball_grey_ids);

static void red_ball(ba_task *task) { go_to_red_ball(task, (int)task->params[NUM_DISTS], 0); }
static const be_id red_ball_ids[] = {{"BabyAI-GoToRedBall-v0"}, {0}};
BABYAI_LEVEL(babyai_go_to_red_ball, "BabyAIGoToRedBall", room_layout, red_ball, room_params, red_ball_ids);

static const be_param no_params[] = {MG_PARAMS, {0}};
static ba_layout ball_alone_layout(const double *params) {
    (void)params;
    return (ba_layout){8, 1, 1, 1, 0};
}
static void ball_alone(ba_task *task) { go_to_red_ball(task, 0, 0); }
static const be_id ball_alone_ids[] = {{"BabyAI-GoToRedBallNoDists-v0"}, {0}};
BABYAI_LEVEL(babyai_go_to_red_ball_no_dists, "BabyAIGoToRedBallNoDists", ball_alone_layout, ball_alone, no_params,
             ball_alone_ids);

static void red_or_blue_ball(ba_task *task) {
    mg_thing things[MG_MAX_OBJECTS];
    const int num_dists = (int)task->params[NUM_DISTS];
    mg_place_agent_in_room(&task->rooms, MG_RANDOM, MG_RANDOM);
    mg_add_distractors(&task->rooms, MG_RANDOM, MG_RANDOM, num_dists, 0, things);
    for (int k = 0; k < num_dists && !task->lane->failure; k++) {
        const mg_cell cell = things[k].cell;
        if (cell == MG_CELL(MG_BALL, MG_BLUE) || cell == MG_CELL(MG_BALL, MG_RED)) ba_reject(task);
    }
    const int color = mg_random(task->lane, 0, 2) ? MG_BLUE : MG_RED;
    const mg_thing ball = mg_add_object(&task->rooms, 0, 0, MG_BALL, color);
    ba_require_reachable(task);
    ba_ask(task, BA_GO_TO, ba_like(ball.cell));
}
static const be_id red_or_blue_ids[] = {{"BabyAI-GoToRedBlueBall-v0"}, {0}};
BABYAI_LEVEL(babyai_go_to_red_blue_ball, "BabyAIGoToRedBlueBall", room_layout, red_or_blue_ball, room_params,
             red_or_blue_ids);

static const be_param object_params[] = {MG_PARAMS, [ROOM_SIZE] = BA_ROOM_SIZE(8, 3), {0}};
static ba_layout object_layout(const double *params) { return (ba_layout){(int)params[ROOM_SIZE], 1, 1, 1, 0}; }
static void object(ba_task *task) {
    mg_thing thing = {0};
    mg_place_agent_in_room(&task->rooms, MG_RANDOM, MG_RANDOM);
    mg_add_distractors(&task->rooms, MG_RANDOM, MG_RANDOM, 1, 1, &thing);
    ba_ask(task, BA_GO_TO, ba_like(thing.cell));
}
static const be_id object_ids[] = {
    {"BabyAI-GoToObj-v0"},
    {"BabyAI-GoToObjS4-v0", .settings = {{"room_size", 4}}},
    {"BabyAI-GoToObjS6-v1", .settings = {{"room_size", 6}}},
    {0},
};
BABYAI_LEVEL(babyai_go_to_obj, "BabyAIGoToObj", object_layout, object, object_params, object_ids);

/* Goes to one of the objects that have been added last. */
static void go_to_one_of(ba_task *task, const mg_thing *things, int count) {
    const int k = mg_random(task->lane, 0, count);
    if (!task->lane->failure) ba_ask(task, BA_GO_TO, ba_like(things[k].cell));
}

static const be_param local_params[] = {
    MG_PARAMS,
    [ROOM_SIZE] = BA_ROOM_SIZE(8, 3),
    [NUM_DISTS] = BA_COUNT("num_dists", 8, 1, MG_MAX_OBJECTS, "objects, to one of which the agent has to go"),
    {0},
};
static void local(ba_task *task) {
    mg_thing things[MG_MAX_OBJECTS];
    const int count = (int)task->params[NUM_DISTS];
    mg_place_agent_in_room(&task->rooms, MG_RANDOM, MG_RANDOM);
    mg_add_distractors(&task->rooms, MG_RANDOM, MG_RANDOM, count, 0, things);
    ba_require_reachable(task);
    go_to_one_of(task, things, count);
}
#define LOCAL(id, room_size, num_dists)                                                                                \
    {                                                                                                                  \
        id, .settings = {{"room_size", room_size}, {"num_dists", num_dists}}                                           \
    }
static const be_id local_ids[] = {
    {"BabyAI-GoToLocal-v0"},
    LOCAL("BabyAI-GoToLocalS5N2-v0", 5, 2),
    LOCAL("BabyAI-GoToLocalS6N2-v0", 6, 2),
    LOCAL("BabyAI-GoToLocalS6N3-v0", 6, 3),
    LOCAL("BabyAI-GoToLocalS6N4-v0", 6, 4),
    LOCAL("BabyAI-GoToLocalS7N4-v0", 7, 4),
    LOCAL("BabyAI-GoToLocalS7N5-v0", 7, 5),
    LOCAL("BabyAI-GoToLocalS8N2-v0", 8, 2),
    LOCAL("BabyAI-GoToLocalS8N3-v0", 8, 3),
    LOCAL("BabyAI-GoToLocalS8N4-v0", 8, 4),
    LOCAL("BabyAI-GoToLocalS8N5-v0", 8, 5),
    LOCAL("BabyAI-GoToLocalS8N6-v0", 8, 6),
    LOCAL("BabyAI-GoToLocalS8N7-v0", 8, 7),
    {0},
};
BABYAI_LEVEL(babyai_go_to_local, "BabyAIGoToLocal", room_layout, local, local_params, local_ids);

/* ---- mazes -------------------------------------------------------------------------------------------- */

enum { MAZE_SIZE = MG_NUM_PARAMS, MAZE_ROWS, MAZE_COLUMNS, MAZE_DISTS, DOORS_OPEN };
static const be_param maze_params[] = {
    MG_PARAMS,
    [MAZE_SIZE] = BA_ROOM_SIZE(8, 3),
    [MAZE_ROWS] = BA_ROWS(3, 1),
    [MAZE_COLUMNS] = BA_COLUMNS(3, 1),
    [MAZE_DISTS] = BA_COUNT("num_dists", 18, 1, MG_MAX_OBJECTS, "objects, to one of which the agent has to go"),
    [DOORS_OPEN] = BA_FLAG("doors_open", "all doors are open at first"),
    {0},
};
static ba_layout maze_layout(const double *params) {
    return (ba_layout){(int)params[MAZE_SIZE], (int)params[MAZE_COLUMNS], (int)params[MAZE_ROWS],
                       (int)params[MAZE_DISTS], 0};
}
static void maze(ba_task *task) {
    mg_lane *lane = task->lane;
    mg_thing things[MG_MAX_OBJECTS];
    const int count = (int)task->params[MAZE_DISTS];
    mg_place_agent_in_room(&task->rooms, MG_RANDOM, MG_RANDOM);
    mg_connect_all(&task->rooms, NULL, 0);
    mg_add_distractors(&task->rooms, MG_RANDOM, MG_RANDOM, count, 0, things);
    ba_require_reachable(task);
    go_to_one_of(task, things, count);
    if (task->params[DOORS_OPEN] == 0 || lane->failure) return;
    const ba_scene *scene = ba_see(task);
    for (int k = 1; k <= scene->count; k++) {
        if (mg_kind(scene->cells[k]) != MG_CLOSED_DOOR) continue;
        const int place = mg_index(lane, scene->places[k].x, scene->places[k].y);
        lane->cells[place] = MG_CELL(MG_OPEN_DOOR, mg_color(scene->cells[k]));
    }
}
#define ONE_OBJECT {"num_dists", 1}
static const be_id maze_ids[] = {
    {"BabyAI-GoTo-v0"},
    {"BabyAI-GoToOpen-v0", .settings = {{"doors_open", 1}}},
    {"BabyAI-GoToObjMaze-v0", .settings = {ONE_OBJECT}},
    {"BabyAI-GoToObjMazeOpen-v0", .settings = {ONE_OBJECT, {"doors_open", 1}}},
    {"BabyAI-GoToObjMazeS4R2-v0", .settings = {ONE_OBJECT, {"room_size", 4}, {"num_rows", 2}, {"num_cols", 2}}},
    {"BabyAI-GoToObjMazeS4-v0", .settings = {ONE_OBJECT, {"room_size", 4}}},
    {"BabyAI-GoToObjMazeS5-v0", .settings = {ONE_OBJECT, {"room_size", 5}}},
    {"BabyAI-GoToObjMazeS6-v0", .settings = {ONE_OBJECT, {"room_size", 6}}},
    {"BabyAI-GoToObjMazeS7-v0", .settings = {ONE_OBJECT, {"room_size", 7}}},
    {0},
};
BABYAI_LEVEL(babyai_go_to, "BabyAIGoTo", maze_layout, maze, maze_params, maze_ids);

static const be_param unlock_params[] = {
    MG_PARAMS, [MAZE_SIZE] = BA_ROOM_SIZE(8, 3), [MAZE_ROWS] = BA_ROWS(3, 1), [MAZE_COLUMNS] = BA_COLUMNS(3, 1), {0},
};
static ba_layout unlock_layout(const double *params) {
    const int columns = (int)params[MAZE_COLUMNS], rows = (int)params[MAZE_ROWS];
    return (ba_layout){(int)params[MAZE_SIZE], columns, rows, 2 * columns * rows + 2, 0};
}
static void implicit_unlock(ba_task *task) {
    mg_thing thing = {0}, locked_door;
    const mg_point locked = ba_lock_room(task, &locked_door);
    mg_connect_all(&task->rooms, NULL, 0);
    ba_distract_each_room(task, 2);
    ba_place_agent_outside(task, mg_room_at(&task->rooms, locked.x, locked.y));
    ba_require_reachable(task);
    mg_add_distractors(&task->rooms, locked.x, locked.y, 1, 0, &thing);
    ba_ask(task, BA_GO_TO, ba_like(thing.cell));
}
static const be_id unlock_ids[] = {{"BabyAI-GoToImpUnlock-v0"}, {0}};
BABYAI_LEVEL(babyai_go_to_imp_unlock, "BabyAIGoToImpUnlock", unlock_layout, implicit_unlock, unlock_params, unlock_ids);

/* ---- doors -------------------------------------------------------------------------------------------- */

enum { DOOR_ROWS = MG_NUM_PARAMS, DOOR_COLUMNS };
static const be_param door_params[] = {
    MG_PARAMS,
    [DOOR_ROWS] = BA_ROWS(3, 3),
    [DOOR_COLUMNS] = BA_COLUMNS(3, 3),
    {0},
};

static ba_layout door_layout(const double *params) {
    return (ba_layout){7, (int)params[DOOR_COLUMNS], (int)params[DOOR_ROWS], 0, 0};
}
static void door(ba_task *task) {
    mg_thing doors[4];
    for (int k = 0; k < 4; k++) doors[k] = mg_add_door(&task->rooms, 1, 1, MG_RANDOM, MG_RANDOM, MG_RANDOM);
    mg_place_agent_in_room(&task->rooms, 1, 1);
    go_to_one_of(task, doors, 4);
}
static const be_id door_ids[] = {{"BabyAI-GoToDoor-v0"}, {0}};
BABYAI_LEVEL(babyai_go_to_door, "BabyAIGoToDoor", door_layout, door, door_params, door_ids);

enum { NUM_OBJECTS_BY_DOORS = 8 };
static ba_layout object_or_door_layout(const double *params) {
    return (ba_layout){8, (int)params[DOOR_COLUMNS], (int)params[DOOR_ROWS], NUM_OBJECTS_BY_DOORS, 0};
}
static void object_or_door(ba_task *task) {
    mg_thing things[NUM_OBJECTS_BY_DOORS + 4];
    mg_place_agent_in_room(&task->rooms, 1, 1);
    mg_add_distractors(&task->rooms, 1, 1, NUM_OBJECTS_BY_DOORS, 0, things);
    for (int k = 0; k < 4; k++) {
        things[NUM_OBJECTS_BY_DOORS + k] = mg_add_door(&task->rooms, 1, 1, MG_RANDOM, MG_RANDOM, MG_RANDOM);
    }
    ba_require_reachable(task);
    go_to_one_of(task, things, NUM_OBJECTS_BY_DOORS + 4);
}
static const be_id object_or_door_ids[] = {{"BabyAI-GoToObjDoor-v0"}, {0}};
BABYAI_LEVEL(babyai_go_to_obj_door, "BabyAIGoToObjDoor", object_or_door_layout, object_or_door, door_params,
             object_or_door_ids);

/* ---- several in an order ------------------------------------------------------------------------------ */

enum { SEQ_SIZE = MG_NUM_PARAMS, SEQ_ROWS, SEQ_COLUMNS, SEQ_DISTS, SEQ_INSTRS, SEQ_IMPLICIT };
static const be_param seq_params[] = {
    MG_PARAMS,
    [SEQ_SIZE] = BA_ROOM_SIZE(8, 3),
    [SEQ_ROWS] = BA_ROWS(3, 1),
    [SEQ_COLUMNS] = BA_COLUMNS(3, 1),
    [SEQ_DISTS] = BA_DISTRACTORS(18),
    [SEQ_INSTRS] = BA_INSTR_KINDS,
    [SEQ_IMPLICIT] = BA_IMPLICIT_UNLOCK,
    {0},
};
static ba_layout seq_layout(const double *params) {
    return (ba_layout){(int)params[SEQ_SIZE], (int)params[SEQ_COLUMNS], (int)params[SEQ_ROWS], (int)params[SEQ_DISTS],
                       0};
}
static void seq(ba_task *task) {
    ba_make_any(task, (ba_language){.num_dists = (int)task->params[SEQ_DISTS],
                                    .implicit_unlock = task->params[SEQ_IMPLICIT] != 0,
                                    .action_kinds = BA_ONLY_GO_TO,
                                    .instr_kinds = (int)task->params[SEQ_INSTRS]});
}
static const be_id seq_ids[] = {
    {"BabyAI-GoToSeq-v0"},
    {"BabyAI-GoToSeqS5R2-v0", .settings = {{"room_size", 5}, {"num_rows", 2}, {"num_cols", 2}, {"num_dists", 4}}},
    {0},
};
BABYAI_LEVEL(babyai_go_to_seq, "BabyAIGoToSeq", seq_layout, seq, seq_params, seq_ids);
