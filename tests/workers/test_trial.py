"""How many processes there are if num_workers="measured"."""

import os
import time

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

import batchenv
from batchenv.workers.processes.trial import MOST, Cost, suitable
from helpers.lockstep import lockstep
from helpers.python_envs import ARRAYS, Anything

US = 1e-6


@pytest.mark.parametrize(
    ("cost", "num_envs", "cpus", "workers"),
    [
        (Cost(1000 * US, 1000 * US), 64, 4, 4),  # computes: one per CPU
        (Cost(1000 * US, 1000 * US), 3, 4, 3),
        (Cost(10 * US, 10 * US), 8, 4, 1),  # is over as soon as another process has been asked
        (Cost(10 * US, 10 * US), 256, 64, 25),
        (Cost(1000 * US, 100 * US), 256, 4, 40),  # waits for nine tenths of its time
        (Cost(50000 * US, 50 * US), 64, 2, 64),
        (Cost(50000 * US, 50 * US), 4000, 2, MOST),
        (Cost(1000 * US, 4000 * US), 64, 8, 2),  # keeps four CPUs busy
        (Cost(1000 * US, 4000 * US), 64, 2, 1),
        (Cost(0.0, 0.0), 4, 2, 1),
    ],
)
def test_what_suits(cost, num_envs, cpus, workers):
    assert suitable(cost, 10 * US, num_envs, cpus) == workers


class Slow(Anything):
    """Waits. Writes down who is made, stepped and closed."""

    def __init__(self, log):
        super().__init__(ARRAYS["box"])
        self.log = log
        self.note("made")

    def note(self, what):
        with open(self.log, "a") as file:
            file.write(f"{id(self)} {what}\n")

    def step(self, action):
        time.sleep(0.1)
        self.note("stepped")
        return super().step(action)

    def close(self):
        self.note("closed")


def test_envs_that_wait_get_more_processes_than_there_are_cpus(tmp_path):
    log = tmp_path / "log"
    lanes = len(os.sched_getaffinity(0)) + 2
    env = batchenv.make_python(Slow, lanes, num_workers="measured", env_kwargs={"log": log})
    assert env.num_threads == lanes
    told = [line.split()[1] for line in log.read_text().splitlines()]
    first = told.index("closed")  # of the env of the trial
    assert told[0] == "made" and told[1] == "stepped" and told[first + 1 :] == ["made"] * lanes
    theirs = SyncVectorEnv([lambda: Slow(tmp_path / "other")] * lanes)
    lockstep(env, theirs, 10)


def test_a_trial_that_fails():
    class Broken(Anything):
        def step(self, action):
            raise ZeroDivisionError("a bug in the env")

    class Hanging(Anything):
        def step(self, action):
            time.sleep(3600)

    keywords = {"num_workers": "measured", "env_kwargs": {"observation_space": ARRAYS["box"]}}
    with pytest.raises(ZeroDivisionError, match="a bug in the env"):
        batchenv.make_python(Broken, 4, **keywords)
    with pytest.raises(RuntimeError, match=r"it took longer than step_timeout=1.0 s"):
        batchenv.make_python(Hanging, 4, step_timeout=1.0, **keywords)


def test_each_call_of_a_trial_has_as_long_as_a_step():
    """Neither is late, and both together take longer than that."""

    class Unhurried(Anything):
        def reset(self, **options):
            time.sleep(1.0)
            return super().reset(**options)

        def step(self, action):
            time.sleep(1.0)
            return super().step(action)

    keywords = {"step_timeout": 1.7, "env_kwargs": {"observation_space": ARRAYS["box"]}}
    env = batchenv.make_python(Unhurried, 3, num_workers="measured", **keywords)
    assert env.num_threads == 3


def test_wrong_arguments():
    with pytest.raises(ValueError, match="num_workers='auto' with workers='processes' must be an int or None"):
        batchenv.make_python(Anything, 2, num_workers="auto")
    with pytest.raises(ValueError, match="num_workers='measured' with workers='threads' must be"):
        batchenv.make_python(Anything, 2, workers="threads", num_workers="measured")
    with pytest.raises(ValueError, match="thread_affinity needs a number of workers"):
        batchenv.make_python(Slow, 2, num_workers="measured", thread_affinity=0)


def test_num_workers_does_not_matter_to_results():
    results = []
    for workers in (1, 3, "measured"):
        env = batchenv.make_python(lambda: Anything(ARRAYS["box"]), 4, num_workers=workers)
        env.reset(seed=1)
        results.append([env.step(np.zeros(4, int))[0] for _ in range(20)])
        env.close()
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
