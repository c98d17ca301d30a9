"""Which of the tests over all environments run for MuJoCo's ids: test_mujoco.py has tests of their own."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
if not any((ROOT / "batchenv").glob("_core.*.so")):
    # Not built in place: the installed package is meant, here and in every Python that a test starts.
    sys.path[:] = [folder for folder in sys.path if Path(folder or ".").resolve() != ROOT]
    os.environ["PYTHONSAFEPATH"] = "1"

import batchenv  # noqa: E402

MUJOCO = {
    name
    for name, entry in batchenv.registry.TABLE.items()
    if (entry.adapter or "").startswith("batchenv.engines.mujoco.")
}
SAMPLE = {"Hopper-v5", "Reacher-v4"}  # the whole machinery at a bearable cost
NOT_HERE = ("test_render.py", "test_determinism.py")  # pictures without pygame; lanes by the thousand


def pytest_collection_modifyitems(config, items):
    missing = importlib.util.find_spec("mujoco") is None
    kept, dropped = [], []
    for item in items:
        ids = MUJOCO.intersection(str(value) for value in getattr(item, "callspec", _None).params.values())
        name = item.path.name
        if ids and not name.startswith("test_mujoco") and (not ids <= SAMPLE or name in NOT_HERE):
            dropped.append(item)
            continue
        if ids and missing:
            item.add_marker(pytest.mark.skip(reason="mujoco is not installed: pip install 'batchenv[mujoco]'"))
        kept.append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=dropped)


class _None:
    params: dict = {}
