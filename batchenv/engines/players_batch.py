"""A `_core.Batch` of a game for several players: actions of each come in, points and lives of each go out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def _rows_of(infos: Any) -> Any:
    """Steps of (1, ...) arrays, in nested dicts, as one of (steps, ...)."""
    if isinstance(infos[0], dict):
        return {key: _rows_of([info[key] for info in infos]) for key in infos[0]}
    return np.concatenate(infos)


class PlayersBatch:
    """Puts itself before a batch whose lanes take one number for what all players do (see csrc/engines/atari/atari.c).

    Actions are integers (lanes, players). infos have `rewards` float64 (lanes, players), scaled and clipped as the
    rewards are, `player_lives` int32 (lanes, players), and EnvPool's `players`: {"env_id"}, each player's lane, int32
    (lanes, players).

    Args:
        batch: the `_core.Batch`.
        players: how many.
        board: (rewards, lives, lives after a step), (lanes, players) each, which the C side writes.
        scale, bounds: what becomes of rewards; (low, high).
    """

    def __init__(self, batch: Any, players: int, board: tuple[NDArray[Any], ...], scale: float, bounds: Any):
        self._batch = batch  # first: it is to go before the arrays that its workers write
        self._rewards, self._lives, self._step_lives = board
        self._players = players
        self._scale, self._bounds = scale, bounds
        self._treated = scale != 1 or bounds != (-math.inf, math.inf)
        observation, actions = batch.spaces()
        _, dtype, _, _, high = actions[""]
        self._num_actions = round((high[0] + 1) ** (1 / players))
        self._powers = self._num_actions ** np.arange(players)
        shape = (players,)
        last = [self._num_actions - 1] * players
        self._spaces = observation, {"": ("multi_discrete", dtype, shape, [0] * players, last)}
        self._batch_rows = len(self._lives)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def spaces(self) -> tuple[Any, Any]:
        """As the batch's; the action's kind is "multi_discrete"."""
        return self._spaces

    def set_queue(self, batch_rows: int, affinity: Any) -> None:
        """As the batch's."""
        self._batch_rows = batch_rows
        self._batch.set_queue(batch_rows, affinity)

    def step(self, actions: Any, out: Any = None):
        """As the batch's."""
        joint = self._joint(actions, len(self._lives))
        result = self._batch.step(joint, out)
        self._tell(result[4], slice(None))
        return result

    def reset(self, seeds: Any, mask: NDArray[np.bool_] | None, options: dict[str, Any]):
        """As the batch's."""
        result = self._batch.reset(seeds, mask, options)
        self._rewards[slice(None) if mask is None else mask] = 0  # of steps whose results nobody got
        self._tell_reset(result[1], mask)
        return result

    def queue_reset(self, seeds: Any, options: dict[str, Any]) -> None:
        """As the batch's."""
        self._batch.queue_reset(seeds, options)
        self._rewards[:] = 0  # of steps whose results were dropped; resets write none

    def load(self, data: bytes, rows: NDArray[np.int64], lanes: NDArray[np.int64]) -> Any:
        """As the batch's."""
        observations = self._batch.load(data, rows, lanes)
        self._rewards[lanes] = 0
        return observations

    def send(self, actions: Any, env_id: Any):
        """As the batch's."""
        count = self._batch_rows if env_id is None else np.size(env_id)
        return self._batch.send(self._joint(actions, count, env_id, "nothing was sent"), env_id)

    def recv(self, timeout: float | None):
        """As the batch's."""
        result = self._batch.recv(timeout)
        # Lanes received are not stepped again before they are sent: their rows lie still.
        self._tell(result[4], result[4]["env_id"])
        return result

    def rollout(self, actions: Any, steps: int, key: int, first_step: int, out: Any = None):
        """As the batch's, a step at a time: there is one row of points per lane."""
        joint: list[Any] = [None] * steps
        if actions is not None:
            given = np.asarray(actions)
            joint = [self._joint(row, len(self._lives)) for row in given]
        outs = self._split_out(out, steps)
        if steps == 0:
            return self._none(self._batch.rollout(None, 0, key, first_step, out))
        results, failed = [], set()
        for t, row in enumerate(joint):
            rows = None if row is None else row[np.newaxis]
            result = self._batch.rollout(rows, 1, key, first_step + t, outs[t])
            if self._batch.failed is not None:
                failed.update(self._batch.failed.tolist())
            infos = result[4]
            points, lives = self._take(slice(None))
            infos.update(rewards=points[np.newaxis], player_lives=self._lives[np.newaxis].copy())
            if "final_info" in infos:
                done = infos["_final_obs"][0]
                infos["final_info"].update(
                    rewards=np.where(done[:, None], points, 0)[np.newaxis],
                    player_lives=np.where(done[:, None], lives, 0)[np.newaxis],
                )
            results.append((*result[:4], infos, self._apart(result[5])))
        *arrays, infos, taken = (
            _rows_of(parts) if out is None or k > 3 or out[k] is None else out[k]
            for k, parts in enumerate(zip(*results, strict=True))
        )
        self._batch.failed = np.array(sorted(failed)) if failed else None
        return (*arrays, infos, taken)

    # ---- actions -----------------------------------------------------------------------------------------------------

    def _joint(self, actions: Any, rows: int, lanes: Any = None, ending: str = "no lane has been stepped"):
        """The checked actions (rows, players) as one number per lane."""
        shape = (rows, self._players)
        try:
            array = np.asarray(actions)
        except ValueError as error:
            raise ValueError(f"actions cannot be read as an array of shape {shape}: {error}") from None
        if array.shape != shape:
            raise ValueError(
                f"actions have shape {array.shape}, but {rows} lanes of {self._players} players need shape {shape}: "
                f"one row per lane, one column per player; {ending}"
            )
        if array.dtype.kind not in "iu":
            raise TypeError(f"actions have dtype {array.dtype}, but the action space needs integers; {ending}")
        wrong = (array < 0) | (array >= self._num_actions)
        if wrong.any():
            row, player = np.argwhere(wrong)[0]
            lane = row if lanes is None else np.atleast_1d(lanes)[row]
            raise ValueError(
                f"action {array[row, player]} of lane {lane}, player {player + 1}, is not in "
                f"0..{self._num_actions - 1}: pass integers from the action space; {ending}"
            )
        return array.astype(np.int64) @ self._powers

    def _apart(self, joint: NDArray[np.int64]) -> NDArray[np.int64]:
        """(..., players) of (...)."""
        return joint[..., np.newaxis] // self._powers % self._num_actions

    # ---- infos -------------------------------------------------------------------------------------------------------

    def _rows(self, lanes: Any, present: NDArray[np.bool_]) -> dict[str, Any]:
        rows = np.arange(len(self._lives), dtype=np.int32)[lanes].repeat(self._players).reshape(-1, self._players)
        return {"players": {"env_id": rows, "_env_id": present.copy()}, "_players": present.copy()}

    def _take(self, lanes: Any) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Points since they were last taken, and lives after the last step; copies."""
        points = self._rewards[lanes].copy()
        self._rewards[lanes] = 0
        if self._treated:
            points *= self._scale
            np.clip(points, *self._bounds, out=points)
        return points, self._step_lives[lanes].copy()

    def _tell(self, infos: dict[str, Any], lanes: Any) -> None:
        """Adds to a step's infos what the players of these lanes got."""
        points, lives = self._take(lanes)
        everywhere = np.ones(len(points), bool)
        present = self._lives[lanes].copy()
        infos.update(rewards=points, _rewards=everywhere, player_lives=present, _player_lives=everywhere.copy())
        infos.update(self._rows(lanes, everywhere))
        if "final_info" in infos:
            done = infos["_final_info"]
            infos["final_info"].update(
                rewards=np.where(done[:, None], points, 0),
                _rewards=done.copy(),
                player_lives=np.where(done[:, None], lives, 0),
                _player_lives=done.copy(),
            )

    def _tell_reset(self, infos: dict[str, Any], mask: NDArray[np.bool_] | None) -> None:
        present = np.ones(len(self._lives), bool) if mask is None else mask.copy()
        infos.update(player_lives=self._lives.copy(), _player_lives=present, **self._rows(slice(None), present))

    # ---- rollouts ----------------------------------------------------------------------------------------------------

    @staticmethod
    def _split_out(out: Any, steps: int) -> list[Any]:
        """The caller's arrays, step by step."""
        if out is None:
            return [None] * steps
        if not isinstance(out, (tuple, list)) or len(out) != 4:
            raise TypeError("out must be four arrays, or None for one of them: observations, rewards, terminations, "
                            "truncations")  # fmt: skip
        for array in out:
            if array is not None and (type(array) is not np.ndarray or len(array) != steps):
                raise ValueError(f"out's arrays must be numpy arrays of {steps} steps, or None")
        return [tuple(None if array is None else array[t : t + 1] for array in out) for t in range(steps)]

    def _none(self, result: tuple[Any, ...]) -> tuple[Any, ...]:
        """A rollout of no steps."""
        *arrays, infos, taken = result
        shape = (0, *self._lives.shape)
        infos.update(rewards=np.empty(shape), player_lives=np.empty(shape, np.int32))
        return (*arrays, infos, self._apart(taken))
