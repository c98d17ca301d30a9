"""env.xla() and batchenv.integrations.jax, with the real JAX."""

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
from helpers.processes import run_python  # noqa: E402

STEPS = 70
MODES = ["NextStep", "SameStep", "Disabled"]


def narrowed(value):
    """As JAX has it without 64 bits."""
    value = np.asarray(value)
    return value.astype(jax.dtypes.canonicalize_dtype(value.dtype))


def assert_same(found, expected, what):
    if isinstance(expected, dict):
        for key, value in expected.items():
            assert_same(found[key], value, f"{what}[{key!r}]")
    elif isinstance(expected, tuple):
        assert len(found) == len(expected), what
        for k, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_same(one, other, f"{what}[{k}]")
    else:
        expected = narrowed(expected)
        assert found.dtype == expected.dtype and found.shape == expected.shape, what
        assert np.asarray(found).tobytes() == expected.tobytes(), what


def step_of(results, t):
    return jax.tree.map(lambda leaf: leaf[t], results)


def assert_step(found, expected, lanes):
    """A step of XLA's is BatchEnv's, infos included, which XLA has even if no row has one."""
    assert_same(found[:4], expected[:4], "step")
    infos = dict(expected[4])
    final = infos.pop("final_obs", None)
    if final is not None:
        done = np.flatnonzero(infos["_final_obs"])
        rows = gymnasium.vector.utils.concatenate(
            lanes.single_observation_space,
            list(final[done]),
            gymnasium.vector.utils.create_empty_array(lanes.single_observation_space, len(done)),
        )
        assert_same(jax.tree.map(lambda leaf: leaf[done], found[4]["final_obs"]), rows, "final_obs")
        infos.pop("_final_info")
        finals = jax.tree.map(lambda leaf: leaf[done], infos.pop("final_info"))
        assert_same(jax.tree.map(lambda leaf: leaf[done], found[4].get("final_info", {})), finals, "final_info")
    infos.pop("env_id", None)
    if "episode" in infos:
        infos["episode"] = {key: infos["episode"][key] for key in "rl"}
    assert_same(found[4], infos, "infos")


CASES = [
    ("CartPole-v1", {"record_episode_statistics": True}),
    ("Pendulum-v1", {"max_episode_steps": 20}),
    ("CartPole-v1", {"reward_dtype": "float32", "frame_stack": 2}),
    ("Blackjack-v1", {}),
    ("Taxi-v4", {"max_episode_steps": 20}),
    ("SyntheticNested-v0", {}),
]


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


def refused(words, call, *arguments):
    with pytest.raises((jax.errors.JaxRuntimeError, ValueError), match=words):  # compiled programs may raise the latter
        jax.block_until_ready(call(*arguments))


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
    with pytest.raises(TypeError, match="integers, got float32"):
        functions.step(functions.handle, jnp.zeros(2))
    with pytest.raises(TypeError, match="made up as"):
        functions.step(functions.handle, (jnp.zeros(2, int),))
    with pytest.raises(ValueError, match=r"env_id must be integers of shape \(2,\)"):
        functions.send(functions.handle, jnp.zeros(2, int), jnp.zeros(2))
    with pytest.raises(TypeError, match="a state of its own"):
        jax.vmap(functions.step, (None, 0))(functions.handle, jnp.zeros((3, 2), int))
    with pytest.raises(TypeError, match="arrays of numbers alone"):
        batchenv.make_python(Wordy, 2, workers="serial").xla()


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


# ---- states as values ------------------------------------------------------------------------------------------------


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
