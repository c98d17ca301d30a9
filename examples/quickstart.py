"""Steps 4096 lanes of CartPole-v1 with random actions. Needs nothing but batchenv."""

import time

import numpy as np

import batchenv

STEPS = 1000

env = batchenv.make("CartPole-v1", num_envs=4096)
actions = np.random.default_rng(0).integers(env.single_action_space.n, size=(STEPS, env.num_envs))
done = np.empty((STEPS, env.num_envs), dtype=bool)

observations, infos = env.reset(seed=0)
start = time.perf_counter()
for t in range(STEPS):
    observations, rewards, terminations, truncations, infos = env.step(actions[t])
    np.logical_or(terminations, truncations, out=done[t])
seconds = time.perf_counter() - start

lane, end = np.nonzero(done.T)  # sorted by lane, then by step
first = np.diff(lane, prepend=-1) != 0  # the lane's first episode
# The step after an episode's last one only resets the lane (autoreset mode NextStep), so it belongs to no episode.
lengths = np.where(first, end + 1, np.diff(end, prepend=0) - 1)

print(env)
print("observations:", env.single_observation_space)
print("actions:", env.single_action_space)
print(f"{STEPS * env.num_envs / seconds:,.0f} steps/s")
print(f"{len(lengths):,} finished episodes of {lengths.mean():.2f} steps on average")
env.close()
