"""What an environment has beside the parameters and state of its C type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Adapter:
    """Translates keywords and lane attributes that are not numbers (a map, a ROM, a model) for the C type. One per
    BatchEnv.

    KEYWORDS: (name, default, meaning) of the keywords that `to_core` takes and the C type does not have.
    ALIASES: other names of keywords. names: the lane attributes that `attribute` answers.
    type_name: the C type that the keywords ask for; None: the entry's. transforms: what keywords mean for BatchEnv's
    own ones. Where it has a method `renderer(mode)`, that makes what draws the lanes.
    """

    KEYWORDS: Sequence[tuple[str, Any, str]] = ()
    ALIASES: dict[str, str] = {}
    names: tuple[str, ...] = ()
    type_name: str | None = None
    transforms: dict[str, Any] = {}

    def to_core(self, keywords: dict[str, Any]) -> tuple[dict[str, Any], NDArray[np.uint8] | None]:
        """The C type's params and map that the user's keywords stand for.

        Raises:
            TypeError, ValueError: a wrong keyword or value.
        """
        return keywords, None

    def engine(self, num_envs: int, threads: int) -> Any:
        """What the C type's open() is given of `num_envs` lanes that so many threads step, once `to_core` was called:
        an object whose `source` are the bytes that it reads; None: nothing.

        The batch keeps the object until its workers have ended. Whatever the bytes point to has to live as long."""
        return None

    def wrap(self, batch: Any, transforms: dict[str, Any]) -> Any:
        """The C core's batch, or what stands before it. transforms: what the C core does to rewards."""
        return batch

    def lanes_differ(self, keywords: dict[str, Any]) -> bool:
        """Whether Gymnasium, with these keywords, makes each lane another of what is one for all lanes here."""
        return False

    def keywords(self) -> dict[str, Any]:
        """Values of KEYWORDS that make the same again, once `to_core` was called."""
        return {}

    def attribute(self, name: str, batch: Any) -> list[Any]:
        """A lane attribute of `names`, as Gymnasium's environment has it: one value per lane."""
        raise NotImplementedError(name)
