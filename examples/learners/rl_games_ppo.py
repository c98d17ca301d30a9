"""rl_games' PPO over batchenv: pip install -e ".[rl-games,mujoco]".

python examples/learners/rl_games_ppo.py [--env HalfCheetah-v5] [--lanes 64] [--steps N] [--quick] [--save FILE]
    [--eval N] [--speed]

Trains for --steps steps, and prints the mean return of episodes as it goes. CartPole-v1 is trained until that mean is
475, Gymnasium's threshold; exits with status 1 if --steps are not enough. --speed trains only a little, in turns over
batchenv and over rl_games' own vectorisation by EnvPool, and prints the rates that rl_games itself counts: "fps step",
of the envs alone, and "fps total". That needs `pip install envpool`, for Python 3.12 or newer.
"""

import contextlib
import os
import sys
import tempfile
import time
from collections import defaultdict
from functools import partial
from statistics import mean, median

import torch
from rl_games.common.algo_observer import DefaultAlgoObserver
from rl_games.torch_runner import Runner

import batchenv
from batchenv.integrations.rl_games import register
from common import compare, finish, options


class Figures(DefaultAlgoObserver):
    """Keeps what rl_games would write for TensorBoard: a list of numbers per name."""

    def __init__(self, tell=False):
        self.told, self.tell = defaultdict(list), tell

    def after_init(self, algo):
        super().after_init(algo)
        self.algo = algo
        algo.writer.close()
        algo.writer = self.writer = self

    def add_scalar(self, name, value, step):
        self.told[name].append(float(value))
        if self.tell and name == "rewards/step" and len(self.told[name]) % 10 == 0:
            print(f"{step:,} steps: mean return {float(value):.1f}", file=sys.stderr)


def horizon_of(env_id: str) -> int:
    """Steps of each lane per epoch, which is what rl_games calls an update."""
    return 32 if env_id == "CartPole-v1" else 128


def configuration(env_id: str, lanes: int, epochs: int, seed: int, folder: str, vecenv: str = "batchenv") -> dict:
    """PPO with hyperparameters for CartPole, and for MuJoCo's tasks."""
    discrete, horizon = env_id == "CartPole-v1", horizon_of(env_id)
    continuous = {"mu_activation": "None", "sigma_activation": "None", "mu_init": {"name": "default"},
                  "sigma_init": {"name": "const_initializer", "val": 0}, "fixed_sigma": True}  # fmt: skip
    config = {
        "name": "run",
        "env_name": vecenv,
        "env_config": {"env_name": env_id, "seed": seed},
        "num_actors": lanes,
        "horizon_length": horizon,
        "minibatch_size": lanes * horizon // 4,
        "mini_epochs": 8 if discrete else 5,
        "gamma": 0.99,
        "tau": 0.95,
        "e_clip": 0.2,
        "clip_value": False,
        "learning_rate": 2e-3 if discrete else 5e-4,
        "lr_schedule": None if discrete else "adaptive",
        "kl_threshold": 0.008,
        "entropy_coef": 0.0,
        "critic_coef": 2,
        "bounds_loss_coef": 0.0,
        "grad_norm": 1.0,
        "truncate_grads": True,
        "reward_shaper": {"scale_value": 0.1},
        "normalize_advantage": True,
        "normalize_input": True,
        "normalize_value": True,
        "value_bootstrap": True,
        "ppo": True,
        "max_epochs": epochs,
        "score_to_win": 475 if discrete else 1e9,
        "save_best_after": 0 if discrete else 10**9,
        "print_stats": False,
        "torch_compile": False,  # it takes longer than it saves here
        "device": "cpu",
        "device_name": "cpu",
        "train_dir": folder,
    }
    network = {
        "name": "actor_critic",
        "separate": False,
        "space": {"discrete": None} if discrete else {"continuous": continuous},
        "mlp": {"units": [64, 64], "activation": "elu", "initializer": {"name": "default"}},
    }
    algorithm, model = ("a2c_discrete", "discrete_a2c") if discrete else ("a2c_continuous", "continuous_a2c_logstd")
    return {
        "params": {
            "seed": seed,
            "torch_threads": 1,  # the networks are small
            "algo": {"name": algorithm},
            "model": {"name": model},
            "network": network,
            "config": config,
        }
    }


def run(*args, tell: bool = False, **kwargs) -> Figures:
    """Trains, and returns the figures, with what has learnt. rl_games' own messages and files are dropped."""
    figures = Figures(tell)
    runner = Runner(figures)
    with (
        tempfile.TemporaryDirectory() as folder,
        open(os.devnull, "w") as nothing,
        contextlib.redirect_stdout(nothing),
    ):
        runner.load(configuration(*args, folder, **kwargs))
        runner.run({"train": True})
    return figures


def train(args) -> bool:
    """Trains; returns whether the threshold was reached, if the env is CartPole."""
    env_id, epoch, begin = args.env, args.lanes * horizon_of(args.env), time.perf_counter()
    figures = run(env_id, args.lanes, -(-args.steps // epoch), args.seed, tell=True)
    seconds, returns = time.perf_counter() - begin, figures.told["rewards/step"]
    steps = len(figures.told["performance/step_fps"]) * epoch
    print(f"{env_id}: {steps:,} steps in {seconds:.0f} s; mean return {mean(returns[:5]):.1f} at first, "
          f"{returns[-1]:.1f} at last")  # fmt: skip
    discrete, model = env_id == "CartPole-v1", figures.algo.model.eval()

    def act(observations):
        with torch.no_grad():
            told = model({"is_train": False, "obs": torch.from_numpy(observations).float(), "prev_actions": None})
        return (told["logits"].argmax(-1) if discrete else told["mus"].clamp(-1, 1)).numpy()

    def save(path):
        torch.save(figures.algo.get_full_state_weights(), path)  # rl_games reads it with load_checkpoint

    finish(args, lambda count: batchenv.make(env_id, count, clip_actions=True), act, save)
    return not discrete or max(returns) >= 475


def measured(env_id: str, lanes: int, seed: int, vecenv: str) -> dict[str, float]:
    """Medians of the rates that rl_games counts in a short training."""
    told = run(env_id, lanes, 10, seed, vecenv=vecenv).told
    names = {"fps step": "step_fps", "fps total": "step_inference_rl_update_fps"}
    return {what: median(told[f"performance/{name}"][2:]) for what, name in names.items()}  # without what warms up


def main() -> int:
    args = options(__doc__, {"steps": 81_920}, env="HalfCheetah-v5", steps=1_000_000)
    register()
    if args.speed:
        vecenvs = {"batchenv": "batchenv", "EnvPool": "envpool"}
        ways = {name: partial(measured, args.env, args.lanes, args.seed, vecenv) for name, vecenv in vecenvs.items()}
        compare(f"{args.env}, {args.lanes} lanes", ways, turns=3)
        return 0
    return 0 if train(args) or args.quick else 1


if __name__ == "__main__":
    sys.exit(main())
