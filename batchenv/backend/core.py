"""The backend for lanes of C types: the C core's batch, its translator and its transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv import _core, text
from batchenv.arguments.messages import unknown_keyword, unknown_option
from batchenv.backend.lanes import mask_of, spread, state_columns
from batchenv.backend.planned import PlannedBackend
from batchenv.backend.protocol import Drawer, Flags, InfoDict, LaneSpaces, Options, ResetNeeded, Shortcuts
from batchenv.backend.snapshot import Snapshot
from batchenv.backend.transforms import DEFAULTS, Transforms, flag
from batchenv.backend.translator import Translator
from batchenv.spaces import nested

RING = 4


def _space(ports: dict[str, tuple]) -> spaces.Space[Any]:
    """The space that the ports with these names form together."""
    leaves = [_space_of_port(description) for description in ports.values()]
    return nested.build(nested.tree_of(list(ports)), leaves, spaces.Dict, spaces.Tuple)


def _space_of_port(description: tuple) -> spaces.Space[Any]:
    kind, dtype, shape, low, high = description
    if kind == "discrete":
        return spaces.Discrete(int(high[0] - low[0]) + 1, start=int(low[0]))
    if kind == "multi_discrete":
        start = np.array(low, np.int64).reshape(shape)
        return spaces.MultiDiscrete(np.array(high, np.int64).reshape(shape) - start + 1, start=start)
    if kind == "multi_binary":
        return spaces.MultiBinary(shape[0] if len(shape) == 1 else shape)
    if kind == "text":
        return text.space_of(low)
    if kind == "tuple":
        return spaces.Tuple([spaces.Discrete(int(last) + 1) for last in high])
    return spaces.Box(np.array(low, dtype).reshape(shape), np.array(high, dtype).reshape(shape), shape, dtype)


class CoreBackend(PlannedBackend):
    """See `Backend`.

    Attributes:
        core: the C core's batch.
        translator: the translator of the C type.
        normalizers: {name of BatchEnv's attribute: the object that normalizes observations or rewards}.
        transforms: BatchEnv's built-in transforms as they are in effect: {keyword: value}.

    Args:
        env_id: used in messages and for pictures.
        translator: a new translator of the C type.
        autoreset_mode, num_envs, threads, limit, batch_size, cpus: as BatchEnv has checked them; limit=0 means no
            limit.
        copy, clip_actions, transforms, params: as the user gave them.
        builtin: names of the keywords of every environment, for messages.
    """

    kind = "C"

    def __init__(
        self,
        env_id: str,
        translator: Translator,
        num_envs: int,
        *,
        autoreset_mode: AutoresetMode,
        threads: int,
        limit: int,
        batch_size: int,
        cpus: list[int] | None,
        copy: Any,
        clip_actions: Any,
        transforms: dict[str, Any],
        params: dict[str, Any],
        builtin: list[str],
    ):
        self.num_envs = num_envs
        self.translator = translator
        self._id = env_id
        names = [keyword[0] for keyword in translator.KEYWORDS]
        names += [row["name"] for row in _core.type_info(translator.type_name)["params"]]
        params = {translator.ALIASES.get(name, name): value for name, value in params.items()}
        for name in params:
            if name not in names and name not in translator.fields:
                raise TypeError(unknown_keyword(env_id, name, names, builtin, translator.fields))
        params, grid = translator.to_core(params)
        translator.check_transforms(transforms)
        meant = {name: value for name, value in translator.transforms.items() if transforms[name] == DEFAULTS[name]}
        self._transforms = Transforms(limit or None, **{**transforms, **meant})
        self.transforms = self._transforms.keywords
        self.core = _core.Batch(
            translator.type_name,
            num_envs,
            _core.AUTORESET_MODES[autoreset_mode.name],
            limit,
            params,
            threads,
            0 if flag("copy", copy) else RING,
            flag("clip_actions", clip_actions),
            transform=self._transforms.core,
            grid=grid,
            engine=translator.engine(num_envs, threads + 1),  # workers, and the caller, which helps them
        )
        self.core.set_queue(batch_size, cpus)
        others = translator.other_options(_core.type_info(translator.type_name)["options"])
        self._options = [*(name for name, *_ in translator.OPTIONS), *(row["name"] for row in others)]
        self._look_at_spaces()
        same_step = autoreset_mode is AutoresetMode.SAME_STEP
        stage = self._stage = self._transforms.stage(num_envs, same_step, self._layout.observation_space)
        self.core.set_stage(stage, self._transforms.reward_dtype)
        self.normalizers = stage.normalizers() if stage is not None else {}

    @property
    def num_threads(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride] BatchEnv only reads it
        return self.core.num_threads

    @property
    def closed(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride] likewise
        return self.core.closed

    @property
    def needs_reset(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride] likewise
        return self.core.needs_reset

    def hold(self, settle: bool = True) -> Any:
        return self.core.hold(settle)

    def close(self) -> None:
        self.core.close()
        self.translator.release()

    # ---- spaces and steps ----------------------------------------------------------------------------------------

    def layout(self) -> LaneSpaces:
        return self._layout

    def raw_spaces(self) -> tuple[spaces.Space[Any], spaces.Space]:
        """The spaces of a lane as the environment has them."""
        observation, action = self.core.spaces()
        return self.translator.observation_space(_space(observation)), _space(action)

    def _in_core(self) -> bool:
        """Whether all of an observation goes through the C core."""
        return True

    def _look_at_spaces(self) -> None:
        raw, action = self.raw_spaces()
        layout = LaneSpaces(self._transforms.space(raw, self._in_core()), action)
        coefficients = self._transforms.coefficients(raw)
        if coefficients is not None:
            self.core.rescale(*coefficients)
        self._layout = layout

    def info_forms(self) -> Sequence[tuple[tuple[str, ...], Any, tuple[int, ...]]]:
        return self.core.infos()

    def shortcuts(self) -> Shortcuts:
        return Shortcuts(self.core.hold_and_step, self.core.hold_and_send, self.core.hold_and_recv)

    def waiting(self) -> NDArray[np.bool_]:
        return self.core.waiting()

    def reset(self, seeds: Any, mask: Flags | None, options: Options) -> tuple[Any, InfoDict]:
        return self.core.deliver(self.core.reset(seeds, mask, self.core_options(options)))

    def core_options(self, options: Options) -> Options:
        """A reset's options as the C type has them. Raises ValueError for one that there is not."""
        for name, value in (options or {}).items():
            if name not in self._options:
                keywords = [*self.core.get_params(), *(keyword[0] for keyword in self.translator.KEYWORDS)]
                message = unknown_option(self._id, name, value, self._options, keywords)
                raise ValueError(f"{message}{self.translator.START and '. '}{self.translator.START}")
        return options and self.translator.options_to_core(options, self.num_envs)

    def step(self, actions: Any, out: Any) -> Any:
        return self.core.deliver(self.core.step(actions, out))

    def step_some(self, actions: Any, env_id: Any, out: Any) -> Any:
        return self.core.deliver(self.core.step_some(actions, env_id, out))

    def send(self, actions: Any, env_id: Any) -> NDArray[np.int64]:
        return self.core.send(actions, env_id)

    def send_reset(self, seeds: Any, options: Options) -> None:
        self.core.queue_reset(seeds, self.core_options(options))

    def recv(self, timeout: float | None) -> Any:
        return self.core.deliver(self.core.recv(timeout))

    def in_flight(self) -> int:
        return self.core.in_flight()

    def fileno(self) -> int:
        return self.core.fileno()

    def rollout(self, actions: Any, steps: int, key: int, first_step: int, out: Any) -> tuple[Any, ...]:
        return self.core.deliver(self.core.rollout(actions, steps, key, first_step, out))

    # ---- snapshots -----------------------------------------------------------------------------------------------

    def snapshot(self, lanes: NDArray[np.int64]) -> Snapshot:
        self.translator.check_snapshot(self.core.get_params())
        return Snapshot(self.core.snapshot(lanes))

    def check_snapshot(self, snapshot: Snapshot) -> int:
        return self.core.check_snapshot(bytes(snapshot))

    def restore(self, snapshot: Snapshot, rows: NDArray[np.int64], lanes: NDArray[np.int64]) -> Any:
        """See `Backend.restore`. Parameters come along."""
        data = bytes(snapshot)
        chosen = mask_of(lanes, self.num_envs)
        self.core.refuse_in_flight("restore()", chosen)
        params = self.core.get_params()
        changed = {}
        for name, values in self.core.snapshot_params(data, rows).items():
            present = np.broadcast_to(params[name], (self.num_envs,))
            if not np.array_equal(present[lanes], values):
                saved_values = np.empty(self.num_envs, values.dtype)
                saved_values[lanes] = values
                changed[name] = np.where(chosen, saved_values, present)
        if changed:
            self.set_params(changed, None)
        return self.core.load(data, rows, lanes)

    # ---- parameters and attributes -------------------------------------------------------------------------------

    def get_params(self) -> dict[str, Any]:
        return self.core.get_params()

    def set_params(self, params: dict[str, Any], lanes: NDArray[np.int64] | None) -> None:
        """See `Backend.set_params`; `params` may also have the translator's `fields`. Either all changes are made or
        none."""
        before, fields = self.core.get_params(), self.translator.fields
        for name in params:
            if name not in before and name not in fields:
                raise TypeError(unknown_keyword(self._id, name, before, fields=fields))
        mask = None
        if lanes is not None:
            mask = mask_of(lanes, self.num_envs).view(np.bool_)
            shapes = {name: self.translator.field_shape(name) for name in params if name in fields}
            params = {
                name: spread(name, value, shapes.get(name, ()), lanes, self.num_envs) for name, value in params.items()
            }
        model = {name: params[name] for name in fields if name in params}
        self.core.set_params({name: value for name, value in params.items() if name not in model}, mask)
        try:
            self._look_at_spaces()
            if model:
                self.translator.set_fields(np.arange(self.num_envs) if lanes is None else lanes, model)
        except BaseException:  # a transform cannot handle the new spaces, or a model is refused
            self.core.set_params(before)
            self._look_at_spaces()
            raise

    def state(self) -> dict[str, NDArray[Any]]:
        inputs = {name: values.copy() for name, values in self.translator.inputs().items()}
        return {**self.core.state(), **inputs, "elapsed_steps": self.core.elapsed()}

    def set_state(self, values: dict[str, Any], lanes: NDArray[np.int64]) -> Any:
        if self.has_envs:  # what environments in Python hold is theirs
            raise self._lacks("set_state()")
        chosen = mask_of(lanes, self.num_envs)
        self.core.refuse_in_flight("set_state()", chosen)
        if self.core.needs_reset:
            raise ResetNeeded("env.set_state() before any reset: call env.reset() once first")
        waiting = np.flatnonzero(self.core.waiting() & (chosen != 0))
        if len(waiting):
            raise ValueError(
                f"lane {waiting[0]} has finished its episode and waits for its reset, so it cannot be put into a "
                "state: reset it first, with reset(options={'reset_mask': ...}), or choose other lanes"
            )
        fields = _core.type_info(self.translator.type_name)["state"]
        inputs = self.translator.inputs()
        columns = state_columns(self._id, values, self.state(), fields, lanes)
        given, before = {}, {}
        lanes = np.flatnonzero(chosen)
        for name in inputs:
            if name in columns:
                given[name], before[name] = columns.pop(name), inputs[name][lanes]
        self.translator.put_inputs(lanes, given)
        try:
            return self.core.observe() if given and not columns else self.core.set_state(columns, lanes)
        except BaseException:
            self.translator.put_inputs(lanes, before)
            raise

    def attributes(self) -> Sequence[str]:
        return [*self.translator.names, *self.core.state(), *self.translator.inputs(), "elapsed_steps", "state"]

    def attribute(self, name: str) -> Sequence[Any] | NDArray[Any]:
        """See `Backend.attribute`. The attribute "state" is the fields of a lane's state as one array."""
        if name in self.translator.names:
            return self.translator.attribute(name, self.core)
        if name in self.translator.inputs():
            return list(self.translator.inputs()[name].copy())
        state = self.core.state()
        if name == "elapsed_steps":
            return self.core.elapsed().tolist()
        if name != "state":
            return state[name].tolist()
        return np.concatenate([np.atleast_2d(column.T) for column in state.values()]).T

    def generators(self) -> tuple[np.random.Generator | np.random.RandomState, ...]:
        generators: list[np.random.Generator | np.random.RandomState] = []
        for lane in range(self.num_envs):
            state = self.core.rng_state(lane)
            if state["bit_generator"] == "MT19937":
                old = np.random.RandomState()
                old.set_state(state)
                generators.append(old)
                continue
            bits = np.random.PCG64(0)
            bits.state = state
            generators.append(np.random.Generator(bits))
        return tuple(generators)

    def keywords(self) -> dict[str, Any]:
        return {**self.translator.keywords(), **self.core.get_params()}

    def is_alike(self, keywords: dict[str, Any]) -> bool:
        """Whether these keywords, with which the lanes were made, make lanes that are all alike, in any number: no
        parameter and no field of the translator's has a value per lane."""
        params, fields, aliases = self.core.get_params(), self.translator.fields, self.translator.ALIASES
        given = {aliases.get(name, name): value for name, value in keywords.items()}
        shapes = {name: self.translator.field_shape(name) for name in fields if name in given} | dict.fromkeys(
            params, ()
        )
        given = params | {name: value for name, value in given.items() if name in shapes}
        return all(np.shape(value) == shapes[name] for name, value in given.items())

    def changes(self) -> Any:
        return self.translator.changes()

    def take_changes(self, changes: Any) -> None:
        self.translator.take_changes(changes)

    def drawer(self, mode: str) -> Drawer:
        shape = (self.num_envs, *(self._layout.action_space.shape or ()))
        return self.translator.drawer(self._id, mode, shape, self.core)
