"""Environments in processes of their own: what crosses between them, and what happens when one of them dies."""

import asyncio
import contextlib
import gc
import os
import select
import signal
import subprocess
import sys
import threading
import time

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import batchenv
from batchenv.workers.processes import pool
from helpers.begun import begun
from helpers.descent import descendants, ended
from helpers.parity import assert_same
from helpers.python_envs import ARRAYS, Anything, Plain


class Deadly(Plain):
    """Does what `action` says: 0 nothing, 1 ends its process, 2 never returns, 3 takes a while."""

    observation_space, action_space = spaces.Box(-np.inf, np.inf, (2,), np.float32), spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.float32([0, os.getpid()]), {}

    def step(self, action):
        if action == 1:
            os._exit(3)
        while action == 2:
            time.sleep(0.01)
        if action == 3:
            time.sleep(1.5)
        _, *rest = super().step(action)
        return np.float32([self.count, os.getpid()]), *rest

    def wait(self, seconds):
        time.sleep(seconds)
        return self.count


def processes(num_envs, num_workers=2, make_env=Deadly, **options):
    return batchenv.make_python(make_env, num_envs, workers="processes", num_workers=num_workers, **options)


pytestmark = pytest.mark.cases(1)  # the other methods: with --all


@pytest.fixture(params=["forkserver", "spawn", "fork"], autouse=True)
def method(request, monkeypatch):
    """However workers are started, everything in this file holds."""
    monkeypatch.setattr(pool, "default_method", lambda: request.param)
    return request.param


def test_lanes_are_in_processes_that_say_which(method):
    env = processes(5)
    observations, _ = env.reset(seed=1)
    assert env.backend == "processes" and len(set(observations[:, 1])) == 2
    servers = ["batchenv server"] if method == "forkserver" else []
    assert sorted(descendants().values()) == ["batchenv 0-1", "batchenv 2-4", *servers]
    assert os.getpid() not in observations[:, 1]
    env.close()
    assert not descendants()


@pytest.mark.cases(1, per="mode")
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_process_that_dies(mode):
    env = begun(processes(4, autoreset_mode=mode), seed=1)
    for _ in range(3):
        env.step(np.zeros(4, int))
    with pytest.raises(batchenv.LaneError, match=r"2 of the lanes failed \(lane 2: WorkerDied: .* status 3") as raised:
        env.step(np.array([0, 0, 1, 0]))
    error = raised.value
    np.testing.assert_array_equal(error.env_id, [2, 3])
    observations, rewards, terminations, truncations, _ = error.result
    np.testing.assert_array_equal(observations[:2, 0], 4)
    np.testing.assert_array_equal(observations[2:], 0)
    np.testing.assert_array_equal(rewards, [1, 1, 0, 0])
    np.testing.assert_array_equal(truncations, [False, False, True, True])
    assert not terminations.any()
    observations, rewards, _, truncations, _ = env.step(np.zeros(4, int))  # a new process, a new episode
    np.testing.assert_array_equal(observations[:, 0], [5, 5, 0, 0])
    np.testing.assert_array_equal(rewards, [1, 1, 0, 0])
    assert not truncations.any()
    observations, *_ = env.step(np.zeros(4, int))
    np.testing.assert_array_equal(observations[:, 0], [6, 6, 1, 1])


def test_a_process_that_is_killed_between_steps():
    env = processes(2)
    observations, _ = env.reset(seed=1)
    os.kill(int(observations[1, 1]), signal.SIGKILL)
    with pytest.raises(batchenv.LaneError, match="was ended by signal 9"):
        env.step(np.zeros(2, int))
    env.step(np.zeros(2, int))
    np.testing.assert_array_equal(env.step(np.zeros(2, int))[0][:, 0], [3, 1])


@pytest.mark.cases(1, per="asynchronous")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_process_that_has_been_killed_before_a_reset(asynchronous):
    """Nothing is lost that the reset would not have ended, so there is nothing to report."""
    env = processes(4, batch_size=4)
    before, _ = env.reset(seed=1)
    victim = int(before[3, 1])
    os.kill(victim, signal.SIGKILL)
    assert ended([victim])
    while all(worker.alive() for worker in env._backend._pool._workers):  # its threads may end a little later
        time.sleep(0.01)
    if asynchronous:
        env.async_reset(seed=1)
        observations, *_ = env.recv()
    else:
        observations, _ = env.reset(seed=1)
    np.testing.assert_array_equal(observations[:, 0], 0)
    assert victim not in observations[:, 1] and len(set(observations[:, 1])) == 2
    np.testing.assert_array_equal(env.step(np.zeros(4, int))[0][:, 0], 1)


class DeadlyReset(Deadly):
    """Ends its process in a reset with options."""

    def reset(self, *, seed=None, options=None):
        if options:
            os._exit(3)
        return super().reset(seed=seed)


@pytest.mark.parametrize("masked", [False, True])
def test_a_process_that_dies_in_a_reset(masked):
    """The next step resets its lanes in the new process, as after a death in a step."""
    env = begun(processes(2, make_env=DeadlyReset), seed=1)
    env.step(np.zeros(2, int))
    options = {"fatal": True, "reset_mask": np.array([True, False])} if masked else {"fatal": True}
    with pytest.raises(batchenv.LaneError, match="status 3") as raised:
        env.reset(options=options)
    assert raised.value.env_id.tolist() == ([0] if masked else [0, 1])
    for count in range(3):
        np.testing.assert_array_equal(env.step(np.zeros(2, int))[0][:, 0], [count, count + (2 if masked else 0)])


def test_a_step_that_hangs():
    env = begun(processes(2, step_timeout=3.0), seed=1)
    with pytest.raises(batchenv.LaneError, match=r"it took longer than step_timeout=3.0 s") as raised:
        env.step(np.array([0, 2]))
    np.testing.assert_array_equal(raised.value.env_id, [1])
    env.step(np.zeros(2, int))
    env.step(np.zeros(2, int))


class Slow(Deadly):
    """Cannot be made once there is a file, which says how it fails."""

    def __init__(self, file):
        if file.exists():
            if file.read_text() == "hang":
                time.sleep(3600)
            raise OSError("no licence")


@pytest.mark.cases(1, per="how")
@pytest.mark.parametrize("how", ["hang", "raise"])
def test_an_env_that_cannot_be_made_anew(tmp_path, how):
    """It fails its lanes at each step until it can be made; the others go on."""
    file = tmp_path / "file"
    env = begun(processes(2, make_env=Slow, env_kwargs={"file": file}, step_timeout=1.0), seed=1)
    file.write_text(how)
    with pytest.raises(batchenv.LaneError, match=r"WorkerDied: its process .* has ended with status 3"):
        env.step(np.array([0, 1]))
    why = r"WorkerDied: it took longer than \d+\.\d s" if how == "hang" else "OSError: no licence"
    why = rf"lane 1: WorkerDied: its envs could not be made again \({why}"
    for step in (2, 3):
        with pytest.raises(batchenv.LaneError, match=why) as raised:
            env.step(np.zeros(2, int))
        np.testing.assert_array_equal(raised.value.result[0][:, 0], [step, 0])
        if step == 2:
            file.unlink()
    np.testing.assert_array_equal(env.step(np.zeros(2, int))[0][:, 0], [4, 0])
    np.testing.assert_array_equal(env.step(np.zeros(2, int))[0][:, 0], [5, 1])
    env.close()
    assert not descendants()


def test_another_env_in_the_place_of_a_dead_one(tmp_path):
    """It must have the same spaces: the memory is laid out for these."""

    class Other(Deadly):
        def __init__(self):
            if (tmp_path / "file").exists():
                self.observation_space = spaces.Box(-1, 1, (3,), np.float32)

    env = begun(processes(2, make_env=Other), seed=1)
    (tmp_path / "file").touch()
    with pytest.raises(batchenv.LaneError, match="status 3"):
        env.step(np.array([0, 1]))
    with pytest.raises(batchenv.LaneError, match=r"could not be made again .*the observation_space of lane 1 is"):
        env.step(np.zeros(2, int))


def test_lanes_in_flight_of_a_process_that_dies():
    env = begun(processes(4, batch_size=2), seed=1)
    env.send(np.array([0, 0, 1, 0]), [0, 1, 2, 3])
    got, failed = [], []
    for _ in range(2):
        try:
            result = env.recv()
        except batchenv.LaneError as error:
            result = error.result
            failed += error.env_id.tolist()
        got += result[4]["env_id"].tolist()
    assert sorted(got) == [0, 1, 2, 3] and sorted(failed) == [2, 3]
    env.send(np.zeros(4, int), [0, 1, 2, 3])
    rows = {}
    for _ in range(2):
        observations, *_, infos = env.recv()
        rows.update(zip(infos["env_id"].tolist(), observations[:, 0].tolist(), strict=True))
    assert rows == {0: 2.0, 1: 2.0, 2: 0.0, 3: 0.0}


def test_a_result_that_came_before_its_process_died():
    """It is a result as any other; the next one of this lane is a failure."""
    env = begun(processes(3, 1, batch_size=2), seed=1)
    env.send(np.array([0, 1]), [0, 1])
    with pytest.raises(batchenv.LaneError) as raised:
        env.recv()
    observations, rewards, _, truncations, infos = raised.value.result
    assert raised.value.env_id.tolist() == [1] and infos["env_id"].tolist() == [0, 1]
    assert observations[:, 0].tolist() == rewards.tolist() == [1, 0] and truncations.tolist() == [False, True]
    env.send(np.array([0, 0]), [0, 1])
    with pytest.raises(batchenv.LaneError, match=r"lane 0: WorkerDied.*status 3") as raised:
        env.recv()
    observations, _, _, truncations, infos = raised.value.result
    rows = dict(zip(infos["env_id"].tolist(), zip(observations[:, 0], truncations, strict=True), strict=True))
    assert raised.value.env_id.tolist() == [0] and rows == {0: (0, True), 1: (0, False)}
    env.send(np.array([0, 0]), [0, 1])
    observations, *_, infos = env.recv()
    assert dict(zip(infos["env_id"].tolist(), observations[:, 0], strict=True)) == {0: 0, 1: 1}


def test_lanes_of_a_process_that_dies_while_they_wait_for_actions():
    env = processes(4, batch_size=1)
    observations, _ = env.reset(seed=1)
    env.send(np.array([0]), [1])
    env.recv()
    os.kill(int(observations[2, 1]), signal.SIGKILL)
    for lane in (2, 3):  # the second one had not been sent
        env.send(np.array([0]), [lane])
        with pytest.raises(batchenv.LaneError, match=f"lane {lane}: WorkerDied") as raised:
            env.recv()
        assert raised.value.result[3]
    for count in (0, 1, 2):
        env.send(np.array([0]), [3])
        np.testing.assert_array_equal(env.recv()[0][:, 0], [count])


def test_ctrl_c_at_any_moment():
    """Whatever it interrupts, the next reset and step are right. Infos make messages, which may be cut in two."""
    env, expected = (
        batchenv.make_python(lambda: Anything(ARRAYS["box"]), 3, workers=kind, num_workers=2)
        for kind in ("processes", "serial")
    )
    rng = np.random.default_rng(1)
    interrupted = 0
    for seed in range(40):
        try:
            threading.Timer(rng.uniform(0.001, 0.02), signal.raise_signal, [signal.SIGINT]).start()
            env.reset(seed=seed)
            while True:
                env.step(np.zeros(3, int))
        except KeyboardInterrupt:
            interrupted += 1
        ours, theirs = (one.reset(seed=seed) for one in (env, expected))
        assert_same(ours, theirs, seed)
        assert_same(env.step(np.ones(3, int)), expected.step(np.ones(3, int)), seed)
    assert interrupted == 40


def test_lanes_do_not_go_on_after_ctrl_c():
    env = begun(processes(2), seed=1)
    env.step(np.zeros(2, int))
    threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        env.step(np.array([0, 3]))
    with pytest.raises(gymnasium.error.ResetNeeded, match="interrupted"):
        env.step(np.zeros(2, int))
    env.reset(seed=1)
    np.testing.assert_array_equal(env.step(np.zeros(2, int))[0][:, 0], [1, 1])


@pytest.mark.cases(1, per="sent")
@pytest.mark.parametrize("sent", [False, True])
def test_the_answer_to_an_interrupted_question_is_dropped(sent):
    env = begun(processes(2, batch_size=1 if sent else 2), seed=1)
    threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        env.call("wait", 0.6)
    if sent:
        env.send(np.zeros(2, int), [0, 1])
        assert sorted(env.recv()[4]["env_id"].item() for _ in range(2)) == [0, 1]
    else:
        np.testing.assert_array_equal(env.step(np.zeros(2, int))[0][:, 0], [1, 1])
    assert env.call("wait", 0.0) == (1, 1)


def test_the_first_that_are_ready_come_first():
    env = begun(processes(2, batch_size=1), seed=1)
    env.send(np.array([3, 0]), [0, 1])
    assert env.recv()[4]["env_id"] == [1]
    with pytest.raises(TimeoutError, match="nothing is lost"):
        env.recv(timeout=0.01)
    assert env.recv()[4]["env_id"] == [0]
    with pytest.raises(RuntimeError, match="nothing in flight"):
        env.recv()


def test_refusals():
    env = processes(3, batch_size=1)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(3, int))
    env.reset(seed=1)
    with pytest.raises(ValueError, match=r"lane 2"):
        env.step(np.array([0, 0, 9]), np.arange(3))
    env.send(np.array([3]), [0])
    with pytest.raises(RuntimeError, match=r"env_id\[1\]=0 is in flight"):
        env.send(np.array([0, 0]), [1, 0])
    with pytest.raises(ValueError, match="occurs twice"):
        env.send(np.array([0, 0]), [1, 1])
    with pytest.raises(RuntimeError, match="1 lanes are in flight"):
        env.get_attr("count")
    env.recv()
    assert env.get_attr("count") == (1, 0, 0)
    env.send(np.array([3]))  # the lane last received
    with pytest.raises(RuntimeError, match=r"env_id\[0\]=0 is in flight"):
        env.send(np.array([0]))
    env.recv()
    env.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        env.step(np.zeros(3, int))


def test_an_env_that_cannot_be_made():
    def fails():
        raise OSError("no display")

    with pytest.raises(OSError, match="no display") as raised:
        processes(2, make_env=fails)
    assert "In the worker" in raised.value.__notes__[0]
    assert not descendants()
    with pytest.raises(TypeError, match="make_env cannot be sent"):
        processes(2, make_env=lambda generator=(k for k in "ab"): generator)


def test_step_some_lanes_and_out():
    make_env = lambda: Anything(ARRAYS["goal"])  # noqa: E731
    one = begun(processes(4, make_env=make_env), seed=4)
    other = begun(batchenv.make_python(make_env, 4, workers="serial"), seed=4)
    for lanes in ([3, 0], [2], [1, 3, 2]):
        results = [env.step(np.ones(len(lanes), int), lanes) for env in (one, other)]
        for mine, theirs in zip(results[0][1:4], results[1][1:4], strict=True):
            np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(results[0][0]["more"]["pair"][0], results[1][0]["more"]["pair"][0])
    rewards = np.empty(4)
    assert one.step(np.ones(4, int), out=(None, rewards, None, None))[1] is rewards
    np.testing.assert_array_equal(rewards, other.step(np.ones(4, int))[1])


PROGRAM = """
import numpy as np, os, signal, gymnasium, batchenv
signal.signal(signal.SIGINT, signal.default_int_handler)
class Mine(gymnasium.Wrapper):
    def step(self, action):
        while action == 1:
            pass
        return super().step(action)
make_env = lambda: Mine(gymnasium.make("CartPole-v1"))
env = batchenv.make_python(make_env, 2, workers="processes", num_workers=2, start_method="METHOD")
env.reset(seed=1)
print(*(w.process.pid for w in env._backend._pool._workers), flush=True)
env.step(np.array([0, 1]))
"""


@pytest.mark.cases(1, per="end")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(end, method):
    """Also in an endless step; the program has no `if __name__ == "__main__"`, and none is needed."""
    code = PROGRAM.replace("METHOD", method)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        pids = [int(word) for word in program.stdout.readline().split()]
        assert len(pids) == 2
        time.sleep(0.3)
        program.send_signal(end)
        told = program.stderr.read().decode()
    assert ended(pids)
    assert ("KeyboardInterrupt" in told) == (end == signal.SIGINT)


def test_nothing_is_left_in_the_file_system():
    before = set(os.listdir("/dev/shm"))
    env = begun(processes(2), seed=1)
    assert set(os.listdir("/dev/shm")) == before and not env.closed


def test_a_forked_child_gets_an_error():
    env = begun(processes(2), seed=1)
    child = os.fork()
    if child == 0:
        try:
            env.step(np.zeros(2, int))
            os._exit(1)
        except RuntimeError:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    env.step(np.zeros(2, int))


class Telling(Deadly):
    """Says what `action` says: 1 a function of its own, 2 something that cannot go to another process."""

    def step(self, action):
        info = {1: {"function": lambda: self.count}, 2: {"lock": threading.Lock()}}.get(int(action), {})
        return *super().step(0)[:4], info

    def cpus(self):
        return os.sched_getaffinity(0)


def test_infos_that_cannot_be_pickled():
    env = begun(processes(2, make_env=Telling), seed=1)
    assert env.step(np.array([1, 0]))[4]["function"][0]() == 1
    with pytest.raises(batchenv.LaneError, match=r"lane 1: WorkerDied: what .* said cannot be pickled .*lock"):
        env.step(np.array([0, 2]))
    env.step(np.zeros(2, int))
    np.testing.assert_array_equal(env.step(np.zeros(2, int))[0][:, 0], [4, 1])


def test_workers_on_cpus_of_ones_choice():
    cpus = sorted(os.sched_getaffinity(0))
    env = processes(3, 3, make_env=Telling, thread_affinity=[cpus[-1], cpus[0]])
    assert env.call("cpus") == ({cpus[-1]}, {cpus[0]}, {cpus[-1]})


def test_ctrl_c_loses_no_batch():
    env = begun(processes(2, batch_size=2), seed=1)
    env.send(np.array([3, 0]), [0, 1])
    threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        env.recv()
    observations, *_, infos = env.recv()
    np.testing.assert_array_equal(infos["env_id"], [0, 1])
    np.testing.assert_array_equal(observations[:, 0], [1, 1])


@pytest.mark.cases(1, per="problem")
@pytest.mark.parametrize("problem", [KeyboardInterrupt, TimeoutError])
def test_whatever_a_signal_handler_raises_in_a_step_asks_for_a_reset(problem):
    env = begun(processes(2), seed=1)

    def handle(*_):
        raise problem("from a handler")

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(problem, match="handler"):
            env.step(np.array([3, 0]))
    finally:
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(gymnasium.error.ResetNeeded, match="interrupted"):
        env.step(np.zeros(2, int))


@pytest.mark.cases(1, per="action")
@pytest.mark.parametrize(("action", "options"), [(1, {}), (2, {"step_timeout": 0.5})])
def test_a_worker_is_missed_while_others_keep_answering(action, options):
    env = begun(processes(3, 3, batch_size=1, **options), seed=1)
    env.send(np.array([action, 0, 0]), [0, 1, 2])
    end = time.monotonic() + 60
    with pytest.raises(batchenv.LaneError) as raised:
        while time.monotonic() < end:
            lanes = env.recv()[4]["env_id"]
            env.send(np.zeros(1, int), lanes)
    np.testing.assert_array_equal(raised.value.env_id, [0])


def test_a_fork_leaves_messages_to_the_parent():
    env = begun(processes(2, batch_size=2), seed=1)
    env.send(np.zeros(2, int), [0, 1])
    pid = os.fork()
    if pid == 0:
        refused = 0
        for call in (env.recv, env.async_reset, lambda: env.call("wait", 0), lambda: env.set_attr("count", 7)):
            try:
                call()
            except RuntimeError as error:
                refused += "forked process" in str(error)
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 4
    np.testing.assert_array_equal(env.recv(60)[0][:, 0], [1, 1])


def test_processes_end_with_their_env_after_a_failure(made):
    """No collector is needed."""
    env = begun(processes(2), seed=1)
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(batchenv.LaneError):
            env.step(np.array([1, 0]))
        workers = [pid for pid, name in descendants().items() if name != "batchenv server"]
        assert len(workers) == 2
        made.clear()
        del env
        assert ended(workers)
    finally:
        gc.enable()


@pytest.mark.cases(1, per="lane")
@pytest.mark.parametrize("lane", [-1, 2, 1 << 33])
def test_a_lane_that_there_is_not_is_refused(lane):
    """It may come out of memory that an env's native code has written into."""
    env = begun(processes(2), seed=1)
    with pytest.raises(ValueError, match=rf"lane {lane}, but there are lanes 0\.\.1"):
        env._backend._flight.land(lane)
    assert not env._backend._flight.owes(lane)
    np.testing.assert_array_equal(env.step(np.zeros(2, int))[0][:, 0], [1, 1])


class Chatty(Deadly):
    """Says much in each step, so that a report comes in several pieces."""

    def step(self, action):
        observation, reward, *rest, _ = super().step(action)
        return observation, reward, *rest, {"text": "x" * 300_000, "count": self.count, "kind": str(self.count)}


def interrupted_at(moment, call):
    """Calls and raises KeyboardInterrupt before this operation of those that read a report; whether there was one."""
    left = moment

    def each(frame, event, _):
        nonlocal left
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return each

    def begin(frame, *_):
        file = os.path.basename(frame.f_code.co_filename)
        reads = file in ("pool.py", "channel.py", "process.py")
        return each if reads or frame.f_code.co_name in ("note", "read") else None

    sys.settrace(begin)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


def test_ctrl_c_amid_a_report_loses_nothing(method):
    """No lane, nothing that it has said, and no process, whichever operation is the last one before it."""
    if method != "forkserver":
        pytest.skip("however processes are started, they report in the same way")
    env = processes(2, num_workers=1, make_env=Chatty, batch_size=2)
    _, pid = env.reset(seed=1)[0][0]
    results, moment, interrupted = [], 0, True
    while interrupted:
        moment += 7
        env.send(np.zeros(2, int), [0, 1])
        interrupted = interrupted_at(moment, lambda: results.append(env.recv(60)))
        if interrupted:
            assert interrupted_at(moment // 2, lambda: results.append(env.recv(60))) or len(results) == moment // 7
        if len(results) < moment // 7:
            results.append(env.recv(60))
        observations, *_, infos = results[-1]
        assert observations.tolist() == [[len(results), pid]] * 2, moment
        assert infos["count"].tolist() == [len(results)] * 2 and infos["_count"].all()
        assert infos["kind"].tolist() == [str(len(results))] * 2 and len(infos["text"][1]) == 300_000
    assert moment > 200


def readable(env, seconds=0.0):
    return bool(select.select([env], [], [], seconds)[0])


def test_a_descriptor_says_that_a_batch_has_come(method):
    env = processes(4, batch_size=2)
    before = env.fileno()
    assert not readable(env)
    env.async_reset(seed=1)
    assert readable(env, 60) and env.fileno() == before
    first = env.recv(0)[4]["env_id"]
    assert readable(env, 60)  # the other two
    env.recv(0)
    assert not readable(env)
    for count in range(1, 40):  # one lane after the other
        env.send(np.zeros(1, int), [0])
        assert not readable(env)
        with pytest.raises(RuntimeError, match="never come"):
            env.recv(0)
        env.send(np.zeros(1, int), [3])
        while readable(env, 60):
            try:
                observations, *_, infos = env.recv(0)
                break
            except TimeoutError:  # it may be readable too early
                pass
        assert sorted(infos["env_id"].tolist()) == [0, 3] and observations[:, 0].tolist() == [count] * 2
        assert not readable(env)
    assert len(first) == 2


def test_a_descriptor_says_that_a_process_has_died_or_is_late(method):
    env = begun(processes(2, batch_size=1, step_timeout=0.5), seed=1)
    for action, why in ((1, "status 3"), (2, "step_timeout"), (1, "status 3")):
        env.fileno()
        env.send(np.array([action]), [1])
        with pytest.raises(batchenv.LaneError, match=why):
            while readable(env, 60):
                with contextlib.suppress(TimeoutError):
                    env.recv(0)
        assert not readable(env)
        env.send(np.zeros(1, int), [1])
        assert readable(env, 60)
        assert env.recv()[0][0, 0] == 0


def test_a_process_that_dies_while_nobody_waits(method):
    """The descriptor is not readable for ever then."""
    env = processes(2, batch_size=1)
    pids = env.reset(seed=1)[0][:, 1].astype(int)
    env.fileno()
    os.kill(pids[1], signal.SIGKILL)
    assert not readable(env, 0.2)
    env.send(np.zeros(1, int), [0])
    assert readable(env, 60)
    env.recv()
    assert not readable(env)


def test_an_event_loop_of_a_users_own(method):
    async def loop(env, other):
        counts = []
        async for observations, *_, infos in env:
            counts.append(observations[0, 0])
            other.append(len(counts))
            if len(counts) == 50:
                return counts
            env.send(np.zeros(1, int), infos["env_id"])

    env, other = processes(3, batch_size=1), []
    env.async_reset(seed=1)
    assert sorted(asyncio.run(loop(env, other))) == sorted(np.arange(50) // 3) or max(other) == 50
    env.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        env.fileno()


def test_the_last_report_of_many_shows(method):
    """Whichever worker is last, and however many there are at the same time."""
    env = begun(processes(6, 3, batch_size=6), seed=1)
    env.fileno()
    for count in range(1, 200):
        env.send(np.zeros(6, int), np.arange(6))
        assert readable(env, 60)
        tries = 0
        while True:
            try:
                observations = env.recv(0)[0]
                break
            except TimeoutError:
                tries += 1
                assert readable(env, 60)
        assert observations[:, 0].tolist() == [count] * 6 and tries <= 7
