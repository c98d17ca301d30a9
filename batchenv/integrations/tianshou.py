"""Tianshou's API: a `BaseVectorEnv` whose results are those of its `DummyVectorEnv`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import create_empty_array
from numpy.typing import NDArray

from batchenv.arguments.seeds import Seeds, check_seed, lane_seeds
from batchenv.backend.lanes import lane_indices, rows_of
from batchenv.backend.protocol import Flags, InfoDict, Observations, Options, Rewards
from batchenv.backend.results import converted, infos_into_dicts, objects, parted
from batchenv.env import wrapping
from batchenv.env.batch_env import BatchEnv
from batchenv.integrations.wrapper import Wrapper

try:
    from tianshou.env import BaseVectorEnv
except ImportError as error:
    raise ImportError("env_type='tianshou' needs the package tianshou: pip install 'batchenv[tianshou]'") from error

ENV_TYPES = {"tianshou": "TianshouBatchEnv"}


class TianshouBatchEnv(Wrapper, BaseVectorEnv):
    """A BatchEnv as Tianshou expects it; `.env` is the BatchEnv.

    Observations, rewards, ends and infos are those of a DummyVectorEnv of `gymnasium.make(id)`. Collectors reset
    finished lanes themselves, so autoreset is "Disabled", and has to be; the default of clip_actions is True. With
    batch_size < num_envs it is asynchronous, for an AsyncCollector: batch_size is what Tianshou calls wait_num.

    Raises:
        ValueError: another autoreset mode.
        TypeError: observations are tuples, which Tianshou does not support.
    """

    DEFAULTS = {"autoreset_mode": AutoresetMode.DISABLED, "clip_actions": True}

    def __init__(self, env: BatchEnv):
        if env.autoreset_mode is not AutoresetMode.DISABLED:
            raise ValueError(
                f"autoreset_mode={env.autoreset_mode.value!r} must be 'Disabled' with env_type='tianshou': collectors "
                "reset finished lanes themselves"
            )
        if isinstance(env.single_observation_space, spaces.Tuple):
            raise TypeError(
                f"observations of {env.id} are tuples, which Tianshou does not support: use an environment, or a "
                "wrapper of one in Python, with an array or a dict"
            )
        super().__init__(env)
        wrapping.keep_infos_apart(env)
        # Each lane has a space of its own, as collectors sample from them, and `seed` seeds each with another number.
        self._action_spaces = [copy.deepcopy(env.single_action_space) for _ in range(env.num_envs)]
        self._flying = np.zeros(env.num_envs, np.bool_)  # lanes that have actions, and whose results nobody has got

    # ---- what collectors read ----------------------------------------------------------------------------------------

    @property
    def env_num(self) -> int:
        """Number of lanes."""
        return self.env.num_envs

    @property
    def wait_num(self) -> int:
        """How many lanes a step waits for."""
        return self.env.batch_size

    @property
    def is_async(self) -> bool:
        """Whether steps return fewer lanes than there are."""
        return self.env.is_async

    @property
    def is_closed(self) -> bool:
        """Whether `close` has ended the env."""
        return self.env.closed

    @property
    def waiting_id(self) -> list[int]:  # pyright: ignore[reportIncompatibleVariableOverride] nobody sets it
        """Lanes that have actions, and whose results no step has returned."""
        return np.flatnonzero(self._flying).tolist()

    @property
    def ready_id(self) -> list[int]:
        """The other lanes."""
        return np.flatnonzero(~self._flying).tolist()

    # ---- reset and step ---------------------------------------------------------------------------------------------

    def seed(self, seed: int | Sequence[int | None] | None = None) -> list[Any]:
        """Starts new episodes, and seeds the action spaces, from which collectors take random actions.

        Args:
            seed: int s: lane i gets s + i. A list: one int or None per lane. None: random streams go on.

        Returns:
            each lane's seed in a list of its own.

        Raises:
            TypeError, ValueError: a wrong seed.
        """
        seeds = lane_seeds(seed, self.num_envs)
        self.env.reset(seed=seeds)
        self._flying[:] = False
        for space, own in zip(self._action_spaces, seeds, strict=True):
            space.seed(own)
        return [[own] for own in seeds]

    # Keywords of other names are refused, which Tianshou hands on to its environments.
    def reset(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, env_id: Any = None, *, seed: Seeds = None, options: Options = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Starts new episodes.

        Args:
            env_id: a lane, or a list or array of lanes; None: all.
            seed: an int: each of these lanes gets this very seed, as Tianshou has it (`seed` gives them different
                ones). A list: one int or None per lane. None: random streams go on.
            options: as `BatchEnv.reset` takes them, but no "reset_mask".

        Returns:
            observations, and an array of the infos, a dict per lane: rows in the order of env_id.

        Raises:
            As `BatchEnv.reset`.
        """
        seeds = check_seed(seed, self.num_envs)
        if isinstance(seeds, int):
            seeds = [seeds] * self.num_envs
        lanes = None if env_id is None else np.atleast_1d(env_id)
        result = converted(self._reset_result, self.env.reset, lanes, seed=seeds, options=options)
        self._flying[slice(None) if lanes is None else lanes] = False
        return result

    def step(self, action: Any, id: Any = None) -> tuple[Observations, Rewards, Flags, Flags, NDArray[Any]]:
        """Takes one action per lane.

        Args:
            action: actions, a row per lane. None, for an asynchronous env: no lane gets one.
            id: a lane, or a list or array of the lanes that the rows are for, which alone are stepped; None: all.

        Returns:
            observations, rewards, terminated, truncated, and an array of the infos, a dict per lane with its number as
            "env_id": rows in the order of id. Of an asynchronous env: the wait_num lanes that are finished first; or,
            with None for action, no rows if fewer than wait_num lanes have actions.

        Raises:
            As `BatchEnv.step`, or as `send` and `recv` of an asynchronous env. ValueError: no action for an env that is
            not asynchronous.
        """
        lanes = None if id is None else np.atleast_1d(id)
        if not self.is_async:
            if action is None:
                raise ValueError("action=None must be one action per lane: this env is not asynchronous")
            if lanes is None or np.array_equal(lanes, self.all_env_ids):
                return converted(self._step_result, self.env.step, np.asarray(action))
            return converted(self._step_result, self.env.step, np.asarray(action), lanes)
        if action is not None:
            self.env.send(np.asarray(action), lanes)
            self._flying[slice(None) if lanes is None else lanes] = True
        elif np.count_nonzero(self._flying) < self.wait_num:
            none = create_empty_array(self.env.single_observation_space, 0)
            return self._step_result(
                none, np.empty(0), np.empty(0, bool), np.empty(0, bool), {"env_id": np.empty(0, int)}
            )
        return converted(self._step_result, self.env.recv)

    def _reset_result(self, observations: Any, infos: InfoDict) -> tuple[Any, NDArray[Any]]:
        lanes = self._lanes_of(infos)
        return self._rows(observations, len(lanes)), self._dicts(infos, len(lanes))

    def _step_result(self, observations: Any, rewards: Any, terminated: Any, truncated: Any, infos: InfoDict) -> Any:
        lanes = self._lanes_of(infos)
        dicts = self._dicts(infos, len(lanes))
        for info, lane in zip(dicts, lanes.tolist(), strict=True):
            info["env_id"] = lane
        self._flying[lanes] = False
        return self._rows(observations, len(lanes)), rewards, terminated, truncated, dicts

    def _lanes_of(self, infos: InfoDict) -> NDArray[np.int64]:
        """The lanes of the rows of a result."""
        return parted(infos)[0].get("env_id", self.all_env_ids)

    def _rows(self, observations: Any, count: int) -> NDArray[Any]:
        """Observations as one array; a Dict's as an array of dicts, as collectors put rows into it."""
        if not isinstance(observations, dict):
            return observations
        return objects([rows_of(observations, row) for row in range(count)])

    def _dicts(self, infos: InfoDict, count: int) -> NDArray[Any]:
        dicts: list[dict[str, Any]] = [{} for _ in range(count)]
        infos_into_dicts(infos, dicts, ("env_id",))
        return objects(dicts)

    # ---- single environments ----------------------------------------------------------------------------------------

    def get_env_attr(self, key: str, id: Any = None) -> list[Any]:
        """An attribute of these environments (None: of all). Those in C have parameters, state variables, and what
        `BatchEnv.get_attr` finds.

        Raises:
            AttributeError: they have no such attribute.
        """
        lanes = lane_indices(id, self.num_envs).tolist()
        if key == "action_space":
            return [self._action_spaces[lane] for lane in lanes]
        return wrapping.attributes_of(self.env, key, lanes)

    def set_env_attr(self, key: str, value: Any, id: Any = None) -> None:
        """Sets an attribute of these environments (None: of all) to one value; of those in C, a parameter.

        Raises:
            AttributeError: environments in C have no such parameter.
            TypeError, ValueError: a wrong value.
        """
        wrapping.set_attribute_of(self.env, key, value, lane_indices(id, self.num_envs).tolist())

    def render(self, **keywords: Any) -> list[Any]:
        """A picture of each lane, as `BatchEnv.render`, which takes the keywords; None without a render_mode."""
        return list(self.env.render(**keywords) or [None] * self.num_envs)
