"""The file of a recording: a header and blocks, each with checksums of its own.

    "BATCHREC", uint32 version, uint32 0, then blocks:
    4 bytes: kind; uint64: length of the payload; uint32: CRC-32 of the payload; uint32: CRC-32 of these 16 bytes;
    the payload

The last block of a recording that was finished is an index (kind "INDX"), after which the file ends with the offset of
that block (uint64) and "BATCHEND". All numbers are little-endian.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from batchenv.recordings.errors import DamagedRecording, RecordingError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

VERSION = 1
_START = struct.Struct("<8sII")
_BLOCK = struct.Struct("<4sQII")
_END = struct.Struct("<Q8s")
_MAGIC, _TAIL = b"BATCHREC", b"BATCHEND"
INDEX = b"INDX"


class Block(NamedTuple):
    """Where a block is. offset: of its first byte; length: of its payload."""

    kind: bytes
    offset: int
    length: int

    @property
    def end(self) -> int:
        """The offset behind it."""
        return self.offset + _BLOCK.size + self.length


class Writer:
    """Appends blocks to a new file, which no other process writes at the same time.

    Args:
        path: of the file.
        overwrite: whether a file of this name may be replaced.

    Attributes:
        size: bytes of whole blocks.

    Raises:
        FileExistsError: there is such a file.
        RecordingError: another recording is being written to it.
    """

    def __init__(self, path: Path, overwrite: bool):
        self.path, self.size, self._process = path, 0, os.getpid()
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | (0 if overwrite else os.O_EXCL)
        try:
            self._file = os.open(path, flags, 0o666)
        except FileExistsError:
            raise FileExistsError(f"{path} exists: choose another path, or say overwrite=True to replace it") from None
        try:
            self._lock()
            if os.fstat(self._file).st_size:  # a device cannot be cut
                os.ftruncate(self._file, 0)
            self._write(_START.pack(_MAGIC, VERSION, 0))
            self.size = _START.size
        except BaseException:
            self.close()
            if not overwrite:
                path.unlink(missing_ok=True)
            raise

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RecordingError(
                f"{self.path} is being written by another recording: close that one, or choose another path"
            ) from None

    def append(self, kind: bytes, payload: bytes) -> Block:
        """Writes a block. If this fails, the file ends after the last whole one."""
        block = Block(kind, self.size, len(payload))
        head = struct.pack("<4sQI", kind, len(payload), zlib.crc32(payload))
        try:
            self._write(head + struct.pack("<I", zlib.crc32(head)))
            self._write(payload)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self.size)
                os.lseek(self._file, self.size, os.SEEK_SET)
            raise
        self.size = block.end
        return block

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._file, view) :]

    def sync(self) -> None:
        """Waits until the disk has all blocks."""
        with contextlib.suppress(OSError):  # not everything that can be written can be synchronised
            os.fsync(self._file)

    def finish(self, index: bytes) -> None:
        """Writes the index, after which the recording is complete."""
        block = self.append(INDEX, index)
        self._write(_END.pack(block.offset, _TAIL))
        self.sync()

    def close(self) -> None:
        """Closes the file. May be called again."""
        if self._file >= 0:
            file, self._file = self._file, -1
            if fcntl is not None and os.getpid() == self._process:
                with contextlib.suppress(OSError):
                    fcntl.flock(file, fcntl.LOCK_UN)  # else a forked child that has the file, too, would go on locking
            os.close(file)


class Reader:
    """Reads blocks of a file.

    Args:
        path: of the file.
        until_damage: read only what lies before the first damaged block.

    Attributes:
        complete: whether the recording was finished.
        left_out: bytes at the end of the file that are no whole block.

    Raises:
        RecordingError: it is no recording, or of another version.
        DamagedRecording: a block is damaged.
    """

    def __init__(self, path: Path, until_damage: bool):
        self.path, self.complete, self.left_out = path, False, 0
        self._file = open(path, "rb")  # noqa: SIM115 closed by close()
        try:
            self.size = os.fstat(self._file.fileno()).st_size
            self._check_start()
            index = None if until_damage else self._index()
            self.complete = index is not None
            self.blocks = list(self._scan(until_damage)) if index is None else []
            self.index = index
        except BaseException:
            self._file.close()
            raise

    def _check_start(self) -> None:
        start = self._file.read(_START.size)
        if len(start) < _START.size or start[:8] != _MAGIC:
            raise RecordingError(f"{self.path} is not a recording of batchenv: it does not begin as one")
        version = _START.unpack(start)[1]
        if version != VERSION:
            raise RecordingError(
                f"{self.path} has format {version}, and this batchenv reads format {VERSION}: take the release that "
                "wrote it"
            )

    def _index(self) -> bytes | None:
        """The payload of the index; None if the recording was not finished."""
        if self.size < _START.size + _END.size:
            return None
        self._file.seek(self.size - _END.size)
        offset, tail = _END.unpack(self._file.read(_END.size))
        if tail != _TAIL or not _START.size <= offset <= self.size - _END.size - _BLOCK.size:
            return None
        head = self._head(offset)
        if head is None or head[0].kind != INDEX or head[0].end != self.size - _END.size:
            return None
        return self.read(head[0])

    def _head(self, offset: int) -> tuple[Block, int] | None:
        """The block at this offset, and the CRC of its payload; None if its head is damaged."""
        self._file.seek(offset)
        head = self._file.read(_BLOCK.size)
        if len(head) < _BLOCK.size:
            return None
        kind, length, crc, own = _BLOCK.unpack(head)
        return (Block(kind, offset, length), crc) if zlib.crc32(head[:-4]) == own else None

    def _scan(self, until_damage: bool) -> Iterator[Block]:
        """All whole blocks. What was torn at the end, as by a crash, is left out; other damage is an error."""
        offset = _START.size
        while offset < self.size:
            found = self._head(offset)
            if found is not None and found[0].kind == INDEX:  # the end of a file that was finished is not whole
                self.left_out = self.size - offset
                return
            whole = found is not None and found[0].end <= self.size
            if whole and found is not None and zlib.crc32(self._file.read(found[0].length)) == found[1]:
                yield found[0]
                offset = found[0].end
                continue
            if not until_damage and not self._torn(offset, found, whole):
                raise self._damaged(offset)
            self.left_out = self.size - offset
            return

    def _torn(self, offset: int, found: tuple[Block, int] | None, whole: bool) -> bool:
        """Whether a bad block looks as if its writing was interrupted."""
        if found is None:  # no head: too short, or never written
            self._file.seek(offset)
            rest = self._file.read(4096)
            return self.size - offset < _BLOCK.size or not any(rest)
        return not whole or found[0].end == self.size

    def _damaged(self, offset: int) -> DamagedRecording:
        return DamagedRecording(
            f"{self.path} is damaged at byte {offset} of {self.size}: restore it from a copy, or read what lies before "
            "with batchenv.replay(path, until_damage=True)",
            offset,
        )

    def read(self, block: Block) -> bytes:
        """The payload of a block."""
        found = self._head(block.offset)
        if found is not None and found[0] == block:
            payload = self._file.read(block.length)
            if len(payload) == block.length and zlib.crc32(payload) == found[1]:
                return payload
        raise self._damaged(block.offset)

    def close(self) -> None:
        """Closes the file. May be called again."""
        self._file.close()
