"""What the scripts of this folder share: options, and speeds that are measured in turns."""

import argparse
import time
from collections import defaultdict
from statistics import median


def options(doc, env=None, lanes=64, steps=None, speed=True, more=()):
    """The options of the command line.

    Args:
        doc: the script's docstring; its first line says what it is.
        env, lanes, steps: defaults; None: the script has no such option.
        speed: whether the script has --speed.
        more: (name, default, help) of other numbers.
    """
    parser = argparse.ArgumentParser(description=doc.split(":")[0])
    if env is not None:
        parser.add_argument("--env", default=env, help="id of the environment")
    numbers = [("lanes", lanes, "copies of the environment"), ("steps", steps, "the most steps of training"), *more]
    for name, default, told in [*numbers, ("seed", 0, "of the environment and the learner")]:
        if default is not None:
            parser.add_argument(f"--{name}", type=int, default=default, help=f"{told} (%(default)s)")
    if speed:
        parser.add_argument("--speed", action="store_true", help="measure, and train nothing")
    return parser.parse_args()


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
