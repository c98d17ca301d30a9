"""Spaces in a recording, so that one that holds its results can be read without the env."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces

Form: TypeAlias = Any  # nested dicts and tuples, with None in the places of leaves


def to_data(space: spaces.Space[Any]) -> dict[str, Any]:
    """A space as `values.to_json` takes it. Of others than Gymnasium's fundamental ones, only the text is known."""
    if isinstance(space, spaces.Dict):
        return {"kind": "Dict", "parts": {key: to_data(part) for key, part in space.spaces.items()}}
    if isinstance(space, spaces.Tuple):
        return {"kind": "Tuple", "parts": [to_data(part) for part in space.spaces]}
    if isinstance(space, spaces.Discrete):
        return {"kind": "Discrete", "n": int(space.n), "start": int(space.start), "dtype": np.dtype(space.dtype).str}
    if isinstance(space, spaces.MultiDiscrete):
        return {"kind": "MultiDiscrete", "nvec": space.nvec, "start": space.start, "dtype": np.dtype(space.dtype).str}
    if isinstance(space, spaces.MultiBinary):
        return {"kind": "MultiBinary", "shape": list(space.shape)}
    if isinstance(space, spaces.Box):
        return {"kind": "Box", "low": space.low, "high": space.high, "dtype": space.dtype.str}
    if isinstance(space, spaces.Text):
        texts = getattr(space, "texts", None)
        characters = "".join(sorted(space.character_set))
        return {"kind": "Text", "max": int(space.max_length), "min": int(space.min_length), "set": characters,
                "texts": None if texts is None else list(texts)}  # fmt: skip
    return {"kind": "other", "text": str(space)}


def of_data(data: dict[str, Any]) -> spaces.Space[Any] | None:
    """The space that `to_data` was given; None where only its text is known."""
    kind = data["kind"]
    if kind in ("Dict", "Tuple"):
        named = kind == "Dict"
        parts = {key: of_data(part) for key, part in (data["parts"].items() if named else enumerate(data["parts"]))}
        if any(part is None for part in parts.values()):
            return None
        return spaces.Dict(parts) if named else spaces.Tuple(list(parts.values()))  # pyright: ignore[reportArgumentType]
    if kind == "Discrete":
        return spaces.Discrete(data["n"], start=data["start"], dtype=np.dtype(data["dtype"]).type)
    if kind == "MultiDiscrete":
        return spaces.MultiDiscrete(data["nvec"], dtype=np.dtype(data["dtype"]).type, start=data["start"])
    if kind == "MultiBinary":
        shape = data["shape"]
        return spaces.MultiBinary(shape[0] if len(shape) == 1 else shape)
    if kind == "Box":
        return spaces.Box(data["low"], data["high"], dtype=np.dtype(data["dtype"]).type)
    if kind == "Text":
        return spaces.Text(data["max"], min_length=data["min"], charset=data["set"])
    return None


def form_of(data: dict[str, Any]) -> Form:
    """How values of a space are nested, keys in the order of `Dict`."""
    if data["kind"] == "Dict":
        return {key: form_of(part) for key, part in data["parts"].items()}
    if data["kind"] == "Tuple":
        return tuple(form_of(part) for part in data["parts"])
    return None
