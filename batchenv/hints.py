"""What error messages say about names that batchenv does not know: ids and keywords."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any

import gymnasium

SCOPE = (
    "batchenv steps environments that it has in C: classic control, toy text, Atari and Gymnasium's MuJoCo tasks "
    "(`python -m batchenv list`), and MuJoCo models of your own (batchenv.make_mujoco)"
)
OWN_C = "or write it in C: `python -m batchenv new NAME` begins one, which batchenv.compile() takes"
_CLOSE = 0.82  # a ratio of difflib: allows one or two typing errors, but not another word


def _family(env_id: str) -> str:
    """The name that all ids of an environment share: "pong" for "ALE/Pong-v5" and "pong-v4"."""
    return re.sub(r"-v\d+$", "", env_id.rpartition("/")[2]).lower()


def similar_ids(env_id: str, known: Iterable[str]) -> list[str]:
    """The ids of `known` that `env_id` may be meant for: other versions of the same name, or names that are nearly the
    same. If some of them have its namespace or its version, only those."""
    families: dict[str, list[str]] = {}
    for name in known:
        families.setdefault(_family(name), []).append(name)
    family = _family(env_id)
    near = [family] if family in families else difflib.get_close_matches(family, families, n=2, cutoff=_CLOSE)
    found = [name for family in near for name in families[family]]
    space, version = env_id.rpartition("/")[0], env_id.rpartition("-v")[2]
    found = [name for name in found if name.rpartition("/")[0] == space] or found
    return [name for name in found if name.rpartition("-v")[2] == version] or found


def unknown_id(env_id: str, known: Iterable[str]) -> str:
    """The message for an id that is not in `known`: which id may be meant, or what can be done instead."""
    shown = repr(env_id) if len(env_id) <= 100 else f"{env_id[:100]!r}..."
    head = f"no environment {shown} in batchenv"
    module, colon, name = env_id.rpartition(":")
    # Gymnasium still lists the old versions of MuJoCo's tasks, but no longer has them.
    moved = "mujoco" in str(getattr(gymnasium.registry.get(name), "entry_point", "")) and name.endswith(("-v2", "-v3"))
    elsewhere = bool(colon) or (name in gymnasium.registry and not moved)
    instead = f"gymnasium.make_vec({shown}, num_envs) steps it"
    near = similar_ids(env_id, known)
    if near:
        more = f" Gymnasium has {shown}, too: {instead}." if elsewhere else ""
        return f"{head}: did you mean {' or '.join(near)}?{more}"
    if colon:
        hint = f"If the module {module!r} registers it with Gymnasium, {instead}"
    elif elsewhere:
        hint = f"It is in Gymnasium's registry: {instead}"
    else:
        hint = f"If another package has it, import that package, and {instead}"
    return f"{head}. {SCOPE}. {hint}, in Python; {OWN_C}."


def not_an_id(value: Any) -> str:
    """The message for something that is not a str where an id belongs."""
    head = f"id={value!r} must be a str such as 'CartPole-v1', not {type(value).__name__}"
    if isinstance(value, gymnasium.envs.registration.EnvSpec):
        return f"{head}: pass its id, {value.id!r}"
    if callable(value) or isinstance(value, gymnasium.Env):
        return (
            f"{head}. {SCOPE}. For environments in Python use gymnasium.vector.SyncVectorEnv or AsyncVectorEnv, which "
            f"take a list of functions that make one; {OWN_C}."
        )
    return head


def unknown_keyword(
    owner: str, name: str, own: Iterable[str], builtin: Iterable[str] = (), fields: Iterable[str] = ()
) -> str:
    """The message for a keyword that an environment does not take.

    own: the environment's parameters. builtin: keywords of every environment. fields: those of MuJoCo's model.
    """
    own, builtin, fields = list(own), list(builtin), list(fields)
    head = f"{owner} has no parameter {name!r}"
    near = difflib.get_close_matches(name, [*own, *builtin, *fields], n=3, cutoff=0.75)
    if near:
        where = f"`python -m batchenv info {owner}` and help(batchenv.BatchEnv) list all"
        return f"{head}: did you mean {' or '.join(near)}? {where}"
    text = f"{head}; it has: {', '.join(own) or 'none'}"
    if fields:
        text += f"; fields of MuJoCo's model: {', '.join(fields)}"
    return f"{text}; keywords of every environment: {', '.join(builtin)}" if builtin else text
