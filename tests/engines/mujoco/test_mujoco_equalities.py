"""Rows of equalities that lanes make and solve together: the same bits as mj_step's."""

import numpy as np
import pytest

import batchenv
from batchenv import _core
from helpers.mujoco import mujoco
from helpers.together import LANES, TOP, Both, always_alone, assert_like_mj_step, how, solved_by_mujoco, xml

pytestmark = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")
ISAS = pytest.mark.parametrize("isa", _core.supported_isas())

# One tree: a hanging arm with two hands, each with a site; and a mocap body.
HAND = """<body pos=".3 {} 0" name="{}" euler="{}"><joint name="{}" axis="0 1 .2"/><geom type="box" size=".15 .03 .02"
contype="0" conaffinity="0"/><site name="site_{}" pos=".1 .02 0" euler="20 40 60"/></body>"""
ARM = f"""<body pos="0 0 .9"><joint name="x" type="slide" axis="0 0 1"/><geom size=".05" contype="0" conaffinity="0"/>
<body pos=".1 0 .05" name="upper"><joint name="a" axis="0 1 0" range="-.5 .5" limited="true" frictionloss=".1"/>
<geom type="box" size=".1 .03 .02" contype="0" conaffinity="0"/><site name="elbow" pos="0 0 .1"/>
{HAND.format(0, "tip", "0 10 0", "b", "tip")}{HAND.format(0.15, "end", "30 0 20", "c", "end")}</body></body>
<body name="hook" mocap="true" pos=".4 .1 1" euler="0 20 70"><site name="eye" pos=".1 0 0"/></body>"""
BALL = """<body pos="0 0 .3" name="{}"><freejoint/><geom size=".1" contype="0" conaffinity="0"/><body pos=".1 .3 .2"
name="{}_arm" euler="10 20 30"><joint name="{}_joint" type="{}"/><geom size=".05" contype="0" conaffinity="0"/></body>
</body>"""
JOINTS = {"one": "hinge", "two": "ball", "six": "slide"}
TREES = "".join(BALL.format(name, name, name, kind) for name, kind in JOINTS.items())
SOFT = 'solref="-50 -5" solimp=".5 .9 .01 .3 1"'
TENDONS = """<tendon><fixed name="t"><joint joint="a" coef="1"/><joint joint="b" coef="-2"/></fixed>
<fixed name="u"><joint joint="c" coef=".5"/><joint joint="a" coef=".1"/></fixed></tendon>"""
SPATIAL = """<tendon><spatial name="s"><site site="eye"/><site site="elbow"/><site site="site_tip"/></spatial>
<spatial name="r"><site site="site_end"/><site site="site_tip"/></spatial></tendon>"""
KINDS = {
    "joint": f'<joint joint1="a" joint2="b" polycoef="0 .5 .2 -.1 .3"/><joint joint1="c" polycoef=".1" {SOFT}/>',
    "connect": '<connect body1="tip" anchor=".3 0 0" body2="world"/><connect body1="tip" anchor="0 0 .1" body2="end"/>',
    "connect of sites": '<connect site1="site_tip" site2="elbow"/>',
    "weld": f'<weld body1="tip" body2="end" torquescale=".3" anchor=".1 0 0" {SOFT}/>',
    "weld with a pose": '<weld body1="end" body2="upper" relpose=".1 .2 .3 .5 .5 -.5 .5" solref="0.1 0.7"/>',
    "weld of sites": '<weld site1="site_tip" site2="site_end" torquescale="2"/>',
    "weld to a mocap body": '<weld body1="hook" body2="tip"/>',
    "connect to a mocap body": '<connect site1="site_end" site2="eye"/>',
    "tendon": f'<tendon tendon1="t" {SOFT}/><tendon tendon1="t" tendon2="u" polycoef=".1 -.3 .2 .1 .4"/>',
    "spatial tendon": f'<tendon tendon1="s" {SOFT}/><tendon tendon1="s" tendon2="r" polycoef=".1 -.3 .2 .1 .4"/>',
    "not active": '<weld body1="tip" body2="end" active="false"/><joint joint1="a" joint2="b"/>',
}
MOTORS = "".join(f'<motor joint="{joint}" gear="3" ctrlrange="-1 1"/>' for joint in "abc")
MOTOR = '<actuator><motor joint="one_joint" ctrlrange="-1 1"/></actuator>'


def model_of(kind, options=""):
    top = TOP.replace('timestep="0.005"', f'timestep="0.005" {options}')
    tendons = SPATIAL if kind == "spatial tendon" else TENDONS
    more = f"{tendons}<equality>{KINDS[kind]}</equality>"
    return xml(ARM, more, f"<actuator>{MOTORS}</actuator>", top)


@ISAS
@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicitfast"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_equalities(kind, integrator, isa, monkeypatch):
    monkeypatch.setenv("BATCHENV_ISA", isa)
    both = Both(mujoco.MjModel.from_xml_string(model_of(kind, f'integrator="{integrator}"')))
    assert both.lanes.plan.sizes[_core.PHYSICS_SIZES.index("ne")] > 0
    for seed in range(4):
        differs, compared, _ = both.compare(np.random.default_rng(seed), (1, 2, 40, 1, 60))
        assert not differs and compared > 3 * LANES, seed
    assert solved_by_mujoco(both) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_equalities_that_mujoco_solves(kind):
    both = Both(mujoco.MjModel.from_xml_string(model_of(kind, 'solver="CG"')))
    differs, compared, _ = both.compare(np.random.default_rng(0), (1, 2, 40, 1, 60))
    assert not differs and compared > 3 * LANES
    assert solved_by_mujoco(both) > 0


ACROSS = {
    "neighbours": '<weld body1="one_arm" body2="two"/>',
    "joints of others": '<joint joint1="six_joint" joint2="one_joint"/>',
    "all": '<connect body1="six" body2="two_arm" anchor=".1 0 0"/><weld body1="two" body2="one"/>',
    "others between": '<connect body1="one" body2="six" anchor=".1 0 0"/>',
}


@ISAS
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("kind", ACROSS)
def test_equalities_of_several_trees(kind, cone, isa, monkeypatch):
    """They make one island of the trees. Where others are between these, MuJoCo solves them."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    top = TOP.replace("<option", f'<option cone="{cone}"')
    both = Both(mujoco.MjModel.from_xml_string(xml(TREES, f"<equality>{ACROSS[kind]}</equality>", MOTOR, top)))
    for seed in range(4):
        differs, compared, _ = both.compare(np.random.default_rng(seed), (1, 2, 40, 1, 60))
        assert not differs and compared > 3 * LANES, seed
    assert (solved_by_mujoco(both) > 0) == (kind in ("others between", "joints of others"))


@pytest.mark.parametrize("solver", ["Newton", "PGS"])
def test_an_equality_that_has_no_rows_at_the_start(solver):
    """MuJoCo leaves out rows of zeros, and not those of rounding errors: both ends move with one body."""
    body = (
        '<body name="one" pos="0 0 .3"><freejoint/><geom size=".1"/><body name="two" pos=".1 .3 .2" euler="10 20 30">'
        '<geom size=".05"/><body pos=".1 0 .1"><joint name="b"/><geom size=".05"/></body></body></body>'
    )
    equality = '<equality><connect body1="two" body2="one" anchor=".1 .2 0"/></equality>'
    text = xml(body, equality, top=TOP.replace("<option", f'<option solver="{solver}"'))
    both = Both(mujoco.MjModel.from_xml_string(text))
    assert both.lanes.plan.sizes[_core.PHYSICS_SIZES.index("ne")] == 0
    differs, compared, _ = both.compare(np.random.default_rng(0), (1, 2, 40, 1))
    assert not differs and compared > 2 * LANES
    assert solved_by_mujoco(both) > 0


@pytest.mark.parametrize("kind", ["joint", "weld", "weld of sites", "tendon", "spatial tendon"])
def test_lanes_with_models_of_their_own(kind, monkeypatch):
    """What rows come to depends on numbers of each lane's model."""

    def change(env):
        model, rng = env.get_attr("model")[0], np.random.default_rng(1)
        env.set_params(
            lanes=[1, 2, 5],
            body_mass=model.body_mass * rng.uniform(0.5, 2, (8, 1)),
            body_pos=model.body_pos + (model.body_mocapid < 0)[:, None] * rng.uniform(0, 0.05, (8, model.nbody, 3)),
            dof_armature=model.dof_armature + rng.uniform(0.1, 2, (8, 1)),
        )
        told = how(env)
        assert not told[0].startswith("together") or all(text.startswith("together") for text in told), told

    def make():
        shown = ["qpos", "qvel", "qacc", *["cfrc_ext"] * (kind != "spatial tendon")]
        return batchenv.make_mujoco(model_of(kind), 8, observation=shown, num_threads=1, qpos_noise=0.3)

    assert_like_mj_step(monkeypatch, make, 60, change=change)
