"""What an environment has in addition to the parameters and the state of its C type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from batchenv._core import type_info
from batchenv.arguments.numbers import brief
from batchenv.backend.protocol import Drawer


def _shape_of(value: Any) -> tuple[int, ...] | None:
    try:
        return np.shape(value)
    except ValueError:  # rows of different lengths
        return None


class Translator:
    """Translates what is not a number for a C type: keywords and lane attributes (a map, a ROM, a model), and pictures.

    There is one per BatchEnv. This class is for types that have none of this: each method does what is right for them,
    and the families of `batchenv.envs` override those that they need.

    KEYWORDS: (name, default, meaning) of the keywords that `to_core` takes and the C type does not have.
    ALIASES: other names of keywords.
    OPTIONS: (name, names, meaning) of the options of a reset that have several numbers, for each of which the C type
        has an option of its own, of these names.
    START: a sentence on how to choose where episodes start, for users who look for it in the options of a reset.
    names: the lane attributes that `attribute` knows.
    fields: what `set_fields` can set: names of arrays of a simulator's model, which may differ from lane to lane.
    type_name: the C type. It is the id's own, unless `to_core` chooses another.
    transforms: BatchEnv's built-in transforms that the keywords ask for, {keyword: value}; set by `to_core`.
    """

    KEYWORDS: Sequence[tuple[str, Any, str]] = ()
    ALIASES: dict[str, str] = {}
    OPTIONS: Sequence[tuple[str, tuple[str, ...], str]] = ()
    START: str = ""
    names: tuple[str, ...] = ()
    fields: Sequence[str] = ()
    type_name: str
    transforms: dict[str, Any] = {}

    # ---- keywords ------------------------------------------------------------------------------------------------

    def to_core(self, keywords: dict[str, Any]) -> tuple[dict[str, Any], NDArray[np.uint8] | None]:
        """Translates the user's keywords: returns the C type's params, and its map or None.

        Raises:
            TypeError, ValueError: a wrong keyword or value.
        """
        return keywords, None

    def check_transforms(self, asked: dict[str, Any]) -> None:
        """Checks the built-in transforms that the user has asked for, {keyword: value}. To be called after `to_core`.

        Raises:
            ValueError: one of them does what a keyword of the environment has done already.
        """

    def keywords(self) -> dict[str, Any]:
        """Values of KEYWORDS that make the same environment again. To be called after `to_core`."""
        return {}

    def other_options(self, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those of the C type's options of a reset that are not parts of `OPTIONS`. rows: all of them."""
        parts = {part for _, parts, _ in self.OPTIONS for part in parts}
        return [row for row in rows if row["name"] not in parts]

    def options_to_core(self, options: dict[str, Any], lanes: int) -> dict[str, Any]:
        """The user's options of a reset of an env with so many lanes, as the C type's.

        Raises:
            ValueError: a value does not have as many numbers as it needs, for all lanes or for each.
        """
        several = {name: parts for name, parts, _ in self.OPTIONS}
        values: dict[str, Any] = {}
        value: Any
        for name, value in options.items():
            parts = several.get(name)
            if parts is None:
                values[name] = value
            elif value is None:
                continue
            elif (shape := _shape_of(value)) == (lanes, len(parts)) and hasattr(value, "dtype"):
                values.update({part: value[:, k] for k, part in enumerate(parts)})
            elif isinstance(value, str) or shape != (len(parts),):
                raise ValueError(
                    f"reset option {name}={brief(value)} must be {len(parts)} numbers, an array of shape ({lanes}, "
                    f"{len(parts)}) with those of each lane, or None"
                )
            else:
                values.update(zip(parts, value, strict=True))
        return values

    def lanes_differ(self, keywords: dict[str, Any]) -> bool:
        """Whether Gymnasium's lanes would, with these keywords, differ in something that all lanes share in
        batchenv."""
        return False

    def observation_space(self, space: spaces.Space[Any]) -> spaces.Space[Any]:
        """The space of one lane's observations, where the one that the C type describes, `space`, is too wide. To be
        called after `to_core`."""
        return space

    # ---- the simulator below -------------------------------------------------------------------------------------

    def engine(self, num_envs: int, threads: int) -> Any:
        """An object whose `source`, a `_core.Engine`, is passed to the C type's open() for `num_envs` lanes stepped by
        `threads` threads; None if the type needs nothing. To be called after `to_core`.

        The batch keeps the object until its workers have ended. Whatever `source` points to must live as long."""
        return None

    def release(self) -> None:
        """Drops the reference to what `engine` made, which the batch keeps until its workers have ended."""

    def check_snapshot(self, params: dict[str, Any]) -> None:
        """Checks that lanes with these parameters can be saved.

        Raises:
            ValueError: the simulator cannot save them.
        """

    # ---- lanes ---------------------------------------------------------------------------------------------------

    def attribute(self, name: str, batch: Any) -> list[Any]:
        """The values of a lane attribute of `names`, one per lane, as Gymnasium's environment would give them."""
        raise NotImplementedError(name)

    def field_shape(self, name: str) -> tuple[int, ...]:
        """The shape of one of `fields` in one lane."""
        raise NotImplementedError(name)

    def set_fields(self, lanes: NDArray[np.int64], values: dict[str, Any]) -> None:
        """Sets `fields` of lanes. values: {name: one value for all these lanes, or one per lane}.

        Raises:
            TypeError, ValueError: a wrong shape or value. Nothing has changed.
        """

    def check_entries(self, values: dict[str, NDArray[Any]], count: int) -> None:
        """Checks `fields` that the `count` entries of a plan set: {name: array (count, ...)}.

        Raises:
            TypeError, ValueError: a wrong shape or value.
        """

    def preparer(self, values: dict[str, NDArray[Any]]) -> Callable[[int, int], None]:
        """A function (lane, entry) that sets these `fields` of a lane to those of an entry. It may be called in any
        thread, by several at once, while other lanes are stepped."""
        raise NotImplementedError(sorted(values))

    def changes(self) -> Any:
        """What `set_fields` has changed, for `take_changes` of another BatchEnv's translator; None if nothing."""
        return None

    def take_changes(self, changes: Any) -> None:
        """Makes the changes that `changes` returned."""

    def inputs(self) -> dict[str, NDArray[Any]]:
        """Parts of lanes' states that users may set, but the C type's table does not have, {name: array (num_envs,
        ...)}. They may be views of what lanes have."""
        return {}

    def put_inputs(self, lanes: NDArray[np.int64], values: dict[str, NDArray[Any]]) -> None:
        """Sets `inputs` of lanes. values: {name: array (lanes, ...)}.

        Raises:
            ValueError: a lane cannot have this value. Nothing has changed.
        """

    # ---- pictures ------------------------------------------------------------------------------------------------

    def render_modes(self, env_id: str) -> list[str]:
        """The render modes of lanes of this id. May be called before `to_core`, and imports no graphics library."""
        return ["rgb_array"] if type_info(self.type_name)["draws"] else []

    def check_drawing(self, mode: str) -> None:
        """Checks that the libraries are installed which draw in this one of `render_modes`.

        Raises:
            gymnasium.error.DependencyNotInstalled: they are not.
        """

    def drawer(self, env_id: str, mode: str, action_shape: tuple[int, ...], batch: Any) -> Drawer:
        """The object that draws the lanes of `batch` in this one of `render_modes`. action_shape: the shape of actions
        for all lanes."""
        return Pictures(batch)


class Pictures(Drawer):
    """Pictures of lanes that the C type draws itself."""

    def __init__(self, batch: Any):
        self._batch = batch

    def draw(self, lanes: Iterable[int]) -> tuple[NDArray[np.uint8], ...]:
        """A picture per lane: uint8 (height, width, 3)."""
        return tuple(map(self._batch.picture, lanes))
