"""Makes environments, in the API that the user asks for: `make` and its sisters."""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import gymnasium
from gymnasium.envs.registration import EnvSpec

from batchenv.backend.transforms import DEFAULTS
from batchenv.catalog import is_own, lookup
from batchenv.env import factory
from batchenv.env.batch_env import BatchEnv
from batchenv.env.envpool_keywords import COMMON
from batchenv.envs import translator
from batchenv.integrations import find_player_wrapper, find_wrapper, wrapped
from batchenv.integrations.envpool import PoolSpec, takes_env_type
from batchenv.registry import Entry, reserved

if TYPE_CHECKING:
    from batchenv.envs.mujoco.vectorized.task import MuJoCoTask
    from batchenv.integrations.dm import DmBatchEnv
    from batchenv.integrations.gym import GymBatchEnv, PoolBatchEnv
    from batchenv.integrations.pettingzoo import ParallelBatchEnv
    from batchenv.integrations.player_rows import PlayerVectorEnv
    from batchenv.integrations.rl_games import RlGamesBatchEnv
    from batchenv.integrations.sb3 import BatchVecEnv
    from batchenv.integrations.sb3_players import PlayerVecEnv
    from batchenv.integrations.tianshou import TianshouBatchEnv
    from batchenv.integrations.torch import TorchBatchEnv
    from batchenv.integrations.torchrl import TorchRLBatchEnv

# An id; several ids, whose lanes are neighbours in equal shares; or {id: number of its lanes}.
EnvId: TypeAlias = str | Sequence[str] | Mapping[str, int]
# What makes an environment written in Python: an id, a spec of Gymnasium's, a function, or a list of these, per lane.
MakeEnv: TypeAlias = str | EnvSpec | Callable[..., Any] | Sequence[str | Callable[..., Any]]
# A MuJoCo model: XML text, the path of an XML file, a mujoco.MjModel or a mujoco.MjSpec, which have no types.
Xml: TypeAlias = str | os.PathLike[str] | Any
MakeTask: TypeAlias = Callable[[], "MuJoCoTask"]  # a class, usually
_OF_ONE_PLAYER = DEFAULTS.keys() - {"record_episode_statistics"}


@overload
def make(
    env_id: EnvId, num_envs: int = 1, *, env_type: Literal["gymnasium"] = "gymnasium", **kwargs: Any
) -> BatchEnv: ...
@overload
def make(env_id: EnvId, num_envs: int = 1, *, env_type: Literal["gym"], **kwargs: Any) -> GymBatchEnv: ...
@overload
def make(env_id: EnvId, num_envs: int = 1, *, env_type: Literal["envpool_gym"], **kwargs: Any) -> PoolBatchEnv: ...
@overload
def make(env_id: EnvId, num_envs: int = 1, *, env_type: Literal["dm"], **kwargs: Any) -> DmBatchEnv: ...
@overload
def make(env_id: EnvId, num_envs: int = 1, *, env_type: Literal["torch"], **kwargs: Any) -> TorchBatchEnv: ...
@overload
def make(env_id: EnvId, num_envs: int = 1, *, env_type: Literal["torchrl"], **kwargs: Any) -> TorchRLBatchEnv: ...
@overload
def make(env_id: EnvId, num_envs: int = 1, *, env_type: Literal["sb3"], **kwargs: Any) -> BatchVecEnv: ...
@overload
def make(env_id: EnvId, num_envs: int = 1, *, env_type: Literal["tianshou"], **kwargs: Any) -> TianshouBatchEnv: ...
@overload
def make(env_id: EnvId, num_envs: int = 1, *, env_type: Literal["rl_games"], **kwargs: Any) -> RlGamesBatchEnv: ...
@overload
def make(env_id: EnvId, num_envs: int = 1, *, env_type: str, **kwargs: Any) -> Any: ...
@overload
def make(env_id: EnvId, env_type: Literal["gymnasium"], /, *, num_envs: int = 1, **kwargs: Any) -> BatchEnv: ...
@overload
def make(env_id: EnvId, env_type: Literal["dm"], /, *, num_envs: int = 1, **kwargs: Any) -> DmBatchEnv: ...
@overload
def make(env_id: EnvId, env_type: str, /, *, num_envs: int = 1, **kwargs: Any) -> Any: ...
@takes_env_type
def make(env_id: EnvId, num_envs: int = 1, *, env_type: str = "gymnasium", **kwargs: Any) -> Any:
    """Makes `num_envs` lanes (copies) of an environment as one `gymnasium.vector.VectorEnv`, or with another API.

    Args:
        env_id: such as "CartPole-v1": see `list_envs()`; these run in C. Every other id that Gymnasium knows, such as
            "CarRacing-v3" or "module:id", runs in Python, as `make_python` runs it, of which the keywords are taken,
            too: in processes, or one lane in this process. `env.backend` says what steps the lanes. A list of ids that
            run in C and have the same spaces: one env whose first lanes are of the first id, as many of each; a dict
            {id: number of lanes} has others. Bounds of observations may differ.
        num_envs: number of lanes, at least 1. A str in its place is the env_type, as in EnvPool's calls:
            make("Pong-v5", "gymnasium", num_envs=8).
        env_type: "gymnasium": a `BatchEnv`. "gym": one with gym's old API, see `batchenv.integrations.gym.GymBatchEnv`.
            "dm": one with dm_env's, see `batchenv.integrations.dm.DmBatchEnv`. There are others for learners, such as
            "sb3" and "torch": docs/learners/README.md says what they give, and which further keywords they take. They
            wrap a BatchEnv.
        **kwargs: see `BatchEnv`: num_threads, autoreset_mode, seed, max_episode_steps, render_mode, copy, clip_actions,
            and the environment's own parameters (`python -m batchenv info ID` lists them). EnvPool's keywords are
            understood where they can be honoured (docs/reference/from-envpool.md). For an id in Python, all others go
            to its environments. Observations of MiniGrid and BabyAI are dicts, whose space has no shape:
            observation="flat" makes them one array, and "image" leaves only the picture (docs/envs/minigrid.md).

    Raises:
        TypeError, ValueError: an argument has a wrong type or value; the message names the argument, the rule and how
            to fix it.
        ImportError: the package of the API that `env_type` names is missing, such as dm_env: the message says how to
            install it; no module for "module:id".
    """
    return wrapped(find_wrapper(env_type), kwargs, partial(factory.make_env, env_id, num_envs))


def _taken() -> set[str]:
    """The keywords that `make`, or Gymnasium on the way to it, takes itself, and those of `set_params`."""
    taking = (make, BatchEnv.__init__, BatchEnv.set_params, gymnasium.make, gymnasium.make_vec)
    parameters = [parameter for function in taking for parameter in inspect.signature(function).parameters.values()]
    return {parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD}.union(COMMON)


reserved.update(_taken())


@overload
def make_mujoco(
    xml: Xml,
    num_envs: int = 1,
    *,
    task: MakeTask | None = None,
    frame_skip: int = ...,
    observation: Sequence[str] = ...,
    env_type: Literal["gymnasium"] = "gymnasium",
    **kwargs: Any,
) -> BatchEnv: ...
@overload
def make_mujoco(xml: Xml, num_envs: int = 1, *, env_type: Literal["gym"], **kwargs: Any) -> GymBatchEnv: ...
@overload
def make_mujoco(xml: Xml, num_envs: int = 1, *, env_type: Literal["envpool_gym"], **kwargs: Any) -> PoolBatchEnv: ...
@overload
def make_mujoco(xml: Xml, num_envs: int = 1, *, env_type: Literal["dm"], **kwargs: Any) -> DmBatchEnv: ...
@overload
def make_mujoco(xml: Xml, num_envs: int = 1, *, env_type: Literal["torch"], **kwargs: Any) -> TorchBatchEnv: ...
@overload
def make_mujoco(xml: Xml, num_envs: int = 1, *, env_type: Literal["torchrl"], **kwargs: Any) -> TorchRLBatchEnv: ...
@overload
def make_mujoco(xml: Xml, num_envs: int = 1, *, env_type: Literal["sb3"], **kwargs: Any) -> BatchVecEnv: ...
@overload
def make_mujoco(xml: Xml, num_envs: int = 1, *, env_type: Literal["tianshou"], **kwargs: Any) -> TianshouBatchEnv: ...
@overload
def make_mujoco(xml: Xml, num_envs: int = 1, *, env_type: Literal["rl_games"], **kwargs: Any) -> RlGamesBatchEnv: ...
@overload
def make_mujoco(xml: Xml, num_envs: int = 1, *, env_type: str, **kwargs: Any) -> Any: ...
def make_mujoco(xml: Xml, num_envs: int = 1, *, task: MakeTask | None = None, **kwargs: Any) -> Any:
    """Makes `num_envs` lanes (copies) of a MuJoCo model of your own.

    The physics runs in C. Without a task, rewards are 0, and episodes end only at the time limit: compute rewards and
    ends of your own from the observations, which are one array for all lanes, and reset lanes with
    `env.reset(options={"reset_mask": done})`.

    Args:
        xml: path of an XML file, XML text, or a `mujoco.MjModel` or `mujoco.MjSpec`, of which the env takes a copy as
            it is now.
        num_envs: number of lanes.
        task: a class derived from `batchenv.MuJoCoTask`, whose functions say in NumPy what actions do, and what
            rewards, ends and observations are. Its params are keywords, too. docs/envs/mujoco.md shows one.
        frame_skip: steps of MuJoCo per step of the env; by default 1, or the task's.
        observation: without a task, fields of mjData that are arrays of floats, such as "qpos", "sensordata", "xpos".
            An observation is these arrays, flattened, one after the other. `env.get_attr("observation_fields")[0]`
            says where each is. As in Gymnasium, what MuJoCo computes from positions belongs to the time before the
            step's last integration.
        **kwargs: as `make`; and, without a task, qpos_noise, qvel_noise: episodes start at the model's qpos0 with
            velocities of 0, plus uniform random numbers between -noise and noise.

    Raises:
        TypeError, ValueError, OSError: an argument has a wrong type or value.
        gymnasium.error.DependencyNotInstalled: mujoco is not installed: pip install "batchenv[mujoco]".
    """
    if "xml_file" in kwargs:
        raise TypeError("make_mujoco() takes the model as its first argument, and no xml_file")
    from batchenv.envs.mujoco.library import frozen  # here, so that `import batchenv` stays light

    xml = frozen(xml)
    if task is None:
        return make("MuJoCo-v0", num_envs, xml_file=xml, **kwargs)
    making = partial(factory.make_task, task, xml, num_envs)
    return wrapped(find_wrapper(kwargs.pop("env_type", "gymnasium")), kwargs, making)


@overload
def make_python(
    make_env: MakeEnv,
    num_envs: int | None = None,
    *,
    workers: str = "processes",
    num_workers: int | str | None = None,
    start_method: str | None = None,
    step_timeout: float | None = None,
    on_failure: str = "raise",
    snapshots: str | None = None,
    env_kwargs: dict[str, Any] | None = None,
    env_type: Literal["gymnasium"] = "gymnasium",
    **kwargs: Any,
) -> BatchEnv: ...
@overload
def make_python(
    make_env: MakeEnv, num_envs: int | None = None, *, env_type: Literal["gym"], **kwargs: Any
) -> GymBatchEnv: ...
@overload
def make_python(
    make_env: MakeEnv, num_envs: int | None = None, *, env_type: Literal["envpool_gym"], **kwargs: Any
) -> PoolBatchEnv: ...
@overload
def make_python(
    make_env: MakeEnv, num_envs: int | None = None, *, env_type: Literal["dm"], **kwargs: Any
) -> DmBatchEnv: ...
@overload
def make_python(
    make_env: MakeEnv, num_envs: int | None = None, *, env_type: Literal["torch"], **kwargs: Any
) -> TorchBatchEnv: ...
@overload
def make_python(
    make_env: MakeEnv, num_envs: int | None = None, *, env_type: Literal["torchrl"], **kwargs: Any
) -> TorchRLBatchEnv: ...
@overload
def make_python(
    make_env: MakeEnv, num_envs: int | None = None, *, env_type: Literal["sb3"], **kwargs: Any
) -> BatchVecEnv: ...
@overload
def make_python(
    make_env: MakeEnv, num_envs: int | None = None, *, env_type: Literal["tianshou"], **kwargs: Any
) -> TianshouBatchEnv: ...
@overload
def make_python(
    make_env: MakeEnv, num_envs: int | None = None, *, env_type: Literal["rl_games"], **kwargs: Any
) -> RlGamesBatchEnv: ...
@overload
def make_python(make_env: MakeEnv, num_envs: int | None = None, *, env_type: str, **kwargs: Any) -> Any: ...
def make_python(
    make_env: MakeEnv,
    num_envs: int | None = None,
    *,
    workers: str = "processes",
    num_workers: int | str | None = None,
    start_method: str | None = None,
    step_timeout: float | None = None,
    on_failure: str = "raise",
    snapshots: str | None = None,
    env_kwargs: dict[str, Any] | None = None,
    env_type: str = "gymnasium",
    **kwargs: Any,
) -> Any:
    """Makes lanes of an environment that is written in Python, with Gymnasium's API.

    Args:
        make_env: a callable that makes an env, such as its class; an id of Gymnasium's registry; or a list of
            callables, one per lane (other parameters in each; the spaces have to be equal).
        num_envs: number of lanes; None: one, or as many as the list has.
        workers: "processes": lanes are stepped in `num_workers` processes (Linux). "threads": in as many threads, for
            envs that wait, or compute without the GIL. "asyncio": in one event loop, for envs that wait, and whose
            reset and step are coroutines; plain ones have a thread each. "serial": in this thread, one after the other,
            for envs whose steps take microseconds, and for debugging. See docs/guide/python-envs.md.
        num_workers: how many threads or processes; None: one per CPU. "measured", for processes: as many as suit the
            cost of a step: one more env is made for this, stepped with random actions for a moment, and closed. Not for
            "asyncio".
        start_method: with "processes", how they are started. "forkserver": as forks of a new interpreter, which has
            imported what they need. "spawn": each as a new interpreter. "fork": as forks of this process, which is not
            safe if it has threads. None: "forkserver", or "spawn" where the system is too old for it.
        step_timeout: with "processes", the seconds that a worker may take for what it is asked; one that takes longer
            is ended and replaced, and its lanes have failed. With "asyncio", those that a call of an env may take; one
            that takes longer is cancelled, and its lane has failed. None: as long as it takes. Not for other workers.
        on_failure: after an exception of a lane's env, LaneError is raised, and the lane's next step resets it.
            "raise": that env. "restart": a new env; the old one is closed. For envs that an exception leaves unusable.
        snapshots: how `BatchEnv.snapshot` keeps an env. "pickle": pickled, by cloudpickle. "deepcopy": as a copy; not
            with "processes". "state": by its own get_state(), and restored by set_state(state), which may be coroutines
            with "asyncio". None: not at all.
        env_kwargs: keywords for each env.
        env_type: the API of what is returned, as with `make`.
        **kwargs: see `BatchEnv`: autoreset_mode, seed, max_episode_steps, batch_size, and so on.

    Raises:
        TypeError, ValueError: an argument has a wrong type or value.
        ImportError: the package of the API that `env_type` names is missing.
    """
    making = partial(
        factory.make_python,
        make_env,
        num_envs,
        workers=workers,
        num_workers=num_workers,
        start_method=start_method,
        step_timeout=step_timeout,
        on_failure=on_failure,
        snapshots=snapshots,
        env_kwargs=env_kwargs,
    )
    return wrapped(find_wrapper(env_type), kwargs, making)


@overload
def make_parallel(
    env_id: MakeEnv,
    num_envs: int | None = None,
    *,
    players: int | None = None,
    env_type: Literal["pettingzoo"] = "pettingzoo",
    **kwargs: Any,
) -> ParallelBatchEnv: ...
@overload
def make_parallel(
    env_id: MakeEnv, num_envs: int | None = None, *, env_type: Literal["gymnasium"], **kwargs: Any
) -> PlayerVectorEnv: ...
@overload
def make_parallel(
    env_id: MakeEnv, num_envs: int | None = None, *, env_type: Literal["sb3"], **kwargs: Any
) -> PlayerVecEnv: ...
@overload
def make_parallel(env_id: MakeEnv, num_envs: int | None = None, *, env_type: str, **kwargs: Any) -> Any: ...
def make_parallel(
    env_id: MakeEnv,
    num_envs: int | None = None,
    *,
    players: int | None = None,
    env_type: str = "pettingzoo",
    **kwargs: Any,
) -> Any:
    """Makes `num_envs` lanes (copies) of an environment for several players, with PettingZoo's parallel API around
    them.

    Args:
        env_id: an Atari id, such as "Pong-v5"; the id or the path of a C file of your own for several players
            (docs/envs/your-own-env.md); or an environment written in Python with PettingZoo's parallel API: a
            callable that makes one, such as `pistonball_v6.parallel_env`, the path of a module that has a parallel_env,
            such as "pettingzoo.butterfly.pistonball_v6", a path "module:callable", or a list of callables, one per
            lane.
        num_envs: number of lanes; None: one, or as many as the list has.
        players: of an Atari game alone: 2 to 4, as its modes allow; None: the id's own number, or else 2.
        env_type: "pettingzoo": a `ParallelBatchEnv`. For learners that train one policy for all players, each player of
            each lane as a lane of its own: "gymnasium": `batchenv.integrations.player_rows.PlayerVectorEnv`; "sb3":
            `batchenv.integrations.sb3_players.PlayerVecEnv`.
        **kwargs: for an Atari game or a C file as `make`, for an environment written in Python as `make_python`:
            workers, num_workers, env_kwargs and so on. See docs/guide/python-envs.md.

    Raises:
        TypeError, ValueError: an argument has a wrong type or value; the message names the argument, the rule and how
            to fix it.
        gymnasium.error.DependencyNotInstalled: pip install "batchenv[atari]".
        ImportError: the package of the API that `env_type` names is missing.
    """
    wrap = find_player_wrapper(env_type)
    if not isinstance(env_id, str) or (("." in env_id or ":" in env_id) and not is_own(env_id)):
        if players is not None:
            raise TypeError(f"players={players!r} is for Atari games: pass what makes the env, or env_kwargs={{...}}")
        return wrapped(wrap, kwargs, partial(_parallel_python, env_id, num_envs))
    name, entry = lookup(env_id)
    if entry.library is not None:
        if players is not None:
            raise TypeError(f"players={players!r} is for Atari games: {name} has those that its C file names")
        return wrapped(wrap, kwargs, partial(_parallel_own, name, num_envs))
    return wrapped(wrap, kwargs, partial(_parallel_atari, name, entry, num_envs, players))


def _parallel_own(name: str, num_envs: int | None, **kwargs: Any) -> ParallelBatchEnv:
    """`make_parallel` of a C file."""
    from batchenv.integrations.agent_views import PortViews
    from batchenv.integrations.pettingzoo import ParallelBatchEnv

    env = make(name, 1 if num_envs is None else num_envs, **kwargs)
    try:
        return ParallelBatchEnv(env, PortViews(env))
    except BaseException:
        env.close()
        raise


def _parallel_atari(
    name: str, entry: Entry, num_envs: int | None, players: int | None, **kwargs: Any
) -> ParallelBatchEnv:
    """`make_parallel` of an Atari game."""
    from batchenv.envs.atari.players import MODES
    from batchenv.integrations.pettingzoo import ParallelBatchEnv

    if all(name != "players" for name, *_ in translator(entry.type_name).KEYWORDS):
        raise ValueError(f"{name} is for one player; the Atari games {', '.join(MODES)} are for more")
    if players is None:
        players = entry.kwargs.get("players", 2)
    if players == 1:
        raise ValueError("players=1 has nobody to play with: use batchenv.make, or players=2")
    return ParallelBatchEnv(make(name, 1 if num_envs is None else num_envs, players=players, **kwargs))


def _parallel_python(make_env: Any, num_envs: int | None, **kwargs: Any) -> ParallelBatchEnv:
    """`make_parallel` of environments written in Python."""
    from batchenv.integrations.agent_views import WorkerViews
    from batchenv.integrations.pettingzoo import ParallelBatchEnv
    from batchenv.workers.players import LAYOUT, Maker

    for name in kwargs:
        if name in _OF_ONE_PLAYER:
            raise TypeError(
                f"{name}={kwargs[name]!r} cannot be used with several players in Python: let what makes the env wrap it"
            )
    several = isinstance(make_env, (list, tuple))
    if not all(callable(one) or isinstance(one, str) for one in (make_env if several else [make_env])):
        raise TypeError(
            f"env_id={make_env!r} must be an Atari id, a callable that makes an env with PettingZoo's parallel API, "
            "the path of a module that has a parallel_env, or a list of callables"
        )
    env = make_python([Maker(one) for one in make_env] if several else Maker(make_env), num_envs, **kwargs)
    return ParallelBatchEnv(env, WorkerViews(env, env.metadata.pop(LAYOUT)))


def make_gymnasium(env_id: str, num_envs: int = 1, **kwargs: Any) -> BatchEnv:
    """EnvPool's name for `batchenv.make`."""
    return make(env_id, num_envs, **kwargs)


def make_dm(env_id: str, num_envs: int = 1, **kwargs: Any) -> DmBatchEnv:
    """EnvPool's name for `batchenv.make(..., env_type="dm")`."""
    return make(env_id, num_envs, env_type="dm", **kwargs)


def make_spec(env_id: str, num_envs: int = 1, **kwargs: Any) -> PoolSpec:
    """The spaces and the configuration of the env that `make` would make from the same arguments; see `PoolSpec`."""
    with contextlib.closing(make_gymnasium(env_id, num_envs, **kwargs)) as env:
        return PoolSpec(env)
