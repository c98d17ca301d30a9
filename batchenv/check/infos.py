"""The form of infos."""

from __future__ import annotations

from typing import Any

import numpy as np

from batchenv.check.rules import Theme, Violation, brief, require
from batchenv.check.trial import Trial

THEME = Theme("infos")


def _all_infos(trial: Trial) -> list[dict[str, Any]]:
    record = trial.record
    steps = [*record.first, *(end.at for end in record.ends), *(end.after for end in record.ends)]
    return [record.start_infos, *(step.infos for step in steps)]


@THEME.contract(
    rule="Every value in infos is an array with an entry per lane, or a dict of such arrays.",
    why="DictInfoToList and all code that reads infos[key][lane] rely on it.",
)
def infos_have_an_entry_a_lane(trial: Trial) -> None:
    for infos in _all_infos(trial):
        _require_entries(infos, trial.num_envs, "")


def _require_entries(infos: dict[str, Any], lanes: int, where: str) -> None:
    for key, value in infos.items():
        if isinstance(value, dict):
            _require_entries(value, lanes, f"{where}{key}.")
        elif not str(key).startswith("_") and not (
            isinstance(value, np.ndarray) and value.ndim and len(value) == lanes
        ):
            raise Violation(f"infos of {lanes} lanes: {where}{key} is {brief(value)}")


@THEME.contract(
    rule="A mask infos['_key'] is a bool array of shape (num_envs,), and infos['key'] is there, too.",
    why="The mask says which lanes have the key, and wrappers index with it.",
)
def info_masks_are_masks(trial: Trial) -> None:
    for infos in _all_infos(trial):
        _require_masks(infos, trial.num_envs)


def _require_masks(infos: dict[str, Any], lanes: int) -> None:
    for key, value in infos.items():
        if isinstance(value, dict):
            _require_masks(value, lanes)
        elif str(key).startswith("_"):
            if not (isinstance(value, np.ndarray) and value.dtype == np.bool_ and value.shape == (lanes,)):
                raise Violation(f"infos[{key!r}] is {brief(value)}")
            require(key[1:] in infos, f"infos have {key!r} but not {key[1:]!r}")


@THEME.practice(
    rule="Every infos['key'] comes with its mask infos['_key'].",
    why="SyncVectorEnv always has the mask, so code that reads it raises KeyError here. (DictInfoToList needs none.)",
)
def infos_have_masks(trial: Trial) -> None:
    for infos in _all_infos(trial):
        missing = [key for key in infos if not str(key).startswith("_") and f"_{key}" not in infos]
        require(not missing, f"infos have no {', '.join(f'_{key}' for key in missing)}; their keys are {sorted(infos)}")
