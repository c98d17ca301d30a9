"""Examples of learners run for a few steps, where their packages are installed: .ci/learners does that."""

import importlib.util

import pytest

from helpers.processes import python
from helpers.project import ROOT


@pytest.mark.parametrize(
    ("package", "name", "arguments", "told"),
    [
        ("stable_baselines3", "sb3_ppo.py", ("--env", "Pendulum-v1", "--steps", 4096), "Pendulum-v1: mean return"),
        (
            "stable_baselines3 gymnasium_robotics",
            "sb3_her.py",
            ("--steps", 4000),
            "FetchReach-v4: not done after 4,000 steps",
        ),
        ("sbx gymnasium_robotics", "sbx_her.py", (), "FetchPush-v4: not done after 8,000 steps"),
        ("sbx metaworld", "sbx_mt10.py", (), "5,000 steps"),
        ("mctx", "jax_search.py", (), "states searched per second"),
        ("optax", "jax_ppo.py", (), "CartPole-v1: mean returns by tenths"),
        ("torchrl", "torchrl_ppo.py", ("--steps", 4096, "--lanes", 8), "best mean return of a batch"),
        ("tianshou", "tianshou_dqn.py", ("--steps", 5000), "CartPole-v1: mean return"),
        ("skrl", "skrl_ppo.py", ("--env", "Pendulum-v1", "--steps", 4096), "per second with learning"),
        ("rl_games", "rl_games_ppo.py", ("--env", "CartPole-v1", "--steps", 20_480), "CartPole-v1: 20,480 steps"),
        ("mpe2", "sb3_players.py", ("--lanes", 4, "--steps", 2400), "2,400 steps of agents"),
    ],
)
def test_learner(package, name, arguments, told, tmp_path):
    if any(importlib.util.find_spec(one) is None for one in package.split()):
        pytest.skip(f"examples/learners/{name} needs {package}")
    saved = tmp_path / "learnt"
    learns = () if name == "jax_search.py" else ("--save", saved, "--eval", 2)
    # They import common.py, which lies beside them; tests of an installed package forbid that otherwise.
    path = ROOT / "examples" / "learners" / name
    done = python(path, "--quick", *arguments, *learns, PYTHONSAFEPATH=None)
    assert done.returncode == 0 and told in done.stdout, done.stderr
    if learns:
        assert "evaluation: mean return" in done.stdout and saved.stat().st_size > 100


def test_wrong_options_are_refused_before_anything_is_learnt():
    pytest.importorskip("optax", reason="examples/learners/jax_ppo.py needs optax")
    path = ROOT / "examples" / "learners" / "jax_ppo.py"
    for arguments, told in (
        (("--save", "no/such/folder/file"), "its folder does not exist"),
        (("--eval", 0), "must be at least 1"),
    ):
        done = python(path, *arguments, PYTHONSAFEPATH=None)
        assert done.returncode == 2 and told in done.stderr
