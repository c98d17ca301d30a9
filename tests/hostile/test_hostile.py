"""The attacks of this folder, each as a test; see README.md."""

import os
from concurrent.futures import ThreadPoolExecutor

import harness
import pytest

ATTACKS = {found.name: found for found in harness.load()}


@pytest.fixture(scope="session")
def verdicts(request):
    """{name: what will be the verdict}, of the attacks that this session runs: as many at a time as there are CPUs."""
    chosen = {item.callspec.params["name"] for item in request.session.items if item.path.name == "test_hostile.py"}
    workers = min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    if "PYTEST_XDIST_WORKER" in os.environ:  # each worker has the whole list, and is told to run a part of it
        yield {}
        return
    with ThreadPoolExecutor(workers) as pool:
        yield {name: pool.submit(harness.run, ATTACKS[name]) for name in sorted(chosen) if not ATTACKS[name].missing()}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_attack(name, verdicts):
    if missing := ATTACKS[name].missing():
        pytest.skip(f"needs {missing}")
    found = verdicts[name].result() if name in verdicts else harness.run(ATTACKS[name])
    assert found.verdict == ATTACKS[name].expected, f"{found.verdict}: {found.details}"
