"""What the annotations say is right: in batchenv itself, and for those who use it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("basedpyright")

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def problems(*arguments: str | Path) -> list[str]:
    """What the checker says, warnings included."""
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run([*command, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, timeout=1200)
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"], done.stdout + done.stderr
    found = report["generalDiagnostics"]
    return [f"{one['file']}:{one['range']['start']['line'] + 1}: {one['message']}" for one in found]


@pytest.mark.long  # .ci/run begins with it
def test_batchenv_passes():
    assert problems("--project", ROOT) == []


def test_user_code_has_the_types_that_it_says(tmp_path):
    """Its last lines are wrong: if the checker does not say so, it says that their comments are not needed."""
    config = tmp_path / "pyrightconfig.json"
    settings = {
        "include": [str(HERE / "typed_user_code.py")],
        "extraPaths": [str(ROOT)],
        "pythonVersion": "3.11",
        "typeCheckingMode": "standard",
        "reportMissingImports": False,  # of learners, which need not be here
        "reportUnnecessaryTypeIgnoreComment": True,
    }
    config.write_text(json.dumps(settings))
    assert problems("--project", config) == []
