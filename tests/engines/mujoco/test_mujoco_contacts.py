"""Contacts that are found several lanes at a time: the same bits as by mj_step, without asking MuJoCo."""

import numpy as np
import pytest

import batchenv
from batchenv import _core
from helpers.together import LEG, TOP, always_alone, assert_like_mj_step, how, xml

pytestmark = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")

OBSERVED = ["qpos", "qvel", "cfrc_ext", "qfrc_constraint"]
ARM = LEG.format('<geom size=".02" contype="0" conaffinity="0"/>').replace("0 0 .5", "3 3 .5")  # has the motor


def in_groups(monkeypatch, text, steps=80, change=None, lanes=9, contacts=True, **options):
    """Steps a model both ways: the bits are the same, there were contacts, and all of them were found in groups."""
    made = []

    def make():
        made.append(batchenv.make_mujoco(text, lanes, frame_skip=2, num_threads=1, observation=OBSERVED, **options))
        return made[-1]

    rows = assert_like_mj_step(monkeypatch, make, steps, change=change)
    for told in how(made[0]):
        assert told.startswith("together") and "MuJoCo solved" not in told, told
    where = made[0].get_attr("observation_fields")[0]["cfrc_ext"]
    touched = [row[:, where].any() for row in rows if row.ndim == 2 and row.shape[1] > where.stop - 1]
    assert sum(touched) > 20 or not contacts
    return made[0]


def free(geom, place="0 0 .3", more=""):
    return f'<body pos="{place}" {more}><freejoint/><geom {geom}/></body>'


BOX = 'type="box" size=".1 .07 .12"'
ON_PLANES = {
    "standing": (free(BOX, "0 0 .12"), TOP, {}),
    "tumbling": (free(BOX), TOP, {"qpos_noise": 0.5, "qvel_noise": 3.0}),
    "sliding": (free(BOX + ' friction=".1"', "0 0 .119"), TOP, {"qvel_noise": 2.0}),
    "deep in the ground": (free(BOX, "0 0 -.05"), TOP, {"qpos_noise": 0.1}),
    "on an edge": (free(BOX, "0 0 .14", 'euler="45 0 0"'), TOP, {"qpos_noise": 0.01}),
    "on a slope with margins": (
        free(BOX + ' margin=".02" condim="1"'),
        TOP.replace('type="plane"', 'type="plane" euler="20 10 0" margin=".01"'),
        {"qpos_noise": 0.2, "qvel_noise": 1.0},
    ),
    "three of them": (
        "".join(free(BOX + ' contype="2" conaffinity="1"', f"{k} 0 .13") for k in range(3)),
        TOP,
        {"qpos_noise": 0.02},
    ),
}


@pytest.mark.parametrize("isa", _core.supported_isas())
@pytest.mark.parametrize("scene", ON_PLANES)
def test_boxes_on_planes(scene, isa, monkeypatch):
    monkeypatch.setenv("BATCHENV_ISA", isa)
    body, top, noise = ON_PLANES[scene]
    in_groups(monkeypatch, xml(body + ARM, top=top), **noise)


@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
def test_boxes_of_other_sizes(integrator, monkeypatch):
    """Sizes that differ from lane to lane; MuJoCo overlooks contacts of larger boxes, and so it steps these lanes."""

    def resize(env):
        sizes = np.tile(env.get_attr("model")[0].geom_size, (9, 1, 1))
        sizes[:, 1] *= np.random.default_rng(0).uniform(0.5, 1, (9, 3))
        sizes[4, 1, 0] *= 5
        env.set_params(geom_size=sizes)
        told = how(env)
        if told[0].startswith("together"):
            assert [lane for lane in range(9) if told[lane].startswith("alone")] == [4]
            assert "geom_size" in told[4]
        env.set_params(lanes=[4], geom_size=sizes[3])

    top = TOP.replace("<option", f'<option integrator="{integrator}"')
    in_groups(monkeypatch, xml(free(BOX) + ARM, top=top), change=resize, qpos_noise=0.3, qvel_noise=1.0)
