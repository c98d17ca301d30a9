"""Forces and accelerations of lanes whose rows of constraints MuJoCo makes: the same bits, and solved in groups."""

import numpy as np
import pytest

from batchenv import _core
from batchenv.envs.mujoco.features import since
from helpers.mujoco import mujoco
from helpers.together import LANES, TOP, Both, always_alone, found_by_mujoco, solved_by_mujoco, xml

pytestmark = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")

# Two trees of joints: boxes that touch each other, the ground and spheres, and joints at limits.
BODIES = """
<body name="one" pos="0 0 .11"><freejoint/><geom type="box" size=".1 .08 .1" {0}/><site name="s" size=".12"/>
  <body pos=".15 0 .1"><joint name="a" axis="0 1 0" range="-.3 .3" limited="true"/><site name="t" size=".06"/>
  <geom type="box" size=".06 .05 .04" {0}/><geom size=".05" pos=".1 0 0" {0}/></body></body>
<body name="two" pos="0 .05 .34"><freejoint/><geom type="box" size=".09 .1 .1" {0}/><geom size=".1" pos=".1 .1 0" {0}/>
  <body pos="-.2 0 0"><joint name="c" axis="1 0 0"/><geom type="ellipsoid" size=".1 .05 .04" {0}/></body></body>"""
MOTOR = '<actuator><motor joint="a" gear="3" ctrlrange="-1 1"/></actuator>'
FRAME = '<accelerometer site="t"/><framelinacc objtype="body" objname="two"/><frameangacc objtype="geom" objname="g"/>'
SENSORS = {
    "accelerations": FRAME,
    "forces": FRAME + '<force site="t"/><torque site="t"/>',
    "touch": '<touch site="s"/><touch site="t"/>',
    "all": FRAME + '<force site="t"/><touch site="t"/>',
}
EQUALITIES = {
    "": "",
    "connect": '<equality><connect body1="two" body2="one" anchor="0 0 -.1"/></equality>',
    "weld of sites": '<equality><weld site1="s" site2="t"/><connect site1="t" site2="s"/></equality>',
    "joint": '<equality><joint joint1="a" joint2="c" polycoef="0 .5 0 0 0"/></equality>',
    "weld": '<equality><weld body1="one" body2="two"/></equality>',
}


def text_of(surface="", options="", more=""):
    """A model; `g` is one of its geoms."""
    bodies = BODIES.format(surface).replace("<geom", '<geom name="g"', 1)
    return xml(bodies, more, MOTOR, TOP.replace("<option", f"<option {options}"))


def compare(text, names, seeds=4):
    """Compares steps of lanes that show `names`. Returns in how many evaluations MuJoCo's functions found contacts, and
    MuJoCo solved constraints."""
    both = Both(mujoco.MjModel.from_xml_string(text), names, pushed=True)
    for seed in range(seeds):
        differs, compared, _ = both.compare(np.random.default_rng(seed), (1, 2, 40, 1, 1, 60))
        assert not differs and compared > 3 * LANES, seed
    return found_by_mujoco(both), solved_by_mujoco(both)


@pytest.mark.parametrize("isa", _core.supported_isas())
@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("surface", ['condim="1"', 'condim="3"', 'condim="4" margin=".03" gap=".02"', 'condim="6"'])
def test_forces_of_contacts(surface, cone, integrator, isa, monkeypatch):
    monkeypatch.setenv("BATCHENV_ISA", isa)
    text = text_of(surface, f'cone="{cone}" integrator="{integrator}"')
    found, solved = compare(text, ["qpos", "qvel", "cfrc_ext", "cfrc_int", "cacc"])
    assert found > 0 and solved == 0


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("kind", EQUALITIES)
@pytest.mark.parametrize("sensors", SENSORS)
def test_sensors(sensors, kind, cone):
    more = f"{EQUALITIES[kind]}<sensor>{SENSORS[sensors]}</sensor>"
    found, solved = compare(text_of(options=f'cone="{cone}"', more=more), ["qpos", "sensordata"])
    assert found > 0 and solved == 0


@pytest.mark.skipif(not since(mujoco, 3, 17), reason="groups have PGS since mujoco 3.17")
def test_forces_with_pgs():
    hand = '<body pos=".3 0 {}"><joint {}/><geom type="box" size=".1 .1 .1"/><site name="{}" size=".15"/></body>'
    hands = hand.format(0.09, 'name="a"', "s") + hand.format(-0.1, "", "t")  # they do not just touch
    body = f'<body pos="0 0 .2"><freejoint/><geom type="box" size=".1 .1 .1"/>{hands}</body>'
    sensors = '<sensor><touch site="s"/><force site="t"/></sensor>'
    text = xml(body, sensors, MOTOR, TOP.replace("<option", '<option solver="PGS"'))
    found, solved = compare(text, ["qpos", "cfrc_ext", "sensordata"])
    assert found > 0 and solved < found / 5  # some have more rows than groups have room for


def test_more_contacts_than_there_is_room_for():
    cube = '<body pos="{} {} .049"><freejoint/><geom type="box" size=".05 .05 .05" margin=".1" conaffinity="0"/></body>'
    cubes = "".join(cube.format(x / 2, y / 2) for x in range(9) for y in range(4))
    top = TOP.replace("<option", '<option jacobian="dense" iterations="5"')
    top = top.replace('type="plane" size="9 9 1"', 'type="box" size="9 9 1" pos="0 0 -1" contype="0"')
    text = xml('<body pos="0 0 3"><joint name="a" axis="0 1 0"/><geom size=".1"/></body>' + cubes, motor=MOTOR, top=top)
    both = Both(mujoco.MjModel.from_xml_string(text), ["qpos", "cfrc_ext"])
    differs, compared, _ = both.compare(np.random.default_rng(0), (1, 2, 5))
    assert not differs and compared == 3 * LANES
    (cause,) = (i for i, text in enumerate(_core.PHYSICS_LEFT) if "too many rows of constraints" in text)
    assert any(both.lanes.source.counts(lane)[2][cause] == 8 for lane in range(LANES))
