"""Rollouts of a backend that has none of its own: step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from batchenv.backend.protocol import Backend, LaneError
from batchenv.backend.results import Apart, parted
from batchenv.spaces import nested


def stepwise(backend: Backend, actions: Any, steps: int, key: int, first_step: int, out: Any) -> tuple[Any, ...]:
    """See `Backend.rollout`. Infos come with Gymnasium's masks, since other steps may lack what one step has; final
    observations are arrays of objects, as those of `step`."""
    if actions is None:
        actions = random_actions(backend.layout().action_space, backend.num_envs, steps, key, first_step)
    results, failed, reasons = [], {}, []
    for step in range(steps):
        taken = nested.each(lambda part, step=step: part[step], actions)
        target = out if out is None else nested.each(lambda part, step=step: None if part is None else part[step], out)
        try:
            results.append(backend.step(taken, target))
        except LaneError as error:
            reasons.append(f"step {step}: {error}")
            failed.update(dict.fromkeys(error.env_id.tolist()))
            results.append(error.result)
    columns = [_stacked(column) for column in list(zip(*results, strict=True))[:4]]
    if out is not None:
        columns = [made if given is None else given for made, given in zip(columns, out, strict=True)]
    infos = [result[4] for result in results]
    if any(isinstance(one, Apart) for one in infos):
        known = stacked_infos([parted(one)[0] for one in infos])
        stacked = Apart(known, [], [], lambda: stacked_infos(infos))
    else:
        stacked = stacked_infos(infos)
    result = (*columns, stacked, actions)
    if failed:
        raise LaneError(reasons[0], np.array(sorted(failed)), result)
    return result


def random_actions(single: spaces.Space[Any], num_envs: int, steps: int, key: int, first_step: int) -> Any:
    """Actions of so many steps, drawn from this space of one lane's. See `Backend.rollout`."""
    space = batch_space(single, num_envs)
    drawn = []
    for step in range(first_step, first_step + steps):
        space.seed(int(np.random.SeedSequence([key, step]).generate_state(1)[0]))
        drawn.append(space.sample())
    return _stacked(drawn) if drawn else np.empty((0, *(space.shape or ())), space.dtype)


def _stacked(values: Any) -> Any:
    """Nested values of several steps, with a first axis of steps."""
    first = values[0]
    if isinstance(first, dict):
        return {name: _stacked([value[name] for value in values]) for name in first}
    if isinstance(first, tuple) and not all(isinstance(part, str) for part in first):
        return tuple(_stacked(part) for part in zip(*values, strict=True))
    return np.stack(values) if isinstance(first, np.ndarray) else np.array(values, dtype=object)


def stacked_infos(infos: list[dict[str, Any]]) -> dict[str, Any]:
    """Infos of several steps, with a first axis of steps; zeros, or None, in steps that lack one."""
    stacked: dict[str, Any] = {}
    for name in dict.fromkeys(name for info in infos for name in info):
        values = [info.get(name) for info in infos]
        known = [value for value in values if value is not None]
        if isinstance(known[0], dict):
            stacked[name] = stacked_infos([value or {} for value in values])
            continue
        of_objects = known[0].dtype.hasobject
        dtype = np.dtype(object) if of_objects else np.result_type(*known)
        array = np.full((len(infos), *known[0].shape), None if of_objects else 0, dtype)
        for step, value in enumerate(values):
            if value is not None:
                array[step] = value
        stacked[name] = array
    return stacked
