"""batchenv.jax, with the real JAX: environments as functions of states that are values."""

import os
import threading

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
from helpers.lockstep import actions_of  # noqa: E402
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
    actions = actions_of(twin, steps, seed=1)
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
    actions = actions_of(twin, 2 * 20, seed=1)
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


MAPPED = [
    ("CartPole-v1", {"max_episode_steps": 9, "record_episode_statistics": True}),
    ("CartPole-v1", {"max_episode_steps": 9, "frame_stack": 2, "reward_dtype": "float32"}),
    ("Blackjack-v1", {}),  # a Tuple
    ("SyntheticNested-v0", {"max_episode_steps": 5}),  # Dicts and Tuples, of actions too
    ("FrozenLake-v1", {}),
    ("Taxi-v4", {"max_episode_steps": 4}),
    ("HalfCheetah-v5", {"max_episode_steps": 5}),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("env_id, options", MAPPED, ids=lambda case: case if isinstance(case, str) else "")
def test_mapped_states_are_lanes_stepped_without_jax(env_id, options, mode):
    """2 x 2 states of 3 lanes, in two nested vmaps, against four envs of 3 lanes."""
    if env_id == "HalfCheetah-v5":
        pytest.importorskip("mujoco")
    env = functional.make(env_id, 3, autoreset_mode=mode, **options)
    twins = [batchenv.make(env_id, 3, autoreset_mode=mode, **options) for _ in range(4)]
    seeds, steps = np.array([[1, 20], [300, 4000]]), 12
    for k, twin in enumerate(twins):
        twin.action_space.seed(k)
    actions = [[twin.action_space.sample() for twin in twins] for _ in range(steps)]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *[_stack(rows) for rows in actions])
    stacked = jax.tree.map(lambda leaf: leaf.reshape(steps, 2, 2, *leaf.shape[2:]), stacked)

    def advance(state, action, seed):
        state, timestep = env.step(state, action)
        if mode == "Disabled":  # the caller resets
            fresh, _ = env.init(seed)
            done = (timestep.terminated | timestep.truncated)[:, None]
            state = jax.tree.map(lambda new, old: jnp.where(done, new, old), fresh, state)
        return state, timestep

    @jax.jit
    def run(seeds, actions):
        twice = lambda function: jax.vmap(jax.vmap(function))  # noqa: E731
        states, observations = twice(env.init)(seeds)
        walk = lambda states, both: twice(advance)(states, both[0], seeds + 7 * both[1])  # noqa: E731
        later = jnp.broadcast_to(jnp.arange(steps)[:, None, None], (steps, 2, 2))
        return observations, jax.lax.scan(walk, states, (actions, later))

    first, (_, results) = run(jnp.array(seeds), stacked)
    ends = 0
    for place, twin in zip(np.ndindex(2, 2), twins, strict=True):
        seed, own = int(seeds[place]), jax.tree.map(lambda leaf, place=place: leaf[:, *place], results)
        expected, _ = twin.reset(seed=seed)
        assert_same(jax.tree.map(lambda leaf, place=place: leaf[place], first), expected, "init")
        for t in range(steps):
            expected = twin.step(actions[t][2 * place[0] + place[1]])
            assert_step(step_of(own, t), expected, twin)
            done = expected[2] | expected[3]
            ends += int(done.sum())
            if mode == "Disabled" and done.any():
                twin.reset(seed=seed + 7 * t, options={"reset_mask": done})
    assert ends > 4, "no episode has ended"


def _stack(rows):
    return jax.tree.map(lambda *leaves: np.stack(leaves), *rows)


@pytest.mark.parametrize("mode", MODES[:2])
def test_mapped_states_may_be_donated(mode):
    env = functional.make("CartPole-v1", 3, autoreset_mode=mode, max_episode_steps=4)
    states, _ = jax.vmap(env.init)(jnp.array([1, 20]))
    kept = jax.tree.map(lambda column: column.copy(), states)
    step, donating = jax.jit(jax.vmap(env.step)), jax.jit(jax.vmap(env.step), donate_argnums=0)
    for t in range(9):
        actions = jnp.full((2, 3), t % 2)
        kept, expected = step(kept, actions)
        before = states
        states, found = donating(states, actions)
        assert before.columns[0].is_deleted()
        jax.tree.map(np.testing.assert_array_equal, (states, found), (kept, expected))


OWN_LANES = [
    ("Pendulum-v1", "g", lambda _: np.linspace(5.0, 15.0, 3)),
    ("Pendulum-v1", "g", lambda _: np.full(3, 9.0)),
    ("HalfCheetah-v5", "body_mass", lambda mass: mass * np.linspace(0.5, 2, 3)[:, None]),
    ("HalfCheetah-v5", "body_mass", lambda mass: np.tile(mass * 1.5, (3, 1))),
    ("HalfCheetah-v5", "body_mass", lambda mass: mass * 1.5),
    ("HalfCheetah-v5", "gravity", lambda _: np.array([0.0, 0.0, -5.0])),  # the model's shape, and as many as lanes
    ("HalfCheetah-v5", "density", lambda _: np.array([0.0, 100.0, 1000.0])),
]


@pytest.mark.parametrize("env_id, name, value", OWN_LANES)
def test_parameters_that_differ_from_lane_to_lane(env_id, name, value):
    mass = None
    if env_id == "HalfCheetah-v5":
        pytest.importorskip("mujoco")
        mass = gymnasium.make(env_id).unwrapped.model.body_mass
    env, twin = (make(env_id, 3, **{name: value(mass)}) for make in (functional.make, batchenv.make))
    twin.reset(seed=1)
    states, _ = jax.vmap(env.init)(jnp.array([1, 1]))
    for action in actions_of(twin, 5, seed=1):
        states, timestep = jax.vmap(env.step)(states, jnp.array([action, action]))
        expected = twin.step(action)
        for k in range(2):
            assert_same(timestep.observation[k], expected[0], "lanes")


def test_seeds():
    env = functional.make("CartPole-v1", 3)
    key = jax.random.key(1)
    _, first = env.init(key)
    _, second = env.init(jax.random.key_data(key))
    assert (first == second).all() and len(np.unique(first[:, 0])) == 3
    assert not (first == env.init(jax.random.key(2))[1]).any()
    for seed in (1.0, jnp.zeros(3, int), None, True, jnp.array(True), jnp.array(1.0), jax.random.split(key)):
        with pytest.raises(TypeError, match=r"must be an int, not .*, or a key of jax.random"):
            env.init(seed)
    for seed in (jnp.array(1.5), jnp.zeros(3, int), jnp.array(True)):
        with pytest.raises(TypeError, match=r"must be an integer scalar: .*, or a key of jax.random"):
            jax.jit(env.init)(seed)


def test_seeds_that_only_the_program_knows():
    env, twin = functional.make("CartPole-v1", 3), batchenv.make("CartPole-v1", 3)
    largest = [jnp.array(2**31 - 1, jnp.int32), jnp.array(2**32 - 1, jnp.uint32), jnp.array(127, jnp.int8)]
    with jax.enable_x64(True):
        largest += [jnp.array(2**63 - 1, jnp.int64), jnp.array(2**64 - 1, jnp.uint64)]
        for seed in largest:
            expected, _ = twin.reset(seed=int(seed))
            for program in (jax.jit(env.init), lambda seed: jax.vmap(env.init)(seed[None])):
                assert np.array_equal(program(seed)[1].reshape(expected.shape), expected), seed
    refused("seed=-1 must be at least 0", jax.jit(env.init), -1)
    refused("seed=-5 must be at least 0", jax.vmap(env.init), jnp.array([3, -5]))
    # One that is known may be of any size, in a program too, and beside states that are mapped.
    for seed in (2**32, 2**100):
        expected, _ = twin.reset(seed=seed)
        assert np.array_equal(jax.jit(lambda seed=seed: env.init(seed)[1])(), expected)
        found = jax.vmap(lambda x, seed=seed: env.init(seed)[1] + x)(jnp.zeros(2))
        assert np.array_equal(found, [expected, expected])


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


def test_what_is_closed_stays_closed(monkeypatch):
    env = functional.make("CartPole-v1", 2)
    states, _ = jax.vmap(env.init)(jnp.array([1, 2]))
    state, actions = step_of(states, 0), jnp.zeros((2, 2), int)
    step, start = jax.jit(jax.vmap(env.step)), jax.jit(jax.vmap(env.init))
    step(states, actions), start(jnp.arange(2)), env.rollout(state, actions)
    assert not env.closed
    env.close(), env.close()
    assert env.closed
    monkeypatch.setattr(functional, "make_env", None)  # nothing is made any more
    for call in (
        lambda: env.init(1),
        lambda: env.step(state, actions[0]),
        lambda: env.rollout(state, actions),
        lambda: jax.vmap(env.init)(jnp.arange(3)),
        lambda: jax.vmap(env.step)(states, actions),
    ):
        with pytest.raises(gymnasium.error.ClosedEnvironmentError, match="of CartPole-v1 is closed: make a new one"):
            call()
    refused("ClosedEnvironmentError", step, states, actions)
    refused("ClosedEnvironmentError", start, jnp.arange(2))
    assert env.single_action_space == gymnasium.spaces.Discrete(2)


def test_close_waits_for_the_step_that_runs():
    """And the program that goes on is told."""
    env = functional.make("CartPole-v1", 2)
    states, _ = jax.vmap(env.init)(jnp.arange(2))
    made, inside, go_on = [], threading.Event(), threading.Event()
    serve = env._lanes

    def slowly(total):
        inside.set()
        assert go_on.wait(60)
        for one, part in serve(total):
            made.append(one)
            yield one, part

    env._lanes = slowly
    step, told = jax.jit(jax.vmap(env.step)), []
    stepping = threading.Thread(target=lambda: told.append(jax.block_until_ready(step(states, jnp.zeros((2, 2), int)))))
    stepping.start()
    assert inside.wait(60)
    closing = threading.Thread(target=env.close)
    closing.start()
    assert not env.closed and closing.is_alive()
    go_on.set()
    stepping.join(60), closing.join(60)
    assert told and env.closed and made and all(one.closed for one in made)
    refused("ClosedEnvironmentError", step, states, jnp.zeros((2, 2), int))


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
