"""What all methods of BatchEnv stand on: its backend and attributes, one call at a time, and the end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, cast

import numpy as np
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from batchenv.arguments.seeds import Seeder, Seeds, adopt_stream
from batchenv.backend.protocol import Backend, Drawer, LaneSpaces, Shortcuts
from batchenv.env.action_stream import ActionStream
from batchenv.env.waiting import Waiter
from batchenv.normalize import Normalizer, RewardNormalizer


class Base(VectorEnv[Any, Any, NDArray[Any]]):
    """A BatchEnv without its calls."""

    batch_size: int
    autoreset_mode: AutoresetMode
    normalizer: Normalizer | None
    reward_normalizer: RewardNormalizer | None
    _backend: Backend | None = None  # None until it is made: then close() has nothing to do
    _drawer: Drawer = Drawer()

    def _begin(
        self,
        id: str,
        backend: Backend,
        autoreset_mode: AutoresetMode,
        batch_size: int,
        seed: Seeds,
        render_mode: str | None,
        metadata: dict[str, Any],
        arguments: dict[str, Any],
    ) -> None:
        """Takes what was checked. arguments: these and other keywords, for `config`."""
        self._id = id
        self.num_envs, self.batch_size = backend.num_envs, batch_size
        self.autoreset_mode, self.render_mode = autoreset_mode, render_mode
        self.metadata = {**metadata, "autoreset_mode": autoreset_mode}
        self.normalizer = self.reward_normalizer = None
        self._arguments = arguments
        self._seeder = Seeder(self.num_envs, seed)
        self._actions = ActionStream()
        self._waiter = Waiter()
        self._step_pending = False
        self._layout: LaneSpaces | None = None
        self._backend = backend
        self._set_spaces(backend)
        self._drawer = Drawer() if render_mode is None else backend.drawer(render_mode)
        self._direct = list[Callable[[Backend], None]]()
        self._put_backend(backend)

    def _put_backend(self, backend: Backend) -> None:
        """Has this backend called from now on: the env's own, or one that watches it.

        Whoever steps lanes without the backend's methods has a function in `_direct`, which is told of it before, and
        raises an error if it cannot follow.
        """
        for tell in self._direct:
            tell(backend)
        self._backend = backend
        # `step`, `send` and `recv` call these functions of the backend directly. They are None where BatchEnv holds the
        # lanes itself: of some backends, and where a drawer has to be told what lanes do.
        ways = backend.shortcuts() if self.render_mode is None else Shortcuts()
        self._hold_and_step, self._hold_and_send, self._hold_and_recv = ways

    def _set_spaces(self, backend: Backend) -> None:
        """Takes over the backend's spaces if they have changed."""
        layout, before = backend.layout(), self._layout
        if layout is before:
            return
        new = {}
        for part in LaneSpaces._fields:
            single = getattr(layout, part)
            if before is not None and single == getattr(before, part):
                continue  # the present ones may be seeded, or the user's own
            new["single_" + part], new[part] = single, batch_space(single, self.num_envs)
            if part == "action_space" and isinstance(single, spaces.Discrete):
                new[part].n = single.n  # EnvPool's training loops read it there
        for name, space in new.items():
            if before is not None:
                adopt_stream(space, getattr(self, name))
            setattr(self, name, space)
        self._layout = layout

    @property
    def id(self) -> str:
        """The environment's id, without a namespace: "CartPole-v1"."""
        return self._id

    @property
    def backend(self) -> str:
        """What steps the lanes: "C", or how environments written in Python are stepped: "serial", "threads",
        "processes" or "asyncio"."""
        return self._open().kind

    def __len__(self) -> int:
        return self.num_envs

    @property
    def all_env_ids(self) -> NDArray[np.int64]:
        """0, 1, ..., num_envs - 1: every lane's number."""
        return np.arange(self.num_envs)

    @property
    def is_async(self) -> bool:
        """Whether `recv` gives fewer than all lanes: batch_size < num_envs."""
        return self.batch_size < self.num_envs

    @property
    def num_threads(self) -> int:
        """The most threads that a call may use."""
        return self._open().num_threads

    def _open(self) -> Backend:
        """The backend.

        Raises:
            gymnasium.error.ClosedEnvironmentError: it is closed.
        """
        backend = self._backend
        if backend is None or backend.closed:
            raise ClosedEnvironmentError(f"{self!r} is closed: make a new one")
        return backend

    def _hold(self, *, settle: bool = True) -> AbstractContextManager[Any]:
        """A context manager that keeps other calls out; see `Backend.hold`. Every public method checks and acts inside
        of `hold`, so that a call that is refused or fails has changed nothing."""
        return self._open().hold(settle)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # pyright: ignore[reportIncompatibleMethodOverride] one per lane
        """Each lane's seed, as of its last seeded reset."""
        self._open()
        if self._seeder.known is None:
            self.reset()
        with self._hold(settle=False):
            return self._seeder.of_lanes()

    @property
    def np_random(self) -> tuple[np.random.Generator, ...]:  # pyright: ignore[reportIncompatibleMethodOverride] likewise
        """A NumPy generator per lane, in the present state of the lane's stream. Where the reference draws from a
        `numpy.random.RandomState` (DM Control), it is one, too, whatever the annotation says.

        A copy: drawing from it does not advance the lane.
        """
        backend = self._open()
        if self._seeder.known is None:
            self.reset()
        with backend.hold():
            return cast(tuple[np.random.Generator, ...], backend.generators())

    @property
    def closed(self) -> bool:
        """Whether `close` has ended the env."""
        backend = self._backend
        return backend is None or backend.closed

    @closed.setter
    def closed(self, value: bool) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        if value and not self.closed:  # Gymnasium's wrappers set this, which is an attribute in Gymnasium
            self.close()

    def close(self, **kwargs: Any) -> None:
        """Releases the lanes and the window; arrays handed out stay valid. May be called again.

        Raises:
            RuntimeError: another call is running; nothing has been closed.
        """
        self.close_extras(**kwargs)

    def close_extras(self, **kwargs: Any) -> None:
        """Releases the lanes and the window; arrays handed out stay valid."""
        # A signal handler may interrupt after any of these lines, or close the env itself. The next close() goes on.
        backend = self._backend
        if backend is not None:
            backend.close()
        self._hold_and_step = self._hold_and_send = self._hold_and_recv = None
        self._backend = None
        self._waiter.wake()
        drawer, self._drawer = self._drawer, Drawer()
        drawer.close()

    def _show(self) -> None:
        """Draws the window anew, if there is one."""
        if self.render_mode == "human":
            self.render()
