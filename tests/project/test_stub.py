"""batchenv/_core.pyi says what the compiled module has."""

import subprocess
import sys
from pathlib import Path

import pytest

import batchenv

# What is in the module and not in the stub, as regular expressions.
ALLOWED = r"""
# Cython gives these to every module and class, for its own use.
batchenv\._core\.__test__
batchenv\._core\.(.*\.)?__(reduce|setstate)_cython__
# The classes on which Batch is based, one on the other: the stub has all their methods in Batch.
batchenv\._core\.(Lanes|SteppedLanes|SavedLanes|PlannedLanes)
# Classes that the module makes for itself, and whose methods no Python code calls; `Batch.hold` is a context manager.
batchenv\._core\.(ActionPart|Actions|Calls|Hold|Layout|NumberColumn|Output|Outputs|Params|Queue|Runner|Spare)
"""


@pytest.mark.long  # half a minute, and it needs mypy: .ci/run has it
def test_the_stub_has_all_names_and_signatures_of_the_module(tmp_path):
    pytest.importorskip("mypy")
    allowed = tmp_path / "allowed"
    allowed.write_text(ALLOWED)
    command = [sys.executable, "-m", "mypy.stubtest", "batchenv._core", "--allowlist", str(allowed)]
    # mypy takes what is below its folder for the user's own. What is installed it finds from anywhere.
    folder = Path(batchenv.__file__).parents[1]
    folder = tmp_path if folder.name == "site-packages" else folder
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert found.returncode == 0, found.stdout + found.stderr
