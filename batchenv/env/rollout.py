"""Many steps in one call."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from batchenv.arguments.numbers import integer
from batchenv.arguments.seeds import read_seed
from batchenv.backend.protocol import Actions, Flags, Observations, Out, Rewards
from batchenv.backend.results import converted
from batchenv.env.base import Base
from batchenv.spaces import nested


class Rollout(NamedTuple):
    """What `BatchEnv.rollout` returns: T steps of all lanes. All arrays start with (T, num_envs)."""

    observations: Observations
    rewards: Rewards
    terminations: Flags
    truncations: Flags
    infos: dict[str, Any]
    actions: Observations


class Rollouts(Base):
    """`BatchEnv.rollout`."""

    def rollout(
        self, actions: Actions | int, *, policy: str | None = None, seed: int | None = None, out: Out = None
    ) -> Rollout:
        """T steps of all lanes in one call, exactly as T calls of `step` would take them.

        Args:
            actions: shape `(T, *action_space.shape)`; or T itself, with policy="random".
            policy: "random": actions are drawn in C, uniformly from the action space, from a stream of their own that
                goes on from call to call. It depends neither on the lanes' streams nor on the number of threads.
            seed: restarts that stream; None: it goes on (the first time: from the operating system's entropy).
            out: (observations, rewards, terminations, truncations) to write into; None in place of an array: a new
            array.

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
        backend = self._open()
        if self.autoreset_mode is AutoresetMode.DISABLED:
            raise ValueError("rollout() needs autoreset: make the env with autoreset_mode='NextStep' or 'SameStep'")
        if policy is None:
            if seed is not None:
                raise ValueError(f"seed={seed!r} is for policy='random'")
            nesting = isinstance(self.single_action_space, (spaces.Dict, spaces.Tuple))
            part: Any = nested.any_leaf(actions) if nesting else actions
            shape = f"({', '.join(map(str, ('T', *(self.action_space.shape or ()))))})"
            try:
                steps = np.shape(part)[0] if np.ndim(part) else None
            except ValueError as error:  # ragged
                raise ValueError(f"actions cannot be read as an array of shape {shape}: {error}") from None
            if steps is None:
                raise TypeError(
                    f"actions={actions!r} must be an array of shape {shape}; for T random steps pass policy='random'"
                )
            with backend.hold():
                return self._watched(converted(Rollout, backend.rollout, actions, steps, 0, 0, out))
        if policy != "random":
            raise ValueError(f"policy={policy!r} must be 'random', or None with an array of actions")
        steps = integer("actions", actions, 0, 2**31 - 1, " (the number of steps, with policy='random')")
        if seed is not None:
            seed = read_seed(seed)
        with backend.hold():
            return self._watched(self._actions.roll(backend, steps, seed, out, Rollout))

    def _watched(self, rollout: Rollout) -> Rollout:
        """The same, when pictures have been told its last actions."""
        if len(rollout.rewards):
            self._drawer.watch(nested.each(lambda part: part[-1], rollout.actions))
        return rollout
