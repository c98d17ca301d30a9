"""mujoco_memory.h: a task in C with a history and actions that come late has the bits of the same task in NumPy."""

import numpy as np
import pytest

import batchenv
from batchenv import robots
from helpers.robots import ROBOT, compiled, example

MOST, STEPS = 7, 3  # of MuJoCo's steps late; values in the history

STATE = """
enum { ACTION = MJ_FIELDS, DELAY, EARLIER, HISTORY };
enum { KEPT = BE_DELAY_KEPT(7, 5) };
#define HISTORY_OF(b, lane) MJ_FIELD(b, HISTORY, double, lane), 3, 12, be_mujoco_arrays(b, lane)[MJ_QPOS] + 7
static double late(const be_batch *b, int64_t lane, int64_t step, const float *action, int64_t j) {
    const double *earlier = MJ_FIELD(b, EARLIER, double, lane);
    return be_delayed(*MJ_FIELD(b, DELAY, int64_t, lane), earlier, 12, 5, step, action, j);
}
"""
RECONTROL = """
static void recontrol(const be_batch *b, int64_t lane, const float *action, int64_t at, const double *qpos,
                      const double *qvel, double *controls) {
    (void)qpos, (void)qvel;
    for (int64_t j = 0; j < 12; j++)
        controls[j] = be_mujoco_of(b)->init_qpos[7 + j] + be_param_of(b, SCALE, lane) * late(b, lane, at, action, j);
}
"""
START = """
    const int status = be_mujoco_start(b, lane, be_param_of(b, NOISE, lane), 0, error);
    if (status != BE_OK) return status;
    int64_t *delay = MJ_FIELD(b, DELAY, int64_t, lane);
    be_delay_start(delay, MJ_FIELD(b, EARLIER, double, lane), KEPT, 12, 0, 7, &b->rng[lane]);
    be_history_start(HISTORY_OF(b, lane));
    return BE_OK;"""
EDITS = {
    '#include "mujoco_task.h"\n': '#include "mujoco_task.h"\n#include "mujoco_memory.h"\n',
    "enum { ACTION = MJ_FIELDS };": STATE,
    'asked for last"},': """asked for last"}, BE_DELAY_FIELDS(DELAY, KEPT, 12),
        [HISTORY] = BE_HISTORY_FIELD("joints", 3, 12),""",
    "* (double)action[j];": "* late(b, lane, 0, action, j);",
    "static void write_observation": f"{RECONTROL}static void write_observation",
    "[2];\n}": "[2];\n    be_append(row, MJ_FIELD(b, HISTORY, double, lane), 36);\n}",
    "+ model->reads[FEET].count;": "+ model->reads[FEET].count + 36;",
    "    return be_mujoco_start(b, lane, be_param_of(b, NOISE, lane), 0, error);": START,
    "    const float *action = MJ_ACTION(b, rows, lane);": """    const float *action = MJ_ACTION(b, rows, lane);
    be_delay_add(MJ_FIELD(b, EARLIER, double, lane), KEPT, 12, action);
    be_history_add(HISTORY_OF(b, lane));""",
    ".control = control,": ".control = control, .recontrol = recontrol,",
}  # of examples/own_task/stand.c


class Remembers(example("stand").Stand):
    def prepare(self):
        super().prepare()
        self.delay = robots.Delay(12, MOST)
        self.history = robots.History("joints", STEPS, 12)
        self.state = robots.states(self.delay, self.history, **self.state)

    def start(self, lanes):
        super().start(lanes)
        self.delay.start(lanes)

    def control(self, lanes, actions):
        return super().control(lanes, self.delay.control(lanes, actions))

    def recontrol(self, lanes, actions, step):
        return super().control(lanes, self.delay.recontrol(lanes, step))

    def update(self, lanes, actions):
        super().update(lanes, actions)
        self.history.add(lanes, lanes.qpos[:, 7:])

    def observe(self, lanes):
        return np.concatenate([super().observe(lanes), self.history.rows(lanes, lanes.qpos[:, 7:])], axis=1)


@pytest.fixture(scope="module")
def in_c(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("c"), "Remembers", EDITS)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_histories_and_delays(mode, threads, in_c):
    keywords = {"autoreset_mode": mode, "max_episode_steps": 12, "num_threads": threads, "least_height": -9.0}
    ours = batchenv.make(in_c, 6, xml_file=str(ROBOT), **keywords)
    theirs = batchenv.make_mujoco(ROBOT, 6, task=Remembers, **keywords)
    assert ours.reset(seed=3)[0].tobytes() == theirs.reset(seed=3)[0].tobytes()
    rng, delays = np.random.default_rng(0), set()
    for step in range(40):
        actions = rng.uniform(-1, 1, (6, 12)).astype(np.float32)
        for one, other in zip(ours.step(actions)[:4], theirs.step(actions)[:4], strict=True):
            assert one.tobytes() == other.tobytes(), step
        np.testing.assert_array_equal(ours.state["delay_steps"], theirs.state["delay_steps"])
        delays |= set(ours.state["delay_steps"].tolist())
    assert delays <= set(range(MOST + 1)) and len(delays) > MOST / 2
    assert ours.get_attr("physics")[0].startswith("together")
