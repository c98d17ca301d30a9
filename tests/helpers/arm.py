"""A model whose joints and sites lie askew, to which features of smooth forces are added, and how they are compared."""

import numpy as np

import batchenv
from batchenv import _core
from helpers.mujoco import mujoco
from helpers.together import assert_like_mj_step, compare, how, xml

# Two trees: an arm, and a body that flies with a hand on a ball joint.
BODIES = """
<body pos="0 0 .5" {arm}><joint name="a" axis="0 1 0" {joint}/><geom size=".08"/><site name="base"/>
  <body pos=".2 0 0" {fore}><joint name="b" axis="1 2 0" {joint} {b}/>
    <geom type="capsule" fromto="0 0 0 .2 0 0" size=".03"/>
    <site name="tip" pos=".2 .02 0" euler="10 20 30"/>
    <body pos=".2 0 0"><joint name="c" axis="0 0 1" {joint}/><geom size=".04" pos=".05 .02 0"/>
    <site name="end" pos=".05 0 .1" euler="-20 5 40"/></body></body></body>
<body pos="2 0 .6" {arm}><joint name="free" type="free" {free}/><geom size=".1"/><geom size=".05" pos=".1 .1 0"/>
  <site name="middle" euler="0 40 0"/>
  <body pos="0 .2 0" {fore}><joint name="ball" type="ball" {ball}/><geom size=".06" pos=".03 .05 .02"/>
  <site name="hand" pos=".03 .1 .02" euler="30 20 10"/></body></body>"""
KEYS = ("arm", "fore", "joint", "b", "free", "ball")
TENDON = '<tendon><fixed name="t" {tendon}><joint joint="c" coef="1"/><joint joint="a" coef="-.5"/></fixed></tendon>'
SENSORS = '<sensor><actuatorfrc actuator="last"/><actuatorvel actuator="last"/><actuatorpos actuator="last"/></sensor>'
INTEGRATORS = ("Euler", "RK4", "implicitfast", "implicit")


def arm(actuators='<motor joint="b" gear="2"/>', options="", flags="", tendon="", **attributes):
    """The model with actuators, the last of which has sensors. attributes: of KEYS."""
    first, last = actuators.rsplit("/>", 1)
    top = f'<mujoco><option timestep="0.005" {options}><flag {flags}/></option><worldbody>'
    top += '<geom type="plane" size="9 9 1"/>'
    body = BODIES.format(**{key: attributes.get(key, "") for key in KEYS})
    actuators = f'<actuator>{first} name="last"/>{last}</actuator>'
    return xml(body, TENDON.format(tendon=tendon) + SENSORS, actuators, top)


def assert_exact(text, integrator, monkeypatch):
    """In env's steps, and in random states of all instruction sets, which are compared number by number."""
    text = text.replace("<option", f'<option integrator="{integrator}"')
    model = mujoco.MjModel.from_xml_string(text)
    shown = ["qpos", "qvel", "qfrc_actuator", "qfrc_passive", "sensordata", *["act"] * (model.na > 0)]

    def make():
        return batchenv.make_mujoco(text, 5, observation=shown, qpos_noise=0.3, num_threads=1)

    with monkeypatch.context() as patch:
        assert_like_mj_step(patch, make, 200)
    for isa in _core.supported_isas():
        monkeypatch.setenv("BATCHENV_ISA", isa)
        differs, compared, _ = compare(model, np.random.default_rng(0), (1, 2, 40, 1, 60))
        assert not differs and compared > 0, isa


def assert_exact_with_models_of_their_own(monkeypatch, text, **fields):
    """Some lanes' fields are multiplied by random numbers, each between two bounds; all lanes stay in groups."""

    def change(env):
        model, rng = env.get_attr("model")[0], np.random.default_rng(1)
        values = {name: np.asarray(getattr(model, name)) for name in fields}
        values = {name: value * rng.uniform(*fields[name], (8, *[1] * value.ndim)) for name, value in values.items()}
        env.set_params(lanes=[1, 2, 5], **values)
        assert len({told.split(":")[0] for told in how(env)}) == 1, how(env)

    def make():
        return batchenv.make_mujoco(text, 8, observation=["qpos", "qvel"], num_threads=1)

    assert_like_mj_step(monkeypatch, make, 60, change=change)
