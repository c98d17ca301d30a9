"""Random models, stepped several lanes at a time and by mj_step: every number is the same to the last bit.

BATCHENV_FUZZ_MODELS sets how many models there are (the default is few), BATCHENV_FUZZ_SEED the first one's seed.
"""

import os

import numpy as np
import pytest

from batchenv import _core
from batchenv.envs.mujoco import physics
from helpers.mujoco import mujoco
from helpers.random_models import Model
from helpers.together import LANES, compare

MODELS = int(os.environ.get("BATCHENV_FUZZ_MODELS", "25"))
FIRST = int(os.environ.get("BATCHENV_FUZZ_SEED", "0"))
VERSION = tuple(int(part) for part in mujoco.__version__.split(".")[:2])
SENSORS_ALONE = ("qpos", "qvel", "sensordata")  # nothing but sensors needs forces
pytestmark = pytest.mark.skipif(VERSION not in physics.VERSIONS, reason="this MuJoCo always takes mj_step")


@pytest.mark.parametrize("isa", _core.supported_isas())
def test_random_models(isa, monkeypatch):
    monkeypatch.setenv("BATCHENV_ISA", isa)
    together = compared = 0
    wrong = []
    for seed in range(FIRST, FIRST + MODELS):
        try:
            model = mujoco.MjModel.from_xml_string(Model(seed).text)
        except ValueError:  # a body without mass, and the like
            continue
        if physics.reasons(mujoco, model) or model.nu == 0:
            continue
        together += 1
        names = SENSORS_ALONE if seed % 3 == 0 else _core.PHYSICS_ARRAYS
        rng, calls = np.random.default_rng(seed), (1, 4, 30, 2, 60, 3)
        difference, count, _ = compare(model, rng, calls, names, seed % 2 > 0, seed % 5 > 2, seed % 7 > 4)
        compared += count
        if difference:
            wrong.append((seed, difference))
    assert not wrong, f"seeds: {wrong}"
    assert together > MODELS / 2 and compared > together * LANES
