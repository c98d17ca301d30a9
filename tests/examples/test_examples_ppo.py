"""The examples with PyTorch learn, and say what is missing. The extra `test` does not install it."""

import importlib.util
import re

import numpy as np
import pytest

from helpers.processes import first_on_path, hide, python
from helpers.procgen import need_library
from helpers.project import ROOT

EXAMPLES = ROOT / "examples"
HAS_TORCH = importlib.util.find_spec("torch") is not None  # importing it here would start its threads
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="needs torch: pip install -e '.[examples]'")


def run(*command, PYTHONPATH=None, path=()):
    # An example finds its neighbours beside itself, whatever the other tests ask of Python.
    return python(*command, PYTHONPATH=PYTHONPATH or first_on_path(*path), PYTHONSAFEPATH=None)


def means(output):
    """What the example says in the end: (the first mean return, the last)."""
    first, last = re.findall(r"mean return at first (\S+), at last (\S+)", output)[0]
    return float(first), float(last)


def seconds(output):
    """Wall time by what it was spent on."""
    return {name: float(wall) for name, wall in re.findall(r"  (\w+) +([\d.]+) +[\d.]+%   of processors", output)}


@needs_torch
def test_cartpole():
    result = run(EXAMPLES / "ppo_cartpole.py")
    assert result.returncode == 0, result.stderr
    assert float(re.findall(r"greedy evaluation: (\S+)", result.stdout)[-1]) >= 475


@needs_torch
def test_cartpole_says_when_it_is_not_solved():
    result = run(EXAMPLES / "ppo_cartpole.py", "--steps", 65_536)
    assert result.returncode == 1 and "not solved" in result.stdout, result.stderr


@needs_torch
@pytest.mark.parametrize("name", ["ppo_cartpole.py", "ppo_lander.py", "ppo_minigrid.py"])
def test_quick_runs_need_not_solve(name):
    """What is said on the command line counts more than --quick."""
    result = run(EXAMPLES / name, "--quick", "--steps", 8192, "--lanes", 32, "--rollout", 32, "--eval", 1)
    assert result.returncode == 0 and "not solved, in a quick run" in result.stdout, result.stderr
    assert "1 greedy episodes" in result.stdout and " 8,192 " in result.stdout.replace("\n", " ")


@needs_torch
def test_lander():
    """A run of a tenth of the steps learns, but not enough."""
    result = run(EXAMPLES / "ppo_lander.py", "--steps", 60_000)
    assert result.returncode == 1 and "not solved" in result.stdout, result.stderr
    first, last = means(result.stdout)
    assert first < -120 and last > first + 50


@needs_torch
def test_minigrid():
    options = ("--lanes", 64, "--rollout", 32, "--minibatch", 512, "--steps", 100_000, "--min-episodes", 300)
    result = run(EXAMPLES / "ppo_minigrid.py", "--id", "MiniGrid-Empty-Random-5x5-v0", *options, "--target", 0.92)
    assert result.returncode == 0, result.stdout + result.stderr
    assert float(re.findall(r"sampled evaluation: (\S+)", result.stdout)[-1]) >= 0.92


@needs_torch
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("ppo_minatar.py", ()), ("dqn_minatar.py", ("--explore", 30_000, "--every", 16, "--batch", 64))],
)
def test_minatar(name, arguments):
    result = run(EXAMPLES / name, "--id", "MinAtar/Breakout-v1", "--quick", "--steps", 100_000, *arguments, "--eval", 2)
    assert result.returncode == 0, result.stderr
    first, last = means(result.stdout)
    assert first < 1 and last > 2  # random play: 0.5
    assert "2 greedy episodes" in result.stdout and len(seconds(result.stdout)) == 5


@needs_torch
def test_mujoco():
    pytest.importorskip("mujoco")
    result = run(EXAMPLES / "ppo_mujoco.py", "--quick")
    assert result.returncode == 0, result.stderr
    first, last = means(result.stdout)
    assert first < -400 and last > first + 200  # learnt: noise alone, charged for, costs the former
    parts = seconds(result.stdout)
    assert parts["total"] == pytest.approx(sum(parts.values()) - parts["total"], abs=0.1) and len(parts) == 5


@needs_torch
def test_go1():
    if importlib.util.find_spec("mujoco_playground") is None:  # to import it would take JAX
        pytest.skip("the package playground is missing")
    result = run(EXAMPLES / "ppo_go1.py", "--quick", "--steps", 40_000)
    assert result.returncode == 0, result.stderr
    first, last = means(result.stdout)
    assert 0 < first < 1 and last > first / 2  # too few steps to learn it
    assert len(seconds(result.stdout)) == 5


@needs_torch
def test_robots_of_mjlab():
    if importlib.util.find_spec("mjlab") is None:
        pytest.skip("the package mjlab is missing")
    robot = ("--id", "Mjlab-Velocity-Flat-Unitree-G1-v0", "--hidden", 32, 16, "--deviation", 0.3)
    result = run(EXAMPLES / "ppo_go1.py", "--quick", "--steps", 25_000, *robot, "--reward-scale", 10)
    assert result.returncode == 0, result.stderr
    assert all(-1 < mean < 2 for mean in means(result.stdout))


@needs_torch
def test_pong():
    pytest.importorskip("ale_py")
    pytest.importorskip("multi_agent_ale_py")
    result = run(EXAMPLES / "ppo_pong.py", "--quick")
    assert result.returncode == 0, result.stderr
    first, last = means(result.stdout)
    assert -21 <= first < -19 and -21 <= last < -17  # too few steps to learn it: as random play
    parts = seconds(result.stdout)
    assert parts["total"] == pytest.approx(sum(parts.values()) - parts["total"], abs=0.1) and len(parts) == 5


@needs_torch
def test_procgen():
    need_library()
    result = run(EXAMPLES / "ppo_procgen.py", "--quick", "--eval", 2)
    assert result.returncode == 0, result.stderr
    assert all(0 <= mean <= 10 for mean in means(result.stdout))  # too few steps to learn it
    assert result.stdout.count("2 sampled episodes") == 2 and "all levels:" in result.stdout


@pytest.mark.parametrize(
    "name", sorted(path.name for path in EXAMPLES.glob("*_*.py") if path.name[:4] in ("ppo_", "dqn_"))
)
def test_without_torch(name, tmp_path):
    result = run(EXAMPLES / name, PYTHONPATH=hide("torch", tmp_path))
    assert result.returncode == 1 and result.stderr.strip().endswith("pip install -e '.[examples]'")


@needs_torch
@pytest.mark.parametrize(("name", "module", "extra"), [
    ("ppo_mujoco.py", "mujoco", "batchenv[mujoco]"), ("ppo_pong.py", "ale_py", "batchenv[atari]"),
    ("ppo_procgen.py", "procgen", "procgen2==0.10.7"),
])  # fmt: skip
def test_without_simulator(name, module, extra, tmp_path):
    result = run(EXAMPLES / name, PYTHONPATH=hide(module, tmp_path))
    assert result.returncode == 1 and "Traceback" not in result.stderr and extra in result.stderr


@needs_torch
@pytest.mark.parametrize("module", ["moviepy", "pygame"])
def test_video_says_what_is_missing_before_training(module, tmp_path):
    result = run(EXAMPLES / "ppo_cartpole.py", "--video", tmp_path / "v", PYTHONPATH=hide(module, tmp_path))
    assert result.returncode == 1 and "Traceback" not in result.stderr
    assert module in result.stderr.lower() and "pip install" in result.stderr
    assert not result.stdout


@needs_torch
@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("ppo_pong.py", ["--lanes", "0"], "0 must be at least 1"),
        ("ppo_pong.py", ["--id", "CartPole-v1"], "observations must be of shape (4, 84, 84), not (4,)"),
        ("ppo_mujoco.py", ["--id", "CartPole-v1"], "observations must be vectors, and actions continuous"),
        (
            "ppo_go1.py",
            ["--id", "CartPole-v1"],
            "observations must have the parts state and privileged_state, or actor",
        ),
        ("ppo_mujoco.py", ["--id", "CartPole-v7"], "no environment 'CartPole-v7' in batchenv"),
        ("dqn_minatar.py", ["--id", "CartPole-v1"], "CartPole-v1 is none of MinAtar's games"),
        ("ppo_minatar.py", ["--id", "FrozenLake-v1"], "FrozenLake-v1 is none of MinAtar's games"),
        ("ppo_cartpole.py", ["--save", "no/such/folder/file"], "its folder does not exist"),
        ("ppo_cartpole.py", ["--resume", "no/such/file"], "is not a file that --save wrote"),
        ("ppo_cartpole.py", ["--resume", __file__], "is not a file that --save wrote"),
    ],
)
def test_refuses_bad_options(name, arguments, message):
    result = run(EXAMPLES / name, *arguments)
    assert result.returncode and message in result.stderr and "Traceback" not in result.stderr


@needs_torch
def test_advantages():
    """Against the definition: sums of discounted temporal differences up to the episode's end, lane by lane."""
    result = run("-c", """
import ppo, torch
torch.manual_seed(0)
steps, lanes, gamma, lam = 12, 5, 0.9, 0.8
values, rewards = torch.randn(steps + 1, lanes), torch.randn(steps, lanes)
done = torch.rand(steps, lanes) < 0.2
terminated = done & (torch.rand(steps, lanes) < 0.5)
assert terminated.any() and (done & ~terminated).any()
found = ppo.advantages_of(values, rewards, terminated, done, gamma, lam)
for lane in range(lanes):
    for t in range(steps):
        total, weight = 0.0, 1.0
        for u in range(t, steps):
            after = 0.0 if terminated[u, lane] else values[u + 1, lane]
            total += weight * (rewards[u, lane] + gamma * after - values[u, lane])
            weight *= gamma * lam
            if done[u, lane]:
                break
        assert abs(found[t, lane] - total) < 1e-5, (t, lane)
""", path=[EXAMPLES])  # fmt: skip
    assert result.returncode == 0, result.stderr


@needs_torch
def test_first_convolution():
    """Over blocks of pixels, it is one of 8x8 with stride 4 over the frames."""
    result = run("-c", """
import ppo_pong, torch
torch.manual_seed(0)
eye = ppo_pong.Eye(background=87, bfloat16=False)
frames = torch.randint(0, 256, (3, 4, 84, 84), dtype=torch.uint8)
# (out, frame, row, column, 2, 2) to (out, frame, 2, row, 2, column)
weight = eye.first.weight.view(16, 4, 4, 4, 2, 2).permute(0, 1, 4, 2, 5, 3).reshape(16, 4, 8, 8)
usual = eye.rest(torch.conv2d((frames - 87.0) / 64, weight, eye.first.bias, stride=4))
torch.testing.assert_close(eye(frames), usual)
assert eye.state_dict()["background"] == 87  # a resumed run has no first frames to take it from
""", path=[EXAMPLES])  # fmt: skip
    assert result.returncode == 0, result.stderr


SHORT = {
    "ppo_cartpole.py": ["--lanes", 128, "--min-episodes", 10, "--rollout", 64, "--minibatch", 1024],
    "ppo_mujoco.py": ["--id", "Hopper-v5", "--lanes", 16, "--rollout", 16, "--minibatch", 128, "--epochs", 2],
}


def lines(output):
    """The lines of the table, without the count of episodes (which begins anew) and the seconds."""
    rows = [line.split() for line in output.splitlines() if re.match(r" *\d+ +[\d,]+ ", line)]
    return [(update, steps, mean, entropy) for update, steps, _, mean, entropy, _ in rows]


@needs_torch
@pytest.mark.parametrize(("name", "half"), [("ppo_cartpole.py", 5 * 8192), ("ppo_mujoco.py", 16 * 256)])
def test_a_resumed_run_goes_on_as_if_it_had_not_been_interrupted(name, half, tmp_path):
    if name == "ppo_mujoco.py":  # with running moments and a simulator's state
        pytest.importorskip("mujoco")
    options, file = [*SHORT[name], "--anneal-from", 1.0], tmp_path / "run.pt"
    whole = run(EXAMPLES / name, *options, "--steps", 2 * half)
    first = run(EXAMPLES / name, *options, "--steps", half, "--save", file)
    rest = run(EXAMPLES / name, *options, "--steps", 2 * half, "--resume", file)
    assert "Traceback" not in whole.stderr + first.stderr + rest.stderr
    assert len(lines(first.stdout)) == len(lines(rest.stdout)) == len(lines(whole.stdout)) / 2 >= 1
    assert lines(first.stdout) + lines(rest.stdout) == lines(whole.stdout)
    assert [path.name for path in tmp_path.iterdir()] == ["run.pt"]


@needs_torch
def test_eval_and_video_of_a_resumed_run(tmp_path):
    pytest.importorskip("moviepy")
    pytest.importorskip("pygame")
    options, file = SHORT["ppo_cartpole.py"], tmp_path / "run.pt"
    assert "Traceback" not in run(EXAMPLES / "ppo_cartpole.py", *options, "--steps", 163_840, "--save", file).stderr
    result = run(
        EXAMPLES / "ppo_cartpole.py", *options, "--resume", file, "--steps", 1, "--eval", 16, "--video", tmp_path / "v"
    )
    assert "Traceback" not in result.stderr and not lines(result.stdout)
    returns = dict(re.findall(r"16 (\w+) episodes: mean return ([\d.]+)", result.stdout))
    assert float(returns["greedy"]) > 60 and float(returns["sampled"]) > 30  # random play: 22
    (video,) = (tmp_path / "v").glob("*.mp4")
    assert video.stat().st_size > 1000 and "video in" in result.stdout

    result = run(EXAMPLES / "ppo_mujoco.py", "--resume", file)
    if importlib.util.find_spec("mujoco") is not None:
        assert result.returncode == 1 and "saved with --id CartPole-v1, not HalfCheetah-v5" in result.stderr


@needs_torch
def test_evaluation_leaves_the_moments_alone():
    pytest.importorskip("mujoco")
    result = run("-c", """
import copy, numpy as np, ppo, torch
task = ppo.Task("Hopper-v5", normalize_observation=True, clip_actions=True)
trained = task.make(8)
trained.reset(seed=0)
for _ in range(50):
    trained.step(trained.action_space.sample())
before = copy.deepcopy(trained.normalizer.obs_rms)
agent = ppo.Gaussian(ppo.mlp(11, 3, 0.01), ppo.mlp(11, 1, 1.0), 3)
env = task.make_for_evaluation(trained, 4)
assert ppo.evaluate(env, agent, 5, greedy=True).shape == (4,)
for rms in (env.normalizer.obs_rms, trained.normalizer.obs_rms):
    assert rms.count == before.count and np.array_equal(rms.mean, before.mean) and np.array_equal(rms.var, before.var)
""", path=[EXAMPLES])  # fmt: skip
    assert result.returncode == 0, result.stderr


@needs_torch
def test_bench_training():
    """Says that SyncVectorEnv and batchenv give the same episodes, and would say if they did not."""
    result = run(EXAMPLES.parent / "tools" / "bench" / "bench_training.py", "--steps", 8192, "--rounds", 1)
    assert result.returncode == 0 and re.search(r"SyncVectorEnv and batchenv: the same \d+ episodes", result.stdout)
    result = run("-c", """
import sys, batchenv, bench_training
bench_training.ENVS["batchenv"] = lambda *args: batchenv.make(*args, gravity=9.81)
sys.argv = ["bench_training.py", "--steps", "8192", "--rounds", "1"]
sys.exit(bench_training.main())
""", path=[EXAMPLES.parent / "tools" / "bench"])  # fmt: skip
    assert result.returncode == 1 and "NOT the same" in result.stdout


@needs_torch
def test_prioritised_level_replay():
    result = run(EXAMPLES / "plr_minigrid.py", "--quick", "--levels", 20, "--eval", 16)
    assert result.returncode == 0, result.stderr
    assert "levels by what there is to learn, seed 1:" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("new levels solved: ")


@needs_torch
def test_prioritised_level_replay_draws_what_there_is_to_learn(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    levels = importlib.import_module("plr_minigrid").Levels(5, temperature=1.0, staleness=0.5, fresh=0.5)
    assert levels.weights().tolist() == [0.2] * 5
    levels.note(np.array([3, 1]), np.array([0.1, 0.9]))
    # Ranks 2 and 1; level 3 was played one level before level 1.
    seen = {3: 0.5 * (1 / 2) / 1.5 + 0.5 * 2 / 3, 1: 0.5 * 1 / 1.5 + 0.5 * 1 / 3}
    assert np.allclose(levels.weights(), [1 / 6, seen[1] / 2, 1 / 6, seen[3] / 2, 1 / 6])
    levels.note(np.array([0, 2, 4]), np.zeros(3))
    assert abs(levels.weights().sum() - 1) < 1e-12
