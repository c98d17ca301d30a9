"""JAX: environments as pure functions of their states, as gymnax and brax have them."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode

from batchenv import _core
from batchenv.arguments.seeds import FIX, lane_seeds
from batchenv.backend.core import CoreBackend
from batchenv.env import wrapping
from batchenv.env.batch_env import BatchEnv
from batchenv.env.factory import make_env
from batchenv.xla import ActionTree, Results, Tree, jax, seed_leaf, seeds_of, trace

_MOST_ENVS = 4  # of different numbers of lanes that are kept


class State(NamedTuple):
    """What decides the future of lanes, as an array per column: uint8 (num_envs, bytes of a lane). Any operation of JAX
    that chooses, repeats or stores rows may be applied to all columns at once (`jax.tree.map`)."""

    columns: tuple[Any, ...]


class TimeStep(NamedTuple):
    """What a step returns, as `BatchEnv.step` does."""

    observation: Any
    reward: Any
    terminated: Any
    truncated: Any
    info: Any


def make(env_id: str, num_envs: int = 1, *, plan: dict[str, Any] | None = None, **options: Any) -> FunctionalEnv:
    """An environment as functions that JAX can compile: `state, observation = env.init(seed)`, then
    `state, timestep = env.step(state, action)`.

    Args:
        env_id, num_envs, **options: as for `batchenv.make`.
        plan: keywords of `BatchEnv.plan`, without "params" and "labels": what episodes are, from the first on after
            `init(None)`, or from the second on. A state holds its lanes' places in the plan.

    Raises:
        TypeError: the lanes have something besides their state: they are stepped in Python, or are normalized together.
    """
    return FunctionalEnv(env_id, num_envs, plan=plan, **options)


class FunctionalEnv:
    """An environment whose state is a value. States may be indexed, gathered, put into buffers and stepped again, in
    any order: the same state and action give the same next state, bit for bit what snapshots and restores give.

    All methods may be used in `jax.jit`, `scan`, `cond`, `while_loop` and `vmap`, where a batch of states makes as many
    more lanes. XLA steps the lanes on the CPU.

    Attributes:
        num_envs: how many lanes a state has.
        single_observation_space, single_action_space, observation_space, action_space: as of a `BatchEnv`.
    """

    def __init__(self, env_id: str, num_envs: int = 1, *, plan: dict[str, Any] | None = None, **options: Any):
        for name in ("params", "labels") if plan is not None else ():
            if plan is not None and name in plan:
                raise TypeError(f"plan: {name!r} cannot be part of a state, which is arrays of numbers: leave it out")
        env = make_env(env_id, num_envs, **options)
        backend = wrapping.backend_of(env)
        if not isinstance(backend, CoreBackend) or backend.has_envs:
            why = "is stepped in Python here" if backend.kind != "C" else "has lanes of several tasks"
            raise TypeError(f"{env_id} {why}, so its state is no array: use env.xla() instead")
        if env.normalizer is not None or env.reward_normalizer is not None:
            raise TypeError("running means belong to all lanes, not to a state: normalize in JAX, or use env.xla()")
        if env.is_async:
            raise TypeError(f"batch_size={env.batch_size} is for send and recv, which states have not: leave it out")
        self._course = None
        if plan is not None:
            self._course = wrapping.course_of(env.plan(**plan))
        self.num_envs, self._id, self._options = num_envs, env_id, options
        self.single_observation_space, self.observation_space = env.single_observation_space, env.observation_space
        self.single_action_space, self.action_space = env.single_action_space, env.action_space
        self._mode, self._rolled = env.autoreset_mode, None
        # The lock may be taken again by the thread that has it: a signal handler may call methods.
        self._envs, self._lock, self._closed = {num_envs: env}, threading.RLock(), False
        self._alike = backend.is_alike(options)
        self._actions, self._results = ActionTree(env, num_envs), Results(env, num_envs)
        self._sizes = backend.core.column_sizes()
        self._columns = [np.empty((num_envs, size), np.uint8) for size in self._sizes]
        self._init_call = _core.XlaCall(self, None, self._serve_init)
        self._begin_call = _core.XlaCall(self, None, self._serve_begin)
        steps = _core.XlaSteps(backend.core, self._results.taken, self._lock) if self._actions.plain else None
        self._rollout_call = _core.XlaCall(self, None, self._serve_rollout)
        self._step_call = _core.XlaCall(self, None, self._serve_step, steps=steps)

    @property
    def closed(self) -> bool:
        """Whether `close` has been called."""
        return self._closed

    def close(self) -> None:
        """Lets go of the lanes, after a step that a program is in the middle of. Until then they are kept, because such
        a program may still be running. Afterwards methods raise ClosedEnvironmentError, and programs that call them
        JaxRuntimeError. May be called again.

        Raises:
            RuntimeError: a signal handler calls it in the middle of a step. Call it again after that.
        """
        with self._lock:
            for env in self._envs.values():
                env.close()
            self._closed = True
            self._envs.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedEnvironmentError(
                f"this environment of {self._id} is closed: make a new one with batchenv.jax.make"
            )

    def init(self, seed: Any) -> tuple[State, Any]:
        """States at the beginning of episodes.

        Args:
            seed: an int from 0 on, of any size, or an integer scalar that only the program knows: lane i gets seed + i,
                as in `BatchEnv.reset`; or a key of `jax.random`, from which a seed of 32 bits is drawn for each lane.
                None, of an env with a plan: the plan's first entries; lanes' own streams begin as with the seed 0.

        Returns:
            the state, and observations (num_envs, ...).

        Raises:
            TypeError, ValueError: a wrong seed.
            jax.errors.JaxRuntimeError: while the program runs: its seed is negative.
            gymnasium.error.ClosedEnvironmentError: after `close`.
        """
        self._check_open()
        forms = [*self._columns, *self._results.observations.forms]
        planned = seed is None and self._course is not None
        call = self._begin_call if planned else self._init_call
        leaves = trace(call.number, forms, [self._seed_leaf(0 if planned else seed)], vmap_method="expand_dims")
        return self._split(leaves, self._results.observations)

    def _seed_leaf(self, seed: Any) -> Any:
        """As of the function of this name; of a key, a seed for each lane: uint32 (num_envs, 1)."""
        dtype, shape = getattr(seed, "dtype", None), np.shape(seed)
        is_key = dtype is not None and shape == () and jax.numpy.issubdtype(dtype, jax.dtypes.prng_key)
        if is_key or (dtype == np.uint32 and shape == (2,)):
            return jax.random.bits(seed, (self.num_envs, 1), np.uint32)
        return seed_leaf(seed, f"{FIX}, or a key of jax.random")

    def step(self, state: State, action: Any) -> tuple[State, TimeStep]:
        """The next state, and what the step returns. Lanes that finish start again as the autoreset mode says.

        Args:
            state: what `init` or `step` returned. If it is donated, it becomes the next one in its place.
            action: shape and kind as `action_space` says. Nothing is differentiated through it.

        Raises:
            TypeError, ValueError: a wrong shape or dtype, when the program is traced.
            jax.errors.JaxRuntimeError: while it runs: a wrong action, or a state that cannot be one of this env's.
            gymnasium.error.ClosedEnvironmentError: after `close`.
        """
        self._check_open()
        arguments = [*self._checked(state), *self._actions.checked(action)]
        return self._advanced(self._step_call, arguments, self._results.forms, self._results)

    def rollout(self, state: State, actions: Any) -> tuple[State, TimeStep]:
        """Several steps in one call, which is quicker than a `jax.lax.scan` of `step`, for actions that are known.

        Args:
            state: as for `step`.
            actions: as for `step`, with the steps as a further first axis.

        Returns:
            the last state, and what all steps return, with the steps as first axis. `info` is as `BatchEnv.rollout` has
            it, without masks.

        Raises:
            As `step`; and ValueError: the autoreset mode is Disabled.
        """
        if self._mode is AutoresetMode.DISABLED:
            raise ValueError("rollout() needs autoreset: autoreset_mode='NextStep' or 'SameStep'")
        self._check_open()
        columns = self._checked(state)
        leaves = self._actions.checked(actions, steps=True)
        if self._rolled is None:
            self._rolled = self._probe()
        forms = [np.broadcast_to(form, (len(leaves[0]), *form.shape)) for form in self._rolled.forms]
        return self._advanced(self._rollout_call, [*columns, *leaves], forms, self._rolled)

    def _advanced(
        self, call: _core.XlaCall, arguments: list[Any], forms: list[Any], results: Tree | Results
    ) -> tuple[State, TimeStep]:
        """The state and the results of a call, of which the first arguments are a state."""
        aliases = {k: k for k in range(len(self._columns))}
        forms = [*self._columns, *forms]
        leaves = trace(call.number, forms, arguments, vmap_method="broadcast_all", input_output_aliases=aliases)
        state, result = self._split(leaves, results)
        return state, TimeStep(*result)

    def _probe(self) -> Tree:
        """What a step of a rollout returns. The lanes that are stepped for it have no state of their own."""
        with self._lock:
            self._check_open()
            env = self._envs[self.num_envs]
            env.reset(seed=0)
            result = env.rollout(1, policy="random", seed=0)
        return Tree(jax.tree_util.tree_map(lambda leaf: leaf[0], tuple(result[:5])))

    def _checked(self, state: Any) -> list[Any]:
        columns = list(state.columns) if isinstance(state, State) else [state]
        for column, form in zip(columns, self._columns, strict=False):
            if np.shape(column) != form.shape or column.dtype != np.uint8:
                columns = []
        if len(columns) != len(self._columns):
            raise TypeError(f"this is no state of {self.num_envs} lanes of {self._id}: take what init or step returned")
        return columns

    def _split(self, leaves: Sequence[Any], rest: Tree | Results) -> tuple[State, Any]:
        count = len(self._columns)
        return State(tuple(leaves[:count])), rest.nest(leaves[count:])

    # ---- what XLA calls ----------------------------------------------------------------------------------------------

    def _serve_begin(self, arguments: list[Any], results: list[Any]) -> None:
        self._serve_init(arguments, results, planned=True)

    def _serve_init(self, arguments: list[Any], results: list[Any], planned: bool = False) -> None:
        states = seeds_of(arguments[0], results[0].shape[:-2])
        seeds = [seed for state in states for seed in lane_seeds(state, self.num_envs)]

        def work(env: BatchEnv, part: slice) -> list[Any]:
            backend = wrapping.backend_of(env)
            if self._course is not None:
                places = _core.first_places(self.num_envs)
                backend.put_places(places[np.arange(part.start, part.stop) % self.num_envs], np.arange(env.num_envs))
            if planned:
                return self._results.observations.leaves(backend.reset(seeds[part], None, None)[0])
            return self._results.observations.leaves(wrapping.reset_while_held(env, seeds[part])[0])

        self._serve(len(seeds), [], results, self._results.observations.forms, work)

    def _serve_step(self, arguments: list[Any], results: list[Any]) -> None:
        count = len(self._sizes)
        total = math.prod(arguments[0].shape[:-1])
        forms = self._actions.forms
        actions = [leaf.reshape(total, *form.shape[1:]) for leaf, form in zip(arguments[count:], forms, strict=True)]

        def work(env: BatchEnv, part: slice) -> list[Any]:
            action = self._actions.built([leaf[part] for leaf in actions])
            return self._results.leaves(wrapping.backend_of(env).step(action, None))

        self._serve(total, arguments[:count], results, self._results.forms, work)

    def _serve_rollout(self, arguments: list[Any], results: list[Any]) -> None:
        count = len(self._sizes)
        for place in np.ndindex(arguments[0].shape[:-2]):
            columns, actions = [leaf[place] for leaf in arguments[:count]], [leaf[place] for leaf in arguments[count:]]
            with self._lock:
                self._check_open()
                env = self._envs[self.num_envs]
                with wrapping.held(env):
                    core = wrapping.core_of(env)
                    core.load_columns(columns)
                    found = wrapping.backend_of(env).rollout(self._actions.nest(actions), len(actions[0]), 0, 0, None)
                    core.save_columns([column[place] for column in results[:count]])
                leaves = jax.tree_util.tree_leaves(tuple(found[:5]))
                for target, leaf in zip(results[count:], leaves, strict=True):
                    _core.put_for_xla(target[place], leaf)

    def _serve(
        self,
        total: int,
        before: list[Any],
        results: list[Any],
        forms: list[Any],
        work: Callable[[BatchEnv, slice], list[Any]],
    ) -> None:
        """Does something with `total` lanes. before: their state, if it matters; results: columns of the new one, and
        what `work` returns, of these forms."""
        columns, others = results[: len(self._sizes)], results[len(self._sizes) :]
        flat = [[column.reshape(total, -1) for column in some] for some in (before, columns)]
        others = [leaf.reshape(total, *form.shape[1:]) for leaf, form in zip(others, forms, strict=True)]
        with self._lock:
            for env, part in self._lanes(total):
                core = wrapping.core_of(env)
                with wrapping.held(env):
                    if before:
                        core.load_columns([column[part] for column in flat[0]])
                    found = work(env, part)
                    core.save_columns([column[part] for column in flat[1]])
                for target, leaf in zip(others, found, strict=True):
                    _core.put_for_xla(target[part], leaf)

    def _lanes(self, total: int) -> Iterator[tuple[BatchEnv, slice]]:
        """Envs with `total` lanes together, and which these are."""
        self._check_open()
        if total not in self._envs and self._alike:
            while len(self._envs) >= _MOST_ENVS:
                self._envs.pop(next(key for key in self._envs if key != self.num_envs)).close()
            self._envs[total] = make_env(self._id, total, **self._options)
            if self._course is not None:
                wrapping.follow(self._envs[total], self._course)
        step = total if total in self._envs else self.num_envs
        for first in range(0, total, step):
            yield self._envs[step], slice(first, first + step)
