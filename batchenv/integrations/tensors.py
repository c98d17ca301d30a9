"""PyTorch's tensors over NumPy's memory, and the devices that they may be on."""

from __future__ import annotations

import sys
from typing import Any

from batchenv._core import Tensors, held_memory
from batchenv.spaces import nested

try:
    import torch
except ImportError as error:
    raise ImportError("env_type='torch' needs the package torch: pip install 'batchenv[torch]'") from error


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


def tensor(array: Any) -> Any:
    """A tensor over the memory of any array, or over a copy if that may not be written or its rows go backwards. What
    torch has no dtype for, such as objects, stays an array."""
    if not array.flags.writeable:
        array = array.copy()
    try:
        return torch.from_numpy(array)
    except TypeError:  # torch has no such dtype
        return array
    except ValueError:  # its rows go backwards
        return torch.from_numpy(array.copy())


tensors = Tensors(torch.Tensor, tensor).of  # of an array, or of all that are in dicts and tuples; see `tensor`


def _counted() -> bool:
    """Whether it can be seen who else holds a tensor, by Python's count of references, or its memory (`held_memory`).
    This is so with PyTorch 2.13; no other release was tried."""
    with torch.inference_mode(False), torch.enable_grad():
        one = torch.ones(4)
        if held_memory(one.untyped_storage()):
            return False
        for alias in torch.Tensor.detach, torch.Tensor.untyped_storage, torch.Tensor.numpy:
            other = alias(one)
            if not held_memory(one.untyped_storage()):
                return False
            del other
        alone = sys.getrefcount(one)
        graph = torch.ones(4, requires_grad=True) * one
        return sys.getrefcount(one) == alone + 1 and graph.requires_grad and not held_memory(one.untyped_storage())


counted = _counted()


def renew(old: tuple[Any, ...], under: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Tensors over arrays, not of the inference mode; None if somebody uses the memory of the old ones."""
    if any(held_memory(one.untyped_storage()) for one in old):
        return None
    with torch.inference_mode(False):
        made = tuple(map(tensor, under))
    return made if all(type(one) is torch.Tensor for one in made) else None


def arrays(value: Any) -> Any:
    """`value`, with an array in place of each tensor, in dicts and tuples, too: over the same memory if that is the
    CPU's."""
    return nested.each(lambda part: _array(part) if isinstance(part, torch.Tensor) else part, value)


def _array(tensor: torch.Tensor) -> Any:
    try:
        return tensor.detach().cpu().numpy()
    except TypeError:  # bfloat16, for one
        raise TypeError(
            f"NumPy has no dtype for tensors of {tensor.dtype}: pass another one, such as .float()"
        ) from None
