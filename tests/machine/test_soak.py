"""A short soak: nothing leaks and no step gets lost. `python tools/verify/soak.py --minutes N` is the long one."""

import os

import pytest

from helpers.processes import python
from helpers.project import ROOT

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc")


def test_a_short_soak():
    done = python(ROOT / "tools" / "verify" / "soak.py", "--minutes", 0.05, "--constructions", 200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok ") == 12 and "BROKEN" not in done.stdout


def test_a_short_soak_of_processes():
    done = python(ROOT / "tools" / "verify" / "soak_processes.py", "--faults", 12)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "results that followed one another" in done.stdout and "ok     files, processes" in done.stdout


@pytest.mark.long
def test_the_soak_of_processes_sees_a_lost_step():
    code = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import soak_processes
step = soak_processes.Walk.step
def forgetful(self, action):
    self.count += self.count == 3
    return step(self, action)
soak_processes.Walk.step = forgetful
sys.exit(soak_processes.main())
"""
    done = python("-c", code, ROOT / "tools" / "verify", "--faults", 12)
    assert done.returncode == 1 and "BROKEN lane" in done.stdout


@pytest.mark.long
def test_the_soak_sees_a_leak():
    code = """
import os, sys
sys.path.insert(0, sys.argv.pop(1))
import soak
kept, construct = [], soak.construct
def leaking(i):
    construct(i)
    kept.append((open(os.devnull), bytearray(1 << 16)))
soak.construct = leaking
sys.exit(soak.main())
"""
    done = python("-c", code, ROOT / "tools" / "verify", "--minutes", 0.01, "--constructions", 100)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN constructions: memory" in done.stdout and "BROKEN constructions: files" in done.stdout
