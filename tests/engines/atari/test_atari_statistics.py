"""Statistics of Atari's episodes with episodic_life: of lives, or of whole games, as a RecordEpisodeStatistics has them
that stands below the wrapper which ends episodes with a life (SB3, CleanRL; EnvPool counts games, too)."""

import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics

import batchenv
import helpers.atari  # noqa: F401 (skips this module without the emulators)

# Breakout's games are over within a few hundred steps of doing anything.
COMMON = {"episodic_life": True, "noop_max": 0, "img_height": 20, "img_width": 20, "stack_num": 1, "frameskip": 8}
LANES, STEPS, SEED = 3, 400, 5


def action_of(lane, step):
    return (7 * lane + step // 3) % 4


def actions_at(steps):
    return np.array([action_of(lane, step) for lane, step in enumerate(steps)])


class WholeGames(gymnasium.Env):
    """One of our lanes, whose episodes are games: a lost life is not told to who looks at it from above."""

    def __init__(self):
        self.lane = batchenv.make("Breakout-v5", 1, autoreset_mode="Disabled", **COMMON)
        self.observation_space = self.lane.single_observation_space
        self.action_space = self.lane.single_action_space

    def reset(self, *, seed=None, options=None):
        return self.lane.reset(seed=seed)[0][0], {}

    def step(self, action):
        observation, reward, terminated, truncated, _ = self.lane.step(np.array([action]))
        over = bool(self.lane.get_attr("over")[0])
        if (terminated | truncated)[0] and not over:
            observation, _ = self.lane.reset(options={"reset_mask": np.array([True])})
        return observation[0], float(reward[0]), over and not truncated[0], bool(truncated[0]), {}


@pytest.fixture(scope="module")
def games():
    """Per lane: (return, length) of its games, by Gymnasium's wrapper."""
    found = []
    for lane in range(LANES):
        env, step = RecordEpisodeStatistics(WholeGames()), 0
        env.reset(seed=SEED + lane)
        found.append([])
        while step < STEPS:
            *_, terminated, truncated, info = env.step(action_of(lane, step))
            step += 1
            if terminated or truncated:
                found[-1].append((info["episode"]["r"], info["episode"]["l"]))
                env.reset()
    assert all(len(lane) >= 2 for lane in found) and any(total > 0 for lane in found for total, _ in lane)
    return found


def make(mode="NextStep", **keywords):
    keywords = {**COMMON, "record_episode_statistics": True, **keywords}
    return batchenv.make("Breakout-v5", LANES, autoreset_mode=mode, **keywords)


def note(found, infos, lanes=range(LANES), ended=None):
    """Adds what a step tells; returns which rows have statistics."""
    if "episode" not in infos:
        return np.zeros(len(lanes), bool)
    mask = infos["_episode"]
    assert mask.any() and (ended is None or not (mask & ~ended).any())
    assert not infos["episode"]["r"][~mask].any() and not infos["episode"]["l"][~mask].any()
    assert (infos["episode"]["t"][mask] > 0).all()
    for row in np.flatnonzero(mask):
        found[lanes[row]].append((infos["episode"]["r"][row], infos["episode"]["l"][row]))
    return mask


def agree(found, games):
    for lane, expected in zip(found, games, strict=True):
        assert len(lane) >= 1 and lane == expected[: len(lane)]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_games_by_default(mode, games):
    env, found, steps = make(mode), [[] for _ in range(LANES)], np.zeros(LANES, int)
    env.reset(seed=SEED)
    lives, skip = 0, np.zeros(LANES, bool)
    for t in range(STEPS):
        if t == 60:
            env = pickle.loads(pickle.dumps(env))
        if t == 120:
            other = make(mode)
            other.restore(env.snapshot())
            env = other
        *_, terminations, truncations, infos = env.step(actions_at(steps))
        steps += ~skip
        ended = terminations | truncations
        lives += int((ended & ~note(found, infos, ended=ended)).sum())
        skip = ended & (mode == "NextStep")
        if mode == "Disabled" and ended.any():
            env.reset(options={"reset_mask": ended})
    agree(found, games)
    assert lives > 0


@pytest.mark.parametrize("threads", [1, 2])
def test_received(threads, games):
    env, found, steps = make("SameStep", batch_size=2, num_threads=threads), [[] for _ in range(LANES)], [0] * LANES
    env.async_reset(seed=SEED)
    for _ in range(STEPS):
        infos = env.recv()[4]
        lanes = infos["env_id"]
        note(found, infos, lanes)
        env.send(np.array([action_of(lane, steps[lane]) for lane in lanes]), lanes)
        for lane in lanes:
            steps[lane] += 1
    agree(found, games)


def test_rolled_out(games):
    env, found = make("SameStep"), [[] for _ in range(LANES)]
    env.reset(seed=SEED)
    actions = np.array([actions_at([t] * LANES) for t in range(STEPS)])
    infos = env.rollout(actions)[4]
    for t in range(STEPS):
        if infos["_episode"][t].any():
            note(found, {"episode": {k: v[t] for k, v in infos["episode"].items()}, "_episode": infos["_episode"][t]})
    agree(found, games)


def test_lives_on_demand():
    env = make("SameStep", episode_statistics="lives")
    env.reset(seed=SEED)
    totals, lengths, seen = np.zeros(LANES), np.zeros(LANES, int), 0
    for t in range(100):
        _, rewards, terminations, truncations, infos = env.step(actions_at([t] * LANES))
        totals, lengths, ended = totals + rewards, lengths + 1, terminations | truncations
        if ended.any():
            np.testing.assert_array_equal(infos["_episode"], ended)
            np.testing.assert_array_equal(infos["episode"]["r"], np.where(ended, totals, 0))
            np.testing.assert_array_equal(infos["episode"]["l"], np.where(ended, lengths, 0))
        totals[ended], lengths[ended], seen = 0, 0, seen + ended.sum()
    assert seen > 0
    with pytest.raises(ValueError, match=r"episode_statistics='wins' must be one of \['games', 'lives'\]"):
        make(episode_statistics="wins")


def test_a_new_game_forgets_the_old_ones_statistics():
    """After a lost life, a seed starts another game."""
    env, fresh = make("Disabled"), make("Disabled")
    env.reset(seed=SEED), fresh.reset(seed=99)
    ended = np.zeros(LANES, bool)
    for t in range(200):
        ended = np.logical_or(*env.step(actions_at([t] * LANES))[2:4])
        if ended.any():
            break
    assert ended.any()
    env.reset(seed=99)
    found, expected = [[] for _ in range(LANES)], [[] for _ in range(LANES)]
    for envs, into in ((env, found), (fresh, expected)):
        for t in range(200):
            *_, terminations, truncations, infos = envs.step(actions_at([t] * LANES))
            note(into, infos)
            if (terminations | truncations).any():
                envs.reset(options={"reset_mask": terminations | truncations})
    assert found == expected and any(expected)
