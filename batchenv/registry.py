"""Environment ids: those that C types say of themselves, those of the engines, and what is looked up in them."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from batchenv import _core, hints, toy_text
from batchenv._moved import moved
from batchenv.engines import games

if TYPE_CHECKING:
    from batchenv.compiler import Library

NAMESPACE = "batchenv"
FILE = re.compile(r"(?P<path>.+\.(?:c|so))(?::(?P<id>.+))?")  # "my_env.c", "my_env.c:MyEnv-v0"


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
    library: Library | None = None  # of a type that is not built in

    def make_adapter(self) -> Any:
        """A new adapter, or None where the C type's own keywords are all there is."""
        if self.adapter is None:
            return None
        module, _, name = self.adapter.partition(":")
        return getattr(importlib.import_module(module), name)()


_ATARI = "batchenv.engines.atari:Atari"


def _kernels() -> dict[str, Entry]:
    """The ids that C types say of themselves."""
    table = {}
    for kind in _core.env_types():
        adapter = toy_text.ADAPTERS.get(kind["name"])
        for row in kind["ids"]:
            table[row["name"]] = Entry(
                kind["name"],
                row["max_episode_steps"],
                row["reward_threshold"],
                kind["render_fps"],
                row["kwargs"],
                adapter and f"batchenv.toy_text:{adapter.__name__}",
                listed=row["listed"],
                family=kind["family"],
            )
    return table


TABLE = {
    **_kernels(),
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
                f"batchenv.engines.mujoco:{adapter}",
                modes,
                extra="mujoco",
                family="MuJoCo",
            )

    custom = Entry("MuJoCo", None, None, 50, {}, "batchenv.engines.mujoco:Custom", modes, listed=False, family="MuJoCo")
    TABLE["MuJoCo-v0"] = custom


_add_mujoco()


def list_envs(extra: str | None = "any") -> list[str]:
    """Environment ids, sorted: all of them; those of an extra, such as "atari"; or, with None, those that need none.

    Those that were compiled or loaded, and those of other packages (docs/your-own-env.md), are among them.
    """
    _libraries().load_packages()
    return sorted(name for name, entry in TABLE.items() if entry.listed and extra in ("any", entry.extra))


def _libraries() -> Any:
    """What knows envs that are not built in; most programs need none."""
    return importlib.import_module("batchenv.compiler.libraries")


def is_file(text: str) -> bool:
    """Whether `text` names a C file or library of envs, or an id in one, as `lookup` takes them."""
    return FILE.fullmatch(text) is not None


def lookup(env_id: str) -> tuple[str, Entry]:
    """The plain id and entry of `env_id`, with or without the "batchenv/" namespace; or of a C file or library of envs:
    "my_env.c" where that has one id, "my_env.c:MyEnv-v0".

    Raises:
        TypeError: `env_id` is not a str.
        ValueError: there is no such id; the message says which one may be meant, or what to do instead.
    """
    if not isinstance(env_id, str):
        raise TypeError(hints.not_an_id(env_id))
    name = env_id.removeprefix(f"{NAMESPACE}/")
    if name.startswith("ALE-"):
        name = name.replace("-", "/", 1)
    if name in TABLE:
        return name, TABLE[name]
    if is_file(env_id):
        return _libraries().find(env_id)
    known = list_envs()
    if name not in TABLE:  # as Gymnasium has them, ids have one slash
        name = next((other for other in TABLE if other.replace("/", "-") == name), name)
    if name not in TABLE:
        raise ValueError(hints.unknown_id(env_id, known))
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
