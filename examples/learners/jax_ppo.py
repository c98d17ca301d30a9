"""PPO with JAX, in one compiled program: the environment's steps, the policy and the updates.

python examples/learners/jax_ppo.py [--env HalfCheetah-v5] [--lanes 64] [--steps 1000000] [--quick] [--save FILE]
    [--eval N] [--speed]

It prints the mean return of the episodes that ended in each tenth of the training. --speed compares with the same
program over gymnax's CartPole. --save writes the network's arrays, as numpy.load reads them. It needs jax and optax;
--speed also gymnax.
"""

import copy
import time
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

import batchenv
from common import compare, finish, options

LENGTH, EPOCHS, MINIBATCHES = 64, 4, 8  # steps per update; how often they are used, in how many parts
GAMMA, LAMBDA, CLIP, ENTROPY = 0.99, 0.95, 0.2, 0.005
WIDTH, RATE = 64, 1e-3


class Lanes(NamedTuple):
    """An environment: start(seed) -> (state, observations); step(state, actions) -> (state, observations, rewards,
    whether an episode has ended, whether the time limit has ended it, its last observations, its return). size,
    actions: of one lane; continuous: whether actions are numbers with a Gaussian. again(count): other lanes, as NumPy
    knows them, whose observations are normalized as these are."""

    start: Any
    step: Any
    size: int
    actions: int
    continuous: bool
    again: Any = None


def batchenv_lanes(env_id, count):
    continuous = env_id != "CartPole-v1"
    normalize = {"normalize_observation": True, "normalize_reward": GAMMA, "clip_actions": True} if continuous else {}
    env = batchenv.make(env_id, count, autoreset_mode="SameStep", record_episode_statistics=True, **normalize)

    def again(others):
        other = batchenv.make(env_id, others, normalize_observation=continuous, clip_actions=continuous)
        if continuous:
            other.normalizer.obs_rms = copy.deepcopy(env.normalizer.obs_rms)
            other.normalizer.update_running_mean = False
        return other

    functions = env.xla()

    def step(handle, actions):
        handle, (observations, rewards, terminations, truncations, infos) = functions.step(handle, actions)
        ended, returns = terminations | truncations, infos["episode"]["r"]  # before rewards are normalized
        return handle, observations, rewards, ended, truncations, infos["final_obs"], returns

    space = env.single_action_space
    actions = space.shape[0] if continuous else int(space.n)
    size = env.single_observation_space.shape[0]
    return Lanes(partial(functions.reset, functions.handle), step, size, actions, continuous, again)


def gymnax_lanes(env_id, count):
    import gymnax

    env, params = gymnax.make(env_id)

    def start(seed):
        key, own = jax.random.split(jax.random.key(seed))
        observations, states = jax.vmap(env.reset, (0, None))(jax.random.split(own, count), params)
        return (key, states, jnp.zeros(count)), observations

    def step(carry, actions):
        key, states, returns = carry
        key, own = jax.random.split(key)
        results = jax.vmap(env.step, (0, 0, 0, None))(jax.random.split(own, count), states, actions, params)
        observations, states, rewards, *flags, _ = results  # one flag, or two in newer releases
        ended, returns = sum(flags) > 0, returns + rewards
        # It does not show the last observation of an episode.
        shown = observations, rewards, ended, jnp.zeros(count, bool), observations, returns
        return (key, states, jnp.where(ended, 0.0, returns)), *shown

    return Lanes(start, step, env.observation_space(params).shape[0], env.num_actions, False)


# ---- the policy ----------------------------------------------------------------------------------------------------


def layers(key, sizes, last):
    """Weights of a network with tanh between its layers; `last` scales those of the last one."""
    keys = jax.random.split(key, len(sizes) - 1)
    scales = [np.sqrt(2)] * (len(sizes) - 2) + [last]
    make = [jax.nn.initializers.orthogonal(scale) for scale in scales]
    return [(make[k](keys[k], (sizes[k], sizes[k + 1])), jnp.zeros(sizes[k + 1])) for k in range(len(keys))]


def network(weights, x):
    for matrix, offset in weights[:-1]:
        x = jnp.tanh(x @ matrix + offset)
    return x @ weights[-1][0] + weights[-1][1]


def act(params, observations, key, lanes):
    """Actions, and the logarithms of their probabilities."""
    out = network(params["policy"], observations)
    if lanes.continuous:
        actions = out + jnp.exp(params["log_std"]) * jax.random.normal(key, out.shape)
    else:
        actions = jax.random.categorical(key, out)
    return actions, judge(params, observations, actions, lanes)[0]


def judge(params, observations, actions, lanes):
    """The logarithms of the probabilities of actions, and the policy's entropies."""
    out, log_std = network(params["policy"], observations), params["log_std"]
    if lanes.continuous:
        distance = (actions - out) / jnp.exp(log_std)
        entropy = jnp.full(out.shape[:-1], (log_std + 0.5 * jnp.log(2 * jnp.pi * jnp.e)).sum())
        return (-0.5 * distance**2 - log_std - 0.5 * jnp.log(2 * jnp.pi)).sum(-1), entropy
    logits = jax.nn.log_softmax(out)
    chosen = jnp.take_along_axis(logits, actions[..., None], -1)[..., 0]
    return chosen, -(jnp.exp(logits) * logits).sum(-1)


# ---- training --------------------------------------------------------------------------------------------------------


def loss(params, batch, lanes):
    observations, actions, before, advantages, targets = batch
    chosen, entropies = judge(params, observations, actions, lanes)
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    ratio = jnp.exp(chosen - before)
    gain = jnp.minimum(ratio * advantages, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantages).mean()
    errors = (network(params["value"], observations)[..., 0] - targets) ** 2
    return -gain + 0.5 * errors.mean() - ENTROPY * entropies.mean()


def advantages_of(rewards, values, ended, last):
    """Generalised advantage estimates, from the last step to the first."""

    def back(carry, step):
        advantage, following = carry
        reward, value, over = step
        delta = reward + GAMMA * following * ~over - value
        advantage = delta + GAMMA * LAMBDA * advantage * ~over
        return (advantage, value), advantage

    return jax.lax.scan(back, (jnp.zeros_like(last), last), (rewards, values, ended), reverse=True)[1]


def trainer(lanes, count, updates):
    """A compiled function of a seed that trains, and returns the weights, the sums of the returns of the episodes that
    ended in each update, and how many these were."""
    parts = updates * EPOCHS * MINIBATCHES
    optimizer = optax.chain(
        optax.clip_by_global_norm(0.5), optax.adam(optax.linear_schedule(RATE, 0.0, parts), eps=1e-5)
    )

    def step(carry, key):
        params, state, observations = carry
        actions, chosen = act(params, observations, key, lanes)
        values = network(params["value"], observations)[..., 0]
        state, after, rewards, ended, cut, last, returns = lanes.step(state, actions)
        rewards = rewards + GAMMA * network(params["value"], last)[..., 0] * cut  # it might have gone on
        told = jnp.where(ended, returns, 0.0).sum(), ended.sum()
        return (params, state, after), (observations, actions, chosen, rewards, values, ended, told)

    def learn(carry, batch):
        params, memory = carry
        changes, memory = optimizer.update(jax.grad(loss)(params, batch, lanes), memory)
        return (optax.apply_updates(params, changes), memory), None

    def epoch(batch, carry, key):
        order = jax.random.permutation(key, LENGTH * count).reshape(MINIBATCHES, -1)
        return jax.lax.scan(learn, carry, jax.tree.map(lambda rows: rows[order], batch))

    def update(carry, key):
        params, memory, state, observations = carry
        keys = jax.random.split(key, LENGTH + EPOCHS)
        (_, state, observations), steps = jax.lax.scan(step, (params, state, observations), keys[:LENGTH])
        seen, actions, chosen, rewards, values, ended, told = steps
        advantages = advantages_of(rewards, values, ended, network(params["value"], observations)[..., 0])
        batch = seen, actions, chosen, advantages, advantages + values
        batch = jax.tree.map(lambda rows: rows.reshape(-1, *rows.shape[2:]), batch)
        (params, memory), _ = jax.lax.scan(partial(epoch, batch), (params, memory), keys[LENGTH:])
        return (params, memory, state, observations), jax.tree.map(jnp.sum, told)

    @jax.jit
    def train(seed):
        key, first, second = jax.random.split(jax.random.key(seed), 3)
        params = {
            "policy": layers(first, (lanes.size, WIDTH, WIDTH, lanes.actions), 0.01),
            "value": layers(second, (lanes.size, WIDTH, WIDTH, 1), 1.0),
            "log_std": jnp.zeros(lanes.actions),
        }
        state, observations = lanes.start(seed)
        carry = params, optimizer.init(params), state, observations
        (params, *_), told = jax.lax.scan(update, carry, jax.random.split(key, updates))
        return params, told

    return train


def means(told):
    """Mean returns by tenths of the training."""
    tenths = zip(*(np.array_split(np.asarray(numbers), 10) for numbers in told), strict=True)
    return [total.sum() / max(1, count.sum()) for total, count in tenths]


def speed(given, updates):
    """Compares with gymnax."""

    def measured(make):
        train = trainer(make(given.env, given.lanes), given.lanes, updates).lower(given.seed).compile()

        def measure():
            begin = time.perf_counter()
            _, told = jax.block_until_ready(train(given.seed))
            rate = updates * LENGTH * given.lanes / (time.perf_counter() - begin)
            print(f"{make.__name__}: mean return of the last tenth {means(told)[-1]:.1f}", flush=True)
            return {"training": rate}

        return measure

    compare(given.env, {make.__name__: measured(make) for make in (batchenv_lanes, gymnax_lanes)}, turns=3)


def main():
    given = options(__doc__, {"steps": 40_960}, env="CartPole-v1", lanes=64, steps=500_000)
    updates = max(10, given.steps // (LENGTH * given.lanes))
    if given.speed:
        return speed(given, updates)
    begin = time.perf_counter()
    lanes = batchenv_lanes(given.env, given.lanes)
    params, told = jax.block_until_ready(trainer(lanes, given.lanes, updates)(given.seed))
    returns = ", ".join(f"{value:.1f}" for value in means(told))
    print(f"{given.env}: mean returns by tenths {returns}; {time.perf_counter() - begin:.0f} s")

    def act(observations):
        out = network(params["policy"], jnp.asarray(observations))
        return np.asarray(out if lanes.continuous else out.argmax(-1))

    def save(path):
        arrays = {jax.tree_util.keystr(name): array for name, array in jax.tree_util.tree_leaves_with_path(params)}
        with open(path, "wb") as file:
            np.savez(file, **arrays)

    finish(given, lanes.again, act, save)


if __name__ == "__main__":
    main()
