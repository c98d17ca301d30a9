"""What a recording says about its env, and how the env is made again from that."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from batchenv.catalog import lookup
from batchenv.env import wrapping
from batchenv.env.batch_env import BatchEnv
from batchenv.env.factory import make_python
from batchenv.recordings.errors import RecordingError
from batchenv.recordings.moments import moments_of
from batchenv.recordings.spaces import to_data
from batchenv.recordings.values import lost_in
from batchenv.registry import TABLE
from batchenv.system.built import VERSION

# What an extra of batchenv's installs that decides what lanes do.
_ENGINES = {
    "atari": ("multi-agent-ale-py", "ale-py"),
    "procgen": ("procgen2",),
    "mujoco": ("mujoco",),
    "playground": ("mujoco", "playground"),
    "mjlab": ("mujoco", "mjlab"),
    "dmc": ("mujoco", "dm_control"),
    "robotics": ("mujoco", "gymnasium-robotics"),
    "metaworld": ("mujoco", "metaworld"),
}
# Keywords that change nothing about what lanes do, or that a replay chooses itself.
_OWN = ("num_envs", "num_threads", "seed", "copy", "batch_size", "thread_affinity", "render_mode")


def describe(env: BatchEnv) -> dict[str, Any]:
    """What a recording says of an env, which must be held.

    Keys:
        id, namespace, num_envs, kind, autoreset_mode, observation_space, action_space (the spaces in words).
        make: what makes the env again: {"by", "id", "keywords"}; `by` is "core", "gymnasium" or None.
        versions: of everything that may matter; decides: the names of those that do.
        seeds: the lanes' seeds as known; None before the first reset.
        alike: whether lanes differ in nothing but their seeds, so that some can be replayed without the others.
    """
    backend = wrapping.backend_of(env)
    seeds = env._seeder.known
    versions = _versions_here()
    decides = ["batchenv"]
    if backend.has_envs:
        decides += ["numpy", "gymnasium"]
        packages: tuple[str, ...] = ()
    else:
        packages = _packages(env)
    for package in packages:
        version = version_of(package)
        if version is not None:
            versions[package] = version
            decides.append(package)
    return {
        "id": env.id,
        "num_envs": env.num_envs,
        "kind": backend.kind,
        "python": backend.has_envs,
        "autoreset_mode": env.autoreset_mode.value,
        "observation_space": str(env.single_observation_space),
        "action_space": str(env.single_action_space),
        "observation_data": to_data(env.single_observation_space),
        "action_data": to_data(env.single_action_space),
        "moments": moments_of(env),
        "waiting": [] if backend.needs_reset else waiting(backend, np.arange(env.num_envs)),
        "make": _making(env),
        "versions": versions,
        "decides": decides,
        "rom": _rom(env),
        "seeds": list(seeds) if seeds is not None and not isinstance(seeds, int) else seeds,
        "alike": _alike(env),
        "normalizes": env.normalizer is not None or env.reward_normalizer is not None,
    }


def _versions_here() -> dict[str, str]:
    """Of what is the same for all envs."""
    return {
        "batchenv": VERSION,
        "Python": platform.python_version(),
        "numpy": np.__version__,
        "gymnasium": gymnasium.__version__,
        "machine": platform.machine(),
        "C library": " ".join(platform.libc_ver()),
    }


def waiting(backend: Any, lanes: NDArray[np.int64]) -> list[int]:
    """Those of these lanes whose episodes have ended, and which wait for their reset."""
    waits = backend.waiting()
    return [lane for lane in np.unique(lanes).tolist() if waits[lane]]


def _packages(env: BatchEnv) -> tuple[str, ...]:
    if not isinstance(env._again, str):
        return ("mujoco",)
    try:
        extra = lookup(env._again)[1].extra
    except Exception:
        return ()
    return _ENGINES.get(extra or "", ())


def version_of(package: str) -> str | None:
    """The installed version; None: it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _rom(env: BatchEnv) -> str | None:
    """The MD5 of an Atari game's ROM."""
    if not isinstance(env._again, str) or _packages(env)[:1] != _ENGINES["atari"][:1]:
        return None
    from batchenv.envs.atari import games

    try:
        return games.about(lookup(env._again)[1].kwargs["game"]).md5
    except KeyError:
        return None


def _making(env: BatchEnv) -> dict[str, Any]:
    """See `describe`. An env that was made from functions or objects can only be made again by the user."""
    backend = wrapping.backend_of(env)
    keywords = {name: value for name, value in env._arguments.items() if name not in _OWN}
    if isinstance(env._again, str):
        library = None if env._library is None else env._library.reference
        return {"by": "core", "id": env._again, "library": library, "keywords": {**keywords, **backend.keywords()}}
    if env.spec is not None and backend.has_envs:
        namespace = env.spec.id
        own = {name: value for name, value in env.spec.kwargs.items() if name != "render_mode"}
        return {"by": "gymnasium", "id": namespace, "library": None, "keywords": {**keywords, "env_kwargs": own}}
    return {"by": None, "id": env.id, "library": None, "keywords": {}}


def _alike(env: BatchEnv) -> bool:
    backend = wrapping.backend_of(env)
    if backend.has_envs or env.normalizer is not None or env.reward_normalizer is not None:
        return False
    return all(np.ndim(value) == 0 for value in backend.get_params().values()) and not backend.changes()


def make_again(header: dict[str, Any], count: int, num_threads: int | None, trust: bool) -> BatchEnv:
    """An env like the recorded one, with this many lanes.

    Raises:
        RecordingError: it cannot be made from what the recording says.
    """
    how = header["make"]
    lost = lost_in(how["keywords"])
    if how["by"] is None or lost:
        what = f"it was made with {', '.join(lost)}" if lost else "it was made from functions or objects"
        raise RecordingError(
            f"this recording cannot make its env ({header['id']}) again, because {what}: pass "
            "batchenv.replay(path, make_env=f), where f() makes an env like the one that was recorded"
        )
    mode = {"autoreset_mode": AutoresetMode(header["autoreset_mode"]), "num_threads": num_threads}
    if how["by"] == "gymnasium":
        if not trust:
            raise RecordingError(
                f"{header['id']} is an environment in Python, which its id may import from anywhere: say trust=True if "
                "you know where the file comes from"
            )
        workers = {"workers": header["kind"], "snapshots": header["snapshots"]}
        env = make_python(how["id"], count, **{**how["keywords"], **mode, **workers})
    elif how["library"] is not None:
        if not trust:
            raise RecordingError(
                f"{header['id']} was compiled from a C file, and its recording names the library "
                f"{how['library']['path']}: say trust=True to load it"
            )
        from batchenv.compiler.libraries import again

        env = BatchEnv(again(how["library"], how["id"]), count, **{**how["keywords"], **mode})
    elif how["id"] not in TABLE or TABLE[how["id"]].library is not None:
        raise RecordingError(f"this batchenv has no environment {how['id']!r}: install the release that recorded it")
    else:
        env = BatchEnv(how["id"], count, **{**how["keywords"], **mode})
    return env


def check_versions(header: dict[str, Any], path: Any) -> list[str]:
    """What is different here from where the recording was made, in words.

    Raises:
        RecordingError: something that decides what lanes do.
    """
    different = differences(header)
    deciding = [f"{name} {was} there and {now} here" for name, was, now in different if name in header["decides"]]
    if deciding:
        raise RecordingError(
            f"{path} was recorded with {', '.join(deciding)}, so that a replay may differ: install those versions, or "
            "say ignore_versions=True to try it anyway (the checksums tell whether it differs)"
        )
    return [f"{name} {was} there and {now} here" for name, was, now in different]


def differences(header: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(name, version there, version here) of what differs."""
    here = _versions_here()
    found = []
    for name, was in header["versions"].items():
        now = here[name] if name in here else version_of(name) or "missing"
        if now != was:
            found.append((name, was, now))
    return found


def check_made(env: Any, header: dict[str, Any], count: int) -> BatchEnv:
    """An env that a user's function has made, if it is like the recorded one.

    Raises:
        RecordingError: it is not.
    """
    if not isinstance(env, BatchEnv):
        raise RecordingError(f"make_env has returned {env!r}, which is no BatchEnv: return what batchenv.make returns")
    there = {
        "num_envs": count,
        "autoreset_mode": header["autoreset_mode"],
        "observation_space": header["observation_space"],
        "action_space": header["action_space"],
    }
    here = {
        "num_envs": env.num_envs,
        "autoreset_mode": env.autoreset_mode.value,
        "observation_space": str(env.single_observation_space),
        "action_space": str(env.single_action_space),
    }
    for name, was in there.items():
        if here[name] != was:
            env.close()
            raise RecordingError(
                f"the env has {name}={here[name]}, and the recorded one had {was}: make it as that was"
            )
    return env


MakeEnv = Callable[[], BatchEnv]
