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
from batchenv.recordings.beginnings import Unseen, checked, first_unseen
from batchenv.recordings.contents import Contents
from batchenv.recordings.episodes import Episodes, episodes_of
from batchenv.recordings.errors import RecordingError, ReplayMismatch
from batchenv.recordings.leaves import leaves_of
from batchenv.recordings.moments import put_moments
from batchenv.recordings.nonsense import each, of_the_caller, refused
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
        self._ignores, self._until_damage = ignore_versions, until_damage
        self._players: dict[Any, Any] = {}
        self._contents = Contents(path, until_damage)
        self.header = self._contents.header
        self.complete, self.left_out = self._contents.complete, self._contents.left_out
        try:
            with refused(path):
                self.stored = bool(self.header["observations"])
                self.info = self.header["info"]
                different = headers.differences(self.header)
        except BaseException:
            self._contents.close()
            raise
        self.differences = [f"{name} {was} there and {now} here" for name, was, now in different]

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
        """The table of episodes. Seeds of those that a plan began are -1, too."""
        with refused(self.path):
            return checked(episodes_of(self._contents), self._contents.done)

    @cached_property
    def unseen(self) -> NDArray[np.bool_]:
        """Which lanes' observations before their first step are not known: bool (lanes,). That is so where results are
        stored and the recording begins in the middle of episodes."""
        with refused(self.path):
            return first_unseen(self._contents) if self.stored else np.zeros(self.num_envs, np.bool_)

    @property
    def single_observation_space(self) -> spaces.Space[Any]:
        """Of one lane. Raises RecordingError where the file has only its name."""
        return self._space("observation")

    @property
    def single_action_space(self) -> spaces.Space[Any]:
        """Of one lane."""
        return self._space("action")

    def _space(self, which: str) -> spaces.Space[Any]:
        with refused(self.path):
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
        if not len(chosen):
            raise ValueError(
                f"lanes={lanes!r} chooses no lane: name at least one of 0..{self.num_envs - 1}, or say None for all"
            )
        if len(np.unique(chosen)) != len(chosen):
            raise ValueError(f"lanes={lanes!r} names a lane twice: choose each once, and index the window's arrays")
        start, stop = self._range(start, stop, chosen)
        player, columns = self._player(chosen, start)
        with refused(self.path):
            collector = Collector(start, stop, columns, len(player.at))
            self._begin(player, collector, start)
            while (player.at[columns] < stop).any():
                if not player.play(collector):
                    raise self._short(stop)
            return self._made(collector, start, chosen)

    def _made(self, collector: Collector, start: int, chosen: NDArray[np.int64]) -> Window:
        """What was collected, with no first observations where one of them is not known."""
        window = collector.window()
        if start == 0 and self.unseen[chosen].any():
            return Unseen(*window._replace(before=None))
        return window

    def _short(self, stop: int) -> RecordingError:
        return RecordingError(f"{self.path} ends before step {stop - 1}, which it claims to have")

    def _begin(self, player: Any, collector: Collector, start: int) -> None:
        """Tells the collector what is known before anything is played."""
        if isinstance(player, StoredPlayer):
            player.before(collector, np.arange(len(player.at)))
        elif player.observations is not None and player.active.all():
            collector.before(np.arange(len(player.at)), player.at, player.observations)

    def _range(self, start: int, stop: int | None, chosen: NDArray[np.int64]) -> tuple[int, int]:
        """(start, stop), if there are such steps of these lanes. stop: None: the fewest that one of them has."""
        done = self._contents.done[chosen]
        most = int(done.min())
        if most == 0:
            none = chosen[done == 0]
            raise ValueError(
                "the recording has no steps"
                if not self._contents.done.any()
                else f"lane {none[0]} has no steps, so that the lanes have none together: name others, as "
                f"window(0, {int(self._contents.done.max())}, lanes=[{int(self._contents.done.argmax())}])"
            )
        hint = f": these lanes have {most} steps"
        start = integer("start", start, 0, most - 1, hint)
        return start, integer("stop", most if stop is None else stop, start + 1, most, hint)

    def episode(self, number: int) -> Window:
        """The steps of one of `episodes`, without the axis of lanes.

        Raises:
            TypeError, ValueError: there is no such episode.
            As `window`.
        """
        table = self.episodes
        if not len(table.lanes):
            raise ValueError(f"number={number!r}: the recording has no episodes")
        number = integer("number", number, 0, len(table.lanes) - 1, f": there are {len(table.lanes)} episodes")
        start = int(table.starts[number])
        window = self.window(start, start + int(table.lengths[number]), [int(table.lanes[number])])
        return window.of_one() if isinstance(window, Unseen) else of_one(window)

    def windows(self, length: int, start: int = 0, stop: int | None = None) -> Iterator[Window]:
        """All steps of all lanes, as windows of so many steps one after the other; the last one may be shorter. This is
        as fast as the lanes are stepped.

        Raises:
            As `window`.
        """
        length = integer("length", length, 1, None)
        self._contents.check_open()
        if stop is None and start == 0 and not self._contents.done.all():
            return iter(())
        start, stop = self._range(start, stop, np.arange(self.num_envs))
        return each(self.path, self._windows(length, start, stop))

    def _windows(self, length: int, start: int, stop: int) -> Iterator[Window]:
        every = np.arange(self.num_envs)
        player, columns = self._player(every, start, shared=False)
        open_ = [Collector(low, min(low + length, stop), columns, len(player.at)) for low in range(start, stop, length)]
        try:
            window = _Several(open_)
            self._begin(player, window, start)  # pyright: ignore[reportArgumentType]
            while open_:
                while open_ and (player.at >= open_[0]._stop).all():
                    yield self._made(open_[0], open_.pop(0)._start, every)
                if open_ and not player.play(window):  # pyright: ignore[reportArgumentType]
                    raise self._short(stop)
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
            while True:
                with refused(self.path):
                    if not player.play():
                        return int(player.at.sum())
                if progress is not None:
                    progress(int(player.at.min()), int(self._contents.done.min()))
        finally:
            self._release(player)

    # ---- envs that are stepped -----------------------------------------------------------------------------------

    def _player(self, chosen: NDArray[np.int64], start: int, shared: bool = True) -> tuple[Any, NDArray[np.int64]]:
        """(a player that begins before `start`, the numbers of the chosen lanes in it)."""
        self._contents.check_open()
        with refused(self.path):
            return self._player_of(chosen, start, shared)

    def _player_of(self, chosen: NDArray[np.int64], start: int, shared: bool) -> tuple[Any, NDArray[np.int64]]:
        if self.stored:
            parts = leaves_of(self.single_action_space)
            form = form_of(self.header["observation_data"])
            stored = StoredPlayer(self._contents, form, parts, self.single_action_space)
            stored.seek(start, chosen)
            return stored, chosen
        if not self._ignores:
            headers.check_versions(self.header, self.path)
        alone = self.header["alike"] and not self._contents.whole and self._make_env is None
        lanes = np.unique(chosen) if alone else np.arange(self.num_envs)
        key = lanes.tobytes()
        player = self._players.get(key) if shared else None
        if player is None or not player.seek(start):
            self._release(player)
            env = self._make(len(lanes))
            try:
                player = Player(self._contents, env, lanes, self._mismatch, self._trust)
                if self.header["moments"]:
                    put_moments(env, self.header["moments"])
                player.seek(start)
            except BaseException:
                self._players.pop(key, None)
                env.close()
                raise
            if shared:
                while len(self._players) >= _MOST_ENVS:
                    self._release(self._players.pop(next(iter(self._players))))
                self._players[key] = player
        return player, player.local[chosen]

    def _make(self, count: int) -> BatchEnv:
        if self._make_env is not None:
            with of_the_caller():
                env = self._make_env()
            return headers.check_made(env, self.header, count)
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
