"""PyTorch's tensors over NumPy's memory, and the devices that they may be on."""

from __future__ import annotations

from typing import Any

from batchenv import nested
from batchenv._core import Tensors

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


def arrays(value: Any) -> Any:
    """`value`, with an array in place of each tensor, in dicts and tuples, too: over the same memory if that is the
    CPU's."""
    return nested.each(lambda part: part.detach().cpu().numpy() if isinstance(part, torch.Tensor) else part, value)
