"""env.xla(), with the real JAX."""

import gc
import os
import weakref

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax = pytest.importorskip("jax", reason="needs JAX: pip install 'batchenv[jax]'")
jnp = jax.numpy

import batchenv  # noqa: E402
from batchenv.integrations import jax as functional  # noqa: E402
from batchenv.xla import trace  # noqa: E402
from helpers.jax_steps import CASES, MODES, STEPS, assert_same, assert_step, refused, step_of  # noqa: E402
from helpers.processes import run_python  # noqa: E402


@pytest.mark.parametrize("mode", MODES[:2])
@pytest.mark.parametrize("env_id, options", CASES, ids=lambda case: case if isinstance(case, str) else "")
def test_steps_in_a_scan_are_the_envs(env_id, options, mode):
    ours, twin = (batchenv.make(env_id, 6, autoreset_mode=mode, **options) for _ in range(2))
    twin.reset(seed=3)
    twin.action_space.seed(1)
    actions = [twin.action_space.sample() for _ in range(STEPS)]
    functions = ours.xla()

    @jax.jit
    def run(handle, actions):
        handle, _ = functions.reset(handle, 3)
        return jax.lax.scan(functions.step, handle, actions)

    handle, results = run(functions.handle, jax.tree.map(lambda *leaves: jnp.stack(leaves), *actions))
    assert handle.tolist()[1] == STEPS + 1
    for t, action in enumerate(actions):
        assert_step(step_of(results, t), twin.step(action), twin)
    observations, _ = ours.reset(seed=5)  # methods may be called in between
    assert_same(functions.reset(handle, np.int32(5))[1], observations, "reset")


def test_the_four_of_envpool():
    """With a batch that is smaller than the env, in a loop that knows its own end."""
    env = batchenv.make("CartPole-v1", 8, batch_size=4)
    handle, recv, send, step = env.xla()
    env.async_reset(seed=2)
    handle, (observations, *_, infos) = recv(handle)

    @jax.jit
    def play(handle, observations, lanes):
        def body(carry):
            k, handle, observations, lanes, seen = carry
            actions = (observations[:, 2] > 0).astype(jnp.int32)
            handle, (observations, _, _, _, infos) = step(handle, actions, lanes)
            return k + 1, handle, observations, infos["env_id"], seen.at[infos["env_id"]].add(1)

        start = 0, handle, observations, lanes, jnp.zeros(8, jnp.int32)
        return jax.lax.while_loop(lambda carry: carry[0] < 20, body, start)

    _, handle, observations, lanes, seen = play(handle, observations, infos["env_id"])
    assert observations.shape == (4, 4) and seen.sum() == 80 and sorted(set(lanes.tolist())) == sorted(lanes.tolist())
    handle = send(handle, jnp.zeros(4, jnp.int32))  # to the lanes last received
    handle, _ = recv(handle)
    assert handle.tolist()[1] == 1 + 40 + 2


def test_handles_say_in_which_order_calls_come():
    env, other = (batchenv.make("CartPole-v1", 2) for _ in range(2))
    functions = env.xla()
    first = functions.handle
    refused("ResetNeeded: .*reset", functions.step, first, jnp.zeros(2, int))
    handle, _ = functions.reset(first, 1)
    refused("before the last call: it counts 0 calls, and there have been 1", functions.step, first, jnp.zeros(2, int))
    handle, _ = functions.reset(first, 1)  # which begins anew
    refused("another environment's", functions.reset, other.xla().handle, 1)
    before = {name: column.copy() for name, column in env.state.items()}
    refused("7 of lane 1", functions.step, handle, jnp.array([0, 7]))
    np.testing.assert_equal(dict(env.state), before)
    functions.step(handle, jnp.array([0, 1]))  # it is still the next one
    env.close()
    refused("clos", functions.step, handle + jnp.array([0, 1], np.uint32), jnp.array([0, 1]))


def test_what_is_wrong_is_told_while_a_program_is_traced():
    env = batchenv.make("CartPole-v1", 2)
    functions = env.xla()
    with pytest.raises(ValueError, match=r"shape \(2,\), got \(3,\)"):
        jax.jit(functions.step)(functions.handle, jnp.zeros(3, int))
    narrow, wide = (jnp.zeros(shape, jnp.uint32) for shape in (1, (2, 1)))
    for handle in (narrow, wide, jnp.zeros(2, int), np.zeros(2), [1, 0], None):
        for call in (functions.reset, functions.recv, lambda handle: functions.step(handle, jnp.zeros(2, int))):
            with pytest.raises(TypeError, match=r"must be uint32 \(2,\): pass the one that the last call has returned"):
                call(handle)
    with pytest.raises(TypeError, match="made up as"):
        functions.step(functions.handle, (jnp.zeros(2, int),))
    with pytest.raises(ValueError, match=r"env_id must be integers of shape \(2,\)"):
        functions.send(functions.handle, jnp.zeros(2, int), jnp.zeros(2))
    with pytest.raises(TypeError, match="a state of its own"):
        jax.vmap(functions.step, (None, 0))(functions.handle, jnp.zeros((3, 2), int))
    with pytest.raises(TypeError, match="arrays of numbers alone"):
        batchenv.make_python(Wordy, 2, workers="serial").xla()


@pytest.mark.parametrize("number", [jnp.float32, jnp.bfloat16, jnp.complex64, bool, "key"])
def test_dtypes_that_are_no_integers_are_refused_while_a_program_is_traced(number):
    functions, env = batchenv.make("CartPole-v1", 2).xla(), functional.make("CartPole-v1", 2)
    action = jax.random.split(jax.random.key(1)) if number == "key" else jnp.zeros(2, number)
    handle, state = functions.handle, env.init(1)[0]
    for call, first in ((functions.step, handle), (functions.send, handle), (env.step, state)):
        with pytest.raises(TypeError, match=r"dtype .* needs integers: convert .* with actions.astype\('int32'\)"):
            jax.jit(call).lower(first, action)
    functions = batchenv.make("Pendulum-v1", 2).xla()
    action = action[:, None]
    if number in (bool, jnp.complex64, "key"):
        with pytest.raises(TypeError, match=r"needs numbers: convert them, as with actions.astype\('float32'\)"):
            jax.jit(functions.step).lower(functions.handle, action)


INTEGERS = ["int8", "uint32", "int4", "uint4"]
NARROW = [
    *[("CartPole-v1", 1, number) for number in INTEGERS],
    *[("Pendulum-v1", 1, number) for number in INTEGERS],
    *[("Pendulum-v1", 1.5, number) for number in ("float16", "bfloat16", "float8_e4m3fn")],
]


@pytest.mark.parametrize("env_id, value, number", NARROW)
def test_narrow_dtypes_are_widened(env_id, value, number):
    """As `step` does with those that NumPy has."""
    twin = batchenv.make(env_id, 2)
    form = np.full(twin.action_space.shape, value, getattr(jnp, number))
    functions, states = batchenv.make(env_id, 2).xla(), functional.make(env_id, 2)
    handle, _ = functions.reset(functions.handle, 1)
    twin.reset(seed=1)
    expected = twin.step(form.astype(type(value)))
    assert_step(jax.jit(functions.step)(handle, jnp.array(form))[1], expected, twin)
    state, _ = states.init(1)
    assert_step(jax.jit(states.step)(state, jnp.array(form))[1], expected, twin)


def test_integers_that_jax_would_cut_are_refused():
    functions = batchenv.make("CartPole-v1", 2).xla()
    handle, _ = functions.reset(functions.handle, 1)
    with pytest.raises(ValueError, match="actions have 4294967297, which does not fit into JAX's int32"):
        functions.step(handle, np.array([0, 2**32 + 1]))
    with pytest.raises(ValueError, match="env_id have 4294967296, which"):
        functions.send(handle, np.array([0, 1]), np.array([2**32, 1]))
    handle, _ = functions.step(handle, np.array([0, 1]))  # NumPy's int64, of which all fit
    with jax.enable_x64(True):
        refused("4294967297 of lane 1", functions.step, handle, np.array([0, 2**32 + 1]))


def test_buffers_are_looked_at_before_they_are_read():
    """Calls that a program makes by itself, without the function that checks its arguments."""
    functions = batchenv.make("CartPole-v1", 2).xla()
    handle, _ = functions.reset(functions.handle, 1)
    number, actions = functions._step._call.number, jnp.zeros(2, int)
    for first in (jnp.zeros(1, jnp.uint32), jnp.zeros(0, jnp.uint32), handle.astype(int), handle[None]):
        refused("must be handles", lambda first=first: trace(number, [np.empty(2, np.uint32)], [first, actions]))
    for result in (np.empty(1, np.uint32), np.empty(2, np.int32), np.empty((1, 2), np.uint32)):
        refused("must be handles", lambda result=result: trace(number, [result], [handle, actions]))
    refused("must be handles", lambda: trace(number, [np.empty(2, np.uint32)], []))
    functions.step(handle, actions)
    env = functional.make("CartPole-v1", 2)
    (first, *others), forms = env.init(1)[0].columns, [*env._columns, *env._results.forms]
    for wrong in (first[:1], first[:, 1:], first.astype(int), first[0]):
        arguments = [wrong, *others, actions]
        refused("Error: ", lambda arguments=arguments: trace(env._step_call.number, forms, arguments))


class Counting(gymnasium.Env):
    """Counts from where JAX's integers end, unless it has those of 64 bits."""

    observation_space, action_space = gymnasium.spaces.Discrete(5, start=2**31 - 2), gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        self.count = 2**31 - 2
        return self.count, {}

    def step(self, action):
        self.count += int(action)
        return self.count, 0.0, False, False, {}


def test_observations_that_jax_would_cut_are_refused():
    env = batchenv.make_python(Counting, 2, workers="serial")
    functions, actions = env.xla(), jnp.array([0, 1])
    handle, first = functions.reset(functions.handle, 0)
    assert first.tolist() == [2**31 - 2] * 2
    handle, (second, *_) = functions.step(handle, actions)
    assert second.tolist() == [2**31 - 2, 2**31 - 1]
    words = "has returned 2147483648, which does not fit into JAX's int32: set jax_enable_x64"
    refused(words, functions.step, handle, actions)
    with jax.enable_x64(True):
        handle, _ = functions.reset(functions.handle, 0)
        for _ in range(2):
            handle, (found, *_) = functions.step(handle, actions)
        assert found.tolist() == [2**31 - 2, 2**31]


class Wordy(CartPoleEnv):
    def __init__(self):
        super().__init__()
        self.observation_space = gymnasium.spaces.Text(5)


def test_a_program_may_outlive_its_env():
    functions = batchenv.make("CartPole-v1", 2).xla()
    handle, _ = functions.reset(functions.handle, 1)
    program = jax.jit(functions.step).lower(handle, jnp.zeros(2, int)).compile()
    del functions
    jax.clear_caches()
    gc.collect()
    handle, _ = program(handle, jnp.zeros(2, int))
    program(handle, jnp.zeros(2, int))
    env, gone = batchenv.make("CartPole-v1", 2), functional.make("CartPole-v1", 2)
    functions, (state, _) = env.xla(), gone.init(1)
    program = jax.jit(functions.reset).lower(functions.handle, 1).compile()
    held, step = weakref.ref(env), jax.jit(gone.step)
    step(state, jnp.zeros(2, int))
    env.close(), gone.close()
    refused("ClosedEnvironmentError", program, functions.handle, 1)
    refused("ClosedEnvironmentError", step, state, jnp.zeros(2, int))
    del env, functions
    functional.make("CartPole-v1", 2)
    jax.clear_caches()
    gc.collect()
    assert held() is None
    refused("ClosedEnvironmentError: the environment that this program steps", program, jnp.zeros(2, jnp.uint32), 1)


def test_gradients_stop_at_actions():
    functions = batchenv.make("Pendulum-v1", 3).xla()
    handle, observations = functions.reset(functions.handle, 1)

    def loss(weight, handle):
        _, (_, rewards, *_) = functions.step(handle, observations[:, :1] * weight)
        return (rewards * weight).sum()

    value, gradient = jax.value_and_grad(loss)(2.0, handle)
    np.testing.assert_allclose(gradient, value / 2, rtol=1e-6)


def test_numbers_of_64_bits():
    with jax.enable_x64(True):
        ours, twin = (batchenv.make("Pendulum-v1", 3) for _ in range(2))
        twin.reset(seed=1)
        functions = ours.xla()
        handle, _ = functions.reset(functions.handle, 1)
        action = np.full((3, 1), 0.3, np.float32)
        found, expected = functions.step(handle, action)[1], twin.step(action)
        assert found[1].dtype == np.float64 and np.asarray(found[1]).tobytes() == expected[1].tobytes()


@pytest.mark.parametrize("reward_dtype", ["float32", "float64"])
def test_what_is_normalized(reward_dtype):
    options = {"normalize_observation": True, "normalize_reward": 0.9, "reward_dtype": reward_dtype}
    ours, twin = (batchenv.make("Pendulum-v1", 3, **options) for _ in range(2))
    twin.reset(seed=1)
    functions = ours.xla()
    handle, _ = functions.reset(functions.handle, 1)
    step = jax.jit(functions.step)
    for k in range(5):
        action = np.full((3, 1), 0.1 * k, np.float32)
        handle, found = step(handle, action)
        assert_step(found, twin.step(action), twin)
    assert repr(ours.normalizer) == repr(twin.normalizer)


def test_pictures_show_what_a_program_has_done():
    pytest.importorskip("pygame")
    ours, twin = (batchenv.make("Pendulum-v1", 1, render_mode="rgb_array") for _ in range(2))
    twin.reset(seed=1)
    functions = ours.xla()
    handle, _ = functions.reset(functions.handle, 1)
    for action in np.float32([[[2.0]], [[-2.0]]]):  # it is drawn as an arrow
        handle, _ = functions.step(handle, action)
        twin.step(action)
        assert np.array_equal(ours.render()[0], twin.render()[0])


@pytest.mark.parametrize("mode", MODES[:2])
@pytest.mark.parametrize("reward_dtype", ["float32", "float64"])
def test_many_lanes(reward_dtype, mode):
    """Their results are written into XLA's arrays at once."""
    ours, twin = (
        batchenv.make("CartPole-v1", 600, reward_dtype=reward_dtype, autoreset_mode=mode, max_episode_steps=9)
        for _ in range(2)
    )
    twin.reset(seed=1)
    functions = ours.xla()
    handle, _ = functions.reset(functions.handle, 1)
    step, kept = jax.jit(functions.step), []
    for k in range(12):
        action = np.random.default_rng(k).integers(0, 2, 600)
        handle, found = step(handle, action)
        kept.append((found, twin.step(action)))
    for found, expected in kept:  # later steps have left earlier results alone
        assert_step(found, expected, twin)


class Keeping(CartPoleEnv):
    """Keeps its actions, as an env in Python may."""

    def step(self, action):
        self.__dict__.setdefault("taken", []).append(action)
        return super().step(action)


def test_envs_in_python():
    ours = batchenv.make_python(Keeping, 3, workers="serial", autoreset_mode="SameStep")
    twin = batchenv.make("CartPole-v1", 3, autoreset_mode="SameStep", max_episode_steps=None)
    twin.reset(seed=1)
    functions = ours.xla()
    actions = np.random.default_rng(0).integers(2, size=(STEPS, 3))
    handle, _ = functions.reset(functions.handle, 1)
    _, results = jax.lax.scan(functions.step, handle, jnp.array(actions))
    for t in range(STEPS):
        assert_step(step_of(results, t), twin.step(actions[t]), twin)
    assert [list(map(int, taken)) for taken in zip(*ours.get_attr("taken"), strict=True)] == actions.tolist()


def test_without_jax():
    program = """
import sys
sys.modules["jax"] = None
import batchenv
try:
    batchenv.make("CartPole-v1", 1).xla()
except ImportError as error:
    print(error)
"""
    assert "pip install 'batchenv[jax]'" in run_python(program)
