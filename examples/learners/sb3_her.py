"""Stable-Baselines3's SAC with hindsight, on tasks with goals: pip install -e ".[sb3,robotics]".

python examples/learners/sb3_her.py [--env FetchReach-v4] [--lanes 32] [--steps N] [--updates N] [--quick] [--save FILE]
    [--eval N] [--every N] [--speed]

Trains until 95 of 100 episodes end at their goals; exits with status 1 if --steps are not enough. FetchReach takes
minutes; sbx_her.py learns tasks in which a thing is moved. HerReplayBuffer asks the env for the rewards of goals that
an episode has reached by chance. --updates is how often the networks are changed for each step of all lanes, and
--every is how many steps there are between evaluations. --speed trains nothing, but prints the steps per second with
batchenv and with Stable-Baselines3's DummyVecEnv, measured in turns: of the env alone, and the rewards per second that
compute_reward gives.
"""

import sys
import time

import numpy as np
import torch
from stable_baselines3 import SAC, HerReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback, EveryNTimesteps
from stable_baselines3.common.env_util import make_vec_env

import batchenv
from common import compare, finish, options, rate

ENOUGH = 0.95  # of episodes


class Evaluation(BaseCallback):
    """Plays an episode in each lane of another env, and stops when enough of them end at their goals.

    `act` gives the best actions for observations of that env.
    """

    def __init__(self, env, act=None):
        super().__init__()
        self.env, self.begin = env, time.perf_counter()
        self.act = act or (lambda observations: self.model.predict(observations, deterministic=True)[0])

    def _on_step(self):
        observations, _ = self.env.reset(seed=0)
        ended, success = np.zeros(self.env.num_envs, bool), 0.0
        while not ended.any():  # all lanes end in the same step
            observations, _, terminations, truncations, infos = self.env.step(self.act(observations))
            ended, success = terminations | truncations, infos["is_success"].mean()
        seconds = time.perf_counter() - self.begin
        print(f"{self.num_timesteps:,} steps, {seconds:.0f} s: success {success:.2f}", flush=True)
        return bool(success < ENOUGH)


def learner(env, updates: int, seed: int) -> SAC:
    """SAC with hyperparameters of RL Baselines3 Zoo's kind for Fetch."""
    episodes = 50 * env.num_envs  # steps of an episode in each lane: hindsight needs whole ones
    return SAC("MultiInputPolicy", env, replay_buffer_class=HerReplayBuffer, buffer_size=1_000_000, batch_size=512,
               gamma=0.95, tau=0.05, learning_rate=1e-3, learning_starts=2 * episodes, gradient_steps=updates,
               policy_kwargs={"net_arch": [256, 256, 256]}, seed=seed,
               device="cuda" if torch.cuda.is_available() else "cpu")  # fmt: skip


def train(args) -> bool:
    """Trains; returns whether the tasks are done."""
    env, other = batchenv.make(args.env, args.lanes, env_type="sb3", seed=args.seed), batchenv.make(args.env, 100)
    evaluation = Evaluation(other)
    often = EveryNTimesteps(max(args.lanes, min(args.steps, args.every)), evaluation)
    begin = time.perf_counter()
    model = learner(env, args.updates, args.seed).learn(args.steps, callback=often)
    done = model.num_timesteps < args.steps
    seconds = time.perf_counter() - begin
    print(f"{args.env}: {'done' if done else 'not done'} after {model.num_timesteps:,} steps in {seconds:.0f} s")

    def save(path):
        with open(path, "wb") as file:  # of a name without an ending, SB3 would make another one
            model.save(file)

    def act(observations):
        return model.predict(observations, deterministic=True)[0]

    finish(args, lambda count: batchenv.make(args.env, count), act, save)
    return done


def ways(env_id: str, lanes: int, seed: int) -> dict:
    """What is compared."""
    envs = {
        "batchenv": batchenv.make(env_id, lanes, env_type="sb3", seed=seed),
        "DummyVecEnv": make_vec_env(env_id, lanes, seed=seed),
    }
    actions = [np.stack([envs["batchenv"].action_space.sample() for _ in range(lanes)]) for _ in range(16)]
    goals = np.random.default_rng(seed).random((2, 2048, 3))

    def way(env):
        env.reset()

        def walk():
            for some in actions:
                env.step(some)

        def ask():
            env.env_method("compute_reward", *goals, [{}] * len(goals[0]), indices=[0])

        return lambda: {
            "the env alone": rate(walk, len(actions) * lanes),
            "compute_reward": rate(ask, len(goals[0])),
        }

    return {name: way(env) for name, env in envs.items()}


def main() -> int:
    args = options(__doc__, {"steps": 8_000, "lanes": 16}, env="FetchReach-v4", lanes=32, steps=1_000_000,
                   more=(("updates", 4, "changes of the networks per step of all lanes"),
                         ("every", 20_000, "steps between evaluations")))  # fmt: skip
    torch.set_num_threads(1)
    if args.speed:
        compare(f"{args.env}, {args.lanes} lanes", ways(args.env, args.lanes, args.seed))
        return 0
    return 0 if train(args) or args.quick else 1


if __name__ == "__main__":
    sys.exit(main())
