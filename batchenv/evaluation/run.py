"""Plays the episodes of an evaluation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from numpy.typing import NDArray

from batchenv.arguments.messages import unknown_key
from batchenv.arguments.numbers import brief, integer
from batchenv.env.batch_env import BatchEnv
from batchenv.evaluation.policies import Act, actor
from batchenv.evaluation.result import Evaluation
from batchenv.evaluation.videos import Videos
from batchenv.make import make

_SUCCESS = ("success", "is_success")
_LANES = 64


def evaluate(
    env: str | VectorEnv[Any, Any, Any], policy: Any, episodes: int | None = None, *,
    seeds: Sequence[int] | None = None, seed: int = 0, options: dict[str, Any] | None = None,
    num_envs: int | None = None, infos: Sequence[str] = (), deterministic: bool = True, progress: bool = False,
    video: str | os.PathLike[str] | None = None, video_episodes: Sequence[int] = (0,), **kwargs: Any,
) -> Evaluation:  # fmt: skip
    """Plays episodes, each planned one exactly once, however long the others are: counting the first episodes that end
    would prefer short ones.

    Args:
        env: an id of `batchenv.make`, or any vector env of Gymnasium's API in any autoreset mode; it is not closed. The
            lanes of batchenv's, and of Gymnasium's SyncVectorEnv and AsyncVectorEnv, get a seed for each episode. In
            others, each lane plays an equal share of the episodes, whose seeds are the env's own.
        policy: a function of the observations of all lanes (as the env returns them) that returns their actions; it may
            take a second argument, a bool array (num_envs,) that says where episodes have just begun. Or a torch
            module, which gets tensors on its own device; a model with Stable-Baselines3's `predict`, also a recurrent
            one; or "random".
        episodes: how many. None: as many as `seeds=` has, or 100.
        seeds: of the episodes. None: seed, seed + 1, ...
        options: of each reset.
        num_envs: of an env that is made from an id; None: as many as there are episodes, but at most 64.
        infos: names of infos whose values in the last step of each episode go into the table; "a/b" is infos["a"]["b"].
        deterministic: given to `predict`.
        progress: shows a bar (tqdm).
        video: a folder for videos of `video_episodes`, which are places in the plan, counted from 0. An env that was
            not made here needs render_mode="rgb_array".
        kwargs: keywords of `batchenv.make`, if `env` is an id.

    Returns:
        an `Evaluation`: a table of episodes in the order of the plan, with a `summary` and `to_pandas`.

    Raises:
        TypeError, ValueError: a wrong argument; or an env that cannot be evaluated, with the reason.
        gymnasium.error.DependencyNotInstalled: a package is missing that was asked for.
    """
    chosen = _seeds(episodes, seeds, seed)
    if isinstance(env, str):
        count = integer("num_envs", min(len(chosen), _LANES) if num_envs is None else num_envs, 1, None)
        wanted = {"autoreset_mode": "Disabled"} | ({} if video is None else {"render_mode": "rgb_array"})
        clash = sorted(wanted.keys() & kwargs.keys())
        if clash:
            raise TypeError(f"{clash[0]} is what evaluate() says itself: leave it out, or give it an env")
        made = make(env, count, **wanted, **kwargs)
        try:
            return evaluate(
                made, policy, seeds=chosen, seed=seed, options=options, infos=infos, deterministic=deterministic,
                progress=progress, video=video, video_episodes=video_episodes,
            )  # fmt: skip
        finally:
            made.close()
    if not isinstance(env, VectorEnv):
        raise TypeError(f"env={brief(env)} must be an id or a gymnasium.vector.VectorEnv, not {type(env).__name__}")
    for name in (*kwargs, *(["num_envs"] if num_envs is not None else [])):
        raise TypeError(f"{name} is a keyword for an env that evaluate() makes from an id, but env is one already")
    run = _Run(env, chosen, options, infos, Videos(video, video_episodes, env))
    if seeds is not None and not run.seeded:
        raise ValueError(
            f"seeds: {type(env.unwrapped).__name__} is not known to take options={{'reset_mask': ...}}, by which "
            "single lanes get the seeds of their episodes: leave out seeds"
        )
    return run.play(actor(policy, env, seed, deterministic), seed, progress)


def _seeds(episodes: int | None, seeds: Sequence[int] | None, seed: int) -> list[int]:
    if seeds is None:
        count = integer("episodes", 100 if episodes is None else episodes, 1, None)
        return list(range(integer("seed", seed, 0, None), seed + count))
    chosen = [integer(f"seeds[{k}]", one, 0, 2**63 - 1) for k, one in enumerate(seeds)]
    if not chosen or episodes not in (None, len(chosen)):
        raise ValueError(f"seeds has {len(chosen)} numbers, for episodes={episodes}: give one of them, at least one")
    return chosen


class _Run:
    """Plays the episodes of a plan.

    Attributes:
        seeded: whether each episode gets its seed.
    """

    def __init__(
        self, env: Any, seeds: list[int], options: dict[str, Any] | None, infos: Sequence[str], videos: Videos
    ):
        base = env.unwrapped
        if isinstance(base, BatchEnv) and base.is_async:
            raise ValueError("evaluate() steps all lanes in turn: it needs an env without batch_size")
        self.seeded = isinstance(base, (BatchEnv, SyncVectorEnv, AsyncVectorEnv))
        self._mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        if not self.seeded and self._mode is AutoresetMode.DISABLED:
            raise ValueError(
                f"{type(base).__name__} has autoreset disabled, and is not known to take options={{'reset_mask': "
                "...}}: make it with another autoreset mode"
            )
        self._env, self._seeds, self._options = env, seeds, options or {}
        self._names, self._videos = tuple(infos), videos
        self._single = isinstance(env, BatchEnv)  # lanes may be stepped without the others
        self._next = min(env.num_envs, len(seeds))  # the first episode that no lane plays yet
        self._episode = np.full(env.num_envs, -1)  # what each lane plays; -1: nothing
        self._episode[: self._next] = np.arange(self._next)
        self._total, self._length = np.zeros(env.num_envs), np.zeros(env.num_envs, np.int64)
        self._players: NDArray[np.float64] | None = None
        self._rows: list[dict[str, Any] | None] = [None] * len(seeds)

    def play(self, act: Act, seed: int, progress: bool) -> Evaluation:
        env, count = self._env, self._env.num_envs
        bar = _bar(len(self._seeds)) if progress else None
        starts, resetting = np.ones(count, np.bool_), np.zeros(count, np.bool_)
        first = [*self._seeds[: self._next], *[None] * (count - self._next)]
        observations, _ = env.reset(seed=first if self.seeded else seed, options={**self._options} or None)
        try:
            self._videos.take(self._playing())
            while (self._episode >= 0).any():
                actions = act(observations, starts)
                lanes = np.arange(count)
                if self._single and (self._episode < 0).any():
                    lanes = np.flatnonzero(self._episode >= 0)
                    result = env.step(_taken(actions, lanes), lanes)
                    observations = _put(observations, result[0], lanes)
                else:
                    result = env.step(actions)
                    observations = result[0]
                _, rewards, terminated, truncated, infos = result
                counted = (self._episode[lanes] >= 0) & ~resetting[lanes]
                self._count(lanes[counted], np.asarray(rewards)[counted], infos, counted)
                ended = np.asarray(terminated, np.bool_) | np.asarray(truncated, np.bool_)
                self._videos.take({lane: episode for lane, episode in self._playing().items() if not resetting[lane]})
                starts, resetting = resetting & (self._episode >= 0), np.zeros(count, np.bool_)
                for k in np.flatnonzero(ended & counted).tolist():
                    self._end(int(lanes[k]), k, bool(terminated[k]), infos)
                    if bar is not None:
                        bar.update()
                due = np.zeros(count, np.bool_)
                due[lanes[ended]] = True
                if not self.seeded:
                    if self._mode is AutoresetMode.NEXT_STEP:
                        resetting = due
                    else:
                        starts = due
                    continue
                if self._single:
                    due &= self._episode >= 0
                if due.any():  # idle lanes of other envs, too: they are stepped with the rest
                    given = [self._seeds[e] if d and e >= 0 else None for d, e in zip(due, self._episode, strict=True)]
                    observations, _ = env.reset(seed=given, options={**self._options, "reset_mask": due})
                    starts = due.copy()
                    self._videos.take({lane: episode for lane, episode in self._playing().items() if due[lane]})
        finally:
            if bar is not None:
                bar.close()
        return self._result()

    def _playing(self) -> dict[int, int]:
        return {lane: episode for lane, episode in enumerate(self._episode.tolist()) if episode >= 0}

    def _count(
        self, lanes: NDArray[np.int64], rewards: NDArray[Any], infos: dict[str, Any], counted: NDArray[np.bool_]
    ) -> None:
        """Counts a step of these lanes; counted: which rows are theirs."""
        self._total[lanes] += rewards
        self._length[lanes] += 1
        each = infos.get("rewards")
        if isinstance(each, np.ndarray) and each.ndim > 1 and each.dtype.kind in "fiu":
            if self._players is None:
                self._players = np.zeros((len(self._total), *each.shape[1:]))
            self._players[lanes] += each[counted]

    def _end(self, lane: int, row: int, terminated: bool, infos: dict[str, Any]) -> None:
        """Notes that a lane's episode has ended, and lets it play the next one."""
        last = infos.get("final_info", infos) if self._mode is AutoresetMode.SAME_STEP else infos
        values = {name: _value(last, name, row, required=True) for name in self._names}
        success = [value for name in _SUCCESS if (value := _value(last, name, row, required=False)) is not None]
        episode = int(self._episode[lane])
        self._rows[episode] = {
            "return": self._total[lane], "length": self._length[lane], "terminated": terminated, "lane": lane,
            "success": success[0] if success else None, "infos": values,
            "players": None if self._players is None else self._players[lane].copy(),
        }  # fmt: skip
        self._videos.finish(episode)
        self._total[lane] = self._length[lane] = 0
        if self._players is not None:
            self._players[lane] = 0
        if self.seeded:
            self._episode[lane] = self._next if self._next < len(self._seeds) else -1
            self._next += 1
        else:  # so that a lane's share does not depend on how long its episodes are
            later = episode + len(self._episode)
            self._episode[lane] = later if later < len(self._seeds) else -1

    def _result(self) -> Evaluation:
        rows = [row for row in self._rows if row is not None]

        def column(name: str, dtype: Any) -> NDArray[Any]:
            return np.array([row[name] for row in rows], dtype)

        successes = [row["success"] for row in rows]
        return Evaluation(
            seeds=np.array(self._seeds, np.int64) if self.seeded else None,
            returns=column("return", np.float64),
            lengths=column("length", np.int64),
            terminated=column("terminated", np.bool_),
            lanes=column("lane", np.int64),
            successes=None if all(one is None for one in successes) else np.array([bool(one) for one in successes]),
            player_returns=None if self._players is None else column("players", np.float64),
            infos={name: np.array([row["infos"][name] for row in rows]) for name in self._names},
        )


def _value(infos: dict[str, Any], name: str, row: int, required: bool) -> Any:
    """The value of an info in a row. It is 0 where an array has none; not required: then it is None."""
    *groups, key = name.split("/")
    group: Any = infos
    for part in groups:
        group = group.get(part, {}) if isinstance(group, dict) else {}
    if not isinstance(group, dict) or key not in group:
        if required:
            raise ValueError(unknown_key(f"infos: the env has no info {name!r} at the end of an episode", name, infos))
        return None
    values = group[key]
    if isinstance(values, dict):
        raise ValueError(f"infos: {name!r} is a dict: name a part of it, as in {f'{name}/{next(iter(values), key)}'!r}")
    mask = group.get(f"_{key}")
    if not required and mask is not None and not mask[row]:
        return None
    return np.copy(values[row]) if isinstance(values, np.ndarray) and values.ndim > 1 else values[row]


def _taken(tree: Any, lanes: NDArray[np.int64]) -> Any:
    """The rows of these lanes, of actions."""
    if isinstance(tree, dict):
        return {name: _taken(part, lanes) for name, part in tree.items()}
    if isinstance(tree, tuple):
        return tuple(_taken(part, lanes) for part in tree)
    return np.asarray(tree)[lanes]


def _put(tree: Any, rows: Any, lanes: NDArray[np.int64]) -> Any:
    """Observations with new rows of these lanes."""
    if isinstance(tree, dict):
        return {name: _put(part, rows[name], lanes) for name, part in tree.items()}
    if isinstance(tree, tuple) and tree and isinstance(tree[0], str):  # texts: one per lane
        texts = list(tree)
        for lane, text in zip(lanes.tolist(), rows, strict=True):
            texts[lane] = text
        return tuple(texts)
    if isinstance(tree, tuple):
        return tuple(_put(part, new, lanes) for part, new in zip(tree, rows, strict=True))
    changed = np.array(tree)
    changed[lanes] = rows
    return changed


def _bar(total: int) -> Any:
    try:
        import tqdm  # pyright: ignore[reportMissingModuleSource]
    except ImportError as error:
        raise DependencyNotInstalled('progress=True needs tqdm: pip install "batchenv[evaluate]"') from error
    return tqdm.tqdm(total=total, unit="episode")
