"""Stable-Baselines3's PPO over batchenv: pip install -e ".[sb3,mujoco]".

python examples/learners/sb3_ppo.py [--env CartPole-v1] [--lanes 32] [--steps N] [--quick] [--save FILE] [--eval N]
    [--speed]

CartPole-v1 is trained until evaluate_policy gives a mean return of 475, Gymnasium's threshold; exits with status 1 if
--steps are not enough. Other ids are trained for --steps. --speed trains nothing, but prints the steps per second with
batchenv and with Stable-Baselines3's DummyVecEnv, measured in turns: of the env alone, and within PPO.
"""

import sys
import time

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import EvalCallback, StopTrainingOnRewardThreshold
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

import batchenv
from common import compare, finish, options, rate


def learner(env_id: str, env, steps: int, seed: int) -> PPO:
    """PPO with hyperparameters for this env: RL Baselines3 Zoo's kind, but for more lanes."""
    if env_id == "CartPole-v1":
        anneal = lambda left: 1e-3 * left  # noqa: E731
        return PPO("MlpPolicy", env, n_steps=32, batch_size=256, n_epochs=10, gamma=0.98, gae_lambda=0.8,
                   learning_rate=anneal, seed=seed, device="cpu")  # fmt: skip
    return PPO("MlpPolicy", env, n_steps=4096 // env.num_envs, batch_size=256, n_epochs=10, gamma=0.99, gae_lambda=0.95,
               learning_rate=3e-4, seed=seed, device="cpu")  # fmt: skip


def train(args) -> bool:
    """Trains; returns whether the threshold was reached, if the env is CartPole."""
    env_id, lanes, steps, seed = args.env, args.lanes, args.steps, args.seed
    cartpole = env_id == "CartPole-v1"
    env, other = [batchenv.make(env_id, count, env_type="sb3", seed=seed) for count in (lanes, 10)]
    if not cartpole:
        env, other = VecNormalize(env), VecNormalize(other, training=False, norm_reward=False)
    stop = StopTrainingOnRewardThreshold(475, verbose=1) if cartpole else None
    often = max(1, min(steps, 10_240 if cartpole else 100_000) // lanes)
    evaluation = EvalCallback(other, callback_on_new_best=stop, n_eval_episodes=20, eval_freq=often)
    begin = time.perf_counter()
    model = learner(env_id, env, steps, seed).learn(steps, callback=evaluation)
    seconds = time.perf_counter() - begin
    best = evaluation.best_mean_reward
    print(f"{env_id}: mean return {best:.1f} after {model.num_timesteps:,} steps in {seconds:.0f} s")

    def act(observations):
        return model.predict(observations if cartpole else env.normalize_obs(observations), deterministic=True)[0]

    def save(path):
        with open(path, "wb") as file:  # of a name without an ending, SB3 would make another one
            model.save(file)
        if not cartpole:
            env.save(f"{path}.normalization")  # for VecNormalize.load

    finish(args, lambda count: batchenv.make(env_id, count), act, save)
    return not cartpole or best >= 475


def ways(env_id: str, lanes: int, seed: int) -> dict:
    """What is compared."""
    envs = {
        "batchenv": batchenv.make(env_id, lanes, env_type="sb3", seed=seed),
        "DummyVecEnv": make_vec_env(env_id, lanes, seed=seed),
    }
    actions = [np.stack([envs["batchenv"].action_space.sample() for _ in range(lanes)]) for _ in range(16)]

    def way(env):
        model = learner(env_id, env, 1, seed)
        steps = model.n_steps * lanes
        env.reset()

        def walk():
            for some in actions:
                env.step(some)

        return lambda: {
            "the env alone": rate(walk, len(actions) * lanes),
            "within PPO": rate(lambda: model.learn(steps), steps, seconds=0),
        }

    return {name: way(env) for name, env in envs.items()}


def main() -> int:
    args = options(__doc__, {"steps": 16_384}, env="CartPole-v1", lanes=32, steps=1_000_000)
    torch.set_num_threads(1)  # the networks are small
    if args.speed:
        compare(f"{args.env}, {args.lanes} lanes", ways(args.env, args.lanes, args.seed))
        return 0
    return 0 if train(args) or args.quick else 1


if __name__ == "__main__":
    sys.exit(main())
