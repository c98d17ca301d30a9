"""Lane i equals `gymnasium.make(id)` reset with seed + i and given the same actions, bit for bit.

BATCHENV_PARITY_STEPS sets the steps of every case (64 lanes each); the default keeps the suite short.
"""

import os

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import batchenv
from helpers.parity import MODES, actions_for, assert_step_equal, reference

LANES = 64
STEPS = int(os.environ.get("BATCHENV_PARITY_STEPS", "330"))  # 64 x 330 > 20,000
SEED = 2**33 + 11

# id, our keywords, Gymnasium's keywords, attributes set on Gymnasium's env
CASES = {
    "CartPole-v0": ("CartPole-v0", {}, {}, {}),
    "CartPole-v1": ("CartPole-v1", {}, {}, {}),
    "CartPole-sutton": ("CartPole-v1", {"sutton_barto_reward": True}, {"sutton_barto_reward": True}, {}),
    "CartPole-semi": (
        "CartPole-v1",
        {"kinematics_integrator": "semi-implicit euler", "gravity": 3.7, "force_mag": 7.5, "tau": 0.03},
        {},
        {"kinematics_integrator": "semi-implicit euler", "gravity": 3.7, "force_mag": 7.5, "tau": 0.03},
    ),
    "CartPole-heavy": (
        "CartPole-v1",
        {"masspole": 0.3, "masscart": 2.0, "length": 0.7},
        {},
        {"masspole": 0.3, "masscart": 2.0, "length": 0.7, "total_mass": 0.3 + 2.0, "polemass_length": 0.3 * 0.7},
    ),
    "CartPole-short": ("CartPole-v1", {"max_episode_steps": 7}, {"max_episode_steps": 7}, {}),
    "MountainCar-v0": ("MountainCar-v0", {}, {}, {}),
    "MountainCar-goal": ("MountainCar-v0", {"goal_velocity": 0.02}, {"goal_velocity": 0.02}, {}),
    "MountainCarContinuous-v0": ("MountainCarContinuous-v0", {}, {}, {}),
    "MountainCarContinuous-goal": ("MountainCarContinuous-v0", {"goal_velocity": 0.01}, {"goal_velocity": 0.01}, {}),
    "MountainCarContinuous-clip": ("MountainCarContinuous-v0", {"clip_actions": True}, {}, {}),
    "Pendulum-v1": ("Pendulum-v1", {}, {}, {}),
    "Pendulum-g": ("Pendulum-v1", {"g": 9.81}, {"g": 9.81}, {}),
    "Pendulum-clip": ("Pendulum-v1", {"clip_actions": True}, {}, {}),
    "Pendulum-heavy": ("Pendulum-v1", {"m": 1.3, "l": 0.8, "dt": 0.03}, {}, {"m": 1.3, "l": 0.8, "dt": 0.03}),
    "Acrobot-v1": ("Acrobot-v1", {}, {}, {}),
    "Acrobot-nips": ("Acrobot-v1", {"book_or_nips": "nips"}, {}, {"book_or_nips": "nips"}),
    "Acrobot-noise": ("Acrobot-v1", {"torque_noise_max": 0.4}, {}, {"torque_noise_max": 0.4}),
    "Acrobot-short": (  # lanes that wait for their restart draw no noise
        "Acrobot-v1",
        {"torque_noise_max": 0.4, "max_episode_steps": 20},
        {"max_episode_steps": 20},
        {"torque_noise_max": 0.4},
    ),
    "Acrobot-links": (
        "Acrobot-v1",
        {"LINK_MASS_1": 1.2, "LINK_MASS_2": 0.7, "LINK_LENGTH_1": 0.9, "LINK_COM_POS_1": 0.45, "dt": 0.1},
        {},
        {"LINK_MASS_1": 1.2, "LINK_MASS_2": 0.7, "LINK_LENGTH_1": 0.9, "LINK_COM_POS_1": 0.45, "dt": 0.1},
    ),
}


@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
@pytest.mark.parametrize("case", CASES)
def test_trajectories(case, mode):
    env_id, ours_kwargs, theirs_kwargs, attributes = CASES[case]
    ours = batchenv.make(env_id, LANES, autoreset_mode=mode, **ours_kwargs)
    theirs = reference(env_id, LANES, mode, theirs_kwargs, attributes)
    rng = np.random.default_rng(5)
    observation, info = ours.reset(seed=SEED)
    expected, _ = theirs.reset(seed=SEED)
    np.testing.assert_array_equal(observation, expected)
    assert info == {}
    if "goal" in case or env_id.startswith("MountainCar"):
        # Start some lanes near the goal, so that arrivals are seen.
        mask = np.arange(LANES) % 2 == 0
        options = {"low": 0.3, "high": 0.5}
        observation, _ = ours.reset(options={**options, "reset_mask": mask})
        expected, _ = theirs.reset(options={**options, "reset_mask": mask})
        np.testing.assert_array_equal(observation, expected)
    finished = 0
    for step in range(STEPS):
        actions = actions_for(ours, rng, step, "clip" in case)
        result = ours.step(actions)
        assert_step_equal(result, theirs.step(actions), f"step {step}")
        done = result[2] | result[3]
        finished += done.sum()
        if mode is AutoresetMode.DISABLED and done.any():
            observation, _ = ours.reset(options={"reset_mask": done})
            expected, _ = theirs.reset(options={"reset_mask": done})
            np.testing.assert_array_equal(observation, expected)
    assert finished > 0 or env_id in ("Acrobot-v1", "MountainCarContinuous-v0")
    for lane in (0, 1, LANES - 1):
        mine = ours.np_random[lane].bit_generator.state
        assert mine["state"] == theirs.np_random[lane].bit_generator.state["state"]


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
    ours = batchenv.make(env_id, LANES)
    theirs = reference(env_id, LANES)
    rng = np.random.default_rng(6)
    for seed in (1, None):
        observation, _ = ours.reset(seed=seed, options=dict(options))
        expected, _ = theirs.reset(seed=seed, options=dict(options))
        np.testing.assert_array_equal(observation, expected)
        for step in range(40):
            actions = actions_for(ours, rng, step, False)
            assert_step_equal(ours.step(actions), theirs.step(actions), f"step {step}")


def test_huge_and_odd_seeds():
    for seed in (0, 2**32 - 1, 2**64 - 3, 2**64, 2**200 + 9):
        ours = batchenv.make("CartPole-v1", 5)
        theirs = reference("CartPole-v1", 5)
        np.testing.assert_array_equal(ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0])
    seeds = [3, None, 2**70, 0, 12]
    ours.reset(seed=1), theirs.reset(seed=1)
    np.testing.assert_array_equal(ours.reset(seed=seeds)[0], theirs.reset(seed=seeds)[0])
