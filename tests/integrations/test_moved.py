"""Names of modules and functions from before they moved: they still work, and say where to look now."""

import importlib

import pytest

import batchenv
from helpers.processes import python, succeeded

MOVED = [
    ("batchenv.registry", "make", "batchenv"),
    ("batchenv.registry", "make_mujoco", "batchenv"),
    ("batchenv.registry", "spec", "batchenv"),
    ("batchenv.registry", "build_info", "batchenv"),
    ("batchenv.registry", "gymnasium_id", "batchenv.integrations.registration"),
    ("batchenv.parallel", "ParallelBatchEnv", "batchenv.integrations.pettingzoo"),
    ("batchenv.parallel", "make_parallel", "batchenv"),
    ("batchenv.single_env", "SingleEnv", "batchenv.integrations.single_env"),
    ("batchenv.patch", "patch_gymnasium", "batchenv.integrations.patch"),
    ("batchenv.faces", "ENV_TYPES", "batchenv.integrations"),
    ("batchenv.faces.gym", "GymBatchEnv", "batchenv.integrations.gym"),
    ("batchenv.faces.dm", "DmBatchEnv", "batchenv.integrations.dm"),
    ("batchenv.faces.envpool", "PoolSpec", "batchenv.integrations.envpool"),
    ("batchenv.faces.envpool", "make_dm", "batchenv"),
    ("batchenv.faces.envpool", "keywords", "batchenv.integrations.envpool"),
    ("batchenv.engines.games", "GAMES", "batchenv.engines.atari.games"),
    ("batchenv.batch_env", "BatchEnv", "batchenv.env"),
    ("batchenv.toy_text", "FrozenLake", "batchenv.envs.toy_text"),
    ("batchenv.entry_points", "vector CartPole-v1", "batchenv.integrations.registration"),
]


@pytest.mark.parametrize(("old", "name", "new"), MOVED)
def test_old_names_work_and_tell_the_new_one(old, name, new):
    if name == "DmBatchEnv":
        pytest.importorskip("dm_env")
    module = importlib.import_module(old)
    with pytest.warns(DeprecationWarning) as warned:
        found = getattr(module, name)
    assert str(warned[0].message) == f"{old}.{name} is now {new}.{name}: import it from there"
    assert warned[0].filename == __file__
    meant = getattr(importlib.import_module(new), name)
    assert found is meant or (found.func, found.args) == (meant.func, meant.args)


@pytest.mark.parametrize("old", sorted({old for old, _, _ in MOVED}))
def test_names_that_never_were_are_refused(old):
    with pytest.raises(AttributeError, match="no_such_name"):
        importlib.import_module(old).no_such_name  # noqa: B018


def test_nothing_of_batchenv_uses_old_names():
    code = "import batchenv, batchenv.__main__; batchenv.make('CartPole-v1').reset(seed=0)"
    succeeded(python("-W", "error::DeprecationWarning", "-c", code))


def test_specs_that_were_saved_before_still_make_their_env():
    import gymnasium

    spec = batchenv.spec("CartPole-v1")
    spec.entry_point = "batchenv.entry_points:single CartPole-v1"
    with pytest.warns(DeprecationWarning, match=r"batchenv\.entry_points"):
        env = gymnasium.make(spec)
    assert env.reset(seed=0)[0].shape == (4,)
