"""Procgen's games: their library, put into the C core's terms."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium import logger

from batchenv import _core
from batchenv.backend.translator import Translator
from batchenv.envs.procgen import files
from batchenv.system import memory

# Bytes of a lane beside its observations, filled and of address space; and of the images that all lanes share, filled,
# and of address space while they are loaded.
_LANE_BYTES, _IMAGES_BYTES, _LOADING_BYTES = 1_100_000, 370_000_000, 470_000_000

_loaded: set[Path] = set()


class _Given(NamedTuple):
    """What the batch is given; see `Translator.engine`."""

    source: _core.ProcgenSetup


class Procgen(Translator):
    """What a Procgen environment has beside its C type's parameters."""

    ALIASES = {"env_name": "game"}

    def engine(self, num_envs: int, threads: int) -> _Given:
        """See `Translator.engine`.

        Raises:
            MemoryError: so many lanes do not fit. The library would end the process.
            gymnasium.error.DependencyNotInstalled, FileNotFoundError: the library or an image is missing.
        """
        library = files.library_path()
        assets = files.assets_path(library)
        first = library not in _loaded
        need = num_envs * _LANE_BYTES
        memory.check(f"{num_envs} lanes of Procgen", need + first * _IMAGES_BYTES, need + first * _LOADING_BYTES)
        if first:
            logger.warn("Procgen's library loads its images, once per process: this takes 2 to 4 seconds and 380 MB")
            _loaded.add(library)
        fast = os.environ.get("BATCHENV_PROCGEN_FAST") != "0"
        return _Given(_core.ProcgenSetup(os.fsencode(library), os.fsencode(f"{assets}/"), fast=fast))

    def check_snapshot(self, params: dict[str, Any]) -> None:
        """See `Translator.check_snapshot`."""
        if np.any(params["use_generated_assets"]):
            raise ValueError(
                "Procgen's library cannot save games with use_generated_assets=True: make the env without it"
            )
