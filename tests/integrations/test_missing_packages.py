"""Learners whose packages are not installed."""

import pytest

from helpers.processes import hide, run_python

PACKAGES = ("stable_baselines3", "tianshou", "rl_games", "torch", "torchrl", "ray")
ASKED = {  # what needs one of them: the extra that has it
    "batchenv.make('CartPole-v1', env_type='sb3')": "sb3",
    "batchenv.make_parallel('Pong-v5', env_type='sb3')": "sb3",
    "batchenv.make('CartPole-v1', env_type='tianshou')": "tianshou",
    "batchenv.make('CartPole-v1', env_type='rl_games')": "rl-games",
    "import batchenv.integrations.rl_games": "rl-games",
    "batchenv.make('CartPole-v1', env_type='torch')": "torch",
    "batchenv.make('CartPole-v1', env_type='torchrl')": "torchrl",
    "import batchenv.integrations.ray": "ray",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What each of these says in a Python that has none of the packages."""
    code = ["import batchenv"]
    for asked in ASKED:
        code += ["try:", f"    {asked}", "except ImportError as error:", "    print(error)", "else:", "    print()"]
    folder = tmp_path_factory.mktemp("hidden")
    path = [hide(package, folder) for package in PACKAGES][-1]
    return dict(zip(ASKED, run_python("\n".join(code), PYTHONPATH=path).splitlines(), strict=True))


@pytest.mark.parametrize("asked", ASKED)
def test_a_missing_package(told, asked):
    assert told[asked].endswith(f"pip install 'batchenv[{ASKED[asked]}]'")
