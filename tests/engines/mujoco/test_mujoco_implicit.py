"""The integrators implicitfast and implicit in groups: the same bits as mj_step's."""

import numpy as np
import pytest

import batchenv
from batchenv import _core
from helpers.mujoco import mujoco
from helpers.together import LANES, TOP, always_alone, assert_like_mj_step, compare, how, xml

pytestmark = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")
FAST = TOP.replace("<option", '<option integrator="implicitfast"')

# Two trees. Some tendons' joints lie on a chain, others' on branches, where M has no entry for their product.
BODIES = """
<body pos="0 0 .4"><joint name="x" type="slide" axis="1 0 0" damping=".3"/><geom size=".1"/>
  <body pos=".2 0 0"><joint name="a" axis="0 1 0" actuatorfrcrange="-2 1"/><geom size=".06"/>
    <body pos=".2 0 0"><joint name="b" axis="0 1 0" range="-1 1" limited="true" damping="1"/>
      <geom type="capsule" fromto="0 0 0 .2 0 0" size=".03"/></body></body>
  <body pos="-.2 0 0"><joint name="c" axis="0 1 0" actuatorfrcrange="-.5 .5"/><geom size=".06"/></body></body>
<body pos="2 0 .15"><freejoint/><geom size=".1"/><body pos=".1 0 0"><joint name="d" axis="1 1 0"/>
  <geom type="capsule" fromto="0 0 0 .2 0 0" size=".05"/></body></body>"""
TENDONS = """<tendon>
<fixed name="chain" damping=".7"><joint joint="b" coef="1"/><joint joint="x" coef="-.5"/></fixed>
<fixed name="branch" damping=".2"><joint joint="c" coef="2"/><joint joint="a" coef="1"/></fixed>
<fixed name="trees"><joint joint="d" coef="1"/><joint joint="a" coef="-1"/><joint joint="x" coef=".3"/></fixed>
</tendon>"""
SERVOS = """<actuator>
<position joint="a" kp="9" kv="2" gear="2" forcerange="-1 1"/><velocity joint="a" kv="3"/>
<position joint="c" kp="4" kv="1"/><velocity tendon="chain" kv="2" gear="-3"/>
<general tendon="branch" gaintype="affine" gainprm="2 .5 -1" biastype="affine" biasprm=".1 -2 -3"/>
<general joint="d" gaintype="affine" gainprm="1 0 .5" forcerange="-.2 .3"/>
<position tendon="trees" kp="5" kv="1"/><motor joint="b"/><damper joint="b" kv="3" ctrlrange="0 1"/></actuator>"""


def assert_equal_plays(text):
    """Groups and mj_step agree from eight random starts."""
    model = mujoco.MjModel.from_xml_string(text)
    for seed in range(8):
        differs, compared, _ = compare(model, np.random.default_rng(seed), (1, 2, 40, 1, 60))
        assert not differs and compared > 4 * LANES, seed


@pytest.mark.parametrize("isa", _core.supported_isas())
def test_servos_and_dampers(isa, monkeypatch):
    """Servos of joints and tendons, whose forces are limited by their own range and by that of the joint, and whose
    controls may be out of range."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    assert_equal_plays(xml(BODIES, TENDONS, SERVOS, FAST))


def test_lanes_with_models_of_their_own(monkeypatch):
    def change(env):
        model, rng = env.get_attr("model")[0], np.random.default_rng(1)
        env.set_params(
            lanes=[1, 2, 5],
            dof_damping=model.dof_damping * rng.uniform(0.5, 2, (8, 1)),
            actuator_biasprm=model.actuator_biasprm * rng.uniform(0.5, 2, (8, 1, 1)),
            tendon_damping=model.tendon_damping * rng.uniform(0.5, 2, (8, 1)),
        )
        assert how(env)[1].split(":")[0] == how(env)[0].split(":")[0]

    def make():
        return batchenv.make_mujoco(xml(BODIES, TENDONS, SERVOS, FAST), 8, observation=["qpos", "qvel"], num_threads=1)

    assert_like_mj_step(monkeypatch, make, 40, change=change)


# The second one's centre of mass is far from its joint. To the third one another is fixed.
LONE = """
<body pos="-1 0 .3"><freejoint/><geom type="box" size=".1 .05 .2"/></body>
<body pos="-1 1 .3"><joint type="free" damping=".1"/>
  <geom type="capsule" size=".1 .2" pos=".1 .02 .1" euler="1 2 .3"/><geom size=".05" pos="-1 0 0"/></body>
<body pos="-1 -1 .3"><freejoint/><geom size=".1"/><body pos=".2 0 0"><geom size=".1"/></body></body>"""


@pytest.mark.parametrize("isa", _core.supported_isas())
def test_lone_bodies(isa, monkeypatch):
    """Bodies with a free joint that are alone in their tree, which implicitfast integrates in another way."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    assert_equal_plays(xml(LONE + BODIES, TENDONS, SERVOS, FAST))


def test_lone_bodies_with_masses_of_their_own(monkeypatch):
    def change(env):
        model, rng = env.get_attr("model")[0], np.random.default_rng(1)
        scale = rng.uniform(0.5, 2, (8, 1))
        env.set_params(
            lanes=[1, 2, 5],
            body_mass=model.body_mass * scale,
            body_inertia=model.body_inertia * scale[..., None],
            dof_damping=model.dof_damping * rng.uniform(0.5, 2, (8, 1)),
        )
        assert how(env)[1].split(":")[0] == how(env)[0].split(":")[0]

    def make():
        text = xml(LONE + BODIES, TENDONS, SERVOS, FAST)
        return batchenv.make_mujoco(text, 8, observation=["qpos", "qvel"], num_threads=1)

    assert_like_mj_step(monkeypatch, make, 200, change=change)


# A ball joint, two sliders whose part of M is diagonal, and a body without joints between others
CHAINS = """
<body pos="1 1 .5"><joint type="ball" damping=".1"/><geom type="box" size=".05 .1 .2"/>
  <body pos="0 0 -.3"><geom size=".05"/>
    <body pos="0 .1 -.3"><joint name="e" axis="1 0 0"/><joint axis="0 1 0"/>
      <geom type="capsule" size=".05 .1"/></body></body></body>
<body pos="1 -1 .5"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1" damping="2"/>
  <geom type="box" size=".1 .2 .3"/></body>
<body pos="0 2 .5"><joint type="free" damping=".1"/><geom type="box" size=".1 .2 .3"/>
  <body pos=".3 0 0"><joint type="ball"/><geom size=".1"/></body></body>"""


@pytest.mark.parametrize("isa", _core.supported_isas())
@pytest.mark.parametrize(
    "fluid", ["", 'density="1000"', 'viscosity=".5"', 'density="1.2" viscosity=".1" wind="3 1 -2"']
)
@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "implicit"])
def test_fluids(integrator, fluid, isa, monkeypatch):
    """Derivatives of fluids, and with the integrator implicit those of the bias force."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    top = TOP.replace("<option", f'<option integrator="{integrator}" {fluid}')
    model = mujoco.MjModel.from_xml_string(xml(LONE + BODIES + CHAINS, TENDONS, SERVOS, top))
    for seed in range(2):
        differs, compared, _ = compare(model, np.random.default_rng(seed), (1, 2, 40, 1, 60))
        assert not differs and compared > LANES, seed


@pytest.mark.parametrize("integrator", ["implicitfast", "implicit"])
def test_fluids_and_winds_of_lanes(integrator, monkeypatch):
    def change(env):
        rng = np.random.default_rng(1)
        env.set_params(
            lanes=[1, 2, 5],
            density=rng.uniform(1, 10, 8),
            viscosity=rng.uniform(0.1, 1, 8),
            wind=rng.uniform(-1, 1, (8, 3)),
        )
        assert how(env)[1].split(":")[0] == how(env)[0].split(":")[0]
        env.set_params(lanes=[3], wind=np.zeros(3))  # lanes without wind are not in groups with others
        assert how(env)[3].startswith("alone")

    def make():
        top = TOP.replace("<option", f'<option integrator="{integrator}" density="2" viscosity="1" wind="0 1 0"')
        text = xml(LONE + BODIES + CHAINS, TENDONS, SERVOS, top)
        return batchenv.make_mujoco(text, 8, observation=["qpos", "qvel"], num_threads=1)

    assert_like_mj_step(monkeypatch, make, 200, change=change)
