"""Which batchenv is tested, here and in every Python a test starts: the one built in place, or the installed one."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path[:] = [folder for folder in sys.path if Path(folder or ".").resolve() != ROOT]
if any((ROOT / "batchenv").glob("_core.*.so")):
    sys.path.insert(0, str(ROOT))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
else:
    sys.path.append(str(ROOT))  # for the modules of the build; the batchenv there is behind the installed one
    os.environ["PYTHONSAFEPATH"] = "1"


def pytest_collection_modifyitems(items):
    """`pytest -n` needs the same ids in all of its processes."""
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid} has an address in its id: give parametrize() ids")
