"""Tendons in groups: the same bits as mj_step's."""

import numpy as np
import pytest

import batchenv
from batchenv import _core
from helpers.arm import INTEGRATORS, assert_exact, assert_exact_with_models_of_their_own
from helpers.mujoco import mujoco
from helpers.together import LANES, TOP, Both, always_alone, how, solved_by_mujoco, xml

pytestmark = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")
ISAS = pytest.mark.parametrize("isa", _core.supported_isas())
VERSION = tuple(int(part) for part in mujoco.__version__.split(".")[:2])

# Three trees: a hanging arm with a sphere and a cylinder at its elbow, a body that flies, and a slider.
BODIES = """
<site name="hook" pos="-.1 .05 1"/><site name="eye" pos=".4 -.3 .9"/>
<body pos="0 0 .7"><joint name="a" axis="0 1 0" damping=".1"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
  <site name="upper" pos=".1 0 .08"/><geom name="ball" pos=".3 0 0" size=".06" contype="0" conaffinity="0"/>
  <geom name="roll" type="cylinder" pos=".3 0 0" size=".05 .1" euler="85 5 10" contype="0" conaffinity="0"/>
  <site name="out" pos=".32 .01 .2"/><site name="in" pos=".31 .005 .01"/>
  <body pos=".3 0 0"><joint name="b" axis="0 1 .2" range="-2 2"/>
    <geom type="capsule" fromto="0 0 0 .25 0 0" size=".03"/><site name="lower" pos=".12 0 .09"/>
    <body pos=".25 0 0"><joint name="c" type="ball" damping=".05"/><geom size=".05" pos=".05 .02 0"/>
      <site name="tip" pos=".06 .03 .05"/></body></body></body>
<body pos="1 0 .8"><freejoint name="free"/><geom size=".1"/><geom size=".05" pos=".1 .1 0"/>
  <site name="belly" pos="0 .1 .1"/></body>
<body pos="0 1 .5"><joint name="d" type="slide" axis="1 0 .3" damping=".2"/><geom size=".06"/>
  <site name="cart" pos=".02 .1 .1"/></body>"""
STRAIGHT = '<site site="upper"/><site site="lower"/><site site="tip"/>'
PATHS = {
    "straight": STRAIGHT,
    "from the world": '<site site="hook"/><site site="eye"/><site site="lower"/>',
    "within one body": '<site site="upper"/><site site="out"/><site site="tip"/>',
    "across trees": '<site site="tip"/><site site="belly"/><site site="cart"/>',
    "pulleys": f'<site site="hook"/><site site="upper"/><pulley divisor="2"/>{STRAIGHT}<pulley divisor=".7"/>'
    '<site site="eye"/><site site="belly"/>',
    "around a sphere": '<site site="upper"/><geom geom="ball"/><site site="lower"/>',
    "around a sphere's side": '<site site="upper"/><geom geom="ball" sidesite="out"/><site site="lower"/>'
    '<site site="tip"/>',
    "inside of a sphere": '<site site="upper"/><geom geom="ball" sidesite="in"/><site site="tip"/>',
    "around a cylinder": '<site site="hook"/><site site="upper"/><geom geom="roll"/><site site="lower"/>',
    "around a cylinder's side": '<site site="eye"/><geom geom="roll" sidesite="out"/><site site="lower"/>',
    "inside of a cylinder": '<site site="upper"/><geom geom="roll" sidesite="in"/><site site="lower"/>',
    "around geoms of others": '<site site="belly"/><geom geom="ball"/><site site="cart"/><pulley divisor="1.5"/>'
    '<site site="eye"/><geom geom="roll"/><site site="cart"/>',
}
FIXED = '<joint joint="a" coef=".5"/><joint joint="b" coef="-1"/><joint joint="d" coef=".2"/>'
SPRINGS = 'stiffness="30" damping="1.5" springlength=".2 .25"'
LIMITS = 'limited="true" range=".15 .3" margin=".01"'
FORCES = 'actuatorfrclimited="true" actuatorfrcrange="-.5 .7"'
ACTUATORS = """<actuator><motor tendon="t" gear="5" ctrlrange="-1 1"/><position tendon="t" kp="20" kv=".5" gear="-1"/>
<muscle tendon="t" lengthrange=".1 .6" force="9"/><motor joint="a" ctrlrange="-1 1"/></actuator>"""
SENSORS = '<tendonpos tendon="t"/><tendonvel tendon="t"/><tendonactuatorfrc tendon="t"/>'


def model_of(path, attributes=SPRINGS, options="", more="", actuators=ACTUATORS):
    kind = "fixed" if path == FIXED else "spatial"
    tendon = f'<tendon><{kind} name="t" {attributes}>{path}</{kind}></tendon>'
    top = TOP.replace("<option", f"<option {options}").replace("0.005", "0.002")
    limit = '<tendonlimitpos tendon="t"/>' if LIMITS in attributes else ""
    return xml(BODIES, f"{tendon}<sensor>{SENSORS}{limit}</sensor>{more}", actuators, top)


def paths(*names):
    """Of PATHS, without those for which MuJoCo has no function."""
    known = {name: path for name, path in PATHS.items() if VERSION >= (3, 16) or "<geom" not in path}
    return pytest.mark.parametrize("path", names or known)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@paths()
def test_paths(path, integrator, monkeypatch):
    assert_exact(model_of(PATHS[path]), integrator, monkeypatch)


@pytest.mark.skipif(VERSION >= (3, 16), reason="MuJoCo has mju_wrap")
def test_tendons_that_wrap_in_old_versions():
    assert "tendons that wrap around geoms" in how(batchenv.make_mujoco(model_of(PATHS["around a sphere"]), 4))[0]


def assert_same(text, isa, monkeypatch):
    """In random states. Returns the lanes' `Both`."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    both = Both(mujoco.MjModel.from_xml_string(text))
    for seed in range(4):
        differs, compared, _ = both.compare(np.random.default_rng(seed), (1, 2, 40, 1, 60))
        assert not differs and compared > 3 * LANES, seed
    return both


@ISAS
@pytest.mark.parametrize("attributes", [f"{SPRINGS} {LIMITS}", f'{LIMITS} frictionloss=".8"', 'frictionloss="3"'])
@paths()
def test_rows(path, attributes, isa, monkeypatch):
    """Of limits and friction loss."""
    assert_same(model_of(PATHS[path], attributes), isa, monkeypatch)


@ISAS
def test_limits_that_mujoco_solves(isa, monkeypatch):
    limit = f'{LIMITS} solimplimit=".9 .95 .01 .5 3"'
    both = assert_same(model_of(PATHS["across trees"], limit), isa, monkeypatch)
    assert solved_by_mujoco(both) > 0


NEIGHBOURS = FIXED.replace('joint="d"', 'joint="e"')
NEAR = '<body pos="0 -1 .5"><joint name="e" type="slide" axis="1 0 .3" damping=".2"/><geom size=".06"/></body>'


@ISAS
@pytest.mark.parametrize("near", [True, False])
def test_friction_loss_over_trees(near, isa, monkeypatch):
    """Where other trees are between these, MuJoCo solves it."""
    text = model_of(FIXED, f'frictionloss=".8" {SPRINGS}')
    if near:
        text = text.replace('<body pos="1 0 .8">', f'{NEAR}<body pos="1 0 .8">').replace(FIXED, NEIGHBOURS)
    both = assert_same(text, isa, monkeypatch)
    sizes = dict(zip(_core.PHYSICS_SIZES, both.lanes.plan.sizes, strict=True))
    assert sizes["nf"] == near and sizes["ne"] == 0


@ISAS
@pytest.mark.parametrize("options", ['solver="PGS"', 'cone="elliptic"', 'jacobian="sparse"'])
@paths("straight", "across trees")
def test_options(path, options, isa, monkeypatch):
    assert_same(model_of(PATHS[path], f'{LIMITS} frictionloss=".8" armature=".1"', options), isa, monkeypatch)


ARMED = ACTUATORS.replace('gear="5"', 'gear="5" armature=".02"')


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("actuators", [ACTUATORS, ARMED])
@pytest.mark.parametrize("jacobian", ["dense", "sparse"])
@paths("straight", "across trees", "pulleys", "fixed")
def test_armature(path, jacobian, actuators, integrator, monkeypatch):
    armature = "" if actuators == ARMED else 'armature=".3"'
    text = model_of(PATHS.get(path, FIXED), f"{SPRINGS} {armature}", f'jacobian="{jacobian}"', actuators=actuators)
    assert_exact(text, integrator, monkeypatch)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@paths("straight", "fixed")
def test_limits_of_forces(path, integrator, monkeypatch):
    """Where they are reached, mujoco 4's implicit integrators leave out the forces' derivatives."""
    actuators = ACTUATORS.replace("<muscle", '<velocity tendon="t" kv=".3" forcerange="-.2 .3"/><muscle')
    text = model_of(PATHS.get(path, FIXED), f"{SPRINGS} {FORCES}", actuators=actuators)
    assert_exact(text, integrator, monkeypatch)


OWN = [
    ("pulleys", {"tendon_stiffness": (0.5, 2), "tendon_damping": (0.5, 2), "body_mass": (0.5, 2)}),
    ("pulleys", {"body_pos": (0.8, 1.2)}),
]
if VERSION >= (3, 16):
    OWN.append(("around a sphere's side", {"geom_size": (0.7, 1.3), "body_pos": (0.8, 1.2)}))


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
@pytest.mark.parametrize("path, fields", OWN)
def test_lanes_with_models_of_their_own(path, fields, integrator, monkeypatch):
    armed = 'armature=".1"' if path == "pulleys" else ""
    text = model_of(PATHS[path], f'{SPRINGS} {LIMITS} frictionloss=".2" {armed}', f'integrator="{integrator}"')
    assert_exact_with_models_of_their_own(monkeypatch, text, **fields)


@pytest.mark.skipif(VERSION < (3, 14), reason="MuJoCo has no forces of tendons there")
@pytest.mark.parametrize("observation", ["cfrc_ext", "cfrc_int", "sensordata"])
def test_forces_of_spatial_tendons_on_bodies(observation):
    text = model_of(PATHS["straight"], more='<sensor><force site="tip"/></sensor>')
    told = how(batchenv.make_mujoco(text, 4, observation=["qpos", observation]))[0]
    assert "alone" in told and "spatial tendons" in told
    assert how(batchenv.make_mujoco(text, 4, observation=["qpos", "cacc"]))[0].startswith("together")
