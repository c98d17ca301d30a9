"""Lanes whose constraints MuJoCo solves with sparse matrices: the same bits as mj_step's."""

import numpy as np
import pytest

import batchenv
from batchenv import _core
from batchenv.envs.mujoco import sparse
from helpers.mujoco import mujoco
from helpers.together import LANES, TOP, Both, always_alone, found_by_mujoco, how, solved_by_mujoco, xml

pytestmark = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")
ISAS = pytest.mark.parametrize("isa", _core.supported_isas())
SPARSE = TOP.replace("<option", '<option jacobian="sparse"')
ROUGH = 'frictionloss=".2" armature=".01"'
MOTORS = (
    '<actuator><motor joint="k0" gear="3" ctrlrange="-1 1"/><motor joint="k4" gear="3" ctrlrange="-1 1"/></actuator>'
)


def chain(count, joint, geom, root, begin=0):
    """Bodies in a row, each with a joint `joint` and a limb `geom`."""
    text = ""
    for k in range(begin + count - 1, begin - 1, -1):
        text = f'<body pos=".11 0 0">{joint.format(k)}{geom}{text}</body>'
    return text if not root else f'<body pos="{root}"><freejoint/>{geom}{text}</body>'


LIMB = '<geom type="capsule" fromto="0 0 0 .1 0 0" size=".04" condim="{}" contype="0"/>'
BENDING = '<joint name="k{}" axis="0 1 .2" range="-.1 .2" limited="true"/>'
TURNING = '<joint name="k{}" type="ball" range="0 .2" limited="true"/>'
RUBBING = f'<joint name="k{{}}" axis="0 1 0" {ROUGH}/>'


def walker(joint, condim):
    """A trunk with four legs, of which one branches, and which touch the ground only."""
    limb = LIMB.format(condim)
    legs = "".join(chain(3, joint, limb, "", 3 * k) for k in range(3))
    foot = chain(2, joint, limb, "", 12) + chain(3, joint, limb, "", 14)
    leg = f'<body pos="0 .1 0">{joint.format(9)}{limb}{foot}</body>'
    return f'<body pos="0 0 .2"><freejoint/>{limb}{legs}{leg}</body>'


def both_of(text, isa, monkeypatch, seeds=4, calls=(1, 2, 40, 1, 60)):
    """Compared for some random states."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    both = Both(mujoco.MjModel.from_xml_string(text))
    for seed in range(seeds):
        differs, compared, _ = both.compare(np.random.default_rng(seed), calls)
        assert not differs and compared > 2 * LANES, seed
    return both


@ISAS
@pytest.mark.parametrize("options", ['integrator="Euler"', 'integrator="RK4"', 'iterations="2" ls_iterations="3"'])
@pytest.mark.parametrize("condim", [1, 3, 6])
@pytest.mark.parametrize("joint", [BENDING, TURNING, RUBBING])
def test_legs_on_the_ground(joint, condim, options, isa, monkeypatch):
    """Rows of limits, friction loss and contacts, of which lanes have different ones."""
    motors = MOTORS if joint != TURNING else ""
    body = walker(joint, condim)
    if joint == TURNING:
        body += '<body pos="2 0 .3"><joint name="k90" axis="0 1 0"/><geom size=".1"/></body>'
        motors = '<actuator><motor joint="k90" ctrlrange="-1 1"/></actuator>'
    top = SPARSE.replace('timestep="0.005"', f'timestep="0.005" {options}')
    both = both_of(xml(body, motor=motors, top=top), isa, monkeypatch)
    assert solved_by_mujoco(both) == 0 and (found_by_mujoco(both) == 0 or condim == 0)


@ISAS
def test_a_caterpillar_that_changes_many_rows(isa, monkeypatch):
    """From its rows MuJoCo 4 makes the factor of the Hessian again, and sometimes the Hessian, too."""
    body = chain(40, '<joint name="k{}" axis="0 1 .1" stiffness="5" damping=".5"/>', LIMB.format(3), "0 0 .05")
    both = both_of(xml(body, motor=MOTORS, top=SPARSE), isa, monkeypatch, 3, (1, 3, 20, 20))
    assert solved_by_mujoco(both) == 0


@ISAS
def test_trees_beside_each_other(isa, monkeypatch):
    """Islands, and balls that are alone: what is 0 in their inertia comes back with each contact."""
    balls = "".join(f'<body pos="{x} 1 .1"><freejoint/><geom size=".1" contype="0"/></body>' for x in range(3))
    both = both_of(
        xml(balls + walker(BENDING, 3) + balls.replace("1 .1", "2 .1"), motor=MOTORS, top=SPARSE), isa, monkeypatch
    )
    assert solved_by_mujoco(both) == 0


@ISAS
@pytest.mark.parametrize("kind", ["box", "mesh"])
def test_rows_that_mujoco_makes(kind, isa, monkeypatch):
    """MuJoCo finds contacts of meshes; those of boxes are found here where they are on the ground."""
    mesh = '<asset><mesh name="m" vertex="0 0 0 .2 0 0 0 .2 0 0 0 .2"/></asset><worldbody>'
    shape = 'type="box" size=".1 .08 .06"' if kind == "box" else 'type="mesh" mesh="m"'
    body = walker(BENDING, 3).replace("</body></body>", f'<geom {shape} contype="0"/></body></body>', 2)
    both = both_of(xml(body, motor=MOTORS, top=SPARSE.replace("<worldbody>", mesh)), isa, monkeypatch)
    assert (found_by_mujoco(both) > 0) == (kind == "mesh") and solved_by_mujoco(both) == 0


CROSSING = walker(BENDING, 3).replace('contype="0"', "")


@ISAS
@pytest.mark.parametrize("options", ["", 'cone="elliptic"', 'solver="CG"'])
def test_branches_that_touch_each_other(options, isa, monkeypatch):
    """Such a contact fills the Hessian: MuJoCo solves these lanes, and those of other cones and solvers."""
    top = SPARSE.replace("<option", f"<option {options}")
    assert solved_by_mujoco(both_of(xml(CROSSING, motor=MOTORS, top=top), isa, monkeypatch)) > 0


def test_what_is_said_of_branches_that_touch():
    env = batchenv.make_mujoco(xml(CROSSING, motor=MOTORS, top=SPARSE), 8, num_threads=1, qpos_noise=0.5)
    env.reset(seed=1)
    for _ in range(20):
        env.step(np.zeros((8, 2), np.float32))
    assert any("contacts between branches of a tree of joints, with sparse matrices" in text for text in how(env))


@ISAS
def test_lanes_with_models_of_their_own(isa, monkeypatch):
    both = both_of(xml(walker(BENDING, 3), motor=MOTORS, top=SPARSE), isa, monkeypatch, seeds=1)
    model = both.lanes.model
    env = batchenv.make_mujoco(xml(walker(BENDING, 3), motor=MOTORS, top=SPARSE), 8, num_threads=1)
    env.set_params(lanes=[1, 2, 5], body_mass=model.body_mass * np.linspace(0.5, 2, 8)[:, None])
    env.reset(seed=1)
    env.step(np.zeros((8, 2), np.float32))
    assert all(text.startswith("together") for text in how(env))


def test_which_models_are_known():
    def known(text):
        model = mujoco.MjModel.from_xml_string(text)
        return sparse.is_sparse(mujoco, model), sparse.is_known(mujoco, model)

    body = walker(BENDING, 3)
    assert known(xml(body, motor=MOTORS, top=SPARSE)) == (True, True)
    assert known(xml(body, motor=MOTORS))[0] is False
    weld = '<equality><joint joint1="k0" joint2="k1"/></equality>'
    tendon = '<tendon><fixed name="t" limited="true" range="-1 1"><joint joint="k0" coef="1"/></fixed></tendon>'
    for more in (weld, tendon):
        assert known(xml(body, more, MOTORS, SPARSE)) == (True, False)
    slider = '<body pos="3 0 1"><joint type="slide" limited="true" range="-1 1"/><geom size=".1"/></body>'
    assert known(xml(body + slider, motor=MOTORS, top=SPARSE)) == (True, False)
