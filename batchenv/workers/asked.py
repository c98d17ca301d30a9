"""What an env that is written in Python may be asked, by `Backend.apply`: functions whose first argument is the env."""

from __future__ import annotations

from typing import Any


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
    """Whether an env is, or lies below, an object of the class "module.name". The class is named so that a worker does
    not import its module."""
    while env is not None:
        if any(f"{base.__module__}.{base.__qualname__}" == wrapper for base in type(env).__mro__):
            return True
        env = vars(env).get("env") if hasattr(env, "__dict__") else None
    return False
