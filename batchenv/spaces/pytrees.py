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


def _tell_torch(tree: Any) -> None:
    tree.register_pytree_node(Infos, _flatten, lambda values, names: _together(names, values))


def _tell_jax(tree: Any) -> None:
    tree.register_pytree_node(Infos, _flatten, _together)


_untold: dict[str, Callable[[Any], None]] = {"torch.utils._pytree": _tell_torch, "jax.tree_util": _tell_jax}


def tell_libraries() -> None:
    """Tells the libraries that this process has imported so far. It imports none."""
    for name in list(_untold):
        register = getattr(sys.modules.get(name), "register_pytree_node", None)
        if register is not None and (tell := _untold.pop(name, None)) is not None:
            tell(sys.modules[name])
