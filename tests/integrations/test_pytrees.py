"""JAX walks through infos as through dicts. (PyTorch: test_torch.py.)"""

import numpy as np
import pytest

import batchenv

jax = pytest.importorskip("jax")


def test_trees_of_infos():
    env = batchenv.make("CartPole-v1", 2, autoreset_mode="SameStep", max_episode_steps=3)
    env.reset(seed=0)
    for step in range(1, 4):
        *_, infos = env.step(np.zeros(2, int))
        seen = jax.tree_util.tree_map(lambda leaf: leaf, infos)
        assert type(seen) is dict and list(seen) == list(infos)
        assert ("final_obs" in seen) == (step == 3)
    assert seen["final_obs"] is infos["final_obs"]
