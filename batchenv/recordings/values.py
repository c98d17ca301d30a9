"""Values and arrays as bytes: JSON for what describes, raw or compressed arrays for the rest. No pickles."""

from __future__ import annotations

import base64
import json
import math
import struct
import zlib
from collections.abc import Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LENGTH = struct.Struct("<I")
_SAMPLE, _SMALL, _WORTH = 2048, 48, 0.9  # bytes that are tried first; too few to try; the ratio that is worth it


class Lost:
    """Stands for a value that JSON cannot hold, such as a function. text: what it looked like."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


def to_json(value: Any, strict: bool = True) -> Any:
    """`value` as JSON can hold it: numbers, texts, arrays, spaces of NumPy's types, and dicts and lists of these.

    Raises:
        TypeError: it is something else. Not strict: that part becomes what `from_json` returns as `Lost`.
    """
    if value is None or (isinstance(value, (bool, int, str)) and not isinstance(value, (Enum, np.generic))):
        return value
    if isinstance(value, float) and not isinstance(value, np.generic):
        return value if np.isfinite(value) else {"": "float", "of": repr(value)}
    if isinstance(value, Enum):
        return to_json(value.value, strict)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufSU":
        array = np.asarray(value)
        data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
        what = "array" if isinstance(value, np.ndarray) else "scalar"
        return {"": what, "dtype": array.dtype.str, "shape": list(array.shape), "of": data}
    if isinstance(value, bytes):
        return {"": "bytes", "of": base64.b64encode(value).decode()}
    if isinstance(value, tuple):
        return {"": "tuple", "of": [to_json(part, strict) for part in value]}
    if isinstance(value, list):
        return [to_json(part, strict) for part in value]
    if isinstance(value, Mapping):
        return {"": "dict", "of": [[to_json(key, strict), to_json(part, strict)] for key, part in value.items()]}
    if isinstance(value, (np.dtype, type)) and not strict:
        return {"": "lost", "of": str(value)}
    if strict:
        raise TypeError(f"{value!r} of type {type(value).__name__} cannot be written into a recording")
    return {"": "lost", "of": repr(value)[:200]}


def from_json(value: Any) -> Any:
    """What `to_json` was given."""
    if isinstance(value, list):
        return [from_json(part) for part in value]
    if not isinstance(value, dict):
        return value
    kind, of = value[""], value["of"]
    if kind == "float":
        return float(of)
    if kind in ("array", "scalar"):
        array = np.frombuffer(base64.b64decode(of), _plain(value["dtype"])).reshape(value["shape"]).copy()
        return array if kind == "array" else array[()]
    if kind == "bytes":
        return base64.b64decode(of)
    if kind == "tuple":
        return tuple(from_json(part) for part in of)
    if kind == "dict":
        return {from_json(key): from_json(part) for key, part in of}
    return Lost(of)


def _plain(text: str) -> np.dtype:
    """A dtype of numbers or texts: never of objects, which are pointers."""
    dtype = np.dtype(text)
    if dtype.hasobject or dtype.kind not in "biufSU":
        raise ValueError(f"a recording cannot hold arrays of {dtype}")
    return dtype


def lost_in(value: Any) -> list[str]:
    """What is `Lost` in a value that `from_json` returned."""
    if isinstance(value, Lost):
        return [value.text]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [text for part in parts for text in lost_in(part)]


def compressed(data: bytes, worth: float = _WORTH) -> tuple[str, bytes]:
    """("z", compressed bytes), or ("", the bytes) where that saves little. A sample is tried first, because it takes
    time on bytes that are random. worth: the ratio from which on it is done; 0: never."""
    if len(data) < _SMALL or not worth:
        return "", data
    if len(data) > 2 * _SAMPLE:
        middle = (len(data) - _SAMPLE) // 2
        if len(zlib.compress(data[middle : middle + _SAMPLE], 1)) > worth * _SAMPLE:
            return "", data
    packed = zlib.compress(data, 1)
    return ("z", packed) if len(packed) < worth * len(data) else ("", data)


def _head(meta: dict[str, Any]) -> dict[str, Any]:
    return {name: to_json(part, strict=False) for name, part in meta.items()}


def pack(
    meta: dict[str, Any], arrays: Mapping[str, NDArray[Any] | bytes], worth: Mapping[str, float] | None = None
) -> bytes:
    """A block's payload. meta: what `to_json` takes. worth: of arrays that are compressed otherwise; see
    `compressed`."""
    table, parts = [], []
    for name, value in arrays.items():
        raw = isinstance(value, bytes)
        data = value if raw else np.ascontiguousarray(value).tobytes()
        size = len(data)
        codec, data = compressed(data, _WORTH if worth is None else worth.get(name, _WORTH))
        table.append([name, "" if raw else value.dtype.str, [size] if raw else list(value.shape), codec, len(data)])
        parts.append(data)
    head = json.dumps([_head(meta), table], separators=(",", ":")).encode()
    return b"".join((_LENGTH.pack(len(head)), head, *parts))


def unpack(payload: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `pack` was given; arrays cannot be written."""
    (length,) = _LENGTH.unpack_from(payload)
    meta, table = json.loads(payload[_LENGTH.size : _LENGTH.size + length])
    arrays, at = {}, _LENGTH.size + length
    for name, dtype, shape, codec, size in table:
        data = payload[at : at + size]
        at += size
        kind = _plain(dtype or "u1")
        if codec == "z":
            most = math.prod(shape) * kind.itemsize  # no more, whatever the bytes would become
            data = zlib.decompressobj().decompress(data, most) if most else b""
        found = np.frombuffer(data, kind).reshape(shape)
        arrays[name] = found if dtype else data
    return {name: from_json(part) for name, part in meta.items()}, arrays
