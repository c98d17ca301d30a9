"""`gymnasium.make_vec` of Gymnasium's own ids, answered by batchenv."""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec, VectorizeMode

from batchenv.catalog import entry_point
from batchenv.envs import translator
from batchenv.registry import TABLE, family_of

_VECTOR_MODES = (None, VectorizeMode.VECTOR_ENTRY_POINT, VectorizeMode.VECTOR_ENTRY_POINT.value)
# While patched: batchenv's make_vec, and the one that it replaces.
_installed: tuple[Callable, Callable] | None = None


def patch_gymnasium() -> PatchedGymnasium:
    """Makes `gymnasium.make_vec("CartPole-v1", ...)` return a BatchEnv, for every id that Gymnasium and batchenv share.

    It does so where `make_vec` is left to choose how to vectorise, or is told "vector_entry_point". Calls that ask for
    Gymnasium's own classes get them, as if nothing had been patched: vectorization_mode "sync" or "async", `wrappers`,
    `vector_kwargs`, keywords and values that batchenv does not take, ids registered anew by others. So does
    `gymnasium.make`. Continuous actions out of range are clipped, as Gymnasium does; `clip_actions=False` refuses them.
    Trajectories are those of SyncVectorEnv: lane i is seeded with s + i. (Gymnasium's own CartPoleVectorEnv draws all
    lanes from one stream.) A BatchEnv lacks what only Gymnasium's classes have, such as SyncVectorEnv's `envs`.

    A `make_vec` that a module has imported by that name is patched too; the registry is left alone. Patching again
    changes nothing. `unpatch_gymnasium` undoes it.

    Returns:
        a context manager: `with batchenv.patch_gymnasium(): ...` leaves things as it found them.
    """
    return PatchedGymnasium()


def unpatch_gymnasium() -> None:
    """Undoes `patch_gymnasium`, however often that was called."""
    global _installed
    if _installed is not None:
        ours, original = _installed
        _replace(ours, original)
        _installed = None


class PatchedGymnasium:
    """What `patch_gymnasium` returns: patched since then; leaving the `with` block restores the state before it."""

    def __init__(self) -> None:
        self._outer = _installed is not None
        self.__enter__()

    def __enter__(self) -> PatchedGymnasium:
        global _installed
        if _installed is None:
            original = gymnasium.make_vec
            _installed = _patched(original), original
            _replace(original, _installed[0])
        return self

    def __exit__(self, *args: object) -> None:
        if not self._outer:
            unpatch_gymnasium()


def _replace(old: Callable, new: Callable) -> None:
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType):
            # Not module.__dict__: that would run the imports of a lazy module.
            names = object.__getattribute__(module, "__dict__")
            if names.get("make_vec") is old:
                names["make_vec"] = new


def _patched(original: Callable) -> Callable:
    @functools.wraps(original)
    def make_vec(id, num_envs=1, vectorization_mode=None, vector_kwargs=None, wrappers=None, **kwargs):
        asked = {"vectorization_mode": vectorization_mode, "vector_kwargs": vector_kwargs, "wrappers": wrappers}
        # A copy of this function kept by someone else is Gymnasium's again once unpatched.
        spec = None if _installed is None else _our_spec(id, asked)
        if spec is None or translator(TABLE[spec.id].type_name).lanes_differ({**spec.kwargs, **kwargs}):
            return original(id, num_envs, **asked, **kwargs)
        ours = dict(kwargs)
        if ours.get("max_episode_steps", 0) is None:
            del ours["max_episode_steps"]  # gymnasium.make: None is the id's own limit
        try:
            return original(spec, num_envs, vectorization_mode, **ours)
        except (TypeError, ValueError) as refusal:
            try:
                return original(id, num_envs, **asked, **kwargs)
            except Exception as error:
                error.add_note(f"(batchenv, which was asked first, said: {refusal})")
                raise error from None

    return make_vec


def _our_spec(id: Any, asked: dict[str, Any]) -> EnvSpec | None:
    """A copy of the spec asked for, whose vector environment is batchenv's; None where Gymnasium's own is meant."""
    spec = gymnasium.registry.get(id) if isinstance(id, str) else id
    if not isinstance(spec, EnvSpec) or spec.id not in TABLE:
        return None
    known = gymnasium.registry.get(spec.id)
    begins = family_of(TABLE[spec.id].family).gymnasium
    if known is None or begins is None or not str(known.entry_point).startswith(begins):
        return None
    if (spec.entry_point, spec.vector_entry_point) != (known.entry_point, known.vector_entry_point):
        return None
    asked = {**asked, **spec.kwargs}
    if asked["vectorization_mode"] not in _VECTOR_MODES or spec.additional_wrappers:
        return None
    if any(asked[name] is not None and len(asked[name]) > 0 for name in ("vector_kwargs", "wrappers")):
        return None
    spec = copy.deepcopy(spec)
    spec.vector_entry_point = entry_point("vector", spec.id)
    spec.kwargs = {"clip_actions": True, **spec.kwargs}
    return spec
