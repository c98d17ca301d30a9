"""What learners' APIs cost: steps per second with random actions, in turns, medians.

    python tools/bench/bench_learners.py sb3 [--env CartPole-v1] [--lanes 8 512] [--turns 7]
    python tools/bench/bench_learners.py torch [--lanes 4096]
    python tools/bench/bench_learners.py torchrl [--lanes 64 1024]

sb3: Stable-Baselines3's VecEnv of batchenv, DummyVecEnv and, where it is installed, EnvPool in a VecEnv. That one gives
less than the others: observations, rewards, dones, and infos with "TimeLimit.truncated" alone.
torch: env_type="torch" against the arrays that it is made of, on one thread.
torchrl: TorchRL's collector over env_type="torchrl", and over TorchRL's SerialEnv where that has at most 64 lanes.
"quick" is with the collector's option track_traj_ids=False.
"""

import argparse
import statistics
import time

import numpy as np

import batchenv


def rate(step, actions, lanes, seconds):
    """Steps per second, of all lanes together."""
    count, begin = 0, time.perf_counter()
    while True:
        for some in actions:
            step(some)
        count += len(actions)
        passed = time.perf_counter() - begin
        if passed > seconds:
            return count * lanes / passed


def compare(title, ways, lanes, turns, seconds, steps=1):
    """Prints medians; ways: {name: (step, actions)}; steps: those of each lane in a call."""
    rates = {name: [] for name in ways}
    for _ in range(turns):
        for name, (step, actions) in ways.items():
            rates[name].append(rate(step, actions, lanes * steps, seconds))
    first = next(iter(rates))
    for name, own in rates.items():
        share = statistics.median(mine / other for mine, other in zip(own, rates[first], strict=True))
        print(f"{title}, {lanes} lanes, {name}: {statistics.median(own):,.0f} steps/s, {share:.3f} of {first}")


def envpool_vec_env(env_id, lanes):
    """EnvPool as a VecEnv."""
    import envpool
    from stable_baselines3.common.vec_env import VecEnvWrapper

    class EnvPoolVecEnv(VecEnvWrapper):
        def __init__(self, env):
            self.num_envs, self.observation_space, self.action_space = lanes, env.observation_space, env.action_space
            self.venv = env

        def reset(self):
            return self.venv.reset()[0]

        def step_async(self, actions):
            self.actions = actions

        def step_wait(self):
            observations, rewards, terminated, truncated, _ = self.venv.step(self.actions)
            infos = [{"TimeLimit.truncated": False} for _ in range(lanes)]
            for lane in np.flatnonzero(truncated & ~terminated):
                infos[lane]["TimeLimit.truncated"] = True
            return observations, rewards.astype(np.float32), terminated | truncated, infos

    return EnvPoolVecEnv(envpool.make(env_id, env_type="gymnasium", num_envs=lanes))


def sb3(env_id, lanes, turns, seconds):
    from stable_baselines3.common.env_util import make_vec_env

    envs = {"batchenv": batchenv.make(env_id, lanes, env_type="sb3", seed=0)}
    envs["DummyVecEnv"] = make_vec_env(env_id, lanes, seed=0)
    try:
        envs["EnvPool"] = envpool_vec_env(env_id, lanes)
    except ImportError:
        print("EnvPool is not installed")
    space = envs["batchenv"].action_space
    actions = [np.stack([space.sample() for _ in range(lanes)]) for _ in range(8)]
    for env in envs.values():
        env.reset()
    compare(f"{env_id}, VecEnv", {name: (env.step, actions) for name, env in envs.items()}, lanes, turns, seconds)


def tensors(env_id, lanes, turns, seconds):
    import torch

    torch.set_num_threads(1)
    for copy in (True, False):
        common = {"num_threads": 1, "copy": copy, "seed": 0}
        plain = batchenv.make(env_id, lanes, reward_dtype="float32", **common)
        doubles = batchenv.make(env_id, lanes, **common)
        ours = batchenv.make(env_id, lanes, env_type="torch", **common)
        actions = [np.stack([plain.single_action_space.sample() for _ in range(lanes)]) for _ in range(8)]
        for env in (plain, doubles, ours):
            env.reset()
        ways = {
            "arrays": (plain.step, actions),
            "arrays with float64 rewards": (doubles.step, actions),
            "tensors": (ours.step, [torch.from_numpy(some) for some in actions]),
        }
        compare(f"{env_id}, copy={copy}", ways, lanes, turns, seconds)


def torchrl(env_id, lanes, turns, seconds):
    import torch
    from torchrl.collectors import Collector
    from torchrl.envs import GymEnv, SerialEnv

    torch.set_num_threads(1)
    makers = {"batchenv": lambda: batchenv.make(env_id, lanes, env_type="torchrl", seed=0)}
    if lanes <= 64:
        makers["SerialEnv"] = lambda: SerialEnv(lanes, lambda: GymEnv(env_id))
    ways = {}
    for kind, options in ("", {}), (", quick", {"track_traj_ids": False}):
        for name, make in makers.items():
            batches = iter(Collector(make(), None, frames_per_batch=32 * lanes, total_frames=-1, **options))
            next(batches)
            ways[name + kind] = lambda _, batches=batches: next(batches), [None]
    compare(f"{env_id}, collector with random actions", ways, lanes, turns, seconds, steps=32)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["sb3", "torch", "torchrl"])
    parser.add_argument("--env", default="CartPole-v1")
    parser.add_argument("--lanes", type=int, nargs="+")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each turn")
    args = parser.parse_args()
    run, usual = {"sb3": (sb3, [8, 512]), "torch": (tensors, [4096]), "torchrl": (torchrl, [64, 1024])}[args.what]
    for lanes in args.lanes or usual:
        run(args.env, lanes, args.turns, args.seconds)


if __name__ == "__main__":
    main()
