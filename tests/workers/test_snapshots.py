"""Snapshots of environments written in Python: a lane that is restored goes on bit for bit."""

import asyncio
import copy
import pickle
import signal
import time

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import batchenv
from helpers.begun import begun
from helpers.parity import MODES, assert_same
from helpers.python_envs import ARRAYS, KINDS, SPACES, Anything, Awaited, Troubled

WAYS = [(kind, how) for kind in KINDS for how in ("deepcopy", "pickle", "state")]
WAYS.remove(("processes", "deepcopy"))
LANES = 4


class Stateful(Anything):
    """Its observations alias what it changes in place; get_state() leaves the random stream to others."""

    def __init__(self, observation_space=ARRAYS["box"]):
        super().__init__(observation_space)
        self.place = np.zeros(2, np.int64)
        self.pause = 0.0

    def step(self, action):
        time.sleep(self.pause)
        self.place += action
        observation, reward, *rest = super().step(action)
        return observation, reward + float(self.place.sum()), *rest

    def get_state(self):
        return {"count": self.count, "place": self.place, "space": copy.deepcopy(self.observation_space)}

    def set_state(self, state):
        self.count, self.place, self.observation_space = state["count"], state["place"].copy(), state["space"]


def limited(observation_space=ARRAYS["box"]):
    return gymnasium.wrappers.TimeLimit(gymnasium.wrappers.OrderEnforcing(Stateful(observation_space)), 7)


class Slow(Awaited):
    """Its state takes a while, too, and it has to be given back in the task that has all of the lane's calls."""

    def __init__(self, env):
        super().__init__(env)
        self.task = None

    def _note(self):
        assert self.task in (None, asyncio.current_task())
        self.task = asyncio.current_task()

    async def step(self, action):
        self._note()
        return await super().step(action)

    async def get_state(self):
        self._note()
        await asyncio.sleep(0.001)
        return self.env.unwrapped.get_state()

    async def set_state(self, state):
        self._note()
        await asyncio.sleep(0.001)
        self.env.unwrapped.set_state(state)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "task"} | {"task": None}


def slow():
    return Slow(limited())


def make(kind, how, make_env=limited, lanes=LANES, **options):
    if kind != "asyncio":
        options.setdefault("num_workers", 2)
    return batchenv.make_python(make_env, lanes, workers=kind, snapshots=how, **options)


def play(env, steps):
    """What some steps return. In autoreset mode Disabled, lanes that have ended are reset."""
    results = []
    for step in range(steps):
        results.append(env.step(np.random.default_rng(step).integers(3, size=env.num_envs)))
        done = results[-1][2] | results[-1][3]
        if env.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.DISABLED and done.any():
            results.append(env.reset(options={"reset_mask": done}))
    return results


def timeless(value):
    """Without the seconds of episodes, which begin again when a lane is restored."""
    if isinstance(value, tuple):
        return tuple(timeless(part) for part in value)
    if isinstance(value, dict):
        return {name: timeless(part) for name, part in value.items() if name != "t"}
    return value


SLOW = [("asyncio", how, slow) for how in ("deepcopy", "pickle", "state")]


@pytest.mark.cases(5)
@pytest.mark.parametrize(("kind", "how", "make_env"), [*((*way, limited) for way in WAYS), *SLOW])
@pytest.mark.parametrize("mode", MODES)
def test_restored_lanes_go_on_bit_for_bit(kind, how, make_env, mode):
    options = {"frame_stack": 3, "record_episode_statistics": True, "max_episode_steps": 11}
    env = begun(make(kind, how, make_env, autoreset_mode=mode, **options), seed=5)
    for moment in (1, 2, 3, 5, 7):
        play(env, moment)
        saved = env.snapshot()
        assert len(saved) == LANES
        expected = play(env, 25)
        for _ in range(2):
            observations = env.restore(saved)
            assert observations.shape == env.observation_space.shape
            for step, (mine, theirs) in enumerate(zip(play(env, 25), expected, strict=True)):
                assert_same(timeless(mine), timeless(theirs), f"{kind} {how} step {step} from moment {moment}")


@pytest.mark.parametrize("how", ["pickle", "state"])
def test_lanes_go_elsewhere(how):
    """Into other lanes, many of them, of other envs with other kinds of workers; also by way of bytes."""
    one, other = begun(make("processes", how), seed=3), begun(make("serial", how, lanes=6), seed=3)
    play(one, 4)
    saved = batchenv.Snapshot(bytes(pickle.loads(pickle.dumps(one.snapshot([3, 1])))))
    expected = [result[:4] for result in play(one, 0)]
    shown = other.restore(saved, [0, 5, 2], rows=[1, 1, 0])
    np.testing.assert_array_equal(shown[0], shown[5])
    back = other.snapshot([5, 2])
    present = one.restore(back, [1, 3])
    np.testing.assert_array_equal(present[[1, 1, 3]], shown[[0, 5, 2]])
    for step in range(30):
        actions = np.random.default_rng(step).integers(3, size=4)
        expected = one.step(actions)
        mine = other.step(actions[[1, 0, 3, 0, 0, 1]])
        for a, b in zip(mine[:4], expected[:4], strict=True):
            np.testing.assert_array_equal(a[[0, 5, 2]], b[[1, 1, 3]])


@pytest.mark.parametrize("kind", ["serial", "processes", "asyncio"])
@pytest.mark.parametrize("name", ["mission", "goal", "sequence"])
def test_spaces_of_all_kinds(kind, name):
    env = begun(make(kind, "pickle", lambda: limited(SPACES[name])), seed=2)
    play(env, 3)
    saved = env.snapshot()
    expected = play(env, 12)
    env.restore(saved)
    for mine, theirs in zip(play(env, 12), expected, strict=True):
        assert_same(mine, theirs, name)


@pytest.mark.parametrize("kind", ["serial", "processes", "asyncio"])
def test_lanes_that_wait_for_their_reset(kind):
    env = begun(make(kind, "pickle", autoreset_mode="Disabled", max_episode_steps=2), seed=2)
    for _ in range(2):
        result = env.step(np.zeros(LANES, int))
        if (result[2] | result[3]).any():
            break
    done = result[2] | result[3]
    lane = int(np.flatnonzero(done)[0])
    saved = env.snapshot()
    env.reset(seed=2)
    env.restore(saved, [lane], rows=[lane])
    env.reset(options={"reset_mask": np.arange(LANES) == (lane + 1) % LANES})  # another one
    with pytest.raises(gymnasium.error.ResetNeeded, match=f"lane {lane}"):
        env.step(np.zeros(LANES, int))
    env.reset(options={"reset_mask": np.arange(LANES) == lane})
    env.step(np.zeros(LANES, int))


def test_a_process_that_has_died():
    env = begun(make("processes", "pickle", lambda: Mortal()), seed=1)
    play(env, 2)
    saved = env.snapshot()
    expected = [result[0] for result in play(env, 3)]
    with pytest.raises(batchenv.LaneError, match="status 3"):
        env.step(np.array([0, 0, 0, 7]))
    with pytest.raises(gymnasium.error.ResetNeeded, match="the process of lane 2 has died"):
        env.snapshot()
    env.restore(saved, [3], rows=[3])
    env.step(np.zeros(LANES, int))
    env.restore(saved)
    for mine, theirs in zip(play(env, 3), expected, strict=True):
        np.testing.assert_array_equal(mine[0], theirs)


class Mortal(gymnasium.Env):
    observation_space, action_space = spaces.Box(-9, 9, (1,), np.float64), spaces.Discrete(8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.random(1), {}

    def step(self, action):
        if action == 7:
            import os

            os._exit(3)
        return self.np_random.random(1), 0.0, False, False, {}


def test_refusals():
    for kind in KINDS:
        env = begun(make(kind, None), seed=1)
        for call in (env.snapshot, lambda env=env: env.restore(batchenv.Snapshot(b"x"))):
            with pytest.raises(NotImplementedError, match=r"make_python\(..., snapshots='pickle'\)"):
                call()
        env.close()
    with pytest.raises(ValueError, match="snapshots='all' must be None or one of 'deepcopy', 'pickle', 'state'"):
        make("serial", "all")
    with pytest.raises(ValueError, match="take 'pickle'"):
        make("processes", "deepcopy")
    for kind in ("serial", "processes", "asyncio"):
        with pytest.raises(TypeError, match=r"has no get_state: take snapshots='pickle'"):
            make(kind, "state", Troubled)
    env, other = make("serial", "pickle"), make("serial", "deepcopy")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.snapshot()
    env.reset(seed=1), other.reset(seed=1)
    saved = bytes(env.snapshot())
    with pytest.raises(ValueError, match="was taken with snapshots='pickle', but this env has snapshots='deepcopy'"):
        other.restore(saved)
    with pytest.raises(TypeError, match="take snapshots='pickle'"):
        bytes(other.snapshot())
    for damaged in (saved[:-1], saved[:50] + b"!" + saved[51:], b"", saved[:20]):
        with pytest.raises(ValueError, match=r"damaged|not a snapshot"):
            env.restore(damaged)
    with pytest.raises(ValueError, match="its spaces are others"):
        make("serial", "pickle", lambda: limited(ARRAYS["double"])).restore(saved)
    native = begun(batchenv.make("CartPole-v1", LANES), seed=1)
    with pytest.raises(ValueError, match="not a snapshot for this environment"):
        native.restore(saved)
    with pytest.raises(ValueError, match="it is not one of environments written in Python"):
        env.restore(native.snapshot())
    with pytest.raises(TypeError, match="holds copies"):
        native.restore(other.snapshot())


class Locked(Anything):
    """Cannot be pickled, nor always be put into a state."""

    def __init__(self):
        super().__init__(ARRAYS["box"])
        self.lock = (k for k in range(3))

    def get_state(self):
        return self.count

    def set_state(self, state):
        if state == 2:
            raise OSError("no such state")
        self.count = state


@pytest.mark.parametrize("kind", ["serial", "processes", "asyncio"])
def test_envs_that_cannot_be_kept_or_restored(kind):
    env = begun(make(kind, "pickle", Locked), seed=1)
    with pytest.raises(TypeError, match="generator") as raised:
        env.snapshot()
    assert "take snapshots='state'" in raised.value.__notes__[0]
    play(env, 2)
    env.close()
    env = begun(make(kind, "state", Locked), seed=1)
    play(env, 2)
    saved = env.snapshot()
    with pytest.raises(OSError, match="no such state"):
        env.restore(saved)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(LANES, int))
    env.reset(seed=1)
    play(env, 1)


class Asks(Stateful):
    """Plain, but for this."""

    async def get_state(self):
        return super().get_state()


class Waits(Stateful):
    async def set_state(self, state):
        super().set_state(state)


@pytest.mark.parametrize("kind", ["serial", "threads", "processes"])
def test_states_that_nobody_awaits(kind):
    """What a coroutine is to set has not been set."""
    for make_env, call in ((Waits, lambda env: env.restore(env.snapshot())), (Asks, lambda env: env.snapshot())):
        env = begun(make(kind, "state", make_env), seed=1)
        with pytest.raises(TypeError, match=r"et_state\(\) is a coroutine, which nobody awaits here"):
            call(env)
        env.close()


@pytest.mark.parametrize("make_env", [Asks, Waits])
def test_plain_envs_whose_states_are_coroutines(make_env):
    env = begun(make("asyncio", "state", make_env), seed=3)
    play(env, 3)
    saved = env.snapshot()
    expected = play(env, 5)
    env.restore(saved)
    assert_same(tuple(play(env, 5)), tuple(expected), make_env.__name__)


@pytest.mark.parametrize("kind", KINDS)
def test_some_lanes_after_an_interrupted_call(kind):
    """The others cannot go on from where they are, and are not reset behind the user's back."""
    env = make(kind, "pickle", num_workers=1) if kind == "processes" else make(kind, "pickle")
    env.reset(seed=1)
    saved = env.snapshot()
    expected = play(env, 2)
    interrupt(env)
    with pytest.raises(gymnasium.error.ResetNeeded, match="interrupted"):
        env.restore(saved, [1], rows=[1])
    env.restore(saved)
    assert_same(tuple(play(env, 2)), tuple(expected), kind)


def interrupt(env):
    """Ctrl-C in a step of this env."""

    def raised(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, raised)
    env.set_attr("pause", 0.5)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    with pytest.raises(KeyboardInterrupt):
        env.step(np.zeros(LANES, int))
    signal.signal(signal.SIGALRM, before)


def test_lanes_in_flight_of_an_event_loop():
    """Others can be saved and restored meanwhile."""
    env = make("asyncio", "state", slow, batch_size=2)
    env.async_reset(seed=4)
    lanes = env.recv()[4]["env_id"].tolist()
    others = sorted({*range(LANES)} - {*lanes})
    for refused in (None, others):
        with pytest.raises(RuntimeError, match=r"snapshot\(\) while 2 lanes are in flight"):
            env.snapshot(refused)
    saved = env.snapshot(lanes)
    env.send(np.zeros(2, int), lanes)
    with pytest.raises(RuntimeError, match=r"restore\(\) while 4 lanes are in flight"):
        env.restore(saved, lanes)
    env.recv(), env.recv()
    env.restore(saved, others)
    env.step(np.zeros(LANES, int))


def test_an_env_of_another_sort():
    """One with coroutines lives in the event loop, and a plain one in a thread."""
    env = begun(make("asyncio", "pickle", [limited, slow], lanes=2), seed=1)
    saved = env.snapshot()
    with pytest.raises(ValueError, match="lane 1 cannot go on with an env of TimeLimit, which is plain"):
        env.restore(saved, [1], rows=[0])
    with pytest.raises(ValueError, match="lane 0 cannot go on with an env of Slow, which is with coroutines"):
        env.restore(saved, rows=[1, 0])
    expected = play(env, 4)
    env.restore(saved)
    assert_same(tuple(play(env, 4)), tuple(expected), "the same again")
