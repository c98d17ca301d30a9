"""What a BatchEnv and its workers say to each other: requests, and the forms of answers."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from gymnasium import spaces

from batchenv import _core
from batchenv.workers.pickles import loaded, pickled

FAILED, OBJECTS, KEYS, BROKEN = "\0failed", "\0objects", "\0keys", "\0broken"  # keys beside those of infos


class Verb(IntEnum):
    """What a message asks for, or reports."""

    STEP = _core.STEP_VERB  # all lanes of the worker
    LANE = _core.LANE_VERB  # one lane, whose number follows
    RESET = 3  # the arguments of `Worker.reset` come over the socket
    CALL = 4  # those of `Worker.call` do
    END = 5
    NOTHING = 6  # but an answer


class Job(NamedTuple):
    """What a worker is made for: lanes `first` to `first + len(makers) - 1` of all."""

    env_id: str
    makers: Sequence[Any]
    first: int
    cpu: int | None  # on which it runs; None: the system decides
    options: dict[str, Any]


class Like(NamedTuple):
    """What a worker says of its envs when it has made them."""

    observation_space: spaces.Space
    action_space: spaces.Space
    metadata: dict[str, Any]
    render_mode: str | None


class Failure(NamedTuple):
    """An exception that crosses from one process to another."""

    kind: str
    text: str
    trace: str
    pickled: bytes | None


def failure(problem: BaseException) -> Failure:
    """Tells an exception to the parent."""
    trace = "".join(traceback.format_exception(problem))
    try:
        message = pickled(problem)
        loaded(message)
    except Exception:  # a class that cannot be pickled, or not be made again
        message = None
    return Failure(type(problem).__name__, text_of(problem), trace, message)


def text_of(problem: BaseException) -> str:
    """What an exception says; its class may be a user's, whose __str__ fails."""
    try:
        return str(problem)
    except Exception as another:
        return f"<its __str__ has raised {type(another).__name__}>"
