"""Snapshots with a right checksum and an impossible state: each rule refuses what breaks it, at exact limits."""

import importlib.util

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import batchenv
from helpers.forged import forge, seal

NEEDS = {"Hopper-v5": "mujoco", "Pong-v5": "multi_agent_ale_py"}


def started(env_id, lanes=2, **keywords):
    needs = NEEDS.get(env_id)
    if needs and importlib.util.find_spec(needs) is None:
        pytest.skip(f"needs {needs}")
    env = batchenv.make(env_id, lanes, **keywords)
    env.reset(seed=1)
    return env


def step(env):
    env.step(np.zeros((env.num_envs, *env.single_action_space.shape), env.single_action_space.dtype))


def hand(*cards):
    """A column of cards."""
    return [*cards, *[0] * (batchenv._core.type_info("Blackjack")["state"][0]["size"] - len(cards))]


def test_what_is_not_changed_is_accepted():
    for env_id in ["CartPole-v1", "Blackjack-v1", "Catch-v0", "Hopper-v5", "Pong-v5"]:
        env = started(env_id)
        assert forge(env) == bytes(env.snapshot())
        env.restore(forge(env))


# id, field, the least and the greatest number it may have
LIMITS = [
    ("NChain-v0", "s", 0, 4),
    ("FrozenLake-v1", "s", 0, 15),
    ("FrozenLake-v1", "lastaction", -1, 3),
    ("CliffWalking-v1", "s", 0, 47),
    ("CliffWalking-v1", "lastaction", -1, 3),
    ("Taxi-v4", "s", 0, 499),
    ("Taxi-v4", "lastaction", -1, 5),
    ("Taxi-v4", "fickle_step", 0, 1),
    ("Taxi-v4", "taxi_orientation", 0, 3),
    ("Catch-v0", "row", 0, 9),
    ("Catch-v0", "column", 0, 4),
    ("Catch-v0", "paddle", 0, 4),
    ("Blackjack-v1", "top_card_suit", 0, 3),
    ("MinAtar/Asterix-v1", "player_y", 1, 8),
    ("MinAtar/Asterix-v1", "ramp_timer", -1, 100),
    ("MinAtar/Breakout-v1", "ball_y", 0, 9),
    ("MinAtar/Breakout-v1", "bricks", 0, 2**30 - 1),
    ("MinAtar/Freeway-v1", "pos", 0, 9),
    ("MinAtar/Freeway-v1", "terminate_timer", -1, 2500),
    ("MinAtar/Seaquest-v1", "diver_count", -(2**30), 6),
    ("MinAtar/Seaquest-v1", "num_e_subs", 0, 32),
    ("MinAtar/SpaceInvaders-v1", "alien_move_timer", -1, 12),
    ("MinAtar/SpaceInvaders-v1", "last_action", 0, 5),
    ("Synthetic-v0", "total", 0, 2**32 - 1),
    ("CartPole-v1", "pending", 0, 1),
    ("CartPole-v1", "elapsed", 0, 2**31 - 1),
    ("CartPole-v1", "gravity", -1e3, 1e3),
    ("Pong-v5", "last_action", 0, 17),
    ("Pong-v5", "newest", 0, 3),
    ("Pong-v5", "life_lost", 0, 1),
]


@pytest.mark.parametrize("env_id, field, low, high", LIMITS)
def test_limits_are_exact(env_id, field, low, high):
    env = started(env_id)
    before = bytes(env.snapshot())
    for value in (low, high):
        env.restore(forge(env, **{field: value}))
        step(env)
        env.restore(before)
    if isinstance(low, float):
        beyond = (np.nextafter(low, -np.inf), np.nextafter(high, np.inf), np.nan)
    else:
        beyond = (low - 1, high + 1)
    for value in beyond:
        try:
            forged = forge(env, **{field: value})
        except OverflowError:
            continue  # the field's type has no such number
        with pytest.raises(ValueError, match=r"damaged|is not a cell|not all on a board"):
            env.restore(forged)
        assert bytes(env.snapshot()) == before


CARDS = "two or more cards, then zeros, and not bust before the last"
# id, keywords, changes, words of the refusal or None
RULES = [
    ("Blackjack-v1", {}, {"player": hand(1, 0, 5)}, f"player of lane 0 must be {CARDS}"),
    ("Blackjack-v1", {}, {"player": hand(10, 9, 8, 5)}, f"player of lane 0 must be {CARDS}"),
    ("Blackjack-v1", {}, {"player": hand(5)}, f"player of lane 0 must be {CARDS}"),
    ("Blackjack-v1", {}, {"player": hand()}, f"player of lane 0 must be {CARDS}"),
    ("Blackjack-v1", {}, {"player": hand(11, 2)}, "damaged: player=11 is not in 0..10"),
    ("Blackjack-v1", {}, {"player": hand(10, 9, 2)}, None),
    ("Blackjack-v1", {}, {"player": hand(10, 9, 8)}, None),
    ("Blackjack-v1", {}, {"player": hand(*[1] * 21)}, None),
    ("Blackjack-v1", {}, {"dealer": hand(7, 0, 5), "top_card_value": 7}, f"dealer of lane 0 must be {CARDS}"),
    ("Blackjack-v1", {}, {"dealer": hand(7, 10, 9, 1), "top_card_value": 7}, f"dealer of lane 0 must be {CARDS}"),
    ("Blackjack-v1", {}, {"dealer": hand(7, 8), "top_card_value": 7}, None),
    ("Blackjack-v1", {}, {"dealer": hand(7, 8), "top_card_value": 8}, "top_card_value=8 of lane 0 is not the dealer"),
    ("Blackjack-v1", {}, {"dealer": hand(9, 8), "top_card_value": 11}, "top_card_value=11 of lane 0 is not the dealer"),
    ("Blackjack-v1", {}, {"dealer": hand(10, 8), "top_card_value": 9}, "top_card_value=9 of lane 0 is not the dealer"),
    *[("Blackjack-v1", {}, {"dealer": hand(10, 8), "top_card_value": value}, None) for value in (10, 11, 12, 13)],
    ("Blackjack-v1", {}, {"dealer": hand(10, 8), "top_card_value": 14}, "damaged: top_card_value=14 is not in"),
    ("FrozenLake-v1", {"map_name": "8x8"}, {"s": 63}, None),
    ("FrozenLake-v1", {"map_name": "8x8"}, {"s": 64}, r"s=64 of lane 0 is not a cell of this map, 0\.\.63"),
    ("Catch-v0", {"height": 3, "width": 8}, {"row": 2, "column": 7, "paddle": 7}, None),
    ("Catch-v0", {"height": 3, "width": 8}, {"row": 3}, "are not all on a board of 3 by 8 cells"),
    ("LunarLander-v3", {}, {"contacts": 2, "pairs": [7, 7] + [0] * 31}, "pairs of lane 0 name 7 twice"),
    ("LunarLander-v3", {}, {"contacts": 2, "pairs": [7, 8] + [0] * 31, "points": [2, 1] + [0] * 31}, None),
    ("BipedalWalker-v3", {}, {"leaves": [0] * 252}, "the world of lane 0 is damaged"),
    ("BipedalWalker-v3", {}, {"node_links": [1, -1, -1, 0] * 512}, "the world of lane 0 is damaged"),
    ("BipedalWalker-v3", {}, {"status": [2, 0, 0, 0, 1, 2, 3]}, "the world of lane 0 is damaged"),
    ("CartPole-v1", {}, {"sutton_barto_reward": 1.0}, "taken with another sutton_barto_reward"),
    ("CartPole-v1", {}, {"rng": {"has_buffered": 2}}, "a random stream is damaged"),
    ("CartPole-v1", {}, {"rng": {"inc": [2, 0]}}, "a random stream is damaged"),
    ("CartPole-v1", {}, {"rng": {"inc": [1, 0], "has_buffered": 1}}, None),
    ("CartPole-v1", {"autoreset_mode": "SameStep"}, {"pending": 1, "header": {"autoreset": 0}}, "waits for its reset"),
    ("CartPole-v1", {"autoreset_mode": "SameStep"}, {"pending": 1}, None),
    ("CartPole-v1", {}, {"header": {"magic": b"BATCHENW"}}, "does not start with BATCHENV"),
    ("CartPole-v1", {}, {"header": {"version": 0}}, "version 0; this batchenv reads version"),
    ("CartPole-v1", {}, {"header": {"layout": 1}}, "another env type, or other built-in options"),
    ("CartPole-v1", {}, {"header": {"grid": 1}}, "another map"),
    ("CartPole-v1", {}, {"header": {"count": -1}}, "a wrong number of lanes"),
    ("CartPole-v1", {}, {"header": {"count": 2**31}}, "a wrong number of lanes"),
    ("CartPole-v1", {}, {"header": {"count": 3}}, "its length is wrong"),
    ("CartPole-v1", {}, {"header": {"bytes": 1}}, "its length is wrong"),
    ("CartPole-v1", {}, {"header": {"param_rows": 0}}, "a wrong number of params"),
    ("CartPole-v1", {}, {"header": {"param_rows": 3}}, "a wrong number of params"),
    ("CartPole-v1", {}, {"header": {"num_params": 0}}, "a wrong number of params"),
    ("Pong-v5", {}, {"layout": 1}, "of another game, mode, difficulty or form of observations"),
    ("Pong-v5", {}, {"over": 2}, r"damaged: over=2 is not in 0\.\.1"),
    ("Pong-v5", {"players": 2}, {"last_action": 18 * 18 - 1}, None),
    ("Pong-v5", {"players": 2}, {"last_action": 18 * 18}, "damaged: last_action=324"),
    ("Pong-v5", {"stack_num": 2}, {"newest": 2}, r"damaged: newest=2 is not in 0\.\.1"),
    ("Hopper-v5", {}, {"model_fingerprint": 1}, "not of this model and MuJoCo version"),
]


@pytest.mark.parametrize("env_id, keywords, changes, words", RULES)
def test_rules(env_id, keywords, changes, words):
    env = started(env_id, **keywords)
    before = bytes(env.snapshot())
    forged = forge(env, **changes)
    if words is None:
        env.restore(forged)
        assert bytes(env.snapshot()) == forged
        step(env)
        return
    with pytest.raises(ValueError, match=words):
        env.restore(forged)
    assert bytes(env.snapshot()) == before


def test_params_of_each_lane_are_looked_at():
    env = started("CartPole-v1", gravity=np.array([1.0, 2.0]))
    forged = forge(env, gravity=3.0)
    env.restore(forged)
    np.testing.assert_array_equal(env.get_params()["gravity"], [3.0, 2.0])
    with pytest.raises(ValueError, match="damaged: gravity is out of range"):
        env.restore(forge(env, gravity=np.inf))
    np.testing.assert_array_equal(env.get_params()["gravity"], [3.0, 2.0])


def test_flags_are_bytes_0_and_1_from_any_cell():
    """A state on a hole or the goal is one that only a snapshot can bring about."""
    env = started("FrozenLake-v1", 1, is_slippery=False, autoreset_mode=AutoresetMode.DISABLED)
    for cell in range(16):
        env.restore(forge(env, s=cell, pending=0))
        result = env.step(np.array([1]))
        assert all(flags.view(np.uint8)[0] <= 1 for flags in result[2:4]), f"from cell {cell}"
        env.reset()


def test_the_shortest_snapshots():
    env = started("CartPole-v1")
    data = bytes(env.snapshot())
    for size in (0, 63, 64, 71):
        with pytest.raises(ValueError, match="too few bytes"):
            env.restore(data[:size])
    with pytest.raises(ValueError, match="length is wrong"):
        env.restore(seal(data[:72]))
    assert len(batchenv.Snapshot(data[:31])) == 0 and len(batchenv.Snapshot(data[:32])) == 2
