"""What tests of parity share: Gymnasium's environments as lanes, and equality in form, type and every bit."""

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED]


def reference(env_id, lanes, mode=AutoresetMode.NEXT_STEP, kwargs=None, attributes=None):
    """Gymnasium's environments, with these attributes set on each, under its SyncVectorEnv."""

    def make_one():
        env = gymnasium.make(env_id, disable_env_checker=True, **(kwargs or {}))
        for name, value in (attributes or {}).items():
            setattr(env.unwrapped, name, value)
        return env

    return SyncVectorEnv([make_one] * lanes, autoreset_mode=mode)


def assert_info_equal(ours, theirs):
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        if isinstance(value, dict):
            assert_info_equal(ours[key], value)
        elif value.dtype == object:
            assert ours[key].dtype == object
            for a, b in zip(ours[key], value, strict=True):
                assert (a is None) == (b is None)
                if b is not None:
                    assert a.dtype == b.dtype
                    np.testing.assert_array_equal(a, b)
        else:
            assert ours[key].dtype == value.dtype
            np.testing.assert_array_equal(ours[key], value)


def assert_step_equal(ours, theirs, where):
    for name, a, b in zip(("observation", "reward", "terminated", "truncated"), ours, theirs, strict=False):
        assert a.dtype == b.dtype and a.shape == b.shape, (name, where)
        if not np.array_equal(a, b):
            lanes = np.unique(np.argwhere(a != b)[:, 0])
            raise AssertionError(f"{name} differs at {where} in lanes {lanes}: {a[lanes[0]]!r} != {b[lanes[0]]!r}")
        if a.dtype.kind == "f":  # -0.0 == 0.0 above: the signs must agree too
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b))
        if a.dtype.kind == "b":  # every byte but 0 equals True
            assert a.tobytes() == b.tobytes(), f"{name} has other bytes than 0 and 1 at {where}"
    assert_info_equal(ours[4], theirs[4])


def actions_for(env, rng, step, beyond):
    if isinstance(env.single_action_space, gymnasium.spaces.Discrete):
        actions = rng.integers(env.single_action_space.n, size=env.num_envs)
        if step % 3 == 0 and env.single_action_space.n == 3:
            actions[:] = np.where(rng.random(env.num_envs) < 0.5, 0, 2)
        return actions
    high = float(env.single_action_space.high[0]) * (1.7 if beyond else 1.0)
    actions = rng.uniform(-high, high, size=env.action_space.shape).astype(np.float32)
    edge = np.float32(env.single_action_space.high[0])
    actions[rng.random(actions.shape) < 0.02] = edge
    actions[rng.random(actions.shape) < 0.02] = -edge
    actions[rng.random(actions.shape) < 0.01] = 0.0
    return actions
