"""The suite's models that are changed before they are compiled, and the linear systems, which have a model of their own
for each seed."""

import pickle
import warnings
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest
from gymnasium.spaces import Box

import batchenv
from batchenv.envs.mujoco import dm_models, library, reads
from batchenv.envs.mujoco.dm_control import suite
from helpers import dm_control

pytest.importorskip("dm_control")

ESCAPE, LQR = "dm_control/quadruped-escape-v0", "dm_control/lqr-lqr_2_1-v0"
CHANGED = ("cartpole", "dog", "lqr", "quadruped")


def arrays(model):
    """{name: value} of all numbers and arrays of a mjModel and its options, except for paths of files and their
    lengths."""
    found, lengths = {}, ("nbuffer", "signature")
    for part in (model, model.opt):
        for name in dir(part):
            value = None if name.startswith("_") or "path" in name or name in lengths else getattr(part, name)
            if isinstance(value, (bytes, int, float, np.ndarray)):
                found[name] = np.asarray(value)
    return found


@pytest.mark.parametrize("name", [one for one in dm_control.names() if one[0] in CHANGED], ids="-".join)
def test_models_are_dm_controls(name):
    keywords = {"model_seed": 6} if name[0] == "lqr" else {}
    (model,) = batchenv.make(f"dm_control/{'-'.join(name)}-v0", 1, **keywords).get_attr("model")
    mine = arrays(model)
    theirs = dm_control.load().load(*name, task_kwargs={"random": 6}).physics.model.ptr
    theirs.opt.disableflags |= library.idle_flags(theirs)  # what changes no result
    theirs = arrays(theirs)
    assert mine.keys() == theirs.keys()
    assert len(mine) > 300
    assert [key for key, value in mine.items() if value.tobytes() != theirs[key].tobytes()] == []


def test_floors_are_as_large_as_robots_get():
    env = batchenv.make("dm_control/quadruped-walk-v0", 2, desired_speed=np.array([2.0, 3.0]))
    (model, _) = env.get_attr("model")
    assert model.geom("floor").size[0] == 60


@pytest.mark.parametrize("name", ["quadruped-run", "dog-walk"])
@pytest.mark.parametrize("value", ["fast", None, -1.0])
def test_speeds_must_be_numbers(name, value):
    keyword = "desired_speed" if name.startswith("quadruped") else "move_speed"
    with pytest.raises((TypeError, ValueError), match=keyword):
        batchenv.make(f"dm_control/{name}-v0", 2, **{keyword: value})


# ---- linear systems


def test_a_system_at_rest_ends_the_episode_with_discount_0():
    env = batchenv.make(LQR, 3, model_seed=1)
    references = [dm_control.load().load("lqr", "lqr_2_1", task_kwargs={"random": 1 + lane}) for lane in range(3)]
    observations, expected = env.reset(seed=1)[0], [reference.reset() for reference in references]
    ends = 0
    for _ in range(3500):
        for lane, one in enumerate(expected):
            assert all(np.array_equal(observations[key][lane], value) for key, value in one.observation.items())
        actions = -20 * observations["velocity"][:, :1]
        observations, rewards, terminated, truncated, infos = env.step(actions)
        expected = [reference.step(action) for reference, action in zip(references, actions, strict=True)]
        for lane, one in enumerate(expected):
            if not one.first():
                assert (rewards[lane], infos["discount"][lane]) == (one.reward, one.discount)
                assert terminated[lane] == one.last() == (one.discount == 0)
        assert not truncated.any()
        ends += terminated.sum()
    assert ends >= 3


def test_a_seed_always_starts_the_same_episodes():
    env = batchenv.make(LQR, 2, model_seed=4)
    first = env.reset(seed=4)[0]["position"]
    second = env.reset()[0]["position"]
    assert not np.array_equal(first, second)
    assert np.array_equal(env.reset(seed=4)[0]["position"], first)
    assert np.array_equal(env.reset()[0]["position"], second)
    saved = env.snapshot()
    third = env.reset()[0]["position"]
    env.restore(saved)
    assert np.array_equal(env.reset()[0]["position"], third)


@pytest.mark.parametrize("seed", [2**32 - 1, 2**40])
def test_springs_of_large_seeds(seed):
    env = batchenv.make(LQR, 2, model_seed=seed)
    words = [[seed % 2**32, seed >> 32] if seed >= 2**32 else seed, [(seed + 1) % 2**32, (seed + 1) >> 32]]
    for model, word in zip(env.get_attr("model"), words, strict=True):
        draws = np.random.RandomState(word).uniform(15, 25, 4)
        assert np.array_equal(model.jnt_stiffness.ravel()[:2], draws[::2])


def test_without_a_model_seed_all_lanes_have_the_same_springs():
    one, two = batchenv.make(LQR, 2).get_attr("model")
    assert np.array_equal(one.jnt_stiffness, two.jnt_stiffness)
    reference = dm_control.load().load("lqr", "lqr_2_1", task_kwargs={"random": 0}).physics.model
    assert np.array_equal(one.jnt_stiffness, reference.jnt_stiffness)


def test_other_sizes_of_systems():
    env = batchenv.make(LQR, 2, n_bodies=5, n_actuators=3)
    assert env.single_observation_space["velocity"].shape == (5,)
    assert env.single_action_space == Box(-1e10, 1e10, (3,), np.float64)
    with pytest.raises(ValueError, match=r"n_actuators=3 must be 2 \(n_bodies\) or less"):
        batchenv.make(LQR, 2, n_actuators=3)
    with pytest.raises(ValueError, match="n_bodies"):
        batchenv.make(LQR, 2, n_bodies=0)
    with pytest.raises(ValueError, match="model_seed"):
        batchenv.make(LQR, 2, model_seed=-1)


# ---- grounds that differ from episode to episode


@pytest.mark.parametrize("threads", [1, 3])
def test_lanes_have_grounds_of_their_own(threads):
    env = batchenv.make(ESCAPE, 5, num_threads=threads)
    one = batchenv.make(ESCAPE, 1)
    env.reset(seed=10)
    one.reset(seed=13)
    terrain = env.state["terrain"]
    assert len(np.unique(terrain, axis=0)) == 5
    assert np.array_equal(terrain[3], one.state["terrain"][0])
    for _ in range(15):
        actions = env.action_space.sample()
        mine, theirs = env.step(actions), one.step(actions[3:4])
        assert mine[1][3] == theirs[1][0]
        assert all(np.array_equal(mine[0][key][3], theirs[0][key][0]) for key in mine[0])


def test_models_and_data_show_the_ground():
    env = batchenv.make(ESCAPE, 2)
    env.reset(seed=4)
    suite = dm_control.load()
    reference = suite.load("quadruped", "escape", task_kwargs={"random": 5})
    reference.reset()
    assert np.array_equal(env.get_attr("model")[1].hfield_data, reference.physics.model.hfield_data)
    for _ in range(3):
        data = env.call("data")[1]
        assert data.ncon == reference.physics.data.ncon
        for name in ("qpos", "sensordata", "qacc_warmstart"):
            assert np.array_equal(getattr(data, name), getattr(reference.physics.data, name)), name
        actions = env.action_space.sample()
        env.step(actions)
        reference.step(actions[1])


def test_grounds_are_part_of_snapshots():
    env = batchenv.make(ESCAPE, 2, max_episode_steps=12)
    env.reset(seed=3)
    for _ in range(5):
        env.step(np.zeros(env.action_space.shape))
    saved, copied = env.snapshot(), pickle.loads(pickle.dumps(env))
    played = [env.step(np.full(env.action_space.shape, 0.5)) for _ in range(20)]  # into the next episode
    env.restore(saved)
    for other in (env, copied):
        for observations, rewards, *_ in played:
            again = other.step(np.full(env.action_space.shape, 0.5))
            assert np.array_equal(again[1], rewards)
            assert all(np.array_equal(again[0][key], observations[key]) for key in observations)


def test_models_of_lanes_on_grounds_cannot_be_changed():
    env = batchenv.make(ESCAPE, 2)
    with pytest.raises(TypeError, match="geom_friction"):
        env.set_params(geom_friction=1.0)
    xml = "<mujoco><asset><hfield name='terrain' nrow='3' ncol='3' size='1 1 1 1'/></asset></mujoco>"
    with pytest.raises(ValueError, match="one height field, of 201 rows"):
        batchenv.make(ESCAPE, 2, xml_file=xml)


# ---- what tasks read


def test_tasks_read_options_of_the_model():
    model = mujoco.MjModel.from_xml_string("<mujoco><option gravity='1 2 3'/></mujoco>")
    (read,) = reads.resolve(mujoco, model, [("model.opt.gravity", None, None)])
    assert (read.size, read.first.tolist()) == (3, [0])
    with pytest.raises(ValueError, match="gravty"):
        reads.resolve(mujoco, model, [("model.opt.gravty", None, None)])


def test_gravity_of_a_lanes_own_model():
    """The dog's weight, which its reward compares forces with, is that of the lane's model."""
    env = batchenv.make("dm_control/dog-stand-v0", 2)
    gravity = np.array([[0, 0, -9.81], [0, 0, -3.0]])
    env.set_params(gravity=gravity)
    reference = dm_control.load().load("dog", "stand", task_kwargs={"random": 8})
    reference.physics.model.opt.gravity[:] = gravity[1]
    env.reset(seed=[0, 8])
    reference.reset()
    for _ in range(20):
        actions = env.action_space.sample()
        assert env.step(actions)[1][1] == reference.step(actions[1]).reward


def test_numpys_product_of_matrices():
    """It is told apart whether NumPy's dot of two matrices rounds between multiplying and adding."""
    fused = library.fused()[2]
    rng = np.random.default_rng(7)
    m, n = rng.uniform(-1, 1, (2, 3, 3))
    plain = np.array([[m[i, 0] * n[0, j] + m[i, 1] * n[1, j] + m[i, 2] * n[2, j] for j in range(3)] for i in range(3)])
    assert np.array_equal(m.dot(n), plain) == (not fused)


def test_the_ground_of_escape_may_have_any_name():
    """It is the model's first height field, as in dm_control: of another name, the physics did not see it."""
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dm_models, "compiled", lambda root: found.append(ElementTree.tostring(root, encoding="unicode")))
        dm_models.quadruped(suite("quadruped.xml"), 40, terrain=True)
    text = found[0].replace('<hfield name="terrain"', '<hfield name="g"').replace('hfield="terrain"', 'hfield="g"')
    assert text != found[0]
    named, other = batchenv.make(ESCAPE, 2), batchenv.make(ESCAPE, 2, xml_file=text)
    named.reset(seed=1), other.reset(seed=1)
    for action in np.random.default_rng(0).uniform(-0.8, 0.8, (5, 2, 12)):
        results = named.step(action)[0], other.step(action)[0]
        for name, values in results[0].items():
            np.testing.assert_array_equal(results[1][name], values, name)
    grounds = [model.hfield_data for model in other.call("model")]
    np.testing.assert_array_equal(grounds, named.state["terrain"])


def test_no_warning_of_a_ready_task_that_is_slow():
    """Nobody could do anything about the model; the documentation says which tasks gain little."""
    env = batchenv.make("dm_control/dog-stand-v0", 8)
    env.reset(seed=0)
    for _ in range(60):
        env.step(np.zeros(env.action_space.shape))
    assert "MuJoCo solved the constraints of 100%" in env.get_attr("physics")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env.close()
