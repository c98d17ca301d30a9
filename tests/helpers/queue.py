"""Envs that tests of the queue send lanes to."""

import batchenv


def ready(lanes=6, **options):
    """CartPole lanes that have been reset and come back in batches of two."""
    env = batchenv.make("CartPole-v1", lanes, **{"batch_size": 2, "num_threads": 1, **options})
    env.reset(seed=0)
    return env
