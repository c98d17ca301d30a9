"""Files of installed packages, which are found without importing these."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def file_of(module: str, *parts: str) -> Path | None:
    """The path of a file of an installed package; None: the package, or this file of it, is missing."""
    spec = importlib.util.find_spec(module)
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder, *parts)
        if path.exists():
            return path
    return None
