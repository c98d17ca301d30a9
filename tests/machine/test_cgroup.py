"""CPU limits of control groups, from trees of files such as the kernel shows."""

import math
import os

import pytest

import batchenv
from batchenv.system.cgroup import cpu_limit

V2 = "0::/user.slice/job\n"
V1 = "12:pids:/job\n4:cpu,cpuacct:/job\n0::/init.scope\n"
V1_HOST = "4:cpu,cpuacct:/docker/0123abc\n"


def limit(tmp_path, membership, files):
    (tmp_path / "membership").write_text(membership)
    for name, text in files.items():
        path = tmp_path / "mount" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return cpu_limit(str(tmp_path / "mount"), str(tmp_path / "membership"))


@pytest.mark.parametrize(
    "membership, files, expected",
    [
        (V2, {}, None),
        (V2, {"user.slice/job/cpu.max": "max 100000\n"}, None),
        (V2, {"user.slice/job/cpu.max": "250000 100000\n"}, 2.5),
        (V2, {"user.slice/cpu.max": "150000 100000\n", "user.slice/job/cpu.max": "400000 100000\n"}, 1.5),
        (V2, {"user.slice/job/cpu.max": "garbage\n"}, None),
        (V2, {"user.slice/job/cpu.max": ""}, None),
        ("0::/\n", {"cpu.max": "50000 100000\n"}, 0.5),
        ("0::/../../job\n", {"cpu.max": "200000 100000\n"}, 2.0),
        (V1, {"cpu,cpuacct/job/cpu.cfs_quota_us": "300000\n", "cpu,cpuacct/job/cpu.cfs_period_us": "100000\n"}, 3.0),
        (V1, {"cpu,cpuacct/job/cpu.cfs_quota_us": "-1\n", "cpu,cpuacct/job/cpu.cfs_period_us": "100000\n"}, None),
        (V1, {"cpu/job/cpu.cfs_quota_us": "70000\n", "cpu/job/cpu.cfs_period_us": "10000\n"}, 7.0),
        (V1_HOST, {"cpu,cpuacct/cpu.cfs_quota_us": "80000\n", "cpu,cpuacct/cpu.cfs_period_us": "20000\n"}, 4.0),
        ("", {"cpu.max": "50000 100000\n"}, None),
    ],
)
def test_limits(tmp_path, membership, files, expected):
    assert limit(tmp_path, membership, files) == expected


def test_no_control_groups(tmp_path):
    assert cpu_limit(str(tmp_path / "none"), str(tmp_path / "neither")) is None


@pytest.mark.parametrize("limit", [0.5, 1.0, 1.5, 1000.0, None])
def test_default_number_of_threads(monkeypatch, limit):
    monkeypatch.setattr("batchenv.system.cgroup.cpu_limit", lambda: limit)
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    threads = batchenv.build_info()["max_threads"]
    assert threads <= cpus
    if limit is not None:
        assert threads == 1 or threads <= math.ceil(limit)
    if limit == 0.5:
        assert threads == 1
