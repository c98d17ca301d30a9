"""Work that batchenv leaves out of MuJoCo's steps, because nobody could see that it was done."""

import copy

import numpy as np
import pytest

import batchenv
from batchenv.envs.mujoco import library, tasks
from helpers.mujoco import mujoco
from helpers.processes import run_python

VERSION = tuple(int(part) for part in mujoco.__version__.split(".")[:2])
CLOCKED = """
import mujoco
model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>")
data = mujoco.MjData(model)
for _ in range(20):
    mujoco.mj_step(model, data)
"""


def test_only_lanes_have_no_clock(monkeypatch):
    """MuJoCo times its stages for mjData.timer; the user's own data have that as ever (3.1 had none)."""
    stage = int(mujoco.mjtTimer.mjTIMER_STEP)
    monkeypatch.setenv("BATCHENV_PHYSICS", "0")
    env = batchenv.make("InvertedPendulum-v5", 2, num_threads=1)
    env.reset(seed=1)
    env.step(env.action_space.sample())
    lent = env._backend.translator.lanes.slots[0].timer
    assert lent.number[stage] > 0 and lent.duration[stage] == 0
    alone = run_python(f"{CLOCKED}print(data.timer.duration[{stage}] > 0)").strip()
    scope = {}
    exec(CLOCKED, scope)
    assert str(scope["data"].timer.duration[stage] > 0) == alone


CLOCKS = """
import ctypes
import batchenv
from batchenv.envs.mujoco import library
address = library.load()[1]["mjcb_time"]
clock = ctypes.c_void_p.from_address(address)
make = lambda: batchenv.make("InvertedPendulum-v5", 2, num_threads=1)
"""


@pytest.mark.skipif(not library.load()[1]["mjcb_time"], reason="this MuJoCo has no clock")
def test_clock_is_given_back_at_the_end():
    run_python(f"""{CLOCKS}
make().close()  # in some versions the bindings set their clock only when they make the first mjData
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


def test_what_is_left_out_changes_no_step():
    """It matters by which criterion the solver stops, more often so with a coarse tolerance."""
    model = library.read_model(tasks.assets() / "walker2d_v5.xml")
    other = copy.copy(model)
    other.opt.disableflags |= library.idle_flags(model)
    data, same = mujoco.MjData(model), mujoco.MjData(other)
    kind = int(mujoco.mjtState.mjSTATE_INTEGRATION)
    state, rng = np.zeros(mujoco.mj_stateSize(model, kind)), np.random.default_rng(0)
    for step in range(1200):
        if step % 200 == 0:
            mujoco.mj_resetData(model, data)
            data.qvel[:] = rng.standard_normal(model.nv) * 0.1
        data.ctrl[:] = rng.uniform(-1, 1, model.nu)
        model.opt.tolerance = other.opt.tolerance = 10 ** rng.uniform(-8, 1)
        mujoco.mj_getState(model, data, state, kind)
        mujoco.mj_setState(other, same, state, kind)
        mujoco.mj_step(model, data)
        mujoco.mj_step(other, same)
        assert data.qacc.tobytes() == same.qacc.tobytes(), step


@pytest.mark.skipif(not hasattr(mujoco.mjtDisableBit, "mjDSBL_ISLAND"), reason="islands are made when asked for")
@pytest.mark.parametrize("solver", ["PGS", "CG", "Newton"])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("body, one", [('<site name="start"/>', True), (ANOTHER, False)])
def test_no_islands_are_made_of_one_tree(solver, cone, body, one):
    xml = TREES.format(solver=solver, cone=cone, body=body)
    observed = ["qpos", "qvel", "qacc", "qfrc_constraint"]
    env = batchenv.make_mujoco(xml, 2, observation=observed)
    off = int(mujoco.mjtDisableBit.mjDSBL_ISLAND)
    assert bool(env.get_attr("model")[0].opt.disableflags & off) is (one and VERSION >= library.ONE_ISLAND)
    assert most_beside_mujoco(env, xml, observed, 300, "nisland") >= 1  # there were constraints
