"""Environments that wait, in an event loop: who goes on first, and what happens when one hangs or is interrupted."""

import asyncio
import contextlib
import gc
import os
import select
import sys
import threading
import time
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import batchenv
from batchenv.workers.asyncio import event_loop
from helpers.begun import begun
from helpers.processes import first_on_path, run_python
from helpers.project import ROOT
from helpers.python_envs import Awaited, Plain, Troubled


class Gate(gymnasium.Env):
    """A step waits until the test lets this lane go. Action 1 waits for ever, 2 also refuses to be cancelled."""

    observation_space, action_space = spaces.Box(-np.inf, np.inf, (2,), np.float64), spaces.Discrete(4)
    made = []

    def __init__(self):
        self.number, self.open = len(Gate.made), threading.Event()
        self.seen, self.closed = [], False
        Gate.made.append(self)

    async def _pass(self):
        while not self.open.is_set():
            await asyncio.sleep(0.001)

    async def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        self.seen.append("reset")
        await self._pass()
        return np.array([self.number, 0.0]), {}

    async def step(self, action):
        self.count += 1
        self.seen.append("step")
        while action in (1, 2):
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                if action == 1:
                    raise
        await self._pass()
        return np.array([self.number, self.count]), float(action), False, False, {"count": self.count}

    async def close(self):
        await asyncio.sleep(0)
        self.closed = True


@pytest.fixture
def waiting():
    """Makes envs of Gate, and closes them in the end. Their doors are open, unless `shut` says which are not."""
    Gate.made.clear()
    envs = []

    def make(num_envs, shut=(), make_env=Gate, **options):
        envs.append(batchenv.make_python(make_env, num_envs, workers="asyncio", **options))
        for gate in Gate.made:
            if gate.number not in shut:
                gate.open.set()
        return envs[-1]

    yield make
    for env in envs:
        env.close()


def run(program):
    return run_python(program, PYTHONPATH=first_on_path(Path(__file__).parent, ROOT / "tests"))


def loop_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("batchenv")]


def test_lanes_come_back_as_they_get_ready(waiting):
    env = waiting(4, shut=[0, 2], batch_size=2)
    env.async_reset(seed=1)
    observations, rewards, *_, infos = env.recv()  # the resets of the others have not come back
    assert sorted(infos["env_id"]) == [1, 3] and rewards.tolist() == [0, 0]
    np.testing.assert_array_equal(observations[:, 0], infos["env_id"])
    env.send(np.array([3, 3]), [1, 3])
    observations, rewards, *_, infos = env.recv()
    assert sorted(infos["env_id"]) == [1, 3] and rewards.tolist() == [3, 3]
    assert infos["count"].tolist() == [1, 1] and infos["_count"].all()
    env.send(np.array([0]), [3])
    with pytest.raises(RuntimeError, match=r"env_id\[0\]=3 is in flight"):
        env.send(np.array([0]), [3])
    with pytest.raises(RuntimeError, match=r"step\(\) while 3 lanes are in flight \(env_id 0, 2, 3\)"):
        env.step(np.zeros(4, int))
    Gate.made[2].open.set()
    observations, rewards, *_, infos = env.recv()  # a step, and a reset
    rows = {lane: row for row, lane in enumerate(infos["env_id"].tolist())}
    assert sorted(rows) == [2, 3] and infos["_count"][rows[3]] and not infos["_count"][rows[2]]
    np.testing.assert_array_equal(observations[[rows[2], rows[3]], 1], [0, 2])
    with pytest.raises(RuntimeError, match="recv\\(\\) with 1 in flight"):
        env.recv()
    env.send(np.array([1]), [1])
    with pytest.raises(TimeoutError, match="nothing is lost"):
        env.recv(timeout=0.05)
    Gate.made[0].open.set()
    env.send(np.array([0]), [2])
    assert sorted(env.recv()[4]["env_id"]) == [0, 2]


def test_lanes_that_were_received_last_are_sent_again(waiting):
    env = waiting(3, batch_size=1)
    env.async_reset()
    (lane,) = env.recv()[4]["env_id"]
    Gate.made[lane].seen.clear()
    env.send(np.zeros(1, int))
    while env.recv()[4]["env_id"] != [lane]:
        pass
    assert Gate.made[lane].seen == ["step"]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_step_that_hangs(waiting, mode):
    env = begun(waiting(3, step_timeout=0.2, autoreset_mode=mode), seed=1)
    with pytest.raises(batchenv.LaneError, match=r"lane 1: TimeoutError: .* than step_timeout=0.2 s") as raised:
        env.step(np.array([0, 1, 3]))
    error = raised.value
    assert error.env_id.tolist() == [1] and type(error.causes[1]) is TimeoutError
    assert error.result[1].tolist() == [0, 0, 3] and error.result[3].tolist() == [False, True, False]
    observations, rewards, *_ = env.step(np.array([3, 3, 3]))
    later = mode == "SameStep"  # the episode has begun in the step that failed
    np.testing.assert_array_equal(observations, [[0, 2], [1, int(later)], [2, 2]])
    assert rewards.tolist() == [3, 3 * later, 3]
    assert Gate.made[1].seen == ["reset", "step", "reset"] + ["step"] * later


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_step_that_hangs_and_cannot_be_cancelled(waiting, mode, monkeypatch):
    """Its lane fails again and again; the others go on."""
    monkeypatch.setattr("batchenv.workers.asyncio.event_loop._CLOSING", 0.5)
    env = begun(waiting(2, step_timeout=0.1, autoreset_mode=mode), seed=1)
    for count in (1, 2, 3):
        with pytest.raises(batchenv.LaneError, match=r"step_timeout=0.1 s") as raised:
            env.step(np.array([0, 2]))
        assert raised.value.env_id.tolist() == [1]
        assert raised.value.result[0][0].tolist() == [0, count]
    env.close()


def test_a_plain_step_that_hangs(waiting):
    release = threading.Event()

    class Stuck(Troubled):
        def step(self, action):
            if action == 7:
                release.wait(60)
            return super().step(action)

    env = begun(waiting(2, make_env=Stuck, step_timeout=0.2), seed=1)
    with pytest.raises(batchenv.LaneError, match=r"step_timeout=0.2 s") as raised:
        env.step(np.array([0, 7]))
    assert raised.value.env_id.tolist() == [1]
    release.set()
    assert env.step(np.zeros(2, int))[1].tolist() == [1, 0]  # the other one starts again
    assert env.step(np.zeros(2, int))[1].tolist() == [1, 1]


def test_ctrl_c_while_lanes_are_waited_for():
    program = """
import _thread, threading, time, numpy as np, batchenv, gymnasium
from test_waiting import Gate
env = batchenv.make_python(Gate, 2, workers="asyncio", batch_size=1)
for gate in Gate.made: gate.open.set()
env.reset(seed=1)
def interrupted(call):
    threading.Timer(0.3, _thread.interrupt_main).start()
    try: call()
    except KeyboardInterrupt: return True
env.send(np.array([1]), [0])
assert interrupted(env.recv)
env.send(np.array([3]), [1])
assert env.recv()[4]["env_id"] == [1]                       # nothing was lost
env.close()
env = batchenv.make_python(Gate, 2, workers="asyncio")
for gate in Gate.made: gate.open.set()
env.reset(seed=1)
assert interrupted(lambda: env.step(np.array([0, 1])))
try: env.step(np.zeros(2, int))
except gymnasium.error.ResetNeeded as error: assert "interrupted" in str(error)
env.reset(seed=1)
assert env.step(np.zeros(2, int))[0][:, 1].tolist() == [1, 1]
print("well")
"""
    assert run(program) == "well\n"


@pytest.mark.parametrize("call", ["send", "async_reset"])
def test_a_reset_after_an_interrupted_send(call, monkeypatch):
    """It does not wait for lanes that have never been sent off, and takes no results of those that have."""
    with contextlib.closing(batchenv.make_python(lambda: Awaited(Plain()), 3, workers="asyncio", batch_size=3)) as env:
        env.reset(seed=1)
        start = event_loop.EventLoop.start

        def half(loop, orders):
            start(loop, list(orders)[:1])
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(event_loop.EventLoop, "start", half)
            with pytest.raises(KeyboardInterrupt):
                env.send(np.zeros(3, int), [0, 1, 2]) if call == "send" else env.async_reset()
        assert env.reset(seed=1)[0].tolist() == [[0, 0]] * 3
        env.send(np.zeros(3, int), [0, 1, 2])
        assert env.recv(60)[0].tolist() == [[1, 1]] * 3


def test_closing_cancels_what_is_in_flight(waiting):
    env = waiting(3, shut=[2], batch_size=1)
    before = len(loop_threads())
    env.async_reset()
    env.recv()
    env.recv()
    env.send(np.array([1]), [0])
    env.close()
    assert [gate.closed for gate in Gate.made] == [True] * 3
    assert before == 1 and not loop_threads()


def test_an_env_that_is_not_closed_ends_its_thread(waiting, made):
    env = batchenv.make_python(Gate, 2, workers="asyncio")
    env.async_reset()
    gates = list(Gate.made)
    made.clear()
    del env
    gc.collect()
    assert [gate.closed for gate in gates] == [True, True] and not loop_threads()


def test_the_end_of_the_program_closes_envs():
    program = """
import numpy as np, batchenv
from test_waiting import Gate
class Loud(Gate):
    async def close(self): print("closed", flush=True)
env = batchenv.make_python(Loud, 2, workers="asyncio")
env.async_reset()
"""
    assert run(program) == "closed\nclosed\n"


def test_each_lane_is_one_task(waiting):
    """Much of asyncio, such as timeouts and groups of tasks, has to be left in the task in which it was entered."""
    tasks = []

    class Telling(Gate):
        async def reset(self, **keywords):
            tasks.append(asyncio.current_task())
            return await super().reset(**keywords)

        async def step(self, action):
            tasks.append(asyncio.current_task())
            return await super().step(action)

        async def close(self):
            tasks.append(asyncio.current_task())

    env = begun(waiting(1, make_env=Telling))
    env.step(np.zeros(1, int))
    env.close()
    assert len(tasks) == 3 and len(set(tasks)) == 1


def test_envs_are_made_in_the_loop(waiting):
    loops = []

    async def make():
        await asyncio.sleep(0)
        loops.append(asyncio.get_running_loop())
        return Gate()

    waiting(3, make_env=make)
    assert len(loops) == 3 and len(set(loops)) == 1

    async def fail():
        raise OSError("no such server")

    with pytest.raises(OSError, match="no such server"):
        waiting(3, make_env=[Gate, fail, Gate])
    assert [gate.closed for gate in Gate.made[3:]] == [True, True]


def test_plain_envs_have_a_thread_each(waiting):
    barrier = threading.Barrier(40, timeout=60)
    threads = {}

    class Meeting(Troubled):
        def step(self, action):
            barrier.wait()
            threads.setdefault(self, set()).add(threading.current_thread())
            return super().step(action)

    env = begun(waiting(40, make_env=Meeting), seed=1)
    for _ in range(3):
        env.step(np.zeros(40, int))
    assert len(threads) == 40 and all(len(own) == 1 for own in threads.values())


def test_more_plain_envs_than_threads(waiting, monkeypatch):
    monkeypatch.setattr("batchenv.workers.asyncio.event_loop.MAX_THREADS", 2)
    env = begun(waiting(5, make_env=Troubled), seed=1)
    assert len(loop_threads()) == 3
    assert env.step(np.zeros(5, int))[1].tolist() == [1] * 5


def test_a_wrapper_that_hides_coroutines(waiting):
    class Passing(gymnasium.Wrapper):
        def reset(self, **keywords):
            return self.env.reset(**keywords)

        def step(self, action):
            return self.env.step(action)

    class Bare:  # nothing shows what its methods are
        observation_space, action_space = Gate.observation_space, Gate.action_space

        def __init__(self):
            self._env = Gate()

        def step(self, action):
            return self._env.step(action)

        def reset(self, **keywords):
            return self._env.reset(**keywords)

        def close(self):
            return self._env.close()

    for make_env in (lambda: Passing(Gate()), Bare):
        env = begun(waiting(2, make_env=make_env))
        assert env.step(np.array([0, 3]))[1].tolist() == [0, 3]


def test_a_descriptor_and_a_loop_of_the_users_own(waiting):
    env = waiting(3, shut=[1, 2], batch_size=2)
    env.async_reset()
    descriptor = env.fileno()
    time.sleep(0.05)
    assert not select.select([descriptor], [], [], 0)[0]
    Gate.made[1].open.set()
    assert select.select([descriptor], [], [], 30)[0]
    assert sorted(env.recv()[4]["env_id"]) == [0, 1]
    assert not select.select([descriptor], [], [], 0)[0]

    async def receive():
        task = asyncio.ensure_future(env.arecv())
        await asyncio.sleep(0.05)
        assert not task.done()
        Gate.made[2].open.set()
        return await task

    env.send(np.array([0]), [0])
    assert sorted(asyncio.run(receive())[4]["env_id"]) == [0, 2]


def test_an_exception_that_ends_programs(waiting):
    class Leaving(Gate):
        async def step(self, action):
            if action == 3:
                raise SystemExit(5)
            return await super().step(action)

    env = begun(waiting(2, make_env=Leaving))
    with pytest.raises(SystemExit):
        env.step(np.array([0, 3]))
    env.reset()
    env.step(np.zeros(2, int))


def test_a_coroutine_that_is_cancelled_by_somebody_else(waiting):
    class Cancelled(Gate):
        async def step(self, action):
            if action == 3:
                raise asyncio.CancelledError
            return await super().step(action)

    env = begun(waiting(2, make_env=Cancelled))
    with pytest.raises(batchenv.LaneError, match="lane 1: RuntimeError: the env's coroutine was cancelled"):
        env.step(np.array([0, 3]))
    env.step(np.zeros(2, int))


class Canceller(gymnasium.Env):
    """Action 1 cancels all other tasks of the event loop, 2 its own, 3 stops the loop, and 4 leaves it by sys.exit() in
    another task. options={"cancel": True} cancels all others in a reset."""

    observation_space, action_space = spaces.Box(0, 99, (), np.float64), spaces.Discrete(5)

    async def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        if options:
            cancel_others()
        return np.float64(0), {}

    async def step(self, action):
        self.count += 1
        if action == 1:
            cancel_others()
        elif action == 2:
            asyncio.current_task().cancel()
        elif action == 3:
            asyncio.get_running_loop().stop()
        elif action == 4:
            asyncio.get_running_loop().call_soon(sys.exit, 3)
        return np.float64(self.count), 0.0, False, False, {}


def cancel_others():
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


@pytest.mark.parametrize("deed", range(1, 5))
@pytest.mark.parametrize("lane", range(3))
def test_an_env_that_disturbs_the_event_loop(waiting, deed, lane, caplog):
    env = begun(waiting(3, make_env=Canceller), seed=1)
    env.step(np.zeros(3, int))
    actions = np.zeros(3, int)
    actions[lane] = deed
    expected = np.full(3, 2.0)
    try:
        observations = env.step(actions)[0]
    except batchenv.LaneError as error:  # of lanes whose call was cancelled
        assert deed == 1 and all("cancelled, but not by batchenv" in str(why) for why in error.causes.values())
        expected[error.env_id] = 0
        observations = error.result[0]
    assert observations.tolist() == expected.tolist()
    after = env.step(np.zeros(3, int))[0]
    assert after.tolist() == np.where(expected == 0, 0, 3).tolist()
    assert ("has left the event loop" in caplog.text) == (deed == 4)


def test_an_env_that_cancels_all_other_tasks_in_its_reset_and_in_its_making(waiting):
    async def made():
        cancel_others()
        return Canceller()

    env = waiting(3, make_env=made)
    for _ in range(2):
        with contextlib.suppress(batchenv.LaneError):
            env.reset(options={"cancel": True})
    assert env.reset()[0].tolist() == [0, 0, 0]
    assert env.step(np.zeros(3, int))[0].tolist() == [1, 1, 1]


def test_a_cancellation_does_not_reach_the_next_call(waiting):
    env = begun(waiting(1, make_env=Canceller, batch_size=1))
    assert env.step(np.array([2]))[0].tolist() == [1]
    assert env.call("reset") is not None
    assert [env.step(np.array([2]))[0].item() for _ in range(5)] == [1, 2, 3, 4, 5]


def test_a_fork(waiting):
    env = begun(waiting(2))
    child = os.fork()
    if child == 0:
        try:
            env.step(np.zeros(2, int))
        except RuntimeError as error:
            os._exit(7 if "event loop is the parent's" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    env.step(np.zeros(2, int))


def test_an_observation_that_is_used_again(waiting):
    """In autoreset mode SameStep the reset that follows writes over the last observation."""

    class Thrifty(gymnasium.Env):
        observation_space, action_space = spaces.Box(0, 9, (1,), np.float32), spaces.Discrete(2)

        def __init__(self):
            self.row = np.zeros(1, np.float32)

        async def reset(self, *, seed=None, options=None):
            self.row[:] = 1
            return self.row, {}

        async def step(self, action):
            self.row[:] = 5
            return self.row, 1.0, bool(action), False, {}

    env = begun(waiting(2, make_env=Thrifty, autoreset_mode="SameStep"))
    observations, *_, infos = env.step(np.array([0, 1]))
    assert observations[:, 0].tolist() == [5, 1] and infos["final_obs"][1].tolist() == [5]


@pytest.mark.parametrize("flag", ["terminated", "truncated"])
def test_resets_that_follow_the_ends_of_episodes_wait_together(waiting, flag):
    """In autoreset mode SameStep."""
    arrived = []

    class Meeting(Plain):
        async def reset(self, *, seed=None, options=None):
            arrived.append(self)
            while len(arrived) % 2:  # the other lane comes, too
                await asyncio.sleep(0.001)
            return super().reset(seed=seed)

        async def step(self, action):
            observation, reward, *_ = super().step(action)
            return observation, reward, flag == "terminated", flag == "truncated", {}

    env = begun(waiting(2, make_env=Meeting, autoreset_mode="SameStep", step_timeout=10))
    for _ in range(2):
        assert env.step(np.zeros(2, int))[4]["_final_obs"].all()
    assert len(arrived) == 6


def test_wrong_arguments():
    with pytest.raises(ValueError, match="num_workers=2 has no meaning with workers='asyncio'"):
        batchenv.make_python(Gate, 2, workers="asyncio", num_workers=2)
    for kind in ("serial", "threads"):
        env = batchenv.make_python(lambda: Awaited(Troubled()), 2, workers=kind)
        with pytest.raises(batchenv.LaneError, match=r"returned an object of type coroutine, .* workers='asyncio'"):
            env.reset()
        env._backend.envs.clear()


def test_what_has_been_done_is_not_kept(waiting):
    """A long step_timeout must not keep the observations of all steps until it is over."""
    from batchenv.workers.asyncio.event_loop import Order

    env = begun(waiting(2, step_timeout=1000))
    for _ in range(50):
        env.step(np.zeros(2, int))
    gc.collect()
    assert sum(isinstance(thing, Order) for thing in gc.get_objects()) < 20
