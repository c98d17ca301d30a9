"""What an environment has beside the parameters and state of its C type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.backend import Drawer


class Translator:
    """Translates what is not a number for a C type: keywords and lane attributes (a map, a ROM, a model), and pictures.

    One per BatchEnv. This class is that of a type that has nothing of the kind: each hook does what is right there, and
    a family overrides those that it needs.

    KEYWORDS: (name, default, meaning) of the keywords that `to_core` takes and the C type does not have.
    ALIASES: other names of keywords.
    names: the lane attributes that `attribute` answers.
    fields: names of what `set_fields` sets: arrays of a simulator's model, which lanes may have of their own.
    type_name: the C type. It is the id's own, unless `to_core` chooses another.
    transforms: what keywords mean for BatchEnv's own ones, once `to_core` was called: {keyword: value}.
    """

    KEYWORDS: Sequence[tuple[str, Any, str]] = ()
    ALIASES: dict[str, str] = {}
    names: tuple[str, ...] = ()
    fields: Sequence[str] = ()
    type_name: str
    transforms: dict[str, Any] = {}

    # ---- keywords ------------------------------------------------------------------------------------------------

    def to_core(self, keywords: dict[str, Any]) -> tuple[dict[str, Any], NDArray[np.uint8] | None]:
        """The C type's params, and its map or None, that the user's keywords stand for.

        Raises:
            TypeError, ValueError: a wrong keyword or value.
        """
        return keywords, None

    def keywords(self) -> dict[str, Any]:
        """Values of KEYWORDS that make the same environment again, once `to_core` was called."""
        return {}

    def lanes_differ(self, keywords: dict[str, Any]) -> bool:
        """Whether Gymnasium, with these keywords, makes lanes that differ in something that all lanes share here."""
        return False

    # ---- the simulator below -------------------------------------------------------------------------------------

    def engine(self, num_envs: int, threads: int) -> Any:
        """What the C type's open() is given of `num_envs` lanes that so many threads step, once `to_core` was called:
        an object whose `source` are the bytes that it reads; None: nothing.

        The batch keeps the object until its workers have ended. Whatever the bytes point to has to live as long."""
        return None

    def release(self) -> None:
        """Lets go of what `engine` made; the batch keeps that until its workers have ended."""

    # ---- lanes ---------------------------------------------------------------------------------------------------

    def attribute(self, name: str, batch: Any) -> list[Any]:
        """A lane attribute of `names`, as Gymnasium's environment has it: one value per lane."""
        raise NotImplementedError(name)

    def field_shape(self, name: str) -> tuple[int, ...]:
        """The shape of one of `fields` in one lane."""
        raise NotImplementedError(name)

    def set_fields(self, lanes: NDArray[np.int64], values: dict[str, Any]) -> None:
        """Gives lanes values of `fields`: {name: one for all of them, or one each}.

        Raises:
            TypeError, ValueError: a wrong shape or value. Nothing has changed.
        """

    def changes(self) -> Any:
        """What `set_fields` has changed, for `take_changes` of another BatchEnv's translator; None: nothing."""
        return None

    def take_changes(self, changes: Any) -> None:
        """Makes the changes that `changes` told."""

    # ---- pictures ------------------------------------------------------------------------------------------------

    def render_modes(self, env_id: str) -> list[str]:
        """The render modes that lanes of this id have. Asked for before `to_core`, and imports no graphics library."""
        return []

    def check_drawing(self, mode: str) -> None:
        """Nothing, where the libraries are installed that draw in this one of `render_modes`.

        Raises:
            gymnasium.error.DependencyNotInstalled: they are not.
        """

    def drawer(self, env_id: str, mode: str, action_shape: tuple[int, ...], batch: Any) -> Drawer:
        """What draws the lanes of `batch` in this one of `render_modes`. action_shape: that of all lanes."""
        raise NotImplementedError(mode)
