"""Lets other libraries take infos apart. PyTorch, JAX and what builds on them walk through dicts, but only through
those of the class dict itself, unless they are told of others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from batchenv._core import Infos


def _flatten(infos: Infos) -> tuple[list[Any], tuple[str, ...]]:
    return list(infos.values()), tuple(infos)


def _together(names: Iterable[str], values: Iterable[Any]) -> dict[str, Any]:
    return dict(zip(names, values, strict=True))


# What puts infos together again, by modules that have not been told of it.
_untold: dict[str, Callable[[Any, Any], Any]] = {
    "torch.utils._pytree": lambda values, names: _together(names, values),
    "jax.tree_util": _together,
}


def tell_libraries() -> None:
    """Tells the libraries that this process has imported so far. It imports none."""
    for name in list(_untold):
        register = getattr(sys.modules.get(name), "register_pytree_node", None)
        if register is not None and (together := _untold.pop(name, None)) is not None:
            register(Infos, _flatten, together)
