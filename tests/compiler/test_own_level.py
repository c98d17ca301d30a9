"""A level of a user's own, in one C file over the installed headers: examples/own_level/ice.c, which
docs/envs/minigrid.md shows."""

import numpy as np

import batchenv
from helpers.project import ROOT

SOURCE = ROOT / "examples/own_level/ice.c"


def test_it_is_as_short_as_promised_and_the_page_shows_it():
    assert len(SOURCE.read_text().splitlines()) <= 40
    assert SOURCE.read_text().strip() in (ROOT / "docs/envs/minigrid.md").read_text()


def test_it_plays():
    (name,) = batchenv.compile(SOURCE).ids
    env = batchenv.make(name, 70, slip=0.3, size=7, autoreset_mode="SameStep")
    observation, _ = env.reset(seed=0)
    assert observation["image"].shape == (70, 7, 7, 3) and observation["mission"][0] == "get to the green goal square"
    rng, solved, burnt = np.random.default_rng(0), 0, 0
    for _ in range(300):
        _, reward, terminated, _, _ = env.step(rng.choice([0, 1, 2, 2], size=70))
        solved += (reward > 0).sum()
        burnt += (terminated & (reward == 0)).sum()
    assert solved > 50 and burnt > 50
    before = env.snapshot()
    after = [env.step(np.full(70, 2))[0]["image"] for _ in range(2)]
    env.restore(before)
    np.testing.assert_array_equal(env.step(np.full(70, 2))[0]["image"], after[0])


def test_slips_are_what_the_param_says():
    (name,) = batchenv.compile(SOURCE).ids
    for slip, expected in ((0.0, 0.0), (1.0, 1.0), (0.25, 0.25)):
        env = batchenv.make(name, 4000, slip=slip)
        before = env.reset(seed=1)[0]["direction"]
        after = env.step(np.full(4000, 2))[0]["direction"]
        assert abs((before != after).mean() - expected) < (0.03 if 0 < slip < 1 else 1e-9)
