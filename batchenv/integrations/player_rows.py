"""Several players in each lane, each of them as a lane of its own: for learners that train one policy for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from batchenv.arguments.seeds import Seeds
from batchenv.backend.protocol import Flags, InfoDict, Options, Step
from batchenv.backend.results import Apart, RowInfos, converted, objects, parted
from batchenv.integrations.pettingzoo import ParallelBatchEnv
from batchenv.integrations.wrapper import check_env
from batchenv.workers.players import ARRAYS

PARALLEL_ENV_TYPES = {"gymnasium": "PlayerVectorEnv"}


class PlayerVectorEnv(VectorEnv):
    """A ParallelBatchEnv as a `gymnasium.vector.VectorEnv` that has a row for each agent of each lane; `.parallel` is
    the ParallelBatchEnv.

    Row `lane * len(agents) + k` is the k-th of the `agents`, as in SuperSuit's `concat_vec_envs_v1` of a
    `pettingzoo_env_to_vec_env_v1`. num_envs is the number of rows.

    All rows of a lane end together, when its episode does, and go on with the next one. A row is truncated if its agent
    was, and else terminated. While an agent is out, its row's observation and reward are 0, its actions do nothing, and
    `infos["active"]` is False.

    Raises:
        ValueError: agents have different spaces; another autoreset mode than "SameStep"; a batch_size; or
            record_episode_statistics, which are of a lane's sum of rewards.
    """

    DEFAULTS = {"autoreset_mode": AutoresetMode.SAME_STEP}
    KEYWORDS: tuple[str, ...] = ()

    def __init__(self, parallel: ParallelBatchEnv):
        env = parallel.env
        check_env(
            env,
            same_step="where players are rows: those of a lane that has ended go on with its next episode",
            together="where players are rows: all are stepped together",
        )
        if env.config.get("record_episode_statistics"):
            raise ValueError(
                "record_episode_statistics=True counts the rewards of all players of a lane together: wrap the rows in "
                "gymnasium.wrappers.vector.RecordEpisodeStatistics, or in Stable-Baselines3's VecMonitor"
            )
        self.parallel = parallel
        self.agents = list(parallel.possible_agents)
        self.lanes = parallel.num_envs
        self.num_envs = self.lanes * len(self.agents)
        self.single_observation_space = self._only("observation", parallel.observation_spaces)
        self.single_action_space = self._only("action", parallel.action_spaces)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.metadata = {**parallel.metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.render_mode = parallel.render_mode

    def _only(self, what: str, table: dict[Any, spaces.Space]) -> spaces.Space:
        """The space that all agents have."""
        first = self.agents[0]
        for agent in self.agents:
            if table[agent] != table[first]:
                raise ValueError(
                    f"the {what} space of {agent!r} is {table[agent]}, but that of {first!r} is {table[first]}: rows "
                    "need equal spaces. Let what makes the env wrap it, for example in SuperSuit's "
                    f"pad_{what}{'s' if what == 'observation' else '_space'}_v0"
                )
        return table[first]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.parallel!r})"

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[Any, InfoDict]:
        """Starts new episodes in all lanes.

        Args:
            seed: as `BatchEnv.reset` takes it: of lanes, not of rows.
            options: as `BatchEnv.reset` takes them, but no "reset_mask".

        Returns:
            observations (num_envs, ...), and infos with "active" (num_envs,) bool and what the agents say.

        Raises:
            As `BatchEnv.reset`. ValueError: a "reset_mask".
        """
        if options and "reset_mask" in options:
            raise ValueError("options['reset_mask'] cannot be used where players are rows: lanes reset themselves")
        return converted(self._reset_result, self.parallel.reset, seed=seed, options=options)

    def reset_lanes(self, seed: Any, mask: Flags | None, options: Options) -> tuple[Any, InfoDict]:
        """As `reset`, of the lanes of a mask (None: of all): rows of the others have their present observations."""
        return converted(self._reset_result, self.parallel._reset_lanes, seed, mask, options)

    def step(self, actions: Any) -> Step:
        """Takes one action of each row.

        Args:
            actions: as `action_space` says: arrays (num_envs, ...), or dicts and tuples of these.

        Returns:
            observations (num_envs, ...), rewards (num_envs,) float64, terminations and truncations (num_envs,) bool,
            and infos as those of `reset`. In a step in which lanes end, these have "final_obs" and "final_info", too.

        Raises:
            As `ParallelBatchEnv.step`. TypeError, ValueError: the actions have a wrong form or length.
        """
        by_agent = {agent: self._own(self.single_action_space, actions, k) for k, agent in enumerate(self.agents)}
        return converted(self._step_result, self.parallel.step, by_agent)

    def _own(self, space: spaces.Space, values: Any, k: int) -> Any:
        """What is the k-th agent's. ParallelBatchEnv says what else is wrong with it."""
        if isinstance(space, spaces.Dict) and isinstance(values, Mapping):
            return {name: self._own(space.spaces[name], part, k) for name, part in values.items()}
        if isinstance(space, spaces.Tuple) and isinstance(values, (tuple, list)):
            return tuple([self._own(part, value, k) for part, value in zip(space.spaces, values, strict=True)])
        array = np.asarray(values) if isinstance(space, ARRAYS) else values
        if np.ndim(array) == 0 or len(array) != self.num_envs:
            raise ValueError(
                f"actions of shape {np.shape(array)} do not fit {self.num_envs} rows ({self.lanes} lanes with "
                f"{len(self.agents)} agents each): pass one action for each row; no lane has been stepped"
            )
        return array[k :: len(self.agents)]

    def _reset_result(self, observations: dict[Any, Any], infos: dict[Any, InfoDict]) -> tuple[Any, InfoDict]:
        return self._observations(observations), self._infos([infos[agent] for agent in self.agents])

    def _step_result(
        self, observations: Any, rewards: Any, terminations: Any, truncations: Any, infos: dict[Any, InfoDict]
    ) -> tuple[Any, ...]:
        ended = parted(infos[self.agents[0]])[0].get("_final_obs", np.zeros(self.lanes, np.bool_))
        done, truncated = np.repeat(ended, len(self.agents)), self._joined(truncations)
        truncated &= ~self._joined(terminations)
        return (
            self._observations(observations),
            self._joined(rewards),
            done & ~truncated,
            done & truncated,
            self._infos([infos[agent] for agent in self.agents]),
        )

    def _observations(self, observations: dict[Any, Any]) -> Any:
        return _rows(self.single_observation_space, [observations[agent] for agent in self.agents])

    def _joined(self, by_agent: dict[Any, NDArray[Any]]) -> NDArray[Any]:
        """{agent: an array over lanes} as an array over rows."""
        return _interleaved(*[by_agent[agent] for agent in self.agents])

    def _infos(self, infos: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The infos of all rows, in Gymnasium's form, from those of each agent."""
        if isinstance(infos[0], Apart):
            known, said, finals = zip(*map(parted, infos), strict=True)
            return Apart(
                self._infos(known), self._of_rows(said), self._of_rows(finals), lambda: self._infos([*map(dict, infos)])
            )
        joined: dict[str, Any] = {}
        for name in dict.fromkeys(name for info in infos for name in info):
            if name[:1] == "_" and any(name[1:] in info for info in infos):
                continue
            values = [info.get(name) for info in infos]
            given = next(value for value in values if value is not None)
            masks = [
                np.full(self.lanes, value is not None) if value is None or f"_{name}" not in info else info[f"_{name}"]
                for value, info in zip(values, infos, strict=True)
            ]
            if isinstance(given, dict):
                joined[name] = self._infos([value or {} for value in values])
            else:
                joined[name] = _interleaved(*[_or_nothing(value, given) for value in values])
            joined[f"_{name}"] = _interleaved(*masks)
        return joined

    def _of_rows(self, by_agent: Sequence[RowInfos]) -> RowInfos:
        """What each agent has said in which lane, by row."""
        return [(lane * len(by_agent) + k, info) for k, notes in enumerate(by_agent) for lane, info in notes]

    def render(self) -> tuple[Any, ...] | None:
        """A picture of each lane, as `BatchEnv.render`."""
        return self.parallel.render()

    def close_extras(self, **kwargs: Any) -> None:
        """Releases the lanes and the window."""
        self.parallel.close()


def _rows(space: spaces.Space, values: Sequence[Any]) -> Any:
    """Values of all rows, from those of each agent."""
    if isinstance(space, spaces.Dict):
        return {name: _rows(part, [value[name] for value in values]) for name, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple([_rows(part, [value[k] for value in values]) for k, part in enumerate(space.spaces)])
    if isinstance(space, ARRAYS):
        return _interleaved(*values)
    return tuple([value for lane in zip(*values, strict=True) for value in lane])


def _interleaved(*values: NDArray[Any]) -> NDArray[Any]:
    """Arrays of all lanes as one array, in which the rows of a lane follow one another."""
    alike = len({(value.shape, value.dtype) for value in values}) == 1
    if not alike:  # agents say things of different kinds under one name
        values = tuple([objects(value) for value in values])
    return np.stack(values, axis=1).reshape(-1, *values[0].shape[1:])


def _or_nothing(value: Any, given: NDArray[Any]) -> NDArray[Any]:
    """value, or what stands for it where an agent has said nothing."""
    if value is not None:
        return value
    return np.full(given.shape, None, object) if given.dtype == object else np.zeros_like(given)
