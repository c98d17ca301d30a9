"""Snapshots of lanes whose environments are written in Python: what the C core knows of a lane, and its env."""

from __future__ import annotations

import copy
import inspect
import struct
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import cloudpickle
import numpy as np

from batchenv.backend.snapshot import Snapshot
from batchenv.workers.pickles import loaded

KINDS = ("deepcopy", "pickle", "state")
_HEADER = struct.Struct("<8sIIQqI")  # begins as csrc/core/snapshot.h has it; the last is a checksum of what follows
_MAGIC, _VERSION = b"BATCHPYL", 1


class Row(NamedTuple):
    """One lane.

    block, row: where the C core's part of it is. waits: whether its episode has ended, and its reset has not come.
    env: see `keep`; None: it is among the snapshot's copies.
    """

    block: int
    row: int
    waits: bool
    env: Any


class Saved(NamedTuple):
    """A snapshot, taken apart. blocks: snapshots of the C core. like: what has to be the same where it is restored."""

    kind: str
    like: Any
    blocks: list[bytes]
    rows: list[Row]

    def snapshot(self) -> Snapshot:
        """As a whole."""
        copies = tuple(row.env for row in self.rows) if self.kind == "deepcopy" else None
        rows = [tuple(row if copies is None else row._replace(env=None)) for row in self.rows]
        body = cloudpickle.dumps((self.kind, self.like, self.blocks, rows))
        size = _HEADER.size + len(body)
        return Snapshot(_HEADER.pack(_MAGIC, _VERSION, 0, size, len(rows), zlib.crc32(body)) + body, copies)

    def chosen(self, rows: Sequence[int]) -> Saved:
        """Only these rows, with the blocks that they need."""
        picked = [self.rows[row] for row in rows]
        places = {block: place for place, block in enumerate(dict.fromkeys(row.block for row in picked))}
        return self._replace(
            blocks=[self.blocks[block] for block in places],
            rows=[row._replace(block=places[row.block]) for row in picked],
        )


def apart(snapshot: Snapshot, kind: str | None, like: Any) -> Saved:
    """Takes a snapshot apart.

    Raises:
        ValueError: it is damaged, or not of such lanes.
    """
    if kind is None:
        raise not_kept("restore()")
    data = snapshot.data
    foreign = "this is not a snapshot for this environment: "
    if len(data) < _HEADER.size or data[: len(_MAGIC)] != _MAGIC:
        raise ValueError(f"{foreign}it is not one of environments written in Python")
    _, version, _, size, count, checksum = _HEADER.unpack_from(data)
    if version != _VERSION:
        raise ValueError(f"the snapshot has version {version}; this batchenv reads version {_VERSION}")
    body = memoryview(data)[_HEADER.size :]
    if size != len(data) or zlib.crc32(body) != checksum:
        raise ValueError("the snapshot is damaged: its length or its checksum is wrong")
    its_kind, its_like, blocks, rows = loaded(bytes(body))
    rows = [Row(*row) for row in rows]
    if its_kind != kind:
        raise ValueError(f"the snapshot was taken with snapshots={its_kind!r}, but this env has snapshots={kind!r}")
    if its_like != like:
        raise ValueError(f"{foreign}its spaces are others")
    if count != len(rows) or (snapshot.copies is not None) != (kind == "deepcopy"):
        raise ValueError("the snapshot is damaged: some of its lanes are missing")
    if snapshot.copies is not None:
        rows = [row._replace(env=env) for row, env in zip(rows, snapshot.copies, strict=True)]
    return Saved(its_kind, its_like, blocks, rows)


def not_kept(what: str) -> NotImplementedError:
    """What is raised where snapshots have not been asked for."""
    return NotImplementedError(
        f"{what} needs to know how envs are kept: make_python(..., snapshots='pickle'), 'deepcopy', or 'state' for "
        "envs with get_state() and set_state()"
    )


# ---- one env -----------------------------------------------------------------------------------------------------


def check_states(env: Any) -> None:
    """Raises TypeError if an env does not offer its state."""
    for name in ("get_state", "set_state"):
        if not callable(_method(env, name)):
            raise TypeError(
                f"snapshots='state' needs envs with get_state() and set_state(state), but {type(env).__name__} has no "
                f"{name}: take snapshots='pickle', or 'deepcopy'"
            )


def asked(kind: str, env: Any) -> Any:
    """What `get_state()` of an env returns, for `keep`; if that is a coroutine, it has to be awaited first. None where
    the state is not asked for."""
    return _method(env, "get_state")() if kind == "state" else None


def keep(kind: str, env: Any, state: Any, held: Any) -> Any:
    """An env and what a lane holds beside it, for `give`. state: from `asked`.

    Raises:
        TypeError: nobody has awaited the state. Exception: of any kind, if the env cannot be copied or pickled.
    """
    refuse_awaitable("get_state()", state)
    try:
        if kind == "deepcopy":
            return copy.deepcopy((env, held))
        return cloudpickle.dumps((state, _stream(env), _layers(env), held) if kind == "state" else (env, held))
    except Exception as problem:
        problem.add_note(
            f"snapshots={kind!r} keeps {'what get_state() returns' if kind == 'state' else 'the whole env'}, which "
            "cannot be done here: let the env have get_state() and set_state() of values that can be pickled, and take "
            "snapshots='state'"
        )
        raise


def give(kind: str, kept: Any) -> Any:
    """What `tell` and `put` take; it belongs to one lane alone."""
    return copy.deepcopy(kept) if kind == "deepcopy" else loaded(kept)


def tell(kind: str, given: Any, env: Any) -> Any:
    """Calls `set_state` where that is how an env is put into a state, and returns what it returns; if that is a
    coroutine, it has to be awaited before `put`."""
    return _method(env, "set_state")(given[0]) if kind == "state" else None


def put(kind: str, given: Any, env: Any) -> tuple[Any, Any]:
    """Completes an env's state after `tell`, or puts another env in its place. Returns the env, and what its lane holds
    beside it."""
    if kind != "state":
        return given
    _, stream, layers, held = given
    if stream is not None:
        env.unwrapped.np_random.bit_generator.state = stream
    for layer, values in zip(_wrappers(env), layers, strict=False):
        vars(layer).update(values)
    return env, held


def refuse_awaitable(call: str, returned: Any) -> None:
    """Raises TypeError if a call has returned a coroutine, or the like, that nobody awaits."""
    if not inspect.isawaitable(returned):
        return
    if inspect.iscoroutine(returned):
        returned.close()  # else Python would warn that it was never awaited
    raise TypeError(f"{call} is a coroutine, which nobody awaits here: take workers='asyncio'")


def _method(env: Any, name: str) -> Any:
    for one in (env, getattr(env, "unwrapped", None)):
        found = getattr(one, name, None)
        if found is not None:
            return found
    return None


def _stream(env: Any) -> Any:
    """The state of an env's random stream, if it has one in Gymnasium's way."""
    generator = getattr(getattr(env, "unwrapped", env), "_np_random", None)
    return None if generator is None else generator.bit_generator.state


def _wrappers(env: Any) -> list[Any]:
    """The wrappers around an env, from the outermost."""
    found = []
    while hasattr(env, "env"):
        found.append(env)
        env = env.env
    return found


def _layers(env: Any) -> list[dict[str, Any]]:
    """What wrappers count and note, such as TimeLimit's steps: their numbers, texts and arrays."""
    simple = (bool, int, float, str, np.ndarray, np.generic, type(None))
    return [
        {name: value for name, value in vars(layer).items() if isinstance(value, simple)} for layer in _wrappers(env)
    ]
