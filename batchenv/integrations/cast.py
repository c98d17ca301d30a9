"""Who plays in each lane of a BatchEnv, and which of its arrays are whose."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv.env import BatchEnv
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
        """See `Cast.actions`."""
        return np.stack([actions[agent] for agent in self.agents], axis=1)

    def started(self, observations: Any, infos: dict[str, Any]) -> Any:
        """See `Cast.started`."""
        started = infos["_player_lives"]
        self._ended[started] = False
        self._lives = np.where(started[:, None], infos["player_lives"], self._lives)
        self._out = self._lives < 0
        nobody = np.zeros_like(self._out)
        return dict.fromkeys(self.agents, observations), self._infos(infos, ~self._out, nobody, self._lives)

    def told(self, observations: Any, rewards: Any, terminated: Any, truncated: Any, infos: dict[str, Any]) -> Any:
        """See `Cast.told`."""
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
        """See `Cast.state`."""
        raise NotImplementedError(f"{self._env.id} has no state() beside what every agent sees: use its observations")


class WorkerCast(Cast):
    """Agents of environments in workers. layout: how the workers lay out what is theirs."""

    flies = True

    def __init__(self, env: BatchEnv, layout: Layout):
        self._env, self._layout = env, layout
        self.agents = layout.agents
        self.observation_spaces, self.action_spaces = layout.observation_spaces, layout.action_spaces
        self._keys = {of(agent) for agent in self.agents} | {f"_{of(agent)}" for agent in self.agents}

    def actions(self, actions: dict[Any, Any]) -> dict[str, Any]:
        """See `Cast.actions`."""
        return {
            group.name: joined(group.space, [actions[agent] for agent in group.agents]) for group in self._layout.taken
        }

    def started(self, observations: Any, infos: dict[str, Any]) -> Any:
        """See `Cast.started`."""
        flags = observations[FLAGS].view(np.bool_)
        return self._seen(observations), self._infos(infos, flags[:, Flag.ACTIVE], flags[:, Flag.PLAYING])

    def told(self, observations: Any, rewards: Any, terminated: Any, truncated: Any, infos: dict[str, Any]) -> Any:
        """See `Cast.told`."""
        table, flags = observations[REWARDS], observations[FLAGS].view(np.bool_)
        playing = flags[:, Flag.PLAYING].copy()
        if "final_obs" in infos:  # the observations are those of new episodes; what has happened is said in these
            table, flags = table.copy(), flags.copy()
            for lane in np.flatnonzero(infos["_final_obs"]).tolist():
                final = infos["final_obs"][lane]
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
        """See `Cast.state`."""
        return np.stack(self._env.call("state"))
