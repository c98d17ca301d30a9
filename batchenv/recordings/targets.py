"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def written(path: str | os.PathLike[str], recording: Path) -> Iterator[Path]:
    """Gives a name beside `path` to write to. At the end the file gets the name `path`; after an error it is removed.

    Raises:
        ValueError: `path` is the recording itself.
        FileNotFoundError, IsADirectoryError: there is no such folder; `path` is one.
    """
    target = Path(os.path.realpath(os.fspath(path)))
    if target.exists():
        if recording.exists() and os.path.samefile(target, recording):
            raise ValueError(f"{path} is the recording itself, which this would destroy: choose another path")
        if target.is_dir():
            raise IsADirectoryError(f"{path} is a folder: name a file")
        if not target.is_file():  # a device
            yield target
            return
    elif not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent}: make it first")
    part = target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
