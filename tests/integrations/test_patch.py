"""patch_gymnasium: ours where the user leaves the choice to make_vec, Gymnasium's own everywhere else."""

import copy
import sys
import types

import gymnasium
import numpy as np
import pytest
from gymnasium import make_vec
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import batchenv
from helpers import ids
from helpers.begun import begun
from helpers.lockstep import actions_of
from helpers.processes import run_python

ORIGINAL = gymnasium.make_vec

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def restored():
    before = copy.deepcopy(dict(gymnasium.registry))
    yield
    batchenv.unpatch_gymnasium()
    assert gymnasium.make_vec is gymnasium.envs.registration.make_vec is make_vec is ORIGINAL
    assert dict(gymnasium.registry) == before


def is_ours(env):
    return type(env) is batchenv.BatchEnv


@pytest.mark.parametrize("env_id", ids.IN_GYMNASIUM)
def test_gives_ours(env_id):
    own = type(gymnasium.make_vec(env_id, 2))
    batchenv.patch_gymnasium()
    for mode in (None, "vector_entry_point", gymnasium.VectorizeMode.VECTOR_ENTRY_POINT):
        env = gymnasium.make_vec(env_id, num_envs=8, vectorization_mode=mode)
        assert is_ours(env) and env.num_envs == 8 and env.spec.id == env_id
        assert repr(env) == f"BatchEnv({env_id}, num_envs=8)"
    assert is_ours(gymnasium.make_vec(gymnasium.spec(env_id), 3))
    assert is_ours(gymnasium.make_vec(env_id)) and gymnasium.make_vec(env_id).num_envs == 1
    assert type(gymnasium.make(env_id).unwrapped).__module__.startswith("gymnasium.")
    batchenv.unpatch_gymnasium()
    assert type(gymnasium.make_vec(env_id, 2)) is own


@pytest.mark.parametrize("env_id", ids.IN_GYMNASIUM)
def test_trajectories_are_those_of_sync(env_id):
    """With actions beyond a Box as well, which Gymnasium clips."""
    theirs = gymnasium.make_vec(env_id, 4, vectorization_mode="sync", max_episode_steps=9)
    with batchenv.patch_gymnasium():
        ours = gymnasium.make_vec(env_id, 4, max_episode_steps=9)
    assert is_ours(ours)
    np.testing.assert_array_equal(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
    for actions in actions_of(theirs, 30, seed=0):
        if actions.dtype.kind == "f":
            actions *= 1.5
        for a, b in zip(ours.step(actions)[:4], theirs.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(a, b)


def test_arguments_reach_ours():
    with batchenv.patch_gymnasium():
        env = gymnasium.make_vec("CartPole-v1", 2, autoreset_mode="SameStep", gravity=3.7, num_threads=1)
        assert is_ours(env) and env.autoreset_mode is AutoresetMode.SAME_STEP and env.get_attr("gravity") == (3.7, 3.7)
        strict = begun(gymnasium.make_vec("Pendulum-v1", 2, clip_actions=False))
        with pytest.raises(ValueError, match="of lane 1"):
            strict.step(np.array([[0.0], [5.0]], np.float32))
        assert is_ours(gymnasium.make_vec("Pendulum-v1", 2, vector_kwargs={}, wrappers=()))
        assert is_ours(gymnasium.make_vec("CartPole-v1", 2, render_mode="rgb_array"))
        default = begun(gymnasium.make_vec("MountainCar-v0", 1, max_episode_steps=None))
        assert [bool(default.step([1])[3][0]) for _ in range(200)] == [False] * 199 + [True]


def test_spec_makes_the_same_again():
    with batchenv.patch_gymnasium():
        env = gymnasium.make_vec("Pendulum-v1", 5, g=9.0)
        again = gymnasium.make_vec(env.spec)
        assert is_ours(again) and again.spec == env.spec and again.num_envs == 5 and again.get_attr("g") == (9.0,) * 5
    again = gymnasium.make_vec(env.spec)  # what was made by us says so, patched or not
    assert is_ours(again) and again.spec == env.spec
    assert env.spec.to_json()


def wrapper(env):
    return gymnasium.wrappers.TimeAwareObservation(env)


def wrapped_spec():
    return gymnasium.wrappers.TimeAwareObservation(gymnasium.make("MountainCar-v0")).spec


def sync_spec():
    return gymnasium.make_vec("MountainCar-v0", 2, vectorization_mode="sync").spec


class Own(gymnasium.envs.classic_control.MountainCarEnv):
    pass


def changed_spec(**fields):
    spec = copy.deepcopy(gymnasium.spec("MountainCar-v0"))
    for name, value in fields.items():
        setattr(spec, name, value)
    return spec


@pytest.mark.parametrize(
    "env_id, arguments, kind",
    [
        ("CartPole-v1", {"vectorization_mode": "sync"}, SyncVectorEnv),
        ("CartPole-v1", {"vectorization_mode": gymnasium.VectorizeMode.SYNC}, SyncVectorEnv),
        ("CartPole-v1", {"vectorization_mode": "async"}, AsyncVectorEnv),
        ("MountainCar-v0", {"wrappers": [wrapper]}, SyncVectorEnv),
        ("MountainCar-v0", {"vector_kwargs": {"copy": False}}, SyncVectorEnv),
        ("MountainCar-v0", {"vector_kwargs": {"autoreset_mode": AutoresetMode.SAME_STEP}}, SyncVectorEnv),
        ("MountainCar-v0", {"disable_env_checker": True}, SyncVectorEnv),
        ("MountainCar-v0", {"max_episode_steps": -1}, SyncVectorEnv),
        ("Pendulum-v1", {"g": 1e12}, SyncVectorEnv),
        (sync_spec, {}, SyncVectorEnv),
        (lambda: changed_spec(kwargs={"wrappers": [wrapper]}), {}, SyncVectorEnv),
        (lambda: changed_spec(kwargs={"vectorization_mode": "sync"}), {}, SyncVectorEnv),
        (lambda: changed_spec(entry_point=Own), {}, SyncVectorEnv),
        (lambda: changed_spec(vector_entry_point=CartPoleVectorEnv), {}, CartPoleVectorEnv),
        ("CartPole-v9", {}, gymnasium.error.VersionNotFound),
        ("CartPole-v1", {"wrappers": [wrapper]}, gymnasium.error.Error),
        ("CartPole-v1", {"vector_kwargs": {"copy": False}}, gymnasium.error.Error),
        ("CartPole-v1", {"vectorization_mode": "nonsense"}, ValueError),
        ("MountainCar-v0", {"gravty": 3.0}, TypeError),
        (wrapped_spec, {"vectorization_mode": "vector_entry_point"}, gymnasium.error.Error),
        (7, {}, gymnasium.error.Error),
    ],
)
def test_falls_through(env_id, arguments, kind):
    """The same class, or the same error, as without the patch."""
    asked = env_id() if callable(env_id) else env_id

    def outcome():
        try:
            env = gymnasium.make_vec(asked, num_envs=2, **arguments)
        except Exception as error:
            return type(error), str(error)
        observation, _ = env.reset(seed=0)
        spec = env.spec
        env.close()
        return type(env), spec, observation.tobytes()

    expected = outcome()
    with batchenv.patch_gymnasium():
        assert outcome() == expected
    if kind is not None:
        assert expected[0] is kind


def test_both_refusals_are_told():
    with batchenv.patch_gymnasium(), pytest.raises(TypeError, match="num_threads") as caught:
        gymnasium.make_vec("MountainCar-v0", 2, num_threads=0)
    assert "num_threads=0 must be at least 1" in caught.value.__notes__[0]


def test_ids_registered_anew_are_left_alone():
    spec = gymnasium.registry.pop("MountainCar-v0")
    try:
        gymnasium.register("MountainCar-v0", entry_point=Own, max_episode_steps=5)
        with batchenv.patch_gymnasium():
            env = gymnasium.make_vec("MountainCar-v0", 2)
            assert isinstance(env, SyncVectorEnv) and isinstance(env.envs[0].unwrapped, Own)
        del gymnasium.registry["MountainCar-v0"]
        with batchenv.patch_gymnasium(), pytest.raises(gymnasium.error.Error):
            gymnasium.make_vec("MountainCar-v0", 2)
    finally:
        # The registry's order is part of what is compared.
        entries = {key: (spec if key == "MountainCar-v0" else value) for key, value in gymnasium.registry.items()}
        gymnasium.registry.clear()
        gymnasium.registry.update({**entries, "MountainCar-v0": spec})


def test_nesting():
    def patched():
        return is_ours(gymnasium.make_vec("CartPole-v1", 2))

    batchenv.unpatch_gymnasium()  # no harm
    with batchenv.patch_gymnasium():
        with batchenv.patch_gymnasium():
            assert patched()
        assert patched()
        batchenv.patch_gymnasium()
        batchenv.unpatch_gymnasium()
        assert not patched()
    assert not patched()
    batchenv.patch_gymnasium()
    with batchenv.patch_gymnasium():
        assert patched()
    assert patched()
    batchenv.unpatch_gymnasium()
    assert not patched()
    with pytest.raises(KeyError), batchenv.patch_gymnasium():
        raise KeyError
    assert not patched()
    context = batchenv.patch_gymnasium()
    for _ in range(2):
        with context:
            assert patched()
        assert not patched()


def test_modules_that_imported_make_vec():
    late = types.ModuleType("late_user_of_make_vec")
    with batchenv.patch_gymnasium():
        assert is_ours(make_vec("CartPole-v1", 2))
        late.make_vec = gymnasium.make_vec
        sys.modules["late_user_of_make_vec"] = late
        kept = gymnasium.make_vec
    try:
        batchenv.unpatch_gymnasium()
        assert late.make_vec is ORIGINAL
        assert isinstance(kept("CartPole-v1", 2), CartPoleVectorEnv)
    finally:
        del sys.modules["late_user_of_make_vec"]


def test_another_patch_on_top_survives():
    calls = []
    with batchenv.patch_gymnasium():
        below = gymnasium.make_vec

        def theirs(*args, **kwargs):
            calls.append(args)
            return below(*args, **kwargs)

        gymnasium.make_vec = theirs
        assert is_ours(gymnasium.make_vec("CartPole-v1", 2))
    assert gymnasium.make_vec is theirs
    assert isinstance(gymnasium.make_vec("CartPole-v1", 2), CartPoleVectorEnv)
    with batchenv.patch_gymnasium():
        assert is_ours(gymnasium.make_vec("CartPole-v1", 2))
    assert gymnasium.make_vec is theirs and len(calls) == 3
    gymnasium.make_vec = ORIGINAL


def test_lazy_modules_stay_unloaded():
    code = """
import importlib.util, sys, batchenv
spec = importlib.util.find_spec("wave")
loader = importlib.util.LazyLoader(spec.loader)
spec.loader = loader
module = importlib.util.module_from_spec(spec)
sys.modules["wave"] = module
loader.exec_module(module)
batchenv.patch_gymnasium()
print(object.__getattribute__(module, "__dict__").get("open"))
"""
    assert run_python(code).strip() == "None"
