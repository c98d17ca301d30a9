"""Environment ids: the one table, and what is looked up in it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any

from batchenv import hints
from batchenv._moved import moved
from batchenv.engines.atari import games

NAMESPACE = "batchenv"


@dataclass(frozen=True)
class Entry:
    """An environment id: its type in the C core, its limits, and how it is drawn.

    kwargs: the keywords that make this id of its type.
    adapter: "module:Class" of what turns Gymnasium's keywords into the C type's (see `adapter.Adapter`); or None.
    family: what `python -m batchenv list` puts it under.
    extra: the extra of this package that it needs: pip install 'batchenv[extra]'; or None.
    modes: the render modes; None: those of Gymnasium's class.
    """

    type_name: str
    max_episode_steps: int | None
    reward_threshold: float | None
    render_fps: int
    kwargs: dict[str, Any] = field(default_factory=dict)
    adapter: str | None = None
    modes: tuple[str, ...] | None = None
    listed: bool = True  # for users; the others are for tests and benchmarks
    extra: str | None = None
    family: str = "classic control"

    def make_adapter(self) -> Any:
        """A new adapter, or None where the C type's own keywords are all there is."""
        if self.adapter is None:
            return None
        module, _, name = self.adapter.partition(":")
        return getattr(importlib.import_module(module), name)()


_ATARI = "batchenv.engines.atari.translator:Atari"


def _toy_text(
    type_name: str, steps: int | None, threshold: float | None, kwargs: dict[str, Any], adapter: str | None
) -> Entry:
    adapter = adapter and f"batchenv.toy_text:{adapter}"
    return Entry(type_name, steps, threshold, 4, kwargs, adapter, family="toy text")


TABLE = {
    "CartPole-v0": Entry("CartPole", 200, 195.0, 50),
    "CartPole-v1": Entry("CartPole", 500, 475.0, 50),
    "MountainCar-v0": Entry("MountainCar", 200, -110.0, 30),
    "MountainCarContinuous-v0": Entry("MountainCarContinuous", 999, 90.0, 30),
    "Pendulum-v1": Entry("Pendulum", 200, None, 30),
    "Acrobot-v1": Entry("Acrobot", 500, -100.0, 15),
    "Synthetic-v0": Entry("Synthetic", 1000, None, 1, listed=False),
    "FrozenLake-v1": _toy_text("FrozenLake", 100, 0.70, {"map_name": "4x4"}, "FrozenLake"),
    "FrozenLake8x8-v1": _toy_text("FrozenLake", 200, 0.85, {"map_name": "8x8"}, "FrozenLake"),
    "Taxi-v4": _toy_text("Taxi", 200, 8, {}, "Taxi"),
    "CliffWalking-v1": _toy_text("CliffWalking", None, None, {}, "ToyText"),
    "CliffWalkingSlippery-v1": _toy_text("CliffWalking", None, None, {"is_slippery": True}, "ToyText"),
    "Blackjack-v1": _toy_text("Blackjack", None, None, {"sab": True, "natural": False}, "Blackjack"),
    "Catch-v0": _toy_text("Catch", None, None, {}, "Catch"),
    "NChain-v0": _toy_text("NChain", 1000, None, {}, None),
    **{
        name: Entry("Atari", limit, None, 30, keywords, _ATARI, extra="atari", family="Atari")
        for name, (limit, keywords) in games.ids().items()
    },
}


def _add_mujoco() -> None:
    """Gymnasium's MuJoCo environments: name, steps, reward threshold, frames a second, adapters of -v5 and -v4."""
    modes = ("human", "rgb_array", "depth_array", "rgbd_tuple")
    rows = [
        ("Ant", 1000, 6000.0, 20, "Ant", "AntV4"),
        ("HalfCheetah", 1000, 4800.0, 20, "HalfCheetah", "HalfCheetah"),
        ("Hopper", 1000, 3800.0, 125, "Hopper", "Hopper"),
        ("Humanoid", 1000, None, 67, "Humanoid", "HumanoidV4"),
        ("HumanoidStandup", 1000, None, 67, "HumanoidStandup", "HumanoidStandupV4"),
        ("InvertedDoublePendulum", 1000, 9100.0, 20, "InvertedDoublePendulum", "InvertedDoublePendulum"),
        ("InvertedPendulum", 1000, 950.0, 25, "InvertedPendulum", "InvertedPendulum"),
        ("Pusher", 100, 0.0, 20, "Pusher", "PusherV4"),
        ("Reacher", 50, -3.75, 50, "Reacher", "Reacher"),
        ("Swimmer", 1000, 360.0, 25, "Swimmer", "Swimmer"),
        ("Walker2d", 1000, None, 125, "Walker2d", "Walker2dV4"),
    ]
    for name, steps, threshold, fps, *adapters in rows:
        for version, suffix, adapter in zip(("v5", "v4"), ("", "V4"), adapters, strict=True):
            TABLE[f"{name}-{version}"] = Entry(
                f"{name}{suffix}",
                steps,
                threshold,
                fps,
                {},
                f"batchenv.engines.mujoco.tasks:{adapter}",
                modes,
                extra="mujoco",
                family="MuJoCo",
            )

    custom = Entry(
        "MuJoCo", None, None, 50, {}, "batchenv.engines.mujoco.tasks:Custom", modes, listed=False, family="MuJoCo"
    )
    TABLE["MuJoCo-v0"] = custom


_add_mujoco()


def list_envs(extra: str | None = "any") -> list[str]:
    """Environment ids, sorted: all of them; those of an extra, such as "atari"; or, with None, those that need none."""
    return sorted(name for name, entry in TABLE.items() if entry.listed and extra in ("any", entry.extra))


def lookup(env_id: str) -> tuple[str, Entry]:
    """The plain id and entry of `env_id`, with or without the "batchenv/" namespace.

    Raises:
        TypeError: `env_id` is not a str.
        ValueError: there is no such id; the message says which one may be meant, or what to do instead.
    """
    if not isinstance(env_id, str):
        raise TypeError(hints.not_an_id(env_id))
    name = env_id.removeprefix(f"{NAMESPACE}/")
    if name.startswith("ALE-"):
        name = name.replace("-", "/", 1)
    if name not in TABLE:
        raise ValueError(hints.unknown_id(env_id, list_envs()))
    return name, TABLE[name]


__getattr__ = moved(
    __name__,
    "",
    make="batchenv",
    make_mujoco="batchenv",
    spec="batchenv",
    build_info="batchenv",
    gymnasium_id="batchenv.integrations.registration",
)
