"""`python -m batchenv replay`: says what a recording holds, and replays it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from batchenv.recordings import Recording
from batchenv.recordings.targets import written
from batchenv.recordings.values import to_json


def lines(recording: Recording) -> Iterator[str]:
    """What a recording holds, a line per point."""
    header, table = recording.header, recording.episodes
    yield f"env: {header['id']}, {recording.num_envs} lanes, {header['kind']}, autoreset {header['autoreset_mode']}"
    yield f"steps: {recording.steps}, {recording.lengths.min()} to {recording.lengths.max()} per lane"
    whole = table.complete
    yield f"episodes: {len(whole)}, {int(whole.sum())} of them from beginning to end"
    if whole.any():
        returns = table.returns[whole]
        yield f"returns: mean {returns.mean():.6g}, from {returns.min():.6g} to {returns.max():.6g}"
    yield f"bytes: {recording.nbytes}, {recording.nbytes / max(1, recording.steps):.3f} per step"
    yield f"observations: {'stored' if recording.stored else 'replayed'}"
    yield "versions: " + ", ".join(f"{name} {version}" for name, version in header["versions"].items())
    if recording.differences:
        yield "different here: " + "; ".join(recording.differences)
    if not recording.complete:
        yield f"cut off: the recording was not finished; {recording.left_out} bytes at its end are no whole block"


def about(recording: Recording) -> dict[str, Any]:
    """The same as what JSON can hold; returns that are no finite numbers are null."""
    table = {name: np.asarray(values).tolist() for name, values in recording.episodes._asdict().items()}
    table["returns"] = [value if math.isfinite(value) else None for value in table["returns"]]
    return {
        "header": to_json(recording.header, strict=False),
        "num_envs": recording.num_envs,
        "steps": recording.steps,
        "bytes": recording.nbytes,
        "complete": recording.complete,
        "episodes": table,
    }


def write(recording: Recording, path: str) -> None:
    """Writes what a recording holds, and the table of its episodes, as JSON."""
    with written(path, recording.path) as part, open(part, "w", encoding="utf-8") as file:
        json.dump(about(recording), file, indent=1, allow_nan=False)
