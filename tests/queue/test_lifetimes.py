"""What the C side reads and writes lives as long as it does so, in whatever order Python lets go of things."""

import gc

import numpy as np
import pytest

import batchenv
from helpers.processes import run_python
from helpers.queue import ready

HEAD = """
import ctypes, gc, random, sys, threading, time
import numpy as np
import batchenv
from batchenv.envs.mujoco.tasks import assets

def send(env):
    env.send(np.zeros(env.action_space.shape, env.action_space.dtype), np.arange(env.num_envs))

def flying():
    env = make()
    env.reset(seed=0)
    send(env)
    return env
"""
MAKES = {
    "mujoco": 'batchenv.make("Hopper-v5", 16, num_threads=2)',
    "one thread": 'batchenv.make("Humanoid-v5", 8, num_threads=1)',
    "own model": 'batchenv.make_mujoco(assets() / "ant.xml", 8)',
    "atari": 'batchenv.make("Pong-v5", 4, num_threads=2)',
    "players": 'batchenv.make("Pong-v5", 4, num_threads=2, players=2)',
    "normalized": 'batchenv.make("Hopper-v5", 16, num_threads=2, normalize_observation=True)',
}
# Each loses an env, many times in a process.
LOSSES = {
    "del": "env = flying(); del env",
    "rebinding": "env = flying()",
    "exception": "try:\n        flying().recv(-1)\n    except ValueError:\n        pass",
    "step_async": "env = make(); env.reset(seed=0); env.step_async(env.action_space.sample()); del env",
    "async_reset": "env = make(); env.async_reset(seed=0); del env",
    "cycle": "env = flying(); env.me = env; del env; gc.collect()",
    "clear": "env = flying(); env.__dict__.clear()",
    "any order": """env = flying()
    for name in random.Random(k).sample(sorted(env.__dict__), len(env.__dict__)):
        del env.__dict__[name]""",
    "adapter": "env = flying(); env._backend.translator.__dict__.clear(); del env",
}
# How a process may end, with lanes in flight.
ENDS = {
    "global": "env = flying()",
    "cycle": "env = flying(); env.me = env; del env",
    "leak": "env = flying(); ctypes.pythonapi.Py_IncRef(ctypes.py_object(env._backend.core))",
    "sys.exit": "def run():\n    env = flying()\n    sys.exit(0)\nrun()",
    "another's atexit": "import atexit; env = flying(); atexit.register(lambda: (env.recv(), send(env)))",
    "daemon": """env = flying(); started = threading.Event()
def run():
    while True:
        env.recv()
        started.set()
        send(env)
threading.Thread(target=run, daemon=True).start(); started.wait()""",
}


# Several processes of one that has only imported batchenv, each of which ends by itself.
THREE_TIMES = """
import os
for _ in range(2):
    child = os.fork()
    if child == 0:
        break
    if status := os.waitpid(child, 0)[1]:
        sys.exit(f"a process ended with status {status}")
"""


def ends_well(make, code):
    if "Hopper" in make or "Humanoid" in make or "assets" in make:
        pytest.importorskip("mujoco", reason="pip install 'batchenv[mujoco]'")
    else:
        pytest.importorskip("multi_agent_ale_py", reason="pip install 'batchenv[atari]'")
    code = f"{HEAD}\ndef make():\n    return {make}\n\n{code}\n"
    run_python(code)


ALL = [(make, loss) for make in ("mujoco", "atari") for loss in LOSSES]


@pytest.mark.cases(4)
@pytest.mark.parametrize("make, loss", ALL + [(make, "del") for make in MAKES if (make, "del") not in ALL])
def test_an_env_is_lost_with_lanes_in_flight(make, loss):
    times = 25 if make in ("mujoco", "one thread") else 4
    ends_well(MAKES[make], f"for k in range({times}):\n    {LOSSES[loss]}")


@pytest.mark.cases(1, per="end")
@pytest.mark.parametrize("make", ["mujoco", "atari"])
@pytest.mark.parametrize("end", ENDS)
def test_a_process_ends_with_lanes_in_flight(make, end):
    ends_well(MAKES[make], f"{THREE_TIMES}\n{ENDS[end]}")


def test_exit_waits_for_one_step_of_a_thread_and_no_longer():
    code = """import atexit, time
atexit.register(lambda: print("seconds", time.perf_counter() - ended))  # after batchenv's
import threading
import numpy as np
import batchenv
env = batchenv.make("LunarLander-v3", 64)
env.reset(seed=0)
def run():
    while True:
        env.step(np.zeros(64, int))
threading.Thread(target=run, daemon=True).start()
time.sleep(0.5)
ended = time.perf_counter()
"""
    assert float(run_python(code).split()[-1]) < 5  # it gives up after 10 s


def test_a_call_at_exit_says_that_it_comes_too_late():
    pytest.importorskip("mujoco", reason="pip install 'batchenv[mujoco]'")
    code = f"""import atexit
def late():
    try:
        env.reset()
    except RuntimeError as error:
        print(error)
atexit.register(late)
import batchenv
env = {MAKES["mujoco"]}
"""
    assert "Python is shutting down" in run_python(code)


@pytest.mark.parametrize("env_id, needs", [("Hopper-v5", "mujoco"), ("Pong-v5", "multi_agent_ale_py")])
def test_sending_with_pictures_to_come(env_id, needs):
    """Renderers are told which lanes were sent."""
    pytest.importorskip(needs)
    env = batchenv.make(env_id, 2, render_mode="rgb_array")
    env.reset(seed=0)
    env.send(env.action_space.sample(), np.arange(2))
    assert len(env.recv()[0]) == 2


def test_nothing_is_kept_of_what_is_gone():
    """What a fork or the end of Python has to look after is a list of batches that lives as long as the process."""
    alive = batchenv._core._alive
    env = batchenv.make("CartPole-v1", 2)
    (address,) = [address for address, reference in alive.items() if reference() is env._backend.core]
    del env
    gc.collect()
    assert address not in alive


def test_arrays_outlive_the_workers():
    """Results are still being written when the last reference to an env goes, or the collector finds it."""
    code = """
import batchenv, gc, numpy as np
for round in range(6):
    env = batchenv.make("CartPole-v1", 20_000, batch_size=1 + round % 2, num_threads=3)
    env.async_reset(seed=0)
    env.recv()
    if round % 3 == 0:
        env.cycle = [env]
    del env
    gc.collect()
    [np.empty(n) for n in range(1, 300)]
print("alive")
"""
    assert run_python(code).strip() == "alive"
    assert not gc.is_tracked(ready()._backend.core)  # or the collector could empty the list of arrays being written
