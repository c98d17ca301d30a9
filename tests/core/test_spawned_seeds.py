"""batchenv.spawn_seeds: seeds of lanes whose streams no other seed shares."""

import gymnasium
import numpy as np
import pytest

import batchenv


def test_they_are_numpys_children():
    seeds = batchenv.spawn_seeds(2**70, 5)
    children = np.random.SeedSequence(2**70).spawn(5)
    assert seeds == [int(child.generate_state(1, np.uint64)[0]) // 2 for child in children]
    assert batchenv.spawn_seeds(2**70, 3) == seeds[:3] and all(0 <= seed < 2**63 for seed in seeds)


def test_neighbouring_seeds_share_nothing():
    found = [seed for base in range(50) for seed in batchenv.spawn_seeds(base, 64)]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("kind", ["kernel", "python", "gymnasium"])
def test_lanes_begin_as_single_envs_with_these_seeds(kind):
    seeds = batchenv.spawn_seeds(7, 4)
    make = {"kernel": batchenv.make, "python": batchenv.make_python, "gymnasium": gymnasium.make_vec}[kind]
    env = make("CartPole-v1", 4, **({"vectorization_mode": "sync"} if kind == "gymnasium" else {}))
    observations, _ = env.reset(seed=seeds)
    single = gymnasium.make("CartPole-v1")
    np.testing.assert_array_equal(observations, [single.reset(seed=seed)[0] for seed in seeds])
    env.close()


@pytest.mark.parametrize(("arguments", "error"), [((-1, 3), ValueError), ((1.5, 3), TypeError), ((1, 0), ValueError)])
def test_wrong_arguments(arguments, error):
    with pytest.raises(error, match=r"seed=|count="):
        batchenv.spawn_seeds(*arguments)
