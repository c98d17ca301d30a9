"""The threads that step lanes in flight: how many there are, on which CPUs, and what becomes of them."""

import os
import threading
import time

import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError

import batchenv
from helpers.processes import run_python


def tasks():
    return len(os.listdir("/proc/self/task"))


def tasks_are_at_most(count):
    """Linux lists a thread for a moment longer than it takes to join it."""
    end = time.monotonic() + 5
    while tasks() > count and time.monotonic() < end:
        time.sleep(0.01)
    return tasks() <= count


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc")
def test_workers_go_with_their_env():
    before = tasks()
    for round in range(50):
        env = batchenv.make("CartPole-v1", 8, batch_size=2, num_threads=3)
        env.async_reset()
        env.recv()
        if round % 2:
            env.close()
        del env
    assert tasks_are_at_most(before)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc")
def test_more_threads_than_lanes_and_tiny_batches():
    before = tasks()
    env = batchenv.make("Synthetic-v0", 2, batch_size=1, num_threads=1024, cost_us=1.0)
    env.async_reset(seed=0)
    env.recv(10)
    assert tasks_are_at_most(before + 2)
    env.reset(seed=0)
    assert tasks_are_at_most(before + 3)
    with pytest.raises(ValueError, match=r"batch_size=1 .*at least 3"):
        batchenv.make("CartPole-v1", 1 << 21, batch_size=1)


def test_affinity():
    cpus = sorted(os.sched_getaffinity(0))
    for value in (0, 1, cpus, [cpus[-1]]):
        env = batchenv.make("Synthetic-v0", 4, batch_size=2, num_threads=2, thread_affinity=value, cost_us=1.0)
        env.async_reset(seed=1)
        env.recv(10)
        env.reset(seed=1)
        env.step(np.zeros(4, int))
    for error, values in ((ValueError, ([], [99999], -1)), (TypeError, ("x", [0.5]))):
        for value in values:
            with pytest.raises(error, match="thread_affinity"):
                batchenv.make("CartPole-v1", 4, thread_affinity=value)


def test_closing():
    env = batchenv.make("Synthetic-v0", 8, batch_size=2, num_threads=2, cost_us=20_000.0, wait=True)
    before = threading.active_count()
    env.async_reset()
    env.recv()
    env.close(), env.close()
    assert threading.active_count() == before
    for call in (lambda: env.send([0], [0]), lambda: env.recv(), lambda: env.async_reset(), lambda: env.fileno()):
        with pytest.raises(ClosedEnvironmentError):
            call()


def test_closing_lets_other_threads_run():
    env = batchenv.make("Synthetic-v0", 2, batch_size=2, num_threads=2, cost_us=300_000.0, wait=True)
    env.reset(seed=0)
    env.send([0, 0], [0, 1])
    time.sleep(0.02)  # both at work
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.01):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    env.close()
    end = time.perf_counter()
    done.set()
    thread.join()
    assert end - start > 0.1
    assert sum(start < t < end for t in ticks) > 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_children():
    code = """
import os, sys, warnings
warnings.simplefilter("ignore")
import batchenv, numpy as np
env = batchenv.make("Synthetic-v0", 6, batch_size=3, num_threads=2, cost_us=50.0)
env.async_reset(seed=1)
first = env.recv()
env.recv()
def child():
    pid = os.fork()
    if pid == 0:
        try:
            yield True
            os._exit(0)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
for _ in child():  # nothing in flight: works
    env.send([1, 2, 3], [0, 1, 2]); env.recv(10); env.step(np.zeros(6, int))
env.send([1, 2, 3], [0, 1, 2])
for _ in child():  # in flight: an error, and a reset makes it work
    for call in (lambda: env.recv(1), lambda: env.send([1], [4]), lambda: env.snapshot()):
        try:
            call()
        except RuntimeError as error:
            assert "fork" in str(error), error
        else:
            raise AssertionError
    env.reset(seed=3)
    env.send([1, 2, 3], [0, 1, 2]); env.recv(10)
env.recv(10)  # the parent goes on
env.close()
print("fine")
"""
    assert run_python(code).strip() == "fine"
