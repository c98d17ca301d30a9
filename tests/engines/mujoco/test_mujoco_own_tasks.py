"""Tasks of one's own over a model, in a C file (csrc/include/mujoco_task.h): examples/own_task/stand.c, against MuJoCo
itself."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import batchenv
from helpers.mujoco import mujoco, same_as_single_lanes

EXAMPLES = Path(__file__).resolve().parents[3] / "examples/own_task"
ROBOT = EXAMPLES / "quadruped.xml"
SCALE, NOISE, EFFORT, LEAST = 0.25, 0.02, 0.01, 0.15


@pytest.fixture(scope="module")
def stand():
    return batchenv.compile(EXAMPLES / "stand.c").ids[0]


def make(stand, lanes=6, robot=ROBOT, **kwargs):
    return batchenv.make(stand, lanes, xml_file=str(robot), autoreset_mode=AutoresetMode.DISABLED, **kwargs)


class Reference:
    """One lane in Python."""

    def __init__(self, seed):
        self.model = mujoco.MjModel.from_xml_path(str(ROBOT))
        self.data = mujoco.MjData(self.model)
        rng = gymnasium.utils.seeding.np_random(seed)[0]
        self.data.qpos[:] = self.model.qpos0 + rng.uniform(-NOISE, NOISE, self.model.nq)
        self.data.qvel[:] = rng.uniform(-NOISE, NOISE, self.model.nv)
        mujoco.mj_forward(self.model, self.data)
        self.last = np.zeros(self.model.nu)
        names = [self.model.geom(k).name for k in range(self.model.ngeom)]
        self.feet = [k for k, name in enumerate(names) if name.endswith("_foot")]

    def observe(self):
        data = self.data
        return np.concatenate([data.qpos, data.qvel, data.sensor("gyro").data, data.geom_xpos[self.feet, 2]])

    def step(self, action):
        self.data.ctrl[:] = self.model.qpos0[7:] + SCALE * action.astype(np.float64)
        for _ in range(5):
            mujoco.mj_step(self.model, self.data)
        change = 0.0
        for one, last in zip(action.astype(np.float64), self.last, strict=True):
            change += (one - last) * (one - last)
        self.last = action.astype(np.float64)
        height = self.data.body("trunk").xpos[2]
        return self.observe(), height - EFFORT * change, height < LEAST


@pytest.mark.parametrize("threads", [1, 2])
def test_like_mujoco_itself(threads, stand):
    env = make(stand, num_threads=threads)
    lanes = [Reference(3 + lane) for lane in range(6)]
    assert env.single_action_space == gymnasium.spaces.Box(-1, 1, (12,), np.float32)
    same_as_single_lanes(env, lanes, "upright", lambda data: data.body("trunk").xpos[2])
    assert env.get_attr("physics")[0].startswith(("together", "alone"))


def test_its_own_state_is_in_snapshots(stand):
    env = make(stand)
    env.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-1, 1, (4, 6, 12)).astype(np.float32)
    env.step(actions[0])
    snapshot = env.snapshot()
    assert (env.state["last_action"] == actions[0]).all()
    assert (env.state["elapsed_steps"] == 1).all()
    later = [env.step(action)[1] for action in actions[1:]]
    env.restore(snapshot)
    assert (env.state["last_action"] == actions[0]).all()
    assert np.array_equal([env.step(action)[1] for action in actions[1:]], later)


def test_autoreset_and_params_of_lanes(stand):
    env = batchenv.make(stand, 4, xml_file=ROBOT.read_text(), least_height=[0, 0.5, 0, 0.5])
    env.reset(seed=0)
    ended = np.zeros(4, int)
    for _ in range(20):
        _, _, terminations, _, _ = env.step(np.zeros((4, 12), np.float32))
        ended += terminations
    assert ended.tolist() == [0, 10, 0, 10]  # NEXT_STEP: every other step is a reset


@pytest.mark.parametrize(
    "change,words",
    [
        (('name="trunk" pos', 'name="torso" pos'), "the model has no body 'trunk'"),
        (("_foot", "_toe"), r"the model has no geom '\.\*_foot'"),
        (('name="gyro"', 'name="rates"'), "the model has no sensor 'gyro'"),
    ],
)
def test_models_without_what_is_read(change, words, stand):
    with pytest.raises(ValueError, match=words):
        batchenv.make(stand, 2, xml_file=ROBOT.read_text().replace(*change))


def test_a_model_is_needed(stand):
    with pytest.raises(TypeError, match=r"Stand(#\d+)? needs a model: xml_file='robot\.xml'"):
        batchenv.make(stand, 2)
    with pytest.raises(TypeError, match=r"xml_file=5 must be .*, XML text, or a mujoco\.MjModel, not int"):
        batchenv.make(stand, 2, xml_file=5)
    with pytest.raises(OSError, match="no_robot"):
        batchenv.make(stand, 2, xml_file="no_robot.xml")


@pytest.mark.parametrize(
    "row,other,words",
    [
        (
            "MJ_SHARED_STATE",
            '[MJ_FINGERPRINT] = {"mine", BE_F32, 1, ""}',
            r"type Stand: \.state does not begin",
        ),
        ("MJ_SHARED_PARAMS(5)", "", r"\.params does not begin with MJ_SHARED_PARAMS"),
        ("MJ_SHARED_PORTS", '{"", BE_OBSERVATION}, {"", BE_ACTION}', r"\.ports does not begin with MJ_SHARED_PORTS"),
    ],
)
def test_tables_that_begin_in_another_way(row, other, words, tmp_path):
    """The engine would write its own numbers into them."""
    text = (EXAMPLES / "stand.c").read_text().replace("Stand-v0", f"Other{len(words)}-v0")
    if not other:
        text = text.replace("HEIGHT = MJ_PARAMS", "HEIGHT")
    file = tmp_path / "other.c"
    file.write_text(text.replace(f"    {row},", f"    {other}," if other else ""))
    with pytest.raises(ValueError, match=words):
        batchenv.make(batchenv.compile(file).ids[0], 2, xml_file=str(ROBOT))


PUSH_PULL = """
static void recontrol(const be_batch *b, int64_t lane, const float *action, int64_t step, const double *qpos,
                      const double *qvel, double *controls) {
    (void)action;
    for (int64_t j = 0; j < be_mujoco_of(b)->num_ctrl; j++) {
        const double pull = 0.01 * qvel[6 + j] + be_param_of(b, SCALE, lane) * qpos[7 + j];
        controls[j] = 0.9 * controls[j] - (double)step * pull;
    }
}

BE_ENV(stand) = { .recontrol = recontrol,"""


@pytest.fixture(scope="module")
def late(tmp_path_factory):
    file = tmp_path_factory.mktemp("late") / "late.c"
    text = (EXAMPLES / "stand.c").read_text().replace("Stand-v0", "Late-v0")
    file.write_text(text.replace("BE_ENV(stand) = {", PUSH_PULL))
    return batchenv.compile(file).ids[0]


@pytest.mark.parametrize("skip", [1, 2, 5])
@pytest.mark.parametrize("threads", [1, 2])
def test_controls_between_the_steps_of_mujoco(skip, threads, late):
    env = make(late, frame_skip=skip, num_threads=threads)
    env.reset(seed=3)
    lanes = [Reference(3 + lane) for lane in range(6)]
    rng = np.random.default_rng(0)
    for _ in range(30):
        actions = rng.uniform(-1, 1, (6, 12)).astype(np.float32)
        observations, *_ = env.step(actions)
        for lane, action in zip(lanes, actions, strict=True):
            data = lane.data
            data.ctrl[:] = lane.model.qpos0[7:] + SCALE * action.astype(np.float64)
            for step in range(skip):
                if step:
                    data.ctrl[:] = 0.9 * data.ctrl - step * (0.01 * data.qvel[6:] + SCALE * data.qpos[7:])
                mujoco.mj_step(lane.model, data)
        assert observations.tobytes() == np.stack([lane.observe() for lane in lanes]).tobytes()
    assert env.get_attr("physics")[0].startswith("together")
    if threads == 1:  # those of one lane are stepped by mj_step
        single = make(late, lanes=1, frame_skip=skip)
        single.reset(seed=3)
        rng = np.random.default_rng(0)
        for _ in range(30):
            last, *_ = single.step(rng.uniform(-1, 1, (6, 12)).astype(np.float32)[:1])
        assert last.tobytes() == observations[:1].tobytes()
    data = env.get_attr("data")[1]  # repeats the last step
    assert np.array_equal(data.ctrl, lanes[1].data.ctrl) and np.array_equal(data.qacc, lanes[1].data.qacc)
