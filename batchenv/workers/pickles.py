"""Objects as bytes, for other processes and for snapshots. Functions and classes of the main module go by value, with
cloudpickle, since another process has another main module."""

from __future__ import annotations

import contextlib
import functools
import io
import pickle
from collections.abc import Callable
from typing import Any

import cloudpickle
from cloudpickle import cloudpickle as _inside

_TRACKED = getattr(_inside, "_DYNAMIC_CLASS_TRACKER_BY_ID", {})
_MAKE = [vars(_inside)[name] for name in ("_make_skeleton_class", "_make_skeleton_enum") if name in vars(_inside)]


def pickled(value: Any) -> bytes:
    """An object as bytes, for `loaded`.

    Raises:
        Exception: of any kind; it cannot be pickled.
    """
    with contextlib.suppress(Exception):
        message = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        if b"__main__" not in message:
            return message
    return cloudpickle.dumps(value)


LEAVE_OUT = "leave out what cannot be pickled, or take workers='threads' or 'serial'"


def sendable(value: Any, what: str, instead: str = LEAVE_OUT, *, dump: Callable[[Any], bytes] = pickled) -> bytes:
    """An object as bytes, by `dump`.

    Raises:
        TypeError: it cannot be pickled. what: how the message calls it; instead: what the message says can be done.
    """
    try:
        return dump(value)
    except Exception as problem:
        raise TypeError(f"{what} cannot be sent to another process ({problem}): {instead}") from problem


def loaded(message: bytes) -> Any:
    """The object. A class that this process has stays as it is, though it was sent by value.

    Raises:
        Exception: of any kind, such as that of a module that is missing here.
    """
    return _Unpickler(io.BytesIO(message)).load() if b"cloudpickle" in message else pickle.loads(message)


class _Unpickler(pickle.Unpickler):
    """Cloudpickle's classes find the class with the same number that a process has, and then set all its attributes
    anew. Its methods would be copies then, whose global variables are not those of the main module any more."""

    def __init__(self, source: io.BytesIO):
        super().__init__(source)
        self._known: dict[int, Any] = {}

    def find_class(self, module: str, name: str) -> Any:
        found: Any = super().find_class(module, name)
        if found is getattr(_inside, "_class_setstate", self):
            return functools.partial(self._set, found)
        return functools.partial(self._make, found) if found in _MAKE else found

    def _make(self, make: Callable[..., Any], *arguments: Any) -> Any:
        known = any(isinstance(argument, str) and argument in _TRACKED for argument in arguments)
        made = make(*arguments)
        if known:
            self._known[id(made)] = made
        return made

    def _set(self, fill: Callable[..., Any], made: Any, state: Any) -> Any:
        return made if id(made) in self._known else fill(made, state)
