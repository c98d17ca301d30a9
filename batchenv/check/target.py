"""What is to be checked: an env, a factory, or a name of one."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

import gymnasium
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from batchenv.arguments.messages import similar_ids
from batchenv.catalog import list_envs, lookup
from batchenv.check.rules import brief, said
from batchenv.registry import TABLE, is_file


class Target:
    """Something that can be checked: it makes envs, or is one.

    Attributes:
        name: as the report shows it.
        reference: a str by which a new process can find it, or None.
        lanes: the number of lanes that was asked for, or None.
        instance: the env itself if an env was passed, else None.
    """

    def __init__(
        self,
        name: str,
        reference: str | None,
        make: Callable[[dict[str, Any]], Any],
        lanes: int | None = None,
        instance: Any = None,
    ):
        self.name, self.reference, self._make = name, reference, make
        self.lanes, self.instance = lanes, instance

    def make(self, mode: str | None = None) -> Any:
        """A new env, asked for the autoreset mode `mode`; None: the factory's own."""
        return self._make({} if mode is None else {"autoreset_mode": AutoresetMode(mode)})

    def modes(self) -> tuple[list[tuple[str | None, str]], list[str]]:
        """The modes that can be checked, each as (what to pass to the factory, the mode), and notes on the others."""
        env = self.instance if self.instance is not None else self.make()
        default = declared_mode(env)
        if self.instance is not None:
            return [(None, default)], []
        env.close()
        modes, notes = [], []
        for mode in AutoresetMode:
            try:
                env = self.make(mode.value)
            except _NoSuchOption as error:
                return [(None, default)], [str(error)]
            except Exception as error:
                notes.append(f"autoreset_mode={mode.value!r} is not offered: {said(error)}")
            else:
                modes.append((mode.value, mode.value))
                env.close()
        if not modes:
            return [(None, default)], [f"no autoreset_mode can be asked for ({notes[0].split(': ', 1)[1]})"]
        return modes, notes


class _NoSuchOption(Exception):
    pass


def declared_mode(env: Any) -> str:
    """The autoreset mode in `env.metadata`; if there is none, NextStep, which Gymnasium's wrappers assume."""
    try:
        return AutoresetMode(env.metadata["autoreset_mode"]).value
    except (AttributeError, KeyError, TypeError, ValueError):
        return AutoresetMode.NEXT_STEP.value


def resolve(
    target: Any, num_envs: int, vectorization_mode: str | None = None, env_kwargs: dict[str, Any] | None = None
) -> Target:
    """Finds what `target` means. env_kwargs: further keywords for what makes its envs.

    Raises:
        TypeError: it is neither a str, nor a callable, nor an env; or it is an env, and there are keywords.
        ValueError: a str that names nothing.
    """
    keywords = env_kwargs or {}
    if isinstance(target, str):
        return _by_name(target, num_envs, vectorization_mode, keywords)
    steps = callable(getattr(target, "reset", None)) and callable(getattr(target, "step", None))
    if steps and not inspect.isclass(target):
        if keywords:
            raise TypeError(f"env_kwargs={keywords} are for what makes an env, and this one is made: leave them out")
        return Target(type(target).__name__, None, lambda options: target, instance=target)
    if callable(target):
        name = getattr(target, "__name__", brief(target, 60))
        return _factory(name, reference_of(target), target, num_envs, keywords)
    raise TypeError(
        f"{target!r} must be a vector env, a function that makes one, an id such as 'CartPole-v1', "
        f"or 'module:function', not {type(target).__name__}"
    )


def _by_name(text: str, num_envs: int, vectorization_mode: str | None, keywords: dict[str, Any]) -> Target:
    from batchenv.make import make

    if is_file(text):
        lookup(text)  # which says what is wrong with it
        return Target(text, text, lambda options: make(text, num_envs, **keywords, **options), num_envs)
    module, colon, name = text.partition(":")
    if colon and name and all(part.isidentifier() for part in name.split(".")):
        try:
            found: Any = importlib.import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"cannot find {text!r}: {said(error)}{_path_hint(module, name)}") from None
        if not callable(found):
            raise ValueError(f"{text!r} must be a function that makes a vector env, not {type(found).__name__}")
        return _factory(text, text, found, num_envs, keywords)
    if text.removeprefix("batchenv/") in TABLE and vectorization_mode is None:
        return Target(text, text, lambda options: make(text, num_envs, **keywords, **options), num_envs)
    try:
        if colon:
            importlib.import_module(module)
        gymnasium.spec(name if colon else text)
    except (gymnasium.error.Error, ImportError, ValueError) as error:
        near = similar_ids(text, list_envs())
        meant = f"did you mean {' or '.join(near)}?" if near else said(error)
        raise ValueError(
            f"{text!r} is neither an id of batchenv or Gymnasium ({meant}) nor a 'module:function'"
        ) from None
    return Target(text, text, _MakeVec(text, num_envs, vectorization_mode, keywords), num_envs)


def _path_hint(module: str, name: str) -> str:
    """Says how to name a function in a file, if a path was passed instead of a module's name."""
    path = PurePath(module)
    if path.suffix != ".py" and len(path.parts) <= 1:
        return ""
    return f"; name the module as `import` does: go to the file's folder and pass '{path.stem}:{name}'"


class _MakeVec:
    """`gymnasium.make_vec`, which takes an autoreset mode in one of two ways."""

    def __init__(self, env_id: str, num_envs: int, vectorization_mode: str | None, keywords: dict[str, Any]):
        self.id, self.how = env_id, {"num_envs": num_envs, "vectorization_mode": vectorization_mode, **keywords}
        self.kind: type | None = None

    def __call__(self, options: dict[str, Any]) -> Any:
        if options and self.kind is None:
            env = gymnasium.make_vec(self.id, **self.how)
            self.kind = type(env.unwrapped)
            env.close()
        if options and self.kind is not None and issubclass(self.kind, (SyncVectorEnv, AsyncVectorEnv)):
            options = {"vector_kwargs": options}
        return gymnasium.make_vec(self.id, **self.how, **options)


def _factory(
    name: str, reference: str | None, factory: Callable[..., Any], num_envs: int, keywords: dict[str, Any]
) -> Target:
    try:
        parameters = list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    must_choose = any(p.name == "autoreset_mode" and p.default is p.empty for p in parameters)
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    count = {"num_envs": num_envs} if takes_any or "num_envs" in named else {}

    def make(options: dict[str, Any]) -> Any:
        if options and not (takes_any or "autoreset_mode" in named):
            raise _NoSuchOption(f"{name} takes no autoreset_mode: only its own mode is checked")
        if must_choose and not options:
            options = {"autoreset_mode": AutoresetMode.NEXT_STEP}
        return factory(**count, **keywords, **options)

    return Target(name, reference, make, count.get("num_envs"))


def reference_of(factory: Callable[..., Any]) -> str | None:
    """ "module:name" by which another process can import `factory`; None where it cannot."""
    module, name = getattr(factory, "__module__", None), getattr(factory, "__qualname__", "<none>")
    if module in (None, "__main__") or not all(part.isidentifier() for part in name.split(".")):
        return None
    return f"{module}:{name}"
