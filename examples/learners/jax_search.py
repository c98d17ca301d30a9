"""Tree search with the environment as its own model, compiled by JAX: mctx keeps states, and asks for the next ones.

python examples/learners/jax_search.py [--env FrozenLake-v1] [--lanes 16] [--steps 200] [--quick]

Each lane plans its next action with 32 simulations. What a new state is worth is estimated by playing on from there
with random actions. A state has the lane's stream of random numbers, so the search knows how FrozenLake's ice slips.

It needs jax and mctx.
"""

import time

import jax
import jax.numpy as jnp
import mctx

import batchenv
from common import options

SIMULATIONS, GAMMA = 32, 0.99


def planner(env, horizon):
    """A function (state, key) -> actions. horizon: how many random steps estimate what a state is worth."""
    count, actions = env.num_envs, int(env.single_action_space.n)
    discounts = GAMMA ** jnp.arange(horizon)[:, None]

    def worth(state, key):
        _, steps = env.rollout(state, jax.random.randint(key, (horizon, count), 0, actions))
        ended = jnp.cumsum(steps.terminated | steps.truncated, axis=0)
        before = jnp.concatenate([jnp.zeros((1, count), int), ended[:-1]])
        return (steps.reward * discounts * (before == 0)).sum(0)

    def follow(_, key, action, state):
        state, step = env.step(state, action)
        goes_on = 1.0 - (step.terminated | step.truncated)
        output = mctx.RecurrentFnOutput(
            reward=step.reward,
            discount=GAMMA * goes_on,
            prior_logits=jnp.zeros((count, actions)),
            value=worth(state, key) * goes_on,
        )
        return output, state

    def plan(state, key):
        root = mctx.RootFnOutput(prior_logits=jnp.zeros((count, actions)), value=worth(state, key), embedding=state)
        found = mctx.gumbel_muzero_policy((), key, root, follow, SIMULATIONS, gumbel_scale=0.0)
        return found.action

    return plan


def main():
    given = options(
        __doc__, {"steps": 20, "lanes": 4}, env="CartPole-v1", lanes=16, steps=200, speed=False, learns=False
    )
    env = batchenv.jax.make(given.env, given.lanes)
    plan = planner(env, horizon=30)

    @jax.jit
    def play(seed):
        state, _ = env.init(seed)

        def step(state, key):
            state, result = env.step(state, plan(state, key))
            return state, (result.reward, result.terminated | result.truncated)

        return jax.lax.scan(step, state, jax.random.split(jax.random.key(seed), given.steps))[1]

    rewards, ended = jax.block_until_ready(play(given.seed))
    begin = time.perf_counter()
    rewards, ended = jax.block_until_ready(play(given.seed))
    seconds = time.perf_counter() - begin
    states = given.steps * given.lanes * SIMULATIONS
    print(
        f"{given.env}: reward {rewards.sum() / given.lanes:.2f} per lane in {given.steps} steps, "
        f"{int(ended.sum())} episodes ended; {states / seconds:,.0f} states searched per second"
    )


if __name__ == "__main__":
    main()
