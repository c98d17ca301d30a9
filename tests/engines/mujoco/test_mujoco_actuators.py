"""Actuators in groups: the same bits as mj_step's."""

import pickle

import numpy as np
import pytest

import batchenv
from helpers.arm import INTEGRATORS, arm, assert_exact, assert_exact_with_models_of_their_own
from helpers.begun import begun
from helpers.mujoco import mujoco
from helpers.together import always_alone, compare, how, xml

pytestmark = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")

STATES = """
<intvelocity joint="a" kp="9" kv=".5" actrange="-1 1"/><position joint="b" kp="5" timeconst=".02" gear="2"/>
<general joint="c" dyntype="filter" dynprm=".03" gainprm="2" actearly="true" actlimited="true" actrange="-.3 .4"/>
<general joint="b" dyntype="filterexact" dynprm=".02" gainprm="1" actearly="true" forcerange="-.5 .5"/>
<general joint="c" dyntype="integrator" gaintype="affine" gainprm="1 .5 -1" biastype="affine" biasprm=".1 -2 -1"/>
<general joint="a" dyntype="filter" dynprm=".01" gaintype="affine" gainprm="1 0 -.4" actearly="true"/>
<cylinder tendon="t" timeconst=".05" area="2" bias=".1 -.2 -.3"/><motor joint="a" ctrlrange="-.5 .5"/>"""
MUSCLES = """
<muscle joint="a" lengthrange="-.7 .7" force="20" range=".7 1.2"/><muscle joint="b" lengthrange="-1 1" gear="-1"/>
<muscle tendon="t" lengthrange="-.5 .9" force="8" timeconst=".005 .02" tausmooth=".3" vmax=".4" lmin=".7"/>
<general joint="c" lengthrange="-1 1" gaintype="muscle" gainprm=".75 1.05 9 200 .5 1.6 1.5 1.3 1.2"/>
<general joint="c" lengthrange="-1 1" biastype="muscle" biasprm=".7 1.1 -1 150 .5 1.6 1.5 1.3 1.2"/>"""
AT_JOINTS = """
<motor joint="free" gear="1 0 2 0 -.5 .3"/><velocity jointinparent="free" gear="0 .5 0 1 0 1" kv=".5"/>
<motor jointinparent="ball" gear="0 1 .5"/><position joint="ball" gear="1 -1 .5" kp="2" kv=".3" ctrlrange="-9 9"/>
<intvelocity jointinparent="ball" gear="0 0 1" kp="3" actrange="-8 8"/>
<general joint="ball" gear="0 1 0" gaintype="affine" gainprm="1 .5 -.3" forcerange="-1 .8"/>"""
AT_SITES = """
<motor site="tip" gear="1 0 0 0 .5 0"/><velocity site="hand" gear="0 1 -1 1 0 1" kv=".4"/>
<position site="end" refsite="base" gear="1 .5 0 0 0 0" kp="8" kv=".5"/>
<position site="end" refsite="hand" gear="0 0 1 0 .3 0" kp="3"/>
<position site="hand" refsite="middle" gear="0 0 0 0 1 .5" kp="2" kv=".2" ctrlrange="-9 9"/>
<general site="middle" refsite="tip" gear=".2 0 0 0 0 1" dyntype="filter" dynprm=".05" gainprm="1"/>"""
AT_CRANKS = """
<motor cranksite="tip" slidersite="base" cranklength=".5" gear="2"/>
<position cranksite="hand" slidersite="middle" cranklength=".1" gear="-1" kp="5" kv=".3"/>
<velocity cranksite="end" slidersite="hand" cranklength="3" kv=".4" gear=".5"/>"""
TENDON_LIMITS = """
<motor tendon="t" gear="2"/><motor tendon="t" gear="-1" forcerange="-.4 .2"/><position tendon="t" kp="5" kv=".2"/>
<motor joint="a"/>"""
GROUPS = """
<motor joint="a" group="1"/><position joint="b" kp="5" kv=".3" group="2" forcerange=".1 1"/>
<general joint="c" dyntype="integrator" group="2"/><motor site="hand" gear="1 0 0 0 0 0" group="2"/>
<motor joint="c" gear="2" group="31"/><motor tendon="t"/>"""
MODELS = {
    "states": arm(STATES),
    "muscles": arm(MUSCLES),
    "free and ball joints": arm(AT_JOINTS),
    "sites": arm(AT_SITES),
    "slider-cranks": arm(AT_CRANKS),
    "free and ball joints without setpoints that are integrated": arm(
        AT_JOINTS.replace("<intvelocity", "<position").replace("actrange", "ctrlrange")
    ),
    "limits of tendons": arm(TENDON_LIMITS, tendon='actuatorfrclimited="true" actuatorfrcrange="-.5 .7"'),
    "disabled groups": arm(GROUPS, 'actuatorgroupdisable="2 5"'),
    "unlimited controls": arm(STATES + AT_JOINTS, flags='clampctrl="disable"'),
    "no actuation": arm(
        STATES + AT_SITES, flags='actuation="disable"', b='actuatorgravcomp="true"', arm='gravcomp="1"'
    ),
    "actuators' own": arm(
        '<motor joint="a" armature=".1" damping=".2" gear="2"/><motor joint="a" damping=".1 .2 .3"/>'
        '<position joint="ball" kp="2" kv=".1" damping=".1" gear=".5 1 0"/>'
        '<motor tendon="t" damping=".3 0 .2" gear="3" armature=".1"/>'
        '<motor joint="free" armature=".05" gear="1 0 0 0 1 0"/>'
    ),
    "dampers of actuators and of what they move": arm(
        '<motor joint="a" damping=".01 .023 .031" gear="1.3"/><motor joint="a" damping="0 .017 .09"/>'
        '<motor joint="a" damping=".007 .031 .11" gear=".7"/><motor joint="b"/><motor joint="b" damping="0 .04 .07"/>'
        '<motor tendon="t" damping=".03 .013 .023" gear="1.7"/><motor tendon="t" damping=".011 .03 .07"/>',
        joint='damping=".013 .037 .073"',
        tendon='damping=".03 .07 .11"',
    ),
    "actuators' armature alone": arm('<motor joint="a" armature=".1" gear="2"/>').replace('damping=".1"', ""),
}


SETPOINTS = "the integrator RK4 with integrated setpoints at ball joints or between sites"
LEFT = {
    ("free and ball joints", "RK4"): SETPOINTS,
    ("unlimited controls", "RK4"): SETPOINTS,
}


def under(name, integrator):
    return MODELS[name].replace("<option", f'<option integrator="{integrator}"')


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", MODELS)
def test_actuators(name, integrator, monkeypatch):
    if (name, integrator) in LEFT:
        assert LEFT[name, integrator] in how(batchenv.make_mujoco(under(name, integrator), 4))[0]
        return
    assert_exact(MODELS[name], integrator, monkeypatch)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize(
    "name, fields",
    [
        ("states", {"actuator_dynprm": (0.3, 3), "actuator_gainprm": (0.8, 1.2), "body_mass": (0.5, 2)}),
        ("muscles", {"actuator_dynprm": (0.3, 3), "actuator_gainprm": (0.8, 1.2), "body_mass": (0.5, 2)}),
        ("free and ball joints", {"actuator_gear": (-2, 2), "actuator_gainprm": (0.5, 2)}),
        ("sites", {"actuator_gear": (-2, 2), "actuator_biasprm": (0.5, 2)}),
        ("slider-cranks", {"actuator_gear": (-2, 2), "actuator_gainprm": (0.5, 2)}),
        ("limits of tendons", {"actuator_gear": (0.5, 2)}),
        ("actuators' own", {"actuator_gear": (0.5, 2), "dof_damping": (0.5, 2), "tendon_damping": (0, 2)}),
    ],
)
def test_lanes_with_models_of_their_own(name, fields, integrator, monkeypatch):
    if (name, integrator) in LEFT:
        pytest.skip("left to mj_step")
    text = under(name, integrator)
    assert_exact_with_models_of_their_own(monkeypatch, text, **fields)


@pytest.mark.parametrize("before", ["", 'damping=".1 .2 .3"'])
def test_damping_that_mujoco_does_not_know_of(before):
    """It notes at compile time, and in mj_setConst, whose damping counts: that of no, one or all actuators."""
    model = mujoco.MjModel.from_xml_string(arm(f'<motor joint="a" {before}/><motor joint="a"/><motor tendon="t"/>'))
    model.actuator_damping[:] = [0.4, 0.5, 0.6]
    model.actuator_dampingpoly[:] = 0.7
    model.actuator_armature[:] = 0.1
    differs, compared, _ = compare(model, np.random.default_rng(0), (1, 2, 40))
    assert not differs and compared > 0


def test_snapshots_and_pickles_of_states():
    """States of actuators go on in both."""
    env = begun(batchenv.make_mujoco(MODELS["muscles"], 6, observation=["qpos", "act"], num_threads=1), seed=1)
    env.action_space.seed(1)
    for _ in range(20):
        env.step(env.action_space.sample())
    saved, copied = env.snapshot(), pickle.loads(pickle.dumps(env))
    actions = [env.action_space.sample() for _ in range(20)]
    expected = [env.step(action)[0].copy() for action in actions]
    other = begun(batchenv.make_mujoco(MODELS["muscles"], 6, observation=["qpos", "act"], num_threads=1), seed=2)
    other.restore(saved)
    assert how(other)[0].startswith("together")
    for action, rows in zip(actions, expected, strict=True):
        assert other.step(action)[0].tobytes() == rows.tobytes() == copied.step(action)[0].tobytes()
    assert (expected[-1][:, -3:] != expected[0][:, -3:]).any()


def test_states_that_are_huge(monkeypatch):
    """MuJoCo allows any number there, as long as no force becomes bad."""
    text = arm('<general joint="b" dyntype="filter" dynprm="0" actearly="true" forcerange="-.5 .5"/>')
    assert_exact(text, "RK4", monkeypatch)


@pytest.mark.parametrize("place", ['joint="free"', 'site="top"', 'cranksite="top" slidersite="eye" cranklength="2"'])
def test_velocities_of_a_lone_body(place, monkeypatch):
    """Forces depend on more of them than M has entries for."""
    body = '<site name="eye"/><body pos="0 0 1"><freejoint name="free"/><geom size=".1"/>'
    body += '<site name="top" pos=".1 .1 .1"/></body>'
    servo = f'<actuator><velocity {place} gear="1 0 2 0 -.5 .3" kv="2"/></actuator>'
    text = xml(body, motor=servo, more="<sensor><clock/></sensor>")
    assert_exact(text, "implicitfast", monkeypatch)


def test_servos_that_filter_angles():
    """mujoco 4 turns such a setpoint to the nearest one."""
    servo = 'dyntype="filter" dynprm=".1" gainprm="2" biastype="affine" biasprm="0 -2 -.1"'
    text = arm(f'<general site="middle" refsite="tip" gear="0 0 0 0 0 1" {servo}/>')
    assert "filtered setpoints of servos" in how(batchenv.make_mujoco(text, 4))[0]
