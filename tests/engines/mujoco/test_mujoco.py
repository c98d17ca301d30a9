"""MuJoCo's lanes equal `gymnasium.make(id)` bit for bit, in observations, rewards, flags and infos.

BATCHENV_MUJOCO_STEPS sets the steps of every trajectory (1000 is the time limit of most); the default is short.
"""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import batchenv
from batchenv.engines.mujoco import library
from batchenv.engines.mujoco.tasks import assets
from batchenv.envs import translator
from helpers.parity import MODES, Case, assert_same, choose, follow

mujoco = pytest.importorskip("mujoco", reason="pip install 'batchenv[mujoco]'")
pytest.importorskip("imageio", reason="Gymnasium's MuJoCo environments import imageio")
pytestmark = pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")

LANES = 3
STEPS = int(os.environ.get("BATCHENV_MUJOCO_STEPS", "70"))
TASKS = [
    "Ant", "HalfCheetah", "Hopper", "Humanoid", "HumanoidStandup", "InvertedDoublePendulum", "InvertedPendulum",
    "Pusher", "Reacher", "Swimmer", "Walker2d",
]  # fmt: skip
IDS = [f"{task}-{version}" for task in TASKS for version in ("v5", "v4")]
ANY = np.inf


def gymnasium_env(env_id, **kwargs):
    version = mujoco.__version__
    if env_id == "Pusher-v4":  # Gymnasium refuses it with MuJoCo 3: its physics is not what it was with 2
        mujoco.__version__ = "2.3.7"
    try:
        return gymnasium.make(env_id, **kwargs)
    finally:
        mujoco.__version__ = version


def pair(case, lanes=LANES, mode=AutoresetMode.NEXT_STEP):
    """Ours and Gymnasium's."""
    return case.make(lanes, mode), case.reference(lanes, mode, gymnasium_env)


@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
@pytest.mark.parametrize("env_id", IDS)
def test_trajectories(env_id, mode):
    limit = {} if STEPS > 1000 else {"max_episode_steps": 40}  # so that all lanes are truncated at once, too
    assert follow(*pair(Case(env_id, both=limit), mode=mode), STEPS)[0]


CASES = [
    Case("Ant-v5", both={"forward_reward_weight": 1.3, "ctrl_cost_weight": 0.37, "contact_cost_weight": 0.011}),
    Case("Ant-v5", both={"healthy_reward": 0.7, "healthy_z_range": (0.45, 0.9), "contact_force_range": (-0.3, 0.6)}),
    Case(
        "Ant-v5", both={"include_cfrc_ext_in_observation": False, "exclude_current_positions_from_observation": False}
    ),
    Case(
        "Ant-v5",
        both={"main_body": "aux_1", "frame_skip": 3, "reset_noise_scale": 0.3, "terminate_when_unhealthy": False},
    ),
    Case("Ant-v4", both={"use_contact_forces": True}),
    Case("Ant-v4", both={"exclude_current_positions_from_observation": False, "terminate_when_unhealthy": False}),
    Case("HalfCheetah-v5", both={"forward_reward_weight": 0.9, "ctrl_cost_weight": 0.31, "reset_noise_scale": 0.0}),
    Case("HalfCheetah-v5", both={"exclude_current_positions_from_observation": False, "frame_skip": 2}),
    Case("HalfCheetah-v5", both={"xml_file": "walker2d.xml"}),
    Case("Hopper-v5", both={"healthy_state_range": (-2.0, 2.0), "healthy_angle_range": (-ANY, 0.3)}),
    Case("Hopper-v5", both={"healthy_z_range": (1.0, ANY), "terminate_when_unhealthy": False, "healthy_reward": -2.0}),
    Case("Hopper-v4", both={"healthy_z_range": (1.0, 1.3), "terminate_when_unhealthy": False}),
    Case(
        "Humanoid-v5",
        both={"contact_cost_weight": 1e-3, "contact_cost_range": (0.5, 3.0), "healthy_z_range": (1.2, 1.6)},
    ),
    Case(
        "Humanoid-v5",
        both={
            "include_cinert_in_observation": False,
            "include_cvel_in_observation": False,
            "include_qfrc_actuator_in_observation": False,
            "include_cfrc_ext_in_observation": False,
            "exclude_current_positions_from_observation": False,
        },
    ),
    Case("Humanoid-v5", both={"include_cvel_in_observation": False, "frame_skip": 1}),
    Case("Humanoid-v4", both={"exclude_current_positions_from_observation": False, "terminate_when_unhealthy": False}),
    Case(
        "HumanoidStandup-v5",
        both={"impact_cost_weight": 0.01, "impact_cost_range": (0.1, 4.0), "ctrl_cost_weight": 0.3},
    ),
    Case("HumanoidStandup-v5", both={"include_cinert_in_observation": False, "uph_cost_weight": 3.0, "frame_skip": 2}),
    Case("InvertedDoublePendulum-v5", both={"healthy_reward": 3.3, "reset_noise_scale": 0.25, "frame_skip": 2}),
    Case("InvertedPendulum-v5", both={"reset_noise_scale": 0.1, "frame_skip": 7}),
    Case("Pusher-v5", both={"reward_near_weight": 0.3, "reward_dist_weight": 0.9, "reward_control_weight": 0.7}),
    Case("Reacher-v5", both={"reward_dist_weight": 0.3, "reward_control_weight": 1.1, "frame_skip": 5}),
    Case("Swimmer-v5", both={"forward_reward_weight": 2.0, "ctrl_cost_weight": 0.02, "frame_skip": 3}),
    Case("Swimmer-v4", both={"exclude_current_positions_from_observation": False, "reset_noise_scale": 0.4}),
    Case(
        "Walker2d-v5", both={"healthy_angle_range": (-0.2, 0.2), "healthy_z_range": (1.0, 1.4), "ctrl_cost_weight": 0.1}
    ),
    Case("Walker2d-v4", both={"exclude_current_positions_from_observation": False, "terminate_when_unhealthy": False}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.env_id)
def test_keywords(case):
    follow(*pair(case), STEPS)


@pytest.mark.parametrize("env_id", ["HalfCheetah-v5", "Humanoid-v5", "InvertedPendulum-v4"])
def test_actions_beyond_the_bounds(env_id):
    follow(*pair(Case(env_id, ours={"clip_actions": True})), 20, beyond=2.5)
    strict = batchenv.make(env_id, LANES)
    strict.reset(seed=1)
    with pytest.raises(ValueError, match="lane 0"):
        strict.step(strict.action_space.high * 1.5)


def test_every_keyword_of_gymnasium_is_taken():
    import inspect

    from gymnasium.envs.registration import load_env_creator

    for env_id in IDS:
        taken = inspect.signature(load_env_creator(gymnasium.registry[env_id].entry_point).__init__).parameters
        entry = batchenv.registry.TABLE[env_id]
        names = {row[0] for row in translator(entry.type_name).KEYWORDS}
        names |= {row["name"] for row in batchenv._core.type_info(entry.type_name)["params"]}
        assert set(taken) - {"self", "kwargs"} <= names, env_id


def test_lanes_may_differ_in_weights():
    weights = [0.0, 1.0, 2.5]
    env = batchenv.make("HalfCheetah-v5", 3, forward_reward_weight=np.array(weights))
    env.reset(seed=[4, 4, 4])
    info = env.step(np.full((3, 6), 0.5, np.float32))[4]
    np.testing.assert_array_equal(info["reward_forward"], info["x_velocity"] * weights)


# ---- threads, snapshots, pickles -----------------------------------------------------------------------------------


def test_threads_give_the_same():
    results = []
    for threads in (1, 2):
        env = batchenv.make("Hopper-v5", 130, num_threads=threads)
        env._backend.core.force_parallel(threads == 2)
        env.reset(seed=3)
        rng = np.random.default_rng(3)
        results.append([env.step(choose(env, rng)) for _ in range(30)])
    for a, b in zip(*results, strict=True):
        assert_same(a, b, "")


@pytest.mark.parametrize("env_id", [f"{task}-v5" for task in TASKS])
def test_a_restored_run_goes_on_bit_for_bit(env_id):
    env = batchenv.make(env_id, 2)
    env.reset(seed=9)
    rng = np.random.default_rng(2)
    for _ in range(12):
        seen = env.step(choose(env, rng))[0]
    snapshot = env.snapshot()
    actions = [choose(env, rng) for _ in range(15)]
    expected = [env.step(action) for action in actions]
    other = batchenv.make(env_id, 2)
    for target in (env, other):
        np.testing.assert_array_equal(target.restore(snapshot), seen)
        for action, result in zip(actions, expected, strict=True):
            assert_same(target.step(action), result, "")
    env.restore(snapshot, lanes=1, rows=0)
    env.restore(snapshot, lanes=0, rows=0)
    both = env.step(np.repeat(actions[0][:1], 2, axis=0))[0]
    np.testing.assert_array_equal(both[0], both[1])


def test_pickle():
    env = batchenv.make("Ant-v5", 2, healthy_z_range=(0.3, np.inf), include_cfrc_ext_in_observation=False, frame_skip=2)
    env.reset(seed=1)
    action = np.full(env.action_space.shape, 0.3, np.float32)
    for _ in range(5):
        env.step(action)
    copy = pickle.loads(pickle.dumps(env))
    assert copy.get_params() == env.get_params()
    for _ in range(5):
        assert_same(copy.step(action), env.step(action), "")


def test_a_snapshot_of_another_model_is_refused(tmp_path):
    text = (assets() / "hopper.xml").read_text()
    path = tmp_path / "hopper.xml"
    path.write_text(text.replace('damping="1"', 'damping="1.5"'))
    env, other = batchenv.make("Hopper-v5", 1), batchenv.make("Hopper-v5", 1, xml_file=str(path))
    env.reset(seed=1), other.reset(seed=1)
    with pytest.raises(ValueError, match="not of this model"):
        other.restore(env.snapshot())


SLEEPY = """<mujoco><option timestep="0.005"><flag sleep="enable"/></option><worldbody><geom type="plane" size="9 9 1"/>
<body pos="0 0 .11"><freejoint/><geom size=".1 .1 .1" type="box"/></body>
<body pos="0 0 .35"><freejoint/><geom size=".1 .08 .1" type="box"/></body>
<body pos=".8 0 .5"><freejoint/><geom size=".1 .1 .1" type="box"/></body>
<body name="b" pos="2 0 .1"><freejoint/><geom size=".1"/><site name="s"/></body>
<body pos="3 0 1"><joint name="a" axis="0 1 0"/><geom type="capsule" size=".05 .3"/></body></worldbody>
<sensor><accelerometer site="s"/><touch site="s"/><framelinacc objtype="body" objname="b"/><subtreelinvel body="b"/>
</sensor><actuator><motor joint="a" ctrlrange="-1 1" gear="9"/></actuator></mujoco>"""
OF_SLEEPERS = [
    *("qpos", "qvel", "qacc", "xpos", "cvel", "cacc", "cfrc_int", "cfrc_ext", "qfrc_constraint", "sensordata"),
    *("subtree_linvel", "subtree_angmom", "actuator_force", "xfrc_applied", "qacc_warmstart"),
]
can_sleep = pytest.mark.skipif(not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"), reason="bodies sleep since mujoco 3.4")


def sleeping(env, lane):
    return env._backend.translator.lanes._slots[lane].tree_asleep.copy()


@can_sleep
def test_lanes_that_sleep_are_restored_bit_for_bit():
    env, other = (batchenv.make_mujoco(SLEEPY, 3, observation=OF_SLEEPERS, qpos_noise=0.01) for _ in range(2))
    env.reset(seed=5), other.reset(seed=6)
    actions = [np.full((3, 1), np.sin(t), np.float32) for t in range(500)]
    for start in range(0, 500, 50):
        copies, before = [env.snapshot(), pickle.loads(pickle.dumps(env))], env.get_attr("data")
        expected = [env.step(action)[0] for action in actions[start : start + 50]]
        asleep = [sleeping(env, lane) for lane in range(3)]
        other.restore(copies[0])
        for restored in (other, copies[1]):
            for ours, theirs in zip(restored.get_attr("data"), before, strict=True):
                for name in OF_SLEEPERS:
                    np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
            for action, row in zip(actions[start : start + 50], expected, strict=True):
                np.testing.assert_array_equal(restored.step(action)[0], row)
            np.testing.assert_array_equal([sleeping(restored, lane) for lane in range(3)], asleep)
    assert any((numbers >= 0).any() for numbers in asleep)
    env.restore(env.snapshot(lanes=0), lanes=[1, 2])
    rows = env.step(actions[0])[0]
    np.testing.assert_array_equal(rows[1:], rows[:1].repeat(2, axis=0))


@can_sleep
def test_data_of_lanes_that_sleep_are_their_own():
    env = batchenv.make_mujoco(SLEEPY, 2, observation=OF_SLEEPERS)
    env.reset(seed=5)
    for t in range(200):
        row = env.step(np.full((2, 1), np.sin(t), np.float32))[0][1]
    data = env.get_attr("data")[1]
    np.testing.assert_array_equal(np.concatenate([getattr(data, name).ravel() for name in OF_SLEEPERS]), row)


@can_sleep
@pytest.mark.parametrize(
    "forged", [[7, 0, 0, 0, 0], [5, 0, 0, 0, 0], [1, 1, -1, -1, -1], [1, -1, -1, -1, -1], [2**31 - 1] * 5]
)
def test_forged_sleep(forged):
    """MuJoCo would follow such numbers out of its arrays, or for ever."""
    env = batchenv.make_mujoco(SLEEPY, 1)
    env.reset(seed=5)
    for _ in range(150):
        env.step(np.zeros((1, 1), np.float32))
    lanes = env._backend.translator.lanes
    assert (sleeping(env, 0) >= 0).any()
    words = lanes.records[0].view(np.int32)
    for end in (lanes._row_size, 2 * lanes._row_size):
        words[2 * (end - 3) :][:5] = forged
    env.restore(env.snapshot())
    env.step(np.zeros((1, 1), np.float32))
    assert set(sleeping(env, 0)) <= set(range(-11, 5))


PID = """<mujoco><extension><plugin plugin="mujoco.pid"><instance name="pid"><config key="kp" value="40"/>
<config key="ki" value="40"/><config key="kd" value="4"/></instance></plugin></extension><worldbody>
<body><joint name="a" type="slide" axis="1 0 0"/><geom size=".1" mass="1"/></body></worldbody>
<actuator><plugin joint="a" plugin="mujoco.pid" instance="pid" actdim="1" ctrlrange="-1 1"/></actuator></mujoco>"""


def test_lanes_with_a_plugin_are_restored_bit_for_bit():
    """A controller that remembers: what it adds up is in the integration state."""
    try:
        env, other = (batchenv.make_mujoco(PID, 3, observation=["qpos", "qvel", "act"], qpos_noise=0.1) for _ in "12")
    except ValueError as error:
        pytest.skip(f"this mujoco has no such plugin: {error}")
    env.reset(seed=5), other.reset(seed=6)
    actions = [np.full((3, 1), np.sin(t), np.float32) for t in range(60)]
    for action in actions[:30]:
        env.step(action)
    other.step(-actions[0])
    other.restore(env.snapshot())
    for action in actions[30:]:
        (observations, *_), (others, *_) = env.step(action), other.step(action)
        assert observations.tobytes() == others.tobytes()
        assert abs(observations[:, 2]).min() > 0
    assert env.snapshot() == other.snapshot()


GENERATIONS = """
import os, threading, time
import batchenv

env = batchenv.make("Humanoid-v5", 8, num_threads=2, frame_skip=300)

def generation(left):
    env.reset(seed=1)
    actions = env.action_space.sample()
    if left == 0:
        env.step(actions)
        print("the last one steps", flush=True)
        return
    stepping = threading.Thread(target=env.step, args=(actions,), daemon=True)
    stepping.start()
    time.sleep(0.1)
    if os.fork() == 0:
        generation(left - 1)
        os._exit(0)
    assert os.wait()[1] == 0
    stepping.join()

generation(5)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_children_of_children_find_mjdata_that_nobody_will_give_back():
    """Each is forked while threads that it will not have hold some of the few mjData there are."""
    assert run_python(GENERATIONS) == "the last one steps\n"


def test_pictures_without_a_graphics_card_say_so_once():
    told = run_python("""
import os, warnings
os.environ.setdefault("MUJOCO_GL", "egl")
import batchenv, gymnasium
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        for _ in range(2):
            env = batchenv.make("Hopper-v5", 1, render_mode="rgb_array", width=32, height=32)
            env.reset(seed=0), env.render()
            from OpenGL import GL
            name = GL.glGetString(GL.GL_RENDERER).decode()
            env.close()
    except (gymnasium.error.DependencyNotInstalled, ImportError, AttributeError):
        name = ""
    print(name, [str(one.message) for one in caught if "drawn by the processor" in str(one.message)], sep=";")
""")
    name, warned = told.strip().split(";", 1)
    if "llvmpipe" not in name:
        pytest.skip(f"no OpenGL, or a graphics card: {name!r}")
    assert warned.count("drawn by the processor here (") == 1 and name in warned and "width=" in warned


# ---- work left out --------------------------------------------------------------------------------------------------


CLOCKED = """
import mujoco
model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>")
data = mujoco.MjData(model)
for _ in range(20):
    mujoco.mj_step(model, data)
"""


def test_only_lanes_have_no_clock():
    """MuJoCo times its stages for mjData.timer; the user's own data have that as ever (3.1 had none)."""
    stage = int(mujoco.mjtTimer.mjTIMER_STEP)
    env = batchenv.make("InvertedPendulum-v5", 2, num_threads=1)
    env.reset(seed=1)
    env.step(env.action_space.sample())
    lent = env._backend.translator.lanes._slots[0].timer
    assert lent.number[stage] > 0 and lent.duration[stage] == 0
    alone = run_python(f"{CLOCKED}print(data.timer.duration[{stage}] > 0)").strip()
    scope = {}
    exec(CLOCKED, scope)
    assert str(scope["data"].timer.duration[stage] > 0) == alone


CLOCKS = """
import ctypes
import batchenv
from batchenv.engines.mujoco import library
address = library.load()[1]["mjcb_time"]
clock = ctypes.c_void_p.from_address(address)
make = lambda: batchenv.make("InvertedPendulum-v5", 2, num_threads=1)
"""


@pytest.mark.skipif(not library.load()[1]["mjcb_time"], reason="this MuJoCo has no clock")
def test_clock_is_given_back_at_the_end():
    run_python(f"""{CLOCKS}
before = clock.value
for _ in range(2):
    one, two = make(), make()
    ours = clock.value
    assert ours != before
    one.close()
    assert clock.value == ours
    two.close()
    assert clock.value == before
kind = ctypes.CFUNCTYPE(ctypes.c_double)
theirs = kind(lambda: 1.0)
env = make()
clock.value = ctypes.cast(theirs, ctypes.c_void_p).value
for _ in range(2):
    env.reset(seed=0), env.step(env.action_space.sample()), env.close()
    assert clock.value == ctypes.cast(theirs, ctypes.c_void_p).value
    env = make()
""")


GEOMS = """<mujoco><option timestep=".004"/><worldbody><geom type="plane" size="9 9 1" {floor}/>
<body pos="0 0 .1"><joint name="a" type="slide" axis="0 0 1"/><geom size=".09" {first}/>
<body pos=".1 0 0">{second_joint}<geom size=".09" {second}/></body></body>
<body pos="0 0 .4"><joint axis="0 0 1" type="slide"/><geom name="third" size=".09" {third}/></body></worldbody>
{more}<actuator><motor joint="a" ctrlrange="-1 1" gear="9"/></actuator></mujoco>"""
NONE, ALL = 'contype="0" conaffinity="0"', ""
TOUCHING = [
    ({}, False),
    ({"floor": ALL}, False),  # it touches itself only
    ({"floor": ALL, "third": ALL}, True),
    ({"floor": 'contype="1" conaffinity="0"', "third": 'contype="0" conaffinity="1"'}, True),
    ({"floor": 'contype="2" conaffinity="2"', "third": 'contype="1" conaffinity="1"'}, False),
    ({"floor": 'contype="1" conaffinity="0"', "first": 'contype="1" conaffinity="0"'}, False),
    ({"first": ALL, "second": ALL}, False),  # no joint between them
    ({"first": ALL, "second": ALL, "second_joint": "<joint/>"}, True),  # though MuJoCo leaves out parents by default
    ({"third": 'name="third"', "more": '<contact><pair geom1="third" geom2="floor"/></contact>'}, True),
]


def most_beside_mujoco(env, xml, observed, steps, count):
    """Steps lanes and MuJoCo's own data with the same actions, which must agree in what is observed; returns the most
    that the data's `count` has been."""
    model = mujoco.MjModel.from_xml_string(xml)
    data, most = mujoco.MjData(model), 0
    env.reset(seed=1)
    for t in range(steps):
        action = np.full((2, 1), np.sin(t / 9), np.float32)
        data.ctrl[:] = action[0]
        mujoco.mj_step(model, data)
        most = max(most, getattr(data, count))
        expected = np.concatenate([getattr(data, name) for name in observed])
        np.testing.assert_array_equal(env.step(action)[0][1], expected)
    return most


@pytest.mark.parametrize("kinds, touching", TOUCHING)
def test_contacts_are_sought_where_there_may_be_some(kinds, touching):
    parts = dict.fromkeys(("floor", "first", "second", "third"), NONE) | {"second_joint": "", "more": ""} | kinds
    parts["floor"] += ' name="floor"'
    parts["third"] = parts["third"].replace('name="third"', NONE)
    xml = GEOMS.format(**parts)
    observed = ["qpos", "qvel", "qfrc_constraint"]
    env = batchenv.make_mujoco(xml, 2, observation=observed)
    off = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    assert bool(env.get_attr("model")[0].opt.disableflags & off) is not touching
    most = most_beside_mujoco(env, xml, observed, 100, "ncon")
    assert touching or most == 0


TREES = """<mujoco><option timestep=".004" solver="{solver}" cone="{cone}"/><worldbody>
<geom type="plane" size="9 9 1"/>
<body pos="0 0 .3"><freejoint/><geom size=".1"/>
  <body pos=".3 0 0"><joint name="a" range="-20 20" frictionloss=".1"/><geom type="capsule" size=".05 .1"/>
  <site name="end"/></body>
  <body pos="-.3 0 0"><joint name="b" axis="0 1 0"/><geom type="box" size=".1 .05 .05"/></body></body>{body}</worldbody>
<equality><joint joint1="a" joint2="b"/></equality>
<tendon><spatial limited="true" range="0 .3"><site site="end"/><site site="start"/></spatial></tendon>
<actuator><motor joint="a" ctrlrange="-1 1" gear="9"/></actuator></mujoco>"""
ANOTHER = '<body pos=".5 0 .3"><freejoint/><geom size=".1"/><site name="start"/></body>'


@pytest.mark.skipif(not hasattr(mujoco.mjtDisableBit, "mjDSBL_ISLAND"), reason="islands are made when asked for")
@pytest.mark.parametrize("solver", ["PGS", "CG", "Newton"])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("body, one", [('<site name="start"/>', True), (ANOTHER, False)])
def test_no_islands_are_made_of_one_tree(solver, cone, body, one):
    xml = TREES.format(solver=solver, cone=cone, body=body)
    observed = ["qpos", "qvel", "qacc", "qfrc_constraint"]
    env = batchenv.make_mujoco(xml, 2, observation=observed)
    off = int(mujoco.mjtDisableBit.mjDSBL_ISLAND)
    assert bool(env.get_attr("model")[0].opt.disableflags & off) is one
    assert most_beside_mujoco(env, xml, observed, 300, "nisland") >= 1  # there were constraints


# ---- what goes wrong -----------------------------------------------------------------------------------------------

PENDULUM = """<mujoco><option timestep="0.02"/><worldbody><body>{joints}<geom size=".1" mass="1"/></body></worldbody>
<actuator><motor joint="a" ctrlrange="-1 1" gear="{gear}"/></actuator></mujoco>"""
JOINTS = '<joint name="a" type="slide" axis="1 0 0"/><joint name="b" axis="0 1 0"/>'


@pytest.fixture
def unstable(tmp_path):
    """A model that an action of 1 makes unstable, and 0 does not."""
    path = tmp_path / "unstable.xml"
    path.write_text(PENDULUM.format(joints=JOINTS, gear="1e14"))
    return str(path)


def test_an_unstable_simulation(unstable):
    def make(**kwargs):
        env = batchenv.make("InvertedPendulum-v5", 3, xml_file=unstable, **kwargs)
        env.reset(seed=1)
        return env

    actions = np.array([[0], [1], [0]], np.float32)
    only = [False, True, False]

    env = make()  # as Gymnasium: MuJoCo resets the simulation, and it goes on
    _, _, _, truncations, info = env.step(actions)
    np.testing.assert_array_equal(info["unstable"], only)
    np.testing.assert_array_equal(info["_unstable"], only)
    assert not truncations.any()
    assert "unstable" not in env.step(actions * 0)[4]

    *_, truncations, info = make(on_unstable="reset").step(actions)
    np.testing.assert_array_equal(truncations, only)
    np.testing.assert_array_equal(info["unstable"], only)

    with pytest.raises(batchenv.LaneError, match=r"lane 1: the simulation is unstable.*BADQ") as raised:
        make(on_unstable="raise").step(actions)
    np.testing.assert_array_equal(raised.value.env_id, [1])
    np.testing.assert_array_equal(raised.value.result[3], only)


def test_unstable_as_gymnasium(unstable, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # Gymnasium's MuJoCo writes MUJOCO_LOG.TXT
    ours, theirs = pair(Case("InvertedPendulum-v5", both={"xml_file": unstable}))
    ours.reset(seed=1), theirs.reset(seed=1)
    for _ in range(5):
        a, b = ours.step(ours.action_space.high), theirs.step(ours.action_space.high)
        a[4].pop("unstable", None), a[4].pop("_unstable", None)
        assert_same(a, b, "")


def test_an_error_of_mujoco_does_not_end_the_process(tmp_path):
    """Memory that is enough to make lanes, and not for the contacts there are: how much that is depends on MuJoCo."""
    path = tmp_path / "small.xml"
    geoms = "".join(f'<body pos="0 0 {0.05 * k}"><freejoint/><geom size=".1"/></body>' for k in range(12))
    told = []
    for kilobytes in range(6, 40):
        path.write_text(
            f'<mujoco><size memory="{kilobytes}K"/><worldbody><geom type="plane" size="9 9 1"/>'
            f'<body>{JOINTS}<geom size=".1"/></body>'
            f'{geoms}</worldbody><actuator><motor joint="a" ctrlrange="-1 1"/></actuator></mujoco>'
        )
        try:
            env = batchenv.make_mujoco(str(path), 4, num_threads=1)  # more lanes than mjData
        except ValueError:  # not even enough to make them
            continue
        for _ in range(2):
            try:
                env.reset(seed=1)
                for _ in range(3):
                    env.step(np.zeros((4, 1), np.float32))
            except RuntimeError as error:  # LaneError, in a step
                told.append(str(error))
    assert told and all("MuJoCo: mj_stackAlloc" in message for message in told)
    fine = batchenv.make("InvertedPendulum-v5", 2)
    fine.reset(seed=1)
    fine.step(np.zeros((2, 1), np.float32))


@pytest.mark.parametrize(
    "env_id, kwargs, error, words",
    [
        ("Hopper-v5", {"xml_file": "no_such.xml"}, FileNotFoundError, "no_such.xml"),
        ("Hopper-v5", {"xml_file": 3}, TypeError, "xml_file=3"),
        ("Hopper-v5", {"healthy_z_range": 3}, ValueError, "healthy_z_range=3"),
        ("Hopper-v5", {"healthy_z_range": (np.nan, 1)}, ValueError, "healthy_z_range"),
        ("Hopper-v5", {"healthy_z_range": (0, 1), "healthy_z_min": 0.5}, TypeError, "healthy_z_min"),
        ("Hopper-v5", {"frame_skip": 0}, ValueError, "frame_skip=0"),
        ("Hopper-v5", {"exclude_current_positions_from_observation": 1}, TypeError, "must be a bool"),
        ("Hopper-v5", {"on_unstable": "stop"}, ValueError, "on_unstable='stop'"),
        ("Hopper-v5", {"no_such": 1}, TypeError, "no_such"),
        ("Ant-v5", {"main_body": "leg"}, ValueError, "'leg'"),
        ("Ant-v5", {"main_body": 99}, ValueError, "main_body=99"),
        ("Reacher-v5", {"xml_file": "hopper.xml"}, ValueError, "'fingertip'"),
        ("Humanoid-v5", {"xml_file": "hopper.xml"}, ValueError, "tendons"),
        ("Walker2d-v5", {"xml_file": "inverted_pendulum.xml"}, ValueError, "2 positions, 2 velocities and 1 actuators"),
        ("InvertedDoublePendulum-v5", {"xml_file": "inverted_pendulum.xml"}, ValueError, "a site, at the tip"),
    ],
)
def test_bad_keywords(env_id, kwargs, error, words):
    with pytest.raises(error, match=words):
        batchenv.make(env_id, 2, **kwargs)


SMALLEST = """<mujoco><worldbody><body><joint name="a" type="slide"/><geom size=".1" mass="1"/></body></worldbody>
<actuator>{}</actuator></mujoco>"""


def test_the_smallest_model(tmp_path):
    """One number to see, one actuator; none is too few."""
    path = tmp_path / "smallest.xml"
    path.write_text(SMALLEST.format('<motor joint="a" ctrlrange="-1 1"/>'))
    env = batchenv.make_mujoco(str(path), 2, observation=["qpos"])
    env.reset(seed=1)
    assert env.observation_space.shape == env.action_space.shape == (2, 1)
    assert env.step(env.action_space.high)[0].all()  # it has moved
    path.write_text(SMALLEST.format(""))
    with pytest.raises(ValueError, match="1 positions, 1 velocities and 0 actuators, but at least 0, 0 and 1 are"):
        batchenv.make_mujoco(str(path), 2, observation=["qpos"])


def test_a_file_that_is_no_model(tmp_path):
    path = tmp_path / "bad.xml"
    path.write_text("<mujoco><worldbody><no_such/></worldbody></mujoco>")
    with pytest.raises(ValueError, match="is not a model that mujoco"):
        batchenv.make("Hopper-v5", 1, xml_file=str(path))


def run_python(code):
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_without_mujoco():
    code = """
import sys
import batchenv
from batchenv.engines.mujoco.tasks import assets
assert not any(name.split(".")[0] == "mujoco" for name in sys.modules), "import batchenv stays light"
sys.modules["mujoco"] = None
assert "Hopper-v5" in batchenv.list_envs()
try:
    batchenv.make("Hopper-v5", 2)
except Exception as error:
    print(type(error).__name__, error)
"""
    told = run_python(code)
    assert "DependencyNotInstalled" in told and 'pip install "batchenv[mujoco]"' in told


def test_an_old_mujoco():
    code = """
import sys, types
old = types.ModuleType("mujoco"); old.__version__ = "2.3.7"; sys.modules["mujoco"] = old
import batchenv
from batchenv.engines.mujoco.tasks import assets
try:
    batchenv.make("Hopper-v5", 2)
except Exception as error:
    print(error)
"""
    assert "mujoco 2.3.7 is too old: 3.1 or newer" in run_python(code)


# ---- attributes and pictures ---------------------------------------------------------------------------------------


def test_attributes():
    ours, theirs = pair(Case("Hopper-v5", both={"frame_skip": 3}))
    ours.reset(seed=2), theirs.reset(seed=2)
    actions = ours.action_space.high
    for _ in range(7):
        ours.step(actions), theirs.step(actions)
    for a, b in zip(ours.get_attr("data"), theirs.get_attr("data"), strict=True):
        for name in ("qpos", "qvel", "qacc", "xpos", "geom_xpos", "cfrc_ext", "ctrl", "qfrc_constraint", "cinert"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert ours.get_attr("dt") == theirs.get_attr("dt")
    for name in ("init_qpos", "init_qvel"):
        np.testing.assert_array_equal(ours.get_attr(name), theirs.get_attr(name))
    assert ours.get_attr("model")[0].nq == 6
    assert ours.get_attr("time")[0] == ours.get_attr("data")[0].time


@pytest.mark.skipif("MUJOCO_GL" not in os.environ, reason="pictures need OpenGL: set MUJOCO_GL to egl or osmesa")
@pytest.mark.parametrize("env_id", ["Hopper-v5", "Reacher-v5", "Humanoid-v5"])
@pytest.mark.parametrize("mode", ["rgb_array", "depth_array", "rgbd_tuple"])
def test_pictures(env_id, mode):
    ours, theirs = pair(Case(env_id, both={"render_mode": mode, "width": 64, "height": 48}), 2)
    ours.reset(seed=1), theirs.reset(seed=1)
    for _ in range(3):
        for a, b in zip(ours.render(), theirs.render(), strict=True):
            assert isinstance(a, tuple) == (mode == "rgbd_tuple")
            for x, y in zip(*((a, b) if isinstance(a, tuple) else ((a,), (b,))), strict=True):
                assert x.dtype == y.dtype and x.std() > 0
                np.testing.assert_array_equal(x, y)
        np.testing.assert_equal(ours.render(lanes=1)[0], theirs.render()[1])
        actions = ours.action_space.sample()
        ours.step(actions), theirs.step(actions)
    ours.close(), theirs.close()


# ---- models that differ from lane to lane --------------------------------------------------------------------------


def test_lanes_with_models_of_their_own():
    gravity = np.array([[0, 0, -9.81], [0, 0, -3.7], [0, 1.0, -9.81]])
    mass = batchenv.make("Hopper-v5", 1).get_attr("model")[0].body_mass * np.array([[1.0], [1.5], [0.7]])
    friction = np.array([2.0, 0.1, 0.1])
    env = batchenv.make("Hopper-v5", 4, gravity=np.vstack([gravity, gravity[:1]]))
    env.set_params(lanes=[1, 2], body_mass=np.vstack([mass, mass[:1]]))
    env.set_params(lanes=2, geom_friction=np.tile(friction, (5, 1)))

    def changed(lane):
        one = gymnasium_env("Hopper-v5", disable_env_checker=True)
        model = one.unwrapped.model
        model.opt.gravity[:] = gravity[lane]
        if lane:
            model.body_mass[:] = mass[lane]
            mujoco.mj_setConst(model, mujoco.MjData(model))
        if lane == 2:
            model.geom_friction[:] = friction
        return one

    theirs = SyncVectorEnv([lambda lane=lane: changed(lane) for lane in (0, 1, 2, 0)])
    follow(env, theirs, 60)
    copy = pickle.loads(pickle.dumps(env))
    actions = env.action_space.high
    for _ in range(5):
        assert_same(copy.step(actions), env.step(actions), "")


@pytest.mark.parametrize(
    "values, error, words",
    [
        ({"gravity": [0.0, 1.0]}, ValueError, "gravity has shape"),
        ({"gravity": [0.0, np.nan, 1.0]}, ValueError, "gravity of lane 0"),
        ({"gravity": "down"}, TypeError, "gravity must be real numbers"),
        ({"body_mass": 0.0}, ValueError, "body_mass has shape"),
        ({"nq": 3}, TypeError, "'nq'"),
        (
            {"body_mass": np.zeros(5)},
            ValueError,
            r"body_mass\[1\] of lane 0 must be more than 0, as in the model, got 0",
        ),
        ({"body_mass": [0, 3, -1, 1, 1]}, ValueError, r"body_mass\[2\] of lane 0 must be more than 0"),
        ({"body_mass": [-1, 3, 1, 1, 1]}, ValueError, r"body_mass\[0\] of lane 0 must be 0 or more, got -1"),
        ({"body_inertia": np.stack([np.ones((5, 3)), -np.ones((5, 3))])}, ValueError, "of lane 1 must be"),
        ({"dof_armature": [-5] * 6}, ValueError, "dof_armature.* must be 0 or more, got -5"),
        ({"jnt_axis": np.zeros((6, 3))}, ValueError, "MuJoCo refuses these jnt_axis of lane 0"),
        ({"gravity": np.array([0, 0, 1j])}, TypeError, "gravity must be real numbers .* dtype complex128"),
        ({"gravity": ["0", "0", "1"]}, TypeError, "gravity must be real numbers"),
        ({"gravity": [[0], [0, 1]]}, TypeError, "gravity must be real numbers"),
    ],
)
def test_bad_model_fields(values, error, words, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    env = batchenv.make("Hopper-v5", 2)
    with pytest.raises(error, match=words):
        env.set_params(**values)
    with pytest.raises(error, match=words):
        batchenv.make("Hopper-v5", 2, **values)
    assert capfd.readouterr() == ("", "") and not list(tmp_path.iterdir())  # such as MUJOCO_LOG.TXT
    lanes = env._backend.translator.lanes
    assert lanes.source.model(0) is lanes.source.model(1)


def test_what_get_attr_gives_changes_no_lane():
    env, other = (batchenv.make("Hopper-v5", 2) for _ in range(2))
    env.reset(seed=1), other.reset(seed=1)
    model = env.get_attr("model")[0]
    model.opt.gravity[:] = 0
    model.opt.timestep = 1
    model.body_mass[:] = 1e-3
    for name in ("qpos", "qvel", "init_qpos", "init_qvel"):
        env.get_attr(name)[0][:] = 7
    env.get_attr("data")[0].qpos[:] = 7
    action = np.full(env.action_space.shape, 0.3, np.float32)
    for _ in range(5):
        assert_same(env.step(action), other.step(action), "")
    assert env.get_attr("model")[0].opt.gravity[2] == -9.81
    assert_same(pickle.loads(pickle.dumps(env)).step(action), other.step(action), "")


@pytest.mark.parametrize("name", ["qpos", "time", "data"])
def test_attributes_of_lanes_in_flight_are_those_after_the_step(name):
    env = batchenv.make("Humanoid-v5", 24, num_threads=2)
    read = {"data": lambda: [data.time for data in env.get_attr("data")]}.get(name, lambda: env.get_attr(name))
    env.reset(seed=1)
    for _ in range(6):
        before = np.array(read())
        env.step_async(np.full(env.action_space.shape, 0.1, np.float32))
        flying = np.array(read())
        env.step_wait()
        np.testing.assert_array_equal(flying, np.array(read()))
        assert (flying != before).any(axis=tuple(range(1, flying.ndim))).all()


def test_a_model_of_ones_own():
    xml = PENDULUM.format(joints=JOINTS, gear="3")
    env = batchenv.make_mujoco(xml, 3, frame_skip=4, observation=["qvel", "xpos", "cfrc_ext"], qpos_noise=0.1)
    fields = env.get_attr("observation_fields")[0]
    observation, _ = env.reset(seed=4)
    assert observation.shape == (3, 2 + 6 + 12) and (observation[:, fields["xpos"]].std(axis=0) > 0).any()
    model = mujoco.MjModel.from_xml_string(xml)
    data = [mujoco.MjData(model) for _ in range(3)]
    for i, lane in enumerate(data):
        lane.qpos[:] += np.random.default_rng(4 + i).uniform(-0.1, 0.1, 2)
        mujoco.mj_forward(model, lane)
    for t in range(20):
        actions = np.full((3, 1), np.sin(t), np.float32)
        observation, reward, *_ = env.step(actions)
        for lane, row in zip(data, observation, strict=True):
            lane.ctrl[:] = actions[0]
            mujoco.mj_step(model, lane, nstep=4)
            mujoco.mj_rnePostConstraint(model, lane)
            np.testing.assert_array_equal(row, np.concatenate([lane.qvel, lane.xpos.ravel(), lane.cfrc_ext.ravel()]))
        assert not reward.any()
    snapshot = env.snapshot()
    after = env.step(actions)[0]
    env.restore(snapshot)
    np.testing.assert_array_equal(env.step(actions)[0], after)


def test_nothing_changes_where_a_param_is_refused():
    env = batchenv.make("Hopper-v5", 2)
    before = env.get_params()
    with pytest.raises(ValueError, match="gravity has shape"):
        env.set_params(healthy_reward=3.0, gravity=[1.0])
    assert env.get_params() == before
    with pytest.raises(ValueError, match="reset_noise_scale"):
        env.set_params(gravity=[0.0, 0.0, 0.0], reset_noise_scale=-1.0)
    assert env.get_attr("model")[0].opt.gravity[2] == -9.81


@pytest.mark.parametrize("env_id", ["Hopper-v5", "Humanoid-v5"])
def test_transforms(env_id):
    """Repeated actions, statistics and dtype, against a loop of single steps."""
    ours = batchenv.make(
        env_id,
        3,
        action_repeat=3,
        record_episode_statistics=True,
        observation_dtype="float32",
        autoreset_mode="Disabled",
    )
    plain = batchenv.make(env_id, 3, autoreset_mode="Disabled")
    ours.reset(seed=6), plain.reset(seed=6)
    rng = np.random.default_rng(6)
    for _ in range(2):
        actions = choose(ours, rng)
        total = np.zeros(3)
        for _ in range(3):
            observation, reward, terminations, *_ = plain.step(actions)
            total += reward
            assert not terminations.any()
        result = ours.step(actions)
        np.testing.assert_array_equal(result[0], observation.astype(np.float32))
        np.testing.assert_array_equal(result[1], total)


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        ({"observation": ["qpo"]}, ValueError, "did you mean qpos"),
        ({"observation": ["efc_pos"]}, ValueError, "efc_pos"),
        ({"observation": ["sensordata"]}, ValueError, "empty"),
        ({"observation": "qpos"}, TypeError, "must be a list"),
        ({"xml": "<mujoco><x/></mujoco>"}, ValueError, "xml is not a model"),
        ({"xml": "no_such.xml"}, OSError, "no_such.xml"),
        ({"xml": "no\0such.xml"}, OSError, "no.*such.xml"),
        ({"xml": 5}, TypeError, "xml=5 must be the path of an XML file, or XML text, not int"),
        ({"xml": None}, TypeError, "xml=None must be the path"),
        ({"xml": b"<mujoco/>"}, TypeError, "must be the path"),
        ({"xml": "<mujoco model='\ud800'/>"}, ValueError, "xml is not a model .* surrogates not allowed"),
        ({"xml": "<mujoco/>"}, ValueError, "'qpos' is empty"),
    ],
)
def test_bad_models_of_ones_own(arguments, error, words):
    with pytest.raises(error, match=words):
        batchenv.make_mujoco(**{"xml": PENDULUM.format(joints=JOINTS, gear="3"), "num_envs": 2, **arguments})


def test_tables_of_the_c_side_are_not_overfilled():
    model = mujoco.MjModel.from_xml_string(PENDULUM.format(joints=JOINTS, gear="3"))
    with pytest.raises(ValueError, match="4 bodies do not fit into 3 places"):
        library.Lanes(model, 1, 1, bodies=[0] * 4)
    with pytest.raises(KeyError, match="no_such_flag"):
        library.Lanes(model, 1, 1, flags={"no_such_flag": True})
    lanes = library.Lanes(model, 2, 1)
    for lane in (-1, 2):
        with pytest.raises(IndexError):
            lanes.source.put_model(lane, model)


def test_a_working_directory_that_is_gone(tmp_path):
    code = (
        "import os, sys, batchenv\n"
        "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\n"
        "try:\n    batchenv.make('Hopper-v5', 1)\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    # The folder is on Python's path, as it usually is: that is what the import stumbles over.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    environment["PYTHONPATH"] = str(Path(batchenv.__file__).parents[1])
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, env=environment)
    assert "working directory that is gone" in done.stdout, done.stderr


@pytest.mark.skipif(os.environ.get("DISPLAY") is not None, reason="there is a screen: a window would open")
def test_human_without_a_screen():
    pytest.importorskip("imageio")
    code = (
        "import batchenv\n"
        "env = batchenv.make('Hopper-v5', 1, render_mode='human')\n"
        "try:\n    env.reset(seed=0)\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    environment = {name: value for name, value in os.environ.items() if name not in ("WAYLAND_DISPLAY", "MUJOCO_GL")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("DependencyNotInstalled") and "render_mode='human' needs a screen" in done.stdout


def test_more_actuators_than_the_table_of_bounds_has_room_for():
    """All have the same bounds then, which hold for the last one, too."""
    count = 45
    bodies = "".join(
        f'<body pos="{i} 0 0"><joint name="j{i}" axis="0 1 0"/><geom size=".1"/></body>' for i in range(count)
    )
    motors = "".join(f'<motor joint="j{i}" ctrlrange="-2 3" ctrllimited="true"/>' for i in range(count))
    env = batchenv.make_mujoco(f"<mujoco><worldbody>{bodies}</worldbody><actuator>{motors}</actuator></mujoco>", 3)
    env.reset(seed=0)
    for value in (-2.0, 2.999, 3.0):
        env.step(np.full((3, count), value, np.float32))
    for component in (0, 31, 32, count - 1):
        actions = np.zeros((3, count))
        actions[1, component] = 3.5
        with pytest.raises(ValueError, match=rf"lane 1 \(component {component}\) is not between -2 and 3"):
            env.step(actions)
    drawn = env.rollout(20, policy="random", seed=1).actions
    assert drawn.min() >= -2 and drawn.max() <= 3 and drawn[..., -1].max() > 2 and drawn[..., -1].min() < -1


def test_fields_of_chosen_lanes_alone_are_looked_at():
    """One row per chosen lane: nothing is asked of the others, which get none."""
    env = batchenv.make("Hopper-v5", 4)
    env.reset(seed=0)
    masses = env.get_attr("model")[0].body_mass * np.array([[1.5], [2.0]])
    env.set_params(lanes=[1, 3], body_mass=masses)
    found = [model.body_mass for model in env.get_attr("model")]
    np.testing.assert_array_equal(found[1], masses[0])
    np.testing.assert_array_equal(found[3], masses[1])
    np.testing.assert_array_equal(found[0], found[2])
    masses[1, 2] = -1
    with pytest.raises(ValueError, match=r"body_mass\[2\] of lane 3 must be more than 0"):
        env.set_params(lanes=[1, 3], body_mass=masses)
