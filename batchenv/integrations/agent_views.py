"""Maps each agent that plays in lanes of a BatchEnv to its part of the arrays of these lanes."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv.backend.protocol import Flags, InfoDict
from batchenv.backend.results import Apart, RowInfos, parted
from batchenv.env import wrapping
from batchenv.env.batch_env import BatchEnv
from batchenv.spaces import nested
from batchenv.workers.players import FLAGS, REWARDS, AgentLayout, Flag, apart, joined, of

_NAMES = ("first", "second", "third", "fourth")
_OF_ALL = ("rewards", "player_lives", "players")
# Infos of an agent that `step_result` returns by themselves.
_FLAGS = {f"{mark}{name}" for name in ("reward", "terminated", "truncated") for mark in ("", "_")}


class AgentViews(ABC):
    """The agents that play in the lanes of a BatchEnv, and each one's part of actions, observations, ends and infos.

    Args:
        env: the BatchEnv.
        observation_spaces, action_spaces: {agent: space}, of one lane, of all agents that may play.
        not_common: names of infos that are not of all agents alike.

    Attributes:
        agents: all that may play.
        observation_spaces, action_spaces: as given.
        can_send: whether `step_result` takes rows of some lanes, as `BatchEnv.recv` returns them.
    """

    can_send = False

    def __init__(
        self,
        env: BatchEnv,
        observation_spaces: Mapping[Any, spaces.Space],
        action_spaces: Mapping[Any, spaces.Space],
        not_common: Iterable[str],
    ):
        self._env = env
        self.agents = list(observation_spaces)
        self.observation_spaces, self.action_spaces = dict(observation_spaces), dict(action_spaces)
        self._not_common = {name for key in not_common for name in (key, f"_{key}")}

    @abstractmethod
    def actions(self, actions: dict[Any, Any]) -> Any:
        """What `BatchEnv.step` takes, of {agent: actions of all lanes} that have been checked."""

    @abstractmethod
    def reset_result(self, observations: Any, infos: InfoDict) -> tuple[dict[Any, Any], dict[Any, InfoDict]]:
        """By agent, what `BatchEnv.reset` has returned."""

    @abstractmethod
    def step_result(
        self, observations: Any, rewards: Any, terminated: Any, truncated: Any, infos: InfoDict
    ) -> tuple[dict[Any, Any], ...]:
        """By agent, what `BatchEnv.step` has returned."""

    @abstractmethod
    def state(self) -> NDArray[Any]:
        """What PettingZoo calls state, of all lanes."""

    def _columns(self, table: NDArray[Any]) -> dict[Any, NDArray[Any]]:
        """(num_envs, agents) by agent."""
        return {agent: table[:, k].copy() for k, agent in enumerate(self.agents)}

    def _common(self, infos: InfoDict) -> dict[str, Any]:
        """Infos that are of all agents alike."""
        return {key: value for key, value in infos.items() if key not in self._not_common}


class _OwnParts(AgentViews):
    """Agents whose lanes say by agent what is an agent's own."""

    @abstractmethod
    def _own(self, infos: InfoDict, agent: Any) -> dict[str, Any]:
        """An agent's own infos."""

    @abstractmethod
    def _final_observation(self, agent: Any, final: Any, active: np.bool_) -> Any:
        """An agent's part of a lane's last observation. active: whether it was in the last step."""

    def _infos(self, infos: InfoDict, active: Flags, playing: Flags) -> dict[Any, InfoDict]:
        """{agent: infos of all agents and its own, with "active" and "playing" of (num_envs, agents)}."""
        rows, common, by_agent = len(active), self._common(infos), {}
        ended = np.flatnonzero(infos.get("_final_obs", ())).tolist()
        for k, agent in enumerate(self.agents):
            own = by_agent[agent] = {**common, **self._own(infos, agent)}
            own.update(active=active[:, k].copy(), playing=playing[:, k].copy())
            own.update(_active=np.ones(rows, bool), _playing=np.ones(rows, bool))
            if ended:
                own["final_obs"] = np.full(rows, None, object)
                for lane in ended:
                    final = infos["final_obs"][lane]
                    own["final_obs"][lane] = self._final_observation(agent, final, active[lane, k])
            if "final_info" in infos:
                final = infos["final_info"]
                own["final_info"] = {**self._common(final), **self._own(final, agent)}
        return by_agent


class AtariViews(AgentViews):
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
        agents = [f"{name}_0" for name in _NAMES[: len(space.nvec)]]
        taken = {agent: spaces.Discrete(int(n)) for agent, n in zip(agents, space.nvec, strict=True)}
        super().__init__(env, dict.fromkeys(agents, env.single_observation_space), taken, _OF_ALL)
        shape = (env.num_envs, len(self.agents))
        # Of the last step: lives, who was out, and which lanes' episodes ended.
        self._lives, self._out, self._ended = np.zeros(shape, np.int32), np.zeros(shape, bool), np.zeros(shape[0], bool)

    def actions(self, actions: dict[str, Any]) -> NDArray[np.int64]:
        return np.stack([actions[agent] for agent in self.agents], axis=1)

    def reset_result(self, observations: Any, infos: InfoDict) -> Any:
        started = infos["_player_lives"]
        self._ended[started] = False
        self._lives = np.where(started[:, None], infos["player_lives"], self._lives)
        self._out = self._lives < 0
        nobody = np.zeros_like(self._out)
        return dict.fromkeys(self.agents, observations), self._infos(infos, ~self._out, nobody, self._lives)

    def step_result(self, observations: Any, rewards: Any, terminated: Any, truncated: Any, infos: InfoDict) -> Any:
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
            self._columns(infos["rewards"]),
            self._columns(out | terminated[:, None]),
            {agent: truncated.copy() for agent in self.agents},
            self._infos(infos, active, lost, last),
        )

    def _infos(self, infos: InfoDict, active: Flags, lost: Flags, last: NDArray[np.int32]) -> dict[str, InfoDict]:
        """{agent: the lanes' infos, with what is the agent's own in the place of player one's}."""
        common, by_agent = self._common(infos), {}
        for k, agent in enumerate(self.agents):
            own = {"lives": self._lives[:, k].copy(), "life_lost": lost[:, k].copy(), "active": active[:, k].copy()}
            by_agent[agent] = {**common, **own, "_active": np.ones(self._env.num_envs, bool)}
            if "final_info" in infos:
                final, done = self._common(infos["final_info"]), infos["_final_info"]
                final.update(lives=np.where(done, last[:, k], 0), life_lost=lost[:, k] & done)
                by_agent[agent]["final_info"] = final
        return by_agent

    def state(self) -> NDArray[Any]:
        raise NotImplementedError(f"{self._env.id} has no state() beside what every agent sees: use its observations")


class PortViews(_OwnParts):
    """Players of a C type whose ports have names that start with a player's, such as "red/reward".

    Raises:
        ValueError: a player has no action, no observation or no reward, or a part of the observation is nobody's.
    """

    def __init__(self, env: BatchEnv):
        said = {path for path, _, _ in wrapping.backend_of(env).info_forms()}
        action, observation = env.single_action_space, env.single_observation_space
        actions = action.spaces if isinstance(action, spaces.Dict) else {}
        agents = _in_order(env, actions)
        seen = observation.spaces if isinstance(observation, spaces.Dict) else {}
        lacking = [f"{agent} has no reward" for agent in agents if (agent, "reward") not in said]
        lacking += [f"{agent} has no observation" for agent in agents if agent not in seen]
        lacking += [f"the observation {name!r} belongs to nobody" for name in seen if name not in agents]
        if not agents:
            lacking = ["its action is no Dict of players"]
        if lacking:
            raise ValueError(
                f"{env.id} is not for several players ({', '.join(lacking)}): "
                'each needs ports of its own, such as "red" (BE_ACTION), "red" (BE_OBSERVATION) and "red/reward" '
                "(BE_REWARD)"
            )
        taken = {agent: actions[agent] for agent in agents}
        super().__init__(env, {agent: seen[agent] for agent in agents}, taken, agents)
        self._ends = {agent: [(agent, flag) in said for flag in ("terminated", "truncated")] for agent in self.agents}
        # Of the last step: who played in it, who was out after it, and which lanes' episodes ended.
        self._active = np.ones((env.num_envs, len(self.agents)), bool)
        self._out, self._ended = ~self._active, np.zeros(env.num_envs, bool)

    def actions(self, actions: dict[Any, Any]) -> dict[Any, Any]:
        return actions

    def reset_result(self, observations: Any, infos: InfoDict) -> Any:
        started = self._env.state["elapsed_steps"] == 0
        self._active[started], self._out[started], self._ended[started] = True, False, False
        playing = ~self._out & ~self._ended[:, None]
        return self._observations(observations, self._active), self._infos(infos, self._active, playing)

    def step_result(self, observations: Any, rewards: Any, terminated: Any, truncated: Any, infos: InfoDict) -> Any:
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
            self._observations(observations, (active | ended[:, None]) if same_step else active),
            self._columns(np.where(active, won, 0)),
            self._columns(over | terminated[:, None]),
            self._columns(cut | truncated[:, None]),
            self._infos(infos, active, playing),
        )

    def _flags(self, infos: InfoDict, which: int) -> Flags:
        """Which agents the type says are terminated (0) or truncated (1); nobody where it says nothing."""
        nobody = np.zeros(self._env.num_envs, bool)
        flags = [
            infos[agent][("terminated", "truncated")[which]] != 0 if self._ends[agent][which] else nobody
            for agent in self.agents
        ]
        return np.stack(flags, axis=1)

    def _observations(self, observations: dict[Any, Any], active: Flags) -> dict[Any, Any]:
        """Each agent's observation: 0 where it is not active."""
        return {
            agent: observations[agent]
            if active[:, k].all()
            else nested.each(_blanked(~active[:, k]), observations[agent])
            for k, agent in enumerate(self.agents)
        }

    def _own(self, infos: InfoDict, agent: Any) -> dict[str, Any]:
        return {key: value for key, value in infos.get(agent, {}).items() if key not in _FLAGS}

    def _final_observation(self, agent: Any, final: Any, active: np.bool_) -> Any:
        return final[agent] if active else nested.each(_blanked(...), final[agent])

    def state(self) -> NDArray[Any]:
        raise NotImplementedError(f"{self._env.id} has no state() beside what its agents see: use env.env.state")


def _in_order(env: BatchEnv, actions: Mapping[str, spaces.Space]) -> list[str]:
    """The parts of the action in the order of the type's table (a Dict space sorts them)."""
    core = wrapping.core_of(env)
    if core is None or wrapping.backend_of(env).has_envs:
        return []
    with wrapping.held(env):
        paths = core.spaces()[1]
    return [name for name in dict.fromkeys(path.split("/")[0] for path in paths) if name in actions]


def _blanked(idle: Any) -> Callable[[Any], Any]:
    """What puts 0 in place of the values of these lanes (...: of the only one); other values than numbers stay."""

    def blank(part: Any) -> Any:
        if isinstance(part, np.ndarray) and part.dtype.kind in "biuf":
            part[idle] = 0
        return part * 0 if isinstance(part, np.number) else part

    return blank


def views_of(env: BatchEnv) -> AgentViews:
    """Who plays in lanes in C.

    Raises:
        ValueError: their lanes have one player.
    """
    return PortViews(env) if isinstance(env.single_action_space, spaces.Dict) else AtariViews(env)


class WorkerViews(_OwnParts):
    """Agents of environments in workers. layout: how the workers lay out what is theirs."""

    can_send = True

    def __init__(self, env: BatchEnv, layout: AgentLayout):
        super().__init__(env, layout.observation_spaces, layout.action_spaces, map(of, layout.agents))
        self._layout = layout
        self._places = {agent: (group, k) for group in layout.seen for k, agent in enumerate(group.agents)}

    def actions(self, actions: dict[Any, Any]) -> dict[str, Any]:
        return {
            group.name: joined(group.space, [actions[agent] for agent in group.agents]) for group in self._layout.taken
        }

    def reset_result(self, observations: Any, infos: InfoDict) -> Any:
        flags = observations[FLAGS].view(np.bool_)
        return self._observations(observations), self._infos(infos, flags[:, Flag.ACTIVE], flags[:, Flag.PLAYING])

    def step_result(self, observations: Any, rewards: Any, terminated: Any, truncated: Any, infos: InfoDict) -> Any:
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
            self._observations(observations),
            self._columns(table),
            self._columns(flags[:, Flag.TERMINATED]),
            self._columns(flags[:, Flag.TRUNCATED] | (truncated[:, None] & unaware)),
            self._infos(infos, flags[:, Flag.ACTIVE], playing),
        )

    def _observations(self, observations: Any) -> dict[Any, Any]:
        return {agent: self._part(agent, observations, slice(None)) for agent in self.agents}

    def _part(self, agent: Any, observations: Any, *lanes: Any) -> Any:
        """An agent's part of observations of lanes, or of one without a first axis."""
        group, k = self._places[agent]
        return apart(group.space, observations[group.name], (*lanes, k))

    def _own(self, infos: InfoDict, agent: Any) -> dict[str, Any]:
        return infos.get(of(agent), {})

    def _final_observation(self, agent: Any, final: Any, active: np.bool_) -> Any:
        return self._part(agent, final)

    def _infos(self, infos: InfoDict, active: Flags, playing: Flags) -> dict[Any, InfoDict]:
        if not isinstance(infos, Apart):
            return super()._infos(infos, active, playing)
        known, said, finals = parted(infos)
        join = functools.cache(lambda: self._infos(dict(infos), active, playing))
        return {
            agent: Apart(own, _of_agent(agent, said), _of_agent(agent, finals), functools.partial(_item, join, agent))
            for agent, own in self._infos(known, active, playing).items()
        }

    def state(self) -> NDArray[Any]:
        return np.stack(self._env.call("state"))


def _of_agent(agent: Any, said: RowInfos) -> RowInfos:
    """What envs have said of an agent."""
    return [(lane, info[of(agent)]) for lane, info in said if of(agent) in info]


def _item(make: Callable[[], dict[Any, Any]], key: Any) -> Any:
    return make()[key]
