"""env_types are found where they are declared, without their learners."""

import ast
import importlib.util
import pathlib
import sys

import numpy as np
import pytest

import batchenv
from batchenv import integrations
from helpers.processes import hide, run_python
from helpers.project import EXTRAS

TABLES = {"make": "ENV_TYPES", "make_parallel": "PARALLEL_ENV_TYPES"}
DECLARED = [
    (make, env_type, *found)
    for make, table in TABLES.items()
    for env_type, found in integrations.env_types(table).items()
]
WITHOUT_PACKAGE = {("make", "gym"), ("make", "envpool_gym"), ("make_parallel", "gymnasium")}
WITH_PACKAGE = [entry[:2] for entry in DECLARED if entry[:2] not in WITHOUT_PACKAGE]
ASKED = {  # what needs a package: the extra that has it
    **{f"batchenv.{make}('Pong-v5', env_type={kind!r})": kind.replace("_", "-") for make, kind in WITH_PACKAGE},
    "import batchenv.integrations.rl_games": "rl-games",
    "import batchenv.integrations.ray": "ray",
}


@pytest.mark.parametrize("make, env_type, module, name", DECLARED, ids=lambda value: value)
def test_a_declared_class_is_in_its_module(make, env_type, module, name):
    tree = ast.parse(pathlib.Path(importlib.util.find_spec(module).origin).read_text())
    assert name in [node.name for node in tree.body if isinstance(node, ast.ClassDef)]


@pytest.mark.parametrize("make, plain", [(batchenv.make, "gymnasium"), (batchenv.make_parallel, "pettingzoo")])
def test_an_unknown_env_type_is_answered_with_all_that_there_are(make, plain):
    names = [repr(env_type) for env_type in (plain, *integrations.env_types(TABLES[make.__name__]))]
    assert len(names) >= 3
    for wrong in ("Gym", "envpool", None, 1, ["gym"], np.zeros(3)):
        with pytest.raises(ValueError) as refusal:
            make("Pong-v5", 2, env_type=wrong)
        assert f"env_type={wrong!r} must be {', '.join(names[:-1])} or {names[-1]}" == str(refusal.value)


def test_a_module_is_all_that_a_new_learner_needs(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "from batchenv.integrations.wrapper import Wrapper\n"
        'ENV_TYPES = {"mine": "MyEnv"}\n'
        "class MyEnv(Wrapper):\n    DEFAULTS = {'clip_actions': True}\n"
    )
    monkeypatch.setattr(integrations, "__path__", [*integrations.__path__, str(tmp_path)])
    integrations.env_types.cache_clear()
    try:
        env = batchenv.make("Pendulum-v1", 2, env_type="mine")
        assert type(env).__name__ == "MyEnv" and env.config["clip_actions"] and len(env) == 2
        with pytest.raises(ValueError, match="'mine'"):
            batchenv.make("Pendulum-v1", 2, env_type="yours")
    finally:
        integrations.env_types.cache_clear()
        sys.modules.pop("batchenv.integrations.mine", None)


def test_finding_an_env_type_imports_no_learner():
    code = """
    import sys, batchenv
    before = {name for name in sys.modules if name.startswith("batchenv.integrations.")}
    assert not {name for name in before if name.split(".")[2] in ("sb3", "torch", "dm", "gym", "player_rows")}, before
    batchenv.integrations.env_types()
    assert before == {name for name in sys.modules if name.startswith("batchenv.integrations.")}
    """
    run_python(code)


@pytest.fixture(scope="module")
def refusals(tmp_path_factory):
    """What each of `ASKED` says in a Python that has none of the packages."""
    code = ["import batchenv"]
    for asked in ASKED:
        code += ["try:", f"    {asked}", "except ImportError as error:", "    print(error)", "else:", "    print()"]
    packages = {package for extra in set(ASKED.values()) for package in EXTRAS[extra]}
    folder = tmp_path_factory.mktemp("hidden")
    path = [hide(package, folder) for package in packages][-1]
    return dict(zip(ASKED, run_python("\n".join(code), PYTHONPATH=path).splitlines(), strict=True))


@pytest.mark.parametrize("asked", ASKED)
def test_a_missing_package(refusals, asked):
    assert refusals[asked].endswith(f"pip install 'batchenv[{ASKED[asked]}]'")
