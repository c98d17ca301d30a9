"""What changes lanes besides steps, when it is replayed.

An event is a block that `Log.event` has written, with a `kind`. To add a kind: write it in `backend.RecordingBackend`,
and add a function to `EVENTS`. `log.needs_whole` says whether it concerns lanes in such a way that none can be replayed
without the others. What cannot be repeated at all may be written as "restore", with a snapshot taken after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from batchenv.arguments.seeds import lane_seeds
from batchenv.backend.protocol import Backend
from batchenv.backend.snapshot import Snapshot
from batchenv.env.batch_env import BatchEnv
from batchenv.recordings import leaves
from batchenv.recordings.contents import Contents
from batchenv.recordings.errors import RecordingError
from batchenv.recordings.moments import put_moments
from batchenv.recordings.plans import Follower

Lanes = NDArray[np.int64]  # as the player numbers them


class Player(Protocol):
    """What events need of `player.Player`."""

    contents: Contents
    env: BatchEnv
    backend: Backend
    lanes: Lanes
    local: Lanes
    count: int
    whole: bool
    active: NDArray[np.bool_]
    observations: Any
    parts: list[leaves.Leaf]
    trust: bool
    follower: Follower

    def taken(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a call, also that of a LaneError."""

    def restore(self, data: bytes, rows: Lanes, targets: Lanes) -> None:
        """Puts rows of a snapshot into lanes."""


def snapshot_of(player: Player, data: bytes) -> Snapshot:
    """A snapshot from a recording.

    Raises:
        RecordingError: it is a pickle, and not trusted.
    """
    if player.contents.header["python"] and not player.trust:
        raise RecordingError(
            "the key frames of this recording are pickles of environments in Python, which may run any code when they "
            "are loaded: say trust=True if you know where the file comes from"
        )
    return Snapshot(data)


def _mine(player: Player, numbers: Any) -> tuple[Lanes, NDArray[np.int64]]:
    """(lanes, which of the numbers these are) of numbers of lanes in the recording."""
    local = player.local[np.asarray(numbers, np.int64)]
    rows = np.flatnonzero(local >= 0)
    return local[rows], rows


def _reset(player: Player, meta: dict[str, Any], arrays: dict[str, Any]) -> Lanes:
    mask = meta["mask"]
    seeds = meta["seeds"]
    if not player.whole:
        every = lane_seeds(seeds, player.count)
        seeds = [every[lane] for lane in player.lanes.tolist()]
        if all(seed is None for seed in seeds):
            seeds = None
        mask = None if mask is None else mask[player.lanes]
        if mask is not None and not mask.any():
            return np.empty(0, np.int64)
        if mask is not None and mask.all():
            mask = None
    if meta["skip"] is not None:
        player.backend.skip_entries(_mine(player, meta["skip"])[0])
    result = player.taken(player.backend.reset, seeds, mask, meta["options"])
    player.observations = result[0]
    if mask is None or player.contents.header["normalizes"]:  # whose lanes see by moments that have changed
        return np.arange(len(player.lanes))
    return np.flatnonzero(mask)


def _arrived(player: Player, meta: dict[str, Any], arrays: dict[str, Any]) -> Lanes:
    return _mine(player, meta["lanes"])[0]


def _dropped(player: Player, meta: dict[str, Any], arrays: dict[str, Any]) -> Lanes:
    lanes, rows = _mine(player, meta["lanes"])
    some = player.active[lanes]
    lanes, rows = lanes[some], rows[some]
    if len(lanes):
        count = len(meta["lanes"])
        actions = [leaves.unpacked(leaf, arrays[f"a{k}"], (count,))[rows] for k, leaf in enumerate(player.parts)]
        nest = leaves.built(player.parts, actions, player.env.single_action_space)
        player.taken(player.backend.step_some, nest, lanes, None)
    return np.empty(0, np.int64)


def _restored(player: Player, meta: dict[str, Any], arrays: dict[str, Any]) -> Lanes:
    lanes, rows = _mine(player, meta["lanes"])
    some = player.active[lanes]
    if some.any():
        player.restore(arrays["s"], np.asarray(meta["rows"])[rows][some], lanes[some])
    return lanes


def _params(player: Player, meta: dict[str, Any], arrays: dict[str, Any]) -> Lanes:
    player.backend.set_params(meta["params"], meta["lanes"])
    player.env._set_spaces(player.backend)
    return np.empty(0, np.int64)


def _state(player: Player, meta: dict[str, Any], arrays: dict[str, Any]) -> Lanes:
    lanes = np.asarray(meta["lanes"], np.int64)
    player.observations = player.backend.set_state(meta["values"], lanes)
    return lanes


def _moments(player: Player, meta: dict[str, Any], arrays: dict[str, Any]) -> Lanes:
    put_moments(player.env, meta["moments"])
    return np.empty(0, np.int64)


def _plan(player: Player, meta: dict[str, Any], arrays: dict[str, Any]) -> Lanes:
    player.follower.follow(meta["course"], arrays.get("places"))
    return np.empty(0, np.int64)


def _weights(player: Player, meta: dict[str, Any], arrays: dict[str, Any]) -> Lanes:
    player.follower.weigh(meta["weights"])
    return np.empty(0, np.int64)


def _places(player: Player, meta: dict[str, Any], arrays: dict[str, Any]) -> Lanes:
    lanes, rows = _mine(player, meta["lanes"])
    some = player.active[lanes]
    player.follower.put(arrays["places"][rows][some], lanes[some])
    return np.empty(0, np.int64)


EVENTS: dict[str, Callable[[Player, dict[str, Any], dict[str, Any]], Lanes]] = {
    "reset": _reset,
    "arrived": _arrived,
    "dropped": _dropped,
    "restore": _restored,
    "params": _params,
    "state": _state,
    "moments": _moments,
    "plan": _plan,
    "weights": _weights,
    "places": _places,
}


def replay(player: Player, meta: dict[str, Any], arrays: dict[str, Any]) -> Lanes:
    """Has an event happen again, and returns the lanes that have new observations.

    Raises:
        RecordingError: it is of a kind that this release does not know.
    """
    kind = meta["kind"]
    if kind not in EVENTS:
        raise RecordingError(f"this release of batchenv cannot replay {kind!r}: take the one that recorded it")
    return EVENTS[kind](player, meta, arrays)


def recorded(meta: dict[str, Any], arrays: dict[str, Any], player: Player) -> NDArray[np.uint32]:
    """The checksums of an event's observations, of the player's lanes."""
    if meta["kind"] == "arrived":  # has rows of its lanes alone
        found = np.zeros(player.count, np.uint32)
        found[np.asarray(meta["lanes"])] = arrays["o"]
        return found[player.lanes]
    return arrays["o"][player.lanes]
