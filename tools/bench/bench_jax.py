"""Steps per second inside of programs of JAX: env.xla(), states that are values, and peers that are installed
(EnvPool's xla(), gymnax), beside the policy alone. In turns in one run; medians.

python tools/bench/bench_jax.py [--id MinAtar/Breakout-v1] [--lanes 64 4096] [--rounds 9] [--width 64]

The policy is linear or, with --width, a network with two layers of so many tanh units. gymnax calls MinAtar's games
Breakout-MinAtar and so on.
"""

import argparse
import itertools
import os
import re
import statistics
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np

import batchenv


def inputs_of(env_id):
    """How many numbers of an observation the policy sees: the first ones, so that it costs little beside the env."""
    return min(32, int(np.prod(batchenv.make(env_id, 1).single_observation_space.shape)))


def policy_of(env_id, width):
    rng, inputs = np.random.default_rng(0), inputs_of(env_id)
    outputs = int(batchenv.make(env_id, 1).single_action_space.n)
    sizes = [inputs, width, width, outputs] if width else [inputs, outputs]
    first, *others = [jnp.asarray(rng.normal(size=pair), jnp.float32) for pair in itertools.pairwise(sizes)]

    def policy(observations):
        values = observations.reshape(len(observations), -1)[:, :inputs].astype(jnp.float32) @ first
        for weights in others:
            values = jnp.tanh(values) @ weights
        return jnp.argmax(values, axis=1).astype(jnp.int32)

    return policy


def alone(env_id, lanes):
    """The policy, and something that depends on it."""
    inputs = inputs_of(env_id)

    def step(state, actions):
        return state, state * 0.99 + actions[:, None].astype(jnp.float32) * 0.01

    return jnp.ones((lanes, inputs), jnp.float32), jnp.zeros((lanes, inputs), jnp.float32), step


def xla(env_id, lanes):
    functions = batchenv.make(env_id, lanes).xla()
    handle, observations = functions.reset(functions.handle, 0)

    def step(handle, actions):
        handle, (observations, *_) = functions.step(handle, actions)
        return handle, observations

    return handle, observations, step


def states(env_id, lanes):
    env = batchenv.jax.make(env_id, lanes)
    state, observations = env.init(0)

    def step(state, actions):
        state, timestep = env.step(state, actions)
        return state, timestep.observation

    return state, observations, step


def callback(env_id, lanes):
    """An ordered io_callback."""
    from jax.experimental import io_callback

    env = batchenv.make(env_id, lanes)
    observations, _ = env.reset(seed=0)
    form = jax.ShapeDtypeStruct(observations.shape, observations.dtype)

    def step(state, actions):
        return state, io_callback(lambda taken: env.step(np.asarray(taken))[0], form, actions, ordered=True)

    return jnp.zeros(()), jnp.asarray(observations), step


def envpool(env_id, lanes):
    import envpool

    pool = envpool.make_gymnasium(env_id, num_envs=lanes, num_threads=len(os.sched_getaffinity(0)))
    pool.async_reset()
    handle, recv, _, step_pool = pool.xla()
    handle, results = recv(handle)

    def step(handle, actions):
        handle, results = step_pool(handle, actions)
        return handle, results[0]

    return handle, jnp.asarray(results[0]), step


def gymnax(env_id, lanes):
    import gymnax

    env, params = gymnax.make(re.sub(r"MinAtar/(\w+)-v1", r"\1-MinAtar", env_id))
    keys = jax.random.split(jax.random.key(0), lanes)
    observations, state = jax.vmap(env.reset, (0, None))(keys, params)

    def step(carry, actions):
        state, key = carry
        key, own = jax.random.split(key)
        results = jax.vmap(env.step, (0, 0, 0, None))(jax.random.split(own, lanes), state, actions, params)
        return (results[1], key), results[0]

    return (state, jax.random.key(1)), observations, step


def program(step, policy, length):
    def one(carry, _):
        state, observations = carry
        return step(state, policy(observations)), None

    return jax.jit(lambda state, observations: jax.lax.scan(one, (state, observations), None, length=length)[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--id", default="CartPole-v1", help="with discrete actions")
    parser.add_argument("--lanes", type=int, nargs="+", default=[64, 4096])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--width", type=int, default=0, help="of the policy's two hidden layers; 0: it has none")
    arguments = parser.parse_args()
    policy = policy_of(arguments.id, arguments.width)
    for lanes in arguments.lanes:
        length = max(50, 400_000 // lanes)
        runs, took = {}, {}
        for make in (alone, xla, states, callback, envpool, gymnax):
            try:
                state, observations, step = make(arguments.id, lanes)
            except (ImportError, ValueError) as missing:
                print(f"{make.__name__}: {missing}")
                continue
            runs[make.__name__] = [program(step, policy, length), (state, jnp.asarray(observations))]
            took[make.__name__] = []
        for k in range(arguments.rounds + 1):
            for name, run in runs.items():
                start = time.perf_counter()
                run[1] = jax.block_until_ready(run[0](*run[1]))
                if k:  # the first one compiles
                    took[name].append(time.perf_counter() - start)
        seconds = {name: statistics.median(times) / length for name, times in took.items()}
        for name, each in seconds.items():
            print(f"{lanes} lanes, {name}: {1e6 * each:.2f} us a step, {lanes / each / 1e6:.2f} M steps/s", flush=True)


if __name__ == "__main__":
    main()
