"""skrl's PPO over batchenv: pip install -e ".[skrl,mujoco]".

python examples/learners/skrl_ppo.py [--env Ant-v5] [--lanes 64] [--steps N]

skrl's wrap_env takes a BatchEnv as it is. Prints the steps per second of wrapped envs, batchenv's and Gymnasium's
SyncVectorEnv, measured in turns. Then trains for --steps steps, and prints the mean return of episodes as it goes.
"""

import argparse
import tempfile
import time
from statistics import mean, median

import gymnasium
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from skrl.envs.wrappers.torch import wrap_env
from skrl.utils.runner.torch import Runner

import batchenv


def compare(env_id: str, lanes: int, turns: int = 3, seconds: float = 0.5) -> None:
    """Prints medians of several turns."""
    sync = SyncVectorEnv([lambda: gymnasium.make(env_id)] * lanes, autoreset_mode=AutoresetMode.SAME_STEP)
    envs = {"batchenv": batchenv.make(env_id, lanes, autoreset_mode="SameStep"), "SyncVectorEnv": sync}
    actions = torch.as_tensor(sync.action_space.sample()).reshape(lanes, -1)
    rates = {name: [] for name in envs}
    for _ in range(turns):
        for name, env in envs.items():
            wrapped = wrap_env(env, wrapper="gymnasium", verbose=False)
            wrapped.reset()
            steps, begin = 0, time.perf_counter()
            while time.perf_counter() - begin < seconds:
                wrapped.step(actions)
                steps += lanes
            rates[name].append(steps / (time.perf_counter() - begin))
    told = ", ".join(f"{name} {median(values):,.0f}" for name, values in rates.items())
    print(f"{env_id}, {lanes} lanes, steps/s of the wrapped env: {told}")


class Episodes(gymnasium.vector.VectorWrapper):
    """Prints the mean return of episodes in each tenth of the run."""

    def __init__(self, env, steps):
        super().__init__(env)
        self.returns, self.taken, self.tenth = [], 0, steps / 10

    def step(self, actions):
        result = self.env.step(actions)
        if "episode" in result[4]:
            self.returns += result[4]["episode"]["r"][result[4]["_episode"]].tolist()
        before, self.taken = self.taken, self.taken + self.num_envs
        if self.returns and self.taken // self.tenth > before // self.tenth:
            told = mean(self.returns)
            print(f"{self.taken:,} steps: mean return {told:.0f} of {len(self.returns)} episodes", flush=True)
            self.returns = []
        return result


def train(env_id: str, lanes: int, steps: int, seed: int) -> None:
    """Trains, and prints what episodes returned."""
    torch.manual_seed(seed)
    env = Episodes(
        batchenv.make(env_id, lanes, seed=seed, autoreset_mode="SameStep", clip_actions=True,
                      normalize_observation=True, clip_observation=(-10, 10), normalize_reward=0.99,
                      record_episode_statistics=True),
        steps,
    )  # fmt: skip
    network = [{"name": "net", "input": "OBSERVATIONS", "layers": [64, 64], "activations": "tanh"}]
    with tempfile.TemporaryDirectory() as folder:
        configuration = {
            "seed": seed,
            "models": {
                "separate": True,
                "policy": {"class": "GaussianMixin", "network": network, "output": "ACTIONS", "initial_log_std": -0.5},
                "value": {"class": "DeterministicMixin", "network": network, "output": "ONE"},
            },
            "memory": {"class": "RandomMemory", "memory_size": -1},
            "agent": {
                "class": "PPO",
                "rollouts": 64,
                "learning_epochs": 10,
                "mini_batches": 16,
                "learning_rate": 3e-4,
                "time_limit_bootstrap": True,
                "experiment": {"directory": folder, "write_interval": 0, "checkpoint_interval": 0},
            },
            "trainer": {
                "class": "SequentialTrainer",
                "timesteps": steps // lanes,
                "headless": True,
                "disable_progressbar": True,
            },
        }
        runner = Runner(wrap_env(env, wrapper="gymnasium", verbose=False), configuration)
        begin = time.perf_counter()
        runner.run("train")
    seconds = time.perf_counter() - begin
    print(f"{env_id}: {steps:,} steps in {seconds:.0f} s, {steps / seconds:,.0f} per second with learning")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--env", default="Ant-v5")
    parser.add_argument("--lanes", type=int, default=64)
    parser.add_argument("--steps", type=int, default=500_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)  # the networks are small
    compare(args.env, args.lanes)
    train(args.env, args.lanes, args.steps, args.seed)


if __name__ == "__main__":
    main()
