"""What a plan refuses, and that the plan before stays."""

from __future__ import annotations

import re
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest

import batchenv

REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({}, ValueError, "a plan needs entries"),
    ({"seeds": []}, ValueError, "seeds is empty"),
    ({"seeds": 5}, TypeError, "seeds=5 must be a list"),
    ({"seeds": [1, -1]}, ValueError, "seeds[1]"),
    ({"seeds": [1, 1.5]}, TypeError, "seeds[1]"),
    ({"seeds": [1, 2], "labels": ["a"]}, ValueError, "their lengths are {'seeds': 2, 'labels': 1}"),
    ({"options": {"low": 1}}, TypeError, "not one dict"),
    ({"options": [{"lo": 1}]}, ValueError, "options[0]: options={'lo': 1}: CartPole-v1 has no such reset option"),
    ({"options": [None, {"low": 2, "high": 1}]}, ValueError, "options[1]: Lower bound"),
    ({"options": [{"reset_mask": [True]}]}, ValueError, "options[0]: a reset_mask"),
    ({"params": {"gravity": 9.0}}, TypeError, "params['gravity']=9.0 must be an array"),
    ({"params": {"gravty": [9.0]}}, TypeError, "gravity"),
    ({"params": {"gravity": ["x"]}}, TypeError, "params['gravity'] has dtype"),
    ({"params": {"gravity": [1.0, np.nan]}}, ValueError, "entry 1 of the plan"),
    ({"params": {"length": [-1.0]}}, ValueError, "entry 0 of the plan"),
    ({"params": {"sutton_barto_reward": [True]}}, ValueError, "one value for all lanes"),
    ({"params": [1]}, TypeError, "params=[1] must be a dict"),
    ({"snapshots": [b"xyz"]}, ValueError, "snapshots[0] holds 0 lanes"),
    ({"snapshots": ["xyz"]}, TypeError, "must be a batchenv.Snapshot"),
    ({"seeds": [1], "order": "random"}, ValueError, "order='random' must be one of 'in_order', 'shuffled', 'sampled'"),
    ({"seeds": [1], "order": "shuffled", "weights": [1]}, ValueError, "weights are for order='sampled'"),
    ({"seeds": [1, 2], "weights": [1]}, ValueError, "weights has shape (1,)"),
    ({"seeds": [1, 2], "weights": [1, -1]}, ValueError, "weights[1]=-1.0"),
    ({"seeds": [1, 2], "weights": [1, np.inf]}, ValueError, "weights[1]=inf"),
    ({"seeds": [1, 2], "weights": [0, 0]}, ValueError, "need a finite sum above 0"),
    ({"seeds": [1, 2], "weights": [[1, 0], [0, 0], [1, 1]]}, ValueError, "the weights of lane 1 sum to 0.0"),
    ({"seeds": [1, 2], "weights": [1e308, 1e308]}, ValueError, "need a finite sum"),
    ({"seeds": [1, 2], "weights": ["a", "b"]}, TypeError, "weights="),
    ({"seeds": [1], "order": "sampled", "repeat": False}, ValueError, "for ever"),
    ({"seeds": [1], "repeat": 1}, TypeError, "repeat=1"),
    ({"seeds": [1], "seed": -1}, ValueError, "seed=-1"),
    ({"seeds": [1, 2], "lanes": [0, 3]}, ValueError, "lanes[1]=3 must be in 0..2"),
    ({"seeds": [1, 2], "lanes": [0]}, ValueError, "lanes="),
    ({"seeds": [1, 2], "lanes": [0, 1], "order": "sampled"}, ValueError, "lanes are for"),
]


@pytest.mark.parametrize(("plan", "error", "message"), REFUSED, ids=[str(k) for k in range(len(REFUSED))])
def test_refused(plan: dict[str, Any], error: type[Exception], message: str) -> None:
    with closing(batchenv.make("CartPole-v1", 3)) as env:
        before = env.plan(seeds=[1, 2, 3, 4])
        env.reset()
        state = env.state
        with pytest.raises(error, match=re.escape(message)):
            env.plan(**plan)
        assert env.present_plan is before
        assert all(np.array_equal(state[name], value) for name, value in env.state.items())
        env.reset()
        assert before.entries.tolist() == [3, 0, 1]


def test_a_snapshot_that_cannot_be_a_start() -> None:
    with closing(batchenv.make("CartPole-v1", 1)) as env:
        env.reset(seed=0)
        while not env.step(np.ones(1, int))[2][0]:
            pass
        ended = env.snapshot()
        with pytest.raises(ValueError, match=r"snapshots\[0\] is of a lane that has finished"):
            env.plan(snapshots=ended)
        foreign = batchenv.make("Acrobot-v1", 1)
        foreign.reset(seed=0)
        with pytest.raises(ValueError, match="not a snapshot for this environment"):
            env.plan(snapshots=foreign.snapshot())
        env.reset()
        env.set_params(gravity=5.0)
        heavy = env.snapshot()
        env.set_params(gravity=9.8)
        with pytest.raises(ValueError, match=r"of a lane with gravity=5.0, and the lanes of this env have 9.8"):
            env.plan(snapshots=heavy)
        env.plan(snapshots=heavy, params={"gravity": [5.0]})


def test_lanes_in_flight() -> None:
    with closing(batchenv.make("CartPole-v1", 3)) as env:
        plan = env.plan(seeds=[1, 2], weights=[1, 1])
        env.async_reset()
        for call in (lambda: env.plan(seeds=[1]), env.end_plan, plan.end, lambda: plan.extend(seeds=[1])):
            with pytest.raises(RuntimeError, match="in flight"):
                call()
        assert env.present_plan is plan
        plan.weights = [0, 1]  # which does not change what they have done
        env.recv()
        env.reset()
        assert (plan.entries == 1).all()


def test_what_a_plan_of_another_kind_cannot() -> None:
    with closing(batchenv.make("CartPole-v1", 2)) as env:
        plan = env.plan(seeds=[1, 2], order="shuffled")
        with pytest.raises(ValueError, match="shuffled plan cannot grow"):
            plan.extend(seeds=[1])
        with pytest.raises(ValueError, match="has no weights"):
            plan.weights = [1, 2]
        plan = env.plan(seeds=[1, 2])
        with pytest.raises(ValueError, match="the new entries of the plan have labels, and the present ones have none"):
            plan.extend(seeds=[1], labels=["a"])
        with pytest.raises(ValueError, match="the present entries of the plan have seeds"):
            plan.extend(labels=["a"])
        with pytest.raises(ValueError, match="leave them out"):
            plan.extend(seeds=[1], weights=[1])
        with pytest.raises(ValueError, match="the plan has none"):
            plan.extend(seeds=[1], lanes=[0])
        assert len(plan) == 2


def test_python_envs() -> None:
    for workers in ("serial", "processes", "asyncio"):
        with closing(batchenv.make_python(lambda: gymnasium.make("CartPole-v1"), 2, workers=workers)) as env:
            with pytest.raises(NotImplementedError, match="let entries have options"):
                env.plan(params={"gravity": [1.0]})
            with pytest.raises(NotImplementedError, match="cannot start episodes from them"):
                env.plan(snapshots=[batchenv.Snapshot(bytes(24) + b"\1" + bytes(15))])
            assert env.present_plan is None


def test_an_env_with_an_info_of_this_name_keeps_it() -> None:
    """Wrappers of Python envs say `episode`, too: their keys stay beside those of the plan."""

    def make() -> gymnasium.Env:
        return gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("CartPole-v1"))

    for workers in ("serial", "processes"):
        with closing(batchenv.make_python(make, 2, workers=workers)) as env:
            env.plan(seeds=[5, 6, 7], labels=[10, 20, 30])
            env.reset()
            for _ in range(30):
                infos = env.step(np.ones(2, int))[4]
                if "episode" in infos:
                    break
            ended = np.flatnonzero(infos["_episode"])
            assert (infos["episode"]["l"][ended] > 5).all()
            assert infos["episode"]["label"][ended].tolist() == [[10, 20][lane] for lane in ended]
