"""Environment ids: those that C types say of themselves, those of the engines, and what is looked up in them."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from batchenv import _core, hints, toy_text
from batchenv.engines import games

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


def gymnasium_id(name: str) -> str:
    """What `name` is registered as: "batchenv/<id>", where ids of ale-py lose their slash (batchenv/ALE-Pong-v5).

    Two games have one name: the Atari one stands aside, or Gymnasium would take it for a newer version of the other.
    """
    if name == "Blackjack-v5":
        return f"{NAMESPACE}/Atari-Blackjack-v5"
    return f"{NAMESPACE}/{name.replace('/', '-')}"


def spec(env_id: str) -> EnvSpec:
    """The Gymnasium EnvSpec of an environment id, as registered under "batchenv/<id>"."""
    name, _ = lookup(env_id)
    return copy.deepcopy(gymnasium.registry[gymnasium_id(name)])


def make(env_id: str, num_envs: int = 1, *, env_type: str = "gymnasium", **kwargs: Any):
    """Makes `num_envs` lanes of an environment as one `gymnasium.vector.VectorEnv`, or with another API around it.

    Args:
        env_id: such as "CartPole-v1"; see `list_envs()`.
        num_envs: number of lanes, at least 1.
        env_type: "gymnasium": a `BatchEnv`. "gym": one with gym's old API, see `batchenv.faces.gym.GymBatchEnv`. "dm":
            one with dm_env's, see `batchenv.faces.dm.DmBatchEnv`. Both wrap a BatchEnv, their `.env`.
        **kwargs: see `BatchEnv`: num_threads, autoreset_mode, seed, max_episode_steps, render_mode, copy, clip_actions,
            and the environment's own parameters (`python -m batchenv info ID` lists them). EnvPool's keywords are
            understood where they can be honoured (docs/from-envpool.md).

    Raises:
        TypeError, ValueError: an argument has a wrong type or value; the message names it, the rule and the fix.
        ImportError: env_type="dm" without dm_env: pip install 'batchenv[dm]'.
    """
    from batchenv.batch_env import BatchEnv
    from batchenv.faces import face
    from batchenv.faces.envpool import keywords

    name, entry = lookup(env_id)
    kwargs = keywords(entry.extra, kwargs)
    wrap = face(env_type)
    if wrap is not None:
        kwargs = {**wrap.DEFAULTS, **kwargs}
    env = BatchEnv(name, num_envs, **kwargs)
    # The spec that make_vec would leave, so that make_vec(env.spec) makes this env again.
    env.spec = spec(name)
    if env.spec.max_episode_steps is not None:
        env.spec.kwargs["max_episode_steps"] = env.spec.max_episode_steps
    env.spec.kwargs.update(kwargs)
    if "autoreset_mode" in kwargs:
        env.spec.kwargs["autoreset_mode"] = env.autoreset_mode.value
    if env.num_envs != 1:
        env.spec.kwargs["num_envs"] = env.num_envs
    env.spec.kwargs["vectorization_mode"] = "vector_entry_point"
    return env if wrap is None else wrap(env)


def make_mujoco(
    xml: Any, num_envs: int = 1, *, frame_skip: int = 1, observation: Sequence[str] = ("qpos", "qvel"), **kwargs: Any
):
    """Makes `num_envs` lanes of a MuJoCo model of your own.

    Physics run in C; rewards are 0 and episodes end at the time limit alone: compute yours from the observations, which
    are one array for all lanes, and start lanes again with `env.reset(options={"reset_mask": done})`.

    Args:
        xml: path of an XML file, or XML text.
        num_envs: number of lanes.
        frame_skip: MuJoCo's steps in one.
        observation: fields of mjData, arrays of floats such as "qpos", "sensordata", "xpos"; an observation is these,
            one after the other, flattened. `env.get_attr("observation_fields")[0]` says where each is. As in Gymnasium,
            what MuJoCo computes from positions is of the instant before the step's last integration.
        **kwargs: as `make`; and qpos_noise, qvel_noise: episodes start at the model's qpos0 and velocities of 0, plus
            uniform numbers between -noise and noise.

    Raises:
        TypeError, ValueError, OSError: an argument has a wrong type or value.
        gymnasium.error.DependencyNotInstalled: mujoco is not installed: pip install "batchenv[mujoco]".
    """
    return make("MuJoCo-v0", num_envs, xml_file=xml, frame_skip=frame_skip, observation=observation, **kwargs)


def register_with_gymnasium() -> None:
    """Registers every id as "batchenv/<id>", for `gymnasium.make` and `gymnasium.make_vec`."""
    for name, entry in TABLE.items():
        registered = gymnasium_id(name)
        if registered not in gymnasium.registry:
            # What gymnasium.register does, without its look through all the other ids: there are hundreds.
            gymnasium.registry[registered] = EnvSpec(
                registered,
                entry_point=f"batchenv.entry_points:single {name}",
                vector_entry_point=f"batchenv.entry_points:vector {name}",
                max_episode_steps=entry.max_episode_steps,
                reward_threshold=entry.reward_threshold,
                kwargs=dict(entry.kwargs),
            )


def build_info() -> dict[str, Any]:
    """What this build can do and what it chose on this machine.

    Keys: version; openmp (bool: built with OpenMP); max_threads (the default number); numa_nodes ({"node0": how many
    of its CPUs this process may use}, {} if unknown); isa (instruction set in use) and isas (all that this CPU has);
    libm_mismatches (in how many of 16,384 arguments our vector functions differ from the C library's: an instruction
    set with any is not used); linked_mismatches (in how many of 2,048 arguments a function of the C library that this
    build linked differs from Python's `math`: then the process's own one is called instead); python_mismatches (the
    same for the functions that are called: any comes with a RuntimeWarning); numpy_mismatches (in how many arguments
    NumPy's scalar functions differ from the C library's: any means that this NumPy, and so Gymnasium, differs from us
    in the last bit).
    """
    from batchenv import __version__

    return {"version": __version__, **_core.build_info()}
