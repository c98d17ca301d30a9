"""What the scripts of this folder share: options, evaluation, and speeds that are measured in turns."""

import argparse
import sys
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

import numpy as np


def options(doc, quick, env=None, lanes=64, steps=None, speed=True, learns=True, more=()):
    """The options of the command line.

    Args:
        doc: the script's docstring; its first line says what it is.
        quick: {option: its default with --quick}.
        env, lanes, steps: defaults; None: the script has no such option.
        speed: whether the script has --speed. learns: whether it has --save and --eval, for `finish`.
        more: (name, default, help) of other numbers.
    """
    parser = argparse.ArgumentParser(description=doc.split(":")[0])
    if env is not None:
        parser.add_argument("--env", default=env, help="id of the environment")
    if "--quick" in sys.argv:
        lanes, steps = quick.get("lanes", lanes), quick.get("steps", steps)
        more = [(name, quick.get(name, default), told) for name, default, told in more]
    numbers = [("lanes", lanes, "copies of the environment"), ("steps", steps, "the most steps of training"), *more]
    for name, default, told in [*numbers, ("seed", 0, "of the environment and the learner")]:
        if default is not None:
            parser.add_argument(f"--{name}", type=int, default=default, help=f"{told} (%(default)s)")
    short = ", ".join(f"--{name} {value}" for name, value in quick.items())
    parser.add_argument("--quick", action="store_true", help=f"a short run, too short to learn much: {short}")
    if learns:
        parser.add_argument("--save", metavar="FILE", help="keep there what was learnt")
        parser.add_argument("--eval", type=int, metavar="N", help="afterwards play N episodes with the best actions")
    if speed:
        parser.add_argument("--speed", action="store_true", help="measure, and train nothing")
    args = parser.parse_args()
    if learns and args.save and not Path(args.save).absolute().parent.is_dir():
        parser.error(f"--save {args.save}: its folder does not exist")
    if learns and args.eval is not None and args.eval < 1:
        parser.error(f"--eval {args.eval} must be at least 1")
    return args


def finish(args, make_env, act, save):
    """What --save and --eval ask for.

    Args:
        args: the options.
        make_env: makes the env that is played, from a number of lanes.
        act: the best actions for observations of all lanes.
        save: writes what was learnt, to a path.
    """
    if args.save:
        save(args.save)
        print(f"saved: {args.save}")
    if args.eval:
        env = make_env(args.eval)
        observations, _ = env.reset(seed=args.seed + 1_000_000)  # other seeds than in training
        returns, going = np.zeros(env.num_envs), np.ones(env.num_envs, bool)
        while going.any():
            observations, rewards, terminations, truncations, _ = env.step(act(observations))
            returns += rewards * going
            going &= ~(terminations | truncations)
        env.close()
        print(f"evaluation: mean return {returns.mean():.4g}, from {returns.min():.4g} to {returns.max():.4g}")


def rate(call, steps, seconds=0.5):
    """Steps per second of a call that takes so many steps, which is made once at least."""
    count, begin = 0, time.perf_counter()
    while True:
        call()
        count, passed = count + steps, time.perf_counter() - begin
        if passed >= seconds:
            return count / passed


def compare(title, ways, turns=5):
    """Measures several ways in turns, and prints the medians, and how many times as fast the first way is.

    Args:
        title: what the lines begin with.
        ways: {name: a function that measures once, and returns {what: steps per second}}.
    """
    rates = defaultdict(lambda: defaultdict(list))
    for _ in range(turns):
        for name, measure in ways.items():
            for what, value in measure().items():
                rates[what][name].append(value)
    for what, by_name in rates.items():
        first, *others = [(name, median(values)) for name, values in by_name.items()]
        told = [f"{first[0]} {first[1]:,.0f}"]
        told += [f"{name} {value:,.0f} ({first[1] / value:.2f} times)" for name, value in others]
        print(f"{title}, steps/s, {what}: {', '.join(told)}", flush=True)
