"""What a process may do around an env: fork, use threads, import torch before or after."""

import importlib.util
import threading

import numpy as np
import pytest

import batchenv
from helpers.processes import run_python

FORK = """
import os
import numpy as np
import batchenv

def steps(env, n):
    rng = np.random.default_rng(0)
    return [env.step(rng.integers(2, size=20000))[0].tobytes() for _ in range(n)]

env = batchenv.make("CartPole-v1", 20000, num_threads=2)
env.reset(seed=0)
env._backend.core.force_parallel(PARALLEL)
steps(env, 10)
env.reset(seed=1)
pid = os.fork()
if pid == 0:
    mine = steps(env, 5)
    fresh = batchenv.make("CartPole-v1", 20000, num_threads=2)
    fresh.reset(seed=1)
    os._exit(0 if steps(fresh, 5) == mine else 3)
status = os.waitpid(pid, 0)[1]
mine = steps(env, 5)
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.parametrize("parallel", [True, False])
def test_fork(parallel, tmp_path):
    assert run_python(FORK.replace("PARALLEL", str(parallel)), cwd=tmp_path).split() == ["0"]


def test_import_is_light(tmp_path):
    heavy = ("torch", "matplotlib", "pygame", "scipy", "rich")
    code = f"import sys, batchenv; print([m for m in {heavy} if m in sys.modules])"
    assert run_python(code, cwd=tmp_path).strip() == "[]"


def test_two_threads_at_once():
    env = batchenv.make("Acrobot-v1", 20000)
    env.reset(seed=0)
    actions = np.zeros(20000, np.int64)
    errors, others = [], []
    start = threading.Barrier(2)

    def work():
        start.wait()
        for _ in range(60):
            try:
                env.step(actions)
            except RuntimeError as error:
                errors.append(str(error))
            except BaseException as error:
                others.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not others
    assert errors and all("another thread" in error for error in errors)
    env.step(actions)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("first, second", [("torch", "batchenv"), ("batchenv", "torch")])
def test_one_openmp_runtime(first, second, tmp_path):
    code = f"""
import {first}, {second}
import torch, numpy as np, threadpoolctl
env = batchenv.make("CartPole-v1", 20000, num_threads=2)
env.reset(seed=0)
env._backend.core.force_parallel(True)
env.step(np.zeros(20000, np.int64))
torch.set_num_threads(2)
torch.mm(torch.ones(500, 500), torch.ones(500, 500))
runtimes = [info for info in threadpoolctl.threadpool_info() if info["user_api"] == "openmp"]
print(len(set(info["filepath"] for info in runtimes)))
"""
    assert run_python(code, cwd=tmp_path).strip() == "1"


FORK_BESIDE_AN_IMPORT = """
import importlib.abc, os, signal, sys, threading, time
import batchenv

class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "gymnasium.envs.classic_control.cartpole":
            started.set()
            time.sleep(0.5)

started = threading.Event()
sys.meta_path.insert(0, Slow())
thread = threading.Thread(target=batchenv.make, args=("CartPole-v1", 2))
thread.start()
assert started.wait(60)
pid = os.fork()
if pid == 0:
    signal.alarm(60)
    batchenv.make("CartPole-v1", 2).reset(seed=0)
    os._exit(0)
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_fork_while_another_thread_makes_its_first_env(tmp_path):
    """What that imports is imported before, so that the child does not wait for the thread, which it has not."""
    assert run_python(FORK_BESIDE_AN_IMPORT, cwd=tmp_path).split() == ["0"]
