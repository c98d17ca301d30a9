"""What gymnasium-robotics' tasks with goals have in common, and where its models are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    """Tasks whose rewards follow from goals, so that learners may ask for rewards of other goals."""

    names = (*tasks.Task.names, "compute_reward")

    def rewards(
        self, params: dict[str, Any], achieved: NDArray[Any], desired: NDArray[Any]
    ) -> NDArray[np.floating[Any]]:
        """The rewards of goals, with these parameters of the task."""
        return self.rewards_at(params["reward_type"], np.linalg.norm(achieved - desired, axis=-1))

    def rewards_at(self, reward_type: str, distances: NDArray[np.float64]) -> NDArray[np.floating[Any]]:
        """The rewards of goals that are so far away, where nothing else counts."""
        raise NotImplementedError

    def check_goals(self, achieved: NDArray[Any], desired: NDArray[Any]) -> None:
        """Raises ValueError if they are no goals."""
        goals = achieved, desired
        if any(goal.dtype.kind not in "iuf" for goal in goals) or goals[0].shape != goals[1].shape:
            raise ValueError(
                f"compute_reward() got goals of shapes {goals[0].shape} and {goals[1].shape}, and of dtypes "
                f"{goals[0].dtype} and {goals[1].dtype}: they must be numbers, and both have the same shape"
            )

    def attribute(self, name, batch):
        if name != "compute_reward":
            return super().attribute(name, batch)
        params = batch.get_params()

        def compute_reward(achieved_goal: Any, desired_goal: Any, info: Any) -> NDArray[np.floating[Any]]:
            del info  # goals say everything
            goals = [np.asarray(goal) for goal in (achieved_goal, desired_goal)]
            self.check_goals(*goals)
            return self.rewards(params, *goals)

        return [compute_reward] * len(self.lanes)
