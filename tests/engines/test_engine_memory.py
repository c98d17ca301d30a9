"""Lanes of simulators that do not fit into memory are refused; none ends the process."""

import re

import pytest

from batchenv.system import memory
from helpers.processes import run_python

resource = pytest.importorskip("resource")

UNDER_A_LIMIT = """
import resource, sys
import batchenv
from batchenv.system import memory

def room():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) * 1024

batchenv.make("{env_id}", 1).reset(seed=0)
resource.setrlimit(resource.RLIMIT_AS, (room() + {megabytes} * 10**6,) * 2)
{unchecked}
try:
    batchenv.make("{env_id}", {lanes}, num_threads={threads}).reset(seed=0)
except MemoryError as error:
    print("refused:", error)
else:
    print("made")
"""


def under_a_limit(env_id, lanes, megabytes, checked=True, threads=1):
    unchecked = "" if checked else "memory.check = lambda *arguments: None"
    code = UNDER_A_LIMIT.format(env_id=env_id, lanes=lanes, megabytes=megabytes, unchecked=unchecked, threads=threads)
    return run_python(code, timeout=300)


@pytest.mark.parametrize(
    "env_id, needs, lanes, threads", [("Pong-v5", "multi_agent_ale_py", 2000, 1), ("Hopper-v5", "mujoco", 100, 80)]
)
def test_lanes_that_do_not_fit_under_a_limit(env_id, needs, lanes, threads):
    pytest.importorskip(needs)
    said = under_a_limit(env_id, lanes, 500, threads=threads)
    assert re.match(rf"refused: {lanes} lanes of .* and 0.(4|50).* GB are free under RLIMIT_AS", said)
    assert under_a_limit(env_id, 20, 500).strip() == "made"


@pytest.mark.cases(2)
@pytest.mark.parametrize("megabytes", [3, 30, 61, 100])
def test_the_emulator_is_asked_for_no_more_than_there_is(megabytes):
    """Where the estimate is wrong, or others take memory meanwhile: it would throw through C."""
    pytest.importorskip("multi_agent_ale_py")
    assert "refused: " in under_a_limit("Pong-v5", 3000, megabytes, checked=False)


@pytest.mark.parametrize("env_id, needs", [("Breakout-v5", "multi_agent_ale_py"), ("Hopper-v5", "mujoco")])
def test_more_lanes_than_memory(env_id, needs):
    pytest.importorskip(needs)
    import batchenv

    with pytest.raises(MemoryError, match=r"100000000 lanes of .* need at least .* GB of memory, and .* are free"):
        batchenv.make(env_id, 100_000_000)


@pytest.mark.parametrize("form, bytes_a_lane", [({}, 400_000), ({"obs_type": "rgb", "stack_num": 16}, 2_300_000)])
def test_the_estimate_is_about_right(form, bytes_a_lane, monkeypatch):
    pytest.importorskip("multi_agent_ale_py")
    import batchenv

    asked = []
    monkeypatch.setattr("batchenv.system.memory.check", lambda what, filled, addressed: asked.append(filled))
    batchenv.make("Pong-v5", 2, **form)
    assert 0.9 < asked[0] / 2 / bytes_a_lane < 1.1  # as docs/benchmarks/atari.md says, measured


@pytest.mark.parametrize(
    "files, left",
    [
        ({}, None),
        ({"memory.max": "max\n", "memory.current": "5000\n"}, None),
        ({"memory.max": "9000\n", "memory.current": "5000\n", "memory.stat": "anon 7\ninactive_file 300\n"}, 4300),
        ({"memory.max": "9000\n", "memory.current": "5000\n"}, 4000),
        ({"memory.limit_in_bytes": "9000\n", "memory.usage_in_bytes": "9500\n"}, -500),
        (
            {
                "memory.limit_in_bytes": "9000\n",
                "memory.usage_in_bytes": "5000\n",
                "memory.stat": "inactive_file 1\ntotal_inactive_file 20\n",
            },
            4020,
        ),
        ({"memory.max": "garbage\n", "memory.current": ""}, None),
    ],
)
def test_limits_of_control_groups(tmp_path, files, left):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert memory._group_left(tmp_path) == left
