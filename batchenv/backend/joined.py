"""The backend for lanes of several C types, or of one with several keywords: neighbouring lanes have the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv import _core
from batchenv.backend.arrivals import Arrivals
from batchenv.backend.core import RING, CoreBackend
from batchenv.backend.joined_rows import Landed, together
from batchenv.backend.joined_states import JoinedStates
from batchenv.backend.lanes import rows_of
from batchenv.backend.protocol import Drawer, Flags, InfoDict, LaneSpaces, Options, Shortcuts, Step
from batchenv.backend.stepwise import random_actions
from batchenv.backend.transforms import DEFAULTS, Transforms, flag
from batchenv.backend.translator import Translator
from batchenv.spaces.widest import widest

_LAST = ("normalize_observation", "clip_observation", "normalize_reward", "reward_dtype")  # done for all lanes at once
_NO_LANES = np.array([], np.int64)


class Part(NamedTuple):
    """Neighbouring lanes that have one task.

    name: the task's, for messages. translator: a new one. params: keywords.
    """

    name: str
    translator: Translator
    num_envs: int
    params: dict[str, Any]


class JoinedBackend(JoinedStates):
    """See `Backend`. What is sent is stepped at once, by `send`.

    Attributes:
        joined: the C core's batches, stepped together.
        parts: (number of the first lane, backend) of each.
        normalizers, transforms: as of `CoreBackend`.

    Args:
        parts: of which their lanes consist, in this order.
        keywords: `keywords()`, without parameters of lanes. fixed: parameters that these keywords set.
        autoreset_mode, threads, limit, batch_size, cpus, copy, clip_actions, transforms, builtin: as of `CoreBackend`.
    """

    kind = "C"

    def __init__(
        self,
        env_id: str,
        parts: Sequence[Part],
        *,
        keywords: dict[str, Any],
        fixed: Sequence[str] = (),
        autoreset_mode: AutoresetMode,
        threads: int,
        limit: int,
        batch_size: int,
        cpus: list[int] | None,
        copy: Any,
        clip_actions: Any,
        transforms: dict[str, Any],
        builtin: list[str],
    ):
        self._id, self._keywords, self._fixed, self._rows = env_id, keywords, fixed, batch_size
        firsts = np.cumsum([0, *(part.num_envs for part in parts)]).tolist()
        self.num_envs = firsts.pop()
        theirs = {**transforms, **{name: DEFAULTS[name] for name in _LAST}}
        made = [
            CoreBackend(
                part.name,
                part.translator,
                part.num_envs,
                autoreset_mode=autoreset_mode,
                threads=threads,
                limit=limit,
                batch_size=part.num_envs,
                cpus=None,
                copy=True,
                clip_actions=clip_actions,
                transforms=theirs,
                params=part.params,
                builtin=builtin,
            )
            for part in parts
        ]
        self.parts = list(zip(firsts, made, strict=True))
        self._names = [part.name for part in parts]
        self._transforms = Transforms(
            limit or None, **{**made[0].transforms, **{name: transforms[name] for name in _LAST}}
        )
        self.transforms = self._transforms.keywords
        self._raw: tuple[Any, Any] | None = None
        self._look_at_spaces()
        self._check_ports()
        self.joined = _core.Joined(
            [part.core for part in made],
            env_id,
            threads,
            0 if flag("copy", copy) else RING,
            flag("clip_actions", clip_actions),
            transform=self._transforms.core,
        )
        self.joined.set_affinity(cpus)
        same_step = autoreset_mode is AutoresetMode.SAME_STEP
        stage = self._transforms.stage(self.num_envs, same_step, self._layout.observation_space)
        self.joined.set_stage(stage, self._transforms.reward_dtype)
        self.normalizers = stage.normalizers() if stage is not None else {}
        self._landed: list[Landed] = []
        self._arrivals = Arrivals(batch_size)

    def _check_ports(self) -> None:
        for (_, other), name in zip(self.parts[1:], self._names[1:], strict=True):
            found = _core.differing_ports(self.parts[0][1].core, other.core)
            if found is not None:
                raise ValueError(
                    f"{self._id}: lanes of {self._names[0]} and of {name} cannot be in one batch: {found!r}, which "
                    "goes into lanes or comes out of them, is not of the same form in both"
                )

    @property
    def num_threads(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride] BatchEnv only reads it
        return self.joined.num_threads

    @property
    def closed(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride] likewise
        return self.joined.closed

    @property
    def needs_reset(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride] likewise
        return self.joined.needs_reset

    def hold(self, settle: bool = True) -> Any:
        return self.joined.hold()

    def close(self) -> None:
        self.joined.close()
        for _, part in self.parts:
            part.translator.release()
        self._arrivals.close()

    # ---- spaces and steps --------------------------------------------------------------------------------------------

    def layout(self) -> LaneSpaces:
        return self._layout

    def _look_at_spaces(self) -> None:
        seen, acted = zip(*(part.raw_spaces() for _, part in self.parts), strict=True)
        raw = widest(seen)
        if raw is None:
            raise self._differing("observations of one shape and dtype", seen)
        if any(space != acted[0] for space in acted):
            raise self._differing("actions of one space", acted)
        if (raw, acted[0]) != self._raw:
            self._layout = LaneSpaces(self._transforms.space(raw), acted[0])
            self._raw = raw, acted[0]

    def _differing(self, what: str, several: Sequence[spaces.Space[Any]]) -> ValueError:
        told = "; ".join(f"{name}: {space}" for name, space in zip(self._names, several, strict=True))
        return ValueError(f"{self._id}: lanes of one batch need {what}, and have {told}")

    def info_forms(self) -> Sequence[tuple[tuple[str, ...], Any, tuple[int, ...]]]:
        return self.parts[0][1].info_forms()

    def shortcuts(self) -> Shortcuts:
        return Shortcuts(self.joined.hold_and_step)

    def _seeds_of_each(self, seeds: Any) -> list[Any]:
        if isinstance(seeds, int):
            return [seeds + first for first, _ in self.parts]
        return [seeds if seeds is None else seeds[first : first + part.num_envs] for first, part in self.parts]

    def reset(self, seeds: Any, mask: Flags | None, options: Options) -> tuple[Any, InfoDict]:
        each = []
        for first, part in self.parts:
            own = {name: self._own(value, first, part) for name, value in (options or {}).items()}
            each.append(part.core_options(own) if own else None)
        result = self.joined.reset(self._seeds_of_each(seeds), mask, each)
        if mask is None:
            self._forget_flights()
        return self.joined.deliver(result)

    def step(self, actions: Any, out: Any) -> Any:
        return self.joined.deliver(self.joined.step(actions, out))

    def step_some(self, actions: Any, env_id: Any, out: Any) -> Any:
        return self.joined.deliver(self.joined.step_some(actions, env_id, out))

    def rollout(self, actions: Any, steps: int, key: int, first_step: int, out: Any) -> tuple[Any, ...]:
        if actions is None:
            actions = random_actions(self._layout.action_space, self.num_envs, steps, key, first_step)
        return self.joined.deliver(self.joined.rollout(actions, steps, out))

    # ---- lanes in flight ---------------------------------------------------------------------------------------------

    def send(self, actions: Any, env_id: Any) -> NDArray[np.int64]:
        if self.needs_reset:
            self.joined.require_reset("send()")
        lanes = self.joined.read_lanes(env_id, "nothing was sent")
        result = self.joined.step_some(actions, lanes, None, "sending", "nothing was sent")
        self._land(lanes, result)
        return lanes

    def send_reset(self, seeds: Any, options: Options) -> None:
        try:
            observations, infos = self.reset(seeds, None, options)
        except _core.LaneError as error:
            observations, infos = error.result
            self.joined.failed = error.env_id
        count = self.num_envs
        infos["env_id"] = np.arange(count)
        flags = np.zeros((2, count), np.bool_)
        rewards = np.zeros(count, self._transforms.reward_dtype)
        self._land(np.arange(count), (observations, rewards, flags[0], flags[1], infos))

    def _land(self, lanes: NDArray[np.int64], result: Step) -> None:
        failed, self.joined.failed = self.joined.failed, None
        texts, causes = ([], {}) if failed is None else self.joined.causes(failed)
        self._landed.append(Landed(lanes, result, _NO_LANES if failed is None else failed, texts, causes))
        self.joined.away = self.joined.away + lanes.tolist()
        self._arrivals.extend(lanes.tolist())

    def _forget_flights(self) -> None:
        self._arrivals.take(len(self.joined.away))
        self._landed, self.joined.away = [], []

    def recv(self, timeout: float | None) -> Any:
        there, rows = self.in_flight(), self._rows
        if there < rows:
            raise _core.batch_starved(there, rows)
        taken, left = [], list(self._landed)
        while rows:
            one = left.pop(0)
            if len(one.lanes) > rows:
                one, rest = one.split(rows)
                left.insert(0, rest)
            taken.append(one)
            rows -= len(one.lanes)
        batch = together(taken, self._rows == self.num_envs)
        self.joined.note_received(batch.lanes)  # while there may be no memory for it, nothing has been taken
        self._landed, self.joined.away = left, self.joined.away[self._rows :]
        self._arrivals.take(self._rows)
        if len(batch.failed):
            raise _core.caused(_core.lanes_failed(batch.failed, batch.texts, batch.result), batch.causes)
        return batch.result

    def in_flight(self) -> int:
        return len(self.joined.away)

    def fileno(self) -> int:
        return self._arrivals.fileno()

    # ---- pictures ----------------------------------------------------------------------------------------------------

    def drawer(self, mode: str) -> Drawer:
        return _JoinedDrawer([(first, part.num_envs, part.drawer(mode)) for first, part in self.parts])


class _JoinedDrawer(Drawer):
    """parts: (first lane, how many, what draws them)."""

    def __init__(self, parts: list[tuple[int, int, Drawer]]):
        self._parts = parts

    def watch(self, actions: Any, lanes: Any = None) -> None:
        for first, count, drawer in self._parts:
            rows = slice(first, first + count)
            if lanes is None:
                drawer.watch(rows_of(actions, rows))
                continue
            rows = np.flatnonzero((lanes >= first) & (lanes < first + count))
            if len(rows):
                drawer.watch(rows_of(actions, rows), lanes[rows] - first)

    def forget(self, lanes: Any) -> None:
        for first, count, drawer in self._parts:
            drawer.forget(lanes[(lanes >= first) & (lanes < first + count)] - first)

    def draw(self, lanes: Iterable[int]) -> tuple[Any, ...] | None:
        pictures = []
        for lane in lanes:
            first, _, drawer = next(part for part in reversed(self._parts) if part[0] <= lane)
            pictures += drawer.draw([lane - first]) or ()
        return tuple(pictures)

    def close(self) -> None:
        for _, _, drawer in self._parts:
            drawer.close()
