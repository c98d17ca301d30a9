"""The package minatar as the reference of MinAtar's games, and a player that comes far in them."""

import re

import numpy as np

import batchenv

GAMES = ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")
IDS = [f"MinAtar/{game}-v{version}" for game in GAMES for version in (0, 1)]


def make_minatar(env_id, **keywords):
    """One of minatar's environments. Its ids are not put into Gymnasium's registry, which other tests go through."""
    from minatar.gym import BaseEnv

    name, version = env_id.removeprefix("MinAtar/").split("-v")
    game = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
    return BaseEnv(game=game, use_minimal_action_set=version == "1", **keywords)


def our_streams(env):
    """The key of each lane's stream, and how many of its words are used."""
    words = env.state["random_state"].view(np.uint32)
    return words[:, :624].copy(), np.minimum(words[:, 624], 624).astype(np.int64)


def their_streams(envs):
    """The same of minatar's environments."""
    states = [env.unwrapped.game.random.get_state(legacy=False)["state"] for env in envs]
    return np.array([state["key"] for state in states]), np.array([state["pos"] for state in states])


class Player:
    """Chooses actions by trying each a few times in copies of the lanes, with random actions after it. A call returns
    one action per lane.

    lanes: those that play like this, of those of the env that calls; the others' actions are random.
    """

    def __init__(self, env_id, num_envs, lanes=None, depth=16, tries=6, noise=0.03, seed=0, **keywords):
        self._lanes = np.arange(num_envs) if lanes is None else np.asarray(lanes)
        self._num_envs, self._depth, self._tries, self._noise = num_envs, depth, tries, noise
        self._rng = np.random.default_rng(seed)
        self._actions = batchenv.make(env_id, 1).single_action_space.n
        # Only long rows of steps upwards cross Freeway's road.
        self._always = {"MinAtar/Freeway-v0": 2, "MinAtar/Freeway-v1": 1}.get(env_id)
        self._copies = batchenv.make(env_id, len(self._lanes) * self._actions * tries, **keywords)
        self._copies.reset(seed=seed)

    def __call__(self, env, step=0):
        actions = self._rng.integers(self._actions, size=self._num_envs)
        careful = self._rng.random(len(self._lanes)) >= self._noise
        actions[self._lanes[careful]] = self._best(env)[careful]
        return actions

    def _best(self, env):
        if self._always is not None:
            return np.full(len(self._lanes), self._always)
        each = self._actions * self._tries
        state = {name: column[self._lanes] for name, column in env.state.items()}
        for name in ("random_state", "elapsed_steps"):
            del state[name]
        self._copies.reset()
        self._copies.set_state({name: np.repeat(column, each, axis=0) for name, column in state.items()})
        actions = np.tile(np.repeat(np.arange(self._actions), self._tries), len(self._lanes))
        alive, value = np.ones(len(actions), bool), np.zeros(len(actions))
        for step in range(self._depth):
            _, rewards, ended, _, _ = self._copies.step(actions)
            value += alive * (rewards - 3.0 * ended) * 0.97**step
            alive &= ~ended
            actions = self._rng.integers(self._actions, size=len(actions))
        value = value.reshape(len(self._lanes), self._actions, self._tries).mean(axis=2)
        return (value + 1e-4 * self._rng.random(value.shape)).argmax(axis=1)
