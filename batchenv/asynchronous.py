"""Lanes in flight: send, recv, and what is built on them."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
from gymnasium.error import AlreadyPendingCallError, NoAsyncCallError
from numpy.typing import NDArray

from batchenv import _core
from batchenv.results import converted
from batchenv.seeds import check_seed
from batchenv.values import integer, number


def affinity(value: Any, workers: int) -> list[int] | None:
    """The CPU of each worker, for thread_affinity=value.

    Raises:
        TypeError, ValueError: it is neither None, an int (an offset into the CPUs this process may use) nor a list of
            such CPUs.
    """
    if value is None:
        return None
    allowed = _core.usable_cpus()
    if not isinstance(value, (list, tuple, range)) and np.ndim(value) == 0:
        offset = integer("thread_affinity", value, 0, None, "; or a list of CPUs")
        return [allowed[(offset + i) % len(allowed)] for i in range(workers)]
    cpus = [integer(f"thread_affinity[{i}]", cpu, 0, None) for i, cpu in enumerate(value)]
    for cpu in cpus:
        if cpu not in allowed:
            raise ValueError(f"thread_affinity={value!r} names CPU {cpu}, but this process may use {allowed}")
    if not cpus:
        raise ValueError("thread_affinity=[] names no CPU; None leaves the choice to the system")
    return [cpus[i % len(cpus)] for i in range(workers)]


def _without_ids(*result: Any):
    """What `recv` returns, as `step` does."""
    del result[4]["env_id"]
    return result


class Asynchronous:
    """The part of BatchEnv that steps lanes in the background."""

    num_envs: int
    batch_size: int
    _batch: Any
    closed: bool
    render_mode: str | None
    _renderer: Any
    _step_pending: bool
    _wake: Callable[[], Any] | None = None  # the task that waits in arecv

    @property
    def is_async(self) -> bool:
        """Whether `recv` gives fewer than all lanes: batch_size < num_envs."""
        return self.batch_size < self.num_envs

    def async_reset(self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None) -> None:
        """Sends all lanes off to be reset; `recv` gives their first observations.

        Lanes in flight are waited for, and their results dropped.

        Args:
            seed, options: as `reset` takes them; without "reset_mask".

        Raises:
            TypeError, ValueError: a wrong seed or option.
        """
        self._check_open()
        seeds = check_seed(seed, self.num_envs)
        mask, values = self._check_options(options)
        if mask is not None and not mask.all():
            raise ValueError("async_reset() resets all lanes: use env.reset(options={'reset_mask': mask}) for some")
        with self._hold(settle=False):
            seeds = self._seeder.fill(seeds)
            try:
                self._batch.queue_reset(seeds, values)
            except TypeError as refusal:
                raise ValueError(str(refusal)) from None
            self._seeder.note(seeds, None)
            self._step_pending = False

    def send(self, actions: Any, env_id: Any = None) -> None:
        """Sends lanes off to be stepped, and returns at once.

        Args:
            actions: a row for each lane sent, as `step` takes them.
            env_id: the lanes' numbers, int array or list; None: those last received, in their order.

        Raises:
            TypeError, ValueError: a wrong shape, an action out of range, an unknown or repeated env_id. Nothing was
                sent.
            RuntimeError: a lane is still in flight (nothing was sent), or another thread is using this env.
            gymnasium.error.ResetNeeded: before the first reset, or a finished lane with autoreset disabled.
        """
        send = self._core_send
        if send is not None:
            send(actions, env_id)
            return
        with self._hold(settle=False):
            self._send_held(actions, env_id)

    def recv(self, timeout: float | None = None):
        """Waits for the first `batch_size` lanes to be finished.

        Args:
            timeout: seconds; None: for ever. Ctrl-C is answered either way.

        Returns:
            observations, rewards, terminations, truncations, infos as from `step`, with batch_size rows in the order in
            which lanes got finished: row k is lane `infos["env_id"][k]`. With batch_size == num_envs the rows are in
            the order of the lanes.

        Raises:
            TimeoutError: nothing is lost; call `recv` again.
            LaneError: some of these lanes failed; its `result` is the batch, its `env_id` says which lanes.
            RuntimeError: fewer than batch_size lanes are in flight: that batch would never come.
        """
        if timeout is not None:
            timeout = number("timeout", timeout, "a number of seconds, or None")
            if not timeout >= 0:
                raise ValueError(f"timeout={timeout!r} must be at least 0 seconds, or None")
        result = converted(self._received, self._receive, timeout)
        if self.render_mode == "human":
            self.render()
        return result

    def _receive(self, timeout: float | None):
        recv = self._core_recv
        if recv is not None:
            return recv(timeout)
        with self._hold(settle=False):
            return self._recv_held(timeout)

    def _received(self, *result: Any):
        self._step_pending = False  # if there was one, this is it
        return result

    # ---- step in two halves ------------------------------------------------------------------------------------

    def step_async(self, actions: Any) -> None:
        """Sends all lanes off to be stepped, so that other things can be done before `step_wait`.

        Raises:
            As `send`; gymnasium.error.AlreadyPendingCallError: a step is waited for already.
        """
        self._check_open()
        if self.is_async:
            raise RuntimeError(f"step_async() steps all lanes, but batch_size={self.batch_size}: use send() and recv()")
        if self._step_pending:
            raise AlreadyPendingCallError("step_async() while a step is pending: call step_wait() first", "step")
        self.send(actions, np.arange(self.num_envs))
        self._step_pending = True

    def step_wait(self, timeout: float | None = None):
        """Waits for the step that `step_async` has begun, and returns what `step` would.

        Raises:
            gymnasium.error.NoAsyncCallError: there is none.
            TimeoutError: not done after `timeout` seconds; nothing is lost.
            LaneError: as `step`.
        """
        self._check_open()
        if not self._step_pending:
            raise NoAsyncCallError("step_wait() without a step pending: call step_async() first", "step")
        return converted(_without_ids, self.recv, timeout)

    # ---- event loops -------------------------------------------------------------------------------------------

    def fileno(self) -> int:
        """A file descriptor that is readable when `recv` would not wait, for selectors and event loops.

        It belongs to the env: only wait on it, and not after `close`.

        Raises:
            OSError: the system gives none.
        """
        with self._hold(settle=False):
            return self._batch.fileno()

    async def arecv(self):
        """`recv` for asyncio: other tasks run while lanes are stepped. Needs no thread.

        Raises:
            As `recv`; RuntimeError: another task is waiting for this env.
        """
        self._check_open()
        if self._wake is not None:
            raise RuntimeError("another task is waiting for this env: let one task receive, and share what it gets")
        descriptor = self.fileno()
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        while True:
            try:
                return self.recv(0)
            except TimeoutError:
                ready.clear()
            loop.add_reader(descriptor, ready.set)
            self._wake = functools.partial(loop.call_soon_threadsafe, ready.set)
            try:
                await ready.wait()
            finally:
                self._wake = None
                loop.remove_reader(descriptor)

    def _wake_task(self) -> None:
        """So that a task in arecv sees that the env is closed."""
        if self._wake is not None:
            with contextlib.suppress(RuntimeError):  # its loop is closed, too
                self._wake()

    async def __aiter__(self) -> AsyncIterator[tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]]:
        """Batches as they come, as long as enough lanes are in flight: send the next actions inside the loop."""
        self._check_open()
        while not self.closed and self._batch.in_flight() >= self.batch_size:
            yield await self.arecv()
