"""Many steps in one call."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv.arguments.numbers import integer
from batchenv.arguments.seeds import entropy, read_seed
from batchenv.backend.protocol import Backend
from batchenv.backend.results import converted
from batchenv.spaces import nested


class Rollout(NamedTuple):
    """What `BatchEnv.rollout` returns: T steps of all lanes. All arrays start with (T, num_envs)."""

    observations: Any
    rewards: NDArray[np.float64]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    infos: dict[str, Any]
    actions: NDArray[Any]


class ActionStream:
    """The stream of random actions of an env's rollouts, which goes on from call to call.

    position: (key, steps that were drawn); a key of 0: not started.
    """

    def __init__(self) -> None:
        self.position = (0, 0)

    def roll(self, backend: Backend, steps: int, seed: int | None, out: Any) -> Rollout:
        """`steps` steps with random actions. seed: starts the stream again; None: it goes on."""
        key, first = self.position
        if seed is not None or key == 0:
            start = entropy() if seed is None else seed
            key, first = int(np.random.SeedSequence(start).generate_state(1, np.uint64)[0]) or 1, 0

        def advance(*result: Any) -> Rollout:  # also if lanes have failed, because the steps were taken
            self.position = (key, first + steps)
            return Rollout(*result)

        return converted(advance, backend.rollout, None, steps, key, first, out)


def rollout(
    self: Any,
    actions: Any,
    *,
    policy: str | None = None,
    seed: int | None = None,
    out: tuple[NDArray[Any], ...] | None = None,
) -> Rollout:
    """T steps of all lanes in one call, exactly as T calls of `step` would take them.

    Args:
        actions: shape `(T, *action_space.shape)`; or T itself, with policy="random".
        policy: "random": actions are drawn in C, uniformly from the action space, from a stream of their own that
            goes on from call to call. It depends neither on the lanes' streams nor on the number of threads.
        seed: restarts that stream; None: it goes on (the first time: from the operating system's entropy).
        out: (observations, rewards, terminations, truncations) to write into; None in place of an array: a new array.

    Returns:
        Rollout: observations (T, num_envs, ...), rewards, terminations, truncations (T, num_envs), infos, actions
        `(T, *action_space.shape)`. infos has the environment's own keys, (T, num_envs, ...), and with SameStep
        "final_obs" (T, num_envs, ...), "_final_obs" (its mask) and "final_info" as plain arrays.

    Raises:
        TypeError, ValueError: wrong actions (step, lane and bound are named), policy or `out`; autoreset Disabled.
            No lane has been stepped.
        gymnasium.error.ResetNeeded: before the first reset.
        LaneError: some lanes failed in some step; its `result` is the Rollout.
    """
    self._check_open()
    if self.autoreset_mode is AutoresetMode.DISABLED:
        raise ValueError("rollout() needs autoreset: make the env with autoreset_mode='NextStep' or 'SameStep'")
    if policy is None:
        if seed is not None:
            raise ValueError(f"seed={seed!r} is for policy='random'")
        nesting = isinstance(self.single_action_space, (spaces.Dict, spaces.Tuple))
        part = nested.any_leaf(actions) if nesting else actions
        shape = f"({', '.join(map(str, ('T', *(self.action_space.shape or ()))))})"
        try:
            steps = np.shape(part)[0] if np.ndim(part) else None
        except ValueError as error:  # ragged
            raise ValueError(f"actions cannot be read as an array of shape {shape}: {error}") from None
        if steps is None:
            raise TypeError(
                f"actions={actions!r} must be an array of shape {shape}; for T random steps pass policy='random'"
            )
        with self._hold():
            return _watched(self, converted(Rollout, self._backend.rollout, actions, steps, 0, 0, out))
    if policy != "random":
        raise ValueError(f"policy={policy!r} must be 'random', or None with an array of actions")
    steps = integer("actions", actions, 0, 2**31 - 1, " (the number of steps, with policy='random')")
    if seed is not None:
        seed = read_seed(seed)
    with self._hold():
        return _watched(self, self._actions.roll(self._backend, steps, seed, out))


def _watched(self: Any, rollout: Rollout) -> Rollout:
    """The same, when pictures have been told its last actions."""
    if len(rollout.rewards):
        self._drawer.watch(nested.each(lambda part: part[-1], rollout.actions))
    return rollout
