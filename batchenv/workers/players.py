"""Several agents in one lane: an environment with PettingZoo's parallel API as one with Gymnasium's, whose observations
and actions hold those of all agents."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from batchenv import _core
from batchenv.workers.parts import ARRAYS, items, nothing

LAYOUT = "\0layout"  # a key of a lane's metadata
REWARDS, FLAGS = "rewards", "flags"  # parts of an observation beside those of `Group`
_ABSENT = object()  # in place of the observation of an agent of which nothing was said


class Flag(IntEnum):
    """Rows of the part FLAGS, which has a column per agent."""

    TERMINATED = 0  # and TRUNCATED: once an agent has left, these stay as they were then until the next episode
    TRUNCATED = 1
    ACTIVE = 2  # this step or reset has said something of the agent
    PLAYING = 3  # the next step needs an action of the agent


class Group(NamedTuple):
    """Agents with equal spaces: their observations or actions are one part, whose first axis is that of agents."""

    name: str
    agents: list[Any]
    space: spaces.Space


class AgentLayout:
    """Who plays, and where each agent's values are. `observation_space` and `action_space` are those of a lane.

    Args:
        agents: all that may ever play.
        observation_spaces, action_spaces: {agent: space}.
    """

    def __init__(
        self, agents: Sequence[Any], observation_spaces: dict[Any, spaces.Space], action_spaces: dict[Any, spaces.Space]
    ):
        self.agents = list(agents)
        self.observation_spaces, self.action_spaces = observation_spaces, action_spaces
        self.seen, self.taken = _groups(observation_spaces), _groups(action_spaces)
        count = len(self.agents)
        self.observation_space = spaces.Dict(
            {
                **_parts(self.seen),
                REWARDS: spaces.Box(-np.inf, np.inf, (count,), np.float64),
                FLAGS: spaces.Box(0, 1, (len(Flag), count), np.uint8),
            }
        )
        self.action_space = spaces.Dict(_parts(self.taken))


def _groups(of_agents: dict[Any, spaces.Space]) -> list[Group]:
    found: list[tuple[list[Any], spaces.Space]] = []
    for agent, space in of_agents.items():
        members = next((members for members, known in found if known == space), None)
        if members is None:
            found.append(([agent], space))
        else:
            members.append(agent)
    # A port's name may not have a slash.
    return [Group(of(", ".join(map(str, members))).replace("/", "|"), members, space) for members, space in found]


def _parts(groups: Iterable[Group]) -> dict[str, spaces.Space]:
    return {group.name: batch_space(group.space, len(group.agents)) for group in groups}


def of(agent: Any) -> str:
    """The key of what is an agent's in infos."""
    return f"of {agent}"


def apart(space: spaces.Space, values: Any, place: Any) -> Any:
    """One agent's value out of a group's. space: of one agent; place: how arrays are indexed, where the last index is
    the agent's place in the group."""
    if isinstance(space, spaces.Dict):
        return {name: apart(part, values[name], place) for name, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple([apart(part, value, place) for part, value in zip(space.spaces, values, strict=True)])
    if isinstance(space, ARRAYS):
        return values[place]
    return values[place[-1]]


def joined(space: spaces.Space, values: Sequence[Any]) -> Any:
    """The value of a group from those of its agents, each of which is of all lanes."""
    if isinstance(space, spaces.Dict):
        return {name: joined(part, [value[name] for value in values]) for name, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple([joined(part, [value[k] for value in values]) for k, part in enumerate(space.spaces)])
    return np.stack(values, axis=1) if isinstance(space, ARRAYS) else tuple(values)


def _filled(space: spaces.Space, agents: Sequence[Any], values: Sequence[Any], what: str) -> Any:
    """The value of a group in one lane. values: of agents; _ABSENT: zeros, since the agent has none."""
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        parts = {}
        for key, inner in items(space):
            try:
                of_key = [_ABSENT if value is _ABSENT else value[key] for value in values]
            except (LookupError, TypeError) as problem:
                raise ValueError(
                    f"{what} of one of the agents {agents} has no part {key!r}, but its space is {space}: correct the "
                    "env or its space"
                ) from problem
            parts[key] = _filled(inner, agents, of_key, f"part {key!r} of {what}")
        return parts if isinstance(space, spaces.Dict) else tuple(parts.values())
    if not isinstance(space, ARRAYS):
        return tuple([nothing(space) if value is _ABSENT else value for value in values])
    array = np.zeros((len(values), *(space.shape or ())), space.dtype)
    for k, value in enumerate(values):
        if value is _ABSENT:
            continue
        given = value if type(value) is np.ndarray else np.asarray(value)
        _core.check_array(given, space.shape, space.dtype, f"{what} of agent {agents[k]!r}")
        array[k] = given
    return array


class PlayersLane(gymnasium.Env):
    """A lane that several agents play.

    An observation has the observations of all agents, see `Group`, and the parts REWARDS and FLAGS: these are arrays,
    so they go where observations go, which costs less than infos do. The reward is the sum of all agents'; the episode
    ends when nobody plays any more. Infos are {of(agent): the agent's}.

    Args:
        parallel: with PettingZoo's parallel API.

    Raises:
        TypeError, ValueError: it is something else, or does not say who may play.
    """

    def __init__(self, parallel: Any):
        if hasattr(parallel, "agent_iter") or not hasattr(parallel, "possible_agents"):
            raise TypeError(
                f"{type(parallel).__name__} must be an env with PettingZoo's parallel API that has possible_agents: "
                "take its module's parallel_env, or pettingzoo.utils.conversions.aec_to_parallel"
            )
        self.parallel = parallel
        agents = list(parallel.possible_agents)
        if not agents:
            raise ValueError(f"{type(parallel).__name__} has no possible_agents: name all agents that may ever play")
        names = list(map(str, agents))
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(
                f"{type(parallel).__name__} has the possible_agents {agents}, two of which are called {twice!r}: give "
                "each a name of its own"
            )
        self.layout = AgentLayout(
            agents,
            {agent: parallel.observation_space(agent) for agent in agents},
            {agent: parallel.action_space(agent) for agent in agents},
        )
        self.observation_space, self.action_space = self.layout.observation_space, self.layout.action_space
        self.render_mode = getattr(parallel, "render_mode", None)
        self.metadata = {**(getattr(parallel, "metadata", None) or {}), LAYOUT: self.layout}
        self._place = {agent: place for place, agent in enumerate(agents)}
        self._flags = np.zeros((len(Flag), len(agents)), np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observations, infos = self._checked("reset()", 2, self.parallel.reset(seed=seed, options=options))
        self._flags[:] = 0
        if not self.parallel.agents:
            raise ValueError("after reset(), `agents` is empty, but must name who plays: correct the env")
        self._note(observations, {}, {})
        return self._all("reset()", observations, {}), self._checked_infos("reset()", infos)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        chosen = {
            agent: apart(group.space, action[group.name], (k,))
            for group in self.layout.taken
            for k, agent in enumerate(group.agents)
        }
        returned = self.parallel.step({agent: chosen[agent] for agent in self.parallel.agents})
        observations, rewards, terminations, truncations, infos = self._checked("step()", 5, returned)
        self._note(observations, terminations, truncations)
        everything = self._all("step()", observations, rewards)
        over = not self._flags[Flag.PLAYING].any()
        truncated = over and any(truncations.values())
        terminated = over and (any(terminations.values()) or not truncated)
        reward = float(everything[REWARDS].sum())
        return everything, reward, terminated, truncated, self._checked_infos("step()", infos)

    def _checked(self, what: str, count: int, returned: Any) -> Any:
        kinds = [type(part).__name__ for part in returned] if isinstance(returned, tuple) else type(returned).__name__
        if len(kinds) != count or not all(isinstance(part, Mapping) for part in returned):
            raise TypeError(
                f"{what} returned {kinds}, but must return a tuple of {count} dicts by agent: correct the env"
            )
        for agent in {agent: None for part in returned for agent in part}:
            if agent not in self._place:
                raise ValueError(
                    f"{what} has told of agent {agent!r}, which is none of possible_agents {self.layout.agents}: "
                    "correct the env"
                )
        return returned

    def _note(self, observations: Any, terminations: Any, truncations: Any) -> None:
        """Brings flags up to date. An agent of which nothing is said keeps those of its end."""
        flags = self._flags
        flags[Flag.ACTIVE :] = 0
        for agent in {**observations, **terminations}:
            place = self._place[agent]
            ends = bool(terminations.get(agent, False)), bool(truncations.get(agent, False))
            flags[:, place] = (*ends, True, False)
        for agent in self.parallel.agents:  # an env may name those that have just left
            flags[Flag.PLAYING, self._place[agent]] = not (terminations.get(agent) or truncations.get(agent))

    def _all(self, what: str, observations: Any, rewards: Any) -> dict[str, Any]:
        """The observation of the lane."""
        parts: dict[str, Any] = {}
        for name, agents, space in self.layout.seen:
            seen = [observations.get(agent, _ABSENT) for agent in agents]
            parts[name] = _filled(space, agents, seen, f"{what}'s observation")
        table = parts[REWARDS] = np.zeros(len(self._place))
        for agent, reward in rewards.items():
            try:
                table[self._place[agent]] = reward
            except (TypeError, ValueError) as problem:
                raise type(problem)(
                    f"{what}'s reward of agent {agent!r} is {reward!r}, but must be a number: correct the env"
                ) from problem
        parts[FLAGS] = self._flags.copy()
        return parts

    @staticmethod
    def _checked_infos(what: str, infos: Any) -> dict[str, Any]:
        for agent, info in infos.items():
            if not isinstance(info, Mapping):
                raise TypeError(
                    f"{what}'s info of agent {agent!r} is of type {type(info).__name__}, but must be a dict: correct "
                    "the env"
                )
        return {of(agent): dict(info) for agent, info in infos.items() if info}

    def render(self) -> Any:
        return self.parallel.render()

    def close(self) -> None:
        self.parallel.close()

    def get_wrapper_attr(self, name: str) -> Any:
        """An attribute of the env."""
        return getattr(self.parallel, name)

    def set_wrapper_attr(self, name: str, value: Any, **_: Any) -> bool:
        """Sets an attribute of the env."""
        setattr(self.parallel, name, value)
        return True

    def has_wrapper_attr(self, name: str) -> bool:
        """Whether the env has this attribute."""
        return hasattr(self.parallel, name)


class Maker:
    """Makes a `PlayersLane`, in whatever process it is called.

    Args:
        make_parallel: a callable that makes an env with PettingZoo's parallel API; or where there is one: "module",
            whose parallel_env is meant, or "module:callable".
    """

    def __init__(self, make_parallel: Callable[..., Any] | str):
        self._make = make_parallel
        named = getattr(make_parallel, "func", make_parallel)  # functools.partial has no name
        self.__name__ = named.rpartition(".")[2] if isinstance(named, str) else getattr(named, "__name__", "parallel")

    def __call__(self, **keywords: Any) -> PlayersLane:
        make = _found(self._make) if isinstance(self._make, str) else self._make
        return PlayersLane(make(**keywords))


def _found(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module), name or "parallel_env")
    except AttributeError as problem:
        raise ValueError(
            f"{path!r}: the module {module} has no {name or 'parallel_env'}: name a callable that makes an env with "
            "PettingZoo's parallel API, such as 'module:make'"
        ) from problem
