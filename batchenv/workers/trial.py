"""How many processes suit an environment whose steps cost so much: num_workers="measured"."""

from __future__ import annotations

import resource
import time
from typing import Any, NamedTuple

SECONDS = 0.25  # that a trial steps its env for
MOST = 128  # workers, unless somebody says how many: each takes memory and two descriptors
_STEPS = 1000
_WORTH = 10  # times the overhead: what a worker has to do at least
_LITTLE = 1e-6  # seconds: no time is measured more exactly than that


class Cost(NamedTuple):
    """Seconds that a step takes: as a clock shows them, and of all CPUs together."""

    wall: float
    cpu: float


def measure(env: Any, seconds: float) -> Cost:
    """The cost of an env that nobody else uses, in a process where nothing else happens. It is stepped with random
    actions."""
    env.action_space.seed(0)
    env.reset(seed=0)
    start = time.perf_counter()
    wall = cpu = 0.0
    count = 0
    while not count or (time.perf_counter() - start < seconds and count < _STEPS):
        action = env.action_space.sample()
        before = time.perf_counter(), time.process_time(), _waits()
        _, _, terminated, truncated, *_ = env.step(action)
        used, took = time.process_time() - before[1], time.perf_counter() - before[0]
        cpu += used
        wall += took if _waits() > before[2] else min(took, used)  # another process may have had the CPU
        count += 1
        if terminated or truncated:
            env.reset()
    return Cost(wall / count, cpu / count)


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
