"""Lanes and workers on machines with several NUMA nodes: BATCHENV_NUMA describes one that this machine is not."""

import os
import sys
from contextlib import closing

import numpy as np
import pytest

import batchenv
from batchenv import _core
from helpers.processes import run_python

CPUS = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="NUMA nodes are read on Linux alone")
needs_two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="one CPU is on one node")


def describe(folder, lists, monkeypatch):
    for node, text in lists.items():
        (folder / f"node{node}").mkdir()
        if text is not None:
            (folder / f"node{node}" / "cpulist").write_text(text)
    monkeypatch.setenv("BATCHENV_NUMA", str(folder))


def as_list(cpus):
    return ",".join(map(str, cpus)) + "\n"


@needs_two_cpus
def test_nodes(tmp_path, monkeypatch):
    describe(tmp_path, {7: as_list(CPUS[1:]), 0: as_list(CPUS[:1]), 3: "\n", 4: "8190\n"}, monkeypatch)
    assert batchenv.build_info()["numa_nodes"] == {"node0": 1, "node7": len(CPUS) - 1}


@pytest.mark.parametrize("lists", [{}, {0: None}, {0: "damaged"}, {0: "8191\n"}, {0: as_list(CPUS), 1: ""}])
def test_unknown_nodes(tmp_path, monkeypatch, lists):
    describe(tmp_path, lists, monkeypatch)
    assert batchenv.build_info()["numa_nodes"] == {}
    with closing(batchenv.make("CartPole-v1", 256, num_threads=4)) as env:
        assert env._backend.core.numa_blocks() == []
        env.reset(seed=0)


def test_this_machine():
    nodes = _core.numa_nodes()
    assert not nodes or sum(nodes.values()) == len(CPUS)


@needs_two_cpus
def test_blocks(tmp_path, monkeypatch):
    describe(tmp_path, {0: as_list(CPUS[:1]), 1: as_list(CPUS[1:2]), 2: as_list(CPUS[2:])}, monkeypatch)
    with closing(batchenv.make("CartPole-v1", 1000, num_threads=4)) as env:
        blocks = env._backend.core.numa_blocks()
        if len(CPUS) == 2:
            assert blocks == [(0, 512, 2), (1, 1000, 4)]  # node, lanes up to, workers up to
        assert len(blocks) >= 1 and blocks == sorted(blocks) and blocks[-1][1:] == (1000, 4)
    one_node = [dict(num_threads=1), dict(num_threads=4, thread_affinity=CPUS), dict(num_threads=4, thread_affinity=0)]
    for options in one_node:
        with closing(batchenv.make("CartPole-v1", 1000, **options)) as env:
            assert env._backend.core.numa_blocks() == []
    with closing(batchenv.make("CartPole-v1", 64, num_threads=4)) as env:  # a kernel steps 64 lanes at a time
        assert env._backend.core.numa_blocks() == []
    monkeypatch.setenv("BATCHENV_NUMA", "0")
    with closing(batchenv.make("CartPole-v1", 1000, num_threads=4)) as env:
        assert env._backend.core.numa_blocks() == []


@needs_two_cpus
def test_workers_keep_to_their_node(tmp_path, monkeypatch):
    describe(tmp_path, {0: as_list(CPUS[:1]), 1: as_list(CPUS[1:])}, monkeypatch)
    before = set(os.listdir("/proc/self/task"))
    with closing(batchenv.make("Synthetic-v0", 16, batch_size=8, num_threads=len(CPUS), cost_us=1.0)) as env:
        env.async_reset(seed=0)
        env.recv()
        masks = [os.sched_getaffinity(int(task)) for task in set(os.listdir("/proc/self/task")) - before]
        assert len(masks) == len(CPUS)
        assert masks.count({CPUS[0]}) >= 1 and all(mask in ({CPUS[0]}, set(CPUS[1:])) for mask in masks)
        assert sorted(os.sched_getaffinity(0)) == CPUS  # the caller's thread goes where it likes


def trajectories(name, lanes, **options):
    """Observations and rewards of `step`, of a rollout and of send and recv in any order, as bytes by lane."""
    seen = []
    with closing(batchenv.make(name, lanes, **options)) as env:
        env.action_space.seed(3)
        actions = [env.action_space.sample() for _ in range(12)]
        seen.append(env.reset(seed=5)[0].tobytes())
        for action in actions:
            observations, rewards, *_ = env.step(action)
            seen += [observations.tobytes(), rewards.tobytes()]
    with closing(batchenv.make(name, lanes, **options)) as env:
        env.reset(seed=5)
        seen.append(env.rollout(np.stack(actions))[0].tobytes())
    with closing(batchenv.make(name, lanes, batch_size=lanes // 4, **options)) as env:
        env.async_reset(seed=5)
        taken = np.full(lanes, -1)
        rows = {}
        random = np.random.default_rng(1)
        while (taken < len(actions)).any():
            observations, rewards, _, _, infos = env.recv()
            ids = infos["env_id"]
            taken[ids] += 1
            for k, lane in enumerate(ids):
                rows[lane, taken[lane]] = observations[k].tobytes(), rewards[k]
            shuffled = random.permutation(ids)
            t = np.minimum(taken[shuffled], len(actions) - 1)
            env.send(np.array([actions[t[k]][lane] for k, lane in enumerate(shuffled)]), shuffled)
        seen.append([rows[lane, t] for lane in range(lanes) for t in range(len(actions) + 1)])
    return seen


@needs_two_cpus
@pytest.mark.parametrize("name, lanes", [("CartPole-v1", 4480), ("Pendulum-v1", 200), ("Synthetic-v0", 20)])
def test_results_do_not_depend_on_it(tmp_path, monkeypatch, name, lanes):
    options = {"num_threads": 4, **({"cost_us": 5.0} if name == "Synthetic-v0" else {})}
    expected = trajectories(name, lanes, **options)
    describe(tmp_path, {0: as_list(CPUS[:1]), 1: as_list(CPUS[1:])}, monkeypatch)
    with closing(batchenv.make(name, lanes, **options)) as env:
        assert len(env._backend.core.numa_blocks()) == 2
    assert trajectories(name, lanes, **options) == expected


@needs_two_cpus
def test_fork(tmp_path, monkeypatch):
    """A forked child makes workers of its own by the same blocks."""
    describe(tmp_path, {0: as_list(CPUS[:1]), 1: as_list(CPUS[1:])}, monkeypatch)
    program = """
import os, numpy as np, batchenv
env = batchenv.make("Synthetic-v0", 8, num_threads=4, cost_us=1.0)
assert len(env._backend.core.numa_blocks()) == 2
env.reset(seed=0)
env.step(np.zeros(8, np.int64))
child = os.fork()
env.send(np.zeros(8, np.int64), np.arange(8))
env.recv()
if child:
    assert os.waitpid(child, 0)[1] == 0
else:
    env.step(np.zeros(8, np.int64))
    os._exit(0)
"""
    run_python(program)
