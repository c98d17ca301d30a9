"""Meta-World's benchmarks: MT1, MT10, MT25 and MT50, whose goals are observed, and ML1, ML10, ML25 and ML45, in which
they are not. Neighbouring lanes have the same task; all goals of a benchmark are drawn from one stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from batchenv.arguments.numbers import integer
from batchenv.registry import TABLE, Entry, Share, put, rows

_FAMILY, _STEPS, _FPS, _GOALS = "Meta-World", 500, 80, 50


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_MT10 = _names(
    "reach push pick-place door-open drawer-open drawer-close button-press-topdown peg-insert-side window-open "
    "window-close"
)
_MT25 = _MT10 + _names(
    "coffee-pull pick-out-of-hole disassemble pick-place-wall basketball stick-pull button-press-wall faucet-open "
    "door-lock lever-pull sweep-into faucet-close coffee-button button-press-topdown-wall dial-turn"
)
_MT50 = _names(
    "assembly basketball bin-picking box-close button-press-topdown button-press-topdown-wall button-press "
    "button-press-wall coffee-button coffee-pull coffee-push dial-turn disassemble door-close door-lock door-open "
    "door-unlock hand-insert drawer-close drawer-open faucet-open faucet-close hammer handle-press-side handle-press "
    "handle-pull-side handle-pull lever-pull pick-place-wall pick-out-of-hole pick-place plate-slide plate-slide-side "
    "plate-slide-back plate-slide-back-side peg-insert-side peg-unplug-side soccer stick-push stick-pull push "
    "push-wall push-back reach reach-wall shelf-place sweep-into sweep window-open window-close"
)
_ML45 = _names(
    "assembly basketball button-press-topdown button-press-topdown-wall button-press button-press-wall coffee-button "
    "coffee-pull coffee-push dial-turn disassemble door-close door-open drawer-close drawer-open faucet-open "
    "faucet-close hammer handle-press-side handle-press handle-pull-side handle-pull lever-pull pick-place-wall "
    "pick-out-of-hole push-back pick-place plate-slide plate-slide-side plate-slide-back plate-slide-back-side "
    "peg-insert-side peg-unplug-side soccer stick-push stick-pull push-wall push reach-wall reach shelf-place "
    "sweep-into sweep window-open window-close"
)
_ML10 = _names(
    "reach push pick-place door-open drawer-close button-press-topdown peg-insert-side window-open sweep basketball"
)
_TESTS = {
    "ML10": _names("drawer-open door-close shelf-place sweep-into lever-pull"),
    "ML25": _names("basketball door-close shelf-place sweep button-press"),
    "ML45": _names("bin-picking box-close hand-insert door-lock door-unlock"),
}
_KEYWORDS = ("use_one_hot", "goals_seed", "num_goals", "total_tasks_per_cls")
_INSTEAD = {
    "meta_batch_size": "num_envs says how many lanes there are",
    "recurrent_info_in_obs": "append actions, rewards and ends to what step() returns",
    "normalize_reward_in_recurrent_info": "append rewards, divided by 10, to what step() returns",
    "reward_normalization_method": "normalize_reward=0.99 divides rewards by moments that all lanes share",
    "reward_alpha": "it is of reward_normalization_method",
    "normalize_observations": "normalize_observation=True has moments that all lanes share",
    "reward_function_version": "rewards are those of 'v2', which is the package's default",
    "vector_strategy": "num_threads says how many threads step the lanes",
}


@dataclass(frozen=True)
class Benchmark:
    """An id of the package's.

    tasks: in this order; None: that of the keyword `env_name`. hidden: goals are not observed, episodes keep theirs
    until they are told to take another, and lanes of one task share its goals out. later: by how much the seed of its
    goals is more than the one given. ends: whether a success ends an episode.
    """

    env_id: str
    tasks: tuple[str, ...] | None
    hidden: bool = False
    later: int = 0
    ends: bool = False

    def fixed(self) -> Sequence[str]:
        return ("num_tasks", "task_idx", "goals_first", "goals_every", "partially_observable")

    def about(self) -> Iterator[str]:
        names = (
            ["the one of the keyword env_name"] if self.tasks is None else [f"Meta-World/{t}-v3" for t in self.tasks]
        )
        yield f"tasks, each of as many lanes: {', '.join(names)}"
        yield f"goals: {'not ' if self.hidden else ''}observed"
        own = ", ".join((*(["env_name"] if self.tasks is None else []), *_KEYWORDS))
        yield f"keywords: {own}, and those of a task, as `info Meta-World/reach-v3` shows them"

    def seeded(self, keywords: dict[str, Any], seed: int | None) -> dict[str, Any]:
        return keywords if seed is None else {"goals_seed": seed, **keywords}

    def first_seeds(self, seed: int, num_envs: int) -> list[int]:
        """As in the package, where a task has one lane. Several lanes of a task, which may have the same goals, have
        seeds of their own."""
        each = num_envs // len(self.tasks or "1")
        return [seed if self.hidden else seed + lane % each for lane in range(num_envs)]

    def shares(self, num_envs: int, keywords: dict[str, Any]) -> list[Share]:
        keywords = dict(keywords)
        for name, instead in _INSTEAD.items():
            if name in keywords:
                raise TypeError(f"{self.env_id} takes no {name} here: {instead}")
        for name in self.fixed():
            if name in keywords:
                raise TypeError(f"{self.env_id} sets {name} itself: leave it out (use_one_hot=True appends the task)")
        tasks = self._tasks(keywords)
        if num_envs % len(tasks):
            raise ValueError(
                f"num_envs={num_envs} must be a multiple of {len(tasks)}, the number of tasks of {self.env_id}, all of "
                f"which have as many lanes: num_envs={len(tasks)}, for instance"
            )
        each = num_envs // len(tasks)
        one_hot, seed = keywords.pop("use_one_hot", False), keywords.pop("goals_seed", 0)
        count = integer("num_goals", keywords.pop("num_goals", _GOALS), 1, 10**6)
        most = keywords.pop("total_tasks_per_cls", None)
        random = np.random.RandomState(integer("goals_seed", seed, 0, 2**32 - 1 - self.later) + self.later)
        shares = []
        for place, task in enumerate(tasks):
            goals = _translator(task).draw_goals(random, count)
            own = {
                **self._defaults(),
                **{name: rows(value, place * each, each, num_envs) for name, value in keywords.items()},
            }
            own["goals"] = goals if most is None else goals[: integer("total_tasks_per_cls", most, 1, count)]
            if one_hot:
                own.update(num_tasks=len(tasks), task_idx=place)
            if self.hidden:
                if len(own["goals"]) % each:
                    raise ValueError(
                        f"num_envs={num_envs}: {each} lanes of each task cannot share out {len(own['goals'])} goals "
                        "evenly: take a number of lanes per task that divides that"
                    )
                own.update(goals_first=np.arange(each), goals_every=each)
            shares.append(Share(f"Meta-World/{task}-v3", each, own))
        return shares

    def _defaults(self) -> dict[str, Any]:
        if not self.hidden:
            return {}
        own = {"partially_observable": True, "task_select": "pseudorandom", "sample_tasks_on_reset": False}
        return {**own, "terminate_on_success": self.ends}

    def _tasks(self, keywords: dict[str, Any]) -> tuple[str, ...]:
        """The tasks' names. Takes "env_name" out of the keywords."""
        tasks = self.tasks
        if tasks is None:
            name = keywords.pop("env_name", None)
            if not isinstance(name, str) or name.removesuffix("-v3") not in _MT50:
                known = ", ".join(f"{task}-v3" for task in _MT50)
                raise ValueError(f"{self.env_id} needs the keyword env_name, one of {known}; it is {name!r}")
            tasks = (name.removesuffix("-v3"),)
        return tasks


def _translator(task: str) -> Any:
    from batchenv.envs import translator  # which imports this module

    return translator(TABLE[f"Meta-World/{task}-v3"].type_name)


def add_benchmarks() -> None:
    """Puts their ids into the table."""
    benchmarks = [Benchmark("Meta-World/MT1", None)]
    benchmarks += [Benchmark(f"Meta-World/{name}", tasks) for name, tasks in (("MT10", _MT10), ("MT25", _MT25))]
    benchmarks.append(Benchmark("Meta-World/MT50", _MT50))
    benchmarks.append(Benchmark("Meta-World/ML1-train", None, hidden=True))
    benchmarks.append(Benchmark("Meta-World/ML1-test", None, hidden=True, later=1, ends=True))
    for name, tasks in (("ML10", _ML10), ("ML25", _MT25), ("ML45", _ML45)):
        benchmarks.append(Benchmark(f"Meta-World/{name}-train", tasks, hidden=True))
        benchmarks.append(Benchmark(f"Meta-World/{name}-test", _TESTS[name], hidden=True, ends=True))
    for one in benchmarks:
        first = TABLE[f"Meta-World/{(one.tasks or _MT10)[0]}-v3"]
        put(one.env_id, Entry(first.type_name, _STEPS, None, _FPS, listed=False, family=_FAMILY, join=one))
