"""Which batchenv is tested, here and in every Python a test starts: the one built in place, or the installed one."""

import hashlib
import os
import signal
import sys
from collections import defaultdict
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


# What `pytest -m quick` runs: files that take seconds each, with few processes and hardly any compiler.
QUICK = {
    f"{folder}/test_{name}.py"
    for folder, names in {
        "api": "backend bad_input hints",
        "check": "check",
        "compiler": "own_limits own_params own_players own_texts",
        "core": "contract further_rewards last_stage nested out params plan set_state snapshot some_lanes texts types",
        "engines/atari": "atari_keywords",
        "engines/mujoco": "mujoco_kept mujoco_savings",
        "envs": "synthetic toy_text",
        "integrations": "envpool_names gym_dm pytrees seeds wrappers",
        "machine": "cgroup numa",
        "model": "orders protocols",
        "project": "api_page benchmarks",
        "recordings": "sums",
        "queue": "failed_lanes in_flight send_recv trajectories",
        "workers": "normalization numbers wrong_results",
    }.items()
    for name in names.split()
}


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="also run long tests, and all cases of each test")


def pytest_configure(config):
    if not config.option.all:
        os.environ.setdefault("BATCHENV_HOSTILE_EFFORT", "0.3")
        os.environ.setdefault("BATCHENV_PARITY_STEPS", "210")
    # What a shell starts with `&` ignores Ctrl-C, as Python then does, too: tests of Ctrl-C would wait for ever.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def is_quick(path):
    return path.relative_to(ROOT / "tests").as_posix() in QUICK


def pytest_ignore_collect(collection_path, config):
    """Other files need not be read for `-m quick`, which would take longer than its tests."""
    if config.option.markexpr == "quick" and collection_path.name.startswith("test_"):
        return not is_quick(collection_path) or None
    return None


def pytest_collection_modifyitems(config, items):
    for item in items:
        if " at 0x" in item.nodeid:  # `pytest -n` needs the same ids in all of its processes
            raise pytest.UsageError(f"{item.nodeid} has an address in its id: give parametrize() ids")
        if is_quick(item.path):
            item.add_marker("quick")
    if not config.option.all:
        left_out = {item for item in items if item.get_closest_marker("long")} | surplus(items)
        left_out -= {item for item in left_out if is_named(item, config.args)}
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


def is_named(item, arguments):
    """Whether somebody has asked for this test by its name."""
    named = (argument.split("::", 1) for argument in arguments if "::" in argument)
    return any(Path(file).name == item.path.name and name in item.nodeid for file, name in named)


def surplus(items):
    """The cases beyond those that a test marked `cases(count, per)` wants. What is left is spread over all of them, and
    is the same in each run: a hash of the names decides."""
    groups = defaultdict(list)
    for item in items:
        if mark := item.get_closest_marker("cases"):
            per = mark.kwargs.get("per")
            value = item.callspec.params[per] if per else None
            groups[item.nodeid.partition("[")[0], id(value), mark.args[0]].append(item)
    order = lambda item: hashlib.sha256(item.nodeid.encode()).digest()  # noqa: E731
    return {item for (*_, count), group in groups.items() for item in sorted(group, key=order)[count:]}
