"""Procgen's games against gym3's ProcgenGym3Env of the same library: every frame, reward, end and info.

BATCHENV_PROCGEN_SEEDS and BATCHENV_PROCGEN_STEPS set how many seeds each game plays in each mode, and for how many
steps; the defaults keep the suite short.
"""

import os

import numpy as np
import pytest

import batchenv
from batchenv.envs.procgen.games import MODES
from helpers.procgen import Reference

SEEDS = int(os.environ.get("BATCHENV_PROCGEN_SEEDS", 2))
STEPS = int(os.environ.get("BATCHENV_PROCGEN_STEPS", 300))
AT_ONCE = 10  # seeds

OPTIONS = [
    {"num_levels": 3, "start_level": 50},
    {"num_levels": 1, "start_level": 2**31 - 2},
    {"use_sequential_levels": True, "distribution_mode": "easy"},
    {"center_agent": False},
    {"use_backgrounds": False},
    {"use_monochrome_assets": True},
    {"restrict_themes": True},
    {"use_generated_assets": True},
    {"paint_vel_info": True},
    {"debug_mode": 14},
]


def actions_of(rng, lanes):
    """Random actions, which are held for some steps, and mostly lead to the right, where goals are in many games."""
    while True:
        held = rng.choice(15, size=lanes, p=np.array([1, 1, 1, 1, 1, 2, 3, 6, 6, 2, 1, 1, 1, 1, 1]) / 29)
        for _ in range(rng.integers(1, 8)):
            yield held


def compare(game, seeds, steps, **options):
    """Plays both and compares them. Returns how many episodes have ended."""
    env = batchenv.make(f"procgen-{game}-v0", len(seeds), autoreset_mode="SameStep", **options)
    theirs = Reference(game, seeds, **options)
    ours, infos = env.reset(seed=list(seeds))
    frames, _, _, expected = theirs.observe()
    np.testing.assert_array_equal(ours, frames)
    actions = actions_of(np.random.default_rng(0), len(seeds))
    ended = 0
    for step in range(steps):
        chosen = next(actions)
        before = ours
        ours, rewards, terminations, truncations, infos = env.step(chosen)
        theirs.act(chosen)
        frames, expected_rewards, firsts, expected = theirs.observe()
        np.testing.assert_array_equal(ours, frames, err_msg=f"step {step}")
        np.testing.assert_array_equal(rewards, expected_rewards, err_msg=f"step {step}")
        np.testing.assert_array_equal(terminations, firsts, err_msg=f"step {step}")
        assert not truncations.any()
        for name, values in expected.items():
            assert infos[name].dtype == values.dtype
            np.testing.assert_array_equal(infos[name], values, err_msg=f"{name}, step {step}")
        if firsts.any():
            ended += firsts.sum()
            shown = np.stack(infos["final_obs"][firsts])
            np.testing.assert_array_equal(shown, before[firsts])  # the true last frame is never drawn
    env.close()
    theirs.close()
    return int(ended)


@pytest.mark.parametrize("game, mode", [(game, mode) for game in MODES for mode in ("easy", "hard", *MODES[game])])
def test_games_equal_gym3(game, mode):
    for first in range(0, SEEDS, AT_ONCE):
        compare(game, range(first, min(first + AT_ONCE, SEEDS)), STEPS, distribution_mode=mode)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("game", ["coinrun", "starpilot", "maze", "ninja", "bossfight"])
def test_options_equal_gym3(game, options):
    compare(game, [3, 2**31 - 1], STEPS, **options)


@pytest.mark.parametrize("game", ["bigfish", "chaser"])
def test_whole_episodes_equal_gym3(game):
    assert compare(game, [0], 1200, distribution_mode="easy")


def test_steps_on_with_sequential_levels():
    """A completed level is no end, but the next level begins."""
    env = batchenv.make("procgen-leaper-v0", 1, use_sequential_levels=True, distribution_mode="easy")
    env.reset(seed=0)
    completed = 0
    for _ in range(3000):
        _, _, terminations, _, infos = env.step(np.array([5]))
        completed += infos["prev_level_complete"][0]
        if infos["prev_level_complete"][0]:
            assert not terminations[0] and infos["level_seed"][0] == infos["prev_level_seed"][0] + 997
    assert completed
