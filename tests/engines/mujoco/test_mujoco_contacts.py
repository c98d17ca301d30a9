"""Contacts that are found several lanes at a time: the same bits as by mj_step, without asking MuJoCo."""

import numpy as np
import pytest

import batchenv
from batchenv import _core
from batchenv._core import PhysicsOwn
from helpers.mujoco import mujoco
from helpers.together import LEG, TOP, Both, always_alone, assert_like_mj_step, how, xml

VERSION = tuple(int(part) for part in mujoco.__version__.split(".")[:2])
pytestmark = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")

OBSERVED = ["qpos", "qvel", "cfrc_ext", "qfrc_constraint"]
ARM = LEG.format('<geom size=".02" contype="0" conaffinity="0"/>').replace("0 0 .5", "3 3 .5")  # has the motor


def in_groups(monkeypatch, text, steps=80, change=None, lanes=9, crowded=False, **options):
    """Steps a model both ways: the bits are the same, there were contacts, and all of them were found in groups.

    crowded: some of them may be too many for a lane's rows.
    """
    made = []

    def make():
        made.append(batchenv.make_mujoco(text, lanes, frame_skip=2, num_threads=1, observation=OBSERVED, **options))
        return made[-1]

    rows = assert_like_mj_step(monkeypatch, make, steps, change=change)
    for told in how(made[0]):
        why = told.partition("; MuJoCo solved")[2].partition("% because ")[2]
        assert told.startswith("together") and (not why or (crowded and "%" not in why and "rows" in why)), told
    where = made[0].get_attr("observation_fields")[0]["cfrc_ext"]
    touched = [row[:, where].any() for row in rows if row.ndim == 2 and row.shape[1] > where.stop - 1]
    assert sum(touched) > 20
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
    "an ellipsoid": (
        free('type="ellipsoid" size=".2 .1 .05" margin=".01" condim="4"'),
        TOP.replace('type="plane"', 'type="plane" euler="5 5 0"'),
        {"qpos_noise": 0.5, "qvel_noise": 3.0},
    ),
    "three of them": (
        "".join(free(BOX + ' contype="2" conaffinity="1"', f"{k} 0 .13") for k in range(3)),
        TOP,
        {"qpos_noise": 0.02},
    ),
}


@pytest.mark.parametrize("isa", _core.supported_isas())
@pytest.mark.parametrize("scene", ON_PLANES)
def test_boxes_and_ellipsoids_on_planes(scene, isa, monkeypatch):
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


EXPLICIT = {
    "all of its own": 'condim="3" friction=".9 .2 .1 .1 .1" margin=".05" gap=".02" solref=".05 1" solimp=".5 .9 .1"',
    "without friction": 'condim="1"',
    "torsion": 'condim="4" friction=".9 .9 .05 .1 .1" margin=".02"',
    "rolling": 'condim="6" friction=".5 .7 .05 .02 .04"',
    "of the geoms": "",
}


@pytest.mark.parametrize("isa", _core.supported_isas())
@pytest.mark.parametrize("solver", ["Newton", "PGS"] if VERSION >= (3, 17) else ["Newton"])
@pytest.mark.parametrize("values", EXPLICIT)
def test_explicit_pairs(values, solver, isa, monkeypatch):
    """They come first of all contacts of two bodies, have parameters of their own, and replace what is found anyway."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    foot = '<geom name="{}" {} pos="{} 0 -.1" margin=".01" condim="3"/>'
    feet = foot.format("a", 'size=".05"', 0.1) + foot.format("b", 'type="box" size=".05 .04 .03"', -0.1)
    feet += foot.format("c", 'type="capsule" size=".03 .1"', 0) + foot.format("d", 'size=".04" contype="0"', 0.3)
    toe = '<geom name="e" size=".05" pos=".1 0 -.15"/>'
    leg = f'<body pos="0 0 .2"><joint name="b" axis="0 1 0" damping=".1"/>{toe}</body>'
    body = f'<body pos="0 0 .16"><freejoint/>{feet}{leg}</body>'
    pairs = "".join(f'<pair geom1="{geom}" geom2="ground" {EXPLICIT[values]}/>' for geom in "dba")
    text = xml(body, f"<contact>{pairs}</contact>", top=TOP.replace("type=", 'name="ground" type='))
    env = in_groups(
        monkeypatch, text.replace("<option", f'<option solver="{solver}"'), qpos_noise=0.1, crowded=values == "rolling"
    )
    plan = env._backend.translator.lanes.plan
    assert plan.contacts.own.all() and plan.numbers.tolist() == [0, 1, 2, -1, -1]


@pytest.mark.parametrize("condim", [4, 6])
@pytest.mark.parametrize("gap", [0, 0.015, 0.1])
@pytest.mark.parametrize("geom", ['size=".1"', 'type="capsule" size=".06 .1"', 'type="cylinder" size=".1 .08"', BOX])
def test_torsion_rolling_and_gaps(geom, gap, condim, monkeypatch):
    body = free(f'{geom} condim="{condim}" gap="{gap}" margin=".02" friction=".8 .1 .05"', "0 0 .2")
    in_groups(monkeypatch, xml(body + ARM), qpos_noise=0.2, qvel_noise=2.0)


BOLT = 'vertex="-.2 -.02 -.02 .2 -.02 -.02 .2 .02 -.02 -.2 .02 .02 .2 .02 .02 0 0 .03"'
NEAR = {  # geoms whose contacts MuJoCo's functions find, of which one merely comes near to what the other touches
    "boxes beside each other": (BOX, 'type="box" size=".1 .07 .12" pos=".21 0 0"', "0 0 .118"),
    "edges that cross": (
        'type="box" size=".3 .05 .05" euler="45 0 0"',
        'type="box" size=".05 .3 .05" euler="0 45 0" pos="0 0 .222"',
        "0 0 .07",
    ),
    "an ellipsoid and a cylinder": (
        'type="ellipsoid" size=".3 .05 .06"/><geom size=".05" pos="0 0 -.02"',
        'type="cylinder" size=".05 .3" euler="0 90 0" pos="0 .11 .1"',
        "0 0 .065",
    ),
    "a mesh and a box": (
        'type="mesh" mesh="bolt"/><geom size=".08"',
        'type="box" size=".3 .05 .05" pos="0 .15 .09" euler="0 0 5"',
        "0 0 .078",
    ),
}


@pytest.mark.parametrize("isa", _core.supported_isas())
@pytest.mark.parametrize("scene", NEAR)
def test_geoms_that_merely_come_near(scene, isa, monkeypatch):
    """Spheres around them overlap, but boxes around them do not."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    geom, other, place = NEAR[scene]
    slides = '<joint type="slide" axis="1 0 0" damping="9"/><joint type="slide" axis="0 0 1"/>'
    body = f'<body pos="{place}">{slides}<geom {geom}/></body><geom {other}/>{ARM}'
    text = xml(body).replace("<worldbody>", f'<asset><mesh name="bolt" {BOLT}/></asset><worldbody>')
    env = in_groups(monkeypatch, text)
    assert PhysicsOwn.CALLED in env._backend.translator.lanes.plan.contacts.own
    assert "looked for contacts" not in how(env)[0]


@pytest.mark.parametrize("isa", _core.supported_isas())
def test_contacts_that_are_found_before_geoms_touch(isa, monkeypatch):
    """MuJoCo's function for a cylinder and a box is right within 1e-6 m. Where boxes around them do not touch, mj_step
    does not call it."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    joints = '<joint type="slide" axis="0 0 1" damping="1e5"/><joint axis="1 0 0"/><joint axis="0 1 0"/>'
    post = f'<body pos="0 0 1.00705">{joints}<geom type="cylinder" size=".045 .007" mass="1"/></body>'
    boxes = "".join(
        f'<geom type="box" size=".03 .03 .1" pos="{x} {y} .9"/>' for x in (-0.03, 0.03) for y in (-0.03, 0.03)
    )
    text = xml(post + f"<body>{boxes}</body>" + ARM)

    def make():
        return batchenv.make_mujoco(text, 21, observation=OBSERVED, qpos_noise=5e-5)

    assert_like_mj_step(monkeypatch, make, 200)


def test_geoms_that_came_near_because_they_grew(monkeypatch):
    """MuJoCo's own box around a geom does not grow with the geom: such lanes are not stepped with the others."""
    slides = '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>'
    other = 'contype="2" conaffinity="2"'  # the plane is not touched
    body = f'<body pos="0 0 .13">{slides}<geom type="ellipsoid" size=".3 .05 .05" {other}/></body>'
    wall = f'<body pos="0 .3 .2">{slides}<geom type="cylinder" size=".05 .3" euler="0 90 0" {other}/></body>'
    made = []

    def grow(env):
        sizes = np.tile(env.get_attr("model")[0].geom_size, (8, 1, 1))
        sizes[::2, 1] = 0.3, 0.28, 0.16
        env.set_params(geom_size=sizes)

    def make():
        made.append(batchenv.make_mujoco(xml(body + wall + ARM), 8, observation=OBSERVED, qpos_noise=0.01))
        return made[-1]

    assert_like_mj_step(monkeypatch, make, 40, change=grow)
    for lane, told in enumerate(how(made[0])):
        assert told.startswith("together") == (lane % 2 == 1)
        assert ("geom_size" in told) == (lane % 2 == 0)


STAIRS = "".join(f'<geom type="box" size=".1 .5 .03" pos="{0.2 * k} 0 {0.06 * k}"/>' for k in range(-1, 3))
BLOCK = '<geom type="box" size=".2 .15 .05" euler="10 20 30"/>'
WITH_BOXES = {
    "a sphere on stairs": (free('size=".08"'), STAIRS),
    "a sphere in a box": (free('size=".02"', "0 0 .01"), BLOCK),
    "a capsule on stairs": (free('type="capsule" size=".04 .15" euler="0 80 10"'), STAIRS),
    "a capsule on end": (free('type="capsule" size=".04 .15"', "0 0 .26"), BLOCK),
    "a capsule in a box": (free('type="capsule" size=".04 .15"', "0 0 .01"), BLOCK),
    "a long thin capsule": (free('type="capsule" size=".01 .5" euler="90 0 0"', "0 0 .1"), BLOCK),
    "margins and gaps": (free('type="capsule" size=".04 .15" margin=".03" gap=".01" condim="6"'), STAIRS),
    "along the axes": (
        free('type="capsule" size=".04 .15" euler="0 90 0"', ".02 0 .085"),
        STAIRS.replace("euler", "n"),
    ),
}


@pytest.mark.parametrize("isa", _core.supported_isas())
@pytest.mark.parametrize("scene", WITH_BOXES)
def test_spheres_and_capsules_with_boxes(scene, isa, monkeypatch):
    """Also from many states: places of a capsule on a box are of many kinds."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    body, boxes = WITH_BOXES[scene]
    text = xml(body + boxes + ARM)
    in_groups(monkeypatch, text, qpos_noise=0.05, qvel_noise=1.0)
    monkeypatch.setenv("BATCHENV_PHYSICS", "1")
    both, rng = Both(mujoco.MjModel.from_xml_string(text)), np.random.default_rng(0)
    for _ in range(60):
        difference, compared, _ = both.compare(rng, (1, 1))
        assert not difference and compared


def test_boxes_and_capsules_of_other_sizes(monkeypatch):
    """Sizes, margins and frictions that differ from lane to lane."""

    def change(env):
        rng, model = np.random.default_rng(0), env.get_attr("model")[0]
        for name in ("geom_size", "geom_friction", "geom_margin"):
            values = getattr(model, name)
            env.set_params(**{name: values * rng.uniform(0.6, 1, (9, *values.shape))})

    body, boxes = WITH_BOXES["margins and gaps"]
    in_groups(monkeypatch, xml(body + boxes + ARM), change=change, qpos_noise=0.05, qvel_noise=1.0)


def test_limbs_of_capsules_and_boxes(monkeypatch):
    """Of one tree of joints, and of two trees."""
    limbs = (
        '<body pos="0 0 .5"><freejoint/><geom type="box" size=".1 .1 .05"/><body pos=".1 0 .2"><joint axis="0 1 0"/>'
        '<geom size=".01" mass=".1"/><body pos=".1 0 0"><joint axis="0 1 0" damping=".01"/>'
        '<geom type="capsule" size=".03" fromto="0 0 0 -.2 0 -.1"/><geom size=".05" pos="-.2 0 -.15"/>'
        "</body></body></body>"
    )
    env = in_groups(monkeypatch, xml(limbs + ARM), qpos_noise=0.1, qvel_noise=1.0, crowded=True)
    assert env._backend.translator.lanes.plan.contacts.own.all()
    monkeypatch.setenv("BATCHENV_PHYSICS", "1")
    two = xml(limbs + free('type="capsule" size=".03 .1"', ".05 0 .65") + ARM)
    assert_like_mj_step(monkeypatch, lambda: batchenv.make_mujoco(two, 5, observation=OBSERVED, qpos_noise=0.05), 60)


WALL = '<geom type="capsule" size=".03 .15" pos="0 0 .3"/>'


@pytest.mark.skipif(VERSION < (3, 17), reason="contacts of capsules are MuJoCo's")
@pytest.mark.parametrize("isa", _core.supported_isas())
@pytest.mark.parametrize("turned", ["0 0 0", "180 0 0", ".001 .002 0", "40 0 0"])
def test_parallel_capsules(turned, isa, monkeypatch):
    """Their contacts are where they begin and end to lie beside each other."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    slide = '<joint type="slide" axis="1 0 0" range="-.1 .1"/><joint type="slide" axis="0 0 1" damping="20"/>'
    capsule = f'type="capsule" size=".03 .1" euler="{turned}"'
    body = f'<body pos=".055 0 .35">{slide}<joint axis="1 0 0" damping="1"/><geom {capsule}/></body>'
    in_groups(monkeypatch, xml(body + WALL + ARM, top=TOP.replace("<option", '<option gravity="-9 0 -1"')))


HINGE = '<joint axis="0 1 0" damping="1" armature=".1"/>'
AT_ONE_POINT = {  # of the axes, or of the middles
    "limbs that cross in a plane": f'<body pos=".02 0 .35" euler="0 60 0">{HINGE}'
    '<geom type="capsule" size=".03 .1"/></body>',
    "a sphere at a joint": f'<geom size=".05" pos="1 0 1"/><body pos="1 0 1">{HINGE}'
    '<geom type="capsule" size=".03" fromto="0 0 0 .2 0 0"/></body>',
    "a sphere in a sphere": f'<geom size=".05" pos="1 0 1" euler="0 30 0"/><body pos="1 0 1">{HINGE}<geom size=".03"/>'
    '<geom size=".02" pos=".1 0 0"/></body>',
    "a capsule in a capsule": f'<body pos="0 0 .3">{HINGE}<geom type="capsule" size=".02 .1"/></body>',
}


@pytest.mark.skipif(VERSION < (3, 17), reason="contacts of capsules are MuJoCo's")
@pytest.mark.parametrize("isa", _core.supported_isas())
@pytest.mark.parametrize("scene", AT_ONE_POINT)
def test_spheres_and_capsules_at_one_point(scene, isa, monkeypatch):
    """The direction of such a contact is across the geoms' axes, or any if these are parallel."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    in_groups(monkeypatch, xml(AT_ONE_POINT[scene] + WALL + ARM), 40, qpos_noise=0.01)
