"""examples/async_loop.py runs, and its learner finds the value that it says is right."""

import os
import re
import subprocess
import sys
from pathlib import Path

import batchenv

ROOT = Path(__file__).resolve().parents[1]


def test_async_loop():
    path = os.pathsep.join([str(Path(batchenv.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, str(ROOT / "examples" / "async_loop.py"), "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    first, *lines = done.stdout.splitlines()
    right = float(first.split()[-1])
    learnt = [float(value) for value in re.findall(r"learnt value ([\d.]+)", done.stdout)]
    assert [line.split()[0] for line in lines] == ["step", "step_async", "send/recv"] and len(learnt) == 3
    # Fewer steps get done on a busy machine, so how near the values are is left open; they start from 0.
    assert all(0.5 * right < value < 1.3 * right for value in learnt), done.stdout
