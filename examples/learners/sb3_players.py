"""Stable-Baselines3's PPO over environments with several agents: pip install -e ".[sb3]" mpe2 supersuit.

python examples/learners/sb3_players.py [--lanes 32] [--steps N] [--quick] [--save FILE] [--eval N] [--speed]

Three agents of MPE's simple_spread spread over three landmarks; one policy plays all of them. Prints the mean return of
an agent's first episodes and of its last ones. --speed trains nothing, but prints the agents' steps per second with
batchenv and with SuperSuit's concat_vec_envs_v1, measured in turns: of the envs alone, and within PPO.
"""

import time
from functools import partial
from statistics import mean

import numpy as np
import supersuit
import torch
from mpe2 import simple_spread_v3
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import VecMonitor

import batchenv
from common import compare, finish, options, rate


def learner(env) -> PPO:
    """PPO with a small network. SuperSuit's envs cannot be seeded, as PPO's own seed would do."""
    return PPO("MlpPolicy", env, n_steps=50, batch_size=600, n_epochs=10, gamma=0.95, learning_rate=1e-3, device="cpu")


class Returns(BaseCallback):
    """Keeps the returns of episodes."""

    returns: list[float] = []

    def _on_step(self) -> bool:
        self.returns += [info["episode"]["r"] for info in self.locals["infos"] if "episode" in info]
        return True


def train(args) -> None:
    """Trains, and prints what episodes returned."""
    lanes, steps, seed = args.lanes, args.steps, args.seed
    env = batchenv.make_parallel(simple_spread_v3.parallel_env, lanes, env_type="sb3", seed=seed)
    told = Returns()
    begin = time.perf_counter()
    model = learner(VecMonitor(env)).learn(steps, callback=told)
    seconds = time.perf_counter() - begin
    print(f"{steps:,} steps of agents in {seconds:.0f} s; mean return of the first 500 of {len(told.returns)} episodes "
          f"{mean(told.returns[:500]):.1f}, of the last 500 {mean(told.returns[-500:]):.1f}")  # fmt: skip
    make = partial(batchenv.make_parallel, simple_spread_v3.parallel_env, env_type="gymnasium")

    def save(path):
        with open(path, "wb") as file:  # of a name without an ending, SB3 would make another one
            model.save(file)

    finish(args, make, lambda observations: model.predict(observations, deterministic=True)[0], save)


def ways(lanes: int, seed: int) -> dict:
    """What is compared."""
    one = supersuit.pettingzoo_env_to_vec_env_v1(simple_spread_v3.parallel_env())
    ours = dict(num_envs=lanes, env_type="sb3")
    envs = {
        "batchenv": batchenv.make_parallel(simple_spread_v3.parallel_env, **ours),
        "batchenv in one process": batchenv.make_parallel(simple_spread_v3.parallel_env, **ours, workers="serial"),
        "SuperSuit": supersuit.concat_vec_envs_v1(one, lanes, base_class="stable_baselines3"),
    }
    actions = np.random.default_rng(seed).integers(0, 5, lanes * 3)

    def way(env):
        model, steps = learner(env), 50 * env.num_envs
        env.reset()
        return lambda: {
            "the envs alone": rate(lambda: env.step(actions), env.num_envs),
            "within PPO": rate(lambda: model.learn(steps), steps, seconds=0),
        }

    return {name: way(env) for name, env in envs.items()}


def main() -> None:
    args = options(__doc__, {"steps": 19_200}, lanes=32, steps=600_000)
    torch.set_num_threads(1)  # the network is small
    set_random_seed(args.seed)
    if args.speed:
        compare(f"{args.lanes} lanes with 3 agents each", ways(args.lanes, args.seed))
    else:
        train(args)


if __name__ == "__main__":
    main()
