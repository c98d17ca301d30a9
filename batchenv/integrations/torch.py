"""PyTorch: actions are tensors, and so is everything that comes back, on the CPU or on a GPU."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array

from batchenv import nested
from batchenv.backend import LaneError
from batchenv.env import BatchEnv
from batchenv.integrations.wrapper import Wrapper
from batchenv.results import converted
from batchenv.rollout import Rollout

try:
    import torch
except ImportError as error:
    raise ImportError("env_type='torch' needs the package torch: pip install 'batchenv[torch]'") from error

_MAX_SETS = 8  # of arrays that come again with copy=False: there are four


def device_of(device: Any) -> torch.device:
    """The device meant by `device`.

    Raises:
        ValueError: it is neither the CPU nor a GPU of CUDA's that torch sees.
    """
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError):
        chosen = None
    if chosen is None or chosen.type not in ("cpu", "cuda"):
        raise ValueError(f"device={device!r} must be 'cpu', 'cuda', or one GPU such as 'cuda:0'")
    if chosen.type == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(
                f"device={device!r} needs a GPU, but torch {torch.__version__} sees none "
                "(torch.cuda.is_available() is False): use device='cpu', or install a torch that is built for your GPU"
            )
        count = torch.cuda.device_count()
        if chosen.index is not None and chosen.index >= count:
            raise ValueError(f"device={device!r} must be one of the {count} GPUs that torch sees: cuda:0..{count - 1}")
    return chosen


def tensors(value: Any) -> Any:
    """`value`, with a tensor over the same memory in place of each array, in dicts and tuples, too. An array that may
    not be written is copied; what torch has no dtype for, such as objects, stays an array."""
    if type(value) is np.ndarray:
        return _from_numpy(value) if value.flags.writeable else tensors(value.copy())
    if isinstance(value, dict):
        return {name: tensors(part) for name, part in value.items()}
    return tuple(map(tensors, value)) if isinstance(value, tuple) else value


def _from_numpy(array: Any) -> Any:
    try:
        return torch.from_numpy(array)
    except TypeError:  # torch has no such dtype
        return array
    except ValueError:  # its rows go backwards
        return torch.from_numpy(array.copy())


def arrays(value: Any) -> Any:
    """`value`, with an array in place of each tensor, in dicts and tuples, too: over the same memory if that is the
    CPU's."""
    return nested.each(lambda part: part.detach().cpu().numpy() if isinstance(part, torch.Tensor) else part, value)


class TorchBatchEnv(Wrapper):
    """A BatchEnv that takes tensors and returns tensors; `.env` is the BatchEnv, and attributes not found here are
    looked up there.

    Everything is as with the BatchEnv, except for these:

    - Rewards are float32, as storages of rollouts hold them; `reward_dtype="float64"` changes that.
    - With "SameStep", a step that ends episodes has `infos["final_rows"]` in place of "final_obs": (lanes, rows), an
      int64 tensor of the rows of this step that ended, and their last observations in one tensor.
    - With `copy=False` the tensors themselves come again, not their memory alone: do not change their shape or their
      `requires_grad` in place.

    On the CPU, tensors and BatchEnv's arrays share their memory, and nothing is copied. On a GPU, the lanes are stepped
    by the CPU all the same: it writes results into pinned memory, from where they are copied to the GPU on a stream of
    their own. Kernels that are launched afterwards on the current stream wait for that, the CPU does not. Actions come
    to the CPU by the same way; `step` has to wait for these.

    Args:
        env: the BatchEnv.
        device: "cpu", "cuda", or one GPU such as "cuda:0".

    Raises:
        ValueError: torch sees no such device.
    """

    DEFAULTS = {"reward_dtype": "float32"}
    KEYWORDS = ("device",)

    def __init__(self, env: BatchEnv, device: Any = "cpu"):
        super().__init__(env)
        self.device = device_of(device)
        self._ferry = None if self.device.type == "cpu" else Ferry(env, self.device, Streams(self.device))
        action_spaces = (spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
        self._reads_tensors = isinstance(env.single_action_space, action_spaces) and env.backend == "C"
        # With copy=False: {id of the array of rewards: (four arrays, the tensors over them)}.
        self._again: dict[int, Any] | None = {} if self._ferry is None and not env.config.get("copy", True) else None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.env, name)

    def reset(
        self, env_id: Any = None, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts new episodes, as `BatchEnv.reset`. The "reset_mask" of options, and env_id, may be tensors.

        Returns:
            observations (num_envs, ...) and infos, as tensors.
        """
        if isinstance(options, dict):
            options = {name: arrays(value) for name, value in options.items()}
        return converted(self._told, self.env.reset, arrays(env_id), seed=seed, options=options)

    def step(self, actions: Any, env_id: Any = None, *, out: Any = None) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Takes one action per lane.

        Args:
            actions, env_id: as `BatchEnv.step` takes them; tensors, on the env's device or on the CPU.
            out: four tensors of the env's device to write into, any of which may be None, as `BatchEnv.step` takes
                arrays. They are returned.

        Returns:
            as `BatchEnv.step`; infos are tensors, too.

        Raises:
            As `BatchEnv.step`.
        """
        again = self._again
        if again is None or env_id is not None or out is not None:
            return self._step_anew(actions, env_id, out)
        try:
            result = self.env.step(actions if self._reads_tensors else arrays(actions))
        except LaneError as error:
            error.result = self._told(*error.result)
            raise
        known = again.get(id(result[1]))  # tensors that were made over these very arrays before serve again
        if known is None or any(map(operator.is_not, known[0], result)):
            known = self._note(result)
        infos = result[4]
        return (*known[1], self._infos(infos) if infos else infos)

    def _step_anew(self, actions: Any, env_id: Any, out: Any) -> Any:
        """`step` in all cases in which new tensors are made."""
        if self._ferry is not None:
            return self._step_away(actions, env_id, out)
        if not self._reads_tensors:
            actions = arrays(actions)
        if out is not None or env_id is not None:
            return self._step_into(actions, arrays(env_id), out)
        return converted(self._told, self.env.step, actions)

    def _note(self, result: Any) -> Any:
        """Four arrays of a result, and tensors over them, for when these arrays come again."""
        if len(self._again) == _MAX_SETS:
            self._again.clear()
        known = self._again[id(result[1])] = result[:4], tensors(result[:4])
        return known

    def _step_into(self, actions: Any, env_id: Any, out: Any) -> Any:
        """`step` of some lanes, or with `out`."""
        if out is None:
            return converted(self._told, self.env.step, actions, env_id)
        out = tuple(out)

        def told(*result: Any) -> Any:
            mine = [array if given is None else given for given, array in zip(out, result[:-1], strict=True)]
            return (*map(tensors, mine), self._infos(result[-1]))

        return converted(told, self.env.step, actions, env_id, out=arrays(out))

    def _step_away(self, actions: Any, env_id: Any, out: Any) -> Any:
        """`step` on another device than the CPU."""
        ferry = self._ferry
        actions = ferry.fetch(actions)
        if env_id is not None:  # rows of some lanes, which have no place in pinned memory
            if out is not None:
                raise ValueError("step(actions, env_id) takes no out on a GPU: leave out one of them")
            return converted(self._told, self.env.step, actions, arrays(env_id))
        out = ferry.check_out(out)
        room = ferry.room()

        def shipped(*result: Any) -> Any:
            return (*ferry.ship(result[:-1], out), self._infos(result[-1]))

        return converted(shipped, self.env.step, actions, out=room)

    def send(self, actions: Any, env_id: Any = None) -> None:
        """Sends lanes to be stepped, as `BatchEnv.send`."""
        self.env.send(arrays(actions), arrays(env_id))

    def recv(self, timeout: float | None = None) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """The lanes that are finished first, as `BatchEnv.recv`; `infos["env_id"]` says which."""
        return converted(self._told, self.env.recv, timeout)

    async def arecv(self) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """As `BatchEnv.arecv`."""
        try:
            result = await self.env.arecv()
        except LaneError as error:
            error.result = self._told(*error.result)
            raise
        return self._told(*result)

    def step_async(self, actions: Any) -> None:
        """Sends all lanes to be stepped, as `BatchEnv.step_async`."""
        self.env.step_async(arrays(actions))

    def step_wait(self, timeout: float | None = None) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """What `step` would return, after `step_async`."""
        return converted(self._told, self.env.step_wait, timeout)

    def rollout(self, actions: Any, **keywords: Any) -> Rollout:
        """Many steps in one call, as `BatchEnv.rollout`, but without `out`."""
        return converted(self._rolled, self.env.rollout, arrays(actions), **keywords)

    def restore(self, snapshot: Any, lanes: Any = None, *, rows: Any = None) -> Any:
        """Puts lanes of a snapshot into lanes, as `BatchEnv.restore`."""
        return self._sent(self.env.restore(snapshot, arrays(lanes), rows=arrays(rows)))

    @property
    def state(self) -> dict[str, Any]:
        """Each lane's state, as `BatchEnv.state`; tensors that may be written, as they are copies."""
        return self._sent(self.env.state)

    def __enter__(self) -> TorchBatchEnv:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    # ---- from arrays to tensors --------------------------------------------------------------------------------------

    def _sent(self, value: Any) -> Any:
        """`value` with tensors on the env's device."""
        value = tensors(value)
        if self._ferry is None:
            return value
        return nested.each(lambda part: part.to(self.device) if isinstance(part, torch.Tensor) else part, value)

    def _told(self, *result: Any) -> Any:
        """A result that ends with infos."""
        return (*map(self._sent, result[:-1]), self._infos(result[-1]))

    def _rolled(self, *result: Any) -> Rollout:
        return Rollout(*map(self._sent, result))

    def _infos(self, infos: dict[str, Any]) -> dict[str, Any]:
        """Infos of any call, with tensors."""
        if not infos:
            return infos
        lazy = "_final_obs" in infos  # reading "final_obs" would make an object per lane
        told = {key: self._sent(dict.__getitem__(infos, key)) for key in infos if key != "final_obs" or not lazy}
        if lazy:
            if hasattr(infos, "final_rows"):
                told["final_rows"] = self._sent(infos.final_rows)
            elif infos["final_obs"].dtype == object:
                told["final_rows"] = self._sent(self._dense(infos["final_obs"], infos["_final_obs"]))
        return told

    def _dense(self, final: Any, mask: Any) -> Any:
        """`Infos.final_rows`, of Gymnasium's array of objects."""
        space, lanes = self.env.single_observation_space, np.flatnonzero(mask)
        return lanes, concatenate(space, list(final[lanes]), create_empty_array(space, len(lanes)))


class Streams:
    """A stream of its own, on which memory goes to a GPU and back while kernels run on the current one.

    device: the GPU. pinned: whether memory of the CPU has to be pinned for this.
    """

    pinned = True

    def __init__(self, device: torch.device):
        self._device = device
        self._own = torch.cuda.Stream(device)

    def own(self) -> Any:
        """A context in which work is queued on the stream of its own, after all that the current one has now."""
        self._own.wait_stream(torch.cuda.current_stream(self._device))
        return torch.cuda.stream(self._own)

    def mark(self) -> Any:
        """The end of what has been queued on the stream of its own; it has `synchronize()`, for the CPU to wait."""
        event = torch.cuda.Event()
        event.record(self._own)
        return event

    def taken(self, tensor: torch.Tensor) -> None:
        """Has torch keep the memory of a tensor of the current stream until the other one is done with it."""
        tensor.record_stream(self._own)

    def given(self, made: list[torch.Tensor], mark: Any) -> None:
        """Lets the current stream wait for `mark`, and use what was made on the other one until then."""
        current = torch.cuda.current_stream(self._device)
        current.wait_event(mark)
        for tensor in made:
            tensor.record_stream(current)


class Ferry:
    """Brings actions from a device to the CPU, and results from the CPU to a device, by way of pinned memory.

    There is room for two results: while one is copied, lanes are stepped into the other. Room is written again only
    when its copy has ended.

    Args:
        env: what is stepped.
        device: where to.
        streams: see `Streams`.
    """

    def __init__(self, env: BatchEnv, device: torch.device, streams: Any):
        self._device, self._streams = device, streams
        plain = _is_plain(env.single_observation_space)
        rewards = np.dtype(env.config.get("reward_dtype", "float64")).name
        lanes = (env.num_envs,)
        self._rooms = [
            (
                self._of_space(env.observation_space) if plain else None,
                self._pinned(lanes, getattr(torch, rewards)),
                self._pinned(lanes, torch.bool),
                self._pinned(lanes, torch.bool),
            )
            for _ in range(2)
        ]
        self._arrays = [tuple(map(arrays, room)) for room in self._rooms]
        self._marks: list[Any] = [None, None]
        self._turn = 0
        self._actions: dict[Any, torch.Tensor] = {}

    def _of_space(self, space: spaces.Space) -> Any:
        if isinstance(space, spaces.Dict):
            return {name: self._of_space(part) for name, part in space.items()}
        return self._pinned(space.shape, getattr(torch, np.dtype(space.dtype).name))

    def _pinned(self, shape: Any, dtype: torch.dtype) -> torch.Tensor:
        return torch.empty(shape, dtype=dtype, pin_memory=self._streams.pinned)

    def fetch(self, actions: Any) -> Any:
        """Actions as arrays, when they have arrived; they stay as they are until the next call."""
        places = iter(range(2**31))  # the part's number, where there are several
        away = [False]

        def fetched(part: Any) -> Any:
            if not isinstance(part, torch.Tensor) or part.device.type != self._device.type:
                return arrays(part)
            place = (next(places), part.dtype)
            room = self._actions.get(place)
            if room is None or room.shape != part.shape:
                room = self._actions[place] = self._pinned(part.shape, part.dtype)
            with self._streams.own():
                room.copy_(part.detach(), non_blocking=True)
            self._streams.taken(part)
            away[0] = True
            return room.numpy()

        result = nested.each(fetched, actions)
        if away[0]:
            self._streams.mark().synchronize()
        return result

    def check_out(self, out: Any) -> Any:
        """`out` as four tensors of the device, or None in place of any.

        Raises:
            TypeError, ValueError: something else; no lane has been stepped.
        """
        if out is None:
            return (None,) * 4
        if not isinstance(out, (tuple, list)) or len(out) != 4:
            raise TypeError(
                f"out={type(out).__name__} must be a tuple of four tensors, or None for one of them: "
                "(observations, rewards, terminations, truncations)"
            )
        for name, given, own in zip(_NAMES, out, self._rooms[0], strict=True):
            if given is None:
                continue
            if isinstance(given, dict) or own is None or isinstance(own, dict):
                raise ValueError(f"out's {name} must be None on a GPU, as they are no single tensor here")
            wanted = f"a tensor of {own.dtype} and shape {tuple(own.shape)} on {self._device}"
            if not isinstance(given, torch.Tensor):
                raise TypeError(f"out's {name} must be {wanted}, not {type(given).__name__}")
            if given.dtype != own.dtype or given.shape != own.shape or given.device.type != self._device.type:
                have = f"{given.dtype} and {tuple(given.shape)} on {given.device}"
                raise ValueError(f"out's {name} must be {wanted}, not {have}; no lane has been stepped")
        return tuple(out)

    def room(self) -> tuple[Any, ...]:
        """Arrays over pinned memory, for `out` of the next step. None: results come in arrays of their own."""
        if self._marks[self._turn] is not None:
            self._marks[self._turn].synchronize()
        return self._arrays[self._turn]

    def ship(self, result: tuple[Any, ...], out: tuple[Any, ...]) -> tuple[Any, ...]:
        """Four results of a step into `room`, as tensors of the device: those of `out`, or new ones."""
        turn, self._turn = self._turn, 1 - self._turn
        made: list[torch.Tensor] = []

        def shipped(part: Any, into: Any = None) -> Any:
            if not isinstance(part, torch.Tensor):
                return part
            if into is None:
                into = torch.empty(part.shape, dtype=part.dtype, device=self._device)
            made.append(into.copy_(part, non_blocking=True))
            return into

        done = []
        with self._streams.own():
            for pinned, array, into in zip(self._rooms[turn], result, out, strict=True):
                here = tensors(array) if pinned is None else pinned
                done.append(nested.each(shipped, here) if into is None else shipped(here, into))
        mark = self._marks[turn] = self._streams.mark()
        self._streams.given(made, mark)
        return tuple(done)


_NAMES = ("observations", "rewards", "terminations", "truncations")


def _is_plain(space: spaces.Space) -> bool:
    """Whether observations are one array, or dicts of such."""
    if isinstance(space, spaces.Dict):
        return all(map(_is_plain, space.values()))
    return isinstance(space, (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary))
