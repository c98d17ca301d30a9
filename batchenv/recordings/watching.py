"""A backend that watches another one: what it does not need to know goes straight there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.backend.protocol import Backend, Drawer, LaneSpaces
from batchenv.backend.snapshot import Snapshot


class Watching(Backend):
    """See `Backend`. Those that inherit from it add the calls that they watch.

    Attributes:
        inner: the backend that does everything.
    """

    def __init__(self, inner: Backend):
        self.inner = inner

    num_envs = property(lambda self: self.inner.num_envs)  # type: ignore[assignment]
    num_threads = property(lambda self: self.inner.num_threads)  # type: ignore[assignment]
    closed = property(lambda self: self.inner.closed)  # type: ignore[assignment]
    needs_reset = property(lambda self: self.inner.needs_reset)  # type: ignore[assignment]
    kind = property(lambda self: self.inner.kind)  # type: ignore[assignment]
    has_envs = property(lambda self: self.inner.has_envs)  # type: ignore[assignment]

    def innermost(self) -> Backend:
        return self.inner

    def layout(self) -> LaneSpaces:
        return self.inner.layout()

    def info_forms(self) -> Any:
        return self.inner.info_forms()

    def tell_apart(self) -> None:
        self.inner.tell_apart()

    def in_flight(self) -> int:
        return self.inner.in_flight()

    def fileno(self) -> int:
        return self.inner.fileno()

    def waiting(self) -> NDArray[np.bool_]:
        return self.inner.waiting()

    def places(self) -> NDArray[np.int64]:
        return self.inner.places()

    def snapshot(self, lanes: NDArray[np.int64]) -> Snapshot:
        return self.inner.snapshot(lanes)

    def check_snapshot(self, snapshot: Snapshot) -> int:
        return self.inner.check_snapshot(snapshot)

    def get_params(self) -> dict[str, Any]:
        return self.inner.get_params()

    def state(self) -> dict[str, NDArray[Any]]:
        return self.inner.state()

    def attributes(self) -> Sequence[str]:
        return self.inner.attributes()

    def attribute(self, name: str) -> Sequence[Any] | NDArray[Any]:
        return self.inner.attribute(name)

    def generators(self) -> Any:
        return self.inner.generators()

    def keywords(self) -> dict[str, Any]:
        return self.inner.keywords()

    def changes(self) -> Any:
        return self.inner.changes()

    def drawer(self, mode: str) -> Drawer:
        return self.inner.drawer(mode)

    def take_changes(self, changes: Any) -> None:
        self.inner.take_changes(changes)
