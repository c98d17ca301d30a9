"""SBX's SAC on the ten tasks of Meta-World's MT10 at once: pip install -e ".[sb3,metaworld]" sbx-rl.

python examples/learners/sbx_mt10.py [--lanes 40] [--steps N] [--updates N] [--every N] [--quick] [--save FILE]
    [--eval N]

A lane has one of the tasks, which it sees as ten more numbers, one of them 1. Prints, every --every steps, which share
of the episodes of each task reaches its goal. --updates is how often the networks are changed for each step of all
lanes. --eval plays N episodes, rounded up to as many of each task.
"""

import sys
import time

import numpy as np
from sbx import SAC
from stable_baselines3.common.callbacks import BaseCallback, EveryNTimesteps

import batchenv
from common import finish, options

ID, TASKS = "Meta-World/MT10", 10


def successes(model, env) -> np.ndarray:
    """The share of each task's lanes that are at the goal in some step of an episode: (10,)."""
    observations, _ = env.reset(seed=0)
    reached, ended = np.zeros(env.num_envs, bool), np.zeros(env.num_envs, bool)
    while not ended.any():  # all lanes end in the same step
        actions = model.predict(observations, deterministic=True)[0]
        observations, _, terminations, truncations, infos = env.step(actions)
        reached |= infos["success"] == 1
        ended = terminations | truncations
    return reached.reshape(TASKS, -1).mean(1)


class Evaluation(BaseCallback):
    """Prints how far learning has come."""

    def __init__(self, env):
        super().__init__()
        self.env, self.begin = env, time.perf_counter()

    def _on_step(self):
        shares = successes(self.model, self.env)
        seconds = time.perf_counter() - self.begin
        told = " ".join(f"{share:.1f}" for share in shares)
        print(f"{self.num_timesteps:,} steps, {seconds:.0f} s: success {shares.mean():.2f} ({told})", flush=True)
        return True


def learner(env, updates: int, seed: int) -> SAC:
    """SAC with networks whose layers are normalized, as small as one core can train in an hour."""
    networks = {"net_arch": [256, 256, 256], "layer_norm": True}
    return SAC("MlpPolicy", env, buffer_size=1_000_000, batch_size=512, learning_starts=500 * env.num_envs,
               gradient_steps=updates, policy_kwargs=networks, seed=seed)  # fmt: skip


def train(args) -> None:
    env = batchenv.make(ID, args.lanes, use_one_hot=True, env_type="sb3", seed=args.seed)
    evaluation = Evaluation(batchenv.make(ID, 5 * TASKS, use_one_hot=True))
    often = EveryNTimesteps(max(args.lanes, min(args.steps, args.every)), evaluation)
    model = learner(env, args.updates, args.seed).learn(args.steps, callback=often)

    def save(path):
        with open(path, "wb") as file:  # of a name without an ending, SB3 would make another one
            model.save(file)

    def act(observations):
        return model.predict(observations, deterministic=True)[0]

    finish(args, lambda count: batchenv.make(ID, -(-count // TASKS) * TASKS, use_one_hot=True), act, save)


def main() -> int:
    quick = {"lanes": 10, "steps": 5_500, "updates": 1, "every": 5_000}
    args = options(__doc__, quick, lanes=40, steps=1_000_000, speed=False,
                   more=(("updates", 8, "changes of the networks per step of all lanes"),
                         ("every", 40_000, "steps between evaluations")))  # fmt: skip
    train(args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
