"""Envs that tests of the queue send lanes to."""

import batchenv
from helpers.begun import begun


def ready(lanes=6, **options):
    """CartPole lanes that have been reset and come back in batches of two."""
    return begun(batchenv.make("CartPole-v1", lanes, **{"batch_size": 2, "num_threads": 1, **options}))
