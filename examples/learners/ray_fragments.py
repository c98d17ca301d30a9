"""Actors of Ray, each with lanes of CartPole-v1, from whose fragments a small policy learns (REINFORCE, in NumPy).

pip install -e ".[ray]"
python examples/learners/ray_fragments.py [--quick] [--save FILE] [--eval N]
"""

import os
import time

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import numpy as np
import ray

import batchenv
from batchenv.integrations.ray import RaySampler
from common import finish, options

GAMMA = 0.97


def policy(weights, observations, rng):
    """Pushes to the right with the probability that a linear model gives. It runs in the actors."""
    right = 1 / (1 + np.exp(-observations @ weights))
    return (rng.random(len(right)) < right).astype(np.int64), {"right": right}


def gradient(fragment):
    """Of the mean discounted return, whose mean over lanes is the baseline."""
    ended = fragment.terminations | fragment.truncations
    returns = np.zeros_like(fragment.rewards)
    after = np.zeros(fragment.rewards.shape[1])
    for t in reversed(range(len(returns))):
        returns[t] = after = fragment.rewards[t] + GAMMA * after * ~ended[t]
    advantages = (returns - returns.mean(1, keepdims=True)) / (returns.std() + 1e-8)
    surprise = (fragment.actions - fragment.extras["right"]) * advantages
    return np.einsum("tn,tnd->d", surprise, fragment.observations[:-1]) / surprise.size


more = [("actors", 2, "processes with so many lanes each"), ("fragments", 300, "of 64 steps, from which it learns")]
args = options(__doc__, {"fragments": 50}, lanes=256, speed=False, more=more)

ray.init("local", num_cpus=2, object_store_memory=200 * 2**20, include_dashboard=False, log_to_driver=False)
weights = np.zeros(4, np.float32)
given = dict(policy=policy, weights=weights, seed=args.seed, autoreset_mode="SameStep")
with RaySampler("CartPole-v1", args.lanes, args.actors, 64, **given) as sampler:
    start, steps, stale = time.perf_counter(), 0, 0
    for count in range(1, args.fragments + 1):
        fragment = sampler.take()
        weights = (weights + 2.0 * gradient(fragment)).astype(np.float32)
        sampler.push(weights)
        steps += fragment.rewards.size
        stale += fragment.staleness
        if count % 50 == 0:
            ends = (fragment.terminations | fragment.truncations).sum()
            length = fragment.rewards.size / max(1, ends)
            rate = steps / (time.perf_counter() - start)
            print(f"{count:4} fragments  {length:5.0f} steps per episode  {rate:,.0f} steps/s", end="  ")
            print(f"weights {stale / count:.1f} versions old", flush=True)
ray.shutdown()


def save(path):
    with open(path, "wb") as file:
        np.save(file, weights)


finish(args, lambda count: batchenv.make("CartPole-v1", count), lambda seen: (seen @ weights > 0).astype(int), save)
