/* BabyAI's levels of all kinds of missions. */
#include "envs/minigrid/babyai/levelgen.h"

/* ---- Synth, SynthLoc and SynthSeq --------------------------------------------------------------------- */

enum { ROOM_SIZE = MG_NUM_PARAMS, ROWS, COLUMNS, NUM_DISTS, LOCKED, ACTIONS, INSTRS };
#define SYNTH_PARAMS                                                                                                   \
    MG_PARAMS, [ROOM_SIZE] = BA_ROOM_SIZE(8, 3), [ROWS] = BA_ROWS(3, 1), [COLUMNS] = BA_COLUMNS(3, 1),                 \
               [NUM_DISTS] = BA_DISTRACTORS(18), [LOCKED] = BA_LOCKED_ROOM_PROB(0.5), [ACTIONS] = BA_ACTION_KINDS

static ba_layout synth_layout(const double *params) {
    return (ba_layout){(int)params[ROOM_SIZE], (int)params[COLUMNS], (int)params[ROWS], (int)params[NUM_DISTS] + 1, 0};
}
static void make_synth(ba_task *task, int locations, int instr_kinds) {
    ba_make_any(task, (ba_language){.num_dists = (int)task->params[NUM_DISTS],
                                    .locked_room_prob = task->params[LOCKED],
                                    .locations = locations,
                                    .unblocking = 1,
                                    .action_kinds = (int)task->params[ACTIONS],
                                    .instr_kinds = instr_kinds});
}

static const be_param synth_params[] = {SYNTH_PARAMS, {0}};

static void synth(ba_task *task) { make_synth(task, 0, BA_ONE_ACTION); }
static const be_id synth_ids[] = {
    {"BabyAI-Synth-v0"},
    {"BabyAI-SynthS5R2-v0", .settings = {{"room_size", 5}, {"num_rows", 2}}},
    {0},
};
BABYAI_LEVEL(babyai_synth, "BabyAISynth", synth_layout, synth, synth_params, synth_ids);

static void synth_loc(ba_task *task) { make_synth(task, 1, BA_ONE_ACTION); }
static const be_id synth_loc_ids[] = {{"BabyAI-SynthLoc-v0"}, {0}};
BABYAI_LEVEL(babyai_synth_loc, "BabyAISynthLoc", synth_layout, synth_loc, synth_params, synth_loc_ids);

static const be_param synth_seq_params[] = {SYNTH_PARAMS, [INSTRS] = BA_INSTR_KINDS, {0}};
static void synth_seq(ba_task *task) { make_synth(task, 1, (int)task->params[INSTRS]); }
static const be_id synth_seq_ids[] = {{"BabyAI-SynthSeq-v0"}, {0}};
BABYAI_LEVEL(babyai_synth_seq, "BabyAISynthSeq", synth_layout, synth_seq, synth_seq_params, synth_seq_ids);

/* ---- MiniBossLevel ------------------------------------------------------------------------------------ */

enum { BOSS_ACTIONS = MG_NUM_PARAMS, BOSS_INSTRS, BOSS_LOCATIONS, BOSS_UNBLOCKING, NUM_LANGUAGE };
#define LANGUAGE_PARAMS                                                                                                \
    MG_PARAMS, [BOSS_ACTIONS] = BA_ACTION_KINDS, [BOSS_INSTRS] = BA_INSTR_KINDS, [BOSS_LOCATIONS] = BA_LOCATIONS,      \
               [BOSS_UNBLOCKING] = BA_UNBLOCKING
static void make_boss(ba_task *task, int num_dists, double locked_room_prob, int implicit_unlock) {
    ba_make_any(task, (ba_language){.num_dists = num_dists,
                                    .locked_room_prob = locked_room_prob,
                                    .locations = task->params[BOSS_LOCATIONS] != 0,
                                    .unblocking = task->params[BOSS_UNBLOCKING] != 0,
                                    .implicit_unlock = implicit_unlock,
                                    .action_kinds = (int)task->params[BOSS_ACTIONS],
                                    .instr_kinds = (int)task->params[BOSS_INSTRS]});
}

enum { MINI_IMPLICIT = NUM_LANGUAGE };
enum { MINI_DISTS = 7 };
static const be_param mini_params[] = {LANGUAGE_PARAMS, [MINI_IMPLICIT] = BA_IMPLICIT_UNLOCK, {0}};
static ba_layout mini_layout(const double *params) {
    (void)params;
    return (ba_layout){5, 2, 2, MINI_DISTS + 1, 0};
}
static void mini(ba_task *task) { make_boss(task, MINI_DISTS, 0.25, task->params[MINI_IMPLICIT] != 0); }
static const be_id mini_ids[] = {{"BabyAI-MiniBossLevel-v0"}, {0}};
BABYAI_LEVEL(babyai_mini_boss_level, "BabyAIMiniBossLevel", mini_layout, mini, mini_params, mini_ids);

/* ---- BossLevel and BossLevelNoUnlock ------------------------------------------------------------------ */

enum { BOSS_SIZE = NUM_LANGUAGE, BOSS_ROWS, BOSS_COLUMNS, BOSS_DISTS, BOSS_LOCKED, BOSS_IMPLICIT };
#define BOSS_PARAMS                                                                                                    \
    LANGUAGE_PARAMS, [BOSS_SIZE] = BA_ROOM_SIZE(8, 3), [BOSS_ROWS] = BA_ROWS(3, 1), [BOSS_COLUMNS] = BA_COLUMNS(3, 1), \
                     [BOSS_DISTS] = BA_DISTRACTORS(18)
static ba_layout boss_layout(const double *params) {
    return (ba_layout){(int)params[BOSS_SIZE], (int)params[BOSS_COLUMNS], (int)params[BOSS_ROWS],
                       (int)params[BOSS_DISTS] + 1, 0};
}

static const be_param boss_params[] = {
    BOSS_PARAMS,
    [BOSS_LOCKED] = BA_LOCKED_ROOM_PROB(0.5),
    [BOSS_IMPLICIT] = BA_IMPLICIT_UNLOCK,
    {0},
};
static void boss(ba_task *task) {
    const double *params = task->params;
    make_boss(task, (int)params[BOSS_DISTS], params[BOSS_LOCKED], params[BOSS_IMPLICIT] != 0);
}
static const be_id boss_ids[] = {{"BabyAI-BossLevel-v0"}, {0}};
BABYAI_LEVEL(babyai_boss_level, "BabyAIBossLevel", boss_layout, boss, boss_params, boss_ids);

static const be_param no_unlock_params[] = {BOSS_PARAMS, {0}};
static void no_unlock(ba_task *task) { make_boss(task, (int)task->params[BOSS_DISTS], 0, 0); }
static const be_id no_unlock_ids[] = {{"BabyAI-BossLevelNoUnlock-v0"}, {0}};
BABYAI_LEVEL(babyai_boss_level_no_unlock, "BabyAIBossLevelNoUnlock", boss_layout, no_unlock, no_unlock_params,
             no_unlock_ids);
