"""examples/async_loop.py runs and its learner finds the right value; tools/bench/timeline.py draws what it measures."""

import re

import pytest

from helpers.processes import python, succeeded
from helpers.project import ROOT


def run(*arguments):
    # A script finds its neighbours beside itself, whatever the other tests ask of Python.
    return succeeded(python(*arguments, PYTHONSAFEPATH=None))


def test_async_loop():
    output = run(ROOT / "examples" / "async_loop.py", "--quick")
    first, *lines = output.splitlines()
    right = float(first.split()[-1])
    learnt = [float(value) for value in re.findall(r"learnt value ([\d.]+)", output)]
    assert [line.split()[0] for line in lines] == ["step", "step_async", "send/recv"] and len(learnt) == 3
    # Fewer steps get done on a busy machine, so how near the values are is left open; they start from 0.
    assert all(0.5 * right < value < 1.3 * right for value in learnt), output


def test_timeline(tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "timeline.png"
    output = run(ROOT / "tools" / "bench" / "timeline.py", picture, "--runs", 1)
    assert picture.read_bytes().startswith(b"\x89PNG")
    # 72 steps of 4 ms or more on four workers; beyond that it depends on how busy the machine is.
    spans = [float(ms) for ms in re.findall(r"in (\d+) ms", output)]
    assert len(spans) == 2 and all(72 * 4 / 4 <= span < 20_000 for span in spans), output
