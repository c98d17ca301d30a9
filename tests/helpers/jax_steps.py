"""Compares what programs of JAX get with what BatchEnv returns. To be imported after JAX."""

import gymnasium
import jax
import numpy as np
import pytest

STEPS = 70
MODES = ["NextStep", "SameStep", "Disabled"]


def narrowed(value):
    """As JAX has it without 64 bits."""
    value = np.asarray(value)
    return value.astype(jax.dtypes.canonicalize_dtype(value.dtype))


def assert_same(found, expected, what):
    if isinstance(expected, dict):
        for key, value in expected.items():
            assert_same(found[key], value, f"{what}[{key!r}]")
    elif isinstance(expected, tuple):
        assert len(found) == len(expected), what
        for k, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_same(one, other, f"{what}[{k}]")
    else:
        expected = narrowed(expected)
        assert found.dtype == expected.dtype and found.shape == expected.shape, what
        assert np.asarray(found).tobytes() == expected.tobytes(), what


def step_of(results, t):
    return jax.tree.map(lambda leaf: leaf[t], results)


def assert_step(found, expected, lanes):
    """A step of XLA's is BatchEnv's, infos included, which XLA has even if no row has one."""
    assert_same(found[:4], expected[:4], "step")
    infos = dict(expected[4])
    final = infos.pop("final_obs", None)
    if final is not None:
        done = np.flatnonzero(infos["_final_obs"])
        rows = gymnasium.vector.utils.concatenate(
            lanes.single_observation_space,
            list(final[done]),
            gymnasium.vector.utils.create_empty_array(lanes.single_observation_space, len(done)),
        )
        assert_same(jax.tree.map(lambda leaf: leaf[done], found[4]["final_obs"]), rows, "final_obs")
        infos.pop("_final_info")
        finals = jax.tree.map(lambda leaf: leaf[done], infos.pop("final_info"))
        assert_same(jax.tree.map(lambda leaf: leaf[done], found[4].get("final_info", {})), finals, "final_info")
    infos.pop("env_id", None)
    if "episode" in infos:
        infos["episode"] = {key: infos["episode"][key] for key in "rl"}
    assert_same(found[4], infos, "infos")


CASES = [
    ("CartPole-v1", {"record_episode_statistics": True}),
    ("Pendulum-v1", {"max_episode_steps": 20}),
    ("CartPole-v1", {"reward_dtype": "float32", "frame_stack": 2}),
    ("Blackjack-v1", {}),
    ("Taxi-v4", {"max_episode_steps": 20}),
    ("SyntheticNested-v0", {}),
    ("MinAtar/Seaquest-v1", {"max_episode_steps": 40}),
]


def refused(words, call, *arguments):
    with pytest.raises((jax.errors.JaxRuntimeError, ValueError), match=words):  # compiled programs may raise the latter
        jax.block_until_ready(call(*arguments))
