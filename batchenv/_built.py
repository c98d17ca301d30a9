"""Says what to do where batchenv's Python files are found without their compiled module."""

import importlib.util
import sys
from pathlib import Path


def check():
    """Raises ImportError unless the compiled module for this Python is there."""
    found = importlib.util.find_spec("batchenv._core")
    if found is None or found.origin is None:  # a folder without __init__.py: that of the module's sources
        raise ImportError(advice(Path(__file__).resolve().parent), name="batchenv._core")


def advice(folder: Path) -> str:
    """What to do about a package in `folder` that has no compiled module for this Python."""
    others = ", ".join(path.name for path in sorted(folder.glob("_core.*.so")))
    found = f"it holds {others}, for another Python" if others else "it has no compiled module _core"
    if (folder.parent / "pyproject.toml").exists():
        return (
            f"batchenv is not built here: pip install -e . ({folder}: {found}). If batchenv is installed elsewhere and "
            "you want that one, start Python in another folder, or as `python -P`"
        )
    return (
        f"batchenv's installation is incomplete ({folder}: {found}): "
        f"{sys.executable} -m pip install --force-reinstall batchenv"
    )
