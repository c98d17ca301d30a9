"""Nested observations and actions: how the ports of an env type make a Dict or a Tuple.

A port's name is a path whose parts are separated by "/". A number is a place in a Tuple, and "" is the whole. A *tree*
is the structure that such names form: the index of one of them, or a dict or a tuple of trees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from batchenv.text import Texts


def tree_of(names: Sequence[str]) -> Any:
    """The tree of ports with these names.

    Raises:
        ValueError: they do not fit together.
    """
    return _subtree([(name.split("/") if name else [], index) for index, name in enumerate(names)], names)


def _subtree(paths: list[tuple[list[str], int]], names: Sequence[str]) -> Any:
    if len(paths) == 1 and not paths[0][0]:
        return paths[0][1]
    groups: dict[str, list[tuple[list[str], int]]] = {}
    for path, index in paths:
        if not path:
            other = next(names[k] for _, k in paths if k != index)
            raise ValueError(
                f"there cannot be ports named {names[index]!r} and {other!r} of one role: one port's name is the whole "
                "of another one's, or its beginning, and a part is one array, or has parts itself"
            )
        groups.setdefault(path[0], []).append((path[1:], index))
    trees = {name: _subtree(group, names) for name, group in groups.items()}
    if not all(name.isdecimal() for name in trees):
        return dict(sorted(trees.items()))  # as gymnasium.spaces.Dict sorts its keys
    if sorted(map(int, trees)) != list(range(len(trees))):
        wrong = ", ".join(repr(names[index]) for _, index in paths)
        raise ValueError(
            f"the parts of a Tuple are numbered from 0 on, without gaps, not {', '.join(sorted(trees))} (ports {wrong})"
        )
    return tuple(trees[str(place)] for place in range(len(trees)))


def build(tree: Any, leaves: Sequence[Any], make_dict: Callable = dict, make_tuple: Callable = tuple) -> Any:
    """The leaves, nested as the tree says."""
    if isinstance(tree, int):
        return leaves[tree]
    if isinstance(tree, tuple):
        return make_tuple([build(part, leaves, make_dict, make_tuple) for part in tree])
    return make_dict({name: build(part, leaves, make_dict, make_tuple) for name, part in tree.items()})


def split(tree: Any, value: Any, what: str) -> list[Any]:
    """The leaves of `value`, which is nested as the tree says and is called `what` in messages.

    Raises:
        TypeError: it is not nested so.
    """
    found: dict[int, Any] = {}
    _collect(tree, value, what, found)
    return [found[index] for index in range(len(found))]


def _collect(tree: Any, value: Any, what: str, found: dict[int, Any]) -> None:
    if isinstance(tree, int):
        found[tree] = value
    elif isinstance(tree, tuple):
        if not isinstance(value, (tuple, list)) or len(value) != len(tree):
            raise TypeError(f"{what} must be a tuple of {len(tree)} parts, got {_brief(value)}")
        parts = tuple(value)  # only once: a list of a user's class may give other parts the second time
        for place, part in enumerate(tree):
            _collect(part, parts[place], f"{what}[{place}]", found)
    else:
        if not isinstance(value, Mapping) or set(value) != set(tree):
            keys = ", ".join(map(repr, tree))
            raise TypeError(f"{what} must be a dict with the keys {keys}, got {_brief(value)}")
        for name, part in tree.items():
            _collect(part, value[name], f"{what}[{name!r}]", found)


def each(function: Callable[[Any], Any], value: Any) -> Any:
    """Applies `function` to every leaf of nested dicts and tuples, and returns the results in the same structure. Texts
    are one leaf, which can be indexed with lanes as an array can."""
    if isinstance(value, Mapping):
        return {name: each(function, part) for name, part in value.items()}
    if isinstance(value, tuple) and not isinstance(value, Texts):
        return tuple(each(function, part) for part in value)
    return function(value)


def any_leaf(value: Any) -> Any:
    """One of the leaves of nested dicts and tuples, or None if there is none."""
    while isinstance(value, (Mapping, tuple)):
        value = next(iter(value.values() if isinstance(value, Mapping) else value), None)
    return value


def _brief(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"one with {', '.join(map(repr, value)) or 'none'}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__} of {len(value)}"
    return type(value).__name__
