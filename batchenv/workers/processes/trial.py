"""How many processes suit an environment whose steps cost so much: num_workers="measured"."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from batchenv import _core

SECONDS = 0.25  # that a trial takes
MOST = 128  # workers, unless somebody says how many: each takes memory and two descriptors
_STEPS = 1000
_WORTH = 10  # times the overhead: what a worker has to do at least
_LITTLE = 1e-6  # seconds: no time is measured more exactly than that


class Cost(NamedTuple):
    """Seconds that a step takes: as a clock shows them, and of all CPUs together."""

    wall: float
    cpu: float


class StepTrial:
    """Resets and steps an env that nobody else uses, with random actions, in a process where nothing else happens."""

    def __init__(self, env: Any):
        env.action_space.seed(0)
        self._env, self._seed, self._over = env, 0, True

    def go_on(self) -> Cost | None:
        """One call of the env: the cost of a step, or None, which says that it was a reset."""
        if self._over:
            self._env.reset(seed=self._seed)
            self._seed, self._over = None, False
            return None
        action = self._env.action_space.sample()
        before = time.perf_counter(), time.process_time(), _waits()
        returned = self._env.step(action)
        cpu, wall = time.process_time() - before[1], time.perf_counter() - before[0]
        _, _, terminated, truncated, _ = _core.check_result("step()", returned)
        self._over = bool(terminated or truncated)
        return Cost(wall if _waits() > before[2] else min(wall, cpu), cpu)  # another process may have had the CPU


def mean_cost(go_on: Callable[[], Cost | None]) -> Cost:
    """The mean of the steps of a trial. `go_on` is called for about SECONDS, and until one has been made."""
    costs: list[Cost] = []
    end = time.monotonic() + SECONDS
    while not costs or (time.monotonic() < end and len(costs) < _STEPS):
        cost = go_on()
        if cost is not None:
            costs.append(cost)
    return Cost(*np.mean(costs, axis=0).tolist())


def _waits() -> int:
    """How often this process has given up its CPU by itself."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw


def suitable(cost: Cost, overhead: float, num_envs: int, cpus: int) -> int:
    """The number of workers.

    While steps compute, there is one worker per CPU; more if steps wait, since another one can compute then, and fewer
    if a step keeps several CPUs busy. What each has to do takes ten times as long as asking it, or there are fewer.

    Args:
        cost: of a step.
        overhead: seconds that it takes to ask a worker for a step and to get the answer, beyond the step itself.
        num_envs: how many lanes there are.
        cpus: how many CPUs this program may use.
    """
    wall = max(cost.wall, _LITTLE)
    worthwhile = num_envs * wall / (_WORTH * max(overhead, _LITTLE))
    busy = cpus * wall / max(cost.cpu, _LITTLE)
    return max(1, min(round(busy), int(worthwhile), num_envs, MOST))
