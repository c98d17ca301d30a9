"""DM Control's tasks with a target: batchenv keeps it in the lanes' state, dm_control in the model. Whoever looks at a
lane's model, data or picture sees the same."""

import copy
import os
import pickle

import numpy as np
import pytest

import batchenv
from batchenv.envs.mujoco.dm_control import suite as file_of
from helpers import dm_control
from helpers.begun import begun
from helpers.mujoco import assert_models_same

pytest.importorskip("dm_control")

REACHER, SWIMMER, FISH = (f"dm_control/{task}-v0" for task in ("reacher-hard", "swimmer-swimmer6", "fish-swim"))
ARMS = [f"dm_control/manipulator-{task}_{thing}-v0" for task in ("bring", "insert") for thing in ("ball", "peg")]
ARMS += ["dm_control/stacker-stack_2-v0"]
HARD = "dm_control/point_mass-hard-v0"
MOVING = [REACHER, SWIMMER, FISH, *(f"dm_control/finger-turn_{kind}-v0" for kind in ("easy", "hard")), *ARMS]
TASKS = [
    *MOVING,
    *(f"dm_control/{task}-v0" for task in ("reacher-easy", "swimmer-swimmer15", "fish-upright", "finger-spin")),
    *(f"dm_control/{task}-v0" for task in ("ball_in_cup-catch", "point_mass-easy", "point_mass-hard")),
]
# What tasks write to, and what MuJoCo computes from that.
OF_MODEL = ("geom_pos", "geom_size", "geom_rgba", "site_pos", "site_size", "site_rgba", "light_pos", "dof_damping")
OF_MODEL += ("body_pos", "body_quat", "wrap_prm")
OF_DATA = ("geom_xpos", "site_xpos", "light_xpos", "xpos", "xquat", "qpos", "qvel", "sensordata")


def same_as_theirs(env, theirs):
    models, data = env.call("model"), env.call("data")
    for lane, one in enumerate(theirs):
        for name in OF_MODEL:
            np.testing.assert_array_equal(getattr(models[lane], name), getattr(one.physics.model, name), name)
        for name in OF_DATA:
            np.testing.assert_array_equal(getattr(data[lane], name), getattr(one.physics.data, name), name)


@pytest.mark.parametrize("env_id", TASKS)
def test_lanes_look_as_dm_controls_do(env_id):
    env, suite = batchenv.make(env_id, 3), dm_control.load()
    domain, task = env_id.removeprefix("dm_control/").removesuffix("-v0").split("-")
    theirs = [suite.load(domain, task, task_kwargs={"random": seed}) for seed in (20, 21, 22)]
    rng = np.random.default_rng(1)
    for seed in (20, None, None):
        env.reset(seed=seed)
        for one in theirs:
            one.reset()
        same_as_theirs(env, theirs)
        for actions in rng.uniform(-1, 1, (7, *env.action_space.shape)):
            env.step(actions)
            for one, action in zip(theirs, actions, strict=True):
                one.step(action)
        same_as_theirs(env, theirs)


@pytest.mark.parametrize("links", [3, 9, 15])
def test_swimmers_of_any_length(links):
    dm_control.load()
    from dm_control.suite import swimmer

    env = batchenv.make(SWIMMER, 1, n_links=links)
    theirs = swimmer.swimmer(links, random=5)
    observations, expected = env.reset(seed=5)[0], theirs.reset()
    for action in np.random.default_rng(0).uniform(-1, 1, (20, 1, links - 1)):
        assert all(observations[name][0].tobytes() == value.tobytes() for name, value in expected.observation.items())
        observations, rewards, *_ = env.step(action)
        expected = theirs.step(action[0])
        assert rewards[0] == expected.reward
    model, their_model = env.call("model")[0], theirs.physics.model.ptr
    assert_models_same(model, their_model)


@pytest.mark.parametrize(
    ("links", "error"), [(2, ValueError), (10**9, ValueError), (6.5, TypeError), (True, TypeError)]
)
def test_swimmers_of_impossible_lengths_are_refused(links, error):
    with pytest.raises(error, match="n_links"):
        batchenv.make(SWIMMER, 2, n_links=links)


def steps_of(env, actions):
    return [env.step(action) for action in actions]


def same_results(results, expected):
    for mine, other in zip(results, expected, strict=True):
        for name in other[0]:
            np.testing.assert_array_equal(mine[0][name], other[0][name], name)
        np.testing.assert_array_equal(mine[1], other[1])


def target_of(env):
    """What lanes show of their targets."""
    return [np.concatenate([getattr(model, name).ravel() for name in OF_MODEL]) for model in env.call("model")]


@pytest.mark.parametrize("env_id", MOVING)
@pytest.mark.parametrize("keep", ["snapshot", "pickle", "copy"])
def test_targets_are_kept(env_id, keep):
    env = begun(batchenv.make(env_id, 3), seed=4)
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (12, *env.action_space.shape))
    steps_of(env, actions[:6])
    kept, shown = env.state["target"], target_of(env)
    if keep == "snapshot":
        other = begun(batchenv.make(env_id, 3), seed=5)
        assert (other.state["target"] != kept).any(1).all()
        other.restore(env.snapshot())
    else:
        other = pickle.loads(pickle.dumps(env)) if keep == "pickle" else copy.deepcopy(env)
    np.testing.assert_array_equal(other.state["target"], kept)
    np.testing.assert_array_equal(target_of(other), shown)
    same_results(steps_of(other, actions[6:]), steps_of(env, actions[6:]))


@pytest.mark.parametrize("env_id", MOVING)
def test_a_lane_that_gets_another_ones_state_gets_its_target(env_id):
    env = begun(batchenv.make(env_id, 3), seed=4)
    before, shown = env.state["target"], target_of(env)
    env.restore(env.snapshot(lanes=2), lanes=0)
    np.testing.assert_array_equal(env.state["target"], before[[2, 1, 2]])
    np.testing.assert_array_equal(target_of(env), np.array(shown)[[2, 1, 2]])


@pytest.mark.parametrize("env_id", MOVING)
def test_targets_move_in_new_episodes_only(env_id):
    env = begun(batchenv.make(env_id, 3), seed=4)
    before = env.state["target"]
    steps_of(env, np.zeros((3, *env.action_space.shape)))
    np.testing.assert_array_equal(env.state["target"], before)
    env.reset(options={"reset_mask": np.array([False, True, False])})
    assert (env.state["target"] != before).any(1).tolist() == [False, True, False]


def test_a_target_can_be_put_elsewhere():
    env = begun(batchenv.make(REACHER, 2), seed=1)
    fingers = [data.geom("finger").xpos[:2].copy() for data in env.call("data")]
    observations = env.set_state({"target": np.array([[0.1, 0.2], fingers[1]])})
    np.testing.assert_array_equal(observations["to_target"], [[0.1, 0.2] - fingers[0], [0, 0]])
    shown = [model.geom("target").pos[:2].tolist() for model in env.call("model")]
    assert shown == [[0.1, 0.2], fingers[1].tolist()]
    assert env.call("data")[0].geom("target").xpos[:2].tolist() == [0.1, 0.2]


@pytest.mark.parametrize(("env_id", "keyword", "kind"), [
    (REACHER, "target_size", "geom"), ("dm_control/finger-turn_easy-v0", "target_radius", "site"),
])  # fmt: skip
def test_lanes_with_targets_of_different_sizes(env_id, keyword, kind):
    wanted = [0.01, 0.02, 9.0]
    env = begun(batchenv.make(env_id, 3, **{keyword: np.array(wanted)}), seed=3)
    shown = [getattr(model, kind)("target").size[0] for model in env.call("model")]
    assert shown == wanted
    assert env.step(np.zeros(env.action_space.shape))[1].tolist() == [0, 0, 1]


def test_models_that_are_given_out_are_copies():
    env = begun(batchenv.make(REACHER, 2), seed=0)
    first = env.call("model")
    assert first[0] is not first[1]
    first[0].geom("target").pos[:] = 7
    again = env.call("model")[0].geom("target").pos[:2]
    np.testing.assert_array_equal(again, env.state["target"][0])


def test_directions_of_controls_are_the_lanes_own(monkeypatch):
    """They act on the physics, are kept in snapshots, and can be set."""
    env = begun(batchenv.make(HARD, 8), seed=0)
    monkeypatch.setenv("BATCHENV_PHYSICS", "0")
    alone = begun(batchenv.make(HARD, 8), seed=0)
    kept, first = env.snapshot(), env.state["gains"]
    assert len(np.unique(first)) == first.size and np.allclose(np.linalg.norm(first.reshape(8, 2, 2), axis=2), 1)
    gains = np.random.default_rng(1).uniform(-2, 2, (8, 4))
    for one in (env, alone):
        one.set_state({"gains": gains})
    np.testing.assert_array_equal([model.wrap_prm for model in env.call("model")], gains)
    actions = np.random.default_rng(2).uniform(-1, 1, (20, *env.action_space.shape))
    results = steps_of(env, actions)
    same_results(results, steps_of(alone, actions))
    assert all("100% of" in text for text in env.get_attr("physics"))
    env.restore(kept)
    np.testing.assert_array_equal(env.state["gains"], first)
    assert (steps_of(env, actions)[-1][0]["position"] != results[-1][0]["position"]).all()


@pytest.mark.parametrize("change", [
    ('<fixed name="t1">', '<fixed name="t0"><joint joint="root_x" coef="1"/></fixed><fixed name="t1">'),
    ('<joint joint="root_y" coef="0"/>', ""),
])  # fmt: skip
def test_controls_that_move_something_else_are_refused(change):
    text = file_of("point_mass.xml").read_text()
    assert change[0] in text
    text = "\n".join(line for line in text.replace(*change, 1).splitlines() if "<include" not in line)
    for material in ("grid", "decoration", "self", "target"):
        text = text.replace(f'material="{material}"', "")
    with pytest.raises(ValueError, match="first tendons must be t1 and t2, which are fixed, with two joints each"):
        batchenv.make(HARD, 1, xml_file=text)


def test_fields_of_models_that_tasks_write_are_not_params():
    with pytest.raises((TypeError, ValueError), match="dof_damping"):
        batchenv.make(HARD, 1, dof_damping=np.zeros((1, 2)))


def test_lanes_keep_their_own_fields_in_what_is_shown():
    env = begun(batchenv.make(REACHER, 2), seed=0)
    damping = np.array([[0.01, 0.01], [0.5, 0.5]])
    env.set_params(dof_damping=damping)
    models = env.call("model")
    np.testing.assert_array_equal([model.dof_damping for model in models], damping)
    np.testing.assert_array_equal([model.geom("target").pos[:2] for model in models], env.state["target"])


def test_what_a_model_lacks_is_not_shown():
    text = file_of("swimmer.xml").read_text()
    lines = [line for line in text.splitlines() if "target_light" not in line and "<include" not in line]
    text = "\n".join(lines).replace(
        "</worldbody>", '<body name="float"><freejoint/><geom size=".1"/></body></worldbody>'
    )
    text = text.replace("</mujoco>", '<actuator><motor joint="rootz"/></actuator></mujoco>')
    for material in ("grid", "self", "effector", "eye", "target"):
        text = text.replace(f'material="{material}"', "")
    env = begun(batchenv.make(SWIMMER, 1, xml_file=text), seed=0)
    np.testing.assert_array_equal(env.call("model")[0].geom("target").pos[:2], env.state["target"][0])


def test_a_model_without_what_the_task_sets_is_refused():
    text = '<mujoco><worldbody><site name="target"/></worldbody></mujoco>'
    with pytest.raises(ValueError, match="xml_file: the model has no site 'tip'"):
        batchenv.make("dm_control/finger-spin-v0", 1, xml_file=text)


def test_a_model_with_too_few_positions_is_refused():
    text = """<mujoco><worldbody><geom name="target" size=".1"/><body name="head"><site name="eye"/>
      <joint name="a"/><geom name="nose" size=".1"/></body></worldbody><actuator><motor joint="a"/></actuator>
      <sensor><velocimeter name="head_vel" site="eye"/><gyro name="head_gyro" site="eye"/></sensor></mujoco>"""
    with pytest.raises(ValueError, match="the XML's model has 1 positions and 1 velocities, too few for this task"):
        batchenv.make(SWIMMER, 1, xml_file=text)


def test_a_model_with_too_many_positions_for_a_dict_is_refused():
    body = '<body><joint name="j{}" type="slide"/><geom size=".1"/></body>'
    bodies = "".join(body.format(k) for k in range(300)).replace("<geom", '<geom name="finger"', 1)
    text = f'<mujoco><worldbody>{bodies}</worldbody><actuator><motor joint="j0"/></actuator></mujoco>'
    with pytest.raises(ValueError, match=r"602 numbers; .* observation='flat'"):
        batchenv.make(REACHER, 1, xml_file=text)
    env = batchenv.make(REACHER, 1, xml_file=text, observation="flat")
    assert env.reset(seed=0)[0].shape == (1, 602)


@pytest.mark.skipif("MUJOCO_GL" not in os.environ, reason="pictures need OpenGL: set MUJOCO_GL to egl or osmesa")
@pytest.mark.parametrize("env_id", [REACHER, "dm_control/finger-turn_easy-v0", *ARMS])
def test_pictures_have_the_target(env_id):
    pytest.importorskip("imageio", reason="Gymnasium's MuJoCo environments import imageio")
    from gymnasium.envs.mujoco.mujoco_rendering import MujocoRenderer

    env = begun(batchenv.make(env_id, 2, render_mode="rgb_array", width=64, height=48, camera_id=0), seed=2)
    before = env.render()
    env.set_state({"target": env.state["target"] / 2})
    pictures = env.render()
    assert not any(np.array_equal(a, b) for a, b in zip(before, pictures, strict=True))
    drawer = MujocoRenderer(env.call("model")[1], env.call("data")[1], None, 64, 48, 1000, 0)
    np.testing.assert_array_equal(pictures[1], drawer.render("rgb_array"))
    drawer.close()
    env.close()
