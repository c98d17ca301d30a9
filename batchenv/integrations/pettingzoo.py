"""Several players in each lane: PettingZoo's parallel API over a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from batchenv.arguments.seeds import Seeds
from batchenv.backend.protocol import InfoDict, Options
from batchenv.backend.results import converted
from batchenv.env import wrapping
from batchenv.env.batch_env import BatchEnv
from batchenv.integrations.agent_views import AgentViews, views_of
from batchenv.integrations.wrapper import Wrapper
from batchenv.workers.players import ARRAYS

_ENDING = "no lane has been stepped"


class ParallelBatchEnv(Wrapper):
    """Lanes that several agents play, in the form of PettingZoo's ParallelEnv: dicts by agent of arrays over lanes.

    `.env` is the BatchEnv below; lanes are to be stepped and reset through this object only.

    Lanes reset themselves as the BatchEnv's autoreset mode says; therefore `agents` are always all that may play, and
    an agent that is out while others go on stays: it is terminated (or truncated, if it has left so) in every step
    until the lane's next episode, and its actions do nothing. `infos[agent]["active"]` says in which lanes it was
    playing.

    In Atari games agents are named as in PettingZoo: "first_0", "second_0", "third_0", "fourth_0". All see the same
    screen, so that their observations are one array.

    Args:
        env: a BatchEnv of an Atari game, made with players=2 or more; of a C file for several players; or of
            environments in workers.
        views: who plays in its lanes; None: those of an Atari game or of a C file.

    Raises:
        ValueError: its lanes have one player.
    """

    def __init__(self, env: BatchEnv, views: AgentViews | None = None):
        super().__init__(env)
        self._views = views or views_of(env)
        self.possible_agents = list(self._views.agents)
        self.observation_spaces, self.action_spaces = self._views.observation_spaces, self._views.action_spaces
        self._clips = env.config.get("clip_actions", False)
        self.metadata = {"name": env.id, **env.metadata, "is_parallelizable": True}

    def __repr__(self) -> str:
        return f"ParallelBatchEnv({self.env!r}, agents={self.possible_agents})"

    @property
    def agents(self) -> list[Any]:
        """The agents that play: all, until the env is closed."""
        return [] if self.env.closed else list(self.possible_agents)

    @property
    def num_agents(self) -> int:
        """Number of `agents`."""
        return len(self.agents)

    @property
    def max_num_agents(self) -> int:
        """Number of `possible_agents`."""
        return len(self.possible_agents)

    @property
    def render_mode(self) -> str | None:
        """As the BatchEnv's."""
        return self.env.render_mode

    def observation_space(self, agent: Any) -> spaces.Space:
        """The space of an agent's observations in one lane. ValueError: no such agent."""
        return self._of(self.observation_spaces, agent)

    def action_space(self, agent: Any) -> spaces.Space:
        """The space of an agent's actions in one lane. ValueError: no such agent."""
        return self._of(self.action_spaces, agent)

    def _of(self, table: dict[Any, Any], agent: Any) -> Any:
        if agent not in self.possible_agents:
            raise ValueError(f"agent {agent!r} is none of {self.possible_agents}")
        return table[agent]

    def reset(self, seed: Seeds = None, options: Options = None) -> tuple[dict[Any, Any], dict[Any, InfoDict]]:
        """Starts new episodes.

        Args:
            seed, options: as `BatchEnv.reset` takes them, "reset_mask" too.

        Returns:
            observations {agent: (num_envs, ...)} and infos {agent: {"active": (num_envs,) bool, and the lanes' own}}.
            Beside these, infos have "lives" (num_envs,) in Atari games, and in others "playing" (num_envs,) bool:
            whether the next step needs the agent's action. Where an agent is not active, its observation is 0.

        Raises:
            As `BatchEnv.reset`.
        """
        return converted(self._views.reset_result, self.env.reset, seed=seed, options=options)

    def _reset_lanes(self, seed: Any, mask: Any, options: Options) -> Any:
        """As `reset`, of the lanes of a mask (None: of all), whose environments get these options, or None."""
        return converted(self._views.reset_result, wrapping.reset_lanes, self.env, seed, mask, options)

    def step(self, actions: dict[Any, Any]) -> tuple[dict[Any, Any], ...]:
        """Takes one action of every agent in every lane.

        Args:
            actions: {agent: actions of all lanes}, with every agent: integers (num_envs,) for a Discrete space, arrays
                (num_envs, ...) for others, and for Dict and Tuple spaces dicts and tuples of these.

        Returns:
            observations {agent: (num_envs, ...)}, rewards {agent: (num_envs,) float64}, terminations and truncations
            {agent: (num_envs,) bool}, infos as `reset`; those of an Atari game have "lives" (num_envs,) int32. There,
            an agent terminates with the game, or when its lives are below 0: then it is out.

        Raises:
            TypeError, ValueError: an agent is missing or unknown, or its actions have a wrong shape, dtype or value;
                no lane has been stepped.
            Otherwise as `BatchEnv.step`.
        """
        return converted(
            self._views.step_result, self.env.step, self._views.actions(self._checked(actions, self.num_envs))
        )

    def async_reset(self, *, seed: Seeds = None, options: Options = None) -> None:
        """Sends all lanes to be reset, as `BatchEnv.async_reset`."""
        self._check_flight()
        self.env.async_reset(seed=seed, options=options)

    def send(self, actions: dict[Any, Any], env_id: Any = None) -> None:
        """Sends lanes to be stepped, as `BatchEnv.send`.

        Args:
            actions: as `step` takes them, with a row for each lane that is sent.
            env_id: the lanes' numbers; None: those last received, in their order.

        Raises:
            As `step` and `BatchEnv.send`; nothing was sent.
        """
        self._check_flight()
        rows = self.env.batch_size if env_id is None else np.size(env_id)
        self.env.send(self._views.actions(self._checked(actions, rows)), env_id)

    def recv(self, timeout: float | None = None) -> tuple[dict[Any, Any], ...]:
        """Waits for the first `batch_size` lanes to be finished, as `BatchEnv.recv`.

        Returns:
            As `step`, with a row for each of these lanes: row k is lane `infos[agent]["env_id"][k]`.

        Raises:
            As `BatchEnv.recv`.
        """
        self._check_flight()
        return converted(self._views.step_result, self.env.recv, timeout)

    def _check_flight(self) -> None:
        if not self._views.can_send:
            raise NotImplementedError(
                f"lanes of {self.env.id} cannot be sent and received by agent, because who is out is known here only "
                "after each step of all lanes: use step()"
            )

    def _checked(self, actions: Any, rows: int) -> dict[Any, Any]:
        """Actions of so many lanes as arrays of the dtypes that their spaces have."""
        if not isinstance(actions, Mapping):
            raise TypeError(
                f"actions must be a dict {{agent: actions of {rows} lanes}} with {self.possible_agents}, "
                f"not {type(actions).__name__}; {_ENDING}"
            )
        missing = [agent for agent in self.possible_agents if agent not in actions]
        unknown = [agent for agent in actions if agent not in self.possible_agents]
        if missing or unknown:
            problems = [
                f"{problem} {names}" for problem, names in (("lack", missing), ("have unknown", unknown)) if names
            ]
            raise ValueError(
                f"actions {' and '.join(problems)}: pass one array for each of {self.possible_agents}; {_ENDING}"
            )
        return {
            agent: _checked(self.action_spaces[agent], actions[agent], rows, f"actions[{agent!r}]", self._clips)
            for agent in self.possible_agents
        }

    def state(self) -> NDArray[Any]:
        """What PettingZoo calls state, of every lane: (num_envs, ...).

        Raises:
            NotImplementedError: the env has none.
        """
        return self._views.state()

    def render(self, lanes: Any = None) -> tuple[Any, ...] | None:
        """Pictures of lanes, as `BatchEnv.render`."""
        return self.env.render(lanes)


def _checked(space: spaces.Space, value: Any, rows: int, what: str, clips: bool) -> Any:
    """An agent's actions of all lanes. clips: numbers outside of the bounds are allowed.

    Raises:
        TypeError, ValueError: they are not of this space.
    """
    if isinstance(space, spaces.Dict):
        if not isinstance(value, Mapping) or set(value) != set(space.spaces):
            raise TypeError(f"{what} must be a dict with the keys {list(space.spaces)}; {_ENDING}")
        return {
            name: _checked(part, value[name], rows, f"{what}[{name!r}]", clips) for name, part in space.spaces.items()
        }
    if isinstance(space, spaces.Tuple):
        if not isinstance(value, (tuple, list)) or len(value) != len(space.spaces):
            raise TypeError(f"{what} must be a tuple of {len(space.spaces)} parts; {_ENDING}")
        return tuple([_checked(part, value[k], rows, f"{what}[{k}]", clips) for k, part in enumerate(space.spaces)])
    if not isinstance(space, ARRAYS):  # texts and the like: the BatchEnv checks them
        return value
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{what} cannot be read as an array: {error}") from None
    return _checked_array(space, array, rows, what, clips)


def _checked_array(space: Any, array: NDArray[Any], rows: int, what: str, clips: bool) -> NDArray[Any]:
    """`_checked` of an array."""
    shape = (rows, *space.shape)
    if array.shape != shape:
        raise ValueError(f"{what} have shape {array.shape}, but {rows} lanes need {shape}; {_ENDING}")
    real = space.dtype.kind == "f"
    if array.dtype.kind not in ("fiu" if real else "iu") and array.dtype != space.dtype:
        needed = "numbers" if real else "integers"
        raise TypeError(f"{what} have dtype {array.dtype}, but {space} needs {needed}; {_ENDING}")
    if real:
        array = array.astype(space.dtype)  # first: the bounds have been rounded, too
    if not (clips and real):
        low, high = _bounds(space)
        wrong = ~((array >= low) & (array <= high))
        if wrong.any():
            index = tuple(np.argwhere(wrong)[0].tolist())
            least, most = (np.broadcast_to(bound, space.shape)[index[1:]] for bound in (low, high))
            place = ", ".join(map(str, index))
            raise ValueError(f"{what}[{place}]={array[index]} is not in {least}..{most}; {_ENDING}")
    return array.astype(space.dtype, copy=False)


def _bounds(space: spaces.Space) -> tuple[Any, Any]:
    """The least and the greatest values of an array of this space."""
    if isinstance(space, spaces.Box):
        return space.low, space.high
    if isinstance(space, spaces.Discrete):
        return space.start, space.start + space.n - 1
    if isinstance(space, spaces.MultiDiscrete):
        return space.start, space.start + space.nvec - 1
    return 0, 1
