"""Several players in each lane: PettingZoo's parallel API over a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv.env import BatchEnv
from batchenv.results import converted

_NAMES = ("first", "second", "third", "fourth")
_OF_ALL = ("rewards", "player_lives", "players")


class ParallelBatchEnv:
    """Lanes that several agents play, in the form of PettingZoo's ParallelEnv: dicts by agent of arrays over lanes.

    `.env` is the BatchEnv below; lanes are to be stepped and reset through this object only.

    Agents are named as in PettingZoo: "first_0", "second_0", "third_0", "fourth_0". All see the same screen, so that
    their observations are one array. Lanes reset themselves as the BatchEnv's autoreset mode says; therefore `agents`
    are always all of them, and an agent that is out while others go on stays: it is terminated in every step until the
    lane's next episode, and its actions do nothing. `infos[agent]["active"]` says in which lanes it was playing.

    Args:
        env: a BatchEnv made with players=2 or more.

    Raises:
        ValueError: its lanes have one player.
    """

    def __init__(self, env: BatchEnv):
        space = env.single_action_space
        if env.config.get("players", 1) == 1 or not isinstance(space, spaces.MultiDiscrete):
            raise ValueError(
                f"{env!r} has one player per lane: make it with players=2, such as make_parallel('Pong-v5')"
            )
        self.env = env
        self.possible_agents = [f"{name}_0" for name in _NAMES[: len(space.nvec)]]
        self.observation_spaces = dict.fromkeys(self.possible_agents, env.single_observation_space)
        self.action_spaces = {
            agent: spaces.Discrete(int(n)) for agent, n in zip(self.possible_agents, space.nvec, strict=True)
        }
        self.metadata = {**env.metadata, "name": env.id, "is_parallelizable": True}
        shape = (env.num_envs, len(self.possible_agents))
        # Of the last step: lives, who was out, and which lanes' episodes ended.
        self._lives, self._out, self._ended = np.zeros(shape, np.int32), np.zeros(shape, bool), np.zeros(shape[0], bool)

    def __repr__(self) -> str:
        return f"ParallelBatchEnv({self.env!r}, agents={self.possible_agents})"

    @property
    def agents(self) -> list[str]:
        """The agents that play: all, until the env is closed."""
        return [] if self.env.closed else list(self.possible_agents)

    @property
    def num_envs(self) -> int:
        """Number of lanes."""
        return self.env.num_envs

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

    def observation_space(self, agent: str) -> spaces.Space:
        """The space of an agent's observations in one lane. ValueError: no such agent."""
        return self._of(self.observation_spaces, agent)

    def action_space(self, agent: str) -> spaces.Space:
        """The space of an agent's actions in one lane. ValueError: no such agent."""
        return self._of(self.action_spaces, agent)

    def _of(self, table: dict[str, Any], agent: Any) -> Any:
        if agent not in self.possible_agents:
            raise ValueError(f"agent {agent!r} is none of {self.possible_agents}")
        return table[agent]

    def reset(
        self, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Starts new episodes.

        Args:
            seed, options: as `BatchEnv.reset` takes them, "reset_mask" too.

        Returns:
            observations {agent: (num_envs, ...)} and infos {agent: {"lives": (num_envs,), "active": (num_envs,) bool,
            and the lanes' own}}.

        Raises:
            As `BatchEnv.reset`.
        """
        return converted(self._started, self.env.reset, seed=seed, options=options)

    def _started(self, observations: Any, infos: dict[str, Any]):
        started = infos["_player_lives"]
        self._ended[started] = False
        self._lives = np.where(started[:, None], infos["player_lives"], self._lives)
        self._out = self._lives < 0
        nobody = np.zeros_like(self._out)
        return dict.fromkeys(self.possible_agents, observations), self._infos(infos, ~self._out, nobody, self._lives)

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """Takes one action of every agent in every lane.

        Args:
            actions: {agent: integers (num_envs,)}, with every agent.

        Returns:
            observations {agent: (num_envs, ...)}, rewards {agent: (num_envs,) float64}, terminations and truncations
            {agent: (num_envs,) bool}, infos {agent: {"lives": (num_envs,) int32, "active": (num_envs,) bool, and the
            lanes' own}}. An agent terminates with the game, or when its lives are below 0: then it is out.

        Raises:
            TypeError, ValueError: an agent is missing or unknown, or its actions have a wrong shape, dtype or value;
                no lane has been stepped.
            Otherwise as `BatchEnv.step`.
        """
        return converted(self._told, self.env.step, self._rows(actions))

    def _rows(self, actions: Any) -> NDArray[Any]:
        """(num_envs, players), checked but for the values."""
        if not isinstance(actions, dict):
            raise TypeError(
                f"actions must be a dict {{agent: integers ({self.num_envs},)}} with {self.possible_agents}, "
                f"not {type(actions).__name__}; no lane has been stepped"
            )
        missing = [agent for agent in self.possible_agents if agent not in actions]
        unknown = [agent for agent in actions if agent not in self.possible_agents]
        if missing or unknown:
            problems = [
                f"{problem} {names}" for problem, names in (("lack", missing), ("have unknown", unknown)) if names
            ]
            raise ValueError(
                f"actions {' and '.join(problems)}: pass one array for each of {self.possible_agents}; "
                "no lane has been stepped"
            )
        columns = []
        for agent in self.possible_agents:
            try:
                column = np.asarray(actions[agent])
            except ValueError as error:
                raise ValueError(f"actions[{agent!r}] cannot be read as an array: {error}") from None
            if column.shape != (self.num_envs,):
                raise ValueError(
                    f"actions[{agent!r}] have shape {column.shape}, but {self.num_envs} lanes need ({self.num_envs},); "
                    "no lane has been stepped"
                )
            if column.dtype.kind not in "iu":
                raise TypeError(
                    f"actions[{agent!r}] have dtype {column.dtype}, but {self.action_spaces[agent]} needs integers; "
                    "no lane has been stepped"
                )
            count = self.action_spaces[agent].n
            wrong = (column < 0) | (column >= count)
            if wrong.any():
                lane = int(wrong.argmax())
                raise ValueError(
                    f"actions[{agent!r}][{lane}]={column[lane]} is not in 0..{count - 1}; no lane has been stepped"
                )
            columns.append(column.astype(np.int64))
        return np.stack(columns, axis=1)

    def _told(self, observations: Any, rewards: Any, terminated: Any, truncated: Any, infos: dict[str, Any]):
        ended, lives, mode = terminated | truncated, infos["player_lives"], self.env.autoreset_mode
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
            dict.fromkeys(self.possible_agents, observations),
            self._columns(infos["rewards"]),
            self._columns(out | terminated[:, None]),
            {agent: truncated.copy() for agent in self.possible_agents},
            self._infos(infos, active, lost, last),
        )

    def _columns(self, table: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """(num_envs, players) by agent."""
        return {agent: table[:, k].copy() for k, agent in enumerate(self.possible_agents)}

    def _infos(
        self, infos: dict[str, Any], active: NDArray[np.bool_], lost: NDArray[np.bool_], last: NDArray[np.int32]
    ):
        """{agent: the lanes' infos, with what is the agent's own in the place of player one's}."""
        common = {key: value for key, value in infos.items() if key not in _OF_ALL and key.lstrip("_") not in _OF_ALL}
        told = {}
        for k, agent in enumerate(self.possible_agents):
            own = {"lives": self._lives[:, k].copy(), "life_lost": lost[:, k].copy(), "active": active[:, k].copy()}
            told[agent] = {**common, **own, "_active": np.ones(self.num_envs, bool)}
            if "final_info" in infos:
                final, done = infos["final_info"], infos["_final_info"]
                final = {key: value for key, value in final.items() if key.lstrip("_") not in _OF_ALL}
                final.update(lives=np.where(done, last[:, k], 0), life_lost=lost[:, k] & done)
                told[agent]["final_info"] = final
        return told

    def render(self, lanes: Any = None) -> tuple[Any, ...] | None:
        """Pictures of lanes, as `BatchEnv.render`."""
        return self.env.render(lanes)

    def close(self) -> None:
        """Releases the lanes and the window."""
        self.env.close()
