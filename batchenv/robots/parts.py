"""What the parts of a task have in common."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import ArrayLike

from batchenv.arguments.numbers import number


class Part(Protocol):
    """A part of a task.

    Attributes:
        state: {name: what a lane's episode starts with}, for the task's state.
    """

    state: dict[str, ArrayLike]


class States(dict[str, ArrayLike]):
    """The state of a task.

    Attributes:
        kept: names of what outlasts episodes, in addition to the task's `keeps`.
    """

    kept: tuple[str, ...] = ()

    def __or__(self, other: Any) -> Any:
        return _joined(self, other)

    def __ror__(self, other: Any) -> Any:
        return _joined(other, self)


def _joined(first: Any, second: Any) -> States:
    """Both dicts in one, and what they keep."""
    result = States({**first, **second})
    result.kept = (*getattr(first, "kept", ()), *getattr(second, "kept", ()))
    return result


def states(*parts: Part, **own: ArrayLike) -> States:
    """The states of these parts and of the task itself in one dict: `self.state = robots.states(self.commands,
    self.feet, last_action=np.zeros(12))`. Levels of `TerrainLevels` outlast episodes.

    Raises:
        ValueError: two parts have states of the same name; parts take a `name` that makes a difference.
    """
    result = States(own)
    for part in parts:
        twice = result.keys() & part.state.keys()
        if twice:
            raise ValueError(f"two parts of the task have a state {min(twice)!r}: give one of them another name=")
        result |= part.state
        result.kept += getattr(part, "kept", ())
    return result


def check_share(name: str, value: Any) -> float:
    """`value` as a number from 0 to 1."""
    share = number(name, value)
    if not 0 <= share <= 1:
        raise ValueError(f"{name}={value!r} must be from 0 to 1")
    return share
