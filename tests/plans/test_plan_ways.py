"""Lanes take the same entries of a plan, whatever steps them: compared with a loop over single environments of
Gymnasium that resets them with the seeds that the plan says."""

from __future__ import annotations

import importlib
import os
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest

import batchenv

LANES, STEPS, SEEDS = 5, 150, list(range(70, 81))


def expected(env_id: str, actions: Any, mode: str, item: Any) -> list[list[Any]]:
    """What each step of each lane gives: (observation, reward, terminated, truncated, entry of an episode that ends).
    item: a function (lane, number of the episode) that gives an entry."""
    lanes = []
    for lane in range(LANES):
        env, episode, rows = gymnasium.make(env_id), 0, []
        entry = item(lane, 0)
        env.reset(seed=SEEDS[entry])
        waits = False
        for action in actions[:, lane]:
            if waits:
                episode += 1
                entry = item(lane, episode)
                rows.append((env.reset(seed=SEEDS[entry])[0], 0.0, False, False, -1))
                waits = False
                continue
            observation, reward, terminated, truncated, _ = env.step(action)
            over = terminated or truncated
            ended = entry if over else -1
            if over and mode == "SameStep":
                episode += 1
                entry = item(lane, episode)
                observation = env.reset(seed=SEEDS[entry])[0]
            waits = over and mode == "NextStep"
            rows.append((observation, reward, terminated, truncated, ended))
        lanes.append(rows)
    return lanes


def dealt(lane: int, episode: int) -> int:
    return (lane + episode * LANES) % len(SEEDS)


def same(found: tuple[Any, ...], row: int, wanted: tuple[Any, ...]) -> None:
    observations, rewards, terminations, truncations, infos = found
    assert np.array_equal(observations[row], wanted[0])
    assert rewards[row] == wanted[1]
    assert (terminations[row], truncations[row]) == wanted[2:4]
    entry = infos["episode"]["entry"][row] if "episode" in infos else -1
    assert entry == wanted[4]
    if wanted[4] >= 0:
        assert infos["_episode"][row]
        assert infos["episode"]["label"][row] == f"level {wanted[4]}"


def make(mode: str, **keywords: Any) -> batchenv.BatchEnv:
    env = batchenv.make("CartPole-v1", LANES, autoreset_mode=mode, **keywords)
    env.plan(seeds=SEEDS, labels=[f"level {k}" for k in range(len(SEEDS))])
    return env


def policy(steps: int = STEPS) -> Any:
    return np.random.default_rng(3).integers(0, 2, (steps, LANES))


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("keywords", [{"num_threads": 1}, {"num_threads": 2}, {"record_episode_statistics": True}])
def test_steps(mode: str, keywords: dict[str, Any]) -> None:
    actions = policy()
    wanted = expected("CartPole-v1", actions, mode, dealt)
    with closing(make(mode, **keywords)) as env:
        env.reset()
        for step in range(STEPS):
            found = env.step(actions[step])
            for lane in range(LANES):
                same(found, lane, wanted[lane][step])


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_some_lanes(mode: str) -> None:
    actions = policy()
    wanted = expected("CartPole-v1", actions, mode, dealt)
    with closing(make(mode)) as env:
        env.reset()
        for step in range(STEPS):
            for lanes in ([3, 0], [1, 4, 2]):
                found = env.step(actions[step][lanes], np.array(lanes))
                for row, lane in enumerate(lanes):
                    same(found, row, wanted[lane][step])


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("batch_size", [2, LANES])
def test_send_and_recv(mode: str, batch_size: int) -> None:
    actions = policy()
    wanted = expected("CartPole-v1", actions, mode, dealt)
    with closing(make(mode, batch_size=batch_size)) as env:
        env.async_reset()
        taken = [-1] * LANES
        while min(taken) < STEPS - 1:
            found = env.recv()
            for row, lane in enumerate(found[4]["env_id"]):
                if 0 <= taken[lane] < STEPS:
                    same(found, row, wanted[lane][taken[lane]])
                taken[lane] += 1
            lanes = found[4]["env_id"]
            env.send(np.array([actions[min(taken[lane], STEPS - 1), lane] for lane in lanes]), lanes)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_rollout(mode: str) -> None:
    actions = policy()
    wanted = expected("CartPole-v1", actions, mode, dealt)
    with closing(make(mode)) as env:
        env.reset()
        start = 0
        for length in (1, 40, STEPS - 41):
            rollout = env.rollout(actions[start : start + length])
            for step in range(length):
                infos = {
                    "_episode": rollout.infos["_episode"][step],
                    "episode": {name: values[step] for name, values in rollout.infos["episode"].items()},
                }
                found = (*(array[step] for array in rollout[:4]), infos)
                for lane in range(LANES):
                    same(found, lane, wanted[lane][start + step])
            start += length


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize(
    "keywords",
    [
        {"workers": "serial"},
        {"workers": "threads", "num_threads": 2},
        {"workers": "processes", "num_workers": 2},
        {"workers": "asyncio"},
        {"workers": "processes", "num_workers": 2, "record_episode_statistics": True},
    ],
)
def test_python_envs(mode: str, keywords: dict[str, Any]) -> None:
    actions = policy(80)
    wanted = expected("CartPole-v1", actions, mode, dealt)
    env = batchenv.make_python(lambda: gymnasium.make("CartPole-v1"), LANES, autoreset_mode=mode, **keywords)
    with closing(env):
        env.plan(seeds=SEEDS, labels=[f"level {k}" for k in range(len(SEEDS))])
        env.reset()
        for step in range(80):
            found = env.step(actions[step])
            for lane in range(LANES):
                same(found, lane, wanted[lane][step])


@pytest.mark.parametrize("recorded", [False, True])
def test_a_life_lost_takes_no_entry(recorded: bool) -> None:
    """Where an episode ends with a life, the game goes on, and with it the entry and its random stream."""
    pytest.importorskip("ale_py")
    actions = np.random.default_rng(0).integers(0, 4, (700, 2))
    steps = []
    for episodic in (True, False):
        env = batchenv.make(
            "ALE/Breakout-v5", 2, episodic_life=episodic, record_episode_statistics=recorded, autoreset_mode="SameStep",
            noop_max=0,
        )  # fmt: skip
        with closing(env):
            plan = env.plan(seeds=[3, 4, 5], labels=["x", "y", "z"])
            env.reset()
            found = []
            for row in actions:
                infos = env.step(row)[4]
                entries = infos["episode"]["entry"] if "episode" in infos else np.full(2, -1)
                ends = infos["_episode"] if "episode" in infos else np.zeros(2, np.bool_)
                assert np.array_equal(entries >= 0, ends)
                found.append((entries, plan.entries))
            steps.append(found)
    lived = [entries[entries >= 0] for entries, _ in steps[0]]
    assert sum(map(len, lived)) >= 2  # whole games
    if not recorded:
        return
    ends = [np.concatenate([entries[entries >= 0] for entries, _ in found]) for found in steps]
    assert set(ends[0].tolist()) <= {0, 1, 2} and set(ends[1].tolist()) <= {0, 1, 2}


def test_workers_that_die_follow_the_plan_on(tmp_path: Any) -> None:
    """The process that takes a dead one's place knows the plan, and goes on where the lane was."""
    env = batchenv.make_python(
        lambda: Mortal(str(tmp_path / "once")), 2, workers="processes", num_workers=2, on_failure="restart"
    )
    with closing(env):
        plan = env.plan(seeds=range(50, 60), labels=np.arange(50, 60))
        seeds = [env.reset()[0].tolist()]
        died = 0
        for _ in range(8):
            try:
                observations, _, _, truncations, infos = env.step(np.zeros(2, int))
            except batchenv.LaneError as error:
                died += 1
                observations, _, _, truncations, infos = error.result
            if "episode" in infos and truncations.all() and died == 0:
                assert infos["episode"]["label"].tolist() == seeds[-1]
            seeds.append(observations.tolist())
        assert died == 1
        assert plan.entries.tolist() == [int(seed) - 50 for seed in seeds[-1]]
    shown = [seed for pair in seeds for seed in pair if seed >= 50]
    assert all((seed - 50) % 2 == lane for pair in seeds for lane, seed in enumerate(pair) if seed >= 50)
    assert {50, 51, 52, 53} <= set(map(int, shown))


class Mortal(gymnasium.Env):
    """Shows the seed of its last reset; episodes have one step. The process ends once, in a step of seed 52."""

    observation_space = gymnasium.spaces.Box(0, 1e9, (), np.float64)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, mark: str):
        self.mark, self.seed = mark, 0.0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.seed = float(-1 if seed is None else seed)
        return self.seed, {}

    def step(self, action: Any) -> Any:
        if self.seed == 52 and not os.path.exists(self.mark):
            open(self.mark, "w").close()
            os._exit(1)
        return self.seed, 0.0, False, True, {}


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_xla(mode: str) -> None:
    jax = pytest.importorskip("jax")
    actions = policy()
    env, other = make(mode), make(mode)
    with closing(env), closing(other):
        env.reset()
        other.reset()
        handle, _, _, step = env.xla()
        step = jax.jit(step)
        for row in actions:
            handle, found = step(handle, row)
            wanted = other.step(row)
            assert all(np.array_equal(np.asarray(a), b) for a, b in zip(found[:4], wanted[:4], strict=True))
        assert np.array_equal(env.present_plan.entries, other.present_plan.entries)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_states_of_jax(mode: str) -> None:
    """A state holds its lanes' places: what is stepped again takes the same entries again."""
    jax = pytest.importorskip("jax")
    functions = importlib.import_module("batchenv.integrations.jax")
    actions = policy()
    plan = {"seeds": SEEDS}
    env = functions.make("CartPole-v1", LANES, plan=plan, autoreset_mode=mode)
    with closing(env), closing(batchenv.make("CartPole-v1", LANES, autoreset_mode=mode)) as other:
        other.plan(**plan)
        start, observations = env.init(None)
        assert np.array_equal(observations, other.reset()[0])
        wanted = [tuple(map(np.copy, other.step(row)[:4])) for row in actions]
        step = jax.jit(env.step)
        for _ in range(2):
            state = start
            for row, right in zip(actions, wanted, strict=True):
                state, found = step(state, row)
                assert all(np.array_equal(np.asarray(a), b) for a, b in zip(found[:4], right, strict=True))
        rolled = env.rollout(start, actions)[1]
        assert np.array_equal(rolled.observation, [right[0] for right in wanted])
        # Twice as many lanes, in a program that maps over states: each goes the way of its own.
        twice = jax.tree.map(lambda leaf: np.stack([leaf, leaf[::-1]]), start)
        both = jax.vmap(env.step)
        for row, right in zip(actions[:60], wanted, strict=False):
            twice, found = both(twice, np.stack([row, row[::-1]]))
            assert np.array_equal(found.observation[0], right[0])
            assert np.array_equal(found.observation[1], right[0][::-1])
        # After init(seed) the first episodes are that seed's, and the next ones the plan's first.
        state, observations = env.init(9)
        assert np.array_equal(observations, other.reset(seed=9)[0])
        with pytest.raises(Exception, match="a place in a plan that there is not"):
            columns = [np.array(column) for column in state.columns]
            columns[-1][:] = 255
            step(functions.State(tuple(columns)), actions[0])
    with pytest.raises(TypeError, match="'labels' cannot be part of a state"):
        functions.make("CartPole-v1", LANES, plan={"labels": [1]})
