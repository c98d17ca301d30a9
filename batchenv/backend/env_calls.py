"""What an env that is written in Python may be asked, by `Backend.apply`: functions whose first argument is the env."""

from __future__ import annotations

from typing import Any

import gymnasium


def get_attribute(env: Any, name: str) -> Any:
    """The attribute of this name of an env, or of the one below its wrappers that has it."""
    return env.get_wrapper_attr(name) if hasattr(env, "get_wrapper_attr") else getattr(env, name)


def set_attribute(env: Any, name: str, value: Any) -> None:
    """Sets an attribute of an env, or of the one below its wrappers that has it."""
    if hasattr(env, "set_wrapper_attr"):
        env.set_wrapper_attr(name, value)
    else:
        setattr(env, name, value)


def has_attribute(env: Any, name: str) -> bool:
    """Whether `get_attribute` finds it."""
    try:
        get_attribute(env, name)
    except AttributeError:
        return False
    return True


def call_env(env: Any, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The attribute of this name or, if it can be called, what it returns."""
    value = get_attribute(env, name)
    return value(*arguments, **keywords) if callable(value) else value


def is_wrapped(env: Any, wrapper: str) -> bool:
    """Whether one of the wrappers around an env is a "module.name". A name is enough here: with the class itself, a
    worker would import its module."""
    while isinstance(env, gymnasium.Wrapper):
        if any(f"{base.__module__}.{base.__qualname__}" == wrapper for base in type(env).__mro__):
            return True
        env = env.env
    return False
