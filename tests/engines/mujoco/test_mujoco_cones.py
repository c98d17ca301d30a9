"""Elliptic cones of friction, which lanes solve together: the same bits as mj_step's."""

import numpy as np
import pytest

import batchenv
from batchenv import _core
from helpers.mujoco import mujoco
from helpers.together import LANES, TOP, Both, always_alone, assert_like_mj_step, compare, how, solved_by_mujoco, xml

pytestmark = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")
ISAS = pytest.mark.parametrize("isa", _core.supported_isas())
SATISFIED, QUADRATIC, CONE = (
    int(getattr(mujoco.mjtConstraintState, f"mjCNSTRSTATE_{name}")) for name in ("SATISFIED", "QUADRATIC", "CONE")
)

LEG = """<body pos="{} {} 0"><joint name="{}" axis="0 1 0" range="-.6 .6" limited="true" {}/>
<geom type="capsule" fromto="0 0 0 .05 0 -.2" size=".03" {}/></body>"""
BALL = '<body pos="2 0 .15"><freejoint/><geom size=".1" condim="1"/></body>'


def walker(surface, friction_loss=""):
    """Four legs under a box."""
    places = [(0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1)]
    legs = "".join(LEG.format(x, y, name, friction_loss, surface) for (x, y), name in zip(places, "abcd", strict=True))
    trunk = f'<body pos="0 0 .25"><freejoint/><geom type="box" size=".2 .1 .04" {surface}/>{legs}</body>'
    return trunk


def text_of(surface, options="", friction_loss=""):
    servos = "".join(f'<position joint="{name}" kp="20" kv="1" ctrlrange="-.5 .5"/>' for name in "abcd")
    top = TOP.replace('timestep="0.005"', f'timestep="0.005" cone="elliptic" {options}')
    return xml(walker(surface, friction_loss) + BALL, "", f"<actuator>{servos}</actuator>", top)


def states_in(both):
    lanes, data = both.lanes, mujoco.MjData(both.lanes.model)
    found = set()
    for state in lanes.records:
        mujoco.mj_setState(lanes.model, data, state[: lanes.state_size], lanes.signature)
        mujoco.mj_forward(lanes.model, data)
        found |= set(data.efc_state[data.efc_type == mujoco.mjtConstraint.mjCNSTR_CONTACT_ELLIPTIC].tolist())
    return found


@ISAS
@pytest.mark.parametrize("dim", [3, 4, 6])
@pytest.mark.parametrize("options", ['impratio="100"', 'integrator="RK4"', 'iterations="2" ls_iterations="4"'])
def test_standing_and_falling(options, dim, isa, monkeypatch):
    """Contacts that stick, slide and part, among limits; the ball has another tree of joints, and no friction."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    both = Both(mujoco.MjModel.from_xml_string(text_of(f'condim="{dim}" friction=".6 .01 .02"', options)))
    states = set()
    for seed in range(6):
        differs, compared, _ = both.compare(np.random.default_rng(seed), (1, 2, 40, 1, 60))
        assert not differs and compared == 5 * LANES, seed
        states |= states_in(both)
    assert {QUADRATIC, CONE} <= states and (SATISFIED in states or dim == 6)
    assert not solved_by_mujoco(both)


@ISAS
@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
def test_friction_loss_and_light_bodies(integrator, isa, monkeypatch):
    monkeypatch.setenv("BATCHENV_ISA", isa)
    surface = 'condim="6" friction=".9 .2 .3" margin=".02" solimp=".3 .9 .01" density="1"'
    text = text_of(surface, f'integrator="{integrator}" impratio="20"', 'frictionloss=".4"').replace(BALL, "")
    model = mujoco.MjModel.from_xml_string(text)
    for seed in range(6):
        differs, _, _ = compare(model, np.random.default_rng(seed), (1, 2, 40, 1, 60))
        assert not differs, seed


def test_lanes_with_models_of_their_own(monkeypatch):
    """Cones differ from lane to lane."""

    def change(env):
        model, rng = env.get_attr("model")[0], np.random.default_rng(1)
        env.set_params(
            lanes=[1, 2, 3, 6],
            geom_friction=model.geom_friction * rng.uniform(0.3, 2, (8, 1, 1)),
            body_mass=model.body_mass * rng.uniform(0.5, 2, (8, 1)),
            impratio=7.0,
        )
        assert len({text.split(":")[0] for text in how(env)}) == 1

    def make():
        text = text_of('condim="4" friction=".6 .05 .02"')
        return batchenv.make_mujoco(text, 8, observation=["qpos", "qvel", "cfrc_ext"], num_threads=1)

    assert_like_mj_step(monkeypatch, make, 60, change=change)


PAIR = '<contact><pair geom1="ground" geom2="foot" condim="{}" friction=".8 .3 .05 .02 .01" {}/></contact>'


@ISAS
@pytest.mark.parametrize("dim", [3, 4, 6])
@pytest.mark.parametrize("slides", ["", 'solreffriction=".05 .8"', 'solreffriction="-90 -7"'])
def test_explicit_pairs(slides, dim, isa, monkeypatch):
    """Five coefficients of friction; damping of the sliding of its own, which MuJoCo solves."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    body = '<body pos="0 0 .1"><freejoint/><geom name="foot" type="capsule" size=".05 .1" euler="0 1.5 0"/>'
    body += '<body pos=".1 0 .1"><joint name="b" axis="0 1 0"/><geom size=".05"/></body></body>'
    top = TOP.replace("<option", '<option cone="elliptic" impratio="3"').replace(
        "<geom type", '<geom name="ground" type'
    )
    both = Both(mujoco.MjModel.from_xml_string(xml(body, PAIR.format(dim, slides), top=top)))
    for seed in range(6):
        differs, compared, _ = both.compare(np.random.default_rng(seed), (1, 2, 40, 1, 60))
        assert not differs and compared == 5 * LANES, seed
    assert (solved_by_mujoco(both) > 0) == bool(slides)
