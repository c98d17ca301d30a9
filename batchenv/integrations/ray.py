"""Experience from many processes and machines: actors of Ray, each with a BatchEnv of its own.

The program that learns has a `RaySampler`. Its actors step their lanes for some steps with a policy, and put what they
have seen into Ray's object store as one `Fragment`, from where the learner's process reads it.
"""

from __future__ import annotations

import contextlib
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from batchenv.arguments.numbers import integer
from batchenv.arguments.seeds import entropy, read_seed
from batchenv.backend.snapshot import Snapshot
from batchenv.env import factory
from batchenv.integrations.fragments import Fragment, FragmentMaker

try:
    import ray
    from ray.exceptions import RayError, RayTaskError
except ImportError as error:
    raise ImportError("batchenv.integrations.ray needs the package ray: pip install 'batchenv[ray]'") from error

_TRIES = 4  # so many actors may die over one fragment before this is an error


class Loss(NamedTuple):
    """An actor that died, before its fragment `number` had arrived."""

    actor: int
    number: int
    error: RayError


class _Actor:
    """The actor: makes fragments, and snapshots after them."""

    def __init__(self, recipe: list[Any], steps: int, seed: int, actor: int, snapshots: bool, saved: Snapshot | None):
        make_env, policy = ray.get(recipe[0])
        self.maker = FragmentMaker(make_env, policy, steps, seed, actor, saved)
        self.snapshots = snapshots
        self.weights: tuple[int, Any] = (-1, None)

    @ray.method(num_returns=2)
    def fragment(self, number: int, version: int, weights: list[Any]) -> tuple[Fragment, Snapshot | None]:
        """A fragment, and the snapshot after it. Ray has copied the arrays before the next one is made.

        The env is made here and not by __init__, so that an exception reaches the learner as itself.
        """
        if version != self.weights[0]:
            self.weights = (version, ray.get(weights[0]))
        fragment = self.maker.fragment(number, *self.weights)
        return fragment, self.maker.env.snapshot() if self.snapshots else None


class _Call(NamedTuple):
    """A fragment that an actor was asked for; it and the snapshot after it will be in `results`."""

    number: int
    version: int
    weights: list[Any]
    results: list[Any]
    tries: int


class _Place:
    """Where an actor is, or the next one if it dies."""

    def __init__(self) -> None:
        self.actor: Any = None
        self.calls: deque[_Call] = deque()  # not yet taken
        self.number = 0  # of the next fragment to ask for
        self.saved: Snapshot | None = None  # lanes after the last fragment that was taken


class RaySampler:
    """Actors of Ray that step lanes with a policy, and the fragments that arrive from them.

    `take()` returns the first fragment that is ready, from whichever actor; iterating over the sampler takes for ever.
    `push(weights)` gives the policy new weights. The program calls `ray.init()` before; a context manager, or `close`,
    ends the actors.

    Each actor is asked for `in_flight` fragments at a time, and for another one when one of them has been taken. So
    actors wait for a slow learner, and no more than `actors * in_flight` fragments fill the object store.

    An actor that dies is replaced: its lanes go on from the snapshot that came with its last fragment, and the
    fragments that it was asked for are made again with the same weights, so that the learner gets what it would have
    got. A warning tells of it, and `losses` lists it.

    Args:
        env: an id for `batchenv.make`, or a callable that makes a BatchEnv, as `env(num_envs, **kwargs)`.
        num_envs: lanes per actor.
        actors: how many: one per machine, or one per NUMA node, with its CPUs as `num_cpus`.
        steps: steps per fragment.
        policy: a callable, `policy(weights, observations, rng)`, which returns actions for all lanes, or a tuple
            (actions, {name: array of one row per lane}). The arrays are the fragment's `extras`. `observations` are
            overwritten later; `rng` is a `numpy.random.Generator` which is the same if the fragment is made again.
            None: random actions, drawn in C.
        weights: the policy's first weights, version 0: anything that Ray can send. Arrays among them are read-only in
            actors, and actors of one machine share them.
        seed: lane i of actor k starts with the seed `seed + k * num_envs + i`; None: from the operating system.
        in_flight: 2 keeps an actor busy while the learner takes its fragment; with 1, weights are fresher.
        num_cpus: CPUs per actor, for Ray's placement; also its number of threads, unless `num_threads` is given.
        snapshots: False for lanes that cannot be saved, or to save the time: lanes of an actor that died are then
            reset, which ends their episodes, and fragments go on with the others' numbers.
        actor_options: more of Ray's options for actors, such as {"scheduling_strategy": ...}, which is "SPREAD" else.
        **kwargs: for `env`.

    Raises:
        TypeError, ValueError: a wrong number.
        ImportError: ray is missing.
    """

    def __init__(
        self,
        env: str | Callable[..., Any],
        num_envs: int,
        actors: int,
        steps: int,
        *,
        policy: Callable[[Any, Any, np.random.Generator], Any] | None = None,
        weights: Any = None,
        seed: int | None = None,
        in_flight: int = 2,
        num_cpus: float = 1,
        snapshots: bool = True,
        actor_options: dict[str, Any] | None = None,
        **kwargs: Any,
    ):
        num_envs = integer("num_envs", num_envs, 1, None)
        self._steps = integer("steps", steps, 1, None)
        self._in_flight = integer("in_flight", in_flight, 1, None)
        actors = integer("actors", actors, 1, None)
        if policy is not None and not callable(policy):
            raise TypeError(f"policy={policy!r} must be a callable, policy(weights, observations, rng), or None")
        kwargs.setdefault("num_threads", max(1, int(num_cpus)))

        def make_env() -> Any:
            return env(num_envs, **kwargs) if callable(env) else factory.make_env(env, num_envs, **kwargs)

        seed = entropy() >> 96 if seed is None else read_seed(seed)
        self._recipe = ray.put((make_env, policy))  # once, and not once per actor
        self._seed, self._snapshots = seed, bool(snapshots)
        options = {"num_cpus": num_cpus, "scheduling_strategy": "SPREAD", **(actor_options or {})}
        self._class = ray.remote(_Actor).options(**options)
        self.losses: list[Loss] = []
        self.version = -1
        self.push(weights)
        self._ready: deque[int] = deque()
        self._places = [_Place() for _ in range(actors)]
        for k in range(actors):
            self._start(k)
        for _ in range(self._in_flight):
            for place in self._places:
                self._ask(place)

    def _start(self, k: int) -> None:
        place = self._places[k]
        place.actor = self._class.remote([self._recipe], self._steps, self._seed, k, self._snapshots, place.saved)

    def _ask(self, place: _Place) -> None:
        self._call(place, place.number, self.version, self._weights, 1)
        place.number += 1

    def _call(self, place: _Place, number: int, version: int, weights: list[Any], tries: int) -> None:
        results = place.actor.fragment.remote(number, version, weights)
        place.calls.append(_Call(number, version, weights, results, tries))

    def push(self, weights: Any) -> int:
        """Gives the policy new weights, for the fragments that are asked for from now on; returns their version."""
        self._check_open()
        self._weights = [ray.put(weights)]  # in a list, so that actors fetch them only if they have not got them
        self.version += 1
        return self.version

    def take(self, timeout: float | None = None) -> Fragment:
        """The first fragment that is ready; one actor's fragments come in their order.

        Raises:
            TimeoutError: none was ready within `timeout` seconds. Nothing is lost.
            RuntimeError: actors died again and again over the same fragment.
            Exception: what the env or the policy raised in an actor. The next `take` goes on; the fragment is made
                again, from the same lanes.
        """
        self._check_open()
        while True:
            if not self._ready:
                self._wait(timeout)
            k = self._ready.popleft()
            fragment = self._receive(k)
            if fragment is not None:
                return fragment

    def _wait(self, timeout: float | None) -> None:
        """Finds the actors whose next fragment is ready; waits until there is one."""
        heads = {place.calls[0].results[0]: k for k, place in enumerate(self._places)}
        refs = list(heads)
        if not ray.wait(refs, timeout=timeout)[0]:
            raise TimeoutError(
                f"no fragment was ready within timeout={timeout} seconds: wait longer, or make them shorter"
            )
        self._ready.extend(heads[ref] for ref in ray.wait(refs, num_returns=len(refs), timeout=0)[0])

    def _receive(self, k: int) -> Fragment | None:
        """The next fragment of actor k; None if the actor has died over it."""
        place = self._places[k]
        call = place.calls[0]
        try:
            fragment, saved = ray.get(call.results)
        except RayTaskError:
            self._replace(k)
            raise
        except RayError as error:
            self.losses.append(Loss(k, call.number, error))
            if call.tries >= _TRIES:
                self._replace(k)
                raise RuntimeError(
                    f"{call.tries} actors died over fragment {call.number} of actor {k} ({type(error).__name__}): "
                    "look for an env that ends its process, or for too little memory"
                ) from error
            warnings.warn(
                f"actor {k} died before its fragment {call.number} had arrived ({type(error).__name__}); "
                + ("its lanes go on from their last snapshot" if self._snapshots else "its lanes are reset"),
                stacklevel=3,
            )
            self._replace(k)
            return None
        place.calls.popleft()
        place.saved = saved
        self._ask(place)
        return fragment._replace(staleness=self.version - call.version, tries=call.tries)

    def _replace(self, k: int) -> None:
        """Puts a new actor in the place of one, and asks it for what that one was asked for."""
        place = self._places[k]
        ray.kill(place.actor)
        self._start(k)
        calls, place.calls = place.calls, deque()
        for i, call in enumerate(calls):
            self._call(place, call.number, call.version, call.weights, call.tries + (i == 0))

    def __iter__(self) -> Iterator[Fragment]:
        while True:
            yield self.take()

    def close(self) -> None:
        """Ends the actors. Fragments that were taken stay."""
        if ray.is_initialized():
            for place in self._places:
                with contextlib.suppress(RayError):
                    ray.kill(place.actor)
        self._places, self._weights, self._recipe = [], [], None
        self._ready.clear()

    def _check_open(self) -> None:
        if self._recipe is None:
            raise RuntimeError("this RaySampler is closed: make a new one")

    def __enter__(self) -> RaySampler:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()
