"""What is wrong in a task over a model in NumPy, and in its lanes: functions that raise, numbers that are none, starts
that fail, simulations that become unstable."""

import numpy as np
import pytest

import batchenv
from helpers.robots import EXAMPLES, LANES, ROBOT, Stand, actions_of, changed, make, same


@pytest.fixture(scope="module")
def in_c():
    return batchenv.compile(EXAMPLES / "stand.c").ids[0]


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
