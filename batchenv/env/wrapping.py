"""What APIs around a BatchEnv use of it besides its public methods.

All functions raise gymnasium.error.ClosedEnvironmentError if the env is closed. `lanes` are numbers of lanes, in any
order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from numpy.typing import NDArray

from batchenv import _core
from batchenv.backend.core import CoreBackend
from batchenv.backend.course import Course
from batchenv.backend.env_calls import call_env, get_attribute, set_attribute
from batchenv.backend.protocol import Backend, InfoDict, Options
from batchenv.env.batch_env import BatchEnv
from batchenv.env.plan import Plan


def backend_of(env: BatchEnv) -> Backend:
    """What steps the lanes. Its calls are to be made while the env is held, see `held`."""
    return env._open()


def core_of(env: BatchEnv) -> Any:
    """The C core's `_core.Batch` of lanes, also where these are environments written in Python; None if processes step
    them."""
    backend = env._open().innermost()
    return backend.core if isinstance(backend, CoreBackend) else None


def stepping_core_of(env: BatchEnv) -> Any:
    """As `core_of`, for whoever steps lanes with it; None also while another backend watches, as of a recording."""
    return core_of(env) if env._open().innermost() is env._open() else None


def tell_of_backends(env: BatchEnv, tell: Callable[[Backend], None]) -> None:
    """Has a function called with each backend that is put in the place of the present one, before that is done. For
    whoever steps lanes without the backend's methods; it may raise an error to refuse it."""
    env._direct.append(tell)


def held(env: BatchEnv) -> AbstractContextManager[Any]:
    """A context manager that keeps other calls out; it does not wait for lanes in flight."""
    return env._hold(settle=False)


def keep_infos_apart(env: BatchEnv) -> None:
    """Asks for infos that are put together only when somebody reads them; see `batchenv.backend.results.Apart`."""
    env._open().tell_apart()


def reset_lanes(env: BatchEnv, seed: Any, mask: NDArray[Any] | None, options: Options) -> tuple[Any, InfoDict]:
    """As `BatchEnv.reset`, of the lanes of a mask (None: of all). options: the environment's; None: it gets none."""
    return env._reset_lanes(seed, mask, options)


def reset_while_held(env: BatchEnv, seeds: Sequence[int | None]) -> tuple[Any, InfoDict]:
    """Resets all lanes of an env that is held, with a seed each; returns observations and infos."""
    return env._held_reset(env._open(), list(seeds), None, None)


def ask_envs(env: BatchEnv, function: Callable[..., Any], *arguments: Any, lanes: Sequence[int]) -> list[Any]:
    """`function(env, *arguments)` of the environment of each of these lanes, which is written in Python."""
    with env._hold():
        return env._apply(function, *arguments, lanes=lanes)


def attributes_of(env: BatchEnv, name: str, lanes: Sequence[int]) -> list[Any]:
    """An attribute of each of these lanes: of its environment, or what `BatchEnv.get_attr` finds.

    Raises:
        AttributeError: they have no such attribute.
    """
    if env._open().has_envs:
        return ask_envs(env, get_attribute, name, lanes=lanes)
    values = env.get_attr(name)
    return [values[lane] for lane in lanes]


def set_attribute_of(env: BatchEnv, name: str, value: Any, lanes: Sequence[int]) -> None:
    """Sets an attribute of these lanes' environments to one value; of those in C, a parameter.

    Raises:
        AttributeError: environments in C have no such parameter.
        TypeError, ValueError: a wrong value.
    """
    if env._open().has_envs:
        ask_envs(env, set_attribute, name, value, lanes=lanes)
        return
    if len(set(lanes)) == env.num_envs:
        values = [value] * env.num_envs
    else:
        values = list(env.get_attr(name))
        for lane in lanes:
            values[lane] = value
    env.set_attr(name, values)


def call_of(env: BatchEnv, name: str, arguments: Any, keywords: dict[str, Any], lanes: Sequence[int]) -> list[Any]:
    """Calls a method of each of these lanes' environments, or what `BatchEnv.call` finds.

    Raises:
        AttributeError: they have no such method.
    """
    if env._open().has_envs:
        return ask_envs(env, call_env, name, arguments, keywords, lanes=lanes)
    return list(env._call(name, lanes, arguments, keywords))


def course_of(plan: Plan) -> Course:
    """What a plan says, for other envs."""
    return plan._course


def follow(env: BatchEnv, course: Course) -> None:
    """Lets an env, which may have more or fewer lanes than the one that it was made for, follow a plan. Lanes' places
    are still to be set."""
    places = _core.first_places(env.num_envs)
    places[:, 0] %= course.streams
    env._follow(env._open(), Plan(env, course), course, places)
