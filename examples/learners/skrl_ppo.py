"""skrl's PPO over batchenv: pip install -e ".[skrl,mujoco]".

python examples/learners/skrl_ppo.py [--env Ant-v5] [--lanes 64] [--steps N] [--quick] [--save FILE] [--eval N]
    [--speed]

skrl's wrap_env takes a BatchEnv as it is. Trains for --steps steps, and prints the mean return of episodes as it goes.
--speed trains little, but prints the steps per second with batchenv and with Gymnasium's SyncVectorEnv, measured in
turns: of the wrapped env alone, and of PPO, which is stepping and learning.
"""

import copy
import tempfile
import time
from statistics import mean

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import DtypeObservation
from skrl.envs.wrappers.torch import wrap_env
from skrl.utils.runner.torch import Runner

import batchenv
from common import compare, finish, options, rate

ROLLOUT = 64  # steps of each lane before it learns


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


def runner(env, steps: int, seed: int, folder: str) -> Runner:
    """skrl's PPO, which trains for so many steps of all lanes together."""
    network = [{"name": "net", "input": "OBSERVATIONS", "layers": [64, 64], "activations": "tanh"}]
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
            "rollouts": ROLLOUT,
            "learning_epochs": 10,
            "mini_batches": 16,
            "learning_rate": 3e-4,
            "time_limit_bootstrap": True,
            "experiment": {"directory": folder, "write_interval": 0, "checkpoint_interval": 0},
        },
        "trainer": {
            "class": "SequentialTrainer",
            "timesteps": steps // env.num_envs,
            "headless": True,
            "disable_progressbar": True,
            "close_environment_at_exit": False,
        },
    }
    return Runner(wrap_env(env, wrapper="gymnasium", verbose=False), configuration)


def train(args, folder: str) -> None:
    """Trains, and prints what episodes returned."""
    env_id, lanes, steps, seed = args.env, args.lanes, args.steps, args.seed
    observed = {"normalize_observation": True, "clip_observation": (-10, 10), "clip_actions": True}
    env = batchenv.make(env_id, lanes, seed=seed, autoreset_mode="SameStep", normalize_reward=0.99,
                        record_episode_statistics=True, **observed)  # fmt: skip
    learner = runner(Episodes(env, steps), steps, seed, folder)
    begin = time.perf_counter()
    learner.run("train")
    seconds = time.perf_counter() - begin
    print(f"{env_id}: {steps:,} steps in {seconds:.0f} s, {steps / seconds:,.0f} per second with learning")

    def make_again(count):
        other = batchenv.make(env_id, count, **observed)
        other.normalizer.obs_rms, other.normalizer.update_running_mean = copy.deepcopy(env.normalizer.obs_rms), False
        return other

    def act(observations):
        with torch.no_grad():
            told = learner.agent.policy.act({"observations": torch.from_numpy(observations)}, role="policy")
        return told[-1]["mean_actions"].numpy()

    finish(args, make_again, act, learner.agent.save)


def ways(env_id: str, lanes: int, seed: int, folder: str) -> dict:
    """What is compared. Observations are float32, as the networks' numbers are."""
    copies = [lambda: DtypeObservation(gymnasium.make(env_id), np.float32)] * lanes
    envs = {
        "batchenv": batchenv.make(
            env_id, lanes, autoreset_mode="SameStep", observation_dtype="float32", clip_actions=True
        ),
        "SyncVectorEnv": SyncVectorEnv(copies, autoreset_mode=AutoresetMode.SAME_STEP),
    }
    actions = torch.as_tensor(envs["batchenv"].action_space.sample()).reshape(lanes, -1)
    steps = ROLLOUT * lanes

    def way(env):
        wrapped, learner = wrap_env(env, wrapper="gymnasium", verbose=False), runner(env, steps, seed, folder)

        def measure():
            wrapped.reset()
            return {
                "the wrapped env": rate(lambda: wrapped.step(actions), lanes),
                "PPO": rate(lambda: learner.run("train"), steps, seconds=0),
            }

        return measure

    return {name: way(env) for name, env in envs.items()}


def main() -> None:
    args = options(__doc__, {"steps": 16_384}, env="Ant-v5", steps=500_000)
    torch.set_num_threads(1)  # the networks are small
    torch.manual_seed(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        if args.speed:
            compare(f"{args.env}, {args.lanes} lanes", ways(args.env, args.lanes, args.seed, folder))
        else:
            train(args, folder)


if __name__ == "__main__":
    main()
