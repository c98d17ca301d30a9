"""Recordings in other formats, through the libraries of these."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled

from batchenv.backend.protocol import Lanes
from batchenv.recordings import minari, transitions
from batchenv.recordings.reading import Reading
from batchenv.recordings.targets import written
from batchenv.recordings.trajectories import STEPS, Trajectory, trajectories
from batchenv.recordings.values import to_json
from batchenv.recordings.window import Window

Path = str | os.PathLike[str]


class Exports(Reading):
    """What `Recording` has for other formats and training loops."""

    def trajectories(self, episodes: Lanes | None = None) -> Iterator[Trajectory]:
        """Episodes one by one, each with the observation before its first step: for datasets. They come about in the
        order in which they end.

        Args:
            episodes: a bool mask of the table `episodes`, or numbers in it from 0 on; None: all, also those that were
                cut. Where results are stored and a lane's observation before step 0 is not known, because the
                recording begins in the middle of an episode, trajectories leave out step 0 of all lanes.

        Raises:
            TypeError, ValueError: there are no such episodes.
        """
        return trajectories(self, episodes)

    def transitions(
        self, batch_size: int = 4096, start: int = 0, stop: int | None = None, *,
        shuffle: int | None = None, steps: int = STEPS,
    ) -> Iterator[dict[str, Any]]:  # fmt: skip
        """Batches of transitions, {"observation", "action", "reward", "next_observation", "terminated", "truncated",
        "lane", "step"}, without steps that only reset a lane; the last batch may be smaller. `next_observation` is the
        last one of its episode where that has ended, in every autoreset mode. Step 0 is left out where results are
        stored and a lane's observation before it is not known, because the recording begins in the middle of episodes.

        Args:
            start, stop: which steps of each lane; None: up to the fewest that a lane has.
            shuffle: a seed: transitions are shuffled within windows of `steps` steps of all lanes.
        """
        size, seed = transitions.checked(batch_size, shuffle)
        start, stop = self._range(start, stop, np.arange(self.num_envs))
        return transitions.transitions(self, size, start, stop, seed, steps)

    def torch_dataset(self, batch_size: int = 4096, *, shuffle: int | None = None, length: int | None = None) -> Any:
        """A `torch.utils.data.IterableDataset` of whole batches of `transitions`, for DataLoader(dataset,
        batch_size=None); with length=k of windows of k steps, as dicts of arrays (k, lanes, ...). The workers of a
        DataLoader open the file themselves and divide the steps among each other.

        Raises:
            gymnasium.error.DependencyNotInstalled: torch is missing.
        """
        size, seed = transitions.checked(batch_size, shuffle)
        again = partial(type(self), self.path, 1, self._make_env, self._trust, self._ignores, self._until_damage)
        return transitions.dataset(again, size, seed, length)

    # ---- files ---------------------------------------------------------------------------------------------------

    def to_numpy(self, path: Path, start: int = 0, stop: int | None = None) -> None:
        """Writes steps as an .npz file: "observations", "actions", "rewards", "terminations", "truncations" and infos
        of numbers, (steps, lanes, ...), the observations "before", and the table of episodes as "episodes/NAME". Parts
        of nested spaces are "observations/KEY". There is no "before" where it is not known.
        All of it has to fit into memory; `to_hdf5` writes piece by piece.

        Raises:
            ValueError: no such steps; lanes have different numbers of steps, and `stop` is None.
        """
        start, stop = self._bounds(start, stop)
        arrays = _flat_window(self.window(start, stop))
        arrays |= {f"episodes/{name}": values for name, values in self.episodes._asdict().items()}
        arrays["header"] = np.array(json.dumps(to_json(self.header, strict=False)))
        with written(path, self.path) as part, open(part, "wb") as file:
            np.savez(file, **{name: _plain(values) for name, values in arrays.items()})

    def to_hdf5(self, path: Path, start: int = 0, stop: int | None = None, *, compression: str | None = "gzip") -> None:
        """Writes the same as `to_numpy` as datasets of an HDF5 file, piece by piece.

        Raises:
            gymnasium.error.DependencyNotInstalled: h5py is missing.
            ValueError: as `to_numpy`.
        """
        try:
            import h5py  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise DependencyNotInstalled('to_hdf5() needs h5py: pip install "batchenv[recordings]"') from error
        start, stop = self._bounds(start, stop)
        with written(path, self.path) as part, h5py.File(part, "w") as file:
            file.attrs["header"] = json.dumps(to_json(self.header, strict=False))
            for name, values in self.episodes._asdict().items():
                file.create_dataset(f"episodes/{name}", data=values)
            at = 0
            for window in self.windows(STEPS, start, stop):
                for name, values in _flat_window(window).items():
                    if values.dtype.kind in "OU":
                        values = _plain(values).astype(object)
                    kind = h5py.string_dtype() if values.dtype.hasobject else values.dtype
                    if name.startswith("before"):
                        if at == 0:
                            file.create_dataset(name, data=values, dtype=kind)
                        continue
                    if name not in file:
                        shape = (stop - start, *values.shape[1:])
                        chunks = (min(len(values), STEPS), *values.shape[1:])
                        packing = {"chunks": chunks, "compression": compression} if all(chunks) else {}
                        file.create_dataset(name, shape, kind, **packing)
                    file[name][at : at + len(values)] = values
                at += len(window.rewards)

    def to_parquet(self, path: Path, start: int = 0, stop: int | None = None) -> None:
        """Writes transitions as a Parquet file, a row each, with the columns of `transitions`; arrays are lists of
        fixed size, flattened in C order, and the schema's metadata has their shapes.

        Raises:
            gymnasium.error.DependencyNotInstalled: pyarrow is missing.
            ValueError: as `to_numpy`.
        """
        try:
            import pyarrow  # pyright: ignore[reportMissingImports]
            import pyarrow.parquet  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise DependencyNotInstalled('to_parquet() needs pyarrow: pip install "batchenv[recordings]"') from error
        start, stop = self._bounds(start, stop)
        with written(path, self.path) as part:
            writer = None
            try:
                for batch in self.transitions(65536, start, stop):
                    columns = dict(_named(batch))
                    shapes = {name: list(values.shape[1:]) for name, values in columns.items()}
                    arrays = [_arrow(pyarrow, values) for values in columns.values()]
                    table = pyarrow.table(arrays, names=list(columns))
                    about = {"shapes": json.dumps(shapes), "header": json.dumps(to_json(self.header, strict=False))}
                    table = table.replace_schema_metadata(about)
                    if writer is None:
                        writer = pyarrow.parquet.ParquetWriter(part, table.schema)
                    writer.write_table(table)
            finally:
                if writer is not None:
                    writer.close()
            if writer is None:
                raise ValueError(f"there are no transitions in steps {start} to {stop}: nothing was written to {path}")

    def to_minari(self, dataset_id: str, episodes: Lanes | None = None, **metadata: Any) -> Any:
        """Makes a Minari dataset of episodes, and returns it. `minari.load_dataset(dataset_id)` opens it later.

        Args:
            dataset_id: such as "cartpole/random-v0".
            episodes: as of `trajectories`; None: those that were recorded from their beginning to their end.
            metadata: further keywords of `minari.create_dataset_from_buffers`, such as algorithm_name and author.
                Pictures are kept as they are unless jpeg_encoding=True.

        Raises:
            gymnasium.error.DependencyNotInstalled: Minari is missing.
            ValueError: no episodes; a wrong id.
        """
        return minari.export(self, dataset_id, episodes, metadata)

    def _bounds(self, start: int, stop: int | None) -> tuple[int, int]:
        lengths = self.lengths
        if stop is None and lengths.all() and len(set(lengths.tolist())) > 1:
            raise ValueError(
                f"lanes have {lengths.min()} to {lengths.max()} steps, which are no array: say stop={lengths.min()}, "
                "or write episodes with to_minari()"
            )
        return self._range(start, stop, np.arange(self.num_envs))


def _flat_window(window: Window) -> dict[str, Any]:
    parts = window._asdict()
    parts.pop("changes")
    if window.before is None:
        parts.pop("before")
    return {name: values for name, values in _named(parts) if not _of_objects(values)}


def _of_objects(values: Any) -> bool:
    """Whether there are other objects than texts; None is a text that a step lacks."""
    if not values.dtype.hasobject:
        return False
    others = [value for value in values.ravel().tolist() if not isinstance(value, str)]
    return len(others) == values.size > 0 or any(value is not None for value in others)


def _named(parts: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in parts.items():
        if isinstance(value, dict):
            yield from _named(value, f"{path}{name}/")
        elif isinstance(value, tuple):
            yield from _named({str(k): part for k, part in enumerate(value)}, f"{path}{name}/")
        else:
            yield f"{path}{name}", value


def _plain(values: Any) -> Any:
    """Texts as arrays of NumPy's own; "" where there are none."""
    return np.where(values == None, "", values).astype(str) if values.dtype.hasobject else values  # noqa: E711


def _arrow(pyarrow: Any, values: Any) -> Any:
    if values.ndim == 1:
        return pyarrow.array(values.tolist() if values.dtype.hasobject else values)
    size = int(np.prod(values.shape[1:]))
    return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(np.ascontiguousarray(values).ravel()), size)
