"""Meta-World: finds its models, and draws its goals. The tasks themselves are in csrc/engines/mujoco/metaworld."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from batchenv.arguments.numbers import brief, integer
from batchenv.envs.mujoco import library, packages, tasks
from batchenv.envs.mujoco.places import SITE_POS

_INSTALL = 'pip install "batchenv[metaworld]" (of what metaworld depends on, only mujoco is needed)'
GOALS = 50  # of a task
_RIGHT = np.array([0.525, 1.025, 0.7])  # bounds of where the hand is
_LEFT = np.array([-0.525, 0.348, -0.0525])
_HAND_LOW, _HAND_HIGH = (-0.5, 0.40, 0.05), (0.5, 1, 0.5)  # what most tasks have as bounds of the goal

Bounds = tuple[float, ...]


def asset(*parts: str) -> Path:
    """The path of a file of Meta-World's models. The package is not imported.

    Raises:
        gymnasium.error.DependencyNotInstalled: the package, or this file of it, is missing.
    """
    return packages.file_of("metaworld", "assets", *parts, package="metaworld", install=_INSTALL)


class Sawyer(tasks.Task):
    """Tasks of Meta-World, in which an arm does something with an object.

    file: the model's. body: the one that the field `place` moves, if any. site: the one that the package puts where a
    field of the state says, if any; marked: that field. low, high: the bounds between which the numbers of goals are
    drawn. apart: how far the first of them are from the fourth and fifth, at least. goal_low, goal_high: the bounds in
    which goals are observed.
    """

    file: str
    body: str = ""
    site: str = "goal"
    marked: str = "target"
    low: Bounds
    high: Bounds
    apart = 0.0
    goal_low: Bounds = _HAND_LOW
    goal_high: Bounds = _HAND_HIGH
    xml_file = None
    xml_meaning = "another model with the same names: the path of an XML file, or XML text"
    own = (
        ("goals_seed", 0, "which 50 goals there are: the seed of the package's benchmarks"),
        ("goals", None, "the goals themselves, one per row, in place of those of a seed"),
    )
    seen_evaluated = True

    # They are only read, and of a translator, so that a property may be in place of the base's class variable.
    @property
    def shown(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        columns = (0, 1, 2)
        rows = (("place", "body_pos", "body", self.body, columns), (self.marked, SITE_POS, "site", self.site, columns))
        return [row for row in rows if row[3]]

    @property
    def acting(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return ("place",) if self.body else ()

    @property
    def fields(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return () if self.body else super().fields  # slots have the models that lanes are stepped with

    def to_core(self, keywords):
        result = super().to_core(keywords)
        self._hidden = bool(result[0].get("partially_observable", False))
        self._tasks = result[0].get("num_tasks", 0)
        if self._tasks:
            self.transforms = {"observation_dtype": "float32"}  # which the package's wrapper makes of them
        integer("goals_seed", self._value("goals_seed"), 0, 2**32 - 1)
        return result

    def _read(self, xml):
        model = tasks.read_own(asset("sawyer_xyz", f"{self.file}.xml") if xml is None else xml, "xml_file")
        welds = model.eq_type == int(library.load()[0].mjtEq.mjEQ_WELD)
        model.eq_data[welds, :11] = 0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 5  # the hand is to be where the mocap body is
        return model

    def _goals(self) -> NDArray[np.float64]:
        """The user's, or those that a benchmark of this task alone has, one per row."""
        given = self._value("goals")
        if given is None:
            return self.draw_goals(np.random.RandomState(self._value("goals_seed")), GOALS)
        try:
            goals: NDArray[np.float64] = np.array(given, np.float64)
        except (TypeError, ValueError):
            goals = np.empty((0, 0))
        if goals.shape[1:] != (len(self.low),) or not len(goals) or not np.isfinite(goals).all():
            raise ValueError(f"goals={brief(given)} must be finite numbers, an array of shape (goals, {len(self.low)})")
        return goals

    def draw_goals(self, random: np.random.RandomState, count: int) -> NDArray[np.float64]:
        """Goals as the package's benchmarks draw them from their stream, one per row. It draws two for each, and keeps
        the second."""

        def drawn() -> NDArray[np.float64]:
            while True:
                goal = random.uniform(self.low, self.high)
                if self._fits(goal):
                    return goal

        return np.array([(drawn(), drawn())[1] for _ in range(count)])

    def _fits(self, goal: NDArray[np.float64]) -> bool:
        """Whether the package takes this goal, rather than draw another one."""
        return not self.apart or bool(np.linalg.norm(goal[:2] - goal[3:5]) >= self.apart)

    def _start(self):
        data = library.load()[0].MjData(self._model)
        goals = self._goals()
        numbers = [*goals.shape, *self.goal_low, *self.goal_high, *goals.ravel()]
        return library.Start(data.qpos.copy(), data.qvel.copy(), 0.0, np.array(numbers, np.float64))

    def observation_space(self, space):
        hidden = np.zeros(3)
        bounds = []
        for hand, gripper, objects, goal in (
            (_LEFT, -1.0, -np.inf, self.goal_low),
            (_RIGHT, 1.0, np.inf, self.goal_high),
        ):
            frame = np.hstack([hand, gripper, np.full(14, objects)])
            which = np.full(self._tasks, float(objects > 0))  # 0 and 1
            bounds.append(np.hstack([frame, frame, hidden if self._hidden else goal, which]))
        return spaces.Box(*bounds, dtype=np.float64)


class SawyerReach(Sawyer):
    """Meta-World/reach-v3."""

    file = "sawyer_reach_v3"
    low, high, apart = (-0.1, 0.6, 0.02, -0.1, 0.8, 0.05), (0.1, 0.7, 0.02, 0.1, 0.9, 0.3), 0.15
    goal_low, goal_high = low[3:], high[3:]


class SawyerReachWall(Sawyer):
    """Meta-World/reach-wall-v3."""

    file = "sawyer_reach_wall_v3"
    low, high, apart = (-0.05, 0.6, 0.015, -0.05, 0.85, 0.05), (0.05, 0.65, 0.015, 0.05, 0.9, 0.3), 0.15
    goal_low, goal_high = low[3:], high[3:]


class SawyerPush(Sawyer):
    """Meta-World/push-v3."""

    file, presses = "sawyer_push_v3", True
    low, high, apart = (-0.1, 0.6, 0.02, -0.1, 0.8, 0.01), (0.1, 0.7, 0.02, 0.1, 0.9, 0.02), 0.15
    goal_low, goal_high = low[3:], high[3:]


class SawyerPickPlace(SawyerReach):
    """Meta-World/pick-place-v3."""

    file, presses = "sawyer_pick_place_v3", True


class SawyerDoorOpen(Sawyer):
    """Meta-World/door-open-v3."""

    file, body = "sawyer_door_pull", "door"
    low, high = (0.0, 0.85, 0.15), (0.1, 0.95, 0.15)
    goal_low, goal_high = (-0.3, 0.4, 0.1499), (-0.2, 0.5, 0.1501)


class SawyerDrawerOpen(Sawyer):
    """Meta-World/drawer-open-v3."""

    file, body = "sawyer_drawer", "drawer"
    low, high = (-0.1, 0.9, 0.0), (0.1, 0.9, 0.0)


class SawyerDrawerClose(SawyerDrawerOpen):
    """Meta-World/drawer-close-v3."""


class SawyerButtonPressTopdown(Sawyer):
    """Meta-World/button-press-topdown-v3."""

    file, body = "sawyer_button_press_topdown", "box"
    low, high = (-0.1, 0.8, 0.115), (0.1, 0.9, 0.115)


class SawyerButtonPressTopdownWall(SawyerButtonPressTopdown):
    """Meta-World/button-press-topdown-wall-v3."""

    file = "sawyer_button_press_topdown_wall"


class SawyerButtonPress(Sawyer):
    """Meta-World/button-press-v3."""

    file, body = "sawyer_button_press", "box"
    low, high = (-0.1, 0.85, 0.115), (0.1, 0.9, 0.115)


class SawyerButtonPressWall(Sawyer):
    """Meta-World/button-press-wall-v3."""

    file, body = "sawyer_button_press_wall", "box"
    low, high = (-0.05, 0.85, 0.1149), (0.05, 0.9, 0.1151)


class SawyerHandlePress(Sawyer):
    """Meta-World/handle-press-v3."""

    file, body = "sawyer_handle_press", "box"
    low, high = (-0.1, 0.8, -0.001), (0.1, 0.9, 0.001)
    goal_low, goal_high = (-0.1, 0.55, 0.04), (0.1, 0.70, 0.08)


class SawyerHandlePressSide(Sawyer):
    """Meta-World/handle-press-side-v3."""

    file, body = "sawyer_handle_press_sideways", "box"
    low, high = (-0.35, 0.65, -0.001), (-0.25, 0.75, 0.001)


class SawyerPegInsertSide(Sawyer):
    """Meta-World/peg-insert-side-v3."""

    file, body = "sawyer_peg_insertion_side", "box"
    low, high, apart = (0.0, 0.5, 0.02, -0.35, 0.4, -0.001), (0.2, 0.7, 0.02, -0.25, 0.7, 0.001), 0.1
    goal_low, goal_high = (-0.35 + 0.03, 0.4, -0.001 + 0.13), (-0.25 + 0.03, 0.7, 0.001 + 0.13)


class SawyerWindowOpen(Sawyer):
    """Meta-World/window-open-v3."""

    file, body = "sawyer_window_horizontal", "window"
    low, high = (-0.1, 0.7, 0.16), (0.1, 0.9, 0.16)


class SawyerWindowClose(Sawyer):
    """Meta-World/window-close-v3."""

    file, body = "sawyer_window_horizontal", "window"
    low, high = (0.0, 0.75, 0.2), (0.0, 0.9, 0.2)
