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


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["processes", "asyncio"])
def test_restored_lanes(kind, mode):
    """Restoring counts nothing, and the returns of these lanes begin anew, as those of lanes in C do."""
    both = [make(one, autoreset_mode=mode, snapshots="pickle") for one in (kind, "serial")]
    same((env.reset(seed=3) for env in both), "reset")
    rng, saved = np.random.default_rng(2), None
    for step in range(30):
        if step == 12:
            saved = [env.snapshot() for env in both]
        if step in (13, 20):
            lanes = None if step == 13 else [4, 1]
            rows = None if step == 13 else [0, 3]
            seen = [env.restore(one, lanes, rows=rows) for env, one in zip(both, saved, strict=True)]
            assert_same(*seen, f"restored at {step}")
            assert_moments(*both)
        actions = rng.integers(3, size=LANES)
        result, _ = same((env.step(actions) for env in both), f"step {step}")
        done = result[2] | result[3]
        assert_moments(*both)
        if mode.value == "Disabled" and done.any():
            same((env.reset(options={"reset_mask": done.copy()}) for env in both), f"reset at {step}")


def test_restored_with_wrong_moments():
    env = make("processes", snapshots="pickle")
    env.reset(seed=1)
    saved = env.snapshot()
    env.normalizer.obs_rms.mean = "nothing"
    with pytest.raises(TypeError, match="must be numbers"):
        env.restore(saved)
    env.normalizer.obs_rms.mean = 0.0
    env.step(np.zeros(LANES, int))
