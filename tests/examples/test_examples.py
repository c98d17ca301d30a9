"""The examples run as they are, and what they claim holds."""

import re

import pytest

from helpers.processes import hide, python
from helpers.project import ROOT


def run(name, *arguments, **options):
    return python(ROOT / "examples" / name, *arguments, **options)


def numbers(text):
    return [float(word.replace(",", "")) for word in re.findall(r"-?\d[\d,]*\.?\d*", text)]


PROGRAMS = sorted(
    str(path.relative_to(ROOT / "examples"))
    for folder in (ROOT / "examples", ROOT / "examples" / "learners")
    for path in folder.glob("*.py")
    if path.name not in ("ppo.py", "common.py")
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_example_has_the_same_options(name):
    """--quick in all of them; --save and --eval where something is learnt with a learner's package or PyTorch."""
    text = (ROOT / "examples" / name).read_text()
    usage = text.split('"""')[1]
    shared = "ppo.argument_parser(" in text or "from common import" in text
    assert "--quick" in usage if shared else "--quick" in text
    if shared and name != "learners/jax_search.py":
        assert "--save F" in usage and "--eval" in usage
        assert "ppo." in text or re.search(r"^ *finish\(\w+, ", text, re.MULTILINE)


@pytest.mark.parametrize("arguments", [(), ("--quick",)])
def test_quickstart(arguments):
    result = run("quickstart.py", *arguments)
    assert result.returncode == 0, result.stderr
    episodes, mean = numbers(result.stdout.splitlines()[-1])
    # Random actions keep the pole up for 22 steps; of short runs only short episodes are seen to end.
    assert episodes > (10_000 if arguments else 100_000) and (18 if arguments else 21) < mean < 23.5


def test_an_environment_in_python():
    result = run("python_env.py")
    assert result.returncode == 0, result.stderr
    episodes, mean, failures = numbers(result.stdout)[:3]
    assert episodes > 500 and -0.3 < mean < 0.3 and failures > 5


def test_environments_that_wait():
    result = run("waiting_envs.py", "--quick")
    assert result.returncode == 0, result.stderr
    speeds = {line.split("  ")[0]: numbers(line.split(" lanes ")[1])[0] for line in result.stdout.splitlines()}
    assert len(speeds) == 6 and speeds["batchenv, coroutines, step"] > 5 * speeds["SyncVectorEnv"]


def test_branching():
    result = run("branching.py", "--quick")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 5 and all(line.split()[1] == "yes" for line in lines[1:4])
    # A return of -200 is that of an episode that runs out; the search claims to be much better.
    assert all(-150 < float(line.split()[2]) < -50 for line in lines[1:4])
    solved, seeds, random, _ = numbers(lines[4])
    assert solved == seeds == 3 and random == 0


def test_go_explore():
    result = run("go_explore.py")
    assert result.returncode == 0, result.stderr
    kept, usual = result.stdout.splitlines()
    cells, number = numbers(kept)
    assert cells > 100 and number < 200
    assert numbers(usual)[0] < 0.3  # random actions do not get there
    result = run("go_explore.py", "--rounds", 2)
    assert result.returncode == 1 and "nowhere near the goal" in result.stdout


def test_branching_says_when_it_finds_nothing():
    result = run("branching.py", "--seeds", 1, "--beam", 1, "--hold", 60)
    assert result.returncode == 1
    assert result.stdout.splitlines()[1].split()[1] == "no"


def test_domain_randomisation(tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "table.png"
    result = run("domain_randomisation.py", "--quick", "--picture", picture)
    assert result.returncode == 0, result.stderr
    (nominal, nominal_worst), (randomised, randomised_worst) = map(numbers, re.findall("mean .*worst.*", result.stdout))
    assert nominal < 400 and randomised > nominal * 1.2 and randomised_worst > nominal_worst
    # On the physics they were both made for, both hold the pole up to the end.
    assert [line.split()[3] for line in result.stdout.splitlines() if line.startswith("   0.5")] == ["500.0"] * 2
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_domain_randomisation_without_matplotlib(tmp_path):
    hidden = hide("matplotlib", tmp_path)
    result = run("domain_randomisation.py", "--quick", "--picture", "x.png", cwd=tmp_path, PYTHONPATH=hidden)
    assert result.returncode == 1 and "pip install 'batchenv[bench]'" in result.stderr


def test_two_player_pong(tmp_path):
    pytest.importorskip("multi_agent_ale_py", reason="needs libale_c: pip install 'batchenv[atari]'")
    pytest.importorskip("ale_py", reason="needs the ROMs of ale-py: pip install 'batchenv[atari]'")
    imageio = pytest.importorskip("imageio.v3")
    picture = tmp_path / "pong.gif"
    result = run("two_player_pong.py", "--quick", "--picture", picture)
    assert result.returncode == 0, result.stderr
    first, second = numbers(re.sub("[a-z]+_0", "", result.stdout.splitlines()[1]))
    assert first + second > 0
    frames = imageio.imread(picture, index=None)
    assert frames.shape[0] > 50 and frames.shape[1:3] == (210, 2 * 164)
    assert any((frame != frames[0]).any() for frame in frames)
    for name, arguments, message in (
        ("two_player_pong.py", ["--picture", "pong.txt"], "must end in .gif"),
        ("two_player_pong.py", ["--lanes", 2, "--shown", 3], "--shown at most --lanes"),
    ):
        result = run(name, *arguments)
        assert result.returncode != 0 and message in result.stderr


def test_two_player_pong_without_imageio(tmp_path):
    result = run("two_player_pong.py", "--quick", cwd=tmp_path, PYTHONPATH=hide("imageio", tmp_path))
    assert result.returncode == 1 and "pip install imageio" in result.stderr


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("branching.py", ["--beam", "0"], "--seeds, --beam and --hold must be at least 1"),
        ("domain_randomisation.py", ["--candidates", "3"], "--candidates must be at least 8"),
    ],
)
def test_refuses_bad_options(name, arguments, message):
    result = run(name, *arguments)
    assert result.returncode == 2 and message in result.stderr
