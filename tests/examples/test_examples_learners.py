"""Examples of learners run for a few steps, where their packages are installed: .ci/learners does that."""

import pytest

from helpers.processes import python
from helpers.project import ROOT


@pytest.mark.parametrize(
    ("package", "name", "arguments", "told"),
    [
        ("stable_baselines3", "sb3_ppo.py", ("--env", "Pendulum-v1", "--steps", 4096), "Pendulum-v1: mean return"),
        ("mctx", "jax_search.py", ("--steps", 20, "--lanes", 4), "states searched per second"),
        ("optax", "jax_ppo.py", ("--steps", 40_000), "CartPole-v1: mean returns by tenths"),
        ("torchrl", "torchrl_ppo.py", ("--steps", 4096, "--lanes", 8), "best mean return of a batch"),
    ],
)
def test_learner(package, name, arguments, told):
    pytest.importorskip(package, reason=f"examples/learners/{name} needs {package}")
    # They import common.py, which lies beside them; tests of an installed package forbid that otherwise.
    done = python(ROOT / "examples" / "learners" / name, *arguments, PYTHONSAFEPATH=None)
    assert told in done.stdout, done.stderr  # its exit status says whether it has learned enough
