"""Models that differ from lane to lane, models of one's own, and what a model must have."""

import ctypes.util
import pickle
from pathlib import Path

import gymnasium.envs.mujoco
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

import batchenv
from batchenv.envs.mujoco import library
from helpers.begun import begun
from helpers.mujoco import JOINTS, PENDULUM, mujoco
from helpers.parity import Case, assert_same, follow, make_gymnasium
from helpers.processes import run_python


def test_lanes_with_models_of_their_own():
    gravity = np.array([[0, 0, -9.81], [0, 0, -3.7], [0, 1.0, -9.81]])
    mass = batchenv.make("Hopper-v5", 1).get_attr("model")[0].body_mass * np.array([[1.0], [1.5], [0.7]])
    friction = np.array([2.0, 0.1, 0.1])
    env = batchenv.make("Hopper-v5", 4, gravity=np.vstack([gravity, gravity[:1]]))
    env.set_params(lanes=[1, 2], body_mass=np.vstack([mass, mass[:1]]))
    env.set_params(lanes=2, geom_friction=np.tile(friction, (5, 1)))

    def changed(lane):
        one = make_gymnasium("Hopper-v5")
        model = one.unwrapped.model
        model.opt.gravity[:] = gravity[lane]
        if lane:
            model.body_mass[:] = mass[lane]
            mujoco.mj_setConst(model, mujoco.MjData(model))
        if lane == 2:
            model.geom_friction[:] = friction
        return one

    theirs = SyncVectorEnv([lambda lane=lane: changed(lane) for lane in (0, 1, 2, 0)])
    follow(Case("Hopper-v5"), env, theirs, 60)
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
        ({"body_mass": np.zeros(5)}, ValueError, r"body_mass\[1\] of lane 0 must be more than 0, as in .*, got 0"),
        ({"body_mass": [0, 3, -1, 1, 1]}, ValueError, r"body_mass\[2\] of lane 0 must be more than 0"),
        ({"body_mass": [-1, 3, 1, 1, 1]}, ValueError, r"body_mass\[0\] of lane 0 must be 0 or more, got -1"),
        ({"body_inertia": np.stack([np.ones((5, 3)), -np.ones((5, 3))])}, ValueError, "of lane 1 must be"),
        ({"dof_armature": [-5] * 6}, ValueError, "dof_armature.* must be 0 or more, got -5"),
        ({"jnt_axis": np.zeros((6, 3))}, ValueError, r"jnt_axis\[0\] of lane 0 must be a direction, not all 0"),
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


@pytest.mark.skipif(mujoco.__version__ < "4", reason="older versions may take such numbers")
@pytest.mark.parametrize("env_id, body", [("Reacher-v5", 4), ("Pusher-v5", 11)])
@pytest.mark.parametrize("name", ["body_ipos", "body_iquat"])
def test_where_bodies_are_compiled_as_simple(env_id, body, name, tmp_path, monkeypatch, capfd):
    """MuJoCo cannot move the inertia of such bodies; that of all others can be moved."""
    monkeypatch.chdir(tmp_path)
    env = batchenv.make(env_id, 2)
    model = env.get_attr("model")[0]
    moved = getattr(model, name) + 0.001
    words = rf"refuses these {name} of lane 1: .*body {body} is compiled as simple.*simple=.*no lane has changed"
    with pytest.raises(ValueError, match=words):
        env.set_params(lanes=[1], **{name: moved})
    np.testing.assert_array_equal(getattr(env.get_attr("model")[1], name), getattr(model, name))
    moved[model.body_simple != 0] = getattr(model, name)[model.body_simple != 0]
    env.set_params(lanes=[1], **{name: moved})
    np.testing.assert_array_equal(getattr(env.get_attr("model")[1], name), moved)
    assert capfd.readouterr() == ("", "") and not list(tmp_path.iterdir())  # such as MUJOCO_LOG.TXT


def test_nothing_changes_where_a_param_is_refused():
    env = batchenv.make("Hopper-v5", 2)
    before = env.get_params()
    with pytest.raises(ValueError, match="gravity has shape"):
        env.set_params(healthy_reward=3.0, gravity=[1.0])
    assert env.get_params() == before
    with pytest.raises(ValueError, match="reset_noise_scale"):
        env.set_params(gravity=[0.0, 0.0, 0.0], reset_noise_scale=-1.0)
    assert env.get_attr("model")[0].opt.gravity[2] == -9.81


def test_fields_of_chosen_lanes_alone_are_looked_at():
    """One row per chosen lane: nothing is asked of the others, which get none."""
    env = begun(batchenv.make("Hopper-v5", 4))
    masses = env.get_attr("model")[0].body_mass * np.array([[1.5], [2.0]])
    env.set_params(lanes=[1, 3], body_mass=masses)
    found = [model.body_mass for model in env.get_attr("model")]
    np.testing.assert_array_equal(found[1], masses[0])
    np.testing.assert_array_equal(found[3], masses[1])
    np.testing.assert_array_equal(found[0], found[2])
    masses[1, 2] = -1
    with pytest.raises(ValueError, match=r"body_mass\[2\] of lane 3 must be more than 0"):
        env.set_params(lanes=[1, 3], body_mass=masses)


def test_what_get_attr_gives_changes_no_lane():
    env, other = (begun(batchenv.make("Hopper-v5", 2), seed=1) for _ in range(2))
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


def assert_data_is_the_lanes(env):
    for data, qpos, qvel, time in zip(*(env.get_attr(name) for name in ("data", "qpos", "qvel", "time")), strict=True):
        assert data.qpos.tobytes() == qpos.tobytes() and data.qvel.tobytes() == qvel.tobytes() and data.time == time


def test_data_after_a_change_of_the_model():
    """The present state, whatever model the last step had, and what the new model makes of it."""
    env = begun(batchenv.make("Hopper-v5", 3), seed=1)
    for _ in range(3):
        env.step(env.action_space.high)
    before = env.get_attr("data")
    snapshot = env.snapshot()
    env.set_params(lanes=[1], gravity=[0, 0, -500.0], body_mass=env.get_attr("model")[0].body_mass * 2)
    assert_data_is_the_lanes(env)
    changed, untouched = env.get_attr("data")[1], env.get_attr("data")[2]
    model = env.get_attr("model")[1]
    expected = mujoco.MjData(model)
    state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
    mujoco.mj_getState(model, changed, state, mujoco.mjtState.mjSTATE_INTEGRATION)
    mujoco.mj_setState(model, expected, state, mujoco.mjtState.mjSTATE_INTEGRATION)
    mujoco.mj_forward(model, expected)
    for name in ("xpos", "cinert", "qacc"):
        np.testing.assert_array_equal(getattr(changed, name), getattr(expected, name))
        np.testing.assert_array_equal(getattr(untouched, name), getattr(before[2], name))
    env.step(env.action_space.high)
    assert_data_is_the_lanes(env)
    env.restore(snapshot)  # a step of the old model
    assert_data_is_the_lanes(env)


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


@pytest.mark.parametrize("noise", [(0, 0), (0.1, 0), (0, 0.2), (0.1, 0.2)])
def test_episodes_of_a_model_of_ones_own_start_as_numpy_draws(noise):
    """Positions first; without noise nothing is drawn."""
    xml = PENDULUM.format(joints=JOINTS, gear="3")
    env = batchenv.make_mujoco(xml, 2, observation=["qpos", "qvel"], qpos_noise=noise[0], qvel_noise=noise[1])
    env.reset(seed=4)
    starts = env.reset()[0]  # the second ones: they depend on how much the first ones have drawn
    for lane, start in enumerate(starts):
        rng = np.random.default_rng(4 + lane)
        drawn = [[rng.uniform(-most, most, 2) if most else np.zeros(2) for most in noise] for _ in range(2)]
        np.testing.assert_array_equal(start, np.concatenate(drawn[1]))


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
        ({"xml": 5}, TypeError, "xml=5 must be .*, XML text, or a .*MjModel, not int"),
        ({"xml": None}, TypeError, "xml=None must be the path"),
        ({"xml": b"<mujoco/>"}, TypeError, "must be the path"),
        ({"xml": "<mujoco model='\ud800'/>"}, ValueError, "xml is not a model .* surrogates not allowed"),
        ({"xml": "<mujoco/>"}, ValueError, "'qpos' is empty"),
    ],
)
def test_bad_models_of_ones_own(arguments, error, words):
    with pytest.raises(error, match=words):
        batchenv.make_mujoco(**{"xml": PENDULUM.format(joints=JOINTS, gear="3"), "num_envs": 2, **arguments})


SMALLEST = """<mujoco><worldbody><body><joint name="a" type="slide"/><geom size=".1" mass="1"/></body></worldbody>
<actuator>{}</actuator></mujoco>"""


def test_the_smallest_model(tmp_path):
    """One number to see, one actuator; none is too few."""
    path = tmp_path / "smallest.xml"
    path.write_text(SMALLEST.format('<motor joint="a" ctrlrange="-1 1"/>'))
    env = begun(batchenv.make_mujoco(str(path), 2, observation=["qpos"]), seed=1)
    assert env.observation_space.shape == env.action_space.shape == (2, 1)
    assert env.step(env.action_space.high)[0].all()  # it has moved
    path.write_text(SMALLEST.format(""))
    with pytest.raises(ValueError, match="1 positions, 1 velocities and 0 actuators, but at least 0, 0 and 1 are"):
        batchenv.make_mujoco(str(path), 2, observation=["qpos"])
    still = '<mujoco><worldbody><body mocap="true"><geom size=".1"/><site name="s"/></body></worldbody>{}</mujoco>'
    motor = '<actuator><motor site="s" gear="1 0 0 0 0 0"/></actuator>'
    env = begun(batchenv.make_mujoco(still.format(motor), 2, observation=["xpos"]), seed=1)
    assert not env.step(np.ones((2, 1), np.float32))[0].any()
    still = still.format("")
    with pytest.raises(ValueError, match="0 positions, 0 velocities and 0 actuators, but at least 0, 0 and 1 are"):
        batchenv.make_mujoco(still, 3, observation=["xpos"])


def test_a_file_that_is_no_model(tmp_path):
    path = tmp_path / "bad.xml"
    path.write_text("<mujoco><worldbody><no_such/></worldbody></mujoco>")
    with pytest.raises(ValueError, match="is not a model that mujoco"):
        batchenv.make("Hopper-v5", 1, xml_file=str(path))


def test_more_actuators_than_the_table_of_bounds_has_room_for():
    """All have the same bounds then, which hold for the last one, too."""
    count = 45
    body = '<body pos="{0} 0 0"><joint name="j{0}" axis="0 1 0"/><geom size=".1"/></body>'
    bodies = "".join(body.format(i) for i in range(count))
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


def test_models_are_of_lanes():
    lanes = library.Lanes(mujoco.MjModel.from_xml_string(PENDULUM.format(joints=JOINTS, gear="3")), 2, 1)
    for lane in (-1, 2):
        with pytest.raises(IndexError):
            lanes.source.put_model(lane, lanes.model)


CROWD = """
import sys
import numpy as np
import batchenv
env = batchenv.make("Ant-v5", 2, xml_file=sys.argv[1], contact_cost_weight=1.0)
env.reset(seed=1)
for _ in range(30):
    infos = env.step(env.action_space.high)[4]
    forces = [np.clip(data.cfrc_ext, -1, 1) for data in env.get_attr("data")]
    assert [-np.sum(np.square(row)) for row in forces] == infos["reward_contact"].tolist(), infos
assert infos["reward_contact"].any()
print(len(forces[0]))
"""


def test_more_bodies_than_the_sum_of_forces_has_room_for_at_hand(tmp_path):
    """With glibc's checks, which see each byte that is written beyond the memory asked for, where there are any."""
    text = (Path(gymnasium.envs.mujoco.__file__).parent / "assets/ant.xml").read_text()
    stones = "".join(f'<body pos="9 {k} 0"><geom size=".1"/></body>' for k in range(100))
    path = tmp_path / "ant.xml"
    path.write_text(text.replace("</worldbody>", f"{stones}</worldbody>"))
    checks = ctypes.util.find_library("c_malloc_debug")
    variables = {"LD_PRELOAD": checks, "MALLOC_CHECK_": "3"} if checks else {}
    assert run_python(CROWD, str(path), **variables).strip() == "114"


def test_models_that_lanes_share_are_copied_once():
    """Thousands of copies of a model with textures would not fit into memory; and they are the user's to change."""
    env = begun(batchenv.make("HalfCheetah-v5", 5), seed=0)
    env.set_params(lanes=[3], geom_friction=np.full(env.get_attr("model")[0].geom_friction.shape, 0.3))
    models = env.get_attr("model")
    assert models[0] is models[1] is models[4] and models[3] is not models[0]
    assert (models[3].geom_friction == 0.3).all() and (models[0].geom_friction != 0.3).any()
    models[0].geom_friction[:] = 7
    assert (env.get_attr("model")[1].geom_friction != 7).all()
