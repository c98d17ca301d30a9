"""docs/reference/api.md names everything public."""

import importlib
import inspect
import re

import gymnasium
import pytest

import batchenv
from batchenv.integrations import env_types
from helpers.project import ROOT

# In code, a name may stand alone, be called, or be looked up: `recv(timeout)`, `s.nbytes`, `batchenv.make`.
NAMES = {
    name
    for code in re.findall("`([^`]*)`", (ROOT / "docs" / "reference" / "api.md").read_text())
    for name in re.findall(r"\w+", code)
}


def members(owner):
    return [name for name in dir(owner) if not name.startswith("_")]


@pytest.mark.parametrize("name", batchenv.__all__)
def test_functions_and_classes(name):
    assert name in NAMES and name in dir(batchenv) and getattr(batchenv, name) is not None


@pytest.mark.parametrize("name", members(batchenv.BatchEnv))
def test_methods(name):
    assert name in NAMES


def test_attributes_of_an_env():
    env = batchenv.make("CartPole-v1", 2)
    assert [name for name in vars(env) if not name.startswith("_") and name not in NAMES] == []


@pytest.mark.parametrize(
    "module, name",
    [
        *env_types().values(),
        ("batchenv.integrations.ray", "RaySampler"),
        ("batchenv.integrations.ray", "Fragment"),
        ("batchenv.integrations.ray", "Loss"),
        ("batchenv.integrations.envpool", "PoolSpec"),
        ("batchenv.integrations.pettingzoo", "ParallelBatchEnv"),
        ("batchenv.normalize", "Normalizer"),
        ("batchenv.check", "Report"),
        ("batchenv", "Snapshot"),
    ],
)
def test_methods_of_other_classes(module, name):
    try:
        owner = getattr(importlib.import_module(module), name)
    except ImportError as error:
        pytest.skip(str(error))
    inherited = {name for base in owner.__mro__[1:] if not base.__module__.startswith("batchenv") for name in dir(base)}
    own = set(members(owner)) - (inherited - {"reset", "step", "close"}) - {"DEFAULTS", "KEYWORDS"}
    assert name in NAMES and own - NAMES == set()


def test_it_names_nothing_else():
    """What stands as a call of BatchEnv's is one."""
    text = (ROOT / "docs" / "reference" / "api.md").read_text()
    section = text.split("## `batchenv.BatchEnv`")[1].split("\n## ")[0]
    of_some = {name for base in batchenv.BatchEnv.__mro__ for name in inspect.get_annotations(base)}
    for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE):
        for name in re.findall(r"`(\w+)(?:\([^`]*\))?`", row):
            has = name == "len" or name in of_some or hasattr(batchenv.make("CartPole-v1", 2), name)
            assert has, name


def test_the_normalizer_can_be_read():
    """Its repr says what there is to look at; `help` names it."""
    env = batchenv.make("CartPole-v1", 3, normalize_observation=True)
    env.reset(seed=0)
    text = repr(env.normalizer)
    assert text.startswith("Normalizer(obs_rms: mean=array(") and "update_running_mean=True" in text
    for word in ("var=", "count=3"):
        assert word in text
    assert "normalizer.obs_rms" in inspect.getdoc(batchenv.BatchEnv)
    assert isinstance(env, gymnasium.vector.VectorEnv) and env.normalizer is not None
