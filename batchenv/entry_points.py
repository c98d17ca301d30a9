"""Gymnasium's way in: `batchenv.entry_points:vector CartPole-v1` is a callable that makes that environment.

Attributes are made when asked for, so that a registered id needs no keyword that would show up in its spec.
"""

from functools import partial

from batchenv.batch_env import BatchEnv
from batchenv.registry import TABLE
from batchenv.single_env import SingleEnv

_makers = {"single": SingleEnv, "vector": BatchEnv}


def __getattr__(name):
    kind, _, env_id = name.partition(" ")
    if kind in _makers and env_id in TABLE:
        maker = partial(_makers[kind], env_id)
        maker.metadata = BatchEnv.class_metadata(env_id)
        return maker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
