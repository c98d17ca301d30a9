"""Rows of constraints that lanes solve together, and how many there may be: the same bits as mj_step's."""

import numpy as np
import pytest

import batchenv
from batchenv import _core
from batchenv.envs.mujoco.features import since
from helpers.mujoco import mujoco
from helpers.together import (
    BALL,
    LANES,
    LEG,
    TOP,
    Both,
    always_alone,
    assert_like_mj_step,
    found_by_mujoco,
    how,
    solved_by_mujoco,
    xml,
)

pytestmark = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")
HAS_PGS = since(mujoco, 3, 17)
ISAS = pytest.mark.parametrize("isa", _core.supported_isas())

FRICTION = 'frictionloss="{}" solreffriction="{}" solimpfriction="{}"'
ROUGH = FRICTION.format(0.3, "0.02 1", "0.9 0.95 0.001 0.5 2")
DIRECT = FRICTION.format(2.0, "-20 -3", "0.4 0.4 0 0.5 1")
# Two trees of joints, one of them with a tendon, on the ground and at limits.
RUBBING = f"""
<body pos="0 0 .3"><joint name="x" type="slide" axis="1 0 0" {ROUGH}/><joint name="z" type="slide" axis="0 0 1"/>
  <geom size=".1"/><body pos=".2 0 0"><joint name="a" axis="0 1 0" limited="true" range="-.3 .5" {DIRECT}/>
  <geom type="capsule" fromto="0 0 0 .3 0 0" size=".04"/><body pos=".3 0 0"><joint name="b" type="ball" {ROUGH}/>
  <geom type="capsule" fromto="0 0 0 .2 0 -.1" size=".03"/></body></body></body>
<body pos="2 0 .2"><freejoint/><geom size=".1"/><body pos="0 .1 .1"><joint name="c" axis="1 0 0" {ROUGH}/>
  <geom type="capsule" fromto="0 0 0 0 .3 0" size=".05"/></body></body>"""
TENDON = f'<tendon><fixed name="t" {ROUGH}><joint joint="x" coef=".5"/><joint joint="a" coef="-2"/></fixed></tendon>'
MOTORS = "".join(f'<motor joint="{joint}" gear="3" ctrlrange="-1 1"/>' for joint in "xzac")
MOTORS = f"<actuator>{MOTORS}</actuator>"
STICKS, SLIDES = int(mujoco.mjtConstraintState.mjCNSTRSTATE_QUADRATIC), (2, 3)


def lanes_of(text, isa, monkeypatch):
    monkeypatch.setenv("BATCHENV_ISA", isa)
    both = Both(mujoco.MjModel.from_xml_string(text))
    assert both.lanes.plan.sizes[_core.PHYSICS_SIZES.index("nf")] == 7  # x, a, three of b, c, and the tendon
    return both


def evaluated(both):
    """The mjData of each lane, where it is now."""
    lanes, data = both.lanes, mujoco.MjData(both.lanes.model)
    for state in lanes.records:
        mujoco.mj_setState(lanes.model, data, state[: lanes.state_size], lanes.signature)
        mujoco.mj_forward(lanes.model, data)
        yield data


@ISAS
@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
@pytest.mark.parametrize("options", ['iterations="100"', 'iterations="2" ls_iterations="3"', 'impratio="10"'])
def test_friction_loss_of_joints_and_tendons(options, integrator, isa, monkeypatch):
    """Rows that stick and rows that slide, either way, among limits and contacts."""
    top = TOP.replace('timestep="0.005"', f'timestep="0.005" integrator="{integrator}" {options}')
    both = lanes_of(xml(RUBBING, TENDON, MOTORS, top), isa, monkeypatch)
    states = set()
    for seed in range(6):
        differs, compared, left = both.compare(np.random.default_rng(seed), (1, 2, 40, 1, 60))
        assert not differs, seed
        assert compared == 5 * LANES and left == 0
        for data in evaluated(both):
            states |= set(data.efc_state[: data.nf].tolist())
    assert {STICKS, *SLIDES} <= states
    assert not solved_by_mujoco(both)


def test_friction_loss_that_mujoco_solves():
    """Of models with the CG solver. test_mujoco_tendons.py has tendons that pull at several trees of joints."""
    text = xml(RUBBING, "", MOTORS, TOP.replace("<option", '<option solver="CG"'))
    env = batchenv.make_mujoco(text, 4, num_threads=1)
    env.reset(seed=1)
    env.step(np.zeros((4, 4), np.float32))
    assert "or friction loss that is not solved here" in how(env)[0]


def test_friction_loss_of_each_lane(monkeypatch):
    """Lanes with models of their own stay in groups, unless a joint's friction loss becomes 0, or is no longer 0."""

    def change(env):
        loss = env.get_attr("model")[0].dof_frictionloss
        env.set_params(lanes=[1, 2, 3, 6], dof_frictionloss=loss * np.linspace(0.2, 3, 12)[:, None])
        env.set_params(lanes=[4], dof_frictionloss=np.where(np.arange(len(loss)) == 2, 0, loss))
        told = how(env)
        if told[0].startswith("together"):
            assert "dof_frictionloss" in told[4]
            assert sum(text.startswith("together") for text in told) == 11

    def make():
        observed = ["qpos", "qvel", "qfrc_constraint"]
        return batchenv.make_mujoco(xml(RUBBING, TENDON, MOTORS), 12, observation=observed, num_threads=1)

    assert_like_mj_step(monkeypatch, make, 40, change=change)


@ISAS
def test_many_rows(isa, monkeypatch):
    """A caterpillar on its belly has more than two hundred rows, and its lanes are still solved together."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    chain = ""
    for k in range(30):
        root = "<freejoint/>" if k == 29 else f'<joint name="j{k}" axis="0 1 0" {ROUGH}/>'
        place = ".11 0 0" if k < 29 else "0 0 .035"
        limb = '<geom type="capsule" fromto="0 0 0 .1 0 0" size=".04"/>'
        chain = f'<body pos="{place}">{root}{limb}{chain}</body>'
    motors = '<actuator><motor joint="j3" ctrlrange="-1 1"/></actuator>'
    both = Both(mujoco.MjModel.from_xml_string(xml(chain, motor=motors)))
    differs, compared, _ = both.compare(np.random.default_rng(0), (1, 20, 30))
    assert not differs and compared > 2 * LANES  # some are unstable
    assert max(data.nefc for data in evaluated(both)) > 200
    assert not solved_by_mujoco(both)


ROD = '<geom type="capsule" fromto="0 0 0 .3 0 0" size=".04"/>'
HILLS = " ".join(str(k * k % 7 / 7) for k in range(100))
ASSETS = f"""<asset><mesh name="m" vertex="0 0 0 .2 0 0 0 .2 0 0 0 .2"/>
<hfield name="h" nrow="10" ncol="10" size="2 2 .1 .1" elevation="{HILLS}"/></asset>"""
GEOMS = {
    "box": '<geom type="box" size=".1 .08 .06"/>',
    "ellipsoid": '<geom type="ellipsoid" size=".1 .08 .06"/>',
    "mesh": '<geom type="mesh" mesh="m"/>',
    "turning": '<geom type="box" size=".1 .08 .06" condim="6" friction=".7 .01 .002"/>',
    "gap": '<geom size=".1" margin=".03" gap=".01" condim="4"/>',
    "ball": '<geom size=".1"/><body pos="0 0 .2"><joint type="ball" range="0 .3" limited="true"/>{}</body>'.format(
        '<geom size=".05"/>'
    ),
    "hills": '<geom size=".1"/>',
}
MADE_HERE = ["gap", "ball"]
VERSION = tuple(int(part) for part in mujoco.__version__.split(".")[:2])
SINCE_3_17 = pytest.mark.skipif(VERSION < (3, 17), reason="contacts of spheres are found by MuJoCo")


def arm(geom):
    """One tree: a hanging arm with two hands."""
    hand = "<body pos='.3 {} 0' name='{}'><joint name='{}' type='hinge' axis='0 1 .2'/>{}</body>"
    hands = hand.format(0, "tip", "b", ROD + geom) + hand.format(0.15, "end", "c", ROD + geom)
    return (
        f'<body pos="0 0 .15"><joint name="x" type="slide" axis="0 0 1"/>{geom}<body pos=".1 0 .05">'
        f'<joint name="a" axis="0 1 0" range="-.5 .5" limited="true" {ROUGH}/>{ROD}{hands}</body></body>'
    )


def model_of(geom, options=""):
    tendon = '<tendon><fixed name="t" range="-.2 .1" limited="true"><joint joint="a" coef="1"/>'
    tendon += '<joint joint="b" coef="-2"/></fixed></tendon>'
    motors = "".join(f'<motor joint="{joint}" gear="3" ctrlrange="-1 1"/>' for joint in "abc")
    top = TOP.replace('timestep="0.005"', f'timestep="0.005" {options}').replace("<worldbody>", ASSETS + "<worldbody>")
    return xml(arm(geom), tendon, f"<actuator>{motors}</actuator>", top)


OPTIONS = pytest.mark.parametrize(
    "options", ['integrator="Euler"', 'integrator="RK4"', 'integrator="implicitfast"', *['solver="PGS"'] * HAS_PGS]
)


def both_of(kind, options, isa, monkeypatch):
    """Compared for some random states."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    text = model_of(GEOMS[kind], options)
    if kind == "hills":
        text = text.replace('type="plane" size="9 9 1"', 'type="hfield" hfield="h"')
    both = Both(mujoco.MjModel.from_xml_string(text))
    for seed in range(4):
        differs, compared, _ = both.compare(np.random.default_rng(seed), (1, 2, 40, 1, 60))
        assert not differs and compared > 3 * LANES, seed
    return both


@ISAS
@OPTIONS
@pytest.mark.parametrize("kind", [kind for kind in GEOMS if kind not in MADE_HERE])
def test_contacts_that_mujocos_functions_find(kind, options, isa, monkeypatch):
    """Such lanes are solved with the others, and with rows of friction loss."""
    both = both_of(kind, options, isa, monkeypatch)
    share = 1 if "PGS" in options and kind == "turning" else 9  # with ten rows of each contact, there are too many
    assert found_by_mujoco(both) > share * solved_by_mujoco(both)


@SINCE_3_17
@ISAS
@OPTIONS
@pytest.mark.parametrize("kind", MADE_HERE)
def test_limits_of_tendons_and_balls(kind, options, isa, monkeypatch):
    both = both_of(kind, options, isa, monkeypatch)
    assert found_by_mujoco(both) == solved_by_mujoco(both) == 0
    kinds = {int(kind) for data in evaluated(both) for kind in data.efc_type}
    limit = "TENDON" if kind == "gap" else "JOINT"
    assert int(getattr(mujoco.mjtConstraint, f"mjCNSTR_LIMIT_{limit}")) in kinds


def test_contacts_that_mujocos_functions_find_in_lanes_with_models_of_their_own(monkeypatch):
    """Only some lanes of a group have such contacts, and each lane's come from its own model."""

    def change(env):
        model, rng = env.get_attr("model")[0], np.random.default_rng(1)
        env.set_params(
            lanes=[1, 2, 5],
            body_mass=model.body_mass * rng.uniform(0.5, 2, (8, 1)),
            dof_frictionloss=model.dof_frictionloss * rng.uniform(0.5, 2, (8, 1)),
            geom_friction=model.geom_friction * rng.uniform(0.5, 2, (8, 1, 1)),
        )

    def make():
        return batchenv.make_mujoco(
            model_of(GEOMS["box"]), 8, observation=["qpos", "qvel", "qacc"], num_threads=1, qpos_noise=0.3
        )

    assert_like_mj_step(monkeypatch, make, 60, change=change)


def test_what_is_said_of_contacts_that_mujocos_functions_find():
    env = batchenv.make_mujoco(model_of(GEOMS["box"]), 4, num_threads=1)
    env.reset(seed=1)
    env.step(np.zeros((4, 3), np.float32))
    assert "MuJoCo's functions looked for contacts in 100% (box and box" in how(env)[0]


CUBES = "".join(
    f'<body pos="{x} 0 {z}" name="cube{x}"><freejoint/><geom type="box" size=".06 .06 .06"/></body>'
    for x, z in ((0.35, 0.1), (0.36, 0.25), (2, 0.1))
)
PUSHER = """<body pos="0 0 .1"><joint name="x" type="slide" axis="1 0 0" frictionloss=".3"/><geom size=".05"/>
<body pos=".1 0 0"><joint name="b" axis="0 1 0" range="-.5 .5" limited="true"/>
<geom type="capsule" fromto="0 0 0 .15 0 0" size=".05"/></body></body>"""
PUSH = '<actuator><motor joint="x" gear="30" ctrlrange="-1 1"/><motor joint="b" ctrlrange="-1 1"/></actuator>'


@ISAS
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize("more", ["", '<equality><weld body1="cube0.36" body2="cube2"/></equality>'])
def test_trees_that_touch_each_other(more, order, cone, isa, monkeypatch):
    """Rows that move several trees make one island of them, in some lanes and not in others."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    body = PUSHER + CUBES if order == "first" else CUBES + PUSHER
    text = xml(body, more, PUSH, TOP.replace("<option", f'<option cone="{cone}"'))
    both = Both(mujoco.MjModel.from_xml_string(text))
    merged = set()
    for seed in range(5):
        differs, compared, _ = both.compare(np.random.default_rng(seed), (1, 2, 40, 1, 100))
        assert not differs and compared > 3 * LANES, seed
        merged |= {tuple(data.tree_island.tolist()) for data in evaluated(both)}
    assert len(merged) > 2
    # MuJoCo solves those of islands that have other trees between.
    assert found_by_mujoco(both) > (4 if order == "first" else 0.5) * solved_by_mujoco(both)


WELD = '<weld body1="held"/>'


@ISAS
@pytest.mark.parametrize("solver,welds", [("PGS", 16), ("PGS", 40), ("Newton", 170)])
def test_more_equalities_than_there_is_room_for(solver, welds, isa, monkeypatch):
    """There is room for 100 rows with PGS, and for 1,000 with Newton."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    more_body = f'<body><joint type="ball"/>{BALL}</body>'
    body = f'<body name="held" pos="0 0 1"><joint name="b" axis="0 1 0"/>{BALL}{more_body}</body>'
    more = f"<equality>{WELD * welds}</equality>"
    top = TOP.replace("<option", f'<option solver="{solver}" iterations="9"')
    made = []

    def make():
        made.append(batchenv.make_mujoco(xml(body, more, top=top), 4, qpos_noise=0.02))
        return made[-1]

    assert_like_mj_step(monkeypatch, make, 5)
    known = HAS_PGS or solver == "Newton"
    assert ("MuJoCo solved" not in how(made[0])[0]) == (known and 6 * welds <= (1000 if solver == "Newton" else 100))


def test_more_rows_than_mujoco_has_memory_for(monkeypatch):
    """MuJoCo leaves out constraints, and so do lanes in groups. They fall for longer than the self-check takes."""
    cubes = "".join(
        f'<body pos="{k % 8} {k // 8} 6"><freejoint/><geom type="box" size=".1 .1 .1" conaffinity="0"/></body>'
        for k in range(40)
    )
    top = TOP.replace("<option", '<size memory="2M"/><option jacobian="dense"').replace("0.005", "0.01")
    made = []

    def make():
        made.append(batchenv.make_mujoco(xml(LEG.format(BALL) + cubes, top=top), 4, qpos_noise=0.02))
        return made[-1]

    assert_like_mj_step(monkeypatch, make, 130)
    assert "too many rows" in how(made[0])[0]
