"""Parameters that differ from lane to lane: each lane equals an env made with its value."""

import copy

import numpy as np
import pytest

import batchenv
from helpers.begun import begun

LANES = 70
STEPS = 120
# Each parameter that may differ, a range to draw from. Wide enough to matter, narrow enough to stay an episode.
RANGES = {
    "CartPole-v1": {
        "gravity": (1, 20),
        "masscart": (0.5, 2),
        "masspole": (0.05, 1),
        "length": (0.2, 1.5),
        "force_mag": (5, 20),
        "tau": (0.01, 0.04),
        "theta_threshold_radians": (0.1, 0.4),
        "x_threshold": (0.5, 3),
    },
    "MountainCar-v0": {
        "goal_velocity": (-0.01, 0.01),
        "min_position": (-1.3, -1),
        "max_position": (0.5, 0.7),
        "max_speed": (0.02, 0.1),
        "goal_position": (-0.4, 0.5),
        "force": (0.0005, 0.01),
        "gravity": (0.001, 0.004),
    },
    "MountainCarContinuous-v0": {
        "goal_velocity": (-0.01, 0.01),
        "min_position": (-1.3, -1),
        "max_position": (0.5, 0.7),
        "max_speed": (0.02, 0.1),
        "goal_position": (-0.4, 0.5),
        "power": (0.0005, 0.01),
    },
    "Pendulum-v1": {
        "g": (1, 20),
        "m": (0.5, 2),
        "l": (0.5, 2),
        "dt": (0.01, 0.1),
        "max_speed": (2, 10),
        "max_torque": (1, 3),
    },
    "Acrobot-v1": {
        "torque_noise_max": (0, 0.5),
        "dt": (0.1, 0.3),
        "LINK_LENGTH_1": (0.5, 2),
        "LINK_MASS_1": (0.5, 2),
        "LINK_MASS_2": (0.5, 2),
        "LINK_COM_POS_1": (0.2, 1),
        "LINK_COM_POS_2": (0.2, 1),
        "LINK_MOI": (0.5, 2),
        "MAX_VEL_1": (3, 15),
        "MAX_VEL_2": (3, 30),
    },
}


def draw(env_id, names, seed=0):
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(*RANGES[env_id][name], LANES) for name in names}


def actions_for(env, steps=STEPS):
    env.action_space.seed(1)
    actions = [env.action_space.sample() for _ in range(steps)]
    return np.asarray(actions)


def compare_with_own_envs(env_id, env, values, lanes):
    """Lane i of `env` against a one-lane env made with lane i's values."""
    actions = np.clip(actions_for(env), *_bounds(env_id))
    observations, _ = env.reset(seed=5)
    ours = [env.step(a) for a in actions]
    for i in lanes:
        alone = batchenv.make(env_id, 1, clip_actions=True, **{name: float(v[i]) for name, v in values.items()})
        first, _ = alone.reset(seed=5 + i)
        np.testing.assert_array_equal(first[0], observations[i])
        for step, a in zip(ours, actions, strict=True):
            theirs = alone.step(a[i : i + 1])
            for x, y in zip(step[:4], theirs[:4], strict=True):
                np.testing.assert_array_equal(x[i], y[0])


def _bounds(env_id):
    return (-1, 1) if "Pendulum" in env_id or "Continuous" in env_id else (0, 10)


@pytest.mark.parametrize("env_id", RANGES)
def test_all_parameters_at_once(env_id):
    values = draw(env_id, RANGES[env_id])
    compare_with_own_envs(env_id, batchenv.make(env_id, LANES, **values), values, [0, 1, 33, 63, 64, 69])


@pytest.mark.parametrize("env_id,name", [(i, n) for i in RANGES for n in RANGES[i]])
def test_one_parameter(env_id, name):
    values = draw(env_id, [name], 2)
    compare_with_own_envs(env_id, batchenv.make(env_id, LANES, **values), values, [3, 68])


def test_every_number_is_covered():
    for env_id, ranges in RANGES.items():
        env = batchenv.make(env_id)
        numbers = {name for name, value in env.get_params().items() if isinstance(value, float)}
        assert numbers - {"LINK_LENGTH_2"} == set(ranges)


def test_read_and_change():
    env = begun(batchenv.make("CartPole-v1", 6, length=[0.5, 0.5, 0.6, 0.7, 0.8, 0.9]))
    lengths = env.get_params()["length"]
    np.testing.assert_array_equal(lengths, [0.5, 0.5, 0.6, 0.7, 0.8, 0.9])
    lengths[:] = 3  # a copy
    assert env.get_params()["length"][0] == 0.5 and env.get_params()["gravity"] == 9.8
    env.set_params(gravity=3.7, lanes=[1, -1])
    np.testing.assert_array_equal(env.get_params()["gravity"], [9.8, 3.7, 9.8, 9.8, 9.8, 3.7])
    env.set_params(gravity=np.arange(6.0), lanes=np.array([True, True, False, False, False, False]))
    np.testing.assert_array_equal(env.get_params()["gravity"], [0, 1, 9.8, 9.8, 9.8, 3.7])
    env.set_params(gravity=9.8, length=0.5)
    assert env.get_params() == batchenv.make("CartPole-v1").get_params()
    assert env.get_attr("gravity") == (9.8,) * 6


@pytest.mark.parametrize("name", ["gravity", "max_torque"])  # the second one is the action space's bound
def test_spaces_stay_seeded(name):
    def drawn():
        env = begun(batchenv.make("CartPole-v1" if name == "gravity" else "Pendulum-v1", 8))
        for space in (env.action_space, env.single_action_space, env.observation_space):
            space.seed(3)
        env.set_attr(name, 5.0)
        return [env.action_space.sample(), env.single_action_space.sample(), env.observation_space.sample()]

    for first, second in zip(drawn(), drawn(), strict=True):
        np.testing.assert_array_equal(first, second)


def test_a_space_of_the_users_stays():
    env = batchenv.make("CartPole-v1", 8)
    snapshot = (env.reset(seed=0), env.snapshot())[1]
    own = env.single_action_space = copy.deepcopy(env.single_action_space)
    env.set_params(gravity=5.0)
    env.restore(snapshot)
    assert env.single_action_space is own and env.get_attr("gravity") == (9.8,) * 8


@pytest.mark.parametrize("values", [[[1, 2, 3, 4]] * 4, [np.ones(2)] * 4])
def test_one_value_per_lane(values):
    env = batchenv.make("CartPole-v1", 4)
    with pytest.raises(ValueError, match=r"values\[0\]=.* must be one number, the gravity of lane 0"):
        env.set_attr("gravity", values)
    assert env.get_attr("gravity") == (9.8,) * 4


def test_a_change_in_the_middle_of_an_episode():
    env, other = batchenv.make("CartPole-v1", 64), batchenv.make("CartPole-v1", 64)
    for e in (env, other):
        e.reset(seed=0)
        e.step(np.ones(64, np.int64))
    env.set_params(force_mag=20.0, lanes=slice(0, 3))
    a, b = env.step(np.ones(64, np.int64))[0], other.step(np.ones(64, np.int64))[0]
    assert (a[:3] != b[:3]).any(axis=1).all()
    np.testing.assert_array_equal(a[3:], b[3:])


def test_spaces_hold_every_lane():
    env = batchenv.make("Pendulum-v1", 3, max_torque=[1.0, 2.0, 3.0], max_speed=[8.0, 4.0, 2.0])
    assert env.single_action_space.high[0] == 3.0 and env.single_observation_space.high[2] == 8.0
    env.reset(seed=0)
    env.step(np.full((3, 1), 3.0, np.float32))
    env.set_params(max_torque=1.0)
    with pytest.raises(ValueError, match="not between -1 and 1"):
        env.step(np.full((3, 1), 3.0, np.float32))


@pytest.mark.parametrize(
    "change,error,words",
    [
        ({"gravity": [1.0, 2.0]}, ValueError, "shape"),
        ({"gravity": [1.0, 2.0, np.nan]}, ValueError, "lane 2"),
        ({"gravity": [1.0, 2.0, 1e9]}, ValueError, "lane 2"),
        ({"gravity": ["a", "b", "c"]}, TypeError, "dtype"),
        ({"kinematics_integrator": ["euler"] * 3}, ValueError, "one value"),
        ({"nonsense": 1.0}, TypeError, "nonsense"),
        ({"gravity": 1.0, "lanes": 3}, ValueError, "lane 3 of lanes"),
        ({"gravity": 1.0, "lanes": [0.5]}, TypeError, "lanes"),
        ({"gravity": 1.0, "lanes": [True]}, ValueError, "mask"),
        ({"sutton_barto_reward": True, "lanes": [0]}, ValueError, "without lanes"),
    ],
)
def test_bad_changes_change_nothing(change, error, words):
    env = batchenv.make("CartPole-v1", 3, length=[0.5, 0.6, 0.7])
    before = env.get_params()
    with pytest.raises(error, match=words):
        env.set_params(**change)
    after = env.get_params()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_combination_that_is_wrong_in_one_lane():
    with pytest.raises(ValueError, match=r"min_position=1 must not be above max_position=0.6 \(lane 1\)"):
        batchenv.make("MountainCar-v0", 2, min_position=[-1.2, 1.0])


@pytest.mark.parametrize("env_id", ["MountainCar-v0", "MountainCarContinuous-v0"])
def test_two_bounds_may_be_one(env_id):
    env = begun(batchenv.make(env_id, 2, min_position=0.25, max_position=0.25), seed=1)
    observations = env.step(env.action_space.sample())[0]
    np.testing.assert_array_equal(observations[:, 0], np.float32(0.25))
    with pytest.raises(ValueError, match=r"min_position=0\.25 must not be above max_position=0\.2499"):
        batchenv.make(env_id, 2, min_position=0.25, max_position=0.2499)


# ---- a value per chosen lane ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lanes, values, expected",
    [
        ([1, 2, 3], [10, 20, 30], {1: 10, 2: 20, 3: 30}),
        ([3, 1], [10, 20], {3: 10, 1: 20}),  # in the order of `lanes`, as in NumPy's a[lanes] = values
        ([-1, 0], [10, 20], {7: 10, 0: 20}),
        (slice(2, 8, 2), [10, 20, 30], {2: 10, 4: 20, 6: 30}),
        (slice(3, 0, -1), [10, 20, 30], {3: 10, 2: 20, 1: 30}),
        (np.arange(8) > 5, [10, 20], {6: 10, 7: 20}),
        (4, [10], {4: 10}),
        ([2, 5], np.arange(10, 18), {2: 12, 5: 15}),  # one per lane: the chosen ones' are taken
        (list(range(8)), np.arange(10, 18), {i: 10 + i for i in range(8)}),
        (None, np.arange(10, 18), {i: 10 + i for i in range(8)}),
        ([2, 2], 10, {2: 10}),
    ],
    ids=str,
)
def test_values_of_chosen_lanes(lanes, values, expected):
    env = batchenv.make("CartPole-v1", 8)
    env.set_params(gravity=np.array(values) if isinstance(values, list) else values, lanes=lanes)
    wanted = np.full(8, 9.8)
    for lane, value in expected.items():
        wanted[lane] = value
    np.testing.assert_array_equal(np.broadcast_to(env.get_params()["gravity"], 8), wanted)


@pytest.mark.parametrize(
    "lanes, values, text",
    [
        ([1, 2, 3], [1.0, 2.0], r"gravity has 2 values, but .* one per chosen lane \(3\), or one per lane \(8\)"),
        ([1, 1], [1.0, 2.0], r"names a lane twice"),
        (list(range(8))[::-1], [1.0] * 8, "not clear which lane"),
        (slice(None, None, -1), [1.0] * 8, "not clear which lane"),
        ([0] * 8, [1.0] * 8, "not clear which lane"),
        ([1, 2], [[1.0], [2.0]], "gravity has shape"),
        ([1, 2], [1.0, np.nan], "gravity.*nan"),
        ([], [1.0], "gravity has 1 values"),
        ([1, 2], ["a", "b"], "gravity"),
        ([1, 2], [[1.0], 2.0], "gravity"),
    ],
    ids=str,
)
def test_wrong_values_of_chosen_lanes(lanes, values, text):
    env = batchenv.make("CartPole-v1", 8, gravity=np.arange(1.0, 9))
    with pytest.raises((TypeError, ValueError), match=text):
        env.set_params(gravity=values, lanes=lanes)
    np.testing.assert_array_equal(env.get_params()["gravity"], np.arange(1.0, 9))


def test_lanes_without_noise_draw_none():
    env = begun(batchenv.make("Acrobot-v1", 3, torque_noise_max=[0.0, 0.5, 0.0], max_episode_steps=5), seed=2)
    plain = begun(batchenv.make("Acrobot-v1", 3, max_episode_steps=5), seed=2)
    for _ in range(20):
        noisy, calm = (one.step(np.array([2, 2, 2]))[0] for one in (env, plain))
        np.testing.assert_array_equal(noisy[[0, 2]], calm[[0, 2]])
    states = [[generator.bit_generator.state for generator in one.np_random] for one in (env, plain)]
    assert [a == b for a, b in zip(*states, strict=True)] == [True, False, True]


def test_models_of_chosen_lanes():
    pytest.importorskip("mujoco", reason="needs mujoco: pip install 'batchenv[mujoco]'")
    env = batchenv.make("Hopper-v5", 5)
    masses = env.get_attr("model")[0].body_mass.copy()
    scaled = masses * np.array([[2.0], [3.0]])
    env.set_params(body_mass=scaled, impratio=[7.0, 8.0], lanes=[3, 1])
    models = env.get_attr("model")
    for lane, factor in enumerate([1, 3, 1, 2, 1]):
        np.testing.assert_array_equal(models[lane].body_mass, masses * factor)
    assert [model.opt.impratio for model in models] == [1, 8, 1, 7, 1]
    env.set_params(body_mass=masses * 4, lanes=[0])  # of the model's own shape
    np.testing.assert_array_equal(env.get_attr("model")[0].body_mass, masses * 4)
    with pytest.raises(ValueError, match="body_mass has 3 values"):
        env.set_params(body_mass=np.stack([masses] * 3), lanes=[0, 1])
    with pytest.raises(ValueError, match="one row per lane"):
        env.set_params(body_mass=masses[:-1], lanes=[0, 1])
