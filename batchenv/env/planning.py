"""The methods of BatchEnv that plan episodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from gymnasium import logger
from numpy.typing import NDArray

from batchenv.arguments.seeds import Seeds, read_seed
from batchenv.backend.course import Course, Entries
from batchenv.backend.protocol import Backend, Flags
from batchenv.env.base import Base
from batchenv.env.plan import Plan
from batchenv.env.plan_arguments import read_entries, read_lanes, read_order, read_weights


class Plans(Base):
    """`BatchEnv.plan` and its sisters."""

    present_plan: Plan | None = None

    def plan(
        self, *, seeds: Any = None, options: Any = None, params: Any = None, snapshots: Any = None, labels: Any = None,
        order: str | None = None, weights: Any = None, lanes: Any = None, repeat: bool = True, seed: int = 0,
    ) -> Plan:  # fmt: skip
        """Says what the lanes' next episodes are: from now on, each reset that is given no seed takes an entry of the
        plan, those of autoreset too, in `step`, `rollout`, `send` and `recv`, and in every library that steps this env.
        Present episodes go on.

            plan = env.plan(seeds=range(200), order="shuffled")

        An entry is what these arguments have in one place; each may be left out, but not all:

        Args:
            seeds: a list of ints: the episode is that of `reset(seed=...)` of this seed, whichever lane plays it. None
                in place of an int (or of the list): the lane's stream goes on.
            options: a list of dicts (or None), as `reset` takes them, without "reset_mask". Options given to a reset
                come in their place.
            params: {name: an array (entries, ...)}: parameters that may have a value per lane, and MuJoCo's fields of
                models, as `set_params` takes them. They stay until something else sets them.
            snapshots: a `Snapshot` with a lane per entry, or a list of Snapshots of one lane (or None): the episode
                goes on from there, with its elapsed steps, its return so far and its random stream, unless the entry
                has a seed: then the stream is the seed's.
            labels: a list or array of anything.
            order: "in_order" (default), "shuffled" (each entry once in a random order, and then in another one), or
                "sampled" (with `weights`; the default if they are given).
            weights: for "sampled", numbers from 0 on: (entries,), or (num_envs, entries) for lanes that draw from
                different ones. None: all are alike. `Plan.weights` changes them.
            lanes: for the other two orders, the lane of each entry, (entries,): each lane has a list of its own. None:
                the sequence of entries is dealt to lanes as cards are. Lane i gets entries i, i + num_envs, and so on.
            repeat: False: each entry comes once, and then the lane's stream goes on as without a plan.
            seed: of the order. It has nothing to do with the lanes' streams.

        Which entry a lane gets depends on the plan and on how many the lane has had, and on nothing else: not on the
        other lanes, nor on the number of threads or processes. `rollout` gives what `step` gives.

        With `labels`, or with record_episode_statistics=True, a step that ends episodes has, int64 (num_envs,),
        `infos["episode"]["entry"]`, the entries of the episodes that have ended (-1: not of a plan); with labels also
        `infos["episode"]["label"]`; and the mask `infos["_episode"]`.

        Snapshots hold each lane's place in its plan, which `restore` gives back where the env has a plan of as many
        entries or more; copies and pickles of the env hold the plan.

        Returns:
            Plan: the plan, which can be changed and ended; also `env.present_plan`.

        Raises:
            TypeError, ValueError: wrong or unknown values, different lengths. The plan before stays.
            RuntimeError: lanes are in flight. The plan before stays.
            NotImplementedError: the environment cannot do what an argument asks for.
        """
        backend = self._open()
        entries = read_entries(seeds, options, params, snapshots, labels)
        if not isinstance(repeat, (bool, np.bool_)):
            raise TypeError(f"repeat={repeat!r} must be True or False")
        order = read_order(order, weights, repeat)
        key = int(np.random.SeedSequence(read_seed(seed)).generate_state(1, np.uint64)[0])
        course = Course(
            entries,
            order,
            bool(repeat),
            read_weights(weights, entries.size, self.num_envs) if order == "sampled" else None,
            read_lanes(lanes, entries.size, self.num_envs, order),
            key,
            self.num_envs,
            labels is not None or bool(self._arguments.get("record_episode_statistics")),
        )
        return self._follow(backend, Plan(self, course), course)

    def end_plan(self) -> None:
        """Ends the plan, if there is one; see `Plan.end`.

        Raises:
            RuntimeError: lanes are in flight. The plan stays.
        """
        backend = self._open()
        if self.present_plan is not None:
            with backend.hold():
                backend.set_plan(None)
                self.present_plan = None
                self._set_spaces(backend)

    def _follow(self, backend: Backend, plan: Plan, course: Course, places: Any = None, stay: bool = False) -> Plan:
        """Makes this the present plan. places: of lanes in it; None: at its beginning. stay: where they are now."""
        with backend.hold():
            backend.set_plan(course, backend.places() if stay else places)
            plan._course, self.present_plan = course, plan
            self._set_spaces(backend)
        return plan

    def _replan(self, plan: Plan, entries: Entries, weights: Any, lanes: Any) -> None:
        """Lets a plan have other entries, which begin with those that it has."""
        backend, course = self._open(), plan._course
        count, before = entries.size, course.entries.size
        if course.weights is not None:
            if weights is None:
                more = np.ones((*course.weights.shape[:-1], count - before))
                weights = np.concatenate([course.weights, more], axis=-1)
            weights = read_weights(weights, count, self.num_envs)
        elif weights is not None:
            raise ValueError(f"weights are for order='sampled', not for order={plan.order!r}: leave them out")
        if course.lanes is not None:
            more = read_lanes(lanes, count - before, self.num_envs, plan.order)
            assert more is not None
            lanes = np.concatenate([course.lanes, more])
        self._follow(backend, plan, course._replace(entries=entries, weights=weights, lanes=lanes), stay=True)

    @contextmanager
    def _unplanned(self, backend: Backend, seeds: Seeds, mask: Flags | None) -> Iterator[None]:
        """While lanes of the mask (None: all) are reset: those of which a user has given the seed (`seeds`, checked)
        take no entry of the plan."""
        if self.present_plan is None or seeds is None:
            yield
            return
        own = np.ones(self.num_envs, np.bool_) if mask is None else mask.copy()
        if isinstance(seeds, list):
            own &= np.array([seed is not None for seed in seeds])
        lanes = np.flatnonzero(own)
        backend.skip_entries(lanes)
        try:
            yield
        finally:
            backend.skip_entries(None)

    def _put_places(self, backend: Backend, places: NDArray[np.int64] | None, lanes: NDArray[np.int64]) -> None:
        """Gives restored lanes the places in the plan that their snapshot had (None: it had none), if there are such
        places here. Otherwise the lanes go on as the plan says, and their present episodes are not of it."""
        if places is not None:
            try:
                backend.put_places(places, lanes)
                return
            except ValueError:
                logger.warn(
                    "the snapshot was taken under a plan of more entries or lanes than the present one has, so its "
                    "places in that plan are not restored"
                )
        own = backend.places()[lanes]
        own[:, 2] = -1
        backend.put_places(own, lanes)

    def _plan_state(self, backend: Backend) -> Any:
        """What pickles have of the plan."""
        return None if self.present_plan is None else (self.present_plan._course, backend.places())

    def _take_plan_state(self, state: Any) -> None:
        if state is not None:
            course, places = state
            self._follow(self._open(), Plan(self, course), course, places)
