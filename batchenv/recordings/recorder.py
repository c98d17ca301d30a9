"""`batchenv.record`: what a user gets while an env is recorded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self, cast

import numpy as np

from batchenv.arguments.numbers import brief, integer, number
from batchenv.env import wrapping
from batchenv.env.batch_env import BatchEnv
from batchenv.recordings import leaves
from batchenv.recordings.backend import RecordingBackend
from batchenv.recordings.errors import RecordingError
from batchenv.recordings.file import Writer
from batchenv.recordings.header import describe
from batchenv.recordings.log import Log
from batchenv.recordings.plans import describe_course

_NOT_STORED = ("pickle", "state")


class Recorder:
    """A recording that goes on until `close`, or the end of the `with` block, or of the env. Made by `record`.

    Attributes:
        path: of the file.
    """

    def __init__(self, env: BatchEnv, path: Path, log: Log, writer: Writer, backend: Any):
        self.path, self._env, self._log, self._writer = path, env, log, writer
        self._backend = RecordingBackend(backend, env, log, self._end)
        self._open = True

    @property
    def steps(self) -> int:
        """Steps of lanes that have been recorded: steps times lanes, where all are stepped together."""
        return int(self._log.done.sum()) + self._log.pending

    @property
    def episodes(self) -> int:
        """Episodes that have ended in the steps that are in the file."""
        return self._log.episodes

    @property
    def nbytes(self) -> int:
        """The size of the file."""
        return self._writer.size

    @property
    def closed(self) -> bool:
        """Whether the recording has ended."""
        return not self._open

    def flush(self) -> None:
        """Writes all steps so far, and waits until the disk has them: a recording that is cut off opens up to here.

        Raises:
            RecordingError: recording has stopped.
        """
        if not self._open:
            return
        with wrapping.held(self._env):
            self._backend._begin()
            self._backend._note(self._log.flush)
            self._backend._begin()

    def close(self) -> None:
        """Ends the recording; the env goes on without it. May be called again.

        Raises:
            RecordingError: recording has stopped before, as because the disk is full; the file has what came before.
        """
        if not self._open:
            return
        if self._env.closed:
            self._end()
            return
        with wrapping.held(self._env):
            self._env._put_backend(self._backend.inner)
            self._end()

    def _end(self) -> None:
        """Finishes the file, while the env is held or is being closed."""
        if not self._open:
            return
        self._open = False
        backend = self._backend
        try:
            if os.getpid() != backend._process:
                return
            if backend.failure is None:
                backend._note(self._log.finish)
            if backend.failure is not None:
                raise backend.failure
        finally:
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, problem: Any, trace: Any) -> None:
        try:
            self.close()
        except RecordingError:
            if problem is None:
                raise
            if problem is not self._backend.failure:
                problem.add_note(str(self._backend.failure))

    def __del__(self) -> None:
        writer = getattr(self, "_writer", None)
        if writer is not None:
            writer.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        return f"Recorder({str(self.path)!r}, {self.steps} steps, {self.nbytes} bytes, {state})"


def record(
    env: Any, path: str | os.PathLike[str], *, observations: bool | str = "auto", overwrite: bool = False,
    key_frames: int | None = None, flush_seconds: float = 5.0, info: dict[str, Any] | None = None,
) -> Recorder:  # fmt: skip
    """Records an env into a file, from which `replay` gives every step back: seeds, actions, whatever else changes
    lanes, and checksums of what they return. The env goes on being used as before, by whatever API is around it.

        with batchenv.record(env, "run.rec"):
            ...  # reset and step the env

    Args:
        env: a BatchEnv, or what `make` returns with another `env_type`, or a Gymnasium wrapper around one. It may be in
            the middle of episodes; no lane may be in flight.
        path: of a new file.
        observations: True: observations, rewards and infos are stored, and replays need no env. False: they are not,
            and replays step an env like this one, which must be deterministic. "auto": False for lanes in C, True for
            environments in Python, and for normalizing envs with batch_size < num_envs.
        overwrite: whether a file of this name is replaced.
        key_frames: steps between two snapshots from which replays can begin, about. None: by their size: a quarter of
            the file at most, but not fewer than 512 steps nor more than 8192.
        flush_seconds: a block of steps is written when it is full, or by the first step so many seconds after its first
            one. math.inf: when it is full.
        info: anything that JSON can hold, kept as `Recording.info`.

    Returns:
        a `Recorder`, which is a context manager.

    Raises:
        TypeError, ValueError: a wrong argument; an env with lanes in flight.
        FileExistsError: there is such a file.
        RecordingError: the env cannot be recorded so, or is being recorded already, with the reason; or another
            recording writes this file.
        gymnasium.error.ClosedEnvironmentError: the env is closed.
    """
    lanes = _batch_env(env)
    if observations not in ("auto", True, False):
        raise ValueError(f"observations={observations!r} must be 'auto', True or False")
    key_steps = None if key_frames is None else integer("key_frames", key_frames, 1, None)
    if not number("flush_seconds", flush_seconds) > 0:
        raise ValueError(f"flush_seconds={flush_seconds!r} must be more than 0, such as 5 or math.inf")
    path = Path(os.fspath(path))
    backend = wrapping.backend_of(lanes)
    if backend.innermost() is not backend:
        raise RecordingError(f"{lanes!r} is being recorded already: close that recording first")
    with wrapping.held(lanes):
        flying = backend.in_flight()
        if flying:
            raise ValueError(f"record() while {flying} lanes are in flight: recv() them first")
        stores = _stores(lanes, backend, observations)
        header = {**describe(lanes), "observations": stores, "fresh": backend.needs_reset}
        header |= {"snapshots": getattr(backend, "_snapshots", None), "info": info or {}}
        _check(lanes, backend, stores)
        described = None  # what refuses does so before there is a file, or another one is replaced
        if lanes.present_plan is not None and not stores:
            described = describe_course(lanes.present_plan._course, backend)
        leaves.leaves_of(lanes.single_action_space)
        for tell in lanes._direct:  # whoever cannot be watched says so before there is a file
            tell(cast(Any, _Watched(backend)))
        writer = Writer(path, bool(overwrite))
        try:
            log = Log(
                writer, lanes, backend, header, stores=stores, key_steps=key_steps,
                has_snapshots=not stores, flush_seconds=float(flush_seconds),
            )  # fmt: skip
            if described is not None:
                log.event("plan", {"course": described}, {"places": backend.places()})
            if not backend.needs_reset and not stores:
                log.key_frame(np.arange(lanes.num_envs))
            recorder = Recorder(lanes, path, log, writer, backend)
            lanes._put_backend(recorder._backend)
        except BaseException:
            writer.close()
            if not overwrite:
                path.unlink(missing_ok=True)
            raise
    return recorder


class _Watched:
    """Stands for a backend that watches another one."""

    def __init__(self, inner: Any):
        self._inner = inner

    def innermost(self) -> Any:
        return self._inner


def _batch_env(env: Any) -> BatchEnv:
    """The BatchEnv below other APIs and wrappers."""
    seen = env
    for _ in range(100):
        if isinstance(seen, BatchEnv):
            return seen
        below = getattr(seen, "env", None)
        if below is None:
            below = getattr(seen, "venv", None)
        if below is None:
            break
        seen = below
    raise TypeError(
        f"env={brief(env)} must be a BatchEnv, or an API or wrapper around one, not {type(env).__name__}: make it with "
        "batchenv.make"
    )


def _stores(env: BatchEnv, backend: Any, observations: bool | str) -> bool:
    if observations != "auto":
        return bool(observations)
    return backend.has_envs or (env.is_async and (env.normalizer is not None or env.reward_normalizer is not None))


def _check(env: BatchEnv, backend: Any, stores: bool) -> None:
    """Raises RecordingError if an env cannot be recorded without its results."""
    if stores:
        return
    snapshots = getattr(backend, "_snapshots", None)
    if backend.has_envs and snapshots not in _NOT_STORED:
        raise RecordingError(
            f"environments in Python with snapshots={snapshots!r} have no key frames: make them with "
            "snapshots='pickle' or 'state', or record with observations=True"
        )
    if env.is_async and (env.normalizer is not None or env.reward_normalizer is not None):
        raise RecordingError(
            "the moments of a normalizing env with batch_size < num_envs depend on which lanes are finished first: "
            "record it with observations=True"
        )
    if backend.changes():
        raise RecordingError(
            "fields of lanes' models have been changed by set_params() before the recording, and snapshots do not hold "
            "them: begin to record before that, or record with observations=True"
        )
