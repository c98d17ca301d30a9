"""Resets that fail in one lane, and requests that a worker cannot do: the other lanes' episodes go on, whatever steps
them."""

import os

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

import batchenv
from batchenv.workers.processes.worker import Worker
from helpers.parity import MODES, assert_same

LANES = 4
END = 1  # an action that ends the episode


class Counter(gymnasium.Env):
    """Shows its lane and counts its steps. options={"fail": lane} makes this lane's reset fail."""

    observation_space, action_space = spaces.Box(-99, 99, (2,), np.float64), spaces.Discrete(3)

    def __init__(self, lane):
        self.lane = lane

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        if (options or {}).get("fail") == self.lane:
            raise ValueError("on purpose")
        return self.look(), {}

    def step(self, action):
        self.count += 1
        return self.look(), float(self.count), action == END, False, {}

    def look(self):
        return np.array([self.lane, self.count], float)

    def pid(self, *arguments):
        return os.getpid()


def make(kind, make_env=Counter, **options):
    if kind != "asyncio":
        options["num_workers"] = 2
    return batchenv.make_python([lambda lane=lane: make_env(lane) for lane in range(LANES)], workers=kind, **options)


def told(call, *arguments, **keywords):
    """What a call returns or raises, in a form that can be compared."""
    try:
        return plain(call(*arguments, **keywords))
    except batchenv.LaneError as error:
        return "LaneError", str(error), error.env_id, plain(error.result)
    except ResetNeeded as error:
        return type(error).__name__, str(error)


def plain(result):
    """With infos as a plain dict."""
    return result and (*result[:-1], dict(result[-1]))


def only(*lanes):
    mask = np.zeros(LANES, bool)
    mask[list(lanes)] = True
    return mask


def calls(env):
    """Yields what each of many calls returns or raises, some of which let a lane's reset fail."""
    nothing = np.zeros(LANES, int)
    yield told(env.reset, seed=0)
    yield told(env.step, np.array([0, END, 0, 0]))
    if env.autoreset_mode is AutoresetMode.DISABLED:
        yield told(env.reset, options={"reset_mask": only(1), "fail": 1})
    yield told(env.step, nothing)
    yield told(env.step, nothing[:2], np.array([0, 2]))
    yield told(env.step, nothing[:1], np.array([1]))
    yield told(env.reset, options={"reset_mask": only(1, 3), "fail": 3})
    yield told(env.step, nothing[:3], np.array([2, 1, 0]))
    yield told(env.send, nothing, np.arange(LANES))
    if env._backend.in_flight():
        yield told(env.recv)
    yield told(env.async_reset, options={"fail": 2})
    yield told(env.recv)
    yield told(env.step, nothing)
    yield told(env.reset, [2, 3], options={"fail": 0})
    yield told(env.step, nothing)
    yield told(env.reset, options={"fail": 3})
    yield told(env.step, nothing)
    yield told(env.reset, options={})
    yield told(env.step, nothing)


@pytest.mark.cases(4)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("kind", ["threads", "processes", "asyncio"])
def test_a_failing_reset_concerns_its_lane_alone(kind, mode):
    ours, serial = make(kind, autoreset_mode=mode), make("serial", autoreset_mode=mode)
    pids = ours.call("pid")
    for number, (one, other) in enumerate(zip(calls(ours), calls(serial), strict=True)):
        assert_same(one, other, f"call {number}")
    assert ours.call("pid") == pids  # no process has ended


class Homesick:
    """Can be unpickled only where it was made."""

    def __reduce__(self):
        return unpickled, (os.getpid(),)


def unpickled(pid):
    if os.getpid() != pid:
        raise ImportError("there is no such thing here")
    return Homesick()


def pids_after(env, error, words, call, *arguments, **keywords):
    """The pids of the workers after a call that must raise this."""
    with pytest.raises(error, match=words):
        call(*arguments, **keywords)
    env.async_reset(seed=1)
    assert env.recv()[0].tolist() == [[lane, 0] for lane in range(LANES)]
    assert env.step(np.zeros(LANES, int))[0].tolist() == [[lane, 1] for lane in range(LANES)]
    return env.call("pid")


def test_no_worker_ends_of_a_message_that_it_cannot_read():
    env = make("processes")
    env.reset(seed=0)
    pids = env.call("pid")
    asked = {"options": {"what": Homesick()}}
    assert pids_after(env, ImportError, "no such thing here", env.call, "pid", Homesick()) == pids
    assert pids_after(env, ImportError, "no such thing here", env.reset, **asked) == pids
    env.async_reset(**asked)
    assert pids_after(env, ImportError, "no such thing here", env.recv) == pids


@pytest.mark.parametrize("place", ["finish", "write_numbers", "show"])
def test_no_worker_ends_of_an_exception_of_batchenv_itself(monkeypatch, place):
    class Telling(Counter):
        def step(self, action):
            return *super().step(action)[:4], {"text": "more than numbers"}

    whole, once = getattr(Worker, place), []

    def at_first(self, *arguments):
        if not once:
            once.append(True)
            raise RuntimeError("a fault of batchenv's own")
        return whole(self, *arguments)

    monkeypatch.setattr(Worker, place, at_first)
    env = make("processes", Telling, start_method="fork")  # which have this method, too
    pids, nothing = env.call("pid"), np.zeros(LANES, int)
    if place != "show":
        env.reset(seed=0)
    with pytest.raises(RuntimeError, match="batchenv's own"):
        env.reset(seed=0) if place == "show" else env.step(nothing)
    with pytest.raises(ResetNeeded, match="some lanes have done it, others have not"):
        env.step(nothing)
    env.reset(seed=0)
    assert env.step(nothing)[0].tolist() == [[lane, 1] for lane in range(LANES)]
    assert env.call("pid") == pids
