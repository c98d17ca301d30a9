"""Environments written in Python as lanes of a batch: what SyncVectorEnv gives, and what happens when they fail."""

import asyncio
import contextlib
import time
from collections.abc import Mapping

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import batchenv
from helpers.begun import begun
from helpers.lockstep import lockstep
from helpers.parity import MODES, assert_same
from helpers.python_envs import ARRAYS, SPACES, Anything, Awaited, Plain, Raising, Troubled

KINDS = ["serial", "threads", "processes", "asyncio", "coroutines"]
LANES = 5


def make_python(make_env, num_envs=None, *, workers="serial", num_workers=None, **options):
    """As batchenv's. workers="coroutines": an event loop, with envs whose reset and step are coroutines."""
    if workers == "coroutines":
        workers, plain = "asyncio", make_env

        def make_env(**keywords):
            return Awaited(plain(**keywords) if callable(plain) else gymnasium.make(plain))

    if workers == "asyncio":
        num_workers = None
    return batchenv.make_python(make_env, num_envs, workers=workers, num_workers=num_workers, **options)


def pair(make_env, kind="serial", mode=AutoresetMode.NEXT_STEP, lanes=LANES, **options):
    ours = make_python(make_env, lanes, workers=kind, autoreset_mode=mode, **options)
    make_one = make_env if callable(make_env) else lambda: gymnasium.make(make_env)
    return ours, SyncVectorEnv([make_one] * lanes, autoreset_mode=mode)


def follow(ours, theirs, steps, where=""):
    lockstep(ours, theirs, steps, where, options={"a": 1}, every=23)


@pytest.mark.cases(1, per="env_id")
@pytest.mark.parametrize("kind", ["serial", "asyncio", "coroutines"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "Blackjack-v1", "Pendulum-v1"])
def test_gymnasiums_own(env_id, mode, kind):
    follow(*pair(env_id, kind, mode), 300, env_id)


@pytest.mark.cases(1, per="name")
@pytest.mark.parametrize("kind", ["serial", "threads", "coroutines"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SPACES)
def test_every_space(name, mode, kind):
    follow(*pair(lambda: Anything(SPACES[name]), kind, mode, num_workers=3), 60, name)


@pytest.mark.cases(1, per="name")
@pytest.mark.parametrize("kind", ["processes", "asyncio"])
@pytest.mark.parametrize(("name", "mode"), list(zip(["goal", "mission", "sequence"], MODES, strict=True)))
def test_spaces_in_other_workers(name, mode, kind):
    """What differs from lanes in this thread is how things cross: arrays, a Dict with a text, objects alone."""
    ours, theirs = pair(lambda: Anything(SPACES[name], SPACES[name]), kind, mode, num_workers=2)
    follow(ours, theirs, 80, name)


@pytest.mark.cases(1, per="name")
@pytest.mark.parametrize("kind", ["serial", "coroutines"])
@pytest.mark.parametrize("name", SPACES)
def test_every_action_space(name, kind):
    follow(*pair(lambda: Anything(ARRAYS["box"], SPACES[name]), kind), 40, name)


@pytest.mark.parametrize("kind", KINDS)
def test_options_come_as_gymnasium_gives_them(kind):
    """None, an empty dict, and one that had nothing but a mask, be it of all lanes, are told apart."""
    ours, theirs = pair(lambda: Anything(ARRAYS["box"]), kind, num_workers=2)
    mask = np.ones(LANES, bool)
    for options in (None, {}, {"a": 1}, {"reset_mask": mask}, {"reset_mask": mask, "a": 1}):
        one, other = (env.reset(seed=1, options=options and dict(options)) for env in (ours, theirs))
        assert_same(one, other, options)
    mask[0] = False
    one, other = (env.reset(options={"reset_mask": mask}) for env in (ours, theirs))
    assert_same(one, other, "some lanes")


def test_actions_come_as_gymnasium_gives_them():
    for name in ("discrete", "one number", "tuple", "goal", "sequence"):
        ours, theirs = pair(lambda name=name: Anything(ARRAYS["box"], SPACES[name]))
        follow(ours, theirs, 3)
        for mine, their in zip(ours.get_attr("taken"), theirs.get_attr("taken"), strict=True):
            assert_same(mine, their, name)


@pytest.mark.parametrize("kind", KINDS)
def test_lanes_in_flight(kind):
    """Rows of lanes that come as they get finished are those of lanes that go in step."""
    ours, theirs = pair(lambda: Anything(SPACES["mission"]), kind, num_workers=2, batch_size=2)
    theirs.reset(seed=9)
    ours.async_reset(seed=9)
    expected = {lane: [] for lane in range(LANES)}
    for _ in range(60):
        observations, rewards, *_ = theirs.step(np.ones(LANES, int))
        for lane in range(LANES):
            expected[lane].append((observations["mission"][lane], rewards[lane]))
    seen = {lane: [] for lane in range(LANES)}
    for turn in range(30):
        observations, rewards, _, _, infos = ours.recv()
        for row, lane in enumerate(infos["env_id"]):
            seen[lane].append((observations["mission"][row], rewards[row]))
        if turn < 28:
            ours.send(np.ones(2, int), infos["env_id"])
    for lane in range(LANES):  # on a busy machine, some may come rarely
        assert seen[lane][1:] == expected[lane][: max(len(seen[lane]) - 1, 0)]
    assert sum(map(len, seen.values())) == 60 and max(map(len, seen.values())) > 3


@pytest.mark.parametrize("repeat", [1, 3])
@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
@pytest.mark.parametrize("kind", ["serial", "asyncio", "coroutines"])
def test_core_options_apply(kind, mode, repeat):
    options = {"autoreset_mode": mode, "record_episode_statistics": True, "frame_stack": 2, "reward_scale": 0.5}
    options |= {"action_repeat": repeat, "max_episode_steps": 16}
    ours = make_python(CartPoleEnv, 3, workers=kind, **options)
    native = batchenv.make("CartPole-v1", 3, **options)
    assert_same(ours.reset(seed=1)[0], native.reset(seed=1)[0], "reset")
    for step in range(200):
        (*one, info), (*other, same_info) = (env.step(np.full(3, step // 2 % 2)) for env in (ours, native))
        assert_same(tuple(one), tuple(other), step)
        assert set(info) == set(same_info)
        for name in "rl":
            if "episode" in info:
                np.testing.assert_array_equal(info["episode"][name], same_info["episode"][name])


@pytest.mark.parametrize("flag", ["terminated", "truncated"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_action_is_not_repeated_after_the_end(kind, flag):
    class Ending(Plain):
        late, over = 0, False

        def step(self, action):
            self.late += self.over
            observation, reward, *_ = super().step(action)
            self.over = self.count == 4
            return observation, reward, self.over and flag == "terminated", self.over and flag == "truncated", {}

    env = begun(make_python(Ending, 2, workers=kind, action_repeat=3))
    env.step(np.zeros(2, int))
    observations, rewards, terminated, truncated, _ = env.step(np.zeros(2, int))
    assert rewards.tolist() == [1, 1] and observations[:, 0].tolist() == [4, 4]
    assert terminated.tolist() == [flag == "terminated"] * 2 and truncated.tolist() == [flag == "truncated"] * 2
    assert env.get_attr("late") == (0, 0)


def test_frames_are_stacked_bit_for_bit():
    """Also integers that no float64 has."""

    class Large(Anything):
        def _look(self):
            return np.full(2, 2**62 + 1 + self.count)

    ours = make_python(lambda: Large(gymnasium.spaces.Box(0, 2**63 - 1, (2,), np.int64)), 1, frame_stack=2)
    np.testing.assert_array_equal(ours.reset(seed=1)[0], np.full((1, 2, 2), 2**62 + 1))
    observations = ours.step(np.zeros(1, int))[0]
    np.testing.assert_array_equal(observations, [[[2**62 + 1] * 2, [2**62 + 2] * 2]])


@pytest.mark.parametrize("kind", ["serial", "coroutines"])
def test_rollouts(kind):
    ours, theirs = (begun(env, seed=1) for env in pair(lambda: Anything(SPACES["mission"]), kind))
    actions = np.random.default_rng(1).integers(3, size=(20, LANES))
    observations, rewards, terminations, truncations, infos, taken = ours.rollout(actions)
    assert taken is actions
    for step in range(20):
        expected = theirs.step(actions[step])
        np.testing.assert_array_equal(observations["image"][step], expected[0]["image"])
        assert tuple(observations["mission"][step]) == expected[0]["mission"]
        np.testing.assert_array_equal(rewards[step], expected[1])
        np.testing.assert_array_equal(terminations[step] | truncations[step], expected[2] | expected[3])
        for name, values in expected[4].items():
            if not isinstance(values, dict):
                np.testing.assert_array_equal(infos[name][step], values)
    one, other = (make_python("CartPole-v1", 3, seed=2) for _ in range(2))
    for env in (one, other):
        env.reset()
    first = one.rollout(30, policy="random", seed=4)
    np.testing.assert_array_equal(first[1], other.rollout(first[5])[1])
    assert len(np.unique(first[5])) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_attributes_and_methods(kind):
    ours = begun(make_python(lambda: Anything(ARRAYS["box"]), 3, workers=kind), seed=5)
    assert ours.backend == ("asyncio" if kind == "coroutines" else kind)
    assert batchenv.make("CartPole-v1").backend == "C"
    assert ours.call("double", 4, plus=1) == (9, 9, 9)
    assert ours.get_attr("weight") == (1.0, 1.0, 1.0)
    ours.set_attr("weight", [0.0, 1.0, 2.0])
    assert ours.get_attr("weight") == (0.0, 1.0, 2.0)
    assert ours.step(np.zeros(3, int))[1][0] == 0
    ours.set_attr("weight", 5.0)
    assert ours.get_attr("weight") == (5.0,) * 3
    with pytest.raises(AttributeError, match="nonsense"):
        ours.get_attr("nonsense")
    assert ours.np_random_seed == (5, 6, 7)
    theirs = begun(SyncVectorEnv([lambda: Anything(ARRAYS["box"])] * 3), seed=5)
    assert [g.bit_generator.state["state"]["inc"] for g in ours.np_random] == [
        g.bit_generator.state["state"]["inc"] for g in theirs.np_random
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_pictures(kind):
    kwargs = {"observation_space": ARRAYS["box"]}
    ours = begun(make_python(Anything, 2, workers=kind, env_kwargs=kwargs, render_mode="rgb_array"), seed=1)
    ours.step(np.zeros(2, int))
    assert ours.render_mode == "rgb_array" and ours.metadata["render_fps"] == 7
    assert [picture.max() for picture in ours.render()] == [1, 1]


# ---- when something goes wrong -----------------------------------------------------------------------------------


@pytest.mark.cases(1, per="kind")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("action", "kind_of_problem", "words"),
    [
        (1, ZeroDivisionError, "lane 2: ZeroDivisionError: a bug in the env"),
        (2, ValueError, r"step\(\)'s observation is of shape \(3,\) and dtype float32, but .* says \(2,\)"),
        (3, TypeError, r"step\(\) returned a tuple of 4"),
        (4, TypeError, "info is of type str"),
        (5, TypeError, r"step\(\)'s reward is 'a lot', of type str, but must be a number: correct the env"),
    ],
)
def test_a_lane_that_fails_is_named_and_the_others_go_on(kind, action, kind_of_problem, words):
    env = begun(make_python(Troubled, 4, workers=kind, num_workers=2), seed=1)
    with pytest.raises(batchenv.LaneError, match=words) as raised:
        env.step(np.array([0, 0, action, 0]))
    error = raised.value
    np.testing.assert_array_equal(error.env_id, [2])
    assert type(error.causes[2]) is kind_of_problem and error.__cause__ is error.causes[2]
    observations, rewards, terminations, truncations, _ = error.result
    np.testing.assert_array_equal(observations, [[1, 1], [1, 1], [0, 0], [1, 1]])
    np.testing.assert_array_equal(rewards, [1, 1, 0, 1])
    np.testing.assert_array_equal(truncations, [False, False, True, False])
    assert not terminations.any()
    observations, *_ = env.step(np.zeros(4, int))  # the lane starts again
    np.testing.assert_array_equal(observations[2], [0, 0])
    assert env.get_attr("resets") == (1, 1, 2, 1)


class Fragile(Troubled):
    """Cannot be used any more after action 1, and cannot even be closed."""

    made = 0

    def __init__(self):
        type(self).made += 1
        self.number, self.broken = type(self).made, False

    def reset(self, **keywords):
        if self.broken:
            raise RuntimeError("the simulator is gone")
        return super().reset(**keywords)

    def step(self, action):
        self.broken = action == 1
        return super().step(action)

    def close(self):
        if self.broken:
            raise OSError("nothing to close")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
def test_an_env_that_is_unusable_after_an_exception(kind, mode, made):
    env = begun(make_python(Fragile, 3, workers=kind, num_workers=2, autoreset_mode=mode, on_failure="restart"), seed=1)
    before = env.get_attr("number")
    for _ in range(2):
        with pytest.raises(batchenv.LaneError, match="lane 1: ZeroDivisionError"):
            env.step(np.array([0, 1, 0]))
        if mode != AutoresetMode.SAME_STEP:
            assert env.get_attr("number") == before  # the new env is not made before it is needed
        if mode == AutoresetMode.DISABLED:
            env.reset(options={"reset_mask": np.array([False, True, False])})
        observations, *_ = env.step(np.zeros(3, int))
        after = env.get_attr("number")
        assert after[1] > before[1] and after[::2] == before[::2]
        assert env.get_attr("resets") == (1, 1, 1)
        np.testing.assert_array_equal(observations[:, 0], [1, mode != AutoresetMode.NEXT_STEP, 1])
        env.step(np.zeros(3, int))
        before = after
    env.close()
    env = begun(make_python(Fragile, 2, workers=kind, num_workers=2, autoreset_mode=mode), seed=1)
    with pytest.raises(batchenv.LaneError, match=r"ZeroDivisionError|the simulator is gone"):
        env.step(np.array([0, 1]))
    with pytest.raises(batchenv.LaneError, match="the simulator is gone"):
        env.reset(seed=1)
    made.clear()  # it cannot be closed


def test_an_env_that_cannot_be_made_anew():
    """What its maker raises is the lane's failure, as often as it does."""
    made = []

    def make():
        made.append(len(made))
        if len(made) in (3, 4):
            raise OSError(f"no licence {len(made)}")
        return Fragile()

    env = begun(make_python(make, 2, on_failure="restart"), seed=1)
    with pytest.raises(batchenv.LaneError, match="ZeroDivisionError"):
        env.step(np.array([0, 1]))
    for count in (3, 4):
        with pytest.raises(batchenv.LaneError, match=f"lane 1: OSError: no licence {count}"):
            env.step(np.array([0, 1]))
    env.step(np.array([0, 1]))
    np.testing.assert_array_equal(env.step(np.zeros(2, int))[1], [1, 1])
    with pytest.raises(ValueError, match="on_failure='retry' must be 'raise' or 'restart'"):
        make_python(make, 2, on_failure="retry")


@pytest.mark.parametrize("kind", ["processes", "asyncio", "coroutines"])
def test_an_env_whose_making_anew_hangs(tmp_path, kind):
    """It takes part in a step, so step_timeout ends it: that is the lane's failure, and the other lane goes on."""
    file = tmp_path / "file"

    async def make_coroutines():
        if file.exists():
            await asyncio.sleep(3600)
        return Awaited(Fragile())

    def make():
        while file.exists():
            time.sleep(0.05)
        return Fragile()

    if kind == "coroutines":
        make, kind = make_coroutines, "asyncio"
    options = {"num_workers": 2} if kind == "processes" else {}
    env = begun(batchenv.make_python(make, 2, workers=kind, on_failure="restart", step_timeout=1.0, **options), seed=1)
    with pytest.raises(batchenv.LaneError, match="ZeroDivisionError"):
        env.step(np.array([0, 1]))
    file.touch()
    with pytest.raises(batchenv.LaneError, match=r"lane 1: .* it took longer than step_timeout=1\.0 s") as raised:
        env.step(np.zeros(2, int))
    np.testing.assert_array_equal(raised.value.result[1], [1, 0])
    file.unlink()
    if make is make_coroutines:
        env.step(np.zeros(2, int))
        np.testing.assert_array_equal(env.step(np.zeros(2, int))[1], [1, 1])


@pytest.mark.cases(1, per="kind")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["mission", "text beside an array", "text"])
def test_the_final_observation_of_a_lane_that_fails(kind, name):
    """It has the form that the env's space says, with nothing in it."""

    def make():
        return Raising(Anything(SPACES[name]), 2, ZeroDivisionError)

    env = begun(make_python(make, 2, workers=kind, autoreset_mode="SameStep"), seed=1)
    with pytest.raises(batchenv.LaneError) as raised:
        env.step(np.array([0, 2]))
    nothing = {"image": np.zeros((3, 3), np.uint8), "mission": "", "way": np.int64(0)}
    expected = {key: nothing[key] for key in SPACES[name].spaces} if name != "text" else ""
    assert_same(raised.value.result[4]["final_obs"][1], expected, name)


@pytest.mark.parametrize("kind", KINDS)
def test_a_reset_that_fails(kind):
    env = make_python(Troubled, 2, workers=kind)
    with pytest.raises(batchenv.LaneError, match="KeyError: 'no such start'"):
        env.reset(seed=1, options={"fail": True})
    env.reset(seed=1)
    env.step(np.zeros(2, int))


def test_wrong_arguments():
    with pytest.raises(TypeError, match="make_env=7 must be a callable"):
        make_python(7)
    with pytest.raises(ValueError, match="a list of 2 callables, but num_envs=3"):
        make_python([Troubled, Troubled], 3)
    with pytest.raises(ValueError, match="workers='magic' must be"):
        make_python(Troubled, workers="magic")
    with pytest.raises(TypeError, match="gravity"):
        make_python(Troubled, gravity=3)
    with pytest.raises(ValueError, match="the observation_space of lane 1 is"):
        make_python([Troubled, lambda: Anything(ARRAYS["box"], Troubled.action_space)])
    with pytest.raises(NotImplementedError, match="snapshot"):
        begun(make_python(Troubled)).snapshot()


@pytest.mark.parametrize("kind", ["serial", "coroutines"])
def test_actions_are_checked_before_any_lane_moves(kind):
    env = begun(make_python(Troubled, 2, workers=kind), seed=1)
    with pytest.raises(ValueError, match="lane 1"):
        env.step(np.array([0, 8]))
    with pytest.raises(ValueError, match="out"):
        env.step(np.array([0, 7]), out=(np.zeros(1), None, None, None))
    assert env.get_attr("taken") == (None, None)


@pytest.mark.parametrize("space", [ARRAYS["many bounds"], spaces.MultiDiscrete([3] * 40)], ids=["box", "choices"])
def test_actions_of_many_values_are_checked_before_any_lane_moves(space):
    env = begun(make_python(lambda: Anything(ARRAYS["box"], space), 2), seed=1)
    actions = env.action_space.sample()
    actions[1, -1] = 50
    with pytest.raises(ValueError, match=r"action 50 of lane 1 \(component 39\).*no lane has been stepped"):
        env.step(actions)
    assert env.get_attr("taken") == (None, None)


@pytest.mark.parametrize("kind", ["serial", "threads", "asyncio", "coroutines"])
def test_envs_are_closed(kind):
    closed = []

    class Closing(Troubled):
        def close(self):
            closed.append(self)

    env = make_python(Closing, 3, workers=kind)
    env.close()
    env.close()
    assert len(closed) == 3


def test_threads_wait_together():
    """Envs that wait for one another can only go on if each has a thread."""
    import threading

    barrier = threading.Barrier(3, timeout=60)

    class Meeting(Troubled):
        def step(self, action):
            barrier.wait()
            return super().step(action)

    env = begun(make_python(Meeting, 3, workers="threads", num_workers=3), seed=1)
    env.step(np.zeros(3, int))


@pytest.mark.parametrize(
    ("kind", "on_failure"), [("serial", "raise"), ("serial", "restart"), ("asyncio", "raise"), ("coroutines", "raise")]
)
def test_ctrl_c_in_a_step(kind, on_failure):
    """As for any call that is interrupted: lanes have to be reset before they go on."""

    def make():
        return Raising(Troubled(), 6, KeyboardInterrupt)

    env = begun(make_python(make, 3, workers=kind, on_failure=on_failure), seed=1)
    with pytest.raises(KeyboardInterrupt):
        env.step(np.array([0, 6, 0]))
    assert env.get_attr("resets") == (1, 1, 1)
    with pytest.raises(gymnasium.error.ResetNeeded, match="interrupted"):
        env.step(np.zeros(3, int))
    env.reset(seed=1)
    assert env.get_attr("resets") == ((2, 2, 2) if on_failure == "raise" else (2, 1, 2))  # one env is a new one
    np.testing.assert_array_equal(env.step(np.zeros(3, int))[1], [1, 1, 1])


class Fleeting(Mapping):
    """Actions that are made when they are asked for, and kept by nobody."""

    def __getitem__(self, key):
        return np.full((2, 50_000), 0.25, np.float32) if key == "a" else np.ones(2, np.int64)

    def __iter__(self):
        return iter("ab")

    def __len__(self):
        return 2


class Echo(gymnasium.Env):
    """Observes parts of its action."""

    observation_space = spaces.Box(-1, 1, (3,), np.float32)
    action_space = spaces.Dict(a=spaces.Box(-1, 1, (50_000,), np.float32), b=spaces.Discrete(3))

    def reset(self, *, seed=None, options=None):
        return np.zeros(3, np.float32), {}

    def step(self, action):
        return np.float32([action["a"][0], action["a"][-1], action["b"]]), 0.0, False, False, {}


@pytest.mark.parametrize("workers", ["serial", "processes"])
def test_actions_that_nobody_keeps(workers):
    with contextlib.closing(batchenv.make_python(Echo, 2, workers=workers)) as env:
        env.reset()
        out = (np.empty((2, 3), np.float32), np.empty(2), np.empty(2, bool), np.empty(2, bool))
        for _ in range(50):
            np.testing.assert_array_equal(env.step(Fleeting())[0], [[0.25, 0.25, 1]] * 2)
            np.testing.assert_array_equal(env.step(Fleeting(), out=out)[0], [[0.25, 0.25, 1]] * 2)


class Told(gymnasium.Env):
    """Notes the options of its last reset, and the order of the keys of its last action."""

    observation_space = spaces.Discrete(9)

    def __init__(self, action_space=None):
        self.action_space = action_space or spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.options = options
        return 0, {}

    def step(self, action):
        self.order = keys_of(action)
        return 1, 0.0, False, False, {}


def keys_of(value):
    if isinstance(value, dict):
        return [(key, keys_of(part)) for key, part in value.items()]
    return [keys_of(part) for part in value] if isinstance(value, tuple) else None


@pytest.mark.parametrize("kind", KINDS)
def test_options_are_those_that_gymnasium_passes(kind):
    ours, theirs = pair(Told, kind, AutoresetMode.DISABLED, 3)
    some = np.array([True, False, True])
    for options in (None, {}, {"a": 1}, {"reset_mask": some}, {"reset_mask": some, "b": 2}):
        for env in (ours, theirs):
            env.reset(options=options and dict(options))
        assert ours.get_attr("options") == theirs.get_attr("options"), options
    ours.reset([1])
    assert ours.get_attr("options") == ({"b": 2}, None, {"b": 2})
    ours.reset([0, 1], options={"c": 3})
    assert ours.get_attr("options")[:2] == ({"c": 3}, {"c": 3})
    ours.async_reset()
    ours.recv()
    assert ours.get_attr("options") == (None, None, None)


BOX = spaces.Box(0, 1, (1,))
UNSORTED = spaces.Dict([("z", BOX), ("a", spaces.Dict([("y", BOX), ("b", BOX)]))])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("space", [UNSORTED, spaces.Tuple([UNSORTED, BOX]), spaces.Dict(z=BOX, a=spaces.Text(3))])
def test_keys_of_actions_come_in_the_order_of_gymnasium(kind, space):
    ours, theirs = pair(lambda: Told(space), kind, lanes=2)
    for env in (ours, theirs):
        env.reset(seed=0)
        env.step(env.action_space.sample())
    assert ours.get_attr("order") == theirs.get_attr("order")
