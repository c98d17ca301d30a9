"""gymnasium-robotics' FrankaKitchen: finds its model, and translates its keywords. The task itself is in
csrc/engines/mujoco/robotics."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from batchenv.envs.mujoco import library, tasks
from batchenv.envs.mujoco.robotics import asset

_JOINTS, _SPEEDS = 9, 29  # of the arm, and of all
# Where the arm and the things are when episodes start: of the package.
_START = np.array(
    [
        *(1.48388023e-01, -1.76848573e00, 1.84390296e00, -2.47685760e00, 2.60252026e-01, 7.12533105e-01),
        *(1.59515394e00, 4.79267505e-02, 3.71350919e-02, -2.66279850e-04, -5.18043486e-05, 3.12877220e-05),
        *(-4.51199853e-05, -3.90842156e-06, -4.22629655e-05, 6.28065475e-05, 4.04984708e-05, 4.62730939e-04),
        *(-2.26906415e-04, -4.65501369e-04, -6.44129196e-03, -1.77048263e-03, 1.08009684e-03, -2.69397440e-01),
        *(3.50383255e-01, 1.61944683e00, 1.00618764e00, 4.06395120e-03, -6.62095997e-03, -2.68278933e-04),
    ]
)


class FrankaKitchen(tasks.Task):
    """FrankaKitchen-v1."""

    xml_file = None
    xml_meaning = "another model with as many joints: the path of an XML file, or XML text"
    camera = {"distance": 2.2, "azimuth": 70.0, "elevation": -35.0, "lookat": np.array([-0.2, 0.5, 2.0])}

    def to_core(self, keywords):
        chosen = keywords.get("tasks_to_complete")
        if chosen is not None and not isinstance(chosen, str):
            names = list(chosen) if isinstance(chosen, (list, tuple, set, frozenset, np.ndarray)) else [chosen]
            if not all(isinstance(name, str) for name in names):
                raise TypeError(f"tasks_to_complete={chosen!r} must be a list of names of tasks")
            keywords = {**keywords, "tasks_to_complete": ",".join(names)}
        return super().to_core(keywords)

    def _read(self, xml):
        default = asset("kitchen_franka", "kitchen_assets", "kitchen_env_model.xml")
        return tasks.read_own(default if xml is None else xml, "xml_file")

    def _start(self):
        return library.Start(_START, np.zeros(_SPEEDS), 0.0, _limits())


def _limits() -> NDArray[np.float64]:
    """The numbers of the package's file of the arm's limits, as the task has them."""
    root = ElementTree.parse(asset("kitchen_franka", "franka_assets", "franka_config.xml")).getroot()

    def numbers(name: str, count: int) -> list[float]:
        rows = [root.find(f"qpos{k}") for k in range(count)]
        return [float(word) for row in rows if row is not None for word in row.get(name, "").split()]

    return np.array(
        [
            *numbers("pos_bound", _JOINTS),
            *numbers("vel_bound", _JOINTS),
            *numbers("pos_noise_amp", _SPEEDS),
            *numbers("vel_noise_amp", _SPEEDS),
        ]
    )
