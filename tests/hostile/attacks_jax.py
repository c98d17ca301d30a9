"""Programs of JAX: closed under their feet, given what is no seed, no handle and no state."""

import signal

import numpy as np
from gymnasium.error import ClosedEnvironmentError
from harness import EFFORT, attack

import batchenv
from helpers.hostile import Background, Complaints, clear, make, signalled

CPU = {"JAX_PLATFORMS": "cpu"}
BAD = (TypeError, ValueError)


@attack(needs=("jax",), env=CPU, limit=180)
def threads_step_mapped_states_of_an_env_that_is_closed():
    """Each thread is told, and no env stays behind that was made for the many lanes of a map."""
    import jax

    for round_ in range(max(1, int(3 * EFFORT))):
        env = batchenv.jax.make("CartPole-v1", 4, autoreset_mode="SameStep", num_threads=1)
        step, start = jax.jit(jax.vmap(env.step)), jax.jit(jax.vmap(env.init))
        made, make_env = [], batchenv.integrations.jax.make_env
        batchenv.integrations.jax.make_env = lambda *a, **k: made.append(make_env(*a, **k)) or made[-1]  # noqa: B023

        def go_on(states, step=step, start=start):
            state, _ = start(jax.numpy.arange(states))
            while True:
                state, _ = step(state, jax.numpy.zeros((states, 4), int))

        running = [Background(lambda n=n, go_on=go_on: go_on(n)) for n in (1, 2, 3, 5)]
        for _ in range(5 * (round_ + 1)):
            env.init(1)
        env.close()
        for one in running:
            clear(one.result, (jax.errors.JaxRuntimeError, ValueError, ClosedEnvironmentError), "closed")
        batchenv.integrations.jax.make_env = make_env
        assert all(one.closed for one in made) and not env._envs and env.closed
        clear(lambda env=env: env.init(1), ClosedEnvironmentError, "make a new one with batchenv.jax.make")


@attack(needs=("jax",), env=CPU, limit=180)
def a_signal_handler_closes_it_inside_of_a_step():
    """Whether XLA calls from this thread or another one, nobody waits for ever."""
    import jax

    for traced in (False, True):  # it arrives while a program is traced, or while it runs
        env = batchenv.jax.make("Synthetic-v0", 4, num_threads=1, cost_us=2000.0, wait=True)
        state, _ = env.init(1)
        actions = np.zeros((50, *env.action_space.shape), env.action_space.dtype)
        program, told = jax.jit(env.rollout), []
        if traced:
            jax.block_until_ready(program(state, actions))

        def close(env=env, told=told):
            try:
                env.close()
            except RuntimeError as error:
                told.append(str(error))

        def run(state=state, actions=actions, program=program, told=told):
            try:
                jax.block_until_ready(program(state, actions))
            except (jax.errors.JaxRuntimeError, ValueError, ClosedEnvironmentError) as error:
                told.append(str(error))

        signalled(run, signal.SIGUSR1, close)
        assert all("inside another call" in one or "closed" in one for one in told), told
        env.close()
        assert env.closed


@attack(needs=("jax",), env=CPU, limit=180)
def seeds_of_programs():
    import jax

    jnp, complaints = jax.numpy, Complaints()
    env, functions = batchenv.jax.make("CartPole-v1", 2), make("CartPole-v1", 2).xla()
    calls = {"init": env.init, "reset": lambda seed: functions.reset(functions.handle, seed)}
    for name, call in calls.items():
        wrong = 1.5, -1, True, "7", b"7", [1, 2], jnp.array(1.5), jnp.array(-3), jnp.array(True), np.array([5]), 1j, {}
        complaints.each(wrong, call, "seed", "from 0 on")
        for seed in (jnp.array(1.5), jnp.array(-1), jnp.array(True), jnp.array([1, 2, 3]), jnp.array(1j)):
            traced = lambda seed=seed, call=call: jax.block_until_ready(jax.jit(call)(seed))  # noqa: E731
            either = (*BAD, jax.errors.JaxRuntimeError)
            complaints.refused(f"jit({name})({seed!r})", traced, either, "seed", "from 0 on")
    complaints.refused("init(None)", lambda: env.init(None), BAD, "seed", "from 0 on")
    for seed in (2**31, 2**32, 2**64 - 1, 2**128, 10**300):
        with complaints.about(f"seed {seed}"):
            expected = make("CartPole-v1", 2).reset(seed=seed)[0]
            assert all(np.array_equal(call(seed)[1], expected) for call in calls.values())
    complaints.tell()


@attack(needs=("jax",), env=CPU, limit=180)
def handles_of_all_shapes():
    """Past whose ends nothing is read: as a program gives them, and as one that goes around batchenv's functions."""
    import jax

    from batchenv.xla import trace

    jnp, complaints = jax.numpy, Complaints()
    functions = make("CartPole-v1", 2).xla()
    handle, _ = functions.reset(functions.handle, 1)
    number, actions = functions._step._call.number, jnp.zeros(2, int)
    wrong = [jnp.zeros(shape, dtype) for shape in ((), 0, 1, 3, (1, 2), (2, 1)) for dtype in (jnp.uint32, jnp.uint8)]
    wrong += [handle.astype(dtype) for dtype in (jnp.int32, jnp.float32, jnp.bool_, jnp.bfloat16, jnp.complex64)]
    either = (*BAD, jax.errors.JaxRuntimeError)
    for one in wrong:
        name = f"{one.dtype}{one.shape}"
        complaints.refused(name, lambda one=one: functions.step(one, actions), TypeError, "uint32 (2,)")
        complaints.refused(
            f"{name}, traced",
            lambda one=one: trace(number, [np.empty(2, np.uint32)], [one, actions]),
            either,
            "handles",
        )
    complaints.refused("nothing", lambda: trace(number, [np.empty(2, np.uint32)], []), either, "handles")
    with complaints.about("the right one"):
        functions.step(handle, actions)
    complaints.tell()


@attack(needs=("jax",), env=CPU, limit=180)
def damaged_states_among_sound_ones():
    """Are refused, and change nothing for the next program."""
    import jax

    rng = np.random.default_rng(1)
    for env_id in ("FrozenLake-v1", "Taxi-v4", "Blackjack-v1"):
        env = batchenv.jax.make(env_id, 3, autoreset_mode="SameStep")
        states, _ = jax.vmap(env.init)(np.arange(4))
        actions = np.zeros((4, 3), np.int32)
        step = jax.jit(jax.vmap(env.step))
        expected = step(states, actions)
        for _ in range(max(1, int(10 * EFFORT))):
            broken = [np.array(column) for column in states.columns]
            for column in broken:
                column[rng.integers(4), rng.integers(3)] = 255
            clear(
                lambda step=step, broken=broken, actions=actions: jax.block_until_ready(
                    step(batchenv.integrations.jax.State(tuple(map(jax.numpy.asarray, broken))), actions)
                ),
                (jax.errors.JaxRuntimeError, ValueError),
                "damaged",
            )
            jax.tree.map(np.testing.assert_array_equal, step(states, actions), expected)
