"""Lane i equals `gymnasium.make(id)` reset with seed + i and given the same actions, bit for bit, infos included, with
every instruction set.

BATCHENV_PARITY_STEPS sets the steps of every case (64 lanes each); the default keeps the suite short.
"""

import os

import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import generate_random_map

import batchenv
from helpers.parity import MODES, Case, assert_same, assert_streams_same, choose, follow

LANES = 64
STEPS = int(os.environ.get("BATCHENV_PARITY_STEPS", "330"))  # 64 x 330 > 20,000
SEED = 2**33 + 11
NEAR = {"low": 0.3, "high": 0.5}  # some lanes start near the goal, so that arrivals are seen
WIDE = ["HSFFFFFFFFS", "FFHFFXFFHFF", "FSFFFFHFFFG"]
MANY_STARTS = ["SSSSS", "FHGHF", "SSSSS"]  # sums of a tenth miss 1 by a rounding
CONTINUOUS = "MountainCarContinuous-v0"

CASES = {
    "CartPole-v0": Case("CartPole-v0"),
    "CartPole-v1": Case("CartPole-v1"),
    "CartPole-sutton": Case("CartPole-v1", both={"sutton_barto_reward": True}),
    "CartPole-semi": Case(
        "CartPole-v1",
        physics={"kinematics_integrator": "semi-implicit euler", "gravity": 3.7, "force_mag": 7.5, "tau": 0.03},
    ),
    "CartPole-heavy": Case(
        "CartPole-v1",
        physics={"masspole": 0.3, "masscart": 2.0, "length": 0.7},
        attributes={"total_mass": 0.3 + 2.0, "polemass_length": 0.3 * 0.7},
    ),
    "CartPole-short": Case("CartPole-v1", both={"max_episode_steps": 7}),
    "MountainCar-v0": Case("MountainCar-v0", starts=NEAR),
    "MountainCar-goal": Case("MountainCar-v0", both={"goal_velocity": 0.02}, starts=NEAR),
    # Where the position is clipped.
    "MountainCar-wall": Case("MountainCar-v0", physics={"goal_position": 0.6}, starts=NEAR),
    "MountainCarContinuous-wall": Case(CONTINUOUS, physics={"goal_position": 0.6}, starts=NEAR, ends=False),
    "MountainCarContinuous-v0": Case(CONTINUOUS, starts=NEAR, ends=False),
    "MountainCarContinuous-goal": Case(CONTINUOUS, both={"goal_velocity": 0.01}, starts=NEAR, ends=False),
    "MountainCarContinuous-clip": Case(CONTINUOUS, ours={"clip_actions": True}, beyond=1.7, starts=NEAR, ends=False),
    "Pendulum-v1": Case("Pendulum-v1"),
    "Pendulum-g": Case("Pendulum-v1", both={"g": 9.81}),
    "Pendulum-clip": Case("Pendulum-v1", ours={"clip_actions": True}, beyond=1.7),
    "Pendulum-heavy": Case("Pendulum-v1", physics={"m": 1.3, "l": 0.8, "dt": 0.03}),
    "Acrobot-v1": Case("Acrobot-v1", ends=False),
    "Acrobot-nips": Case("Acrobot-v1", physics={"book_or_nips": "nips"}, ends=False),
    "Acrobot-noise": Case("Acrobot-v1", physics={"torque_noise_max": 0.4}, ends=False),
    "Acrobot-short": Case("Acrobot-v1", both={"max_episode_steps": 20}, physics={"torque_noise_max": 0.4}),
    "Acrobot-links": Case(
        "Acrobot-v1",
        physics={"LINK_MASS_1": 1.2, "LINK_MASS_2": 0.7, "LINK_LENGTH_1": 0.9, "LINK_COM_POS_1": 0.45, "dt": 0.1},
        ends=False,
    ),
    "FrozenLake": Case("FrozenLake-v1", rewards={0, 1}),
    "FrozenLake8x8": Case("FrozenLake8x8-v1"),
    "FrozenLake-dry": Case("FrozenLake-v1", both={"is_slippery": False}),
    "FrozenLake-8x8": Case("FrozenLake-v1", both={"map_name": "8x8", "success_rate": 0.9}),
    "FrozenLake-wide": Case("FrozenLake-v1", both={"desc": WIDE, "success_rate": 0.71}, rewards={0, 1}),
    "FrozenLake-starts": Case("FrozenLake-v1", both={"desc": MANY_STARTS, "is_slippery": False, "map_name": None}),
    "FrozenLake-rewards": Case(
        "FrozenLake-v1", both={"desc": WIDE, "reward_schedule": (10.5, -3, -0.25)}, rewards={-0.25, 10.5, -3}
    ),
    "FrozenLake-sure": Case("FrozenLake-v1", both={"success_rate": 1.0}),
    "FrozenLake-sideways": Case("FrozenLake-v1", both={"success_rate": 0.0}),
    "FrozenLake-tower": Case("FrozenLake-v1", both={"desc": [["S"]] * 7 + [["G"]], "success_rate": 0.3}),
    "FrozenLake-letters": Case("FrozenLake-v1", both={"desc": np.array([["S", "F"], ["H", "G"]]), "success_rate": 0.5}),
    "FrozenLake-generated": Case("FrozenLake-v1", both={"desc": generate_random_map(size=6, p=0.7, seed=3)}),
    "FrozenLake-short": Case("FrozenLake-v1", both={"max_episode_steps": 3}),
    "Taxi": Case("Taxi-v4", rewards={20, -1, -10}),
    "Taxi-rainy": Case("Taxi-v4", both={"is_rainy": True}, rewards={20, -1, -10}),
    "Taxi-fickle": Case("Taxi-v4", both={"fickle_passenger": True}, rewards={20, -1, -10}),
    "Taxi-both": Case(
        "Taxi-v4",
        both={"is_rainy": True, "rainy_probability": 0.6, "fickle_passenger": True, "fickle_probability": 0.9},
        rewards={20, -1, -10},
    ),
    "Taxi-storm": Case("Taxi-v4", both={"is_rainy": True, "rainy_probability": 0.0}),
    "Taxi-short": Case("Taxi-v4", both={"max_episode_steps": 5}),
    "CliffWalking": Case("CliffWalking-v1", rewards={-100, -1}),
    "CliffWalkingSlippery": Case("CliffWalkingSlippery-v1", rewards={-100, -1}),
    "CliffWalking-slippery": Case("CliffWalking-v1", both={"is_slippery": True, "max_episode_steps": 40}),
    "CliffWalkingSlippery-dry": Case("CliffWalkingSlippery-v1", both={"is_slippery": False}),
    "Blackjack": Case("Blackjack-v1", rewards={0, 1, -1}),
    "Blackjack-casino": Case("Blackjack-v1", both={"sab": False, "natural": True}, rewards={0, 1, -1, 1.5}),
    "Blackjack-plain": Case("Blackjack-v1", both={"sab": False}, rewards={0, 1, -1}),
    "Blackjack-both": Case("Blackjack-v1", both={"natural": True}),
    "Blackjack-short": Case("Blackjack-v1", both={"max_episode_steps": 1}),
}


@pytest.mark.cases(1, per="name")
@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
@pytest.mark.parametrize("name", CASES)
def test_trajectories(name, mode, monkeypatch):
    case, ours = CASES[name], []
    for isa in batchenv.build_info()["isas"]:
        monkeypatch.setenv("BATCHENV_ISA", isa)
        ours.append(case.make(LANES, mode))
    theirs = case.reference(LANES, mode)
    finished, rewards = follow(case, ours, theirs, STEPS, SEED)
    assert (finished > 0 or not case.ends) and rewards >= case.rewards
    for env in ours:
        assert_streams_same(env, theirs)


@pytest.mark.parametrize(
    "env_id, options",
    [
        ("CartPole-v1", {"low": -0.2, "high": 0.15}),
        ("MountainCar-v0", {"low": -1.1, "high": 0.4}),
        ("MountainCarContinuous-v0", {"low": -1.2, "high": 0.6}),
        ("Pendulum-v1", {"x_init": 40.0, "y_init": 7.0}),
        ("Pendulum-v1", {"x_init": 3e8}),
        ("Acrobot-v1", {"low": -3.0, "high": 3.0}),
        ("Acrobot-v1", {"high": 50.0}),
    ],
)
def test_reset_options(env_id, options):
    ours, theirs = Case(env_id).pair(LANES)
    rng = np.random.default_rng(6)
    for seed in (1, None):
        expected = theirs.reset(seed=seed, options=dict(options))
        assert_same(ours.reset(seed=seed, options=dict(options)), expected, "reset")
        for step in range(40):
            actions = choose(ours, rng, step)
            assert_same(ours.step(actions), theirs.step(actions), f"step {step}")


def test_huge_and_odd_seeds():
    for seed in (0, 2**32 - 1, 2**64 - 3, 2**64, 2**200 + 9):
        ours, theirs = Case("CartPole-v1").pair(5)
        np.testing.assert_array_equal(ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0])
    seeds = [3, None, 2**70, 0, 12]
    ours.reset(seed=1), theirs.reset(seed=1)
    np.testing.assert_array_equal(ours.reset(seed=seeds)[0], theirs.reset(seed=seeds)[0])
