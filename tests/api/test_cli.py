"""python -m batchenv."""

import importlib.util
import itertools
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

import batchenv
from batchenv.__main__ import main
from batchenv.cli import bench
from batchenv.cli.describe import families, typical
from batchenv.compiler import build, template
from helpers.own_env import edit
from helpers.processes import command_line as run
from helpers.processes import python, run_python


@pytest.fixture
def here(capsys):
    """`python -m batchenv` with these arguments, as far as it can be run in this process."""

    def run_here(*arguments):
        try:
            status = main(list(arguments))
        except SystemExit as end:
            status = end.code
        return subprocess.CompletedProcess(arguments, status, *capsys.readouterr())

    return run_here


def words(*arguments, run=run):
    """The first word of each line that a successful command prints."""
    result = run(*arguments)
    assert result.returncode == 0, result.stderr
    return [line.split()[0] for line in result.stdout.splitlines() if line.strip()]


def test_help_without_a_command():
    result = run()
    assert (result.returncode, result.stderr) == (0, "")
    for command in ("list", "info", "build", "bench", "check", "--version"):
        assert command in result.stdout


def test_version():
    assert run("--version").stdout == f"batchenv {batchenv.__version__}\n"


def test_list_begins_with_the_small_families():
    result = run("list")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) < 180 and max(map(len, lines)) <= 120
    headings = [line.split(":")[0] for line in lines if line and line[0].isalpha()]
    counts = {family: len(ids) for family, ids in families().items()}
    assert headings == [family for family in sorted(counts, key=counts.get) if family in headings]
    assert set(headings) >= set(batchenv.registry.FAMILIES) and headings[-1] == "Atari"
    for form in ("MiniGrid-NAME-v0", "dm_control/NAME-v0", "Meta-World/NAME-v3"):
        assert f"  {form}, where NAME is one of:" in lines
    assert "MiniGrid-MultiRoom-N4-S5-v1" in result.stdout
    for extra in ("mujoco", "atari"):
        assert result.stdout.count(f"needs the extra {extra} (") == 1
    assert next(line for line in lines if "CartPole-v1" in line).split() == (
        ["CartPole-v1", "Box(4,)", "float32", "Discrete(2)", "500"]
    )
    atari = result.stdout.split("Atari: ")[1]
    assert f"{len(batchenv.list_envs('atari'))} ids" in atari
    counts = [int(line.split()[1]) for line in atari.splitlines() if "games, " in line]
    assert sum(counts) == len(batchenv.list_envs("atari")) and len(counts) == 3
    assert atari.count("Breakout") == 1  # not in three spellings


def test_list_folds_ids_that_differ_in_a_part():
    """X[_A|_B][Dense]-v4/v5 stands for twelve ids."""
    section = run("list").stdout.partition("\nGymnasium-Robotics: ")[2].partition("\n\n")[0]
    ids = []
    for folded in section.partition("\n")[2].replace("\n", " ").split(","):
        parts = re.split(r"[][]+", folded.strip().replace("-", "[-", 1))
        choices = [parts[0:1], *(["", *part.split("|")] for part in parts[1:-1] if part)]
        versions = parts[-1].removeprefix("-").split("/")
        ids += ["".join(chosen) + f"-{version}" for chosen in itertools.product(*choices) for version in versions]
    assert sorted(ids) == sorted(batchenv.list_envs("robotics"))
    assert "AntMaze_Large[_Diverse_G|_Diverse_GR][Dense]-v4/v5" in section


def test_list_without_the_extras():
    code = """
import sys
sys.modules.update(dict.fromkeys(["mujoco", "multi_agent_ale_py", "ale_py"]))
from batchenv.__main__ import main
from batchenv.cli.describe import families, typical
assert main(["list"]) == main(["list", "Hopper"]) == main(["list", "*Pong*"]) == 0
"""
    told = run_python(code)
    assert told.count("needs the extra mujoco (pip install 'batchenv[mujoco]')") == 2
    assert told.count("needs the extra atari (pip install 'batchenv[atari]')") == 2
    assert [line.split() for line in told.splitlines() if line.startswith("  Hopper-v5 ")] == (
        [["Hopper-v5", "?", "?", "1000"]]
    )


def test_list_knows_every_id(here):
    assert words("list", "--ids", run=here) == batchenv.list_envs()
    assert words("list", "*", "--ids", run=here) == batchenv.list_envs()


def ids_of(domain):
    return [name for name in batchenv.list_envs("dmc") if name.startswith(f"dm_control/{domain}-")]


@pytest.mark.parametrize(
    "pattern, expected",
    [
        ("cartpole-v*", ["CartPole-v0", "CartPole-v1"]),
        ("*Pong*", ["ALE/Pong-v5", "Pong-v5", "PongNoFrameskip-v4"]),
        ("Hopper-", ["Hopper-v4", "Hopper-v5", *ids_of("hopper")]),  # not ChopperCommand, since ids begin with it
        ("lake", ["FrozenLake-v1", "FrozenLake8x8-v1"]),
        ("Ca[rt]*-v0", ["CartPole-v0", "Catch-v0"]),
        ("mujoco", batchenv.list_envs("mujoco")),
        ("ATARI", batchenv.list_envs("atari")),
        ("toy-text", [name for name in batchenv.list_envs() if batchenv.registry.TABLE[name].family == "toy text"]),
    ],
    ids=str,
)
def test_list_of_a_pattern(here, pattern, expected):
    listed = words("list", pattern, "--ids", run=here)  # other tests may have registered files
    assert [name for name in listed if batchenv.registry.TABLE[name].library is None] == expected
    result = here("list", pattern)
    assert result.returncode == 0
    assert set(expected) <= set(result.stdout.replace(",", " ").split())


def test_families_hold_all_ids():
    entries = [batchenv.registry.TABLE[name] for name in batchenv.list_envs()]
    entries = [entry for entry in entries if entry.library is None]  # other tests may have registered files
    assert {entry.family for entry in entries} == set(batchenv.registry.FAMILIES) > {"classic control", "Atari"}
    for entry in entries:
        extras = {"MuJoCo": "mujoco", "MuJoCo Playground": "playground", "mjlab": "mjlab", "DM Control": "dmc"}
        extras |= {"Gymnasium-Robotics": "robotics", "Meta-World": "metaworld", "Atari": "atari", "Procgen": "procgen"}
        assert entry.extra == extras.get(entry.family)


@pytest.mark.parametrize("command", ["build", "doctor"])
def test_build_says_what_a_bug_report_needs(command):
    result = run(command)
    assert result.returncode == 0, result.stderr
    told = dict(line.split(": ", 1) for line in result.stdout.splitlines())
    for key, value in batchenv.build_info().items():
        assert told[key] == str(value)
    assert {"python", "numpy", "gymnasium", "mujoco", "ale-py", "platform", "cpu_count"} <= told.keys()


@pytest.mark.parametrize("env_id", ["CartPole-v1", "batchenv/CartPole-v1"])
def test_info(env_id):
    result = run("info", env_id)
    assert result.returncode == 0, result.stderr
    for text in ("theta_dot float64", "gravity = 9.8", "'semi-implicit euler'", "step limit: 500", "bytes per lane: "):
        assert text in result.stdout
    assert "isa: " not in result.stdout  # `build` says it
    assert "high = 0.05" in result.stdout.split("reset options")[1]


def test_info_of_mujoco():
    pytest.importorskip("mujoco", reason="needs mujoco: pip install 'batchenv[mujoco]'")
    text = run("info", "Hopper-v5").stdout
    fields = text.split("fields of MuJoCo's model")[1]
    assert "body_mass[5]" in fields and "geom_friction[5x3]" in fields and "impratio," in fields
    assert "healthy_z_max = no bound (any number)" in text and "e+308" not in text


def test_info_names_ataris_actions(here):
    pytest.importorskip("multi_agent_ale_py", reason="needs libale_c: pip install 'batchenv[atari]'")
    pytest.importorskip("ale_py", reason="needs the ROMs of ale-py: pip install 'batchenv[atari]'")
    expected = "Discrete(6): 0 NOOP, 1 FIRE, 2 RIGHT, 3 LEFT, 4 RIGHTFIRE, 5 LEFTFIRE"
    for env_id in ("Pong-v5", "ALE/Pong-v5", "PongNoFrameskip-v4"):
        assert f"action space: {expected}\n" in here("info", env_id).stdout
    assert "NOOP" not in here("info", "Combat-v5").stdout  # two players'


def test_ids_of_an_extra_that_there_is_not():
    with pytest.raises(ValueError, match=r"extra='foo' must be one of .*'atari'.*, None or 'any'"):
        batchenv.list_envs("foo")


@pytest.mark.cases(12)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "CartPol-v1"], "did you mean CartPole-v1"),
        (["bench", "NoSuchEnv-v9"], "NoSuchEnv-v9"),
        (["list", "CarRacing-v3"], "batchenv.make('CarRacing-v3', num_envs) steps it, in Python"),
        (["list", "*nothing*"], "no id matches '*nothing*'"),
        (["info", "MuJoCo-v0"], "batchenv.make_mujoco("),
        (["info", "CarRacing-v3"], "batchenv.make('CarRacing-v3', num_envs) steps it, in Python"),
        (["frobnicate"], "invalid choice: 'frobnicate'"),
        (["check", "CartPol-v1"], "did you mean CartPole-v1?"),
        (["check", "no_such_module:make"], "No module named 'no_such_module'"),
        (["check", "tests/walk_envs.py:make"], "go to the file's folder and pass 'walk_envs:make'"),
        (["check", "./envs.py:make"], "pass 'envs:make'"),
        (["check", ":make"], "cannot find ':make'"),
        (["check", "os:sep"], "'os:sep' must be a function that makes a vector env, not str"),
        (["check", "os:nothing"], "cannot find 'os:nothing'"),
        (["bench", "--lanes", "4,0"], "'0' must be an integer from 1"),
        (["bench", "--seconds", "-1"], "'-1' must be a number of seconds"),
        (["bench", "--seconds", "nan"], "'nan' must be a number of seconds"),
        (["bench", "--json", "no/such/folder/out.json"], "there is no folder"),
        (["bench", "--json", "."], "cannot write .: it is a folder"),
        (["bench", "CartPole-v1", "--cflags", "-O1"], "--cflags is for C files, and CartPole-v1 is none"),
        (["info", "CartPole-v1", "--cflags=-O1"], "--cflags is for C files, and CartPole-v1 is none"),
        (["check", "CartPole-v1", "--cflags", "-O1"], "--cflags is for C files that are checked as they are"),
        (["check", "a.c", "--vectorization-mode", "sync", "--cflags", "-g"], "or leave out --vectorization-mode"),
        (["compile", "a.c", "--cflags", "'-O1"], "cannot be divided into flags: No closing quotation"),
        (["bench", "CartPole-v1", "--cflags"], "argument --cflags: expected one argument"),
    ],
)
def test_bad_arguments_exit_2_with_a_message(here, arguments, message):
    result = here(*arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_the_exit_status_is_that_of_the_process():
    result = run("info", "CartPol-v1")
    assert (result.returncode, result.stdout) == (2, "") and "did you mean CartPole-v1" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("env_id", "lanes", "options"),
    [
        ("Synthetic-v0", 4, {"fail_step": 3, "fail_lane": 1}),  # in a step
        ("BabyAI-SynthS5R2-v0", 4096, {}),  # in the reset
    ],
)
def test_bench_goes_on_where_a_lane_fails(env_id, lanes, options):
    env = batchenv.make(env_id, lanes, **options)
    with pytest.raises(batchenv.LaneError):
        env.reset(seed=0)
        for _ in range(20):
            env.step(np.zeros(lanes, int))
    assert bench.Contestant(env, [np.zeros(lanes, int)]).run(20) > 0


def test_bench_prints_a_table_and_writes_json(tmp_path):
    path = tmp_path / "bench.json"
    result = run("bench", "CartPole-v1", "--seconds", "0.02", "--lanes", "4", "--threads", "1", "--json", path)
    assert result.returncode == 0, result.stderr
    heading, line, empty, how, wrote = result.stdout.splitlines()
    assert heading.split()[:2] == ["id", "lanes"]
    assert line.split()[:2] == ["CartPole-v1", "4"]
    assert empty == "" and wrote == f"wrote {path}"
    for part in ("Medians of 7 rounds, 0.02 s", "1 thread (", "CPUs", "NumPy"):
        assert part in how
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
        assert f"wrote {path}" in result.stdout
    missing = f"import sys; sys.modules['matplotlib'] = None; sys.argv = ['', 'bench', '--plot', {str(path)!r}]"
    code = f"{missing}; import runpy; runpy.run_module('batchenv', run_name='__main__')"
    result = python("-c", code)
    assert (result.returncode, "pip install matplotlib" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    "value, text",
    [(2690.4, "2,690"), (463.21, "463"), (99.96, "100.0"), (15.04, "15.0"), (0.04567, "0.0457"), (1e6, "1,000,000")],
)
def test_numbers_of_three_digits_without_an_exponent(value, text):
    assert bench.significant(value) == text
    rows = [{"id": "X-v0", "lanes": 1, "steps_per_second": {"batchenv": 1e6, "EnvPool": 1e6 / value}}]
    rows[0].update(us_per_call={"batchenv": 1.0, "EnvPool": value}, ratio={"EnvPool": value})
    assert f"{text}x" in bench.table(rows) and "e+" not in bench.table(rows)


def test_quiet_check():
    loud, quiet = run("check", "CartPole-v1"), run("check", "-q", "CartPole-v1")
    assert loud.returncode == quiet.returncode == 0
    assert len(loud.stdout.splitlines()) > 50
    first, last = quiet.stdout.splitlines()
    assert first == loud.stdout.splitlines()[0] and last == loud.stdout.splitlines()[-1]
    assert " 0 fail" in last


def test_quiet_check_shows_what_fails():
    result = run("check", "-q", "os.path:join")
    assert result.returncode == 1
    assert "FAIL  makes_resets_and_steps" in result.stdout and "why:" in result.stdout
    assert "  ok  " not in result.stdout and "  skip" not in result.stdout


def test_bench_writes_a_report_of_a_family(tmp_path):
    path = tmp_path / "report.html"
    result = run("bench", "toy text", "--seconds", "0.007", "--lanes", "4", "--report", path)
    assert result.returncode == 0, result.stderr
    page = path.read_text(encoding="utf-8")
    assert "FrozenLake-v1" in page and "NChain-v0" in page and "CartPole" not in page
    assert f"<td>numpy</td><td>{np.__version__}</td>" in page
    assert ("<svg" in page) == (importlib.util.find_spec("matplotlib") is not None)
    assert page.count("<td>") == page.count("</td>") > 30


def test_plot_of_many_environments_grows_downwards(tmp_path):
    """Beside each other, as many panels as `bench all` has rows made a picture of eleven metres."""
    pytest.importorskip("matplotlib")
    path, sizes = tmp_path / "plot.svg", []
    for count in (2, 40):
        row = {"ratio": {}, "steps_per_second": {bench.OURS: 1e6}}
        rows = [{**row, "id": f"X{i}-v0", "lanes": 64 + i} for i in range(count)]
        bench.plot(rows, str(path))
        sizes += re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', path.read_text()).groups()
    width, height, same_width, greater_height = map(float, sizes)
    assert width == same_width < 1000 and greater_height > 2 * height


def test_typical_ids_are_plain_and_new():
    found = families()
    assert typical(found["Atari"]) == ["ALE/Breakout-v5", "ALE/Pong-v5"]
    assert typical(found["Box2D"]) == ["BipedalWalker-v3", "LunarLander-v3"]
    assert typical(found["MuJoCo"])[:2] == ["Ant-v5", "HalfCheetah-v5"] and len(typical(found["MuJoCo"])) == 11


@pytest.fixture
def sized(tmp_path, monkeypatch):
    """A C file of an env that compiles with flags alone."""
    if not any(map(shutil.which, build.COMPILERS)):
        pytest.skip("needs a C compiler")
    monkeypatch.setenv("BATCHENV_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BATCHENV_ISA", "baseline")
    path = template.write(re.sub(r"\W", "_", f"sized_{tmp_path.name}")[:41], tmp_path)
    edit(path, "enum { LENGTH = 21 };", "enum { LENGTH = CELLS };")
    return path


@pytest.mark.parametrize("flags", ["-DCELLS=9", "-DCELLS=9 -w", "'-DCELLS=(4 + 5)'"])
def test_info_and_bench_compile_with_flags(here, sized, flags):
    assert "CELLS" in here("info", str(sized)).stderr
    told = here("info", str(sized), "--cflags", flags)
    assert told.returncode == 0 and "observation space: Discrete(9)\n" in told.stdout, told.stderr
    env_id = told.stdout.split()[0]
    told = here("bench", f"{sized}:{env_id}", "--lanes", "64", "--seconds", "0.01", f"--cflags={flags}")
    assert told.returncode == 0 and env_id in told.stdout, told.stderr
    assert here("compile", str(sized), "--cflags", flags).returncode == 0


def test_check_compiles_with_flags(sized):
    done = run("check", sized, "-q")
    assert done.returncode == 2 and "CELLS" in done.stderr
    done = run("check", sized, "-q", "--num-envs", "3", "--cflags", "-DCELLS=9")
    assert done.returncode == 0 and " 0 fail" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("body", "seen"), [("_Exit(3);", "the process ended with exit code 3"), ("abort();", "SIGABRT|the C code broke")]
)
def test_check_reports_a_file_that_ends_the_process_when_it_is_loaded(sized, body, seen):
    constructor = f"#include <stdlib.h>\n__attribute__((constructor)) static void at_load(void) {{ {body} }}\n/* 4."
    edit(sized, "/* 4.", constructor)
    done = run("check", sized, "-q", "--cflags", "-DCELLS=9")
    assert done.returncode == 1, done.stderr
    assert re.search(rf"FAIL  makes_resets_and_steps.*\n +seen: .*({seen})", done.stdout), done.stdout
    assert f"{sized.name} could not be asked for its ids" in done.stdout
