"""Tasks over a model in NumPy (batchenv.MuJoCoTask): examples/own_task/stand.py, against the same task in C."""

import copy
import os
import pickle
import threading

import gymnasium
import numpy as np
import pytest

import batchenv
from helpers.robots import EXAMPLES, LANES, ROBOT, Everything, Stand, actions_of, changed, make, same


@pytest.fixture(scope="module")
def in_c():
    return batchenv.compile(EXAMPLES / "stand.c").ids[0]


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
