"""Lanes in flight: the methods of BatchEnv that send and receive, and what is built on them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import numpy as np
from gymnasium.error import AlreadyPendingCallError, NoAsyncCallError

from batchenv._core import LaneError
from batchenv.arguments.numbers import number
from batchenv.arguments.seeds import check_seed
from batchenv.arguments.settings import check_options
from batchenv.backend.protocol import Actions, Backend, EnvIds, Step
from batchenv.backend.results import converted
from batchenv.env.planning import Plans
from batchenv.spaces.pytrees import tell_libraries


class Flights(Plans):
    """`BatchEnv.send`, `recv` and their sisters."""

    def async_reset(self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None) -> None:
        """Sends all lanes to be reset; `recv` returns their first observations.

        Lanes in flight are waited for, and their results are dropped.

        Args:
            seed, options: as in `reset`, but without "reset_mask".

        Raises:
            TypeError, ValueError: a wrong seed or option.
        """
        backend = self._open()
        seeds = check_seed(seed, self.num_envs)
        mask, values = check_options(options, self.num_envs)
        if mask is not None and not mask.all():
            raise ValueError("async_reset() resets all lanes: use env.reset(options={'reset_mask': mask}) for some")
        with backend.hold(settle=False):
            given, seeds = seeds, self._seeder.fill(seeds)
            tell_libraries()
            try:
                with self._unplanned(backend, given, None):
                    backend.send_reset(seeds, values)
            except TypeError as refusal:
                raise ValueError(str(refusal)) from None
            self._seeder.note(seeds, None)
            self._step_pending = False

    def send(self, actions: Actions, env_id: EnvIds | None = None) -> None:
        """Sends lanes to be stepped, and returns at once.

        Args:
            actions: one row per lane sent, in the form that `step` takes.
            env_id: the lanes' numbers, int array or list; None: those last received, in their order.

        Raises:
            TypeError, ValueError: a wrong shape, an action out of range, an unknown or repeated env_id. Nothing was
                sent.
            RuntimeError: a lane is still in flight (nothing was sent), or another thread is using this env.
            gymnasium.error.ResetNeeded: before the first reset, or a finished lane with autoreset disabled.
        """
        send = self._hold_and_send
        if send is not None:
            send(actions, env_id)
            return
        backend = self._open()
        with backend.hold(settle=False):
            self._held_send(backend, actions, env_id)

    def _held_send(self, backend: Backend, actions: Actions, env_id: EnvIds | None) -> None:
        self._drawer.watch(actions, backend.send(actions, env_id))

    def recv(self, timeout: float | None = None) -> Step:
        """Waits for the first `batch_size` lanes to be finished.

        Args:
            timeout: seconds; None: wait forever. Ctrl-C is answered in both cases.

        Returns:
            observations, rewards, terminations, truncations, infos as from `step`, with batch_size rows in the order in
            which lanes got finished: row k is lane `infos["env_id"][k]`. With batch_size == num_envs the rows are in
            the order of the lanes.

        Raises:
            TimeoutError: the batch was not complete in time. Nothing is lost; call `recv` again.
            LaneError: some of these lanes failed; its `result` is the batch, its `env_id` says which lanes.
            RuntimeError: fewer than batch_size lanes are in flight, so the batch would never be complete.
        """
        if timeout is not None:
            timeout = number("timeout", timeout, "a number of seconds, or None")
            if not timeout >= 0:
                raise ValueError(f"timeout={timeout!r} must be at least 0 seconds, or None")
        recv = self._hold_and_recv
        try:
            if recv is not None:
                result = recv(timeout)
            else:
                backend = self._open()
                with backend.hold(settle=False):
                    result = backend.recv(timeout)
        except LaneError:
            self._step_pending = False
            raise
        self._step_pending = False  # if a step was pending, these are its results
        self._show()
        return result

    def step_async(self, actions: Actions) -> None:
        """Sends all lanes to be stepped, so that other work can be done before `step_wait`.

        Raises:
            As `send`; gymnasium.error.AlreadyPendingCallError: a step is already pending.
        """
        self._open()
        if self.is_async:
            raise RuntimeError(f"step_async() steps all lanes, but batch_size={self.batch_size}: use send() and recv()")
        if self._step_pending:
            raise AlreadyPendingCallError("step_async() while a step is pending: call step_wait() first", "step")
        self.send(actions, np.arange(self.num_envs))
        self._step_pending = True

    def step_wait(self, timeout: float | None = None) -> Step:
        """Waits for the step that `step_async` has begun, and returns what `step` would.

        Raises:
            gymnasium.error.NoAsyncCallError: no step is pending.
            TimeoutError: the step was not done after `timeout` seconds. Nothing is lost.
            LaneError: as `step`.
        """
        self._open()
        if not self._step_pending:
            raise NoAsyncCallError("step_wait() without a step pending: call step_async() first", "step")
        return converted(_without_ids, self.recv, timeout)

    def fileno(self) -> int:
        """A file descriptor that is readable when `recv` would not wait, for selectors and event loops.

        It belongs to the env: only wait on it, and do not use it after `close`.

        Raises:
            OSError: the system has no such descriptor.
        """
        backend = self._open()
        with backend.hold(settle=False):
            return backend.fileno()

    async def arecv(self) -> Step:
        """`recv` for asyncio: other tasks run while lanes are stepped. It needs no additional thread.

        Raises:
            As `recv`; RuntimeError: another task is waiting for this env.
        """
        self._open()
        self._waiter.check_free()
        return await self._waiter.wait(self.fileno(), self.recv)

    async def __aiter__(self) -> AsyncIterator[Step]:
        """Yields batches of results as long as enough lanes are in flight: send the next actions inside the loop."""
        self._open()
        while not self.closed and self._open().in_flight() >= self.batch_size:
            yield await self.arecv()


def _without_ids(*result: Any) -> Any:
    """The result of `recv` in the form that `step` returns, without "env_id"."""
    del result[4]["env_id"]
    return result
