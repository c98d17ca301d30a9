"""A million lanes: time and memory until the first observation."""

import batchenv

LANES = 1_000_000


def construct():
    env = batchenv.make("CartPole-v1", LANES)
    env.reset(seed=0)
    return env


def time_construct():
    construct()


def peakmem_construct():
    return construct()
