"""Where Procgen's library and its images are."""

from __future__ import annotations

from pathlib import Path

from gymnasium.error import DependencyNotInstalled

from batchenv.system import installed

INSTALL = "pip install --no-deps procgen2==0.10.7"  # what it asks for includes a NumPy before version 2


def library_path() -> Path:
    """libenv.so of the installed procgen2, which is not imported: it would want gym and gym3.

    Raises:
        gymnasium.error.DependencyNotInstalled: there is none.
    """
    path = installed.file_of("procgen", "data", "prebuilt", "libenv.so")
    if path is None:
        raise DependencyNotInstalled(f"Procgen's games need libenv.so of procgen2, which is not installed: {INSTALL}")
    return path


def assets_path(library: Path) -> Path:
    """The folder with the library's images.

    Raises:
        FileNotFoundError: there is none.
    """
    folder = library.parent.parent / "assets"
    if not folder.is_dir():
        raise FileNotFoundError(f"Procgen's images are missing: there is no folder {folder}: {INSTALL}")
    return folder
