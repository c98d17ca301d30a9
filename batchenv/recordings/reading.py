"""A recording that is read: windows, episodes, and the comparison of its checksums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from batchenv.arguments.numbers import integer
from batchenv.backend.lanes import lane_indices
from batchenv.backend.protocol import Lanes
from batchenv.env.batch_env import BatchEnv
from batchenv.recordings import header as headers
from batchenv.recordings.contents import Contents
from batchenv.recordings.episodes import Episodes, episodes_of
from batchenv.recordings.errors import RecordingError, ReplayMismatch
from batchenv.recordings.leaves import leaves_of
from batchenv.recordings.moments import put_moments
from batchenv.recordings.player import Player
from batchenv.recordings.spaces import form_of, of_data
from batchenv.recordings.stored import StoredPlayer
from batchenv.recordings.window import Collector, Window, of_one

_MOST_ENVS = 4  # that are kept for further windows


class Reading:
    """See `Recording`, which is this with exports."""

    def __init__(
        self, path: Path, num_threads: int | None, make_env: Callable[[], BatchEnv] | None, trust: bool,
        ignore_versions: bool, until_damage: bool,
    ):  # fmt: skip
        self.path, self._threads, self._make_env, self._trust = path, num_threads, make_env, trust
        self._contents = Contents(path, until_damage)
        self.header = self._contents.header
        self.complete, self.left_out = self._contents.complete, self._contents.left_out
        self.stored = bool(self.header["observations"])
        self.info = self.header["info"]
        self._ignores = ignore_versions
        self.differences = [f"{name} {was} there and {now} here" for name, was, now in headers.differences(self.header)]
        self._players: dict[Any, Any] = {}

    @property
    def num_envs(self) -> int:
        """How many lanes were recorded."""
        return self.header["num_envs"]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many steps of each lane there are: int64 (lanes,)."""
        return self._contents.done.copy()

    @property
    def steps(self) -> int:
        """Steps of all lanes together."""
        return int(self._contents.done.sum())

    @property
    def nbytes(self) -> int:
        """The size of the file."""
        return self._contents.nbytes

    @cached_property
    def episodes(self) -> Episodes:
        """The table of episodes."""
        return episodes_of(self._contents)

    @property
    def single_observation_space(self) -> spaces.Space[Any]:
        """Of one lane. Raises RecordingError where the file has only its name."""
        return self._space("observation")

    @property
    def single_action_space(self) -> spaces.Space[Any]:
        """Of one lane."""
        return self._space("action")

    def _space(self, which: str) -> spaces.Space[Any]:
        space = of_data(self.header[f"{which}_data"])
        if space is None:
            raise RecordingError(f"the {which} space {self.header[f'{which}_space']} is none of Gymnasium's own")
        return space

    # ---- reading -------------------------------------------------------------------------------------------------

    def window(self, start: int, stop: int, lanes: Lanes | None = None) -> Window:
        """Steps `start` to `stop` - 1 of lanes. They are replayed from the last key frames before them to the end of
        the block that has the last of them, and all checksums on the way are compared.

        Args:
            lanes: a bool mask, an int, a list of ints or a slice; None: all.

        Raises:
            TypeError, ValueError: there are no such steps or lanes.
            ReplayMismatch: the replay differs from what was recorded.
            RecordingError: the env cannot be made again, or is another one here, with the reason.
        """
        chosen = np.arange(self.num_envs) if lanes is None else lane_indices(lanes, self.num_envs)
        start, stop = self._range(start, stop, chosen)
        player, columns = self._player(chosen, start)
        collector = Collector(start, stop, columns, len(player.at))
        self._begin(player, collector, start)
        while (player.at[columns] < stop).any():
            if not player.play(collector):
                break
        return collector.window()

    def _begin(self, player: Any, collector: Collector, start: int) -> None:
        """Tells the collector what is known before anything is played."""
        if player.observations is not None and getattr(player, "active", np.ones(1, bool)).all():
            lanes = np.arange(len(player.at))
            collector.before(lanes, player.at, player.observations)

    def _range(self, start: int, stop: int, chosen: NDArray[np.int64]) -> tuple[int, int]:
        most = int(self._contents.done[chosen].min())
        hint = f": these lanes have {most} steps"
        start = integer("start", start, 0, max(0, most - 1), hint)
        return start, integer("stop", stop, start + 1, most, hint)

    def episode(self, number: int) -> Window:
        """The steps of one of `episodes`, without the axis of lanes.

        Raises:
            TypeError, ValueError: there is no such episode.
            As `window`.
        """
        table = self.episodes
        number = integer("number", number, 0, len(table.lanes) - 1, f": there are {len(table.lanes)} episodes")
        start = int(table.starts[number])
        return of_one(self.window(start, start + int(table.lengths[number]), [int(table.lanes[number])]))

    def windows(self, length: int, start: int = 0, stop: int | None = None) -> Iterator[Window]:
        """All steps of all lanes, as windows of so many steps one after the other; the last one may be shorter. This is
        as fast as the lanes are stepped.

        Raises:
            As `window`.
        """
        every = np.arange(self.num_envs)
        length = integer("length", length, 1, None)
        most = int(self._contents.done.min())
        if most == 0:
            return
        start, stop = self._range(start, most if stop is None else stop, every)
        yield from self._windows(length, start, stop)

    def _windows(self, length: int, start: int, stop: int) -> Iterator[Window]:
        player, columns = self._player(np.arange(self.num_envs), start, shared=False)
        open_ = [Collector(low, min(low + length, stop), columns, len(player.at)) for low in range(start, stop, length)]
        try:
            window = _Several(open_)
            self._begin(player, window, start)  # pyright: ignore[reportArgumentType]
            while open_:
                while open_ and (player.at >= open_[0]._stop).all():
                    yield open_.pop(0).window()
                if open_ and not player.play(window):  # pyright: ignore[reportArgumentType]
                    return
        finally:
            self._release(player)

    def verify(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Replays everything, and compares all checksums.

        Args:
            progress: is called with the steps of each lane so far, and all.

        Returns:
            how many steps of lanes were compared.

        Raises:
            ReplayMismatch: the replay differs; the error says where.
            As `window`.
        """
        player, _ = self._player(np.arange(self.num_envs), 0, shared=False)
        try:
            while player.play():
                if progress is not None:
                    progress(int(player.at.min()), int(self._contents.done.min()))
            return int(player.at.sum())
        finally:
            self._release(player)

    # ---- envs that are stepped -----------------------------------------------------------------------------------

    def _player(self, chosen: NDArray[np.int64], start: int, shared: bool = True) -> tuple[Any, NDArray[np.int64]]:
        """(a player that begins before `start`, the numbers of the chosen lanes in it)."""
        if self.stored:
            parts = leaves_of(self.single_action_space)
            form = form_of(self.header["observation_data"])
            stored = StoredPlayer(self._contents, form, parts, self.single_action_space)
            stored.seek(start)
            return stored, chosen
        if not self._ignores:
            headers.check_versions(self.header, self.path)
        alone = self.header["alike"] and not self._contents.whole and self._make_env is None
        lanes = np.unique(chosen) if alone else np.arange(self.num_envs)
        key = lanes.tobytes()
        player = self._players.get(key) if shared else None
        if player is None or not player.seek(start):
            self._release(player)
            player = Player(self._contents, self._make(len(lanes)), lanes, self._mismatch, self._trust)
            if self.header["moments"]:
                put_moments(player.env, self.header["moments"])
            player.seek(start)
            if shared:
                while len(self._players) >= _MOST_ENVS:
                    self._release(self._players.pop(next(iter(self._players))))
                self._players[key] = player
        return player, player.local[chosen]

    def _make(self, count: int) -> BatchEnv:
        if self._make_env is not None:
            return headers.check_made(self._make_env(), self.header, count)
        return headers.make_again(self.header, count, self._threads, self._trust)

    def _release(self, player: Any) -> None:
        if isinstance(player, Player) and not player.env.closed:
            player.env.close()

    def _mismatch(self, lane: int, first: int, last: int, what: str) -> ReplayMismatch:
        where = f"step {first}" if first >= last else f"steps {first} to {last}"
        text = f"{self.path}: the replay differs from what was recorded in lane {lane}, {where}: {what}"
        if self.differences:
            text += f". Different from where it was recorded: {'; '.join(self.differences)}"
        return ReplayMismatch(text, lane, first, last + 1, what)

    def close(self) -> None:
        """Closes the file and the envs. May be called again."""
        for player in self._players.values():
            self._release(player)
        self._players.clear()
        self._contents.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "" if self.complete else ", cut off"
        return f"Recording({str(self.path)!r}: {self.header['id']}, {self.num_envs} lanes, {self.steps} steps{state})"


class _Several:
    """Hands what a player finds to several collectors."""

    def __init__(self, collectors: Sequence[Collector]):
        self._collectors = collectors

    def steps(self, first: Any, result: Any, actions: Any) -> None:
        for collector in self._near(int(first.min()), int(first.max()) + len(result[1])):
            collector.steps(first, result, actions)

    def rows(self, lanes: Any, steps: Any, result: Any, actions: Any) -> None:
        for collector in self._near(int(steps.min()), int(steps.max()) + 1):
            collector.rows(lanes, steps, result, actions)

    def before(self, lanes: Any, steps: Any, observations: Any) -> None:
        if len(lanes):
            for collector in self._near(int(steps.min()), int(steps.max()) + 1):
                collector.before(lanes, steps, observations)

    def change(self, lanes: Any, steps: Any, observations: Any) -> None:
        if len(lanes):
            for collector in self._near(int(steps.min()), int(steps.max()) + 1):
                collector.change(lanes, steps, observations)

    def _near(self, low: int, high: int) -> Iterator[Collector]:
        for collector in self._collectors:
            if collector._start >= high:
                return
            if collector._stop > low:
                yield collector
