"""Random actions of rollouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from batchenv.arguments.seeds import entropy
from batchenv.backend.protocol import Backend, Out
from batchenv.backend.results import converted

_Form = TypeVar("_Form")


class ActionStream:
    """The stream of random actions of an env's rollouts, which goes on from call to call.

    position: (key, steps that were drawn); a key of 0: not started.
    """

    def __init__(self) -> None:
        self.position = (0, 0)

    def roll(self, backend: Backend, steps: int, seed: int | None, out: Out, form: Callable[..., _Form]) -> _Form:
        """`steps` steps with random actions, as what `form` makes of them. seed: starts the stream again; None: it goes
        on."""
        key, first = self.position
        if seed is not None or key == 0:
            start = entropy() if seed is None else seed
            key, first = int(np.random.SeedSequence(start).generate_state(1, np.uint64)[0]) or 1, 0

        def advance(*result: Any) -> _Form:  # also if lanes have failed, because the steps were taken
            self.position = (key, first + steps)
            return form(*result)

        return converted(advance, backend.rollout, None, steps, key, first, out)
