"""batchenv.jax, with the real JAX: environments as functions of states that are values."""

import os

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax = pytest.importorskip("jax", reason="needs JAX: pip install 'batchenv[jax]'")
jnp = jax.numpy

import batchenv  # noqa: E402
from batchenv.integrations import jax as functional  # noqa: E402
from helpers.jax_steps import CASES, MODES, STEPS, assert_same, assert_step, refused, step_of  # noqa: E402
from helpers.processes import run_python  # noqa: E402


@pytest.mark.parametrize("mode", MODES[:2])
@pytest.mark.parametrize(
    "env_id, options",
    [*CASES, ("Hopper-v5", {}), ("Pong-v5", {})],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_functions_of_states_are_the_env(env_id, options, mode):
    if env_id == "Hopper-v5":
        pytest.importorskip("mujoco")
    if env_id == "Pong-v5":
        pytest.importorskip("ale_py"), pytest.importorskip("multi_agent_ale_py")
    lanes, steps = 3, 30 if env_id in ("Hopper-v5", "Pong-v5") else STEPS
    env = functional.make(env_id, lanes, autoreset_mode=mode, **options)
    twin = batchenv.make(env_id, lanes, autoreset_mode=mode, **options)
    expected, _ = twin.reset(seed=3)
    twin.action_space.seed(1)
    actions = [twin.action_space.sample() for _ in range(steps)]
    state, observation = jax.jit(env.init)(3)
    assert_same(observation, expected, "init")
    last, results = jax.jit(lambda *two: jax.lax.scan(env.step, *two))(
        state, jax.tree.map(lambda *leaves: jnp.stack(leaves), *actions)
    )
    for t, action in enumerate(actions):
        assert_step(step_of(results, t), twin.step(action), twin)
    again, timestep = env.step(state, actions[0])  # the first state is as it was
    assert_same(tuple(timestep[:4]), tuple(step_of(results, 0)[:4]), "again")
    del last, again


@pytest.mark.parametrize("mode", MODES[:2])
@pytest.mark.parametrize("env_id, options", CASES, ids=lambda case: case if isinstance(case, str) else "")
def test_rollouts_are_the_envs(env_id, options, mode):
    env, twin = (make(env_id, 3, autoreset_mode=mode, **options) for make in (functional.make, batchenv.make))
    env_of = functional.make(env_id, 3, autoreset_mode=mode, **options)
    twin.action_space.seed(1)
    actions = [twin.action_space.sample() for _ in range(2 * 20)]
    both = jax.tree.map(lambda *leaves: np.stack(leaves).reshape(2, 20, *leaves[0].shape), *actions)
    states, _ = jax.vmap(env.init)(jnp.array([3, 30]))
    last, found = jax.jit(jax.vmap(env.rollout))(states, both)
    for k, seed in enumerate((3, 30)):
        twin.reset(seed=seed)
        expected = twin.rollout(jax.tree.map(lambda leaf, k=k: leaf[k], both))
        infos = {key: value for key, value in expected.infos.items() if key != "episode"}
        assert_same(tuple(step_of(found, k)), (*expected[:4], infos), "rollout")
        first, _ = env_of.init(seed)
        alone, _ = env_of.rollout(first, jax.tree.map(lambda leaf, k=k: leaf[k], both))
        jax.tree.map(np.testing.assert_array_equal, step_of(last, k), alone)
    with pytest.raises(ValueError, match=r"actions must have shape \(T, 3"):
        env.rollout(first, actions[0])


def test_branches_are_snapshots():
    env, twin = functional.make("CartPole-v1", 4), batchenv.make("CartPole-v1", 4)
    state, _ = env.init(7)
    twin.reset(seed=7)
    rng = np.random.default_rng(0)
    states, snapshots = [state], [twin.snapshot()]
    step = jax.jit(env.step)
    for _ in range(60):
        k, action = int(rng.integers(len(states))), rng.integers(2, size=4)
        rows = rng.permutation(4)
        chosen = jax.tree.map(lambda column, rows=rows: column[rows], states[k])
        state, timestep = step(chosen, jnp.array(action))
        twin.restore(snapshots[k], rows=rows)
        expected = twin.step(action)
        assert_same(tuple(timestep[:4]), tuple(expected[:4]), "branch")
        states.append(state), snapshots.append(twin.snapshot())


def test_batches_of_states():
    env = functional.make("FrozenLake-v1", 3)
    seeds = jnp.array([[0, 10], [20, 30]])
    states, observations = jax.jit(jax.vmap(jax.vmap(env.init)))(seeds)
    actions = jnp.arange(12).reshape(2, 2, 3) % 4
    step = jax.jit(jax.vmap(jax.vmap(env.step), (0, 0)))
    for _ in range(5):
        before = states
        states, timestep = step(states, actions)
        for place in np.ndindex(2, 2):
            alone = env.step(jax.tree.map(lambda leaf, place=place: leaf[place], before), actions[place])
            found = jax.tree.map(lambda leaf, place=place: leaf[place], (states, timestep))
            jax.tree.map(np.testing.assert_array_equal, found, alone)
    assert observations.shape == (2, 2, 3)
    _, timestep = jax.vmap(env.step, (None, 0))(alone[0], actions[0])  # one state, several actions
    for k in range(2):
        _, expected = env.step(alone[0], actions[0, k])
        jax.tree.map(np.testing.assert_array_equal, jax.tree.map(lambda leaf, k=k: leaf[k], timestep), expected)


def test_parameters_that_differ_from_lane_to_lane():
    gravity = np.linspace(5.0, 15.0, 3)
    env, twin = functional.make("Pendulum-v1", 3, g=gravity), batchenv.make("Pendulum-v1", 3, g=gravity)
    twin.reset(seed=1)
    states, _ = jax.vmap(env.init)(jnp.array([1, 1]))
    states, timestep = jax.vmap(env.step)(states, jnp.full((2, 3, 1), 0.5))
    expected = twin.step(np.full((3, 1), 0.5, np.float32))
    for k in range(2):
        assert_same(timestep.observation[k], expected[0], "lanes")


def test_seeds():
    env = functional.make("CartPole-v1", 3)
    key = jax.random.key(1)
    _, first = env.init(key)
    _, second = env.init(jax.random.key_data(key))
    assert (first == second).all() and len(np.unique(first[:, 0])) == 3
    assert not (first == env.init(jax.random.key(2))[1]).any()
    for seed in (1.0, jnp.zeros(3, int)):
        with pytest.raises(TypeError, match="an integer or a key"):
            env.init(seed)


def test_states_that_cannot_be():
    env = functional.make("FrozenLake-v1", 2)
    state, _ = env.init(1)
    wrong = jax.tree.map(lambda column: jnp.full_like(column, 255), state)
    refused("damaged", env.step, wrong, jnp.zeros(2, int))
    refused("damaged", env.step, jax.tree.map(jnp.zeros_like, state), jnp.zeros(2, int))
    refused("9 of lane 1", env.step, state, jnp.array([0, 9]))
    env.step(state, jnp.zeros(2, int))
    with pytest.raises(TypeError, match="this is no state of 2 lanes of FrozenLake-v1"):
        env.step(jax.tree.map(lambda column: column[:1], state), jnp.zeros(2, int))
    with pytest.raises(TypeError, match="this is no state"):
        env.step(functional.make("CartPole-v1", 2).init(1)[0], jnp.zeros(2, int))


def test_a_donated_state_becomes_the_next():
    env = functional.make("CartPole-v1", 64)
    state, _ = env.init(1)
    kept = jax.tree.map(lambda column: column.copy(), state)
    expected, _ = jax.jit(env.step)(kept, jnp.zeros(64, int))
    found, _ = jax.jit(env.step, donate_argnums=0)(state, jnp.zeros(64, int))
    assert state.columns[0].is_deleted()
    jax.tree.map(np.testing.assert_array_equal, found, expected)


def test_what_has_no_state_of_its_own_is_refused():
    gymnasium.register("JaxCartPole-v0", entry_point=CartPoleEnv)
    with pytest.raises(TypeError, match="in Python"):
        functional.make("JaxCartPole-v0", 2, workers="serial")
    del gymnasium.registry["JaxCartPole-v0"]
    with pytest.raises(TypeError, match="normalize in JAX"):
        functional.make("CartPole-v1", 2, normalize_observation=True)
    with pytest.raises(TypeError, match="batch_size=1"):
        functional.make("CartPole-v1", 2, batch_size=1)


def test_several_devices_at_once():
    program = """
import jax, numpy as np
from batchenv.integrations import jax as functional
env = functional.make("CartPole-v1", 8)
assert jax.device_count() == 2
states, observations = jax.pmap(env.init)(jax.numpy.array([0, 100]))
run = jax.pmap(lambda state, actions: jax.lax.scan(env.step, state, actions))
_, found = run(states, jax.numpy.ones((2, 200, 8), int))
for k, seed in enumerate((0, 100)):
    state, _ = env.init(seed)
    _, expected = jax.lax.scan(env.step, state, jax.numpy.ones((200, 8), int))
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a[k], b), found, expected)
print("equal")
"""
    assert run_python(program, XLA_FLAGS="--xla_force_host_platform_device_count=2") == "equal\n"
