"""What C types have beside parameters and state: keywords, attributes that are not numbers, and pictures."""

from __future__ import annotations

import importlib

from batchenv._core import type_info
from batchenv.imports import importing
from batchenv.translator import Translator

# {C type: "module:Translator"}, imported when lanes of it are made. Other types have numbers alone, and no pictures.
TRANSLATORS = {
    **{
        name: f"batchenv.envs.classic:{name}"
        for name in ("CartPole", "MountainCar", "MountainCarContinuous", "Pendulum", "Acrobot")
    },
    **{name: f"batchenv.envs.toy_text:{name}" for name in ("FrozenLake", "CliffWalking", "Taxi", "Blackjack", "Catch")},
    **{name: f"batchenv.envs.box2d:{name}" for name in ("LunarLander", "BipedalWalker")},
    "Atari": "batchenv.engines.atari.translator:Atari",
    "MuJoCo": "batchenv.engines.mujoco.tasks:Custom",
    **{
        f"{name}{version}": f"batchenv.engines.mujoco.tasks:{name}"
        for name in ("HalfCheetah", "Hopper", "InvertedDoublePendulum", "InvertedPendulum", "Reacher", "Swimmer")
        for version in ("", "V4")
    },
    **{
        name: f"batchenv.engines.mujoco.tasks:{name}"
        for task in ("Ant", "Humanoid", "HumanoidStandup", "Pusher", "Walker2d")
        for name in (task, f"{task}V4")
    },
}

# The same by family, for types of which each user may add more.
FAMILIES = {"MiniGrid": "batchenv.envs.minigrid:MiniGrid", "BabyAI": "batchenv.envs.minigrid:MiniGrid"}


def translator(type_name: str) -> Translator:
    """A new translator for a C type."""
    known = TRANSLATORS.get(type_name) or FAMILIES.get(type_info(type_name)["family"], "")
    module, colon, name = known.partition(":")
    made = Translator()
    if colon:
        with importing:
            made = getattr(importlib.import_module(module), name)()
    made.type_name = type_name
    return made
