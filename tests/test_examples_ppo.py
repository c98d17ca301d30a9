"""The PPO examples learn, and say what is missing. They need PyTorch, which the extra `test` does not install."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
HAS_TORCH = importlib.util.find_spec("torch") is not None  # importing it here would start its threads
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="needs torch: pip install 'batchenv[examples]'")


def run(*command, path=()):
    path = os.pathsep.join([*map(str, path), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": path},
    )


def without(module, folder):
    """A folder that, at the head of the path, hides an installed module."""
    (folder / module).mkdir()
    (folder / module / "__init__.py").write_text("raise ImportError('not here')\n")
    return folder


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
def test_mujoco():
    pytest.importorskip("mujoco")
    result = run(EXAMPLES / "ppo_mujoco.py", "--quick")
    assert result.returncode == 0, result.stderr
    first, last = means(result.stdout)
    assert first < -400 and last > first + 200  # learnt: noise alone, charged for, costs the former
    parts = seconds(result.stdout)
    assert parts["total"] == pytest.approx(sum(parts.values()) - parts["total"], abs=0.1) and len(parts) == 5


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


@pytest.mark.parametrize("name", ["ppo_cartpole.py", "ppo_mujoco.py", "ppo_pong.py"])
def test_without_torch(name, tmp_path):
    result = run(EXAMPLES / name, path=[without("torch", tmp_path)])
    assert result.returncode == 1 and result.stderr.strip().endswith("pip install 'batchenv[examples]'")


@needs_torch
@pytest.mark.parametrize(("name", "module", "extra"), [
    ("ppo_mujoco.py", "mujoco", "batchenv[mujoco]"), ("ppo_pong.py", "ale_py", "batchenv[atari]"),
])  # fmt: skip
def test_without_simulator(name, module, extra, tmp_path):
    result = run(EXAMPLES / name, path=[without(module, tmp_path)])
    assert result.returncode == 1 and "Traceback" not in result.stderr and extra in result.stderr


@needs_torch
@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("ppo_pong.py", ["--lanes", "0"], "0 must be at least 1"),
        ("ppo_pong.py", ["--id", "CartPole-v1"], "observations must be of shape (4, 84, 84), not (4,)"),
        ("ppo_mujoco.py", ["--id", "CartPole-v1"], "observations must be vectors, and actions continuous"),
        ("ppo_mujoco.py", ["--id", "CartPole-v7"], "no environment 'CartPole-v7' in batchenv"),
        ("ppo_cartpole.py", ["--lanes", "8"], "at least 500 times --min-episodes"),
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
""", path=[EXAMPLES])  # fmt: skip
    assert result.returncode == 0, result.stderr
