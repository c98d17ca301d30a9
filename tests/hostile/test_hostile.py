"""The attacks of this folder, each as a test; see README.md."""

import os
from concurrent.futures import ThreadPoolExecutor

import harness
import pytest

ATTACKS = {found.name: found for found in harness.load()}
# Attacks that take long, and do with another env or call what a quicker one does.
LONG = {
    f"attacks_{file}:{name}"
    for file, names in {
        "fork": "fork_with_many_cartpoles fork_with_pong",
        "lifetime": """let_go_of_a_game_for_two let_go_of_hopper_with_models_of_its_own let_go_of_normalized_hopper
            let_go_of_one_thread_of_hopper let_go_of_pong""",
        "memory": "any_array_of_normalized_cartpole_fails make_pong_again_and_again_without_memory",
        "reentry": """actions_that_call_a_game_for_two any_call_by_a_handler_of_other_waits
            any_call_of_a_thread_beside_other_waits close_between_any_two_lines_of_a_game_for_two
            close_between_any_two_lines_of_hopper interrupted_between_any_two_lines_of_hopper storm_on_hopper
            storms_on_hopper_that_end_by_close""",
        "signals": "interrupted_snapshot_that_waits interrupted_step_wait",
    }.items()
    for name in names.split()
}
assert ATTACKS.keys() >= LONG


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


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in sorted(ATTACKS)]
)
def test_attack(name, verdicts):
    if missing := ATTACKS[name].missing():
        pytest.skip(f"needs {missing}")
    found = verdicts[name].result() if name in verdicts else harness.run(ATTACKS[name])
    assert found.verdict == ATTACKS[name].expected, f"{found.verdict}: {found.details}"
