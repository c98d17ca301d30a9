"""Steps 4096 lanes of CartPole-v1 with random actions: batchenv, then Gymnasium's CartPoleVectorEnv.

docs/benchmarks/steps.md has higher figures. There a row is the median of several rounds, in which 8 batches of actions
are used in turn (they stay in the processor's cache) and nothing is done between steps. Here each step has its own
actions, 32 MB of them in all, and the program records which episodes have ended. `python -m batchenv bench --compare`
measures as the table does.

python examples/quickstart.py [--quick]
"""

import sys
import time

import gymnasium
import numpy as np

import batchenv

STEPS, LANES = 100 if "--quick" in sys.argv else 1000, 4096


def play(env: gymnasium.vector.VectorEnv, actions: np.ndarray) -> tuple[float, np.ndarray]:
    """Environment steps per second, and where episodes ended: bool (steps, lanes)."""
    done = np.zeros(actions.shape, dtype=bool)
    env.reset(seed=0)
    start = time.perf_counter()
    for t in range(len(actions)):
        observations, rewards, terminations, truncations, infos = env.step(actions[t])  # noqa: RUF059
        np.logical_or(terminations, truncations, out=done[t])
    return actions.size / (time.perf_counter() - start), done


env = batchenv.make("CartPole-v1", num_envs=LANES)
peer = gymnasium.make_vec("CartPole-v1", num_envs=LANES)
actions = np.random.default_rng(0).integers(env.single_action_space.n, size=(STEPS, LANES))
rate, done = play(env, actions)
peer_rate, _ = play(peer, actions[: STEPS // 10])

lane, end = np.nonzero(done.T)  # sorted by lane, then by step
first = np.diff(lane, prepend=-1) != 0  # the lane's first episode
# The step after an episode's last one only resets the lane (autoreset mode NextStep), so it belongs to no episode.
lengths = np.where(first, end + 1, np.diff(end, prepend=0) - 1)

print(env)
print("observations:", env.single_observation_space)
print("actions:", env.single_action_space)
print(f"{rate:,.0f} steps/s")
print(
    f"{type(peer).__name__} in the same loop: {peer_rate:,.0f} steps/s, so batchenv is {rate / peer_rate:.1f}x as fast"
)
print(f"{len(lengths):,} finished episodes of {lengths.mean():.2f} steps on average")
env.close()
peer.close()
