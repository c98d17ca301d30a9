"""A plan that lanes follow."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.backend.course import Course
from batchenv.env.plan_arguments import read_entries, read_weights


class Plan:
    """What the next episodes of an env's lanes are, from `BatchEnv.plan`, which makes it. `len(plan)` is the number of
    entries. It ends with `end`, or with the env's next plan; an ended plan can only be looked at.

    Attributes:
        order, repeat: as given.
    """

    def __init__(self, env: Any, course: Course):
        self._env = weakref.ref(env)  # a BatchEnv, which has this object
        self._course = course
        self.order, self.repeat = course.order, course.repeat

    def __len__(self) -> int:
        return self._course.entries.size

    def __reduce__(self) -> Any:
        raise TypeError(f"{self!r} cannot be pickled or copied by itself: pickle the env, which comes with its plan")

    def __repr__(self) -> str:
        return f"Plan({len(self)} entries, order={self.order!r})"

    @property
    def seeds(self) -> list[int | None] | None:
        """The seed of each entry; None: the plan has none."""
        seeds = self._course.entries.seeds
        return None if seeds is None else list(seeds)

    @property
    def labels(self) -> NDArray[Any] | None:
        """The label of each entry; None: the plan has none."""
        labels = self._course.entries.labels
        return None if labels is None else labels.copy()

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """With order="sampled" the weight of each entry, (entries,) or (num_envs, entries), else None. A copy; setting
        it changes what lanes draw from their next episodes on. Lanes of env.send() may be working meanwhile: those that
        have been sent may have drawn already.

        Raises (when set):
            TypeError, ValueError: a wrong shape or value. Nothing has changed.
        """
        weights = self._course.weights
        return None if weights is None else weights.copy()

    @weights.setter
    def weights(self, weights: Any) -> None:
        env = self._owner()
        if self.order != "sampled":
            raise ValueError(f"order={self.order!r} has no weights: make a plan with order='sampled'")
        checked = read_weights(weights, len(self), env.num_envs)
        with env._hold():
            env._open().set_weights(self._course._replace(weights=checked))
            self._course = self._course._replace(weights=checked)

    @property
    def entries(self) -> NDArray[np.int64]:
        """The entry of each lane's present episode, (num_envs,); -1 where the episode is not of the plan."""
        env = self._owner()
        with env._hold():
            return env._open().places()[:, 2].copy()

    def extend(
        self, *, seeds: Any = None, options: Any = None, params: Any = None, snapshots: Any = None, labels: Any = None,
        weights: Any = None, lanes: Any = None,
    ) -> None:  # fmt: skip
        """Adds entries after the present ones; they say the same kinds of things.

        Args:
            seeds, options, params, snapshots, labels: as for `BatchEnv.plan`.
            weights: with order="sampled", those of all entries, the present ones first; None: present ones keep theirs,
                and new ones get 1.
            lanes: of the new entries, if the plan has lanes.

        Raises:
            TypeError, ValueError: as `BatchEnv.plan`; other kinds of things; a plan whose order is "shuffled". Nothing
                has changed.
            RuntimeError: lanes are in flight, or the plan has ended. Nothing has changed.
        """
        env, course = self._owner(), self._course
        if self.order == "shuffled":
            raise ValueError("a shuffled plan cannot grow, since that would change its order: make a new one")
        if (lanes is None) != (course.lanes is None):
            given = "has lanes" if lanes is None else "has none"
            raise ValueError(f"lanes={lanes!r}, but the plan {given}: new entries need the same")
        joined = course.entries.and_then(read_entries(seeds, options, params, snapshots, labels))
        env._replan(self, joined, weights, lanes)

    def end(self) -> None:
        """Ends the plan. The present episodes go on; the next ones go on with the lanes' streams. Parameters that
        entries have set stay.

        Raises:
            RuntimeError: lanes are in flight.
        """
        self._owner().end_plan()

    def _owner(self) -> Any:
        env = self._env()
        if env is None:
            raise RuntimeError(f"the env of {self!r} is gone: keep it as long as you use its plan")
        if env.present_plan is not self:
            raise RuntimeError(f"{self!r} has ended: env.plan(...) makes a new one")
        return env
