"""JAX: the calls of an env as parts of programs that `jax.jit` compiles."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import create_empty_array

from batchenv import _core
from batchenv.arguments.seeds import FIX, read_seed
from batchenv.backend.results import final_rows

try:
    import jax
except ImportError as missing:
    raise ImportError("programs of JAX need JAX: pip install jax, or pip install 'batchenv[jax]'") from missing

_TARGET = "batchenv"

jax.ffi.register_ffi_target(_TARGET, _core.xla_capsule(), platform="cpu")


def _refuse_other(own: Any, backend: Any) -> None:
    """Raises RuntimeError if another backend is to watch lanes that programs of JAX step without it."""
    if backend is not own:
        raise RuntimeError("env.xla() has given out functions that step lanes without anybody's notice: make a new env")


class Functions:
    """An env as functions that can be called in programs which `jax.jit` compiles, in `jax.lax.scan`, `cond` and
    `while_loop`. XLA runs these programs on the CPU, and calls the env from there, without Python's interpreter in
    between. Unpack it as EnvPool's: `handle, recv, send, step = env.xla()`.

    Each function takes a handle and returns the next one, which has to be given to the next call: XLA sees by it in
    which order the calls have to be made. A handle of an earlier call is refused, except by `reset`, which begins anew.
    Methods of the env itself may be called in between, while no program runs.

    An env that has such functions is kept until it is closed, because a program that steps it may still be running.

    What the env raises comes as a `jax.errors.JaxRuntimeError` with its message; the handle that was given is then
    still the next one.

    Attributes:
        handle: the first one: uint32 (2,).
    """

    def __init__(self, env: Any):
        self._env, order = env, _core.XlaOrder()
        self.handle = jax.numpy.asarray(order.handle)
        self._actions = {rows: ActionTree(env, rows) for rows in (env.num_envs, env.batch_size)}
        whole, batch = self._actions[env.num_envs], self._actions[env.batch_size]
        results = Results(env, env.num_envs)
        self._reset = Call(
            env,
            order,
            results.observations,
            lambda *seed: env.reset(seed=seeds_of(seed[0], ())[0] if seed else None)[0],
            anew=True,
        )
        # The drawer of a render mode watches each step, which goes through the env for that.
        plain = whole.plain and env.render_mode is None and hasattr(env._backend, "core")
        steps = _core.XlaSteps(env._backend.core, results.taken) if plain else None
        if plain:
            env._direct.append(partial(_refuse_other, env._backend))
        self._step = Call(env, order, results, lambda *leaves: env.step(whole.built(leaves)), steps=steps)
        self._send = Call(env, order, None, lambda *leaves: env.send(batch.built(leaves), batch.rest(leaves)))
        self._recv = Call(env, order, Results(env, env.batch_size, env_id=True), env.recv)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.handle, self.recv, self.send, self.step))

    def reset(self, handle: Any, seed: Any = None) -> tuple[Any, Any]:
        """Starts new episodes in all lanes.

        Args:
            handle: the last call's, or an earlier one's.
            seed: an int from 0 on, of any size, or an integer scalar that only the program knows: lane i gets seed + i.
                None: streams go on.

        Returns:
            the next handle, and the observations (num_envs, ...).

        Raises:
            TypeError, ValueError: a wrong seed or handle.
            jax.errors.JaxRuntimeError: while the program runs: its seed is negative.
        """
        return self._reset(handle, [] if seed is None else [seed_leaf(seed)])

    def step(self, handle: Any, action: Any, env_id: Any = None) -> tuple[Any, tuple[Any, ...]]:
        """Steps all lanes, as `BatchEnv.step`; with env_id, or batch_size < num_envs, it is `send` and then `recv`.

        Args:
            handle: the last call's.
            action: shape and kind as `env.action_space` says. Nothing is differentiated through it.
            env_id: int (batch_size,), the lanes that the actions are for; None: all.

        Returns:
            the next handle, and (observations, rewards, terminations, truncations, infos), with the dtypes that JAX has
            (float32 in place of float64, unless jax_enable_x64 is set). `infos` has all keys that the env can have: of
            rows that have no such info, 0, with False in the mask "_key". With SameStep, "final_obs" is one array
            (num_envs, ...).

        Raises:
            TypeError, ValueError: shape or dtype of `action` are wrong; when the program is traced.
        """
        if env_id is not None or self._env.is_async:
            return self.recv(self.send(handle, action, env_id))
        return self._step(handle, self._actions[self._env.num_envs].checked(action))

    def send(self, handle: Any, action: Any, env_id: Any = None) -> Any:
        """Sends lanes to be stepped, as `BatchEnv.send`, and returns the next handle. Arguments as for `step`; env_id
        None: the lanes last received."""
        arguments = self._actions[self._env.batch_size].checked(action)
        if env_id is not None:
            lanes, rows = _as_jax(env_id, "env_id"), self._env.batch_size
            if lanes.shape != (rows,) or lanes.dtype.kind not in "iu":
                raise ValueError(f"env_id must be integers of shape ({rows},), got {lanes.dtype} {lanes.shape}")
            arguments.append(lanes)
        return self._send(handle, arguments)[0]

    def recv(self, handle: Any) -> tuple[Any, tuple[Any, ...]]:
        """Waits for a batch of results, as `BatchEnv.recv`. Returns the next handle and the same as `step`, with the
        numbers of the lanes in `infos["env_id"]`."""
        return self._recv(handle, [])


class Tree:
    """How arrays are nested in dicts and tuples.

    Args:
        example: nested arrays.

    Attributes:
        forms: an array of each shape and dtype.
    """

    @property
    def taken(self) -> Callable[[Any], list[Any]]:
        """As of `Results`."""
        return self.leaves

    def __init__(self, example: Any):
        self.forms, self._structure = jax.tree_util.tree_flatten(example)

    def nest(self, leaves: Sequence[Any]) -> Any:
        return jax.tree_util.tree_unflatten(self._structure, leaves)

    def leaves(self, nested: Any) -> list[Any]:
        return [nested] if type(nested) is np.ndarray else jax.tree_util.tree_leaves(nested)


def seed_leaf(seed: Any, fix: str = FIX) -> Any:
    """A seed as an argument of a call. One that only the program knows stays the integer scalar that it is. One that is
    known becomes words, the lowest first, since JAX has no wider ints: uint32 (1, words).

    Raises:
        TypeError, ValueError: as `read_seed`.
    """
    if not isinstance(seed, jax.core.Tracer):
        return np.frombuffer(_core.seed_words(read_seed(seed, fix=fix)) or bytes(4), np.uint32)[np.newaxis]
    if seed.shape or not jax.numpy.issubdtype(seed.dtype, np.integer):
        raise TypeError(f"seed of dtype {seed.dtype} and shape {seed.shape} must be an integer scalar: {fix}")
    return seed


def seeds_of(leaf: Any, shape: tuple[int, ...]) -> list[int | list[int]]:
    """The seeds that a call has got for states of this shape, flat: of each state its first lane's, or one per lane.

    Args:
        leaf: what `seed_leaf` returned, or uint32 (lanes, words), with the axes of `shape` before its own.

    Raises:
        ValueError: a seed is negative.
    """
    if leaf.ndim == len(shape):
        return [read_seed(seed) for seed in leaf.ravel().tolist()]
    states = leaf.reshape(-1, *leaf.shape[-2:])
    seeds = [[int.from_bytes(words.tobytes(), sys.byteorder) for words in state] for state in states]
    return [state[0] if len(state) == 1 else state for state in seeds]


def _as_jax(values: Any, name: str) -> Any:
    """`values` as an array of JAX's, which may have narrower integers than NumPy.

    Raises:
        ValueError: one of the integers does not fit.
    """
    array = jax.numpy.asarray(values)
    if not isinstance(values, jax.Array) and array.dtype.kind in "iu":
        given = np.asarray(values)
        wrong = given[given != np.asarray(array)]
        if wrong.size:
            raise ValueError(
                f"{name} have {wrong[0]}, which does not fit into JAX's {array.dtype}: pass smaller integers, or set "
                "jax_enable_x64"
            )
    return array


def _of_space(space: Any, rows: int, what: str) -> Any:
    """Nested arrays of `rows` lanes, of which each has this space, called `what` in messages."""
    example = create_empty_array(space, rows)
    for form in jax.tree_util.tree_leaves(example):
        if not isinstance(form, np.ndarray) or form.dtype.kind not in "biuf":
            raise TypeError(
                f"XLA has arrays of numbers alone, and the {what} {space} has others: "
                "convert it, or make the env without texts (MiniGrid's has mission='tokens')"
            )
    return example


class ActionTree(Tree):
    """What `rows` lanes are given."""

    def __init__(self, env: Any, rows: int):
        super().__init__(_of_space(env.single_action_space, rows, "action space"))
        self._copied = env.backend != "C"  # an env in Python may keep what it is given
        self.plain = not self._copied and isinstance(env.single_action_space, (spaces.Box, spaces.Discrete))

    def checked(self, action: Any, steps: bool = False) -> list[Any]:
        """The leaves of an action, while a program is traced. steps: it has as first axis those of a rollout."""
        leaves, structure = jax.tree_util.tree_flatten(action)
        if structure != self._structure:
            raise TypeError(f"an action must be made up as {self._structure}, got {structure}")
        leaves = [jax.lax.stop_gradient(_as_numbers(leaf, form)) for leaf, form in zip(leaves, self.forms, strict=True)]
        for leaf, form in zip(leaves, self.forms, strict=True):
            if leaf.shape != (*leaves[0].shape[:steps], *form.shape) or (steps and not leaf.ndim):
                wanted = f"(T, {str(form.shape)[1:]}" if steps else form.shape
                raise ValueError(f"actions must have shape {wanted}, got {leaf.shape}")
        return leaves

    def built(self, leaves: Sequence[Any]) -> Any:
        """The action for the env."""
        leaves = leaves[: len(self.forms)]
        return self.nest([leaf.copy() for leaf in leaves] if self._copied else leaves)

    def rest(self, leaves: Sequence[Any]) -> Any:
        """What has come after the leaves of an action, or None."""
        return leaves[len(self.forms)].astype(np.int64) if len(leaves) > len(self.forms) else None


def _as_numbers(leaf: Any, form: Any) -> Any:
    """A leaf of an action as an array of a dtype that `BatchEnv.step` takes for `form`. Those that only JAX has
    (bfloat16, int4) become wider ones.

    Raises:
        TypeError: the dtype is of another kind.
        ValueError: an integer is too wide for JAX.
    """
    leaf, is_a = _as_jax(leaf, "actions"), jax.numpy.issubdtype
    integer = is_a(leaf.dtype, np.integer) or (form.dtype.type in (np.int8, np.bool_) and leaf.dtype == np.bool_)
    if not integer and (form.dtype.kind in "iub" or not is_a(leaf.dtype, np.floating)):
        rule, example = ("integers", "int32") if form.dtype.kind in "iub" else ("numbers", form.dtype)
        raise TypeError(
            f"actions have dtype {leaf.dtype}, but the action space needs {rule}: convert them, as with "
            f"actions.astype('{example}')"
        )
    if leaf.dtype.kind in "biuf":
        return leaf
    return leaf.astype(np.int32 if integer else np.float32)


class Results:
    """What a step of `rows` lanes returns. env_id: whether infos have it.

    Attributes:
        taken: `leaves`, or None if what a step returns needs not to be taken apart.
    """

    def __init__(self, env: Any, rows: int, env_id: bool = False):
        self._space = env.single_observation_space
        self.observations = Tree(_of_space(self._space, rows, "observation space"))
        flag, self._infos = np.empty(rows, np.bool_), {}
        final = env.autoreset_mode is AutoresetMode.SAME_STEP
        for path, dtype, shape in env._backend.info_forms():
            for place in [(), ("final_info",)] if final else [()]:
                self._add((*place, *path), np.empty((rows, *shape), dtype), flag)
        if env.config.get("record_episode_statistics"):
            for key, dtype in ("r", float), ("l", np.int64), ("t", float):
                self._infos["episode", key] = np.empty(rows, dtype)
            self._infos["_episode",] = flag
        self._final = list(self.observations.forms) if final else []
        if final:
            self._infos["_final_obs",] = flag
        if env_id:
            self._infos["env_id",] = np.empty(rows, np.int64)
        plain = not self._infos and len(self.observations.forms) == 1
        self.taken = None if plain else self.leaves
        rewards = np.empty(rows, env.config.get("reward_dtype", "float64"))
        self.forms = [*self.observations.forms, rewards, flag, flag, *self._infos.values(), *self._final]

    def _add(self, path: tuple[str, ...], form: Any, flag: Any) -> None:
        self._infos[path] = form
        self._infos[(*path[:-1], f"_{path[-1]}")] = flag
        for depth in range(1, len(path)):
            self._infos[(*path[: depth - 1], f"_{path[depth - 1]}")] = flag

    def nest(self, leaves: Sequence[Any]) -> Any:
        count = len(self.observations.forms)
        observations, rest = leaves[:count], list(leaves[count:])
        infos: dict[str, Any] = {}
        for path, leaf in zip(self._infos, rest[3:], strict=False):
            place = infos
            for name in path[:-1]:
                place = place.setdefault(name, {})
            place[path[-1]] = leaf
        if self._final:
            infos["final_obs"] = self.observations.nest(rest[-count:])
        return self.observations.nest(observations), *rest[:3], infos

    def leaves(self, result: Any) -> list[Any]:
        """In the order of `forms`; 0 in place of an info that no row has."""
        observations, rewards, terminations, truncations, infos = result
        found = [*self.observations.leaves(observations), rewards, terminations, truncations]
        found += [_at(infos, path) for path in self._infos]
        return found + self._finals(infos, len(rewards)) if self._final else found

    def _finals(self, infos: Any, rows: int) -> list[Any]:
        """rows: how many lanes have been stepped, which may be more than the forms have (`jax.vmap`)."""
        finals = [np.zeros((rows, *form.shape[1:]), form.dtype) for form in self._final]
        if "_final_obs" in infos:
            lanes, rows = final_rows(self._space, infos)
            for final, leaf in zip(finals, self.observations.leaves(rows), strict=True):
                final[lanes] = leaf
        return finals


def _at(infos: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        infos = infos.get(name)
        if infos is None:
            return 0
    return infos


def trace(number: int, forms: Sequence[Any], arguments: Sequence[Any], **options: Any) -> list[Any]:
    """Puts a call into the program that is being traced, and returns what comes back.

    Args:
        number: of the XlaCall.
        forms: arrays of the shapes and dtypes of the results; JAX may have none of these dtypes, but narrower ones.
        **options: of `jax.ffi.ffi_call`.
    """
    shapes = [jax.ShapeDtypeStruct(form.shape, jax.dtypes.canonicalize_dtype(form.dtype)) for form in forms]
    return jax.ffi.ffi_call(_TARGET, shapes, **options)(*arguments, number=np.int64(number))


class Call:
    """A function that XLA's programs call one after the other.

    Args:
        env: whose function it is.
        order: of these calls.
        results: the forms of what it returns, how they are nested, and how they are taken apart; None: nothing is taken
            from it.
        function: called with arrays.
        anew: whether it takes handles of earlier calls, too.
        steps: an XlaSteps that does the same more quickly, or None.
    """

    def __init__(
        self,
        env: Any,
        order: _core.XlaOrder,
        results: Any,
        function: Callable[..., Any],
        anew: bool = False,
        steps: _core.XlaSteps | None = None,
    ):
        self._results = results
        self._call = _core.XlaCall(env, order, function, None if results is None else results.taken, anew, steps)

    def __call__(self, handle: Any, arguments: Sequence[Any]) -> tuple[Any, Any]:
        """Puts a call into the program that is being traced. Returns the next handle and what comes back.

        Raises:
            TypeError: the handle cannot be one; or `jax.vmap` maps the call.
        """
        dtype, shape = getattr(handle, "dtype", None), np.shape(handle)
        if dtype != np.uint32 or shape != (2,):
            raise TypeError(
                f"handle of dtype {dtype} and shape {shape} must be uint32 (2,): pass the one that the last call has "
                "returned, or xla().handle"
            )
        forms = [np.empty(2, np.uint32), *(self._results.forms if self._results is not None else [])]
        try:
            handle, *leaves = trace(self._call.number, forms, [handle, *arguments], has_side_effect=True)
        except (NotImplementedError, ValueError) as error:
            if "vmap" not in str(error):
                raise
            raise TypeError(
                "env.xla() steps the one env that it has, so it cannot be mapped by jax.vmap: give the env more lanes, "
                "or take batchenv.jax.make, where each call has a state of its own"
            ) from None
        return handle, self._results.nest(leaves) if self._results is not None else None
