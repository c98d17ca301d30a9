"""Normalized observations and rewards: the moments are of all lanes, wherever these are stepped."""

import numpy as np
import pytest

import batchenv
from helpers.parity import MODES, assert_same
from helpers.python_envs import ARRAYS, Anything

LANES = 5
OPTIONS = {"normalize_observation": True, "normalize_reward": 0.9, "clip_observation": (-2.0, 2.0)}


def make(kind, **options):
    if kind == "processes":
        options["num_workers"] = 2
    return batchenv.make_python(lambda: Anything(ARRAYS["double"]), LANES, workers=kind, **OPTIONS, **options)


def same(results, where):
    """Requires that both are the same, and returns them. Infos may be a dict of the C core's."""
    results = [(*result[:-1], dict(result[-1])) for result in results]
    assert_same(*results, where)
    return results


def assert_moments(*envs):
    one, other = envs
    for name in ("mean", "var", "count"):
        for attribute, moments in (("normalizer", "obs_rms"), ("reward_normalizer", "return_rms")):
            mine, theirs = (np.asarray(getattr(getattr(getattr(env, attribute), moments), name)) for env in envs)
            assert mine.tobytes() == theirs.tobytes(), f"{moments}.{name}"
    np.testing.assert_array_equal(one.reward_normalizer.accumulated_reward, other.reward_normalizer.accumulated_reward)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["processes", "asyncio"])
def test_steps_and_resets(kind, mode):
    """As in one process. Episodes end, some lanes or all are reset before they have ended."""
    both = [make(one, autoreset_mode=mode) for one in (kind, "serial")]
    rng, done = np.random.default_rng(1), np.zeros(LANES, bool)
    same((env.reset(seed=3) for env in both), "reset")
    for step in range(60):
        mask = done if mode.value == "Disabled" else np.arange(LANES) < 2
        if step == 30:
            same((env.reset() for env in both), "second reset")
        elif mask.any() and (mask is done or step % 20 == 19):
            same((env.reset(options={"reset_mask": mask.copy()}) for env in both), f"reset at {step}")
        actions = rng.integers(3, size=LANES)
        result, _ = same((env.step(actions) for env in both), f"step {step}")
        done = result[2] | result[3]
        assert_moments(*both)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_lanes_in_flight(mode):
    both = [make(kind, autoreset_mode=mode, batch_size=LANES) for kind in ("processes", "serial")]
    for env in both:
        env.async_reset(seed=3)
    for step in range(40):
        same((env.recv() for env in both), step)
        assert_moments(*both)
        for env in both:
            env.send(np.ones(LANES, int))
