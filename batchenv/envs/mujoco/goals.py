"""What gymnasium-robotics' tasks with goals have in common, and where its models are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batchenv.backend.protocol import GOAL_FUNCTIONS
from batchenv.envs.mujoco import packages, tasks

_INSTALL = 'pip install "batchenv[robotics]" (of what gymnasium-robotics depends on, only mujoco is needed)'


def asset(*parts: str) -> Path:
    """The path of a file of gymnasium-robotics' models. The package is not imported.

    Raises:
        gymnasium.error.DependencyNotInstalled: the package, or this file of it, is missing.
    """
    return packages.file_of(
        "gymnasium_robotics", "envs", "assets", *parts, package="gymnasium-robotics", install=_INSTALL
    )


class GoalTask(tasks.Task):
    """Tasks whose rewards and ends of episodes follow from goals, so that learners may ask for those of other goals."""

    names = (*tasks.Task.names, *GOAL_FUNCTIONS)

    def rewards(
        self, params: dict[str, Any], achieved: NDArray[Any], desired: NDArray[Any]
    ) -> NDArray[np.floating[Any]]:
        """The rewards of goals, with these parameters of the task."""
        return self.rewards_at(params["reward_type"], np.linalg.norm(achieved - desired, axis=-1))

    def rewards_at(self, reward_type: str, distances: NDArray[np.float64]) -> NDArray[np.floating[Any]]:
        """The rewards of goals that are so far away, where nothing else counts."""
        raise NotImplementedError

    def ends_at(self, params: dict[str, Any], distances: NDArray[np.float64], lane: int) -> NDArray[np.bool_]:
        """Whether goals that are so far away end the episode of this lane."""
        del params, lane
        return np.zeros_like(distances, np.bool_)[()]

    def check_goals(self, name: str, achieved: NDArray[Any], desired: NDArray[Any]) -> None:
        """Raises ValueError if they are no goals. name: of the function that got them."""
        goals = achieved, desired
        if any(goal.dtype.kind not in "iuf" for goal in goals) or goals[0].shape != goals[1].shape:
            raise ValueError(
                f"{name}() got goals of shapes {goals[0].shape} and {goals[1].shape}, and of dtypes "
                f"{goals[0].dtype} and {goals[1].dtype}: they must be numbers, and both have the same shape"
            )

    def attribute(self, name, batch):
        if name not in GOAL_FUNCTIONS:
            return super().attribute(name, batch)
        params = batch.get_params()

        def of_lane(lane: int) -> Callable[[Any, Any, Any], NDArray[Any]]:
            def compute(achieved_goal: Any, desired_goal: Any, info: Any) -> NDArray[Any]:
                del info  # goals say everything
                achieved, desired = np.asarray(achieved_goal), np.asarray(desired_goal)
                self.check_goals(name, achieved, desired)
                if name == "compute_reward":
                    return self.rewards(params, achieved, desired)
                distances = np.linalg.norm(achieved - desired, axis=-1)
                if name == "compute_truncated":  # time limits are wrappers' there
                    return np.zeros_like(distances, np.bool_)[()]
                return self.ends_at(params, distances, lane)

            compute.__name__ = name
            return compute

        if name == "compute_terminated":
            return [of_lane(lane) for lane in range(len(self.lanes))]
        return [of_lane(0)] * len(self.lanes)  # hindsight asks for rewards often
