"""What the compiled module can do, and what the error says if it is missing beside batchenv's Python files."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

VERSION = "0.1.0"


def check():
    """Raises ImportError unless the compiled module for this Python is there."""
    found = importlib.util.find_spec("batchenv._core")
    if found is None or found.origin is None:  # a folder without __init__.py: that of the module's sources
        raise ImportError(advice(Path(__file__).resolve().parents[1]), name="batchenv._core")


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


def build_info() -> dict[str, Any]:
    """What this build can do and what it chose on this machine.

    Keys:
        version: batchenv's.
        openmp: whether it was built with OpenMP.
        max_threads: the default of `num_threads`.
        numa_nodes: {"node0": how many of its CPUs this process may use, ...}; {} if unknown.
        isa, isas: the instruction set in use, and all that this CPU has.
        libm_mismatches: for how many of 16,384 arguments batchenv's vector functions differ from the C library's. An
            instruction set with any difference is not used.
        linked_mismatches: for how many of 2,048 arguments the C library that this build linked differs from Python's
            `math`. Where it differs, the function that this process has already loaded is called instead.
        python_mismatches: the same for the functions that are called. Any difference comes with a RuntimeWarning.
        numpy_mismatches: for how many arguments NumPy's scalar functions differ from the C library's. If there are
            any, this NumPy, and therefore Gymnasium, differs from batchenv in the last bit.
    """
    from batchenv import _core  # which may be missing where `check` is called

    return {"version": VERSION, **_core.build_info()}
