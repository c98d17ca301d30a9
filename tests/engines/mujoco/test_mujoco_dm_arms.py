"""DM Control's stacker and manipulator: what they have beyond other tasks with targets (test_mujoco_dm_targets.py)."""

import mujoco
import numpy as np
import pytest

import batchenv
from batchenv import _core
from batchenv.envs.mujoco import acting, physics, places
from batchenv.envs.mujoco.dm_control import suite as file_of
from helpers import dm_control
from helpers.begun import begun

pytest.importorskip("dm_control")

STACK, BALL, PEG = (
    f"dm_control/{task}-v0" for task in ("stacker-stack_2", "manipulator-bring_ball", "manipulator-bring_peg")
)
INSERT = "dm_control/manipulator-insert_ball-v0"
TASKS = [("stacker", "stack_2"), ("stacker", "stack_4")]
TASKS += [("manipulator", f"{what}_{thing}") for what in ("bring", "insert") for thing in ("ball", "peg")]


def bytes_of(model):
    """A model as mj_saveModel writes it, but for stages that batchenv leaves out where they have nothing to do."""
    model.opt.disableflags = 0
    saved = np.zeros(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, saved)
    return saved


@pytest.mark.parametrize(("domain", "task"), TASKS)
def test_models_are_dm_controls(domain, task):
    env = begun(batchenv.make(f"dm_control/{domain}-{task}-v0", 1), seed=8)
    theirs = dm_control.load().load(domain, task, task_kwargs={"random": 8})
    theirs.reset()
    np.testing.assert_array_equal(bytes_of(env.call("model")[0]), bytes_of(theirs.physics.model.ptr))


@pytest.mark.parametrize(("domain", "task"), TASKS)
def test_with_the_sensors_alone(domain, task):
    assert not list(dm_control.differences(domain, task, seed=3, steps=40, limit=15, fully_observable=False))


@pytest.mark.parametrize(("domain", "task"), TASKS)
def test_many_starts(domain, task):
    """Where an object is put follows from a draw, and everything is drawn again while things touch."""
    assert not list(dm_control.differences(domain, task, seed=100, lanes=40, steps=5, limit=2))


@pytest.mark.parametrize("env_id", [STACK, BALL, PEG])
def test_flat_observations(env_id):
    parts, _ = batchenv.make(env_id, 2).reset(seed=1)
    order = ["arm_pos", "arm_vel", "touch", "hand_pos"]
    order += ["box_pos", "box_vel"] if env_id == STACK else ["object_pos", "object_vel"]
    for names, sensors in (([*order, "target_pos"], True), (order[:3], False)):
        env = batchenv.make(env_id, 2, observation="flat", fully_observable=sensors)
        rows = np.concatenate([parts[name].reshape(2, -1) for name in names], axis=1)
        np.testing.assert_array_equal(env.reset(seed=1)[0], rows)


def test_fully_observable_is_a_bool():
    with pytest.raises(TypeError, match="fully_observable=1 must be a bool"):
        batchenv.make(STACK, 1, fully_observable=1)


@pytest.mark.parametrize("boxes", [1, 3])
def test_any_number_of_boxes(boxes):
    suite = dm_control.load()
    from dm_control.rl import control

    stacker = suite.stacker
    physics = stacker.Physics.from_xml_string(*stacker.make_model(boxes))
    theirs = control.Environment(physics, stacker.Stack(boxes, True, random=4), control_timestep=0.01)
    env = batchenv.make(STACK, 1, n_boxes=boxes)
    observations, expected = env.reset(seed=4)[0], theirs.reset()
    for action in np.random.default_rng(0).uniform(-1, 1, (20, 1, 5)):
        assert all(observations[name][0].tobytes() == value.tobytes() for name, value in expected.observation.items())
        observations, rewards, *_ = env.step(action)
        expected = theirs.step(action[0])
        assert rewards[0] == expected.reward


@pytest.mark.parametrize(("boxes", "error"), [(0, ValueError), (5, ValueError), (2.0, TypeError), (True, TypeError)])
def test_impossible_numbers_of_boxes_are_refused(boxes, error):
    with pytest.raises(error, match="n_boxes"):
        batchenv.make(STACK, 1, n_boxes=boxes)


def test_a_target_can_be_put_where_the_ball_is():
    env = batchenv.make(BALL, 2)
    place = env.reset(seed=0)[0]["object_pos"][:, :2].copy()
    observations = env.set_state({"target": place, "target_quat": np.array([[3.0, 4.0], [0, 0]])})
    np.testing.assert_array_equal(observations["target_pos"][:, :2], place)
    np.testing.assert_allclose(observations["target_pos"][:, 2:], [[0.6, 0.8], [1, 0]], rtol=1e-15)
    shown = [data.body("target_ball").xquat[[0, 2]] for data in env.call("data")]
    np.testing.assert_array_equal(observations["target_pos"][:, 2:], shown)  # MuJoCo makes the same of it


@pytest.mark.parametrize("isa", _core.supported_isas())
def test_a_receptacle_can_be_put_elsewhere(isa, monkeypatch):
    """It acts on the physics: balls fall into it where it is, and lanes that go together see their own ones."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    ours = batchenv.make(INSERT, 10, on_unstable="ignore")
    monkeypatch.setenv("BATCHENV_PHYSICS", "0")
    alone = batchenv.make(INSERT, 10, on_unstable="ignore")
    assert "together" in ours.get_attr("physics")[0] and "alone" in alone.get_attr("physics")[0]
    rng = np.random.default_rng(0)
    for env in (ours, alone):
        env.reset(seed=7)
    for _ in range(3):
        balls = np.column_stack([data.body("ball").xpos for data in ours.call("data")])[[0, 2]].T
        target, quat = balls - [0, 0.04], rng.uniform(-1, 1, (10, 2))
        quat[:2] = [[3, 4], [0, 0]]  # MuJoCo normalizes what it can
        target[2:6] = [[np.nan, 0.1], [1e200, 0.1], [np.inf, 0.1], [0.1, -1e9]]
        for env in (ours, alone):
            env.set_state({"target": target, "target_quat": quat})
        for actions in rng.uniform(-1, 1, (8, *ours.action_space.shape)):
            mine, theirs = ours.step(actions), alone.step(actions)
            for name, values in theirs[0].items():
                np.testing.assert_array_equal(mine[0][name], values, name)
            np.testing.assert_array_equal(mine[1], theirs[1])
    together = [float(text.split(": ")[1].split("%")[0]) for text in ours.get_attr("physics")]
    assert min(together[6:]) > 0 and max(together[2:5]) == 0


def test_fields_of_which_groups_know_nothing_are_told():
    """Lanes that act on them are then stepped alone."""
    model = batchenv.make(INSERT, 1).call("model")[0]
    plan = physics.Plan(mujoco, model)
    for array, known in (("body_pos", True), ("cam_pos", False), ("dof_frictionloss", False)):
        row = acting.Acting(0, places.Place("any", array, 0, [0]))
        why, pairs, _ = acting.numbers(plan, [row], lambda changed: physics.Plan(mujoco, changed, plan))
        assert bool(why) != known and len(pairs) == known


def own_model(name, **changes):
    """The file's text, self-contained, with another target."""
    text = file_of(f"{name}.xml").read_text().replace("</visual>>", "</visual>")
    lines = [line for line in text.splitlines() if "<include" not in line and "<material" not in line]
    text = "\n".join(lines)
    for material in ("background", "site", "self", "effector", "decoration", "target", "grid"):
        text = text.replace(f'material="{material}"', "")
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    return text


def test_a_model_of_ones_own():
    env = begun(batchenv.make(STACK, 2, xml_file=own_model("stacker")), seed=0)
    assert env.single_observation_space["box_pos"].shape == (4, 4)  # as many as the model has


TARGET = '<body name="target" pos="0 .001 .022" childclass="ghost">'


@pytest.mark.parametrize(
    "change",
    [
        ('contype="0" conaffinity="0"/>\n    </default>\n  </default>', "/>\n    </default>\n  </default>"),
        (TARGET, TARGET + '<joint type="slide"/>'),
        (TARGET, TARGET + '<body><geom size=".01" type="sphere"/></body>'),
        (TARGET, TARGET.replace("pos", 'mocap="true" pos')),
        (TARGET, TARGET.replace("pos", 'euler="10 0 0" pos')),
    ],
    ids=["touches", "joint", "body", "mocap", "turned"],
)
def test_targets_that_are_no_marks_are_refused(change):
    with pytest.raises(ValueError, match="xml_file: the task moves body 'target', which must be no more than a mark"):
        batchenv.make(STACK, 1, xml_file=own_model("stacker", change=change))


def test_a_box_that_lacks_a_joint_is_no_box():
    text = own_model("stacker", change=('name="box3_y"', 'name="other"'))
    env = batchenv.make(STACK, 1, xml_file=text)
    assert env.single_observation_space["box_pos"].shape == (3, 4)


def test_a_model_without_the_receptacle_is_refused():
    text = own_model("manipulator", cup=('name="cup"', 'name="mug"'))
    with pytest.raises(ValueError, match="xml_file: the model has no body 'cup'"):
        batchenv.make(INSERT, 1, xml_file=text)


def test_a_model_without_the_target_is_refused():
    with pytest.raises(ValueError, match="xml_file: the model has no body 'target_peg'"):
        batchenv.make(PEG, 1, xml_file=own_model("stacker"))
