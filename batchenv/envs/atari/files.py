"""Where the emulator's library and the ROMs are."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from pathlib import Path

from gymnasium.error import DependencyNotInstalled

from batchenv.envs.atari import games
from batchenv.system import installed

_MISSING = "pip install 'batchenv[atari]'"


def library_path() -> Path:
    """libale_c of the installed multi-agent-ale-py.

    Raises:
        gymnasium.error.DependencyNotInstalled: there is none.
    """
    path = installed.file_of("multi_agent_ale_py", "libale_c.so")
    if path is None:
        raise DependencyNotInstalled(f"Atari games need libale_c of multi-agent-ale-py: {_MISSING}")
    return path


def _checked_rom(game: str) -> tuple[Path, bytes]:
    """The ROM of a game: its file, and what is in it. See `rom_path`."""
    known = games.about(game).md5
    folder = os.environ.get("ALE_ROMS_DIR")
    if not folder:
        spec = importlib.util.find_spec("ale_py")
        if spec is None or not spec.submodule_search_locations:
            raise DependencyNotInstalled(f"Atari games need the ROMs of ale-py: {_MISSING}")
        folder = os.path.join(spec.submodule_search_locations[0], "roms")
    path = Path(folder) / f"{game}.bin"
    if not path.exists():
        raise FileNotFoundError(f"there is no ROM {path}: {_MISSING}, or set ALE_ROMS_DIR to a folder that has it")
    content = path.read_bytes()
    md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if md5 != known:
        raise ValueError(
            f"{path} is damaged or another version: its MD5 is {md5}, and the emulator knows {known}; "
            "pip install --force-reinstall ale-py"
        )
    return path, content


def rom_path(game: str) -> Path:
    """The ROM of a game: in the folder that the environment variable ALE_ROMS_DIR names, or else in ale-py's.

    Raises:
        gymnasium.error.DependencyNotInstalled: no ALE_ROMS_DIR and no ale-py.
        FileNotFoundError: the folder has no such ROM.
        ValueError: no such game, or the file is not the ROM that it should be.
    """
    return _checked_rom(game)[0]


class Rom:
    """A game's ROM as it was when it was checked: the emulator ends the process over a file that it does not know, and
    reads it once per lane.

    name: the file's path. path: that of a copy in memory which nobody can change, as long as this lives; where the
    system has no such thing, the file's own. Raises what `rom_path` raises.
    """

    def __init__(self, game: str):
        self._copy = -1
        file, content = _checked_rom(game)
        self.name = self.path = os.fsencode(file)
        try:
            import fcntl

            self._copy = os.memfd_create(file.name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.write(self._copy, content)
            seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
            fcntl.fcntl(self._copy, fcntl.F_ADD_SEALS, seals)
            path = f"/proc/self/fd/{self._copy}"
            if Path(path).read_bytes() == content:
                self.path = os.fsencode(path)
        except (AttributeError, ImportError, OSError):  # not Linux, or without /proc
            pass

    def __del__(self):
        if self._copy >= 0:
            os.close(self._copy)


def minimal_actions(game: str) -> list[str]:
    """Names of the actions that mean something in a game for one player, in the order of the action space; [] where
    ale-py is not installed."""
    if importlib.util.find_spec("ale_py") is None:
        return []
    import ale_py

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    emulator = ale_py.ALEInterface()
    emulator.loadROM(rom_path(game))
    return [action.name for action in emulator.getMinimalActionSet()]
