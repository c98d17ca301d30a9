"""What error messages say about names that batchenv does not know: ids, keywords and options."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from batchenv.arguments import other_packages
from batchenv.arguments.numbers import brief
from batchenv.registry import FAMILIES

SCOPE = (
    "batchenv implements {} in C (`python -m batchenv list`), and steps MuJoCo models of your own "
    "(batchenv.make_mujoco); and it steps every environment in Python that is registered with Gymnasium, or that "
    "batchenv.make_python is given"
)
OWN_C = "or write one in C: `python -m batchenv new NAME` begins one, which batchenv.compile() takes"
# Keywords of others' functions that make environments, and what to write instead.
_INSTEAD = {
    "wrappers": (
        "the keywords of every environment do what Gymnasium's wrappers do, such as record_episode_statistics=True, "
        "frame_stack=4, time_aware=True and normalize_observation=True (help(batchenv.BatchEnv)); wrappers of "
        "gymnasium.wrappers.vector wrap what is made here; and batchenv.make_python(lambda: MyWrapper(gymnasium.make("
        "id)), num_envs) makes lanes in wrappers of single environments, in Python"
    ),
    "vectorization_mode": (
        "leave it out. All lanes are stepped together, in C; for an environment in Python, workers='processes' is what "
        "'async' would be, and workers='serial' what 'sync' would be"
    ),
    "vector_kwargs": "write what is in it as keywords",
    "stack_num": "frame_stack is what stacks the frames of an observation, and stack_num is for Atari",
}
_INSTEAD["wrapper_class"] = _INSTEAD["wrapper"] = _INSTEAD["wrappers"]
_INSTEAD["asynchronous"] = _INSTEAD["vectorization_mode"]
# The keywords of make_python alone.
OF_PYTHON = ("workers", "num_workers", "start_method", "step_timeout", "on_failure", "snapshots", "env_kwargs")
_CLOSE = 0.82  # a ratio of difflib: allows one or two typing errors, but not another word


def _family(env_id: str) -> str:
    """The name that all ids of an environment share: "pong" for "ALE/Pong-v5" and "pong-v4"."""
    return re.sub(r"-v\d+$", "", env_id.rpartition("/")[2]).lower()


def similar_ids(env_id: str, known: Iterable[str]) -> list[str]:
    """The ids of `known` that `env_id` may be meant for: other versions of the same name, names that are nearly the
    same, or up to four that begin with it. If some of them have its namespace or its version, only those."""
    families: dict[str, list[str]] = {}
    for name in known:
        families.setdefault(_family(name), []).append(name)
    family = _family(env_id)
    near = [family] if family in families else difflib.get_close_matches(family, families, n=2, cutoff=_CLOSE)
    found = [name for family in near for name in families[family]]
    space, version = env_id.rpartition("/")[0], env_id.rpartition("-v")[2]
    if not near:
        longer = [name for other in families if other.startswith(f"{family}-") for name in families[other]]
        found = [name for name in longer if name.rpartition("/")[0] == space]
        return found if len(found) <= 4 else []
    found = [name for name in found if name.rpartition("/")[0] == space] or found
    return [name for name in found if name.rpartition("-v")[2] == version] or found


def unknown_id(env_id: str, known: Iterable[str]) -> str:
    """The message for an id that is neither in `known` nor in Gymnasium's registry: which id may be meant, or what can
    be done instead."""
    head = f"no environment {_shown(env_id)} in batchenv"
    if env_id not in gymnasium.registry and (where := other_packages.where(env_id)):
        return f"{head}. {where}."
    near = similar_ids(env_id, known)
    more = ""
    if not near and env_id not in gymnasium.registry:
        near = similar_ids(env_id, _gymnasiums())
        more = " (of Gymnasium's registry)" if near else ""
    if near:
        return f"{head}: did you mean {' or '.join(near)}{more}?"
    module, colon, _ = env_id.rpartition(":")
    if colon:
        hint = f"The module {module!r} does not register it with Gymnasium"
    elif env_id in gymnasium.registry:
        single = gymnasium.registry[env_id].entry_point is not None
        how = f"{'batchenv.make' if single else 'only gymnasium.make_vec'}({_shown(env_id)}, num_envs)"
        hint = f"It is in Gymnasium's registry, and {how} steps it, in Python"
    else:
        hint = "If another package has it, import that package first"
    return f"{head}. {SCOPE.format(', '.join(FAMILIES))}. {hint}; {OWN_C}."


def unknown_to_gymnasium(env_id: str) -> str:
    """The message for an id of which Gymnasium's registry should have a single environment, and has none."""
    spec = gymnasium.registry.get(env_id)
    if spec is not None and spec.entry_point is None:
        return f"{_shown(env_id)} makes no single environments, only gymnasium.make_vec({_shown(env_id)}, num_envs)"
    if where := other_packages.where(env_id):
        return f"no environment {_shown(env_id)} in Gymnasium's registry. {where}."
    near = similar_ids(env_id, _gymnasiums())
    meant = f": did you mean {' or '.join(near)}?" if near else ". If a package registers it, import that first."
    return f"no environment {_shown(env_id)} in Gymnasium's registry{meant}"


def _shown(env_id: str) -> str:
    return repr(env_id) if len(env_id) <= 100 else f"{env_id[:100]!r}..."


def _gymnasiums() -> list[str]:
    """The ids of Gymnasium's registry that others than batchenv have put there."""
    return [name for name in gymnasium.registry if not name.startswith("batchenv/")]


def not_an_id(value: Any) -> str:
    """The message for something that is not a str where an id belongs."""
    head = f"id={value!r} must be a str such as 'CartPole-v1', not {type(value).__name__}"
    if isinstance(value, EnvSpec):
        return f"{head}: pass its id, {value.id!r}"
    if callable(value) or isinstance(value, gymnasium.Env):
        return (
            f"{head}. For an environment in Python use batchenv.make_python, which takes its class, or a function that "
            f"makes one; {OWN_C}."
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
    if name in _INSTEAD:
        return f"{head}: {_INSTEAD[name]}"
    if name in OF_PYTHON:
        instead = (
            "write what is in it as keywords" if name == "env_kwargs" else "num_threads=k lets up to k threads step it"
        )
        return f"{head}, which is for environments in Python; this one is in C: {instead}"
    near = difflib.get_close_matches(name, [*own, *builtin, *fields], n=3, cutoff=0.75)
    if near:
        listed = f"`python -m batchenv info {owner}` and " if "-v" in owner else ""  # a task in NumPy has no id
        where = f"{listed}help(batchenv.BatchEnv) list{'' if listed else 's'} all"
        return f"{head}: did you mean {' or '.join(near)}? {where}"
    text = f"{head}; it has: {', '.join(own) or 'none'}"
    if fields:
        text += f"; fields of MuJoCo's model: {', '.join(fields)}"
    return f"{text}; keywords of every environment: {', '.join(builtin)}" if builtin else text


def unknown_option(owner: str, name: Any, value: Any, own: Iterable[str], keywords: Iterable[str]) -> str:
    """The message for a key of `reset(options=...)` that an environment does not have.

    own: the environment's options. keywords: those that `make` takes for it.
    """
    options = [*own, "reset_mask"]
    head = f"options={{{name!r}: {brief(value)}}}: {owner} has no such reset option"
    if name in ("seed", "env_id"):
        return f"{head}: write reset({name}=...)"
    if name in keywords:
        return f"{head}: {name!r} is a keyword of make"
    return unknown_key(head, name, options)


def unknown_key(head: str, name: Any, known: Iterable[str]) -> str:
    """`head`, and which key of `known` may be meant instead of `name`, or all of them."""
    known = list(known)
    near = difflib.get_close_matches(str(name), known, n=2, cutoff=0.6)
    if near:
        return f"{head}: did you mean {' or '.join(map(repr, near))}?"
    return f"{head}; it has: {', '.join(map(repr, known)) or 'none'}"
