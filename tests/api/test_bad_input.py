"""Every public argument with wrong values: an error that names them, no crash, and nothing has moved."""

from decimal import Decimal
from fractions import Fraction

import gymnasium
import numpy as np
import pytest

import batchenv
from helpers.begun import begun

ERRORS = (TypeError, ValueError)


@pytest.mark.parametrize(
    "arguments, text",
    [
        ({"env_id": "CartPole"}, "CartPole-v1"),
        ({"env_id": "Nope-v3"}, "Nope-v3"),
        ({"env_id": 7}, "id=7"),
        ({"env_id": None}, "None"),
        *[({"num_envs": value}, "num_envs") for value in (0, -1, 2.0, "3", None, True, 2**31, [4], np.nan)],
        *[({"num_threads": value}, "num_threads") for value in (0, -2, 1.5, "2", True, 10**9)],
        *[({"autoreset_mode": value}, "autoreset_mode") for value in ("nextstep", 1, None, [])],
        *[({"seed": value}, "seed") for value in (-1, 1.5, "1", [1, 2], True)],
        *[({"max_episode_steps": value}, "max_episode_steps") for value in (0, -5, 2.5, "9", 2**31, False)],
        *[({"render_mode": value}, "render_mode") for value in ("rgb", "human", 1, True, [])],
        *[({"copy": value}, "copy") for value in (1, None, "yes")],
        *[({"clip_actions": value}, "clip_actions") for value in (1, None, "yes")],
        *[({"gravity": value}, "gravity") for value in (np.nan, np.inf, "9.8", None, 1e9, 1j, [1, 2, 3], [[1, 2]])],
        *[({"gravity": [9.8, value]}, "gravity") for value in (np.nan, 1e9, "x")],
        *[({"masspole": value}, "masspole") for value in (0, -1.0)],
        *[({"sutton_barto_reward": value}, "sutton_barto_reward") for value in (1, "no", None)],
        *[({"kinematics_integrator": value}, "kinematics_integrator") for value in ("rk4", 0, None)],
        ({"gravty": 3}, "gravty"),
    ],
)
def test_make(arguments, text):
    with pytest.raises(ERRORS, match=text):
        batchenv.make(**{"env_id": "CartPole-v1", "num_envs": 2, **arguments})


# Keyword, the least and the greatest number that may be said: None where a try would take too much memory.
LIMITS = [
    ("num_envs", 1, None),
    ("num_threads", 1, 1024),
    ("batch_size", 1, 3),
    ("max_episode_steps", 1, 2**31 - 2),
    ("action_repeat", 1, 2**20),
    ("frame_stack", 1, 1024),
]


@pytest.mark.filterwarnings("ignore:num_threads=1024")
@pytest.mark.parametrize("name, low, high", LIMITS)
def test_limits_of_make_are_exact(name, low, high):
    given = {"env_id": "CartPole-v1", "num_envs": 3}
    for value in filter(None, (low, high)):
        env = begun(batchenv.make(**{**given, name: value}), seed=1)
        env.step(env.action_space.sample())
        env.close()
    with pytest.raises(ValueError, match=f"^{name}={low - 1} must be at least {low}"):
        batchenv.make(**{**given, name: low - 1})
    high = high or 2**31 - 1
    with pytest.raises(ValueError, match=f"^{name}={high + 1} must be at most {high}"):
        batchenv.make(**{**given, name: high + 1})


@pytest.fixture(params=["CartPole-v1", "Pendulum-v1"])
def env(request):
    env = begun(batchenv.make(request.param, 100))
    return env


def unharmed(env, before):
    np.testing.assert_array_equal(np.stack(env.get_attr("state")), before)
    env.step(env.action_space.sample())


@pytest.mark.parametrize("seed", [-1, 1.5, "1", [1] * 99, [1] * 101, [None] * 99 + [-1], [1.5] * 100, {}, True])
def test_reset_seed(env, seed):
    before = np.stack(env.get_attr("state"))
    with pytest.raises(ERRORS, match="seed"):
        env.reset(seed=seed)
    unharmed(env, before)


@pytest.mark.parametrize("options", [1, "low", [("low", 1)], np.zeros(3)])
def test_reset_options_type(env, options):
    with pytest.raises(TypeError, match="options"):
        env.reset(options=options)


@pytest.mark.parametrize(
    "options, text",
    [
        ({"low": np.nan}, "low"),
        ({"high": np.inf}, "high"),
        ({"low": "x"}, "low"),
        ({"low": None}, "low"),
        ({"low": [-1.0, -1.0], "high": [1.0, 1.0]}, "low"),
        ({"high": np.array([1.0, 1.0])}, "high"),
        ({"low": 0.2, "high": 0.1}, r"Lower bound \(0.2.*must be lower than higher bound \(0.1"),
    ],
)
def test_reset_options(options, text):
    env = begun(batchenv.make("CartPole-v1", 3))
    before = np.stack(env.get_attr("state"))
    with pytest.raises(ValueError, match=text):  # Gymnasium's error, for wrong types as well
        env.reset(options=options)
    unharmed(env, before)
    with pytest.raises(ERRORS, match="x_init"):
        batchenv.make("Pendulum-v1", 3).reset(options={"x_init": -1.0})


@pytest.mark.parametrize(
    "env_id, options, text",
    [
        ("CartPole-v1", {"reset_masks": np.ones(3, bool)}, r"'reset_masks': array.* did you mean 'reset_mask'\?"),
        ("CartPole-v1", {"low": -0.1, "hihg": 0.1}, r"'hihg': 0\.1\}.* did you mean 'high'\?"),
        ("CartPole-v1", {"wind": 1}, r"CartPole-v1 has no such reset option; it has: 'low', 'high', 'reset_mask'"),
        ("CartPole-v1", {"seed": 3}, r"write reset\(seed=\.\.\.\)"),
        ("CartPole-v1", {"gravity": 3.0}, "'gravity' is a keyword of make"),
        ("FrozenLake-v1", {"map_name": "8x8"}, "'map_name' is a keyword of make"),
        ("Taxi-v4", {7: 1}, r"options=\{7: 1\}"),
        ("Pendulum-v1", {"low": -0.1}, "'x_init', 'y_init', 'reset_mask'"),
        ("LunarLander-v3", {"low": -0.1}, "it has: 'reset_mask'"),
        ("MiniGrid-Empty-8x8-v0", {"size": 8}, "options={'size': 8}"),
    ],
)
def test_unknown_reset_options(env_id, options, text):
    env = begun(batchenv.make(env_id, 3))
    env.step(env.action_space.sample())
    before = env.snapshot()
    mask = np.array([False, True, False])
    for reset in (
        lambda: env.reset(options=options),
        lambda: env.reset(options={**options, "reset_mask": mask}),
        lambda: env.reset([1], options=options),
        lambda: env.async_reset(options=options),
    ):
        with pytest.raises(ValueError, match=text):
            reset()
    assert bytes(env.snapshot()) == bytes(before)  # no lane was reset, and no stream drawn from
    with pytest.raises(ValueError, match=text):
        gymnasium.make(f"batchenv/{env_id}").reset(options=options)
    with pytest.raises(ValueError, match=text):
        gymnasium.make_vec(f"batchenv/{env_id}", 2).reset(options=options)


def test_unknown_reset_options_drop_nothing_in_flight(env):
    env.send(env.action_space.sample(), np.arange(100))
    for reset in (env.reset, env.async_reset):
        with pytest.raises(ValueError, match="no such reset option"):
            reset(options={"reset_masks": None})
    assert len(env.recv()[1]) == 100


def test_environments_in_python_get_all_reset_options():
    class Told(gymnasium.Env):
        observation_space = action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            return 0, {"told": str(options)}

    env = batchenv.make_python(Told, 2, workers="serial")
    assert list(env.reset(options={"reset_masks": 3})[1]["told"]) == ["{'reset_masks': 3}"] * 2


@pytest.mark.parametrize(
    "actions",
    [
        None,
        "up",
        b"up",
        3,
        3.0,
        np.array(1),
        [],
        [0],
        [0] * 99,
        [0] * 101,
        [[0]] * 99 + [[0, 1]],
        np.zeros((1, 100), int),
        np.zeros((100, 2), int),
        np.zeros((100, 1, 1)),
        np.zeros(100, complex),
        np.zeros((100, 1), complex),
        np.zeros(100, bool),
        np.zeros((100, 1), bool),
        np.full(100, None),
        np.full((100, 1), None),
        np.full((100, 1), np.nan),
        {"a": 1},
        np.zeros(100, "datetime64[s]"),
    ],
    ids=str,
)
def test_actions(env, actions):
    before = np.stack(env.get_attr("state"))
    with pytest.raises(ERRORS, match="action"):
        env.step(actions)
    unharmed(env, before)


@pytest.mark.parametrize("lane", [0, 50, 99])
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8, np.uint64, np.uint8, ">i8"])
def test_discrete_out_of_range(lane, dtype):
    env = begun(batchenv.make("CartPole-v1", 100))
    before = np.stack(env.get_attr("state"))
    actions = np.zeros(100, dtype)
    bad = [2, 100] if np.dtype(dtype).kind == "u" else [2, -1, 100]
    if dtype == np.uint64:
        bad += [2**63, 2**64 - 1]
    if dtype == np.int64:
        bad += [-(2**63), 2**63 - 1]
    for value in bad:
        actions[lane] = value
        with pytest.raises(ValueError, match=f"action {value} of lane {lane} "):
            env.step(actions)
        np.testing.assert_array_equal(np.stack(env.get_attr("state")), before)
    actions[lane] = 1
    env.step(actions)


@pytest.mark.parametrize("lane", [0, 50, 99])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64])
def test_continuous_out_of_range(lane, dtype):
    env = begun(batchenv.make("Pendulum-v1", 100))
    before = np.stack(env.get_attr("state"))
    actions = np.zeros((100, 1), dtype)
    for value in [3, -3] if dtype == np.int64 else [2.5, -2.5, np.nan, np.inf, -np.inf, 3e4]:
        actions[lane] = value
        with pytest.raises(ValueError, match=f"of lane {lane} "):
            env.step(actions)
        np.testing.assert_array_equal(np.stack(env.get_attr("state")), before)
    clipping = begun(batchenv.make("Pendulum-v1", 100, clip_actions=True))
    for value in (np.nan, np.inf) if dtype != np.int64 else ():
        actions[lane] = value
        with pytest.raises(ValueError, match=f"of lane {lane} "):
            clipping.step(actions)
    actions[lane] = 3
    clipping.step(actions)


def test_unusual_but_right_actions():
    """Strided, byte-swapped, misaligned, read-only arrays and lists mean what they say."""
    values = np.random.default_rng(0).integers(2, size=100)
    raw = np.zeros(801, np.uint8)
    misaligned = raw[1:].view(np.int64)
    misaligned[:] = values
    frozen = values.copy()
    frozen.flags.writeable = False
    strided = np.repeat(values, 2)[::2]
    forms = [values, values.tolist(), tuple(values), misaligned, frozen, strided, values[::-1][::-1]]
    forms += [values.astype(t) for t in (">i8", "i1", "u1", "i2", "i4", "u4", "u8", np.longlong)]
    results = []
    for actions in forms:
        env = begun(batchenv.make("CartPole-v1", 100))
        results.append(env.step(actions)[0].tobytes())
    assert len(set(results)) == 1


@pytest.mark.parametrize("change", range(11))
def test_out(change):
    env = begun(batchenv.make("CartPole-v1", 100))
    before = np.stack(env.get_attr("state"))
    actions = np.zeros(100, np.int64)
    out = [np.zeros((100, 4), np.float32), np.zeros(100), np.zeros(100, bool), np.zeros(100, bool)]
    frozen = np.zeros(100)
    frozen.flags.writeable = False
    changed = [
        out[:3],
        {"obs": out[0]},
        [1, *out[1:]],
        [np.zeros((100, 4)), *out[1:]],
        [np.zeros((4, 100), np.float32).T, *out[1:]],
        [out[0], np.zeros(99), *out[2:]],
        [out[0], frozen, *out[2:]],
        [out[0], np.zeros(100, np.float32), *out[2:]],
        [*out[:3], out[2]],
        [*out[:3], np.zeros(100, np.uint8)],
        [out[0], actions.view(np.float64), *out[2:]],
    ][change]
    with pytest.raises(ERRORS, match="out"):
        env.step(actions, out=tuple(changed) if isinstance(changed, list) else changed)
    unharmed(env, before)


NOT_NUMBERS = [True, np.True_, "1", b"1", 1j, np.array([5]), np.datetime64("2020"), np.timedelta64(3), {}]
NO_FLOATS = [10**400, -(10**400), Decimal("sNaN")]
NUMBERS = [2, np.int8(2), np.float32(2), np.array(2), np.array(2.0), Decimal(2), Fraction(2)]


@pytest.mark.parametrize("value", [*NOT_NUMBERS, *NO_FLOATS, float("nan"), object], ids=repr)
def test_what_is_no_number(value):
    """Each place where a number belongs names its argument; no OverflowError, nothing of NumPy's or float's own."""
    env = begun(batchenv.make("CartPole-v1", 2))
    before = env.get_params()["gravity"], env.snapshot()
    calls = {
        "reward_scale": lambda: batchenv.make("CartPole-v1", 2, reward_scale=value),
        "clip_reward": lambda: batchenv.make("CartPole-v1", 2, clip_reward=(value, 5)),
        "rescale_observation": lambda: batchenv.make("Acrobot-v1", 2, rescale_observation=(-1, value)),
        "masscart": lambda: batchenv.make("CartPole-v1", 2, masscart=value),
        "gravity": lambda: env.set_params(gravity=value),
        "gravity ": lambda: env.set_attr("gravity", value),
        " gravity": lambda: env.set_attr("gravity", [value, value]),
        "low": lambda: env.reset(options={"low": value}),
        "timeout": lambda: env.recv(value),
    }
    for name, call in calls.items():
        if name == "rescale_observation" and isinstance(value, np.ndarray):
            continue  # one number for all components
        with pytest.raises((TypeError, ValueError), match=name.strip()):
            call()
    assert before == (env.get_params()["gravity"], env.snapshot())


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
def test_what_is_a_number(value):
    env = batchenv.make("CartPole-v1", 2, reward_scale=value, clip_reward=(-value, value), masscart=value)
    env.set_params(gravity=value)
    env.set_attr("length", value)
    assert [env.get_params()[name] for name in ("gravity", "length", "masscart")] == [2, 2, 2]
    env.async_reset(seed=0)
    env.recv(timeout=value)


def test_seeds_of_no_dimension():
    """np.array(5), as from np.load or a reduction, is an int."""
    env = batchenv.make("CartPole-v1", 3)
    np.testing.assert_array_equal(env.reset(seed=np.array(5))[0], env.reset(seed=5)[0])
    np.testing.assert_array_equal(env.reset(seed=np.array([5, 6, 7]))[0], env.reset(seed=5)[0])
    batchenv.make("CartPole-v1", 3, seed=np.array(5), thread_affinity=np.array(0))
    for wrong in (np.array(5.0), np.array(True), np.array(-1), np.array("5"), np.zeros((3, 1), int)):
        with pytest.raises(ERRORS, match="seed"):
            env.reset(seed=wrong)


@pytest.mark.parametrize("digits", [400, 5000])
def test_very_long_integers(digits):
    """Python itself refuses to write integers of more than 4300 digits."""
    value = 10**digits
    for keyword in ("num_envs", "num_threads", "max_episode_steps", "frame_stack", "reward_scale", "masscart"):
        with pytest.raises(ValueError, match=rf"{keyword}=an int of [0-9]+ bits must be"):
            batchenv.make("CartPole-v1", **{"num_envs": 2, keyword: value})
    with pytest.raises(ValueError, match=r"fail_step=an int of [0-9]+ bits must be"):
        batchenv.make("Synthetic-v0", 2, fail_step=value)
    with pytest.raises(ValueError, match=r"timeout=an int of [0-9]+ bits must be"):
        batchenv.make("CartPole-v1", 2).recv(value)


def test_attributes_name_nan():
    with pytest.raises(ValueError, match=r"gravity.*nan"):
        batchenv.make("CartPole-v1", 2).set_attr("gravity", float("nan"))


@pytest.mark.parametrize("bounds", [(-5.0, 5.0), (-5, 5), (np.float32(-5), 5), (10, 300), (0, np.inf)], ids=str)
def test_bounds_beyond_the_dtype(bounds):
    """Gymnasium's wrapper refuses them too; these are refused with the dtype and its range."""
    pytest.importorskip("multi_agent_ale_py", reason="needs libale_c: pip install 'batchenv[atari]'")
    pytest.importorskip("ale_py", reason="needs the ROMs of ale-py: pip install 'batchenv[atari]'")
    with pytest.raises(ValueError, match=r"rescale_observation=.*uint8.*0\.\.255"):
        batchenv.make("Pong-v5", 1, rescale_observation=bounds)
