"""Sensors, and what MuJoCo computes for them, in lanes that are stepped in groups: the same bits as mj_step."""

import numpy as np
import pytest

import batchenv
from batchenv import _core
from helpers.mujoco import mujoco
from helpers.together import TOP, always_alone, assert_like_mj_step, how, xml

pytestmark = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")

# A ball that lies on the ground, with an arm and a tail: there is a joint of each kind.
ROBOT = """<body name="trunk" pos="0 0 .12"><freejoint/><geom name="ball" size=".13" mass="2"/>
<site name="imu" pos=".02 .03 .05" euler="20 30 40"/>
<body name="arm" pos="0 0 .2"><joint name="hinge" axis="0 1 0" limited="true" range="-20 20"/>{friction}
<inertial pos=".01 .02 .1" mass=".5" diaginertia=".01 .012 .008" euler="5 6 7"/>
<geom name="rod" type="capsule" size=".03 .1" pos="0 0 .1" euler="0 0 20" contype="0" conaffinity="0"/>
<body name="head" pos="0 0 .25"><joint name="socket" type="ball" damping=".1"/>
<geom size=".06" pos="0 .02 .03" euler="10 0 0" contype="0" conaffinity="0"/>
<site name="eye" pos="0 0 .1"/></body></body>
<body name="tail" pos="-.2 0 0"><joint name="slide" type="slide" axis="1 0 .3" damping="1"/>
<geom name="tip" type="capsule" size=".04 .05" mass=".2"/>
<site name="tail" pos="0 0 -.02" euler="0 90 0"/></body></body>
<body name="rest" pos="1 0 0" euler="0 0 30"><site name="rest" euler="30 0 0"/></body>"""
MOVED = '<tendon><fixed name="cord"><joint joint="hinge" coef=".5"/><joint joint="slide" coef="-2"/></fixed></tendon>'
MOTORS = """<actuator><motor name="motor" joint="hinge" gear="3" ctrlrange="-1 1"/>
<position name="servo" joint="slide" kp="30" ctrlrange="-.1 .1"/>
<motor name="winch" tendon="cord" gear="2" ctrlrange="-1 1"/></actuator>"""
POSITIONS = """<jointpos joint="hinge"/><tendonpos tendon="cord"/><actuatorpos actuator="servo"/>
<ballquat joint="socket"/><jointlimitpos joint="hinge"/><framepos objtype="site" objname="imu"/>
<framepos objtype="geom" objname="rod" reftype="body" refname="head"/><framequat objtype="body" objname="arm"/>
<framequat objtype="geom" objname="rod" reftype="site" refname="imu"/><framequat objtype="xbody" objname="arm"/>
<framexaxis objtype="xbody" objname="head"/><frameyaxis objtype="body" objname="arm"/>
<framezaxis objtype="site" objname="eye"/><framezaxis objtype="site" objname="eye" reftype="geom" refname="tip"/>
<subtreecom body="arm"/><magnetometer site="imu"/><clock/>"""
VELOCITIES = """<gyro site="imu"/><velocimeter site="imu"/><jointvel joint="slide"/><tendonvel tendon="cord"/>
<actuatorvel actuator="winch"/><ballangvel joint="socket"/><framelinvel objtype="site" objname="eye"/>
<frameangvel objtype="body" objname="head"/><framelinvel objtype="geom" objname="rod" reftype="site" refname="tail"/>
<frameangvel objtype="xbody" objname="arm" reftype="body" refname="trunk"/><gyro site="rest"/>
<subtreelinvel body="trunk"/><subtreeangmom body="trunk"/><subtreeangmom body="arm"/>"""
ACCELERATIONS = """<accelerometer site="imu"/><accelerometer site="rest"/><force site="eye"/><torque site="tail"/>
<force site="imu"/><framelinacc objtype="body" objname="head"/><frameangacc objtype="geom" objname="rod"/>
<actuatorfrc actuator="servo"/><jointactuatorfrc joint="hinge"/><tendonactuatorfrc tendon="cord"/>"""
CUT = """<gyro site="imu" cutoff=".3"/><jointpos joint="hinge" cutoff=".05"/><accelerometer site="tail" cutoff="4"/>
<clock cutoff=".05"/><framepos objtype="site" objname="eye" cutoff=".2"/><force site="eye" cutoff="3"/>"""
ALL = ACCELERATIONS + CUT + POSITIONS + VELOCITIES  # not in the order in which MuJoCo computes them


def robot(sensors=ALL, integrator="Euler", friction="", more=""):
    top = TOP.replace("<option", f'<option integrator="{integrator}" magnetic="0 -.5 .3"')
    arm = ROBOT.format(friction=friction)
    return xml(arm, motor=MOVED + MOTORS, more=f"<sensor>{sensors}</sensor>{more}", top=top)


def maker(text, observed, lanes=11, frame_skip=2, **more):
    def make():
        settings = {"observation": observed, "frame_skip": frame_skip, "qpos_noise": 0.05, "qvel_noise": 0.3, **more}
        return batchenv.make_mujoco(text, lanes, num_threads=1, **settings)

    return make


def observations(found):
    """Those of a run: (steps, lanes, numbers)."""
    return np.array([array for array in found if array.shape == found[0].shape])


@pytest.mark.parametrize("isa", _core.supported_isas())
@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
@pytest.mark.parametrize(
    "friction, more",
    [
        ("", ""),
        ('<joint name="dry" axis="1 0 0" frictionloss=".2" damping="1"/>', ""),
        ("", '<equality><joint joint1="slide" solref=".3 1"/></equality>'),
    ],
)
def test_sensors(integrator, friction, more, isa, monkeypatch):
    """With an equality, MuJoCo solves the constraints of all lanes."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    found = assert_like_mj_step(monkeypatch, maker(robot(ALL, integrator, friction, more), ["qpos", "sensordata"]), 60)
    fixed = (np.ptp(observations(found)[:, 0], axis=0) == 0).sum()
    assert fixed <= 7  # gyro and accelerometer of what rests, and what does not change


@pytest.mark.parametrize("sensors", [POSITIONS, VELOCITIES, ACCELERATIONS, CUT])
@pytest.mark.parametrize("frame_skip", [1, 3])
def test_sensors_of_one_stage(sensors, frame_skip, monkeypatch):
    """Without those that would have MuJoCo compute what these need, too."""
    make = maker(robot(sensors), ["sensordata"], frame_skip=frame_skip)
    assert_like_mj_step(monkeypatch, make, 40)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_sensors_of_short_episodes(mode, monkeypatch):
    """Observations of resets are MuJoCo's, and clocks start again."""
    make = maker(robot(), ["sensordata"], autoreset_mode=mode, max_episode_steps=7)
    assert_like_mj_step(monkeypatch, make, 30)


FORCES = ["cacc", "cfrc_int", "cfrc_ext"]


@pytest.mark.parametrize("observed", [FORCES, ["cacc"], ["cfrc_int"], ["sensordata", *FORCES], ["sensordata", "cacc"]])
@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
def test_forces_of_bodies(observed, integrator, monkeypatch):
    """mj_rnePostConstraint computes them after the step; sensors need them before."""
    assert_like_mj_step(monkeypatch, maker(robot(ACCELERATIONS, integrator), observed), 40)


@pytest.mark.parametrize("sensors", ["<subtreelinvel body='trunk'/>", "<gyro site='imu'/>", "<user dim='2'/>", ""])
def test_velocities_of_subtrees(sensors, monkeypatch):
    """MuJoCo computes them only for sensors."""
    assert_like_mj_step(monkeypatch, maker(robot(sensors), ["subtree_linvel", "subtree_angmom"]), 20)


def test_lanes_with_their_own_models(monkeypatch):
    def randomise(env):
        rng, model = np.random.default_rng(4), env.get_attr("model")[0]
        env.set_params(
            lanes=[1, 2, 3, 7],
            body_mass=model.body_mass * rng.uniform(0.7, 1.3, (11, 1)),
            gravity=rng.uniform(-9, 0, (11, 3)),
            magnetic=rng.uniform(-1, 1, (11, 3)),
        )
        assert all(text.startswith("together") for text in how(env)) or how(env)[0].endswith("=0")

    assert_like_mj_step(monkeypatch, maker(robot(), ["qpos", "sensordata", "cacc"]), 40, change=randomise)


def test_disabled_sensors(monkeypatch):
    text = robot(ALL + "<rangefinder site='eye'/>").replace(
        "/><worldbody", "><flag sensor='disable'/></option><worldbody"
    )
    found = assert_like_mj_step(monkeypatch, maker(text, ["sensordata"]), 5)
    assert not found[0].any()


# A log that lies on the ground, with a ball on an arm that swings against log and ground.
LOG = """<body name="log" pos="0 0 .1"><freejoint/><geom name="log" type="capsule" size=".1 .3" euler="90 5 0"/>
<site name="zone" {zone} pos=".1 .25 -.1" euler="0 0 20"/>
<body name="arm" pos=".2 0 .1"><joint name="b" axis="0 1 0" damping=".1"/>
<geom name="ball" size=".12" pos=".15 0 0"/></body></body>{box}"""
SITE_CONTACT = '<contact site="zone" data="found force" num="2"/>'
CONTACTS = """<contact {reduce} geom1="log" data="found force dist pos normal tangent"/>
<contact {reduce} subtree1="log" body2="world" num="{num}" data="found force torque dist pos normal tangent"/>
<contact {reduce} body1="world" geom2="ball" num="{num}" data="force torque pos normal"/>
<contact {reduce} num="{num}" data="dist normal"/><contact {reduce} geom2="ball" data="found"/>
<contact {reduce} body1="arm" body2="log" data="found force torque normal"/><gyro site="zone"/>"""
needs_contacts = pytest.mark.skipif(not hasattr(mujoco.mjtSensor, "mjSENS_CONTACT"), reason="sensors of mujoco 3.3.5")


TIE = '<equality><joint joint1="b" solref=".5 1" solimp=".9 .95 .001 .5 3"/></equality>'  # whose rows MuJoCo makes


def log(sensors, integrator="Euler", more="", box="", zone='type="box" size=".5 .2 .2"'):
    top = TOP.replace("<option", f'<option integrator="{integrator}"')
    return xml(LOG.format(box=box, zone=zone), more=f"<sensor>{sensors}</sensor>{more}", top=top)


@needs_contacts
@pytest.mark.parametrize("isa", _core.supported_isas())
@pytest.mark.parametrize("reduce", ["none", "mindist", "maxforce", "netforce"])
@pytest.mark.parametrize("integrator, more", [("Euler", ""), ("RK4", ""), ("Euler", TIE)])
def test_sensors_of_contacts(integrator, more, reduce, isa, monkeypatch):
    """With an equality, MuJoCo finds the contacts of all lanes, and computes these sensors."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    text = log(CONTACTS.format(reduce=f'reduce="{reduce}"', num=1 if reduce == "netforce" else 3), integrator, more)
    found = assert_like_mj_step(monkeypatch, maker(text, ["sensordata"]), 60)
    assert {2, 3} <= set(observations(found)[..., 14].ravel().tolist())  # contacts of the second sensor
    monkeypatch.delenv("BATCHENV_PHYSICS")
    env = maker(text, ["sensordata"])()
    env.reset(seed=1)
    for _ in range(20):
        env.step(env.action_space.sample())
    assert ("MuJoCo solved" in how(env)[0]) == bool(more)


@needs_contacts
def test_sensors_of_contacts_of_which_some_are_not_found_here(monkeypatch):
    """A box that falls onto the log: its contacts, and with them those of its lane, are MuJoCo's."""
    box = '<body pos="0 .2 .5"><freejoint/><geom name="box" type="box" size=".1 .1 .1"/></body>'
    sensors = CONTACTS.format(reduce='reduce="mindist"', num=2) + '<contact geom1="box" num="5" data="found dist"/>'
    found = assert_like_mj_step(monkeypatch, maker(log(sensors, box=box), ["qpos", "sensordata"]), 60)
    assert observations(found)[-1, :, -10].any()


# A crate with a ball in front of it, both on the ground; {} are the ball's attributes.
CRATE = """<body pos="0 0 .1"><freejoint/><geom name="log" type="box" size=".1 .08 .1"/>
<site name="zone" type="box" size=".3 .3 .3"/><body name="arm" pos=".2 0 0"><joint name="b" axis="0 1 0" damping=".1"/>
<geom name="ball" size=".1" pos=".15 0 0" {}/></body></body>"""
PAIR = '<contact><pair geom1="ground" geom2="ball" condim="6" friction=".9 .5 .05 .02 .04"/></contact>'
KINDS = {
    "torsion": ('condim="4" friction=".7 .05 .01"', ""),
    "rolling": ('condim="6" friction=".7 .05 .01"', ""),
    "a pair": ("", PAIR),
    "a gap": ('margin=".01" gap=".1" condim="6" friction=".7 .05 .01"', ""),
    "equality": ('condim="6" friction=".7 .05 .01" gap=".05"', TIE),
}


@needs_contacts
@pytest.mark.parametrize("isa", _core.supported_isas())
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reduce", ["none", "mindist", "maxforce", "netforce"])
def test_sensors_of_contacts_of_all_kinds(reduce, kind, isa, monkeypatch):
    """Torques of contacts that twist and roll; contacts without force: in their gap, or just at the distance 0."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    ball, more = KINDS[kind]
    num = 1 if reduce == "netforce" else 5
    sensors = f"""<contact reduce="{reduce}" geom1="ball" num="{num}" data="found force torque dist pos normal"/>
        <contact reduce="{reduce}" body1="world" num="{num}" data="torque tangent"/><touch site="zone"/>
        <contact reduce="{reduce}" geom2="log" num="{num}" data="found dist pos"/>"""
    top = TOP.replace("<geom", '<geom name="ground"')
    text = xml(CRATE.format(ball), more=f"<sensor>{sensors}</sensor>{more}", top=top)
    for noise in (0.0, 0.03):  # at first, all geoms just touch the ground
        make = maker(text, ["sensordata", "cfrc_ext"], qpos_noise=noise, frame_skip=1, qvel_noise=10 * noise)
        seen = observations(assert_like_mj_step(monkeypatch, make, 60))
        monkeypatch.delenv("BATCHENV_PHYSICS")
        assert noise or seen[1, :, 0].all()
        assert kind not in ("torsion", "rolling") or seen[..., 4:7].any()


ZONES = {"sphere": ".25", "capsule": ".15 .2", "ellipsoid": ".4 .2 .2", "cylinder": ".2 .2", "box": ".3 .1 .1"}


@pytest.mark.parametrize("isa", _core.supported_isas())
@pytest.mark.parametrize("kind", ZONES)
@pytest.mark.parametrize("more", ["", TIE])
def test_touch(more, kind, isa, monkeypatch):
    """A zone at one end of the log, and one that is turned away."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    text = log(
        "<touch site='zone'/><touch site='zone' cutoff='2'/>", more=more, zone=f'type="{kind}" size="{ZONES[kind]}"'
    )
    seen = observations(assert_like_mj_step(monkeypatch, maker(text, ["sensordata"]), 60))
    assert 0 < (seen[..., 0] > 0).mean() < 1 and seen[..., 1].max() == 2


@needs_contacts
def test_sensors_of_contacts_in_a_site(monkeypatch):
    """It solves the constraints of lanes with contacts, in the last step of each step of the env."""
    envs = []

    def make():
        envs.append(maker(log(SITE_CONTACT + "<gyro site='zone'/>"), ["sensordata"], frame_skip=4)())
        return envs[-1]

    found = assert_like_mj_step(monkeypatch, make, 40)
    assert observations(found)[..., 0].any()
    assert "because of sensors of contacts in a site" in how(envs[0])[0]
    assert "% of their evaluations" in how(envs[0])[0] and "100% of their" not in how(envs[0])[0]


def test_contacts_of_lanes_with_their_own_models(monkeypatch):
    def randomise(env):
        rng, model = np.random.default_rng(4), env.get_attr("model")[0]
        env.set_params(lanes=[1, 2, 5], geom_friction=model.geom_friction * rng.uniform(0.3, 2, (11, 1, 1)))

    text = log(CONTACTS.format(reduce='reduce="maxforce"', num=3))
    assert_like_mj_step(monkeypatch, maker(text, ["sensordata"]), 40, change=randomise)


@pytest.mark.parametrize(
    "sensor, told",
    [
        ("<jointlimitfrc joint='hinge'/><jointlimitfrc joint='hinge'/>", "a jointlimitfrc sensor"),
        ("<user dim='2'/>", "a user sensor"),
        ("<e_kinetic/>", "a e_kinetic sensor"),
        ("<framelinacc objtype='camera' objname='camera'/>", "a framelinacc sensor of a camera"),
    ],
)
def test_sensors_that_only_mj_step_computes(sensor, told, monkeypatch):
    text = robot(ALL + sensor).replace("<worldbody>", "<worldbody><camera name='camera'/>")
    assert_like_mj_step(monkeypatch, maker(text, ["sensordata"]), 5, together=False)
    monkeypatch.delenv("BATCHENV_PHYSICS")
    assert how(maker(text, ["sensordata"])())[0] == f"alone, by mj_step: observes sensordata with {told}"
    assert how(maker(text, ["qpos"])())[0].startswith("together")


# MuJoCo computes them from places and velocities that groups have computed.
CAMERAS = """<camera name='camera' pos='1 -2 1' xyaxes='1 0 0 0 .5 1'/>"""
SEEN = (
    """<camera name='tracking' mode='trackcom' pos='0 -1 .3' xyaxes='1 0 0 0 0 1'/><site name='far' pos='.05 0 .1'/>"""
)
LEFT = {
    "rangefinders": "<rangefinder site='eye'/><rangefinder site='imu' cutoff='.3'/><rangefinder site='tail'/>",
    "distances": """<distance geom1='ball' geom2='tip' cutoff='1'/><normal body1='head' body2='world' cutoff='2'/>
        <fromto geom1='rod' body2='tail' cutoff='.5'/>""",
    "energies": "<e_potential/>",
    "cameras": """<framepos objtype='camera' objname='tracking'/><framequat objtype='camera' objname='camera'/>
        <framelinvel objtype='site' objname='eye' reftype='camera' refname='tracking'/>
        <frameangvel objtype='camera' objname='tracking'/><camprojection site='eye' camera='camera'/>""",
}


def left(kind, integrator="Euler", solver="Newton"):
    """A robot with springs on a hilly ground."""
    text = robot(ALL + LEFT[kind] + "<touch site='tail'/>", integrator).replace("<worldbody>", f"<worldbody>{CAMERAS}")
    text = text.replace('<site name="tail"', '<site name="tail" size=".3"')
    text = text.replace('damping="1"/>', 'damping="1" stiffness="3" springref=".1"/>', 1)
    text = text.replace('<site name="eye"', f'{SEEN}<site name="eye"').replace("<option", f'<option solver="{solver}"')
    hills = " ".join(str(k * k % 7 / 7) for k in range(100))
    ground = f"<hfield name='h' nrow='10' ncol='10' size='2 2 .1 .1' elevation='{hills}'/>"
    text = text.replace("<worldbody>", f"<asset>{ground}</asset><worldbody><geom type='hfield' hfield='h'/>")
    return text.replace('<geom type="plane" size="9 9 1"/>', "")


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicitfast"])
@pytest.mark.parametrize("kind", LEFT)
def test_sensors_that_mujoco_computes_for_groups(kind, integrator, monkeypatch):
    envs = []

    def make():
        envs.append(maker(left(kind, integrator), ["qpos", "sensordata"], lanes=8, frame_skip=3)())
        return envs[-1]

    def randomise(env):
        model = env.get_attr("model")[0]
        env.set_params(lanes=[1, 2, 5], body_mass=model.body_mass * np.linspace(0.7, 1.3, 8)[:, None])

    found = assert_like_mj_step(monkeypatch, make, 60, change=randomise)
    assert all(text.startswith("together") and "mj_step" not in text for text in how(envs[0]))
    changing = np.ptp(observations(found), 0)[..., -8:-1]  # but the touch
    assert (changing > 0).any()


def test_a_sensor_of_potential_energy_where_energy_is_enabled(monkeypatch):
    text = left("energies").replace("/><asset>", "><flag energy='enable'/></option><asset>", 1)
    assert_like_mj_step(monkeypatch, maker(text, ["sensordata"], lanes=4), 20)


def test_one_of_mujocos_sensors_does_not_hide_constraints_that_it_solves(monkeypatch):
    """With a solver that groups do not have, lanes with contacts get touch from the same mjData."""
    text = left("rangefinders", solver="CG")
    found = assert_like_mj_step(monkeypatch, maker(text, ["sensordata"], lanes=4), 60)
    assert observations(found)[..., -1].any()
