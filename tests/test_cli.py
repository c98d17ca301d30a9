"""python -m batchenv."""

import json
import subprocess
import sys

import pytest

import batchenv


def run(*arguments):
    command = [sys.executable, "-m", "batchenv", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_list():
    result = run("list")
    assert result.returncode == 0, result.stderr
    lines = {line.split()[0]: line for line in result.stdout.splitlines()[1:]}
    assert sorted(lines) == batchenv.list_envs()
    assert lines["CartPole-v1"].split() == ["CartPole-v1", "Box(4,)", "float32", "Discrete(2)", "500"]


@pytest.mark.parametrize("env_id", ["CartPole-v1", "batchenv/CartPole-v1"])
def test_info(env_id):
    result = run("info", env_id)
    assert result.returncode == 0, result.stderr
    for text in (
        "theta_dot float64",
        "gravity = 9.8",
        "'semi-implicit euler'",
        "step limit: 500",
        "bytes per lane: ",
        "isa: ",
    ):
        assert text in result.stdout
    assert "high = 0.05" in result.stdout.split("reset options")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "CartPol-v1"], "did you mean CartPole-v1"),
        (["bench", "NoSuchEnv-v9"], "NoSuchEnv-v9"),
        (["bench", "--lanes", "4,0"], "'0' must be an integer from 1"),
        (["bench", "--seconds", "-1"], "'-1' must be a number of seconds"),
        (["bench", "--seconds", "nan"], "'nan' must be a number of seconds"),
        (["bench", "--json", "no/such/folder/out.json"], "there is no folder"),
        ([], "required"),
    ],
)
def test_bad_arguments_exit_2_with_a_message(arguments, message):
    result = run(*arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_bench_prints_a_table_and_writes_json(tmp_path):
    path = tmp_path / "bench.json"
    result = run("bench", "CartPole-v1", "--seconds", "0.02", "--lanes", "4", "--threads", "1", "--json", path)
    assert result.returncode == 0, result.stderr
    heading, line = result.stdout.splitlines()
    assert heading.split()[:2] == ["id", "lanes"]
    assert line.split()[:2] == ["CartPole-v1", "4"]
    written = json.loads(path.read_text())
    assert written["build_info"] == batchenv.build_info()
    assert written["cpu_count"] >= 1
    assert {"python", "numpy", "gymnasium"} <= set(written["versions"])
    (row,) = written["rows"]
    assert (row["id"], row["lanes"], row["ratio"]) == ("CartPole-v1", 4, {})
    assert len(row["rounds"]["batchenv"]) >= 5
    rate = row["steps_per_second"]["batchenv"]
    assert min(row["rounds"]["batchenv"]) <= rate <= max(row["rounds"]["batchenv"])
    assert row["us_per_call"]["batchenv"] == pytest.approx(4e6 / rate)


def test_bench_compares_with_gymnasium(tmp_path):
    path = tmp_path / "bench.json"
    result = run("bench", "CartPole-v1", "--compare", "--seconds", "0.02", "--lanes", "2", "--json", path)
    assert result.returncode == 0, result.stderr
    (row,) = json.loads(path.read_text())["rows"]
    assert {"SyncVectorEnv", "CartPoleVectorEnv"} <= set(row["ratio"])
    assert all(value > 0 for value in row["ratio"].values())
    assert "EnvPool" in row["ratio"] or "EnvPool is not installed: pip install envpool" in result.stdout


def test_plot_is_written_or_explains_what_is_missing(tmp_path):
    path = tmp_path / "bench.png"
    result = run("bench", "CartPole-v1", "--seconds", "0.02", "--lanes", "1,4", "--plot", path)
    if result.returncode == 2:
        assert "pip install matplotlib" in result.stderr
    else:
        assert path.read_bytes()[:4] == b"\x89PNG"
    missing = f"import sys; sys.modules['matplotlib'] = None; sys.argv = ['', 'bench', '--plot', {str(path)!r}]"
    code = f"{missing}; import runpy; runpy.run_module('batchenv', run_name='__main__')"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (result.returncode, "pip install matplotlib" in result.stderr) == (2, True)
