"""Procgen: microseconds a step of a lane, against gym3's ProcgenGym3Env of the same library, and EnvPool's.

    python tools/bench/bench_procgen.py [--cases coinrun] [--lanes 1 64] [--threads 1] [--rounds 7] [--only gym3]
    BATCHENV_PROCGEN_FAST=0 python tools/bench/bench_procgen.py --only
    OPENBLAS_NUM_THREADS=1 python tools/bench/bench_procgen.py --lanes 64 --threads 2 --learner

Contenders take turns with random actions in hard levels, as in bench_box2d.py, which says what is printed. Those that
are not installed are left out. gym3 has no threads of its own where others have one (num_threads=0), which is faster
than its default. The second command measures batchenv alone, with all drawing left to Qt; the third, beside a thread
that multiplies matrices all the time, as a learner's would.
"""

import importlib.util
import itertools
import threading
import warnings

import gymnasium
import numpy as np
from bench_box2d import compare, make_parser, ours, print_row
from bench_box2d import envpool as make_envpool
from bench_neighbour import learn

from helpers.procgen import GAMES, gym3_env

CASES = {game: f"procgen-{game}-v0" for game in GAMES}
USUAL = ["coinrun", "starpilot", "maze", "bigfish"]


class Gym3:
    """ProcgenGym3Env with the calls that `compare` makes."""

    def __init__(self, env_id, lanes, threads):
        self._env = gym3_env()(num=lanes, env_name=game_of(env_id), num_threads=0 if threads == 1 else threads)
        self.action_space = gymnasium.spaces.Discrete(15)

    def reset(self):
        """The first observation: there is no reset."""
        return self._env.observe()[1]["rgb"], {}

    def step(self, actions):
        """Observations and the rest."""
        self._env.act(np.asarray(actions, np.int32))
        rewards, observations, firsts = self._env.observe()
        return observations["rgb"], rewards, firsts

    def close(self):
        """Frees the games."""
        self._env.close()


def game_of(env_id):
    """The game of "procgen-<game>-v0"."""
    return env_id.split("-")[1]


def envpool(env_id, lanes, threads):
    """EnvPool's env of the same game and mode."""
    return make_envpool(f"{game_of(env_id).capitalize()}Hard-v0", lanes, threads)


OTHERS = {"gym3": Gym3, "envpool": envpool}


def main():
    """Measures what the command line asks for."""
    parser = make_parser(__doc__.splitlines()[0], CASES, [1, 64], tuple(OTHERS))
    parser.set_defaults(cases=USUAL, threads=[1])
    parser.add_argument("--learner", action="store_true")
    options = parser.parse_args()
    if options.learner:
        threading.Thread(target=learn, daemon=True).start()
    warnings.simplefilter("ignore")
    makers = {"ours": ours}
    makers |= {name: make for name, make in OTHERS.items() if name in options.only and importlib.util.find_spec(name)}
    print_row("case", "lanes", "threads", "clock", "ours, us", "gym3, us", "EnvPool, us")
    print("|---|---:|---:|---|---:|---:|---:|")
    for case, lanes, threads in itertools.product(options.cases, options.lanes, options.threads):
        compare(makers, case, (CASES[case], False), lanes, threads, options, tuple(OTHERS))


if __name__ == "__main__":
    main()
