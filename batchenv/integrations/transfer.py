"""Transfers actions from a GPU to the CPU, which steps the lanes, and results from the CPU to the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from batchenv.env.batch_env import BatchEnv
from batchenv.integrations.tensors import arrays, tensors, torch
from batchenv.spaces import nested

_NAMES = ("observations", "rewards", "terminations", "truncations")


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


class Transfer:
    """Copies actions from a device to the CPU, and results from the CPU to a device, through pinned buffers.

    There are buffers for two results: while one is copied, lanes are stepped into the other. Buffers are written again
    only when their copy has ended.

    Args:
        env: what is stepped.
        device: the GPU.
        streams: see `Streams`.
    """

    def __init__(self, env: BatchEnv, device: torch.device, streams: Any):
        self._device, self._streams = device, streams
        plain = _is_plain(env.single_observation_space)
        rewards = np.dtype(env.config.get("reward_dtype", "float64")).name
        lanes = (env.num_envs,)
        self._buffers = [
            (
                self._of_space(env.observation_space) if plain else None,
                self._pinned(lanes, getattr(torch, rewards)),
                self._pinned(lanes, torch.bool),
                self._pinned(lanes, torch.bool),
            )
            for _ in range(2)
        ]
        self._arrays = [tuple(map(arrays, buffers)) for buffers in self._buffers]
        self._marks: list[Any] = [None, None]
        self._turn = 0
        self._actions: dict[Any, torch.Tensor] = {}

    def _of_space(self, space: spaces.Space) -> Any:
        if isinstance(space, spaces.Dict):
            return {name: self._of_space(part) for name, part in space.items()}
        return self._pinned(space.shape, getattr(torch, np.dtype(space.dtype).name))

    def _pinned(self, shape: Any, dtype: torch.dtype) -> torch.Tensor:
        return torch.empty(shape, dtype=dtype, pin_memory=self._streams.pinned)

    def to_cpu(self, actions: Any) -> Any:
        """Actions as arrays, when they have arrived; they stay as they are until the next call."""
        places = iter(range(2**31))  # the part's number, where there are several
        away = [False]

        def copied(part: Any) -> Any:
            if not isinstance(part, torch.Tensor) or part.device.type != self._device.type:
                return arrays(part)
            place = (next(places), part.dtype)
            buffer = self._actions.get(place)
            if buffer is None or buffer.shape != part.shape:
                buffer = self._actions[place] = self._pinned(part.shape, part.dtype)
            with self._streams.own():
                buffer.copy_(part.detach(), non_blocking=True)
            self._streams.taken(part)
            away[0] = True
            return buffer.numpy()

        result = nested.each(copied, actions)
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
        for name, given, own in zip(_NAMES, out, self._buffers[0], strict=True):
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

    def buffers(self) -> tuple[Any, ...]:
        """Arrays over pinned memory, for `out` of the next step. None: results come in arrays of their own."""
        if self._marks[self._turn] is not None:
            self._marks[self._turn].synchronize()
        return self._arrays[self._turn]

    def to_device(self, result: tuple[Any, ...], out: tuple[Any, ...]) -> tuple[Any, ...]:
        """Four results of a step into `buffers`, as tensors of the device: those of `out`, or new ones."""
        turn, self._turn = self._turn, 1 - self._turn
        made: list[torch.Tensor] = []

        def sent(part: Any, into: Any = None) -> Any:
            if not isinstance(part, torch.Tensor):
                return part
            if into is None:
                into = torch.empty(part.shape, dtype=part.dtype, device=self._device)
            made.append(into.copy_(part, non_blocking=True))
            return into

        done = []
        with self._streams.own():
            for pinned, array, into in zip(self._buffers[turn], result, out, strict=True):
                here = tensors(array) if pinned is None else pinned
                done.append(nested.each(sent, here) if into is None else sent(here, into))
        mark = self._marks[turn] = self._streams.mark()
        self._streams.given(made, mark)
        return tuple(done)


def _is_plain(space: spaces.Space) -> bool:
    """Whether observations are one array, or dicts of such."""
    if isinstance(space, spaces.Dict):
        return all(map(_is_plain, space.values()))
    return isinstance(space, (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary))
