"""Replays the blocks of a recording in an env, and compares its results with the recorded checksums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv.backend.protocol import LaneError
from batchenv.backend.stepwise import stepwise
from batchenv.env import wrapping
from batchenv.env.batch_env import BatchEnv
from batchenv.recordings import events, leaves, sums
from batchenv.recordings.contents import Contents, occurrences, positions
from batchenv.recordings.ends import Ends, flags_of, sorted_ends
from batchenv.recordings.infos import InfoForms, as_rollout
from batchenv.recordings.log import EVENT, EVERY, KEY, ROWS, STEPS
from batchenv.recordings.plans import Follower
from batchenv.recordings.window import Collector, as_array

_BYTES = 8 * 2**20  # of observations that are made at a time
Mismatch = Callable[[int, int, int, str], Exception]  # lane, first and last step, what: the error


class Player:
    """Replays lanes of a recording.

    Args:
        contents: of the recording.
        env: the env; it has the lanes numbered `lanes` in the recording.
        lanes: all of them, in their order, or some.
        mismatch: makes the error of a difference.
        trust: whether snapshots that are pickles are loaded.

    Attributes:
        at: int64: how many steps each lane has made.
        active: which lanes are where `at` says; the others wait for a key frame.
        observations: the present ones of all lanes, nested as the env has them; None: not known.
        place: the number of the next entry.
    """

    def __init__(self, contents: Contents, env: BatchEnv, lanes: NDArray[np.int64], mismatch: Mismatch, trust: bool):
        self.contents, self.env, self.lanes, self.trust, self._mismatch = contents, env, lanes, trust, mismatch
        self.backend = wrapping.backend_of(env)
        self.count = contents.header["num_envs"]
        self.whole = len(lanes) == self.count
        self.local = np.full(self.count, -1, np.int64)  # by the number of a lane in the recording
        self.local[lanes] = np.arange(len(lanes))
        self.at = np.zeros(len(lanes), np.int64)
        self.active = np.zeros(len(lanes), np.bool_)
        self.observations: Any = None
        self.follower = Follower(env, self.backend, lanes)
        self.place = 0
        self.parts = leaves.leaves_of(env.single_action_space)
        self._space = env.single_action_space
        self._infos = InfoForms(self.backend.info_forms())
        self._keys: dict[int, NDArray[np.int64]] = {}  # key frames that lanes wait for: by the number of the entry
        observation = _nbytes(env.single_observation_space)
        self._most = int(max(1, min(1024, _BYTES // max(1, observation * len(lanes)))))
        self._used = False
        self._single: list[Any] | None = None  # the results of single steps, where a rollout is made of them
        self._out: tuple[Any, ...] | None = None

    # ---- where to begin ------------------------------------------------------------------------------------------

    def seek(self, start: int) -> bool:
        """Begins where every lane can be stepped to `start`: at the latest key frames before it. False: that needs a
        new env, because snapshots do not hold all that has happened to this one; nothing was done."""
        entries, fresh = self.contents.entries, self.contents.header["fresh"]
        together = self.contents.header["normalizes"]  # moments belong to all lanes, which see by the present ones
        if together:
            start = max(0, start - 1)
        need = np.ones(len(self.lanes), np.bool_)
        self._keys, first = {}, len(entries)
        for number in range(len(entries) - 1, -1, -1):
            entry = entries[number]
            if not need.any():
                break
            if entry.kind != KEY or entry.low > start:
                continue
            meta, _ = self.contents.read(entry)
            at = positions(meta, self.count)[self.lanes]
            has = np.ones(self.count, np.bool_)
            if meta["lanes"] is not None:
                has[:] = False
                has[meta["lanes"]] = True
            mine = need & has[self.lanes] & (at <= start)
            if mine.all() or (mine.any() and not together):
                self._keys[number] = np.flatnonzero(mine)
                need &= ~mine
                first = number
        if self._used and (need.any() or self.contents.whole):
            return False
        self._used = True
        self.active[:] = False
        self.at[:] = 0
        self.observations = None
        if need.any():
            first = 0
            if fresh:
                self.active[need] = True
        self._before(first)
        self.place = first
        if self.backend.needs_reset and not (first == 0 and fresh):
            self.backend.reset(0, None, None)
        return True

    def _before(self, first: int) -> None:
        """Repeats, in their order, what key frames do not hold of what was before an entry: the plan, and changes of
        parameters, which may be of models."""
        contents = self.contents
        if not contents.plans and not contents.whole:
            return
        found = [contents.read(entry) for entry in contents.entries[:first] if entry.kind == EVENT]
        plan = max((k for k, (meta, _) in enumerate(found) if meta["kind"] == "plan"), default=-1)
        if plan < 0:
            self.follower.follow(None, None)
        for k, (meta, arrays) in enumerate(found):
            if (meta["kind"] == "params" and contents.whole) or k == plan or (meta["kind"] == "weights" and k > plan):
                events.replay(self, meta, arrays)

    # ---- entries -------------------------------------------------------------------------------------------------

    def play(self, collector: Collector | None = None) -> bool:
        """Replays the next entry; False: there is none."""
        entries = self.contents.entries
        if self.place >= len(entries):
            return False
        entry = entries[self.place]
        meta, arrays = self.contents.read(entry)
        if entry.kind == STEPS:
            self._steps(meta, arrays, collector)
        elif entry.kind == ROWS:
            self._rows(meta, arrays, collector)
        elif entry.kind == EVENT:
            self._event(meta, arrays, collector)
        elif entry.kind == KEY and self.place in self._keys:
            self._key(meta, arrays, collector)
        self.place += 1
        return True

    def _key(self, meta: dict[str, Any], arrays: dict[str, Any], collector: Collector | None) -> None:
        targets = self._keys[self.place]
        numbers = np.arange(self.count) if meta["lanes"] is None else np.asarray(meta["lanes"])
        rows = np.searchsorted(numbers, self.lanes[targets])
        self.restore(arrays["s"], rows, targets)
        if "places" in arrays:
            self.follower.put(arrays["places"][rows], targets)
        if meta["moments"]:
            events.put_moments(self.env, meta["moments"])
        self.at[targets] = positions(meta, self.count)[self.lanes[targets]]
        self.active[targets] = True
        if collector is not None:
            collector.before(targets, self.at[targets], self.observations)

    def restore(self, data: bytes, rows: NDArray[np.int64], targets: NDArray[np.int64]) -> None:
        """Puts rows of a snapshot into lanes.

        Raises:
            RecordingError: it is a pickle, and not trusted.
        """
        snapshot = events.snapshot_of(self, data)
        self.backend.check_snapshot(snapshot)
        self.observations = self.backend.restore(snapshot, rows, targets)

    def _event(self, meta: dict[str, Any], arrays: dict[str, Any], collector: Collector | None) -> None:
        lanes = events.replay(self, meta, arrays)
        lanes = lanes[self.active[lanes]]
        if "o" in arrays and len(lanes):
            found = sums.halves(sums.of_parts(leaves.flat(self.observations)))
            recorded = events.recorded(meta, arrays, self)
            wrong = lanes[found[lanes] != recorded[lanes]]
            if len(wrong):
                lane, at = int(wrong[0]), int(self.at[wrong[0]])
                raise self._mismatch(int(self.lanes[lane]), at, at, f"observations after {meta['kind']!r}")
        if collector is not None and self.observations is not None:
            collector.change(lanes, self.at[lanes], self.observations)

    def taken(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a call, also that of a LaneError."""
        try:
            return call(*arguments)
        except LaneError as error:  # as the recorded env raised it, unless the results differ
            return error.result

    def _steps(self, meta: dict[str, Any], arrays: dict[str, Any], collector: Collector | None) -> None:
        count = meta["t"]
        actions = [leaves.unpacked(leaf, arrays[f"a{k}"], (count, self.count)) for k, leaf in enumerate(self.parts)]
        if not self.whole:
            actions = [part[:, self.lanes] for part in actions]
        if not self.active.all():
            self._some_steps(count, actions, arrays, collector)
            return
        first = self.at.copy()
        rewards, seen = np.zeros(len(first), np.uint64), np.zeros(len(first), np.uint64)
        ends: list[tuple[Any, Any, Any]] = []
        for begin in range(0, count, self._most):
            part = [leaf[begin : begin + self._most] for leaf in actions]
            nest = leaves.built(self.parts, part, self._space)
            result = self._rollout(nest, len(part[0]), collector)
            rewards = sums.over_steps(rewards, sums.words_of(result[1]))
            for t in self._due_steps(len(part[0])):
                found = sums.added(seen, self._sums_of(result, t))
                seen = np.where((self.at + t + 1) % EVERY == 0, found, seen)
            if result[2].any() or result[3].any():
                lanes, steps, flags = sorted_ends(result[2], result[3])
                ends.append((lanes, steps + begin, flags))
            if collector is not None:
                self._tell(collector, np.arange(len(self.at)))
                collector.steps(self.at, result, nest)
            self.at += len(part[0])
            self._observed([as_array(leaf[len(part[0]) - 1]) for leaf in leaves.flat(result[0])], result[0])
        self._compare(first, rewards, seen, ends, arrays)

    def _sums_of(self, result: Any, t: int) -> Any:
        """The sums of what a step of a rollout has shown."""
        count = len(self.at)
        if self._single is not None:  # as they were recorded: texts are others once they are stacked
            observations, *_, infos = self._single[t]
            return sums.of_parts([*leaves.flat(observations), *self._infos.of(infos, count)])
        row = [leaf[t] for leaf in leaves.flat(result[0])]
        return sums.of_parts([*row, *self._infos.of(result[4], count, t)])

    def _due_steps(self, count: int) -> Sequence[int]:
        """Which of the next steps have lanes whose observations are in the checksums."""
        phases = np.unique(self.at % EVERY)
        return [t for t in range(count) if ((phases + t + 1) % EVERY == 0).any()]

    def _tell(self, collector: Collector, lanes: NDArray[np.int64]) -> None:
        """Tells a collector what lanes' observations are before a step."""
        if self.observations is not None:
            collector.before(lanes, self.at[lanes], self.observations)

    def _observed(self, rows: Sequence[Any], form: Any) -> None:
        self.observations = leaves.nested_as(form, [np.array(row) for row in rows])

    def _rollout(self, actions: Any, count: int, collector: Collector | None) -> Any:
        self._single = None
        if self.env.autoreset_mode is AutoresetMode.DISABLED:
            single = _Single(self.backend)
            result = self.taken(stepwise, single, actions, count, 0, 0, None)
            self._single = single.results
            return result
        out = None if collector is not None else self._arrays(count)
        return self.taken(self.backend.rollout, actions, count, 0, 0, out)

    def _arrays(self, count: int) -> Any:
        """Arrays to write into, again and again, where nobody wants to keep the results."""
        space = self.env.single_observation_space
        if self.backend.has_envs or space.shape is None or type(space).__name__ != "Box":
            return None
        if self._out is None:
            rows = (self._most, len(self.lanes))
            rewards = np.empty(rows, self.env.config.get("reward_dtype", "float64"))
            self._out = (
                np.empty((*rows, *space.shape), space.dtype),
                rewards,
                np.empty(rows, bool),
                np.empty(rows, bool),
            )
        return tuple(array[:count] for array in self._out)

    def _compare(
        self, first: Any, rewards: Any, seen: Any, ends: Sequence[tuple[Any, Any, Any]], arrays: dict[str, Any],
        lanes: NDArray[np.int64] | None = None,
    ) -> None:  # fmt: skip
        """Raises the error of a difference between what was recorded and what was found, of these lanes (None: all).
        first: their first steps."""
        lanes = np.arange(len(self.lanes)) if lanes is None else lanes
        numbers = self.lanes[lanes]
        stop = self.at[lanes]
        for name, found, what in (("r", rewards, "rewards"), ("o", seen, "observations or infos")):
            wrong = np.flatnonzero(sums.halves(found[lanes]) != arrays[name][numbers])
            if len(wrong):
                k = wrong[0]
                raise self._mismatch(int(numbers[k]), int(first[lanes][k]), int(stop[k]) - 1, what)
        recorded = Ends.of(arrays)
        mine = np.zeros(self.count, np.bool_)
        mine[numbers] = True
        keep = mine[recorded.lanes]
        there = (self.local[recorded.lanes[keep]], recorded.steps[keep], recorded.flags[keep])
        here = tuple(np.concatenate(column) for column in zip(*ends, strict=True)) if ends else there[:0]
        here = here or tuple(np.empty(0, np.int64) for _ in range(3))
        if _equal(here, there):
            return
        # Lanes that were received are in the order in which they got finished.
        there, here = (tuple(column[np.lexsort((some[1], some[0]))] for column in some) for some in (there, here))
        if _equal(here, there):
            return
        found, known = (
            {(a, b): c for a, b, c in zip(*(x.tolist() for x in some), strict=True)} for some in (here, there)
        )
        lane, step = min(key for key in found.keys() | known.keys() if found.get(key) != known.get(key))
        at = int(first[lane]) + step
        raise self._mismatch(int(self.lanes[lane]), at, at, "ends of episodes")

    # ---- steps of some lanes -------------------------------------------------------------------------------------

    def _some_steps(self, count: int, actions: Any, arrays: dict[str, Any], collector: Collector | None) -> None:
        lanes = np.flatnonzero(self.active)
        if not len(lanes):
            return
        waves = [(lanes, [part[t][lanes] for part in actions]) for t in range(count)]
        self._waves(waves, arrays, collector)

    def _rows(self, meta: dict[str, Any], arrays: dict[str, Any], collector: Collector | None) -> None:
        which = arrays["w"].astype(np.int64)
        actions = [leaves.unpacked(leaf, arrays[f"a{k}"], (len(which),)) for k, leaf in enumerate(self.parts)]
        local = self.local[which]
        if self.contents.header["normalizes"]:  # moments depend on which rows came together
            calls = np.split(np.arange(len(which)), np.cumsum(arrays["n"])[:-1].astype(np.int64))
        else:
            mine = np.flatnonzero(local >= 0)
            mine = mine[self.active[local[mine]]]
            turn = occurrences(which)[mine]
            order = np.argsort(turn, kind="stable")
            calls = np.split(mine[order], np.flatnonzero(np.diff(turn[order])) + 1) if len(mine) else []
        self._waves([(local[rows], [part[rows] for part in actions]) for rows in calls], arrays, collector)

    def _waves(self, waves: Any, arrays: dict[str, Any], collector: Collector | None) -> None:
        first = self.at.copy()
        rewards, seen = np.zeros(len(first), np.uint64), np.zeros(len(first), np.uint64)
        ends: list[tuple[Any, Any, Any]] = []
        for lanes, actions in waves:
            nest = leaves.built(self.parts, actions, self._space)
            result = self.taken(self.backend.step_some, nest, lanes, None)
            taken = self.at[lanes] - first[lanes]
            rewards[lanes] = sums.added(rewards[lanes], sums.words_of(result[1]).astype(np.uint64))
            observations = leaves.flat(result[0])
            due = np.flatnonzero((self.at[lanes] + 1) % EVERY == 0)
            if len(due):
                parts = sums.of_parts([*observations, *self._infos.of(result[4], len(lanes))])
                seen[lanes[due]] = sums.added(seen[lanes[due]], parts[due])
            flags = flags_of(np.asarray(result[2]), np.asarray(result[3]))
            over = np.flatnonzero(flags)
            ends.append((lanes[over], taken[over], flags[over]))
            if collector is not None:
                self._tell(collector, lanes)
                infos = result[4] if self.backend.has_envs else as_rollout(result[4], len(lanes))
                collector.rows(lanes, self.at[lanes], (*result[:4], infos), nest)
            self.at[lanes] += 1
            self._scatter(lanes, observations, result[0])
        stepped = np.flatnonzero(self.at > first)
        if len(stepped):
            self._compare(first, rewards, seen, ends, arrays, stepped)

    def _scatter(self, lanes: NDArray[np.int64], rows: Sequence[Any], form: Any) -> None:
        """Notes new observations of some lanes."""
        rows = [as_array(row) for row in rows]
        if self.observations is None:
            count = len(self.lanes)
            known = [np.empty((count, *row.shape[1:]), row.dtype) for row in rows]
        else:
            known = [np.array(as_array(part)) for part in leaves.flat(self.observations)]
        for target, row in zip(known, rows, strict=True):
            target[lanes] = row
        self.observations = leaves.nested_as(form, known)


class _Single:
    """A backend whose steps are kept."""

    def __init__(self, backend: Any):
        self._backend, self.results = backend, list[Any]()

    def step(self, actions: Any, out: Any) -> Any:
        try:
            result = self._backend.step(actions, out)
        except LaneError as error:
            self.results.append(error.result)
            raise
        self.results.append(result)
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)


def _nbytes(space: Any) -> int:
    parts = getattr(space, "spaces", None)
    if parts is not None:
        return sum(_nbytes(part) for part in (parts.values() if hasattr(parts, "values") else parts))
    return (
        8 if space.shape is None or space.dtype is None else int(np.prod(space.shape)) * np.dtype(space.dtype).itemsize
    )


def _equal(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(some, others, strict=True))
