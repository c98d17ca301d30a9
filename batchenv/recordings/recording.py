"""`batchenv.replay`: a recording that is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from batchenv.arguments.numbers import integer
from batchenv.env.batch_env import BatchEnv
from batchenv.recordings.exports import Exports


class Recording(Exports):
    """What `record` has written. Made by `replay`; a context manager. Steps are numbered per lane from 0 on, and where
    all lanes were stepped together, these numbers are the same in all lanes.

    Attributes:
        path: of the file.
        header: what it says of the env: "id", "num_envs", "make" (how the env is made again), "versions" and so on.
        complete: whether the recording was finished. False: it was cut off, as by a crash, or is still being written;
            what was written before can be replayed.
        left_out: bytes at the end of a file that was cut off, which are no whole block.
        stored: whether observations, rewards and infos are in the file.
        differences: what differs here from where it was recorded, and does not decide what lanes do: a list of texts.
        info: as `record` was given it.
    """


def replay(
    path: str | os.PathLike[str], *, num_threads: int | None = None, make_env: Callable[[], BatchEnv] | None = None,
    trust: bool = False, ignore_versions: bool = False, until_damage: bool = False,
) -> Recording:  # fmt: skip
    """Opens a recording that `record` has written.

        with batchenv.replay("run.rec") as recording:
            window = recording.window(1000, 2000)  # observations, rewards, ...: (1000, lanes, ...)
            recording.verify()

    Nothing in the file is run by that. The env is made when something is first replayed.

    Args:
        path: of the file.
        num_threads: of the env that is stepped; results do not depend on it.
        make_env: a function without arguments that makes an env like the recorded one, with as many lanes. Needed where
            that was made from functions or objects; otherwise None.
        trust: load snapshots of environments in Python, which are pickles and may run any code, and libraries that were
            compiled from C files. Say it of files whose origin you know.
        ignore_versions: replay with other versions of batchenv or of the simulator than it was recorded with; the
            checksums tell whether results differ.
        until_damage: read what lies before the first damaged block.

    Raises:
        FileNotFoundError: there is no such file.
        RecordingError: it is no recording, or of another format.
        DamagedRecording: it is damaged; the error names the place.
    """
    path = Path(os.fspath(path))
    if num_threads is not None:
        num_threads = integer("num_threads", num_threads, 1, None)
    if make_env is not None and not callable(make_env):
        raise TypeError(f"make_env={make_env!r} must be a function without arguments that makes an env, or None")
    return Recording(path, num_threads, make_env, bool(trust), bool(ignore_versions), bool(until_damage))
