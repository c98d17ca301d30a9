"""One call at a time: who is refused changes nothing, and what fails loses nothing."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded

import batchenv
from helpers.begun import begun
from helpers.processes import run_python

SLOW = {"num_threads": 2, "cost_us": 200_000.0, "wait": True}


def slow(lanes=2, **keywords):
    """Lanes whose steps and resets take 0.2 s each."""
    return batchenv.make("Synthetic-v0", lanes, **{**SLOW, **keywords})


def in_another_thread(call):
    """Starts `call` and waits until it has had time to take the env; returns a function that gives its outcome."""
    outcome = []

    def run():
        try:
            outcome.append(call())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.05)

    def join():
        thread.join(30)
        assert not thread.is_alive()
        return outcome[0]

    return join


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs setitimer")
@pytest.mark.parametrize("call", ["close()", "reset()", "send([0], [0])", "recv(0)", "set_params(cost_us=1.0)"])
def test_a_handler_is_refused_while_a_reset_waits(call):
    code = f"""
import signal, batchenv
env = batchenv.make("Synthetic-v0", 2, batch_size=1, num_threads=2, cost_us=300_000.0, wait=True)
env.reset(seed=1)
env.send([0, 1], [0, 1])
told = []
def handler(*_):
    try:
        env.{call}
    except RuntimeError as error:
        told.append(str(error))
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.05)
env.reset(seed=2)
assert len(told) == 1 and "one call at a time" in told[0] and "signal handler" in told[0], told
env.send([0], [0])
env.recv()
env.close()
print("fine")
"""
    assert run_python(code).strip() == "fine"


def test_a_refused_reset_leaves_the_results_of_others():
    env = begun(slow(3, batch_size=3), seed=1)
    env.send([0, 1, 2], [0, 1, 2])
    result = in_another_thread(env.recv)
    for call in (env.reset, env.async_reset, env.snapshot, env.close, lambda: env.step([0, 0, 0])):
        with pytest.raises(RuntimeError, match="another thread"):
            call()
    assert sorted(result()[4]["env_id"]) == [0, 1, 2]
    env.step([0, 0, 0])
    env.close()


def test_closing_is_refused_while_another_thread_is_inside_a_call():
    env = begun(slow(), seed=1)
    step = in_another_thread(lambda: env.step([0, 0]))
    with pytest.raises(RuntimeError, match="another thread"):
        env.close()
    assert not env.closed
    assert len(step()) == 5
    env.close()
    assert env.closed


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("normalize", [False, True])
def test_a_batch_that_finds_no_memory_comes_again(monkeypatch, mode, normalize):
    """First where the next arrays are made, then where the final observations are."""
    options = {"batch_size": 4, "autoreset_mode": mode, "normalize_observation": normalize, "max_episode_steps": 3}
    env, twin = (batchenv.make("CartPole-v1", 4, **options) for _ in range(2))
    empty, failed = np.empty, []
    for each in (env, twin):
        each.async_reset(seed=1)
    for step in range(12):

        def scarce(*arguments, lists=step % 2, **keywords):
            if not lists or arguments == (4, np.int64):  # such as the list of the lanes that have ended
                raise MemoryError
            return empty(*arguments, **keywords)

        with monkeypatch.context() as patch:
            patch.setattr(np, "empty", scarce)
            try:
                result = env.recv()
            except MemoryError:
                result = None
        if result is None:
            failed.append(step)
            assert env._backend.core.in_flight() == 4
            with pytest.raises(RuntimeError, match="recv"):
                env.step([0] * 4)
            with pytest.raises(RuntimeError, match="recv"):
                env.send([0] * 4, [0, 1, 2, 3])
            result = env.recv()
        expected = twin.recv()
        for ours, theirs in zip(result[:4], expected[:4], strict=True):
            np.testing.assert_array_equal(ours, theirs)
        assert list(result[4]) == list(expected[4])
        for each in (env, twin):
            each.send(np.zeros(4, int), np.arange(4))
    assert any(step % 2 == 0 for step in failed)
    assert mode == "NextStep" or any(step % 2 for step in failed)
    if normalize:
        assert env.normalizer.obs_rms.count == twin.normalizer.obs_rms.count


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_during_a_call_resets_and_goes_on():
    code = """
import os, threading, time, warnings
warnings.simplefilter("ignore")
import numpy as np, batchenv
env = batchenv.make("Synthetic-v0", 2, num_threads=2, cost_us=300_000.0, wait=True)
env.reset(seed=1)
thread = threading.Thread(target=env.step, args=([0, 0],))
thread.start()
time.sleep(0.05)
pid = os.fork()
if pid == 0:
    try:
        for call in (lambda: env.step([0, 0]), lambda: env.snapshot(), lambda: env.reset(options={"reset_mask": np.array([True, False])})):
            try:
                call()
            except batchenv._core.ResetNeeded as error:
                assert "fork" in str(error) and "env.reset()" in str(error), error
            else:
                raise AssertionError
        env.set_params(cost_us=1.0)
        first = env.reset(seed=3)[0]
        twin = batchenv.make("Synthetic-v0", 2, num_threads=1, cost_us=1.0)
        assert (first == twin.reset(seed=3)[0]).all()
        assert (env.step([0, 1])[0] == twin.step([0, 1])[0]).all()
        env.close()
        os._exit(0)
    except BaseException as error:
        print(repr(error), flush=True)
        os._exit(1)
assert os.waitpid(pid, 0)[1] == 0
thread.join()
env.step([0, 0])
pid = os.fork()
if pid == 0:
    env.close()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
env.close()
print("fine")
"""  # noqa: E501
    assert run_python(code).strip() == "fine"


def test_calls_from_inside_close_find_it_closed():
    env = begun(batchenv.make("CartPole-v1", 2, render_mode="rgb_array"))
    told = []

    def calls():
        every = [env.reset, env.render, env.snapshot, lambda: env.state, lambda: env.np_random_seed]
        every += [lambda: env.step([0, 0]), lambda: env.rollout(2, policy="random"), lambda: env.send([0], [0])]
        every += [lambda: env.recv(0), lambda: env.get_attr("gravity"), lambda: env.set_params(gravity=3.0)]
        for call in every:
            with pytest.raises(ClosedEnvironmentError, match="make a new one"):
                call()
            told.append(1)
        env.close()

    env._drawer.close = calls
    env.close()
    assert len(told) == 11 and env.closed


def test_a_failed_change_of_params_leaves_the_spaces():
    env = begun(batchenv.make("MountainCar-v0", 2, rescale_observation=(0.0, 1.0)))
    before, space = env.get_params(), env.single_observation_space
    with pytest.raises(ValueError):
        env.set_params(max_position=-2.0)
    assert env.get_params() == before and env.single_observation_space == space


def test_resets_of_some_lanes_come_after_one_of_all():
    env = batchenv.make("CartPole-v1", 2)
    with pytest.raises(ResetNeeded):
        env.reset(options={"reset_mask": np.array([True, False])})


def test_env_ids_that_change_while_actions_are_read():
    """Actions may be an object whose reading runs the user's code: the numbers are those of before."""
    env = begun(batchenv.make("CartPole-v1", 4, batch_size=2))
    ids = np.array([0, 1])

    class Actions:
        def __array__(self, *arguments, **keywords):
            ids[0] = 10**9
            return np.zeros(2, np.int64)

    env.send(Actions(), ids)
    assert sorted(env.recv()[4]["env_id"]) == [0, 1]


def test_arrays_for_results_are_looked_at_once():
    env = begun(batchenv.make("CartPole-v1", 64))
    good = [np.empty((64, 4), np.float32), None, None, None]

    class Changing(list):
        asked = 0

        def __getitem__(self, place):
            self.asked += 1
            return super().__getitem__(place) if self.asked <= 4 or place else np.empty((1, 4), np.float32)

    assert env.step(np.zeros(64, int), out=Changing(good))[0] is good[0]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs setitimer")
@pytest.mark.parametrize("normalize", [False, True])
def test_an_exception_of_a_handler_during_recv_loses_nothing(normalize):
    """Also where the batch comes before the wait looks at signals."""
    env, twin = (begun(slow(2, cost_us=20_000.0, normalize_observation=normalize), seed=1) for _ in range(2))

    def handler(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handler)
    interrupted = 0
    try:
        for round in range(10):
            for each in (env, twin):
                each.send([0, 1], [0, 1])
            signal.setitimer(signal.ITIMER_REAL, 0.005 + 0.002 * round)
            try:
                result = env.recv(5)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
                result = env.recv(5)
            np.testing.assert_array_equal(result[0], twin.recv(5)[0])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted


def test_points_of_steps_that_nobody_got_are_forgotten():
    pytest.importorskip("multi_agent_ale_py")
    env, twin = (begun(batchenv.make("Pong-v5", 2, players=2), seed=1) for _ in range(2))
    actions = np.zeros((2, 2), int)
    for _ in range(300):
        env.send(actions, [0, 1])
        if twin.step(actions)[4]["rewards"].any():
            break
        env.recv()
    else:
        pytest.fail("nobody has scored")
    for each in (env, twin):
        each.reset(seed=2)  # drops the results of the step in which somebody scored
    np.testing.assert_array_equal(env.step(actions)[4]["rewards"], twin.step(actions)[4]["rewards"])


def test_two_threads_at_once_are_refused():
    env = begun(batchenv.make("Synthetic-v0", 2, batch_size=2, num_threads=2, cost_us=300_000.0, wait=True))
    env.send([0, 0], [0, 1])
    waiting = threading.Thread(target=env.recv)
    waiting.start()
    time.sleep(0.05)
    with pytest.raises(RuntimeError, match="another thread"):
        env.recv()
    waiting.join()
