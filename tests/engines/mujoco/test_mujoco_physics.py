"""Lanes that are stepped several at a time: the same bits as mj_step, which takes over where that is not possible."""

import ctypes

import numpy as np
import pytest

import batchenv
from batchenv import _core
from batchenv.engines.mujoco import library, physics
from helpers.mujoco import mujoco

VERSION = tuple(int(part) for part in mujoco.__version__.split(".")[:2])
NAMES = (
    *("Ant", "HalfCheetah", "Hopper", "Humanoid", "HumanoidStandup", "InvertedDoublePendulum", "InvertedPendulum"),
    *("Pusher", "Reacher", "Swimmer", "Walker2d"),
)
pytestmark = pytest.mark.skipif(
    VERSION not in physics.VERSIONS or len(_core.supported_isas()) == 1,
    reason="this MuJoCo or CPU always takes mj_step",
)

TOP = '<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="9 9 1"/>'
LEG = '<body pos="0 0 .5"><joint name="a" type="slide" axis="0 0 1"/><joint name="b" axis="0 1 0"/>{}</body>'
BALL = '<geom size=".1"/>'
BODY = LEG.format(BALL)
MOTOR = '<actuator><motor joint="b" ctrlrange="-1 1"/></actuator>'


def xml(body=BODY, more="", motor=MOTOR, top=TOP):
    return f"{top}{body}</worldbody>{motor}{more}</mujoco>"


def how(env):
    return env.get_attr("physics")


def rows(env, steps, seed=1, change=None):
    """All that a run returns."""
    space = env.action_space
    space.seed(seed)
    result = [env.reset(seed=seed)[0].copy()]
    for step in range(steps):
        if change and step == steps // 2:
            change(env)
        *arrays, infos = env.step(space.sample())
        result.extend(array.copy() for array in arrays)
        for key in sorted(infos):
            values = infos[key]
            if isinstance(values, np.ndarray):
                result.extend([row.copy() for row in values if row is not None] if values.dtype == object else [values])
        if env.autoreset_mode.name == "DISABLED" and (arrays[2] | arrays[3]).any():
            result.append(env.reset(options={"reset_mask": arrays[2] | arrays[3]})[0].copy())
    return result


def assert_like_mj_step(monkeypatch, make, steps, change=None, together=True):
    """Runs of the env that make() makes are the same with BATCHENV_PHYSICS=0."""
    env = make()
    found = rows(env, steps, change=change)
    assert any(text.startswith("together") for text in how(env)) == together, how(env)
    monkeypatch.setenv("BATCHENV_PHYSICS", "0")
    alone = make()
    assert how(alone)[0] == "alone, by mj_step: BATCHENV_PHYSICS=0"
    expected = rows(alone, steps, change=change)
    assert len(found) == len(expected)
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert a.tobytes() == b.tobytes(), k


@pytest.mark.parametrize("isa", _core.supported_isas())
@pytest.mark.parametrize("name", NAMES)
def test_all_tasks(name, isa, monkeypatch):
    """11 lanes: whole groups, and a part of one; the tasks that end early end often."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    assert_like_mj_step(monkeypatch, lambda: batchenv.make(f"{name}-v5", 11, num_threads=1), 60)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("threads", [1, 2])
def test_modes_and_threads(mode, threads, monkeypatch):
    def make():
        return batchenv.make("Hopper-v5", 21, num_threads=threads, autoreset_mode=mode, max_episode_steps=23)

    assert_like_mj_step(monkeypatch, make, 70)


def test_repeated_actions_and_transforms(monkeypatch):
    def make():
        return batchenv.make("Walker2d-v5", 9, num_threads=1, action_repeat=3, frame_stack=2, clip_reward=(-1, 1))

    assert_like_mj_step(monkeypatch, make, 40)


def test_send_and_recv(monkeypatch):
    """Lanes go through the queue in any groups, and each has the episodes that it has alone."""
    makes = {"1": None, "0": None}
    for on in makes:
        monkeypatch.setenv("BATCHENV_PHYSICS", on)
        env = batchenv.make("Reacher-v5", 24, batch_size=8, num_threads=2)
        env.async_reset(seed=3)
        seen = {lane: [] for lane in range(24)}
        for _ in range(120):
            observations, rewards, _, _, infos = env.recv()
            lanes = infos["env_id"]
            for lane, row, reward in zip(lanes.tolist(), observations, rewards, strict=True):
                seen[lane].append((row.tobytes(), float(reward)))
            actions = np.array([np.sin(np.array([1.0, 2.0]) * len(seen[lane]) + lane) for lane in lanes])
            env.send(actions.astype(np.float32), lanes)
        env.close()
        makes[on] = seen
    for lane in range(24):
        count = min(len(seen[lane]) for seen in makes.values())
        assert count > 20
        assert makes["1"][lane][:count] == makes["0"][lane][:count]


def test_lanes_with_their_own_models(monkeypatch):
    """A group may have lanes of several models, whose numbers are then read from columns."""

    def randomise(env):
        rng = np.random.default_rng(4)
        model = env.get_attr("model")[0]
        env.set_params(
            lanes=[1, 2, 3, 7, 11],
            body_mass=model.body_mass * rng.uniform(0.7, 1.3, (12, 1)),
            dof_damping=model.dof_damping * rng.uniform(0.5, 2, (12, 1)),
            geom_friction=model.geom_friction * rng.uniform(0.3, 2, (12, 1, 1)),
            gravity=[0, 0.5, -7],
        )

    for name in ("Ant", "HalfCheetah"):
        with monkeypatch.context() as patch:
            assert_like_mj_step(patch, lambda name=name: batchenv.make(f"{name}-v5", 12), 40, change=randomise)


def test_a_lane_whose_model_does_not_fit(monkeypatch):
    """Its neighbours are still stepped together."""

    def change(env):
        env.set_params(lanes=[2], dof_frictionloss=np.full(6, 0.1))
        env.set_params(lanes=[4], jnt_stiffness=np.full(6, 3.0))
        told = how(env)
        if told[0].startswith("together"):
            assert "jnt_stiffness" in told[4] and told[4].endswith("or the other way round")
            assert told[2] == told[4]
            assert sum(text.startswith("together") for text in told) == 6

    assert_like_mj_step(monkeypatch, lambda: batchenv.make("Hopper-v5", 8), 30, change=change)


def test_snapshots_and_data(monkeypatch):
    """Restored lanes go on in the same way, and `data` repeats the last step."""
    env = batchenv.make("Ant-v5", 10)
    env.reset(seed=1)
    env.action_space.seed(1)
    for _ in range(30):
        env.step(env.action_space.sample())
    for lane, data in enumerate(env.get_attr("data")):
        np.testing.assert_array_equal(data.qpos, env.get_attr("qpos")[lane])
        np.testing.assert_array_equal(data.qvel, env.get_attr("qvel")[lane])
    saved = env.snapshot()
    actions = [env.action_space.sample() for _ in range(20)]
    first = [env.step(action)[0].copy() for action in actions]
    monkeypatch.setenv("BATCHENV_PHYSICS", "0")
    other = batchenv.make("Ant-v5", 10)
    other.reset(seed=2)
    other.restore(saved)
    for action, expected in zip(actions, first, strict=True):
        assert other.step(action)[0].tobytes() == expected.tobytes()


def test_unstable_lanes(monkeypatch):
    """A lane whose numbers explode is MuJoCo's, and is reported; its group is not disturbed."""

    def fling(env):
        strong = np.tile(env.get_attr("model")[0].actuator_gear, (8, 1, 1))
        strong[3] *= 1e9
        env.set_params(actuator_gear=strong)

    found = []

    def make():
        found.append(batchenv.make("HalfCheetah-v5", 8, frame_skip=40))
        return found[-1]

    assert_like_mj_step(monkeypatch, make, 30, change=fling)
    env = found[0]
    unstable = np.zeros(8, int)
    for _ in range(20):
        unstable += env.step(env.action_space.sample())[4].get("unstable", np.zeros(8, bool))
    assert unstable[3] > 0 and unstable.sum() == unstable[3]


# ---- a user's own models


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
        return batchenv.make_mujoco(
            xml(body, top=top), 10, frame_skip=3, observation=observed, qpos_noise=0.3, qvel_noise=1.0
        )

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
        assert plan["solves"][0] and plan["pair_own"].sum() >= 2  # the powers of two may be mixed
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
    """Contacts within a tree, and their forces; parallel capsules may have two contacts, and are MuJoCo's."""
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
    assert VERSION < (3, 17) or plan["pair_own"][plan["pair_kind"] == 3].all()


def test_more_rows_than_there_is_room_for(monkeypatch):
    """Such lanes are MuJoCo's."""
    spheres = "".join(f'<geom size=".1" pos="{0.3 * k} 0 0"/>' for k in range(14))
    text = xml(f'<body pos="0 0 .12"><freejoint/>{spheres}<body><joint name="b"/><geom size=".01"/></body></body>')
    made = []

    def make():
        made.append(batchenv.make_mujoco(text, 4, qpos_noise=0.02))
        return made[-1]

    assert_like_mj_step(monkeypatch, make, 60)
    assert max(data.nefc for data in made[0].get_attr("data")) > 48


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
    assert plan["solves"][0] and plan["pair_own"].sum() == 1
    assert (made[0].get_attr("qpos")[0][4] < -0.2).any()  # the ghost fell through the ground


def test_constraints_at_any_time(monkeypatch):
    """Friction in joints and equality constraints are never idle."""
    text = xml(
        LEG.replace('axis="0 1 0"', 'axis="0 1 0" frictionloss=".1"').format(BALL),
        '<equality><joint joint1="a" joint2="b"/></equality>',
    )
    assert_like_mj_step(monkeypatch, lambda: batchenv.make_mujoco(text, 5, qpos_noise=0.5), 100)


OTHERS = {
    "an implicit integrator": xml(top=TOP.replace("<option", '<option integrator="implicitfast"')),
    "flags in <option><flag>: something is enabled": xml(
        top=TOP.replace('timestep="0.005"/>', '><flag energy="enable"/></option>')
    ),
    "flags in <option><flag>: something smooth is disabled": xml(
        top=TOP.replace('timestep="0.005"/>', '><flag gravity="disable"/></option>')
    ),
    "mocap bodies": xml(BODY + '<body mocap="true"/>'),
    "states of actuators; the model has actuators that are not motors": xml(
        motor=MOTOR.replace("<motor", '<general dyntype="filter"')
    ),
    "actuators that are not at slide or hinge joints": xml(
        LEG.format(BALL + '<site name="s"/>'), motor='<actuator><motor site="s" ctrlrange="-1 1"/></actuator>'
    ),
    "actuators that are not motors": xml(motor=MOTOR.replace("<motor", "<position")),
    "limits of forces": xml(motor=MOTOR.replace("ctrlrange", 'forcerange="-.1 .1" ctrlrange')),
    "gravity compensation": xml(LEG.replace("<body", '<body gravcomp="1"').format(BALL)),
    "springs of free or ball joints": xml(
        BODY + '<body pos="1 0 1"><joint type="ball" stiffness="1"/><geom size=".1" pos=".1 0 0"/></body>'
    ),
    "limits of ball joints": xml(
        BODY + '<body pos="1 0 1"><joint type="ball" limited="true" range="0 50"/><geom size=".1" pos=".1 0 0"/></body>'
    ),
    "wind, or fluid forces on ellipsoids": xml(top=TOP.replace("<option", '<option density="2" wind="1 0 0"')),
    "spatial tendons, or fixed ones of many joints": xml(
        LEG.format(BALL + '<site name="s"/>') + '<site name="t"/>',
        '<tendon><spatial><site site="s"/><site site="t"/></spatial></tendon>',
    ),
    "less than 2 MB of memory": xml(top=TOP.replace("<option", '<size memory="1M"/><option')),
    "tendons with limits, springs, damping, friction or armature": xml(
        more='<tendon><fixed stiffness="1"><joint joint="a" coef="1"/></fixed></tendon>'
    ),
}


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
    sensor = "<sensor><jointpos joint='b'/></sensor>"
    env = batchenv.make_mujoco(xml(more=sensor), 4, observation=["qpos", "sensordata"])
    assert how(env) == ("alone, by mj_step: observes sensordata",) * 4
    assert how(batchenv.make_mujoco(xml(more=sensor), 4))[0].startswith("together")
    assert how(batchenv.make_mujoco(xml(), 1)) == ("alone, by mj_step: there is one lane",)


def test_self_check(monkeypatch):
    """One wrong bit, and mj_step is used: with a warning, and for this model only."""
    plan = physics.Plan

    def wrong(module, model):
        made = plan(module, model)
        place = made.starts[_core.PHYSICS_FLOATS.index("body_mass")] + 1
        made.floats[place] = np.nextafter(made.floats[place], 99)
        return made

    monkeypatch.setattr(physics, "_checked", {})
    with monkeypatch.context() as patch:
        patch.setattr(physics, "Plan", wrong)
        with pytest.warns(
            UserWarning, match="lanes are stepped one by one: .* differs from mj_step's in the self-check"
        ):
            env = batchenv.make("Hopper-v5", 4)
        assert "differs from mj_step's" in how(env)[0]
    assert "differs from mj_step's" in how(batchenv.make("Hopper-v5", 4))[0]
    assert how(batchenv.make("Walker2d-v5", 4))[0].startswith("together")


def test_callbacks_of_the_user():
    """They are called in every step, as in MuJoCo."""
    if not library.load()[1]["mjcb_control"]:
        pytest.skip("this library has no such variable")
    calls = []

    def push(model, data):
        calls.append(1)
        data.ctrl[:] = 1

    env, other = (batchenv.make("InvertedPendulum-v5", 4, num_threads=1) for _ in range(2))
    env.reset(seed=1), other.reset(seed=1)
    mujoco.set_mjcb_control(push)
    try:
        assert ctypes.c_void_p.from_address(library.load()[1]["mjcb_control"]).value
        pushed = env.step(np.zeros((4, 1), np.float32))[0]
    finally:
        mujoco.set_mjcb_control(None)
    assert calls
    assert (pushed != other.step(np.zeros((4, 1), np.float32))[0]).any()


def test_other_versions_take_mj_step(monkeypatch):
    monkeypatch.setattr(physics, "VERSIONS", ())
    told = how(batchenv.make("Hopper-v5", 3))[0]
    assert told == f"alone, by mj_step: the arithmetic of mujoco {mujoco.__version__} is not known to this batchenv"
