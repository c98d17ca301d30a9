"""Results depend on nothing but seed and actions: not on threads, lane count, instruction set or repetition."""

import numpy as np
import pytest

import batchenv
from helpers import ids

MODES = ["NextStep", "SameStep", "Disabled"]


def parts(observation):
    return observation if isinstance(observation, tuple) else (observation,)


def run(env_id, lanes, *, parallel, threads, mode="NextStep", steps=80):
    limit, steps = (7, steps // 5) if ids.is_slow(env_id) else (60, steps)
    env = batchenv.make(env_id, lanes, num_threads=threads, autoreset_mode=mode, max_episode_steps=limit)
    env._backend.core.force_parallel(parallel)
    rng = np.random.default_rng(3)
    outputs = [*parts(env.reset(seed=17)[0])]
    for _ in range(steps):
        if env.action_space.dtype.kind == "i":
            # Lane i's actions do not depend on how many lanes there are.
            actions = rng.integers(env.single_action_space.n, size=5000)[:lanes]
        else:
            size = env.single_action_space.shape
            actions = rng.uniform(-1, 1, size=(5000, *size)).astype(np.float32)[:lanes]
        result = env.step(actions)
        outputs += [*parts(result[0]), *result[1:4]]
        done = result[2] | result[3]
        if "final_obs" in result[4]:
            outputs += [np.stack(result[4]["final_obs"][done])]
        if mode == "Disabled" and done.any():
            outputs += parts(env.reset(options={"reset_mask": done})[0])
    return outputs, np.stack(env.get_attr("state"))


def assert_same(a, b):
    assert len(a[0]) == len(b[0])
    for x, y in zip(a[0], b[0], strict=True):
        assert x.tobytes() == y.tobytes()
    assert a[1].tobytes() == b[1].tobytes()


@pytest.mark.cases(1, per="env_id")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("env_id", ids.OWN)
def test_threads(env_id, mode):
    for lanes in (1, 65, 1000):
        expected = run(env_id, lanes, parallel=False, threads=1, mode=mode)
        for threads in (2, 5) if lanes > 1 else (2,):
            assert_same(run(env_id, lanes, parallel=True, threads=threads, mode=mode), expected)


@pytest.mark.parametrize("isa", ["avx512", "avx2", "baseline"])
@pytest.mark.parametrize("env_id", ids.OWN)
def test_instruction_sets(env_id, isa, monkeypatch):
    if isa not in batchenv.build_info()["isas"]:
        pytest.skip(f"this CPU has no {isa}")
    for lanes in (1, 7, 63, 257):
        expected = run(env_id, lanes, parallel=False, threads=1)
        monkeypatch.setenv("BATCHENV_ISA", isa)
        env = batchenv.make(env_id, 1)
        assert env._backend.core.isa == isa
        assert_same(run(env_id, lanes, parallel=False, threads=1), expected)
        monkeypatch.delenv("BATCHENV_ISA")


@pytest.mark.parametrize("env_id", ids.OWN)
def test_lane_count(env_id):
    many = run(env_id, 4097, parallel=True, threads=2, steps=70)
    few = run(env_id, 63, parallel=False, threads=1, steps=70)
    for x, y in zip(many[0], few[0], strict=True):
        assert x[:63].tobytes() == y.tobytes()
    assert many[1][:63].tobytes() == few[1].tobytes()


def test_unknown_instruction_set(monkeypatch):
    monkeypatch.setenv("BATCHENV_ISA", "sse9")
    with pytest.raises(ValueError, match="sse9"):
        batchenv.make("CartPole-v1", 2)
