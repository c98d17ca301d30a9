"""Tasks over a model in NumPy (batchenv.MuJoCoTask): examples/own_task/stand.py, against the same task in C."""

import copy
import os
import pickle
import threading

import gymnasium
import numpy as np
import pytest

import batchenv
from helpers.mujoco import mujoco
from helpers.robots import EXAMPLES, LANES, ROBOT, Stand, changed, make


@pytest.fixture(scope="module")
def in_c():
    return batchenv.compile(EXAMPLES / "stand.c").ids[0]


def actions_of(rng, lanes=LANES, scale=1.0):
    return rng.uniform(-scale, scale, (lanes, 12)).astype(np.float32)


def same(ours, theirs):
    """Whether two steps' results are the same to the last bit, infos included."""
    for one, other in zip(ours[:4], theirs[:4], strict=True):
        assert one.tobytes() == other.tobytes()
    assert ours[4].keys() == theirs[4].keys()
    for name in ours[4].keys() - {"episode", "final_obs", "final_info"}:
        assert np.array_equal(ours[4][name], theirs[4][name]), name
    for one, other in zip(ours[4].get("final_obs", ()), theirs[4].get("final_obs", ()), strict=True):
        assert (one is None) == (other is None) and (one is None or one.tobytes() == other.tobytes())
    if "episode" in ours[4]:
        for key in "rl":
            assert np.array_equal(ours[4]["episode"][key], theirs[4]["episode"][key])


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_bits_of_the_same_task_in_c(mode, threads, in_c):
    """Episodes end at the time limit, by falling in lanes that are too strict, and by both."""
    settings = {"autoreset_mode": mode, "max_episode_steps": 13, "record_episode_statistics": True}
    settings["least_height"] = [0.0, 0.0, 0.15, 0.28, 0.3, 0.5]
    ours = make(num_threads=threads, **settings)
    theirs = batchenv.make(in_c, LANES, xml_file=str(ROBOT), **settings)
    assert ours.single_action_space == theirs.single_action_space
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.reset(seed=3)[0].tobytes() == theirs.reset(seed=3)[0].tobytes()
    rng, ended = np.random.default_rng(0), 0
    for _ in range(60):
        actions = actions_of(rng)
        results = ours.step(actions)
        same(results, theirs.step(actions))
        ended += results[2].sum()
    assert ended > 20
    assert ours.get_attr("physics")[0].split(":")[0] == theirs.get_attr("physics")[0].split(":")[0]
    mask = np.array([True, False, True, False, False, False])
    options = {"reset_mask": mask}
    assert ours.reset(seed=9, options=options)[0].tobytes() == theirs.reset(seed=9, options=options)[0].tobytes()
    some = np.array([4, 1, 5])
    same(ours.step(actions[some], some), theirs.step(actions[some], some))
    same(ours.step(actions), theirs.step(actions))


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_lanes_in_flight_do_what_those_in_c_do(mode, in_c):
    settings = {"autoreset_mode": mode, "max_episode_steps": 5, "least_height": [0.0, 0.28, 0.0, 0.3, 0.0, 0.5]}
    ours, theirs = make(batch_size=3, **settings), batchenv.make(in_c, LANES, xml_file=str(ROBOT), **settings)
    expected, _ = theirs.reset(seed=1)
    ours.async_reset(seed=1)
    rows = {lane: [] for lane in range(LANES)}
    for _ in range(40):
        observations, *_, infos = ours.recv()
        lanes = infos["env_id"]
        assert len(lanes) == 3
        for lane, row in zip(lanes, observations, strict=True):
            rows[lane].append(row)
        ours.send(np.zeros((3, 12), np.float32), lanes)
    steps = [expected, *(theirs.step(np.zeros((LANES, 12), np.float32))[0] for _ in range(40))]
    for lane, seen in rows.items():
        assert len(seen) > 10
        for time, row in enumerate(seen):
            assert row.tobytes() == steps[time][lane].tobytes(), (lane, time)
    with pytest.raises(RuntimeError, match="while 6 lanes are in flight"):
        ours.step(np.zeros((LANES, 12), np.float32))
    with pytest.raises(RuntimeError, match="in flight"):
        ours.snapshot()
    ours.reset(seed=1)
    assert ours.step(np.zeros((LANES, 12), np.float32))[0].tobytes() == steps[1].tobytes()


def test_snapshots_and_state(in_c):
    env = make()
    env.reset(seed=0)
    actions = [actions_of(np.random.default_rng(k)) for k in range(4)]
    present = env.step(actions[0])[0]
    snapshot = pickle.loads(pickle.dumps(env.snapshot()))
    assert (env.state["last_action"] == actions[0]).all() and (env.state["elapsed_steps"] == 1).all()
    later = [env.step(one)[:2] for one in actions[1:]]
    assert env.restore(snapshot).tobytes() == present.tobytes()
    for one, (observations, rewards) in zip(actions[1:], later, strict=True):
        result = env.step(one)
        assert result[0].tobytes() == observations.tobytes() and result[1].tobytes() == rewards.tobytes()
    other = make()
    assert other.restore(snapshot).tobytes() == present.tobytes()  # before any reset
    assert other.step(actions[1])[0].tobytes() == later[0][0].tobytes()


class Everything(batchenv.MuJoCoTask):
    """What Stand does not use: terms, dicts, dtypes, integers, a push, things by name."""

    frame_skip = 2
    params = {"weight": 1.5, "count": 3, "flag": True}
    action_space = gymnasium.spaces.Box(-2, 2, (3,), np.float64)

    def prepare(self):
        self.state = {"command": np.zeros(2, np.float32), "timer": np.int64(0), "phase": np.float64(0.5)}

    def start(self, lanes):
        lanes.command = lanes.normal(0, 1, 2)
        lanes.timer = lanes.integers(2, 9)

    def control(self, lanes, actions):
        lanes.xfrc_applied[:, 1, 2] = lanes.weight * lanes.count
        return np.repeat(actions, 4, axis=1)

    def reward(self, lanes, actions):
        return {"alive": np.ones(len(lanes)), "track": -np.abs(lanes.command).sum(1)}

    def update(self, lanes, actions):
        lanes.timer -= 1
        lanes.phase[lanes.timer < 3] = 0.25

    def observe(self, lanes):
        return {
            "policy": lanes.qpos.astype(np.float32),
            "critic": {"timer": lanes.timer[:, None], "feet": lanes.geoms(".*_foot").xpos.astype(np.float32)},
        }


def test_dicts_terms_and_dtypes():
    env = make(Everything, 4, count=[1, 2, 3, 4])
    observations, _ = env.reset(seed=0)
    space = env.single_observation_space
    assert space["policy"].dtype == np.float32 and space["critic"]["timer"].dtype == np.int64
    assert space["critic"]["feet"].shape == (4, 3)
    assert env.observation_space.contains(observations)
    commands, timers = env.state["command"], env.state["timer"]
    for lane in range(4):  # as the lane's own generator draws them
        rng = gymnasium.utils.seeding.np_random(lane)[0]
        assert np.array_equal(commands[lane], rng.normal(0, 1, 2).astype(np.float32))
        assert timers[lane] == rng.integers(2, 9)
    observations, rewards, _, _, infos = env.step(np.zeros((4, 3)))
    assert infos["reward"].keys() >= {"alive", "track"}
    assert np.allclose(rewards, 1 - np.abs(commands).sum(1))
    assert np.array_equal(infos["reward"]["alive"], np.ones(4))
    assert env.get_attr("data")[2].xfrc_applied[1, 2] == 1.5 * 3
    assert np.array_equal(observations["critic"]["timer"][:, 0], timers - 1)
    assert env.state["phase"].tolist() == [0.25 if timer < 4 else 0.5 for timer in timers]


def test_params_and_fields_of_lanes():
    env = make(lanes=4)
    env.reset(seed=0)
    env.set_params(least_height=[0, 1, 0, 1], frame_skip=1)
    env.set_params(body_mass=env.get_attr("model")[0].body_mass * 2, lanes=[2])
    assert env.step(np.zeros((4, 12), np.float32))[2].tolist() == [False, True, False, True]
    assert env.get_attr("time") == env.get_attr("dt")
    with pytest.raises(TypeError, match="least_heigt"):
        env.set_params(least_heigt=3)
    with pytest.raises(TypeError, match="least_heigt"):
        make(least_heigt=3)
    with pytest.raises(ValueError, match="action_repeat=3 cannot be used with tasks in NumPy: frame_skip"):
        make(action_repeat=3)


def test_params_that_change_between_whole_steps():
    """The functions see them at once, in whole steps and in others."""
    env = make(lanes=4)
    env.reset(seed=0)
    zeros = np.zeros((4, 12), np.float32)
    assert not env.step(zeros)[2].any()
    env.set_params(least_height=1.0, lanes=[1])
    assert env.step(zeros)[2].tolist() == [False, True, False, False]
    env.set_params(least_height=[1, 0, 1, 0])
    assert env.step(zeros[:2], [0, 3])[2].tolist() == [True, False]
    env.reset(seed=0)
    assert env.step(zeros)[2].tolist() == [True, False, True, False]


def test_fields_of_the_model_that_make_gets():
    env = make(lanes=2, gravity=[0, 0, -1])
    assert env.get_attr("model")[1].opt.gravity.tolist() == [0, 0, -1]
    with pytest.raises(TypeError, match="takes the model as its first argument, and no xml_file"):
        make(xml_file="ant.xml")


def test_copies_have_models_of_their_own():
    env = make(lanes=2)
    env.reset(seed=0)
    other = copy.copy(env)
    env.set_params(gravity=[0, 0, -1.0])
    assert [one.get_attr("model")[0].opt.gravity[2] for one in (env, other)] == [-1, -9.81]
    for one in (env, other):
        one.step(np.zeros((2, 12), np.float32))
    assert not np.array_equal(env.get_attr("qpos"), other.get_attr("qpos"))


def test_writing_of_things_by_name():
    """By one name as by several; the numbers of several things are copies, so writing into them is refused."""

    class Pushed(Stand):
        def control(self, lanes, actions):
            lanes.body("trunk").xfrc_applied = np.arange(6.0)
            lanes.body("fl_hip").xfrc_applied[:, 2] = 7
            lanes.bodies(".*_calf").xfrc_applied = np.full(6, 0.5)
            lanes.mocap_pos[:] = 3  # the model has no mocap bodies
            assert lanes.mocap_pos.shape == (len(lanes), 0, 3)
            if len(lanes) == self.writes:
                lanes.bodies(".*_calf").xfrc_applied[:] = 1
            return super().control(lanes, actions)

        writes = 3

    env = make(Pushed)
    env.reset(seed=0)
    names = [env.get_attr("model")[0].body(k).name for k in range(14)]
    for numbers in (None, [4, 1]):
        env.reset(seed=0)
        actions = np.zeros((LANES if numbers is None else 2, 12), np.float32)
        env.step(actions) if numbers is None else env.step(actions, numbers)
        for lane in range(LANES) if numbers is None else numbers:
            forces = env.state["xfrc_applied"][lane]
            assert forces[names.index("trunk")].tolist() == [0, 1, 2, 3, 4, 5]
            assert forces[names.index("fl_hip")].tolist() == [0, 0, 7, 0, 0, 0]
            assert [(forces[k] == 0.5).all() for k in range(14)] == [name.endswith("_calf") for name in names]
    with pytest.raises(batchenv.LaneError, match="read-only"):
        env.step(np.zeros((3, 12), np.float32), [0, 2, 3])
    with pytest.raises(RuntimeError, match=r"lanes\.xpos cannot be written here"):
        make(changed(update=lambda self, lanes, actions: setattr(lanes.body("trunk"), "xpos", 0)))


def test_things_of_the_same_name():
    """As the objects of MuJoCo's bindings have them, one and several."""

    class Named(Stand):
        def observe(self, lanes):
            ones = [lanes.body("trunk").xpos, lanes.geom("trunk").xpos, lanes.body("fl_hip").xquat]
            ones += [lanes.joint("fl_hip").qpos, lanes.actuator("fl_hip").length, lanes.sensor("gyro")]
            several = [lanes.bodies("trunk").xpos, lanes.geoms("trunk").xpos, lanes.joints("fl_(hip|calf)").qvel]
            assert [part.ndim for part in several] == [3, 3, 3]
            return np.concatenate([*ones, *(part.reshape(len(lanes), -1) for part in several)], axis=1)

    env = make(Named, 3)
    env.reset(seed=0)
    observations = env.step(actions_of(np.random.default_rng(0), 3))[0]
    for row, data in zip(observations, env.get_attr("data"), strict=True):
        ones = [data.body("trunk").xpos, data.geom("trunk").xpos, data.body("fl_hip").xquat]
        ones += [data.joint("fl_hip").qpos, data.actuator("fl_hip").length, data.sensor("gyro").data]
        several = [ones[0], ones[1], data.joint("fl_hip").qvel, data.joint("fl_calf").qvel]
        assert np.array_equal(row, np.concatenate([np.ravel(part) for part in (*ones, *several)]))


def test_tendons_cameras_and_spaces():
    """Things whose arrays have short names; bools, and bounds for more numbers than a space has room for."""
    model = """<mujoco><worldbody><camera name="eye" pos="1 2 3"/><body pos="0 0 1"><joint name="j" axis="0 1 0"/>
        <geom size=".1"/></body></worldbody><tendon><fixed name="t"><joint joint="j" coef="3"/></fixed></tendon>
        <actuator><motor joint="j"/></actuator></mujoco>"""

    class Seeing(batchenv.MuJoCoTask):
        observation_space = gymnasium.spaces.Dict(
            wide=gymnasium.spaces.Box(-7, 7, (50,), np.float64), near=gymnasium.spaces.Box(0, 1, (1,), np.bool_)
        )

        def observe(self, lanes):
            parts = [lanes.camera("eye").xpos, lanes.tendon("t").length, lanes.tendons("t").length[:, 0], lanes.qpos]
            if (lanes.camera("eye").xpos[:, 2] != 3).any():
                raise ValueError("nothing has been computed yet")
            wide = np.concatenate([*parts, np.zeros((len(lanes), 44))], axis=1)
            return {"wide": wide, "near": lanes.qpos < 9}

    class Boundless(Seeing):
        observation_space = None

    env = batchenv.make_mujoco(model, 2, task=Seeing)
    env.reset(seed=0)
    angle = env.step(np.ones((2, 1), np.float32))[0]["wide"][1, 5]
    row = env.step(np.ones((2, 1), np.float32))[0]["wide"][1]
    assert row[:3].tolist() == [1, 2, 3] and row[3] == row[4] == 3 * angle != 0
    assert env.single_observation_space == Seeing.observation_space
    assert batchenv.make_mujoco(model, 2, task=Boundless).single_observation_space["near"].high.tolist() == [True]


def test_actions_are_read_only():
    def control(self, lanes, actions):
        if len(lanes) == self.writes:
            actions *= 2
        return Stand.control(self, lanes, actions)

    with pytest.raises(RuntimeError, match="read-only"):
        make(changed(control=control, writes=2))
    for lanes in ([0, 1, 2], range(LANES)):
        env = make(changed(control=control, writes=len(lanes)))
        env.reset(seed=0)
        with pytest.raises(batchenv.LaneError, match="read-only"):
            env.step(np.zeros((len(lanes), 12), np.float32), list(lanes))


def test_elapsed_steps():
    """Those before the step; so set_state, too, shows the observation as the step has."""

    def observe(self, lanes):
        return np.stack([lanes.elapsed_steps, lanes.last_action[:, 0].astype(np.int32)], axis=1)

    env = make(changed(observe=observe), 3, autoreset_mode="SameStep", max_episode_steps=4)
    assert env.reset(seed=0)[0][:, 0].tolist() == [0, 0, 0]
    zeros = np.zeros((3, 12), np.float32)
    assert [env.step(zeros)[0][1, 0] for _ in range(3)] == [0, 1, 2]
    assert env.set_state({"last_action": np.full(12, 5.0)}, lanes=[1, 2]).tolist() == [[2, 0], [2, 5], [2, 5]]
    observations, *_, infos = env.step(zeros)
    assert observations[:, 0].tolist() == [0, 0, 0] and infos["final_obs"][2][0] == 3
    assert env.set_state({"last_action": np.full(12, 5.0)}).tolist() == [[0, 5]] * 3


@pytest.mark.parametrize("ranges", [[(0.5, 2)], [(-1 - k, 1) for k in range(40)]])
def test_actuators_of_any_ranges(ranges):
    """Also such that leave out 0, and more than a space has room for."""
    bodies = "".join(
        f'<body pos="{k} 0 0"><joint name="j{k}" axis="0 1 0"/><geom size=".1"/></body>' for k in range(len(ranges))
    )
    motors = "".join(
        f'<motor joint="j{k}" ctrllimited="true" ctrlrange="{low} {high}"/>' for k, (low, high) in enumerate(ranges)
    )
    model = f"<mujoco><worldbody>{bodies}</worldbody><actuator>{motors}</actuator></mujoco>"

    class Turning(batchenv.MuJoCoTask):
        def control(self, lanes, actions):
            return 1.5 * actions

        def reward(self, lanes, actions):
            return lanes.ctrl.sum(1)

    env = batchenv.make_mujoco(model, 2, task=Turning)
    env.reset(seed=0)
    assert env.step(np.ones((2, len(ranges)), np.float32))[1].tolist() == [1.5 * len(ranges)] * 2
    if len(ranges) == 1:
        space = batchenv.make_mujoco(model, 2, task=batchenv.MuJoCoTask).single_action_space
        assert space.low.tolist() == [0.5] and space.high.tolist() == [2]
    else:
        with pytest.raises(ValueError, match="action_space has 40 numbers with different bounds"):
            batchenv.make_mujoco(model, 2, task=batchenv.MuJoCoTask)


def test_rows_of_one_number():
    """They have their axis in steps, too, as in a model with one actuator."""

    class Single(Stand):
        def prepare(self):
            super().prepare()
            self.state |= {"row": np.zeros(1), "number": 0.0}

        def reward(self, lanes, actions):
            return {"only": lanes.row[:, 0] + lanes.number}

        def update(self, lanes, actions):
            super().update(lanes, actions)
            lanes.row += actions[:, :1]
            lanes.number += 1

    env = make(Single, 3)
    env.reset(seed=0)
    ones = np.ones((3, 12), np.float32)
    assert env.step(ones)[1].tolist() == [0, 0, 0]
    assert env.step(ones[:2], [2, 0])[1].tolist() == [2, 2]
    _, rewards, *_, infos = env.step(ones)
    assert rewards.tolist() == [4, 2, 4] and infos["reward_sums"]["only"].tolist() == [6, 2, 6]
    assert env.set_state({"row": 5.0}, lanes=[1]).shape == (3, 44)
    assert env.step(ones)[1].tolist() == [6, 7, 6]


def test_set_state_that_observe_refuses():
    """The lanes stay as they were."""

    def observe(self, lanes):
        if (lanes.last_action == 9).any():
            raise KeyError("nine")
        return Stand.observe(self, lanes)

    env, other = make(changed(observe=observe)), make()
    for one in (env, other):
        one.reset(seed=0)
    with pytest.raises(RuntimeError, match=r"Changed\.observe\(\) has raised KeyError: 'nine'"):
        env.set_state({"last_action": np.full(12, 9.0), "qfrc_applied": np.full(18, 1.0)}, lanes=[2, 0])
    assert (env.state["last_action"] == 0).all() and (env.state["qfrc_applied"] == 0).all()
    actions = actions_of(np.random.default_rng(0))
    same(env.step(actions), other.step(actions))


def test_set_state_shows_at_once_and_draws_nothing():
    class Noisy(Everything):
        def observe(self, lanes):
            return lanes.phase[:, None] + lanes.uniform(-1, 1, 1)

    env, other = make(Noisy, 3), make(Noisy, 3)
    for one in (env, other):
        one.reset(seed=5)
    before = env.step(np.zeros((3, 3)))[0]
    other.step(np.zeros((3, 3)))
    after = env.set_state({"phase": 9.0}, lanes=[1])
    assert np.array_equal(after[[0, 2]], before[[0, 2]]) and 8 <= after[1, 0] <= 10
    env.set_state({"phase": other.state["phase"]})
    assert env.step(np.zeros((3, 3)))[0].tobytes() == other.step(np.zeros((3, 3)))[0].tobytes()


def test_rollouts_transforms_and_pictures():
    env = make(frame_stack=2, normalize_observation=True, reward_scale=2.0)
    plain = make()
    env.reset(seed=0)
    plain.reset(seed=0)
    actions = np.stack([actions_of(np.random.default_rng(k)) for k in range(5)])
    rollout = env.rollout(actions)
    for step in range(5):
        assert np.allclose(rollout.rewards[step], 2 * plain.step(actions[step])[1])
    assert rollout.observations.shape == (5, LANES, 2, 44)


def test_two_threads_that_call():
    """The second one is refused while the first one's step runs, and nothing is lost."""

    class Slow(Stand):
        entered, go = threading.Event(), threading.Event()

        def update(self, lanes, actions):
            super().update(lanes, actions)
            if len(lanes) == LANES and self.armed:
                self.entered.set()
                assert self.go.wait(20)

        armed = False

    env = make(Slow)
    env.reset(seed=0)
    Slow.armed = True
    thread = threading.Thread(target=env.step, args=(np.zeros((LANES, 12), np.float32),))
    thread.start()
    assert Slow.entered.wait(20)
    with pytest.raises(RuntimeError):
        env.step(np.zeros((LANES, 12), np.float32))
    Slow.go.set()
    thread.join()
    assert (env.state["elapsed_steps"] == 1).all()


@pytest.mark.parametrize("sent", [False, True])
def test_functions_that_call_their_env(sent):
    """They are told so, and nobody waits for himself."""

    class Calling(Stand):
        def update(self, lanes, actions):
            if self.env is not None:
                self.env.get_attr("qpos")

        env = None

    env = make(Calling, batch_size=LANES)
    env.async_reset(seed=0)
    env.recv()
    Calling.env = env
    zeros = np.zeros((LANES, 12), np.float32)
    with pytest.raises(batchenv.LaneError, match=r"update\(\) has raised RuntimeError: (a function|this BatchEnv)"):
        if sent:
            env.send(zeros, np.arange(LANES))
            env.recv()
        else:
            env.step(zeros)
    Calling.env = None
    env.reset(seed=0)
    env.step(zeros)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_goes_on():
    env = make()
    env.async_reset(seed=0)
    env.recv()  # its thread is not the child's
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with pytest.raises(RuntimeError, match="nothing in flight"):
            env.recv()
        env.send(np.zeros((LANES, 12), np.float32))
        os.write(writing, env.recv()[0][0].tobytes())
        os._exit(0)
    os.close(writing)
    env.send(np.zeros((LANES, 12), np.float32))
    mine = env.recv()[0][0].tobytes()
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == mine
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_lanes_in_flight_stay_with_the_parent():
    env = make()
    env.async_reset(seed=0)
    child = os.fork()
    if child == 0:
        with pytest.raises(RuntimeError, match=r"recv\(\) in a forked process.*env\.reset\(\) here first"):
            env.recv()
        env.reset(seed=0)
        env.step(np.zeros((LANES, 12), np.float32))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    env.recv()


# ---- what is wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("name", ["control", "reward", "terminated", "update", "observe"])
def test_an_exception_in_a_function(name, mode):
    """All lanes of the call fail, with the exception as the cause, and the env goes on."""

    def fail(self, lanes, *arguments):
        if self.armed and len(lanes) == LANES:
            raise KeyError("mine")
        return getattr(Stand, name)(self, lanes, *arguments)

    task = changed(**{name: fail, "armed": False})
    env = make(task, autoreset_mode=mode)
    env.reset(seed=0)
    env.step(np.zeros((LANES, 12), np.float32))
    task.armed = True
    with pytest.raises(batchenv.LaneError, match=rf"Changed\.{name}\(\) has raised KeyError: 'mine'") as caught:
        env.step(np.zeros((LANES, 12), np.float32))
    assert caught.value.env_id.tolist() == list(range(LANES))
    assert isinstance(caught.value.__cause__, KeyError)
    task.armed = False
    if mode == "Disabled":
        env.reset(options={"reset_mask": np.ones(LANES, bool)})
    env.step(np.zeros((LANES, 12), np.float32))
    # In SAME_STEP lanes have been reset in the call that failed, unless that could not be either.
    started = mode == "Disabled" or (mode == "SameStep" and name != "observe")
    assert (env.state["elapsed_steps"] == started).all()


def test_ctrl_c_in_a_function():
    def interrupt(self, lanes):
        if self.armed:
            raise KeyboardInterrupt
        return Stand.terminated(self, lanes)

    task = changed(terminated=interrupt, armed=False)
    env = make(task)
    env.reset(seed=0)
    task.armed = True
    with pytest.raises(KeyboardInterrupt):
        env.step(np.zeros((LANES, 12), np.float32))
    task.armed = False
    env.reset(seed=0)
    env.step(np.zeros((LANES, 12), np.float32))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rewards_that_are_no_numbers(bad):
    def reward(self, lanes, actions):
        rewards = np.zeros(len(lanes))
        rewards[lanes.elapsed_steps == 1] = bad if self.armed else 0
        return rewards

    task = changed(reward=reward, armed=False)
    env = make(task)
    env.reset(seed=0)
    env.step(np.zeros((3, 12), np.float32), [0, 1, 4])
    task.armed = True
    with pytest.raises(batchenv.LaneError, match=rf"lane 0: Changed\.reward\(\) gave {bad}") as caught:
        env.step(np.zeros((LANES, 12), np.float32))
    assert caught.value.env_id.tolist() == [0, 1, 4]
    assert caught.value.result[3].tolist() == [True, True, False, False, True, False]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_observations_that_are_no_numbers(mode):
    """They would spoil moments for ever, and weights; the lane begins anew, and the others go on."""

    def observe(self, lanes):
        observed = Stand.observe(self, lanes)
        observed[(lanes.numbers == 2) & (self.armed > 0), 5] = np.nan
        return {"policy": observed, "count": lanes.elapsed_steps.astype(np.int32)[:, None]}

    env = make(changed(observe=observe, armed=0), autoreset_mode=mode)
    env.reset(seed=0)
    zeros = np.zeros((LANES, 12), np.float32)
    env.step(zeros)
    type(env._backend._task).armed = 1
    with pytest.raises(batchenv.LaneError, match=r"Changed\.observe\(\) gave nan in 'policy'") as caught:
        env.step(zeros)
    assert caught.value.env_id.tolist() == [2]
    type(env._backend._task).armed = 0
    for _ in range(3):
        observations = env.step(zeros)[0]
        assert not np.isnan(observations["policy"]).any()
    type(env._backend._task).armed = 1
    with pytest.raises(batchenv.LaneError, match=r"gave nan in 'policy'"):
        env.reset()


def test_lanes_without_a_reward_start_in_the_same_step():
    def reward(self, lanes, actions):
        return np.where(lanes.numbers == 2, np.nan if self.armed else 0, 0)

    task = changed(reward=reward, armed=False)
    env = make(task, autoreset_mode="SameStep")
    env.reset(seed=0)
    actions = actions_of(np.random.default_rng(0))
    env.step(actions)
    task.armed = True
    with pytest.raises(batchenv.LaneError) as caught:
        env.step(actions)
    assert caught.value.env_id.tolist() == [2]
    assert [time > 0 for time in env.get_attr("time")] == [True, True, False, True, True, True]
    assert (env.state["last_action"][2] == 0).all() and (env.state["last_action"][3] == actions[3]).all()
    height = env.get_attr("data")[2].xpos[1, 2]
    assert height == caught.value.result[0][2, 2]


def test_causes_of_failures_that_nobody_received():
    """They are not those of later failures."""

    class Failing(Stand):
        def update(self, lanes, actions):
            if self.how == "raise":
                raise KeyError("mine")

        def reward(self, lanes, actions):
            return np.full(len(lanes), np.nan if self.how == "nan" else 0)

        how = ""

    env = make(Failing, batch_size=LANES)
    env.async_reset(seed=0)
    env.recv()
    zeros = np.zeros((LANES, 12), np.float32)
    Failing.how = "raise"
    env.send(zeros, np.arange(LANES))
    env.async_reset(seed=0)  # drops what was sent
    Failing.how = "nan"
    env.recv()
    with pytest.raises(batchenv.LaneError, match=r"reward\(\) gave nan") as caught:
        env.step(zeros)
    assert caught.value.__cause__ is None and not caught.value.causes


def test_starts_that_fail():
    """The lanes that start fail; the next step tries again."""

    def start(self, lanes):
        if self.armed:
            raise OSError("no start")
        Stand.start(self, lanes)

    task = changed(start=start, armed=False)
    env = make(task, max_episode_steps=2)
    env.reset(seed=0)
    actions = np.zeros((LANES, 12), np.float32)
    env.step(actions)
    env.step(actions)
    task.armed = True
    with pytest.raises(batchenv.LaneError, match="no start"):
        env.step(actions)
    task.armed = False
    env.step(actions)
    assert (env.state["elapsed_steps"] == 0).all()
    task.armed = True
    with pytest.raises(batchenv.LaneError, match="no start"):
        env.reset(seed=0)


def test_simulations_that_become_unstable():
    """Those lanes alone fail, or are cut short, as tasks in C."""
    weak = ROBOT.read_text().replace("<worldbody", '<option timestep="0.2"/>\n<worldbody', 1)
    for how in ("raise", "reset"):
        env = batchenv.make_mujoco(weak, LANES, task=Stand, on_unstable=how, action_scale=[0, 0, 0, 1e6, 0, 1e6])
        env.reset(seed=0)
        ended = np.zeros(LANES, bool)
        for _ in range(12):
            try:
                result = env.step(np.ones((LANES, 12), np.float32))
            except batchenv.LaneError as error:
                assert how == "raise" and "unstable" in str(error)
                result = error.result
            ended |= result[3]
        assert ended[[3, 5]].all()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("how", ["ignore", "reset", "raise"])
def test_unstable_lanes_are_told_as_those_in_c(how, mode, in_c, tmp_path):
    weak = tmp_path / "weak.xml"
    weak.write_text(ROBOT.read_text().replace("<worldbody", '<option timestep="0.05"/>\n<worldbody', 1))
    settings = {"on_unstable": how, "action_scale": [0, 0.2, 1e5, 1e9, 0, 1e9], "autoreset_mode": mode}
    settings |= {"max_episode_steps": 9, "least_height": -1e9}
    ours = batchenv.make_mujoco(weak, LANES, task=Stand, **settings)
    theirs = batchenv.make(in_c, LANES, xml_file=str(weak), **settings)
    for env in (ours, theirs):
        env.reset(seed=0)
    rng, told, failed = np.random.default_rng(0), 0, 0
    for time in range(60):
        some = (rng.permutation(LANES)[:4],) if time % 3 == 2 else ()
        actions, results, lanes = actions_of(rng, 4 if some else LANES), [], []
        for env in (ours, theirs):
            try:
                results.append(env.step(actions, *some))
                lanes.append([])
            except batchenv.LaneError as error:
                results.append(error.result)
                lanes.append(error.env_id.tolist())
        same(*results)
        assert lanes[0] == lanes[1]
        if "final_info" in results[0][4]:
            finals = [result[4]["final_info"].get("unstable", np.zeros(0)) for result in results]
            assert np.array_equal(*finals)
            told += finals[0].sum()
        told, failed = told + results[0][4].get("unstable", np.zeros(0)).sum(), failed + len(lanes[0])
    assert (failed > 10) if how == "raise" else (told > 10)


def test_functions_see_only_lanes_that_are_stepped():
    """The others keep their state, and draw nothing."""

    class Counting(Stand):
        def prepare(self):
            super().prepare()
            self.state["steps"] = 0

        def update(self, lanes, actions):
            super().update(lanes, actions)
            lanes.steps += 1
            lanes.uniform(size=2)

    env = make(Counting)
    env.reset(seed=0)
    before = [rng.bit_generator.state["state"]["state"] for rng in env.np_random]
    env.step(np.zeros((2, 12), np.float32), [1, 3])
    after = [rng.bit_generator.state["state"]["state"] for rng in env.np_random]
    assert env.state["steps"].tolist() == [0, 1, 0, 1, 0, 0]
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, False, True, False, True, True]


def test_lanes_that_wait_draw_nothing():
    """Whole steps do to each lane what steps of that lane alone do, also where other lanes start."""

    class Drawing(Stand):
        def control(self, lanes, actions):
            lanes.xfrc_applied[:, 1] = lanes.uniform(-5, 5, 6)
            return super().control(lanes, actions)

        def reward(self, lanes, actions):
            return lanes.normal()

    settings = {"least_height": [0, 1, 0, 0.27, 1, 0], "max_episode_steps": 5}
    env, other = make(Drawing, **settings), make(Drawing, **settings)
    for one in (env, other):
        one.reset(seed=4)
    zeros, ended = np.zeros((LANES, 12), np.float32), 0
    for _ in range(20):
        whole = env.step(zeros)
        for lane in (3, 0, 5, 1, 2, 4):
            single = other.step(zeros[:1], [lane])
            for ours, theirs in zip(whole[:4], single[:4], strict=True):
                assert ours[lane].tobytes() == theirs[0].tobytes()
        ended += whole[2].sum()
    assert ended > 20


def test_an_array_that_was_not_tried():
    class Later(Stand):
        def observe(self, lanes):
            if lanes.elapsed_steps.any():
                assert lanes.cvel.shape == (len(lanes), lanes._source.model.nbody, 6)
            return super().observe(lanes)

    env = make(Later)
    env.reset(seed=0)
    env.step(np.zeros((LANES, 12), np.float32))
    with pytest.raises(batchenv.LaneError, match=r"'cvel'.*must be named in the task's `reads`"):
        env.step(np.zeros((LANES, 12), np.float32))
    Later.reads = ("cvel",)
    env = make(Later)
    env.reset(seed=0)
    for _ in range(3):
        env.step(np.zeros((LANES, 12), np.float32))


def test_gymnasiums_ant_in_numpy():
    """The same rewards and ends as Gymnasium's own task, from the same physics."""
    from batchenv.envs.mujoco.tasks import assets

    class Ant(batchenv.MuJoCoTask):
        frame_skip = 5

        def prepare(self):
            self.state = {"x": 0.0}

        def start(self, lanes):
            lanes.qpos += lanes.uniform(-0.1, 0.1, self.model.nq)
            lanes.qvel += 0.1 * lanes.normal(0, 1, self.model.nv)

        def control(self, lanes, actions):
            lanes.x = lanes.body("torso").xpos[:, 0]
            return actions

        def reward(self, lanes, actions):
            forward = (lanes.body("torso").xpos[:, 0] - lanes.x) / lanes.dt
            return forward + ~self.terminated(lanes) - 0.5 * np.square(actions).sum(1)

        def terminated(self, lanes):
            height = lanes.qpos[:, 2]
            return ~((height >= 0.2) & (height <= 1))

        def observe(self, lanes):
            return np.concatenate([lanes.qpos[:, 2:], lanes.qvel], axis=1)

    ours = batchenv.make_mujoco(assets() / "ant.xml", 4, task=Ant, max_episode_steps=1000)
    theirs = batchenv.make("Ant-v5", 4, include_cfrc_ext_in_observation=False, contact_cost_weight=0)
    assert np.array_equal(ours.reset(seed=0)[0], theirs.reset(seed=0)[0])
    rng = np.random.default_rng(0)
    for _ in range(100):
        actions = rng.uniform(-1, 1, (4, 8)).astype(np.float32)
        one, other = ours.step(actions), theirs.step(actions)
        assert np.array_equal(one[0], other[0]) and np.array_equal(one[2], other[2])
        assert np.allclose(one[1], other[1], atol=1e-6)


class Pickled(Everything):
    pass


def test_pickles():
    env = make(Pickled, 3, weight=[1, 2, 3], max_episode_steps=20)
    env.reset(seed=0)
    env.step(np.ones((3, 3)))
    other = pickle.loads(pickle.dumps(env))
    for _ in range(3):
        one, two = env.step(np.ones((3, 3))), other.step(np.ones((3, 3)))
        assert one[0]["policy"].tobytes() == two[0]["policy"].tobytes() and one[1].tobytes() == two[1].tobytes()


class Late(Stand):
    """Servos of its own, whose targets come two of MuJoCo's steps late."""

    def prepare(self):
        super().prepare()
        self.state["before"] = np.zeros(self.model.nu)

    def control(self, lanes, actions):
        return self.torques(lanes, lanes.before)

    def recontrol(self, lanes, actions, step):
        target = super().control(lanes, actions)
        if step == 4:
            lanes.before = target
        return self.torques(lanes, lanes.before if step < 2 else target)

    def torques(self, lanes, target):
        return 20 * (target - lanes.qpos[:, 7:]) - 0.5 * lanes.qvel[:, 6:]


def test_controls_between_the_steps_of_mujoco():
    env = make(Late)
    observations, _ = env.reset(seed=2)
    model, rng = env.get_attr("model")[0], np.random.default_rng(0)
    datas = [mujoco.MjData(model) for _ in range(LANES)]
    for data, row in zip(datas, observations, strict=True):
        data.qpos[:], data.qvel[:] = row[: model.nq], row[model.nq : model.nq + model.nv]
        mujoco.mj_forward(model, data)
    before = np.zeros((LANES, 12))
    for _ in range(20):
        actions = actions_of(rng)
        observations, *_ = env.step(actions)
        targets = model.qpos0[7:] + 0.25 * actions.astype(float)
        for lane, data in enumerate(datas):
            for step in range(5):
                target = before[lane] if step < 2 else targets[lane]
                data.ctrl[:] = 20 * (target - data.qpos[7:]) - 0.5 * data.qvel[6:]
                mujoco.mj_step(model, data)
            assert np.array_equal(observations[lane, : model.nq], data.qpos)
        before = targets
    assert env.get_attr("physics")[0].startswith("together")
    some = env.step(actions[:2], [4, 2])[0]
    for row, lane, action in zip(some, (4, 2), actions, strict=False):
        data, target = datas[lane], model.qpos0[7:] + 0.25 * action.astype(float)
        for step in range(5):
            data.ctrl[:] = 20 * ((before[lane] if step < 2 else target) - data.qpos[7:]) - 0.5 * data.qvel[6:]
            mujoco.mj_step(model, data)
        assert np.array_equal(row[: model.nq], data.qpos)


class Kicked(Stand):
    """Its velocities change at once."""

    def control(self, lanes, actions):
        lanes.qvel[:, :3] += actions[:, :3]
        lanes.joint("fl_hip").qvel = actions[:, 3:4]
        return super().control(lanes, actions)


@pytest.mark.parametrize("base", [Stand, Late])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_velocities_that_a_task_changes(base, mode):
    """The steps of MuJoCo begin with them, in groups, of all lanes or some."""
    env = make(type("Kicked", (Kicked, base), {}), autoreset_mode=mode, least_height=-9.0, max_episode_steps=9)
    env.reset(seed=2)
    model, rng = env.get_attr("model")[0], np.random.default_rng(0)
    hip = model.joint("fl_hip").dofadr[0]
    for step in range(30):
        actions, before = actions_of(rng), env.get_attr("data")
        late = env.state["before"] if base is Late else None
        chosen = np.array([4, 1]) if step % 3 == 2 else np.arange(LANES)
        _, _, _, truncated, _ = env.step(actions[chosen], chosen) if len(chosen) < LANES else env.step(actions)
        after = env.get_attr("data")
        for lane in chosen[~truncated]:
            data, action = before[lane], actions[lane].astype(float)
            if after[lane].time == 0:
                continue  # it was reset in this step
            data.qvel[:3] += action[:3]
            data.qvel[hip] = action[3]
            for k in range(5):
                target = model.qpos0[7:] + 0.25 * action
                if base is Late:
                    target = late[lane] if k < 2 else target
                    data.ctrl[:] = 20 * (target - data.qpos[7:]) - 0.5 * data.qvel[6:]
                else:
                    data.ctrl[:] = target
                mujoco.mj_step(model, data)
            assert np.array_equal(data.qpos, after[lane].qpos) and np.array_equal(data.qvel, after[lane].qvel), step
    assert env.get_attr("physics")[0].startswith("together")


@pytest.mark.parametrize("how", ["ignore", "reset", "raise"])
def test_simulations_that_are_unstable_between_controls(how):
    """What happens in any of MuJoCo's steps counts, not only what does in the last."""

    class Bad(Late):
        def recontrol(self, lanes, actions, step):
            controls = super().recontrol(lanes, actions, step)
            if self.armed and step == 1:
                controls[lanes.numbers == 2] = np.nan
            return controls

        armed = False

    env = make(Bad, on_unstable=how)
    env.reset(seed=0)
    zeros = np.zeros((LANES, 12), np.float32)
    env.step(zeros)
    snapshot = env.snapshot()
    expected = env.step(zeros)[0]
    for numbers in ((), ([5, 2],)):
        env.restore(snapshot)
        Bad.armed = True
        try:
            result, failed = env.step(zeros[: 2 if numbers else LANES], *numbers), []
        except batchenv.LaneError as error:
            result, failed = error.result, error.env_id.tolist()
        Bad.armed = False
        where = 1 if numbers else 2
        assert failed == ([2] if how == "raise" else [])
        assert np.flatnonzero(result[3]).tolist() == ([] if how == "ignore" else [where])
        if how != "raise":
            assert np.flatnonzero(result[4]["unstable"]).tolist() == [where]
    env.restore(snapshot)  # into a lane that had ended
    result = env.step(zeros)
    assert result[0].tobytes() == expected.tobytes() and "unstable" not in result[4]


class Varied(Stand):
    """Each episode has a model of its own."""

    def start(self, lanes):
        super().start(lanes)
        scale = lanes.uniform(0.5, 1.5)
        damping = np.full(self.model.nv, 0.5)
        lanes.set_model(dof_damping=damping)
        damping[:] = 9  # which is the task's own array again
        lanes.set_model(
            body_mass=self.model.body_mass * scale[:, None],
            body_inertia=self.model.body_inertia * scale[:, None, None],
        )


def test_models_of_episodes():
    env = make(Varied, max_episode_steps=3)
    env.reset(seed=1)
    seen = []
    for _ in range(2):
        models = env.get_attr("model")
        seen.append([model.body_mass[1] for model in models])
        datas = [mujoco.MjData(model) for model in models]
        for data, state in zip(datas, env.get_attr("data"), strict=True):
            data.qpos[:], data.qvel[:] = state.qpos, state.qvel
            mujoco.mj_forward(data.model, data)
        for _ in range(3):
            observations, *_ = env.step(np.zeros((LANES, 12), np.float32))
            for row, data in zip(observations, datas, strict=True):
                data.ctrl[:] = data.model.qpos0[7:]
                mujoco.mj_step(data.model, data, 5)
                assert np.array_equal(row[: data.model.nq], data.qpos)
            assert all((model.dof_damping == 0.5).all() for model in models)
        env.step(np.zeros((LANES, 12), np.float32))
    assert len({*seen[0], *seen[1]}) == 2 * LANES
    other = pickle.loads(pickle.dumps(env))
    one, two = env.step(np.zeros((LANES, 12), np.float32)), other.step(np.zeros((LANES, 12), np.float32))
    assert one[0].tobytes() == two[0].tobytes()


@pytest.mark.parametrize(
    "fields,words",
    [
        ({"body_mas": 1}, r"no field 'body_mas' of mjModel can be set.*body_mass"),
        ({"body_mass": [1, 2, 3]}, r"body_mass is of shape \(3,\), but must be of shape \(14,\)"),
    ],
)
def test_models_that_are_refused(fields, words):
    with pytest.raises((ValueError, RuntimeError), match=words):
        make(changed(start=lambda self, lanes: lanes.set_model(**fields)))
    with pytest.raises(RuntimeError, match=r"set_model\(\) is for start\(\)"):
        make(changed(update=lambda self, lanes, actions: lanes.set_model(**fields)))


def test_masses_that_mujoco_refuses():
    """The lanes that start fail, and say why."""
    task = changed(
        start=lambda self, lanes: self.armed and lanes.set_model(body_mass=-1 * self.model.body_mass), armed=0
    )
    env = make(task)
    env.reset(seed=0)
    task.armed = True
    with pytest.raises(batchenv.LaneError, match=r"body_mass\[1\] of lane 0 must be more than 0"):
        env.reset(seed=0)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_sums_of_terms(mode):
    env = make(Everything, 4, max_episode_steps=5, autoreset_mode=mode, record_episode_statistics=True)
    env.reset(seed=0)
    sums = {"alive": np.zeros(4), "track": np.zeros(4)}
    ended = 0
    for _ in range(14):
        _, _, _, truncations, infos = env.step(np.zeros((4, 3)))
        told = infos.get("final_info", infos)
        if "reward" not in told:  # lanes have been reset
            assert mode == "NextStep" and (env.state["elapsed_steps"] == 0).all()
            continue
        for name, total in sums.items():
            total += told["reward"][name]
            assert np.array_equal(told["reward_sums"][name], total)
        if truncations.any():
            ended += 1
            assert np.allclose(infos["episode"]["r"], sums["alive"] + sums["track"])
            sums = {name: np.zeros(4) for name in sums}
    assert ended == 2
    snapshot = env.snapshot()
    before = env.step(np.zeros((4, 3)))[4]
    env.restore(snapshot)
    after = env.step(np.zeros((4, 3)))[4]
    before, after = (told.get("final_info", told)["reward_sums"]["track"] for told in (before, after))
    assert np.array_equal(before, after)
    with pytest.raises(ValueError, match=r"'reward_sums', but lanes\.reward_sums is something else"):
        make(changed(params={"reward_sums": 1.0}))
