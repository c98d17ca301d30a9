"""What entries of a plan say: each episode is that of a lane of its own that was prepared by the other methods."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import pytest

import batchenv
from helpers.robots import Stand
from helpers.robots import make as make_robots

LANES = 3
Make = Callable[..., batchenv.BatchEnv]


def leaves(observation: Any) -> list[Any]:
    if isinstance(observation, dict):
        return [part for value in observation.values() for part in leaves(value)]
    return [np.asarray(observation)]


class Alone:
    """One lane that plays the episodes of one lane of the planned env."""

    def __init__(self, make: Make, plan: dict[str, Any]):
        self.env, self.plan = make(1, autoreset_mode="Disabled"), plan
        self.env.reset(seed=0)

    def start(self, entry: int) -> Any:
        plan, env = self.plan, self.env
        for name, values in plan.get("params", {}).items():
            env.set_params(**{name: values[entry]})
        seed = plan["seeds"][entry] if "seeds" in plan else None
        snapshot = plan["snapshots"][entry] if "snapshots" in plan else None
        if snapshot is not None:
            return env.restore(snapshot)
        options = plan["options"][entry] if "options" in plan else None
        return env.reset(seed=seed, options=options)[0]


def compare(make: Make, plan: dict[str, Any], actions: Any, modes: tuple[str, ...] = ("NextStep", "SameStep")) -> None:
    for mode in modes:
        env = make(LANES, autoreset_mode=mode)
        count = len(next(iter(next(iter(plan.values())).values())) if "params" in plan else next(iter(plan.values())))
        env.plan(**plan)
        alone = [Alone(make, plan) for _ in range(LANES)]
        first = env.reset()[0]
        numbers = [0] * LANES
        waits = np.zeros(LANES, np.bool_)

        def begin(lane: int, observations: Any) -> None:
            entry = (lane + numbers[lane] * LANES) % count  # noqa: B023
            wanted = alone[lane].start(entry)  # noqa: B023
            for got, right in zip(leaves(observations), leaves(wanted), strict=True):
                assert np.array_equal(got[lane], right[0]), (lane, entry)
            numbers[lane] += 1  # noqa: B023

        for lane in range(LANES):
            begin(lane, first)
        for step in range(len(actions)):
            found = env.step(actions[step])
            for lane in range(LANES):
                if waits[lane]:
                    begin(lane, found[0])
                    continue
                wanted = alone[lane].env.step(actions[step][lane : lane + 1])
                assert found[1][lane] == wanted[1][0]
                assert (found[2][lane], found[3][lane]) == (wanted[2][0], wanted[3][0])
                over = wanted[2][0] or wanted[3][0]
                if over and mode == "SameStep":
                    begin(lane, found[0])
                    continue
                for got, right in zip(leaves(found[0]), leaves(wanted[0]), strict=True):
                    assert np.array_equal(got[lane], right[0])
            if mode == "NextStep":
                waits = found[2] | found[3]
        assert min(numbers) > 1
        env.close()


def maker(env_id: str, **keywords: Any) -> Make:
    return lambda lanes, **more: batchenv.make(env_id, lanes, **keywords, **more)


def pushes(steps: int = 90, choices: int = 2) -> Any:
    return np.random.default_rng(1).integers(0, choices, (steps, LANES))


def forces(env_id: str, steps: int = 60) -> Any:
    with closing(batchenv.make(env_id, LANES)) as env:
        env.action_space.seed(1)
        return np.array([env.action_space.sample() for _ in range(steps)])


OPTIONS = [{"low": 0.01 * k, "high": 0.02 * k + 0.01} for k in range(4)]


def test_options() -> None:
    compare(maker("CartPole-v1"), {"options": [*OPTIONS, None], "seeds": [3, 4, 5, 6, 7]}, pushes())
    compare(maker("CartPole-v1"), {"options": OPTIONS, "seeds": [3, 4, 5, 6]}, pushes())
    options = [{"x_init": 0.1, "y_init": 0.2}, {"x_init": 3.0}]
    compare(maker("Pendulum-v1", max_episode_steps=11), {"options": options, "seeds": [1, 2]}, forces("Pendulum-v1"))


def test_options_of_a_call_come_first() -> None:
    with closing(batchenv.make("CartPole-v1", 2)) as env:
        env.plan(options=[{"low": 0.5, "high": 0.5}])
        assert (env.reset()[0] == 0.5).all()
        assert (env.reset(options={"low": 0.25, "high": 0.25})[0] == 0.25).all()


@pytest.mark.parametrize("keywords", [{}, {"masscart": [1.0, 2.0, 3.0]}], ids=["alike", "lanes differ"])
def test_params(keywords: dict[str, Any]) -> None:
    params = {"length": np.array([0.3, 0.5, 1.0, 0.7]), "gravity": np.array([9.8, 5.0, 20.0, 1.0])}
    if keywords:  # then an episode of a lane has that lane's masscart
        with closing(batchenv.make("CartPole-v1", LANES, **keywords)) as env:
            env.plan(params=params, seeds=[1, 2, 3, 4])
            env.reset()
            assert env.get_params()["length"].tolist() == [0.3, 0.5, 1.0]
            assert env.get_params()["masscart"].tolist() == keywords["masscart"]
            found = env.step(np.ones(LANES, int))[0]
        for lane in range(LANES):
            alone = batchenv.make("CartPole-v1", 1, masscart=keywords["masscart"][lane])
            alone.set_params(length=params["length"][lane], gravity=params["gravity"][lane])
            alone.reset(seed=lane + 1)
            assert np.array_equal(alone.step(np.ones(1, int))[0][0], found[lane])
        return
    compare(maker("CartPole-v1"), {"params": params, "seeds": [1, 2, 3, 4]}, pushes())


def test_params_of_some_lanes_stepped() -> None:
    """Lanes that are stepped elsewhere (scattered ones) bring back what their entries have set."""
    params = {"length": np.array([0.3, 0.5, 1.0, 0.7, 0.9])}
    results = []
    for split in (False, True):
        with closing(batchenv.make("CartPole-v1", 16)) as env:
            plan = env.plan(params=params)
            env.reset(seed=1)
            rows = []
            for step in range(60):
                for lanes in [np.arange(0, 16, 2), np.arange(1, 16, 2)] if split else [np.arange(16)]:
                    env.step(np.full(len(lanes), step % 2), lanes)
                rows.append([*map(np.copy, env.state.values()), env.get_params()["length"], plan.entries])
            results.append(rows)
    assert (results[0][-1][-1] >= 0).sum() > 12
    for one, other in zip(*results, strict=True):
        assert all(map(np.array_equal, one, other))


def test_params_stay_and_can_be_set() -> None:
    with closing(batchenv.make("CartPole-v1", 2)) as env:
        plan = env.plan(params={"length": np.array([0.3, 0.6])})
        env.reset()
        assert env.get_params()["length"].tolist() == [0.3, 0.6]
        env.set_params(length=0.9, lanes=[0])
        env.set_params(gravity=[1.0, 2.0])
        assert env.get_params()["length"].tolist() == [0.9, 0.6]
        env.reset()
        assert env.get_params()["length"].tolist() == [0.3, 0.6]
        assert env.get_params()["gravity"].tolist() == [1.0, 2.0]
        plan.end()
        env.reset()
        assert env.get_params()["length"].tolist() == [0.3, 0.6]


def test_spaces_hold_what_entries_give() -> None:
    with closing(batchenv.make("CartPole-v1", 2)) as env:
        before = env.single_observation_space.high[0]
        plan = env.plan(params={"x_threshold": np.array([2.4, 5.0])})
        assert env.single_observation_space.high[0] == np.float32(10.0) > before
        plan.end()


def snapshots(make: Make, actions: Any, count: int = 4) -> list[batchenv.Snapshot]:
    """Of one lane each, after some steps."""
    with closing(make(1)) as env:
        env.reset(seed=11)
        found = []
        for k in range(count):
            for step in range(k + 2):
                env.step(actions[step][:1])
            found.append(env.snapshot())
        return found


@pytest.mark.parametrize(
    "keywords", [{}, {"frame_stack": 3}, {"time_aware": True}, {"frame_stack": 2, "action_repeat": 2}], ids=str
)
def test_snapshots(keywords: dict[str, Any]) -> None:
    make, actions = maker("CartPole-v1", **keywords), pushes()
    compare(make, {"snapshots": [*snapshots(make, actions), None], "seeds": [None] * 4 + [5]}, actions)


def test_snapshots_of_simulators() -> None:
    make, actions = maker("HalfCheetah-v5", max_episode_steps=20), forces("HalfCheetah-v5")
    compare(make, {"snapshots": [*snapshots(make, actions), None], "seeds": [None] * 4 + [5]}, actions)


def test_snapshots_of_atari() -> None:
    pytest.importorskip("ale_py")
    make, actions = maker("ALE/Pong-v5", max_episode_steps=60), pushes(60, 6)
    compare(make, {"snapshots": [*snapshots(make, actions), None], "seeds": [None] * 4 + [5]}, actions)


def test_a_snapshot_with_the_stream_of_a_seed() -> None:
    """Branches of one state: what is random in FrozenLake comes from the seed."""
    make = maker("FrozenLake-v1")
    with closing(make(1)) as env:
        env.reset(seed=0)
        start = env.snapshot()
    with closing(make(40, autoreset_mode="Disabled")) as env:
        env.plan(snapshots=[start] * 40, seeds=range(40))
        env.reset()
        planned = env.step(np.full(40, 2))[0]
    drawn = [np.random.default_rng(seed).random() for seed in range(40)]
    # A step goes down, right or up with probability 1/3 each.
    assert np.array_equal(planned, np.array([4, 1, 0])[np.searchsorted([1 / 3, 2 / 3, 1.0], drawn, side="right")])


def test_snapshots_that_were_taken_under_a_plan() -> None:
    with closing(batchenv.make("CartPole-v1", 2)) as env:
        env.plan(seeds=[1, 2])
        first = env.reset()[0].copy()
        plan = env.plan(snapshots=env.snapshot([1]))
        plan.extend(snapshots=[env.snapshot(0)])
        env.step(np.ones(2, int))
        assert np.array_equal(env.reset()[0], first[::-1])
        assert plan.entries.tolist() == [0, 1]


def test_seeds_of_other_streams() -> None:
    """DM Control's lanes draw from NumPy's older generator."""
    pytest.importorskip("dm_control")
    compare(
        maker("dm_control/cartpole-swingup-v0", max_episode_steps=15),
        {"seeds": [7, 2**70 + 1, 0, 5]},
        forces("dm_control/cartpole-swingup-v0"),
    )


def test_levels_of_minigrid() -> None:
    compare(maker("MiniGrid-MultiRoom-N2-S4-v0", max_episode_steps=12), {"seeds": [7, 3, 9, 1]}, pushes(60, 7))


def test_fields_of_models() -> None:
    with closing(batchenv.make("Hopper-v5", 1)) as env:
        mass, gravity = (np.asarray(env.get_attr("model")[0].body_mass), np.array([0.0, 0.0, -9.81]))
    params = {
        "body_mass": np.stack([mass * scale for scale in (1, 0.7, 1.4, 1.1)]),
        "gravity": np.stack([gravity * scale for scale in (1, 0.5, 0.9, 1.2)]),
    }
    compare(maker("Hopper-v5"), {"params": params, "seeds": [1, 2, 3, 4]}, forces("Hopper-v5", 80))


def test_tasks_in_numpy() -> None:
    def make(lanes: int, **keywords: Any) -> batchenv.BatchEnv:
        return make_robots(Stand, lanes, max_episode_steps=9, **keywords)

    with closing(make(LANES)) as env:
        env.action_space.seed(1)
        actions = np.array([env.action_space.sample() for _ in range(40)])
        friction = np.asarray(env.get_attr("model")[0].geom_friction)
    compare(make, {"seeds": [1, 2, 3, 4]}, actions)
    params = {"geom_friction": np.stack([friction * scale for scale in (1, 0.5, 2.0)])}
    compare(make, {"params": params, "seeds": [5, 6, 7]}, actions)
