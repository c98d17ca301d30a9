"""The parts of batchenv.robots that remember something of each lane, and its formulas."""

import numpy as np
import pytest

import batchenv
from batchenv import robots
from helpers.mujoco import mujoco
from helpers.robots import DT, ROBOT, Probe, played, probe

# ---- formulas --------------------------------------------------------------------------------------------------------


def test_formulas_of_quaternions():
    """As MuJoCo's own functions."""
    rng = np.random.default_rng(0)
    quaternions, vectors = rng.standard_normal((50, 4)), rng.standard_normal((50, 3))
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    turned, matrix, expected = np.zeros(4), np.zeros(9), np.zeros(3)
    for quaternion, vector in zip(quaternions, vectors, strict=True):
        mujoco.mju_negQuat(turned, quaternion)
        mujoco.mju_rotVecQuat(expected, vector, turned)
        np.testing.assert_allclose(robots.rotate_inverse(quaternion, vector), expected, atol=1e-12)
        mujoco.mju_rotVecQuat(expected, np.array([0.0, 0, -1]), turned)
        np.testing.assert_allclose(robots.projected_gravity(quaternion), expected, atol=1e-12)
        mujoco.mju_quat2Mat(matrix, quaternion)
        assert robots.yaw_of(quaternion) == pytest.approx(np.arctan2(matrix[3], matrix[0]))
    assert robots.rotate_inverse(quaternions, vectors).shape == (50, 3)
    things = rng.standard_normal((50, 50, 3))  # several of each lane
    expected = np.stack([robots.rotate_inverse(quaternions, things[:, k]) for k in range(50)], axis=1)
    np.testing.assert_array_equal(robots.rotate_inverse(quaternions, things), expected)


def test_formulas_of_numbers():
    np.testing.assert_allclose(robots.wrap([0, 4, -4, np.pi / 2, 7 * np.pi]), [0, 4 - 2 * np.pi, 2 * np.pi - 4,
                                                                               np.pi / 2, -np.pi])  # fmt: skip
    np.testing.assert_array_equal(robots.beyond([[0, 3, 5], [-2, -1, 9]], [-1, -1, -1], [2, 3, 4]), [1, 6])
    np.testing.assert_allclose(robots.tracking([0, 0.25], 0.25), [1, np.exp(-1)])
    model = mujoco.MjModel.from_xml_path(str(ROBOT))
    low, high = robots.joint_limits(model, 0.5)
    assert (
        low.shape == high.shape == (12,) and (low[0], high[0]) == (-0.4, 0.4) and (low[1], high[1]) == (-0.125, 1.625)
    )
    free = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>'
    )
    assert robots.joint_limits(free) == ([-np.inf], [np.inf])


# ---- commands --------------------------------------------------------------------------------------------------------


class Commanded(Probe):
    scale = 1.0

    def start(self, lanes):
        self.part.start(lanes, self.scale)

    def update(self, lanes, actions):
        self.part.update(lanes, self.scale)


def test_commands_have_their_ranges_times_and_shares():
    def make(model):
        return robots.Commands((0.5, 1), (-0.2, 0.1), (2, 3), seconds=(0.1, 0.3), standing=0.3)

    states = played(probe(make, 64, Commanded), 150)
    command = states["command"]
    stands = (command == 0).all(-1)
    moving = command[~stands]
    for values, (low, high) in zip(moving.T, ((0.5, 1), (-0.2, 0.1), (2, 3)), strict=True):
        assert low <= values.min() < low + 0.05 * (high - low) and high - 0.05 * (high - low) < values.max() <= high
    changes = (command[1:] != command[:-1]).any(-1)
    assert 0.2 < stands.mean() < 0.4
    # Two commands to stand that follow each other look like one.
    assert 150 * 64 / 12 < changes.sum() < 150 * 64 / 8  # 0.2 s are 10 steps
    for lane in range(64):
        kept = np.diff(np.flatnonzero(changes[:, lane]))
        assert (kept >= 5).all()


def test_commands_to_head_somewhere():
    def make(model):
        return robots.Commands((0, 0), (0, 0), (-0.4, 0.2), heading=(1, 2), heading_gain=0.1, heading_share=0.5)

    class Heading(Commanded):
        scale = 2.0

    states = played(probe(make, 64, Heading), 3)
    heads, heading, turn = states["command_heads"][0], states["command_heading"][0], states["command"][0, :, 2]
    assert 10 < heads.sum() < 54 and (heading >= 1).all() and (heading <= 2).all()
    np.testing.assert_allclose(turn[heads], 0.1 * heading[heads])  # the robot heads to 0 at first
    assert (turn[~heads] < 0).any() and (np.abs(turn) <= 0.8).all()

    class Slow(Commanded):
        scale = 0.25

    states = played(probe(make, 64, Slow), 0)
    assert (states["command"][0, states["command_heads"][0], 2] == 0.05).all()


def test_numbers_of_a_lane_do_not_depend_on_others():
    """Neither on how many there are, nor on when they draw."""

    def make(model):
        return robots.Commands(seconds=(0.05, 0.3), standing=0.2, heading=(-1, 1), heading_share=0.7)

    few, many = (played(probe(make, lanes, Commanded), 60) for lanes in (3, 8))
    for name in few:
        np.testing.assert_array_equal(few[name], many[name][:, :3])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"forwards": (1, 0)}, ValueError, r"forwards=\(1, 0\) must be finite numbers \(least, largest\)"),
        ({"left": 1.0}, TypeError, r"left=1.0 must be two numbers: \(least, largest\)"),
        ({"turn": (0, np.nan)}, ValueError, "turn="),
        ({"seconds": (-1, 2)}, ValueError, "both at least 0"),
        ({"standing": 1.5}, ValueError, "standing=1.5 must be from 0 to 1"),
        ({"standing": "often"}, TypeError, "standing='often' must be a number"),
        ({"heading": 3}, TypeError, "heading=3"),
    ],
)
def test_bad_commands(arguments, error, message):
    with pytest.raises(error, match=message):
        robots.Commands(**arguments)


@pytest.mark.parametrize("scale", [np.nan, np.inf])
def test_bad_scales(scale):
    with pytest.raises(RuntimeError, match=r"scale=.* must be a finite number"):
        probe(lambda model: robots.Commands(), 2, Commanded, scale=scale)


# ---- pushes ----------------------------------------------------------------------------------------------------------

FLOATING = """<mujoco><option gravity="0 0 0" timestep=".004"/><worldbody>
<body name="ball"><freejoint/><geom size=".1"/>
<body><joint name="wheel" axis="0 0 1"/><geom size=".1"/></body></body></worldbody>
<actuator><motor joint="wheel"/></actuator></mujoco>"""


class Pushed(Probe):
    def control(self, lanes, actions):
        self.part.control(lanes)
        return actions


def floating(lanes, **arguments):
    return probe(lambda model: robots.Pushes(model, "ball", **arguments), lanes, Pushed, FLOATING)


def test_pushes_change_velocities_by_their_speeds():
    env = floating(32, speed=(0.5, 1.5), seconds=(0.03, 0.09), wait=(0.2, 0.4))
    env.reset(seed=0)
    mass = env.get_attr("model")[0].body_mass[1:].sum()
    momentum, kicks, times, waits = np.zeros((32, 2)), [], [], []
    on, since = np.zeros(32, bool), np.zeros(32, int)
    for _ in range(150):
        env.step(np.zeros((32, 1), np.float32))
        state = env.state
        np.testing.assert_array_equal(state["xfrc_applied"][:, 1, :3], state["push_force"])
        assert not state["push_force"][:, 2].any() and not state["xfrc_applied"][:, 2:].any()
        now = state["push_on"]
        begins, ends = now & ~on, on & ~now
        momentum[begins] = 0
        momentum += state["push_force"][:, :2] * DT
        kicks.extend(np.linalg.norm(momentum[ends], axis=1) / mass)
        times.extend(since[ends])
        waits.extend(since[begins])
        assert (state["push_force"][~now] == 0).all()
        since = np.where(begins | ends, 1, since + 1)
        on = now
    assert len(kicks) > 100 and 0.5 <= min(kicks) < 0.6 and 1.4 < max(kicks) <= 1.5
    assert sorted(set(times)) == [2, 3, 4, 5]  # 0.03 to 0.09 s, in steps of 0.02 s
    assert 10 <= min(waits) <= 11 and 20 <= max(waits) <= 21


def test_a_push_pushes():
    """The whole of a robot that nothing holds."""
    env = floating(3, speed=(1, 1), seconds=(0.02, 0.02), wait=(0.1, 0.1))
    env.reset(seed=0)
    speeds = []
    for _ in range(8):
        env.step(np.zeros((3, 1), np.float32))
        speeds.append([np.linalg.norm(data.subtree_linvel[1][:2]) for data in moving(env)])
    assert not np.any(speeds[4]) and np.allclose(speeds[7], 1, atol=1e-6)


def test_two_pushes_of_one_body_add_up():
    class Both(Pushed):
        def prepare(self):
            super().prepare()
            self.other = robots.Pushes(self.model, "ball", (1, 1), seconds=(0.04, 0.04), wait=(0.04, 0.04), name="wind")
            self.state = robots.states(self.part, self.other)

        def start(self, lanes):
            super().start(lanes)
            self.other.start(lanes)

        def control(self, lanes, actions):
            lanes.body("ball").xfrc_applied[:, 5] = 0.25  # of the task's own
            self.other.control(lanes)
            return super().control(lanes, actions)

    env = probe(
        lambda model: robots.Pushes(model, "ball", (1, 1), seconds=(0.1, 0.1), wait=(0.1, 0.1)), 3, Both, FLOATING
    )
    env.reset(seed=0)
    both = 0
    for _ in range(30):
        env.step(np.zeros((3, 1), np.float32))
        state = env.state
        applied = state["xfrc_applied"][:, 1]
        np.testing.assert_allclose(applied[:, :3], state["push_force"] + state["wind_force"], atol=1e-9)
        np.testing.assert_array_equal(applied[:, 3:], [[0, 0, 0.25]] * 3)
        both += (state["push_on"] & state["wind_on"]).sum()
    assert both > 3


def moving(env):
    """The lanes' mjData with velocities of subtrees, which are computed on demand."""
    model = env.get_attr("model")[0]
    for data in env.get_attr("data"):
        mujoco.mj_subtreeVel(model, data)
        yield data


def test_pushes_of_an_unknown_body():
    model = mujoco.MjModel.from_xml_path(str(ROBOT))
    with pytest.raises(ValueError, match=r"the model has no body 'trunck'.*trunk"):
        robots.Pushes(model, "trunck")


# ---- feet, histories, delays -----------------------------------------------------------------------------------------


class Stepping(Probe):
    """Its feet are where the actions say."""

    def prepare(self):
        super().prepare()
        self.state["seen"] = np.zeros(10)

    def reward(self, lanes, actions):
        steps = self.part.step(lanes, actions[:, :2] > 0, np.maximum(-actions[:, :2], 0))
        lanes.seen = np.concatenate(steps, axis=1)
        return np.zeros(len(lanes))


def test_feet():
    env = probe(lambda model: robots.Feet(2), 2, Stepping)
    env.reset(seed=0)
    heights = np.array([[1, 1], [-0.25, 1], [-0.5, -0.5], [1, -0.125], [1, 1]])
    expected = [
        # contact; landed; lifted; air_time; peak
        [1, 1, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 1, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
        [1, 0, 1, 0, 0, 0, 3 * DT, 0, 0.5, 0],
        [1, 1, 0, 1, 0, 0, 0, 3 * DT, 0, 0.5],
    ]
    for height, row in zip(heights, expected, strict=True):
        actions = np.zeros(env.action_space.shape, np.float32)
        actions[0, :2] = height
        actions[1, :2] = heights[0]
        env.step(actions)
        state = env.state
        np.testing.assert_allclose(state["seen"][0], row)
        np.testing.assert_array_equal(state["seen"][1], expected[0])
    np.testing.assert_allclose(state["feet_contact_time"], [[2 * DT, DT], [5 * DT, 5 * DT]])
    assert not state["feet_air_time"].any() and not state["feet_peak"].any()


def test_feet_that_are_below_the_origin():
    """As in a pit: their peaks are where they were, not at 0."""

    class Below(Stepping):
        def reward(self, lanes, actions):
            steps = self.part.step(lanes, actions[:, :2] > 0, actions[:, 2:4] - 2.0)
            lanes.seen = np.concatenate(steps, axis=1)
            return np.zeros(len(lanes))

    env = probe(lambda model: robots.Feet(2), 2, Below)
    env.reset(seed=0)
    for down, height in ((0, 0.5), (1, 0.2), (0, 0.25), (0, 0.5), (0, 0.375), (1, 0.125)):
        actions = np.zeros(env.action_space.shape, np.float32)
        actions[:, :2], actions[:, 2:4] = down, height
        env.step(actions)
        peak = env.state["seen"][:, 8:]
        np.testing.assert_allclose(peak, -1.5 if (down, height) in ((1, 0.2), (1, 0.125)) else 0)


class Wrong(Probe):
    def reward(self, lanes, actions):
        self.part.step(lanes, actions[:, :3] > 0)
        return np.zeros(len(lanes))


def test_feet_of_another_number():
    with pytest.raises(RuntimeError, match=r"contact is of shape \(2, 3\), but must be of shape \(2, 4\)"):
        probe(lambda model: robots.Feet(4), 2, Wrong)


class Remembering(Probe):
    max_episode_steps = 7

    def update(self, lanes, actions):
        self.part.add(lanes, lanes.qpos[:, 7:9])

    def observe(self, lanes):
        return self.part.rows(lanes, lanes.qpos[:, 7:9])

    def start(self, lanes):
        lanes.qpos[:, 7:] += lanes.uniform(-0.1, 0.1, 12)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_histories(mode):
    env = batchenv.make_mujoco(
        ROBOT, 3, task=type("Task", (Remembering,), {"make": lambda self, model: robots.History("joints", 4, 2)}),
        autoreset_mode=mode,
    )  # fmt: skip
    observations, _ = env.reset(seed=0)
    rows = [observations[:, -2:]]
    np.testing.assert_array_equal(observations, np.tile(rows[0], 4))
    rng = np.random.default_rng(0)
    for step in range(1, 20):
        observations, _, _, truncated, _ = env.step(rng.uniform(-1, 1, (3, 12)).astype(np.float32))
        began = truncated.all() if mode == "SameStep" else step % 8 == 0
        rows = [observations[:, -2:]] if began else [*rows, observations[:, -2:]]
        last = [rows[0]] * (4 - len(rows)) + rows[-4:]
        np.testing.assert_array_equal(observations, np.concatenate(last, axis=1))
        if truncated.any():
            continue
        before = env.state["joints_history"]
        env.set_state({"qfrc_applied": np.zeros(18)})  # observes again
        np.testing.assert_array_equal(env.state["joints_history"], before)


class Late(Probe):
    def prepare(self):
        super().prepare()
        self.state["applied"] = np.zeros(self.frame_skip)

    def control(self, lanes, actions):
        return self._apply(lanes, 0, self.part.control(lanes, actions))

    def recontrol(self, lanes, actions, step):
        return self._apply(lanes, step, self.part.recontrol(lanes, step))

    def _apply(self, lanes, step, actions):
        lanes.applied[:, step] = actions[:, 3]
        return self.model.qpos0[7:] + 0.1 * actions


@pytest.mark.parametrize("skip", [5, 2])
@pytest.mark.parametrize("most", [0, 3, 5, 13])
def test_delays(most, skip):
    """In steps of MuJoCo, however many the user of the env lets a step have."""
    task = type("Probe", (Late,), {"make": staticmethod(lambda model: robots.Delay(12, most))})
    env = batchenv.make_mujoco(ROBOT, 24, task=task, num_threads=1, frame_skip=skip)
    env.reset(seed=0)
    late = env.state["delay_steps"]
    assert set(late.tolist()) <= set(range(most + 1)) and len(set(late.tolist())) > most / 2
    given, applied = np.random.default_rng(0).uniform(-1, 1, (12, 24, 12)).astype(np.float32), []
    for actions in given:
        env.step(actions)
        applied.append(env.state["applied"][:, :skip])
    applied = np.concatenate(applied, axis=1)  # (lanes, MuJoCo's steps)
    for lane in range(24):
        wanted = np.repeat(given[:, lane, 3], skip)
        wanted = np.concatenate([np.zeros(late[lane]), wanted])[: len(given) * skip]
        np.testing.assert_array_equal(applied[lane], wanted.astype(float))


def test_states_of_the_same_name():
    with pytest.raises(ValueError, match=r"two parts of the task have a state 'feet_air_time'.*name="):
        robots.states(robots.Feet(2), robots.Feet(2))
    both = robots.states(robots.Feet(2), robots.Feet(2, name="hands"), other=1.0)
    assert {"feet_peak", "hands_peak", "other"} < both.keys()
