"""Stable-Baselines3's PPO over environments with several agents: pip install -e ".[sb3]" mpe2 supersuit.

python examples/learners/sb3_players.py [--lanes 32] [--steps N] [--speed]

Three agents of MPE's simple_spread spread over three landmarks; one policy plays all of them. Prints the mean return of
an agent's first episodes and of its last ones. --speed trains nothing, but prints the agents' steps per second with
batchenv and with SuperSuit's concat_vec_envs_v1, measured in turns: of the envs alone, and within PPO.
"""

import argparse
import time
from statistics import mean, median

import numpy as np
import supersuit
import torch
from mpe2 import simple_spread_v3
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import VecMonitor

import batchenv


def learner(env) -> PPO:
    """PPO with a small network. SuperSuit's envs cannot be seeded, as PPO's own seed would do."""
    return PPO("MlpPolicy", env, n_steps=50, batch_size=600, n_epochs=10, gamma=0.95, learning_rate=1e-3, device="cpu")


class Returns(BaseCallback):
    """Keeps the returns of episodes."""

    returns: list[float] = []

    def _on_step(self) -> bool:
        self.returns += [info["episode"]["r"] for info in self.locals["infos"] if "episode" in info]
        return True


def train(lanes: int, steps: int, seed: int) -> None:
    """Trains, and prints what episodes returned."""
    env = batchenv.make_parallel(simple_spread_v3.parallel_env, lanes, env_type="sb3", seed=seed)
    told = Returns()
    begin = time.perf_counter()
    learner(VecMonitor(env)).learn(steps, callback=told)
    seconds = time.perf_counter() - begin
    print(f"{steps:,} steps of agents in {seconds:.0f} s; mean return of the first 500 of {len(told.returns)} episodes "
          f"{mean(told.returns[:500]):.1f}, of the last 500 {mean(told.returns[-500:]):.1f}")  # fmt: skip


def rate(env, actions, seconds: float = 0.7) -> float:
    """Steps of agents per second of an env alone."""
    steps, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        env.step(actions)
        steps += env.num_envs
    return steps / (time.perf_counter() - begin)


def compare(lanes: int, seed: int, turns: int = 5) -> None:
    """Prints medians of several turns."""
    one = supersuit.pettingzoo_env_to_vec_env_v1(simple_spread_v3.parallel_env())
    envs = {
        "batchenv": batchenv.make_parallel(simple_spread_v3.parallel_env, lanes, env_type="sb3"),
        "batchenv, one process": batchenv.make_parallel(
            simple_spread_v3.parallel_env, lanes, env_type="sb3", workers="serial"
        ),
        "SuperSuit": supersuit.concat_vec_envs_v1(one, lanes, base_class="stable_baselines3"),
    }
    models = {name: learner(env) for name, env in envs.items()}
    actions = np.random.default_rng(seed).integers(0, 5, lanes * 3)
    alone, learning = {name: [] for name in envs}, {name: [] for name in envs}
    for env in envs.values():
        env.reset()
    for _ in range(turns):
        for name, env in envs.items():
            alone[name].append(rate(env, actions))
            begin = time.perf_counter()
            models[name].learn(50 * env.num_envs)
            learning[name].append(50 * env.num_envs / (time.perf_counter() - begin))
    for what, rates in (("the envs alone", alone), ("within PPO", learning)):
        told = "; ".join(f"{name}: {median(values):,.0f}" for name, values in rates.items())
        print(f"{lanes} lanes, steps of agents per second, {what}: {told}")
    for env in envs.values():
        env.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--lanes", type=int, default=32)
    parser.add_argument("--steps", type=int, default=600_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--speed", action="store_true", help="measure, and train nothing")
    args = parser.parse_args()
    torch.set_num_threads(1)  # the network is small
    set_random_seed(args.seed)
    if args.speed:
        compare(args.lanes, args.seed)
    else:
        train(args.lanes, args.steps, args.seed)


if __name__ == "__main__":
    main()
