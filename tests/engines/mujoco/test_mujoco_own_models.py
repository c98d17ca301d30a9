"""Models of users, stepped several lanes at a time: the same bits as by mj_step, feature by feature, or a reason."""

import numpy as np
import pytest

import batchenv
from batchenv import _core
from batchenv._core import PhysicsOwn
from helpers.mujoco import mujoco
from helpers.together import BALL, BODY, LEG, MOTOR, TOP, always_alone, assert_like_mj_step, how, xml

VERSION = tuple(int(part) for part in mujoco.__version__.split(".")[:2])
pytestmark = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")


def test_own_model(monkeypatch):
    """Contacts, limits, springs, a fluid, sites, ball and free joints; what is observed comes along."""
    body = (
        '<body pos="0 0 .4"><freejoint/><geom type="capsule" size=".05 .2"/><site name="s" pos=".1 0 0"/>'
        '<body pos=".2 0 0"><joint type="ball" damping=".2"/><geom type="box" size=".1 .05 .05"/>'
        '<body pos=".2 0 0"><joint name="b" axis="0 1 0" limited="true" range="-20 20" stiffness="2"/>'
        '<geom type="ellipsoid" size=".1 .05 .03"/></body></body></body>'
    )
    top = TOP.replace('timestep="0.005"', 'timestep="0.005" integrator="RK4" density="20" viscosity=".1"')
    observed = ["qpos", "qvel", "site_xpos", "cvel", "cfrc_ext", "qfrc_constraint", "actuator_force", "geom_xmat"]

    def make():
        return batchenv.make_mujoco(xml(body, top=top), 10, frame_skip=3, observation=observed, **noise)

    noise = {"qpos_noise": 0.3, "qvel_noise": 1.0}
    assert_like_mj_step(monkeypatch, make, 120)


@pytest.mark.parametrize(
    "option",
    ['cone="elliptic"', 'solver="PGS"', 'solver="CG"', 'integrator="RK4"', 'jacobian="sparse"', 'impratio="3"'],
)
def test_options(option, monkeypatch):
    text = xml(LEG.format('<geom size=".1" condim="6"/>'), top=TOP.replace("<option", f"<option {option}"))
    assert_like_mj_step(monkeypatch, lambda: batchenv.make_mujoco(text, 5, qpos_noise=0.5), 150)


CURVES = [  # of limits and of contacts
    'solref=".05 .7" solimp=".8 .95 .02 .3 1"',
    'solref="-400 -30" solimp=".5 .5 .01"',
    'solref=".001 1" solimp=".3 .99 .05 .7 2"',
]


@pytest.mark.parametrize("solver", ["Newton", "PGS"])
@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("condim", [1, 3])
def test_constraints_that_are_solved_here(curve, condim, solver, monkeypatch):
    """Limits, and spheres and capsules on a plane, with all kinds of parameters, many of them at once."""
    limit = curve.replace("solref", "solreflimit").replace("solimp", "solimplimit")
    hinge = f'<joint {{}} axis="0 1 0" limited="true" range="-60 40" margin=".1" {limit}/>'
    geom = f'<geom {{}} condim="{condim}" friction="{{}} .1 .1" margin=".01" {curve} solmix="{{}}" priority="{{}}"/>'
    hinges = [hinge.format(name) for name in ('name="b"', "", "")]
    trunk = geom.format('type="capsule" size=".05 .2" euler="0 90 0"', 1.5, 1, 0)
    shank = geom.format('type="capsule" fromto="0 0 0 .3 0 -.1" size=".04"', 0.4, 3, 1)
    foot = geom.format('size=".06"', 0.2, 0, 0)
    body = (
        '<body pos="0 0 .3"><joint name="a" type="slide" axis="0 0 1"/><joint type="slide" axis="1 0 0"/>'
        f'{hinges[0]}{trunk}<body pos=".2 0 0">{hinges[1]}{shank}'
        f'<body pos=".3 0 -.1">{hinges[2]}{foot}</body></body></body>'
    )
    text = xml(
        body,
        top=TOP.replace("<option", f'<option impratio="4" solver="{solver}"').replace(
            'type="plane"', 'type="plane" friction=".3"'
        ),
    )
    made = []

    def make():
        made.append(batchenv.make_mujoco(text, 9, frame_skip=2, qpos_noise=0.4, qvel_noise=2.0))
        return made[-1]

    assert_like_mj_step(monkeypatch, make, 150)
    plan = dict(zip(_core.PHYSICS_INTS, made[0]._backend.translator.lanes.plan.ints, strict=True))
    if solver == "Newton" or VERSION >= (3, 17):
        assert (
            plan["solves"][0] and (plan["pair_own"] == _core.PhysicsOwn.LOOKED).sum() >= 2
        )  # the powers of two may be mixed
    assert max(data.nefc for data in made[0].get_attr("data")) > 3


SPHERE, CAPSULE = 'size=".1"', 'type="capsule" size=".08 .2"'
PARTS = {  # geoms of two bodies that touch at the start, and are pushed together
    "spheres": (SPHERE, SPHERE),
    "a capsule and a sphere": (CAPSULE, SPHERE),
    "crossed capsules": (CAPSULE, CAPSULE + ' euler="70 20 0"'),
    "ends of capsules": (CAPSULE, CAPSULE + ' euler="40 0 0" pos="0 .1 .25"'),
    "parallel capsules": (CAPSULE, CAPSULE),
    "geoms of several kinds": (CAPSULE + "/><geom " + SPHERE, SPHERE + "/><geom " + CAPSULE + ' euler="30 0 0"'),
}


@pytest.mark.parametrize("solver", ["Newton", "PGS"])
@pytest.mark.parametrize("parts", PARTS)
def test_parts_of_a_robot_that_touch_each_other(parts, solver, monkeypatch):
    """Contacts within a tree, and their forces; parallel capsules have two contacts."""
    one, two = PARTS[parts]
    body = (
        f'<body pos="0 0 1"><freejoint/><geom {one}/><body pos=".19 0 0"><joint axis="0 1 0" damping=".1"/>'
        f'<geom size=".02" mass="1"/><body pos="-.04 0 0"><joint name="b" type="slide" axis="1 0 0"/>'
        f"<geom {two}/></body></body></body>"
    )
    made = []

    def make():
        text = xml(body, top=TOP.replace("<option", f'<option solver="{solver}"'))
        observed = ["qpos", "qvel", "cfrc_ext", "qfrc_constraint"]
        made.append(batchenv.make_mujoco(text, 9, observation=observed, qpos_noise=0.05, qvel_noise=0.5))
        return made[-1]

    assert_like_mj_step(monkeypatch, make, 60)
    where = made[0].get_attr("observation_fields")[0]["cfrc_ext"]
    made[0].reset(seed=1)
    pushed = [made[0].step(np.ones((9, 1), np.float32))[0][:, where].any() for _ in range(20)]
    assert any(pushed)
    plan = dict(zip(_core.PHYSICS_INTS, made[0]._backend.translator.lanes.plan.ints, strict=True))
    assert (
        VERSION < (3, 17)
        or (plan["pair_own"][plan["pair_kind"] == _core.PhysicsPair.CAPSULES] == _core.PhysicsOwn.LOOKED).all()
    )


@pytest.mark.skipif(VERSION < (3, 17), reason="this MuJoCo's PGS is not known")
@pytest.mark.parametrize("count,room", [(20, True), (28, False)])
def test_more_rows_than_there_is_room_for(count, room, monkeypatch):
    """Lanes with more than 100 rows are MuJoCo's with the PGS solver."""
    spheres = "".join(f'<geom size=".1" pos="{0.3 * k} 0 0"/>' for k in range(count))
    body = f'<body pos="0 0 .12"><freejoint/>{spheres}<body><joint name="b"/><geom size=".01"/></body></body>'
    text = xml(body, top=TOP.replace("<option", '<option solver="PGS"'))
    made = []

    def make():
        made.append(batchenv.make_mujoco(text, 4, qpos_noise=0.02))
        return made[-1]

    assert_like_mj_step(monkeypatch, make, 60)
    assert max(data.nefc for data in made[0].get_attr("data")) > (70 if room else 100)
    assert any("too many rows" in told for told in how(made[0])) != room


def test_pairs_and_exclusions(monkeypatch):
    """Parameters of a <pair> replace those of its geoms, which could touch anyway; excluded bodies never touch."""
    body = (
        '<body pos="0 0 .3"><joint name="a" type="slide" axis="0 0 1"/><joint name="b"/>'
        '<geom name="g" size=".1"/></body>'
        '<body name="ghost" pos="1 0 .3"><freejoint/><geom size=".1"/></body>'
        '<body pos="2 0 .3"><freejoint/><geom type="capsule" size=".1 .2"/></body>'
    )
    top = TOP.replace('type="plane"', 'name="ground" type="plane"')
    more = (
        '<contact><pair geom1="g" geom2="ground" condim="3" friction=".2 .2 .1 .1 .1" margin=".05" solref=".1 1"/>'
        '<exclude body1="world" body2="ghost"/></contact>'
    )
    made = []

    def make():
        made.append(batchenv.make_mujoco(xml(body, more, top=top), 6, qpos_noise=0.3))
        return made[-1]

    assert_like_mj_step(monkeypatch, make, 150)
    plan = dict(zip(_core.PHYSICS_INTS, made[0]._backend.translator.lanes.plan.ints, strict=True))
    assert plan["solves"][0] and (plan["pair_own"] != PhysicsOwn.NOT).sum() == 5
    assert (made[0].get_attr("qpos")[0][4] < -0.2).any()  # the ghost fell through the ground


@pytest.mark.parametrize("flags", ["", 'gravity="disable" energy="enable"', 'constraint="disable"', 'limit="disable"'])
def test_servos_and_tendons(flags, monkeypatch):
    """Actuators with biases and limits of force, at joints and at tendons, which have springs and limits."""
    body = LEG.replace('name="b"', 'name="b" limited="true" range="-30 30" actuatorfrcrange="-3 2"').format(BALL)
    tendons = (
        '<tendon><fixed name="t" stiffness="3" damping=".2" springlength="-.1 .1" limited="true" range="-.4 .4">'
        '<joint joint="b" coef=".7"/><joint joint="a" coef="-.5"/></fixed></tendon>'
    )
    motors = (
        '<actuator><position joint="b" kp="20" kv="1" forcerange="-2 5"/><velocity tendon="t" kv="2" gear="-3"/>'
        '<general joint="a" gaintype="affine" gainprm="5 2 1" biastype="affine" biasprm="1 -2 -.1"/></actuator>'
    )
    top = TOP.replace("/>", f"><flag {flags}/></option>", 1)
    observed = ["qpos", "qvel", "ten_length", "ten_velocity", "actuator_velocity", "actuator_force", "qfrc_passive"]

    def make():
        text = xml(body, tendons, motor=motors, top=top)
        return batchenv.make_mujoco(text, 9, observation=observed, qpos_noise=0.5, qvel_noise=1.0)

    assert_like_mj_step(monkeypatch, make, 120)


def test_mocap_bodies_and_equality(monkeypatch):
    """Bodies that are held by others, of which one stays where the lane's model has it in a reset."""
    bodies = (
        '<body name="hand" mocap="true" pos=".2 .1 .6" quat="1 .3 .2 -.1"/>'
        '<body name="held" pos=".3 0 .5"><freejoint/><geom size=".05"/></body>'
        '<body name="hung" pos="-.3 0 .5"><joint type="ball"/><geom type="capsule" size=".05 .1" pos=".1 0 0"/></body>'
    )
    equality = '<weld body1="hand" body2="held"/><connect body1="held" body2="hung" anchor="0 0 .1"/>'
    made = []

    def make():
        text = xml(BODY + bodies, f"<equality>{equality}</equality>")
        made.append(batchenv.make_mujoco(text, 9, qpos_noise=0.1, qvel_noise=1.0))
        return made[-1]

    def move(env):  # from the next reset on
        place = np.tile(env.get_attr("model")[0].body_pos, (9, 1, 1))
        place[[2, 5], 2] += 0.1
        env.set_params(body_pos=place)

        env.reset(options={"reset_mask": np.arange(9) % 2 == 1})

    assert_like_mj_step(monkeypatch, make, 100, change=move)
    assert all(text.startswith("together") for text in how(made[0]))


@pytest.mark.parametrize("field", ["body_pos", "body_quat"])
def test_mocap_bodies_that_are_where_an_earlier_model_had_them(field, monkeypatch):
    """A mocap body goes where its lane's model has it in a reset only."""
    bodies = (
        '<body name="hand" mocap="true" pos=".2 .1 .6" quat="1 .3 .2 -.1"/>'
        '<body name="held" pos=".3 0 .5"><freejoint/><geom size=".05" pos=".1 0 0"/></body>'
    )
    text = xml(BODY + bodies, '<equality><weld body1="hand" body2="held"/></equality>')
    made = []

    def make():
        env = batchenv.make_mujoco(text, 9, qpos_noise=0.1)
        moved = np.tile(getattr(env.get_attr("model")[0], field), (9, 1, 1))
        moved[[2, 3, 5], 2, [0, 1, -1]] *= -1  # one number of a lane
        env.set_params(**{field: moved})
        made.append(env)
        return env

    def put_back(env):
        env.set_params(**{field: getattr(env.get_attr("model")[0], field)})

    assert_like_mj_step(monkeypatch, make, 40, change=put_back)
    assert all(text.startswith("together") for text in how(made[0]))


def test_constraints_at_any_time(monkeypatch):
    """Friction in joints and equality constraints are never idle."""
    text = xml(
        LEG.replace('axis="0 1 0"', 'axis="0 1 0" frictionloss=".1"').format(BALL),
        '<equality><joint joint1="a" joint2="b"/><tendon tendon1="t"/></equality>'
        '<tendon><fixed name="t" frictionloss=".1"><joint joint="b" coef="1"/></fixed></tendon>',
    )
    assert_like_mj_step(monkeypatch, lambda: batchenv.make_mujoco(text, 5, qpos_noise=0.5), 100)


OTHERS = {
    "flags in <option><flag>: something is enabled": xml(
        top=TOP.replace('timestep="0.005"/>', '><flag fwdinv="enable"/></option>')
    ),
    "a sensor of kinetic energy, which shows that of the step before": xml(
        more="<sensor><e_kinetic/></sensor>", top=TOP.replace('timestep="0.005"/>', '><flag energy="enable"/></option>')
    ),
    "states of actuators other than integrals, filters and muscles": xml(
        motor=MOTOR.replace("<motor", '<general dyntype="user" actdim="1"')
    ),
    "actuators that are not at joints, tendons, sites or slider-cranks": xml(
        LEG.replace("<body", '<body name="leg"').format(BALL),
        motor='<actuator><adhesion body="leg" ctrlrange="0 1" gain="1"/></actuator>',
    ),
    "actuators whose force is neither affine in length and velocity, nor a muscle's": xml(
        motor=MOTOR.replace("<motor", '<general gaintype="user"')
    ),
    "fluid forces on ellipsoids": xml(
        LEG.format('<geom size=".1" fluidshape="ellipsoid"/>'), top=TOP.replace("<option", '<option density="2"')
    ),
    "less than 2 MB of memory": xml(top=TOP.replace("<option", '<size memory="1M"/><option')),
}


if hasattr(mujoco.mjtIntegrator, "mjINT_DISCRETE"):
    OTHERS["the integrator discrete"] = xml(top=TOP.replace("<option", '<option integrator="discrete"'))


@pytest.mark.parametrize("feature", OTHERS)
def test_features_that_are_left_to_mj_step(feature, monkeypatch):
    """The same bits, and a reason."""
    texts = []

    def make():
        env = batchenv.make_mujoco(OTHERS[feature], 4, qpos_noise=0.3)
        texts.append(how(env)[0])
        return env

    assert_like_mj_step(monkeypatch, make, 20, together=False)
    assert texts[0] == f"alone, by mj_step: the model has {feature}"


def test_observing_what_only_mj_step_computes():
    env = batchenv.make_mujoco(xml(), 4, observation=["qpos", "energy"])
    assert how(env) == ("alone, by mj_step: observes energy",) * 4
    assert how(batchenv.make_mujoco(xml(), 4))[0].startswith("together")
    assert how(batchenv.make_mujoco(xml(), 1)) == ("alone, by mj_step: there is one lane",)
