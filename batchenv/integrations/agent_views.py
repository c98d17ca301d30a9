"""Who plays in each lane of a BatchEnv, and which of its arrays are whose."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv.backend.results import Apart, Notes, parted
from batchenv.env.batch_env import BatchEnv
from batchenv.spaces import nested
from batchenv.workers.players import FLAGS, REWARDS, Flag, Group, Layout, apart, joined, of

_NAMES = ("first", "second", "third", "fourth")
_OF_ALL = ("rewards", "player_lives", "players")


class Cast(ABC):
    """See above.

    Attributes:
        agents: all that may play.
        observation_spaces, action_spaces: {agent: space}, of one lane.
        flies: whether `told` takes rows of some lanes, as `BatchEnv.recv` returns them.
    """

    flies = False
    agents: list[Any]
    observation_spaces: dict[Any, spaces.Space]
    action_spaces: dict[Any, spaces.Space]

    @abstractmethod
    def actions(self, actions: dict[Any, Any]) -> Any:
        """What `BatchEnv.step` takes, of {agent: actions of all lanes} that have been checked."""

    @abstractmethod
    def started(self, observations: Any, infos: dict[str, Any]) -> tuple[dict[Any, Any], dict[Any, dict[str, Any]]]:
        """By agent, what `BatchEnv.reset` has returned."""

    @abstractmethod
    def told(
        self, observations: Any, rewards: Any, terminated: Any, truncated: Any, infos: dict[str, Any]
    ) -> tuple[dict[Any, Any], ...]:
        """By agent, what `BatchEnv.step` has returned."""

    @abstractmethod
    def state(self) -> NDArray[Any]:
        """What PettingZoo calls state, of all lanes."""

    def columns(self, table: NDArray[Any]) -> dict[Any, NDArray[Any]]:
        """(num_envs, agents) by agent."""
        return {agent: table[:, k].copy() for k, agent in enumerate(self.agents)}


class AtariCast(Cast):
    """Players of an Atari game, named as in PettingZoo. All see the same screen.

    Raises:
        ValueError: lanes have one player.
    """

    def __init__(self, env: BatchEnv):
        space = env.single_action_space
        if env.config.get("players", 1) == 1 or not isinstance(space, spaces.MultiDiscrete):
            raise ValueError(
                f"{env!r} has one player per lane: make it with players=2, such as make_parallel('Pong-v5')"
            )
        self._env = env
        self.agents = [f"{name}_0" for name in _NAMES[: len(space.nvec)]]
        self.observation_spaces = dict.fromkeys(self.agents, env.single_observation_space)
        self.action_spaces = {agent: spaces.Discrete(int(n)) for agent, n in zip(self.agents, space.nvec, strict=True)}
        shape = (env.num_envs, len(self.agents))
        # Of the last step: lives, who was out, and which lanes' episodes ended.
        self._lives, self._out, self._ended = np.zeros(shape, np.int32), np.zeros(shape, bool), np.zeros(shape[0], bool)

    def actions(self, actions: dict[str, Any]) -> NDArray[np.int64]:
        return np.stack([actions[agent] for agent in self.agents], axis=1)

    def started(self, observations: Any, infos: dict[str, Any]) -> Any:
        started = infos["_player_lives"]
        self._ended[started] = False
        self._lives = np.where(started[:, None], infos["player_lives"], self._lives)
        self._out = self._lives < 0
        nobody = np.zeros_like(self._out)
        return dict.fromkeys(self.agents, observations), self._infos(infos, ~self._out, nobody, self._lives)

    def told(self, observations: Any, rewards: Any, terminated: Any, truncated: Any, infos: dict[str, Any]) -> Any:
        ended, lives, mode = terminated | truncated, infos["player_lives"], self._env.autoreset_mode
        last = lives  # those after the step
        if mode is AutoresetMode.SAME_STEP and ended.any():
            last = np.where(ended[:, None], infos["final_info"]["player_lives"], lives)
        active = ~self._out
        lost = last < self._lives
        if mode is AutoresetMode.NEXT_STEP:  # in lanes that ended before, this was the reset
            active[self._ended], lost[self._ended] = True, False
        out = last < 0
        self._lives, self._out, self._ended = lives, lives < 0, ended
        return (
            dict.fromkeys(self.agents, observations),
            self.columns(infos["rewards"]),
            self.columns(out | terminated[:, None]),
            {agent: truncated.copy() for agent in self.agents},
            self._infos(infos, active, lost, last),
        )

    def _infos(
        self, infos: dict[str, Any], active: NDArray[np.bool_], lost: NDArray[np.bool_], last: NDArray[np.int32]
    ) -> dict[str, dict[str, Any]]:
        """{agent: the lanes' infos, with what is the agent's own in the place of player one's}."""
        common = {key: value for key, value in infos.items() if key not in _OF_ALL and key.lstrip("_") not in _OF_ALL}
        told = {}
        for k, agent in enumerate(self.agents):
            own = {"lives": self._lives[:, k].copy(), "life_lost": lost[:, k].copy(), "active": active[:, k].copy()}
            told[agent] = {**common, **own, "_active": np.ones(self._env.num_envs, bool)}
            if "final_info" in infos:
                final, done = infos["final_info"], infos["_final_info"]
                final = {key: value for key, value in final.items() if key.lstrip("_") not in _OF_ALL}
                final.update(lives=np.where(done, last[:, k], 0), life_lost=lost[:, k] & done)
                told[agent]["final_info"] = final
        return told

    def state(self) -> NDArray[Any]:
        raise NotImplementedError(f"{self._env.id} has no state() beside what every agent sees: use its observations")


class PortCast(Cast):
    """Players of a C type whose ports have names that start with a player's, such as "red/reward".

    Raises:
        ValueError: a player has no action, no observation or no reward, or a part of the observation is nobody's.
    """

    def __init__(self, env: BatchEnv):
        self._env = env
        told = {path for path, _, _ in env._backend.info_forms()}
        action, observation = env.single_action_space, env.single_observation_space
        self.agents = _in_order(env, action) if isinstance(action, spaces.Dict) else []
        seen = observation.spaces if isinstance(observation, spaces.Dict) else {}
        lacking = [f"{agent} has no reward" for agent in self.agents if (agent, "reward") not in told]
        lacking += [f"{agent} has no observation" for agent in self.agents if agent not in seen]
        lacking += [f"the observation {name!r} belongs to nobody" for name in seen if name not in self.agents]
        if not self.agents:
            lacking = ["its action is no Dict of players"]
        if lacking:
            raise ValueError(
                f"{env.id} is not for several players ({', '.join(lacking)}): "
                'each needs ports of its own, such as "red" (BE_ACTION), "red" (BE_OBSERVATION) and "red/reward" '
                "(BE_REWARD)"
            )
        self.observation_spaces = {agent: seen[agent] for agent in self.agents}
        self.action_spaces = {agent: action[agent] for agent in self.agents}
        self._ends = {agent: [(agent, flag) in told for flag in ("terminated", "truncated")] for agent in self.agents}
        # Of the last step: who played in it, who was out after it, and which lanes' episodes ended.
        self._active = np.ones((env.num_envs, len(self.agents)), bool)
        self._out, self._ended = ~self._active, np.zeros(env.num_envs, bool)

    def actions(self, actions: dict[Any, Any]) -> dict[Any, Any]:
        return actions

    def started(self, observations: Any, infos: dict[str, Any]) -> Any:
        started = self._env.state["elapsed_steps"] == 0
        self._active[started], self._out[started], self._ended[started] = True, False, False
        playing = ~self._out & ~self._ended[:, None]
        return self._seen(observations, self._active), self._infos(infos, self._active, playing)

    def told(self, observations: Any, rewards: Any, terminated: Any, truncated: Any, infos: dict[str, Any]) -> Any:
        ended, same_step = terminated | truncated, self._env.autoreset_mode is AutoresetMode.SAME_STEP
        active = self._active = ~self._out
        if self._env.autoreset_mode is AutoresetMode.NEXT_STEP:  # in lanes that ended before, this was the reset
            active[self._ended] = True
        over, cut = self._flags(infos, 0), self._flags(infos, 1)
        if same_step and ended.any():  # the infos are those of new episodes; what has happened is said in these
            final = infos["final_info"]
            over = np.where(ended[:, None], self._flags(final, 0), over)
            cut = np.where(ended[:, None], self._flags(final, 1), cut)
        self._out, self._ended = (over | cut) & ~(ended & same_step)[:, None], ended
        playing = ~self._out & ~(ended & (not same_step))[:, None]
        won = np.stack([infos[agent]["reward"] for agent in self.agents], axis=1)
        return (
            self._seen(observations, (active | ended[:, None]) if same_step else active),
            self.columns(np.where(active, won, 0)),
            self.columns(over | terminated[:, None]),
            self.columns(cut | truncated[:, None]),
            self._infos(infos, active, playing),
        )

    def _flags(self, infos: dict[str, Any], which: int) -> NDArray[np.bool_]:
        """Which agents the type says are terminated (0) or truncated (1); nobody where it says nothing."""
        nobody = np.zeros(self._env.num_envs, bool)
        flags = [
            infos[agent][("terminated", "truncated")[which]] != 0 if self._ends[agent][which] else nobody
            for agent in self.agents
        ]
        return np.stack(flags, axis=1)

    def _seen(self, observations: dict[Any, Any], active: NDArray[np.bool_]) -> dict[Any, Any]:
        """Each agent's observation: 0 where it is not active."""
        return {
            agent: observations[agent]
            if active[:, k].all()
            else nested.each(_blanked(~active[:, k]), observations[agent])
            for k, agent in enumerate(self.agents)
        }

    def _infos(
        self, infos: dict[str, Any], active: NDArray[np.bool_], playing: NDArray[np.bool_]
    ) -> dict[Any, dict[str, Any]]:
        common, told = self._common(infos), {}
        every = np.ones(self._env.num_envs, bool)
        for k, agent in enumerate(self.agents):
            mine = told[agent] = {**common, **_own(infos, agent)}
            mine.update(active=active[:, k].copy(), playing=playing[:, k].copy(), _active=every, _playing=every)
            if "final_obs" in infos:
                mine["final_obs"] = np.full(self._env.num_envs, None, object)
                for lane in np.flatnonzero(infos["_final_obs"]).tolist():
                    seen = infos["final_obs"][lane][agent]
                    mine["final_obs"][lane] = seen if active[lane, k] else nested.each(_blanked(...), seen)
            if "final_info" in infos:
                final = infos["final_info"]
                mine["final_info"] = {**self._common(final), **_own(final, agent)}
        return told

    def _common(self, infos: dict[str, Any]) -> dict[str, Any]:
        """What is not of one agent."""
        keys = {*self.agents, *(f"_{agent}" for agent in self.agents)}
        return {key: value for key, value in infos.items() if key not in keys}

    def state(self) -> NDArray[Any]:
        raise NotImplementedError(f"{self._env.id} has no state() beside what its agents see: use env.env.state")


_FLAGS = {f"{mark}{name}" for name in ("reward", "terminated", "truncated") for mark in ("", "_")}


def _own(infos: dict[str, Any], agent: Any) -> dict[str, Any]:
    """An agent's infos, without what `told` returns by itself."""
    return {key: value for key, value in infos.get(agent, {}).items() if key not in _FLAGS}


def _in_order(env: BatchEnv, action: spaces.Dict) -> list[str]:
    """The parts of the action in the order of the type's table (a Dict space sorts them)."""
    core = getattr(env._backend, "core", None)
    if core is None or env._backend.has_envs:
        return []
    with env._backend.hold(settle=False):
        paths = core.spaces()[1]
    return [name for name in dict.fromkeys(path.split("/")[0] for path in paths) if name in action.spaces]


def _blanked(idle: Any) -> Callable[[Any], Any]:
    """What puts 0 in place of the values of these lanes (...: of the only one); other values than numbers stay."""

    def blank(part: Any) -> Any:
        if isinstance(part, np.ndarray) and part.dtype.kind in "biuf":
            part[idle] = 0
        return part * 0 if isinstance(part, np.number) else part

    return blank


def cast_of(env: BatchEnv) -> Cast:
    """Who plays in lanes in C.

    Raises:
        ValueError: their lanes have one player.
    """
    return PortCast(env) if isinstance(env.single_action_space, spaces.Dict) else AtariCast(env)


class WorkerCast(Cast):
    """Agents of environments in workers. layout: how the workers lay out what is theirs."""

    flies = True

    def __init__(self, env: BatchEnv, layout: Layout):
        self._env, self._layout = env, layout
        self.agents = layout.agents
        self.observation_spaces, self.action_spaces = layout.observation_spaces, layout.action_spaces
        self._keys = {of(agent) for agent in self.agents} | {f"_{of(agent)}" for agent in self.agents}

    def actions(self, actions: dict[Any, Any]) -> dict[str, Any]:
        return {
            group.name: joined(group.space, [actions[agent] for agent in group.agents]) for group in self._layout.taken
        }

    def started(self, observations: Any, infos: dict[str, Any]) -> Any:
        flags = observations[FLAGS].view(np.bool_)
        return self._seen(observations), self._infos(infos, flags[:, Flag.ACTIVE], flags[:, Flag.PLAYING])

    def told(self, observations: Any, rewards: Any, terminated: Any, truncated: Any, infos: dict[str, Any]) -> Any:
        table, flags = observations[REWARDS], observations[FLAGS].view(np.bool_)
        playing = flags[:, Flag.PLAYING].copy()
        known, _, _ = parted(infos)
        if "final_obs" in known:  # the observations are those of new episodes; what has happened is said in these
            table, flags = table.copy(), flags.copy()
            for lane in np.flatnonzero(known["_final_obs"]).tolist():
                final = known["final_obs"][lane]
                table[lane], flags[lane] = final[REWARDS], final[FLAGS]
        if self._env.autoreset_mode is not AutoresetMode.SAME_STEP:
            playing[terminated | truncated] = False
        # A lane that is truncated while agents play was cut off by a limit. One of which nothing is said has failed.
        unaware = flags[:, Flag.PLAYING] | ~flags[:, Flag.ACTIVE].any(axis=1, keepdims=True)
        return (
            self._seen(observations),
            self.columns(table),
            self.columns(flags[:, Flag.TERMINATED]),
            self.columns(flags[:, Flag.TRUNCATED] | (truncated[:, None] & unaware)),
            self._infos(infos, flags[:, Flag.ACTIVE], playing),
        )

    def _places(self) -> Iterable[tuple[Any, Group, int]]:
        """Each agent, in order, with where its observations are."""
        places = {agent: (group, k) for group in self._layout.seen for k, agent in enumerate(group.agents)}
        return [(agent, *places[agent]) for agent in self.agents]

    def _seen(self, observations: Any) -> dict[Any, Any]:
        return {
            agent: apart(group.space, observations[group.name], (slice(None), k)) for agent, group, k in self._places()
        }

    def _infos(
        self, infos: dict[str, Any], active: NDArray[np.bool_], playing: NDArray[np.bool_]
    ) -> dict[Any, dict[str, Any]]:
        """{agent: its own infos, and those of the lanes}."""
        if isinstance(infos, Apart):
            known, told, finals = parted(infos)
            join = functools.cache(lambda: self._infos(dict(infos), active, playing))
            return {
                agent: Apart(
                    mine, _notes_of(agent, told), _notes_of(agent, finals), functools.partial(_item, join, agent)
                )
                for agent, mine in self._infos(known, active, playing).items()
            }
        rows = len(active)
        common = self._common(infos)
        done, told = np.flatnonzero(infos.get("_final_obs", ())).tolist(), {}
        for place, (agent, group, k) in enumerate(self._places()):
            mine = told[agent] = {**common, **infos.get(of(agent), {})}
            mine.update(active=active[:, place].copy(), playing=playing[:, place].copy())
            mine.update(_active=np.ones(rows, bool), _playing=np.ones(rows, bool))
            if done:
                mine["final_obs"] = np.full(rows, None, object)
                for lane in done:
                    mine["final_obs"][lane] = apart(group.space, infos["final_obs"][lane][group.name], (k,))
            if "final_info" in infos:
                final = infos["final_info"]
                mine["final_info"] = {**self._common(final), **final.get(of(agent), {})}
        return told

    def _common(self, infos: dict[str, Any]) -> dict[str, Any]:
        """What is not of one agent."""
        return {key: value for key, value in infos.items() if key not in self._keys}

    def state(self) -> NDArray[Any]:
        return np.stack(self._env.call("state"))


def _notes_of(agent: Any, notes: Notes) -> Notes:
    """What is an agent's of what lanes have said."""
    return [(lane, info[of(agent)]) for lane, info in notes if of(agent) in info]


def _item(make: Callable[[], dict[Any, Any]], key: Any) -> Any:
    return make()[key]
