"""Tasks in NumPy that are refused when an env is made, and what is said about them."""

import contextlib
import copy
import warnings

import gymnasium
import numpy as np
import pytest

import batchenv
from helpers.mujoco import mujoco
from helpers.robots import LANES, ROBOT, Stand, changed, make


@pytest.mark.parametrize(
    "members,words",
    [
        ({"observe": lambda self, lanes: lanes.body("trnk").xpos}, "the model has no body 'trnk'.*trunk"),
        ({"observe": lambda self, lanes: lanes.body(".*_calf").xpos}, r"lanes\.bodies\('\.\*_calf'\) are those whose"),
        ({"observe": lambda self, lanes: lanes.tendon("t").length}, "the model has no tendon 't'; it has: none"),
        ({"observe": lambda self, lanes: lanes.sensor("gyr")}, "the model has no sensor 'gyr'.*gyro"),
        ({"observe": lambda self, lanes: lanes.geoms("fot").xpos[:, 0]}, ": the model has no geom 'fot'"),
        (
            {"observe": lambda self, lanes: lanes.geoms("(").xpos[:, 0]},
            r": '\(' is neither a geom of the model nor a reg",
        ),
        (
            {"observe": lambda self, lanes: {"a/b": lanes.qpos}},
            "the key 'a/b' of a dict of arrays must be a string without",
        ),
        ({"observe": lambda self, lanes: {3: lanes.qpos}}, "the key 3 of a dict of arrays must be a string"),
        ({"observe": lambda self, lanes: lanes.qpo}, "lanes have no array 'qpo'.*qpos"),
        ({"observe": lambda self, lanes: lanes.nothing_like_it}, "of the task's state and params last_action, "),
        ({"observe": lambda self, lanes: lanes.model}, r"the task has self\.model"),
        ({"observe": lambda self, lanes: lanes.body_mass}, r"fields of mjModel are in self\.model"),
        ({"observe": lambda self, lanes: None}, r"observe\(\) is nothing: does the function lack a `return`"),
        ({"terminated": lambda self, lanes: {}}, r"terminated\(\) returns is dict, but must be numbers or bools"),
        (
            {"update": lambda self, lanes, actions: lanes.qpos.fill(0)},
            r"read-only\. The function may write",
        ),
        (
            {"update": lambda self, lanes, actions: lanes.uniform(0, 1, (2, 3))},
            r"size=\(2, 3\) .*not count the lanes",
        ),
        ({"params": {"geom_friction": 1.0}}, "'geom_friction', but lanes.geom_friction is something else"),
        ({"observe": lambda self, lanes: lanes.qpos[0]}, r"observe\(\) is of shape \(19,\), but must be of shape \(2,"),
        ({"observe": lambda self, lanes: np.array([["a"]] * 2)}, "is of dtype <U1"),
        ({"start": lambda self, lanes: lanes.integers(3, 3)}, r"integers\(3, 3\): the second must be larger"),
        ({"observe": lambda self, lanes: {}}, r"observe\(\) returns a dict without observations"),
        ({"info": lambda self, lanes: lanes.qpos}, r"info\(\) returns .* but must return a dict"),
        ({"info": lambda self, lanes: {"env_id": np.zeros(2)}}, "'env_id', which is the name of something else"),
        ({"info": lambda self, lanes: {"unstable": np.zeros(2)}}, "'unstable', which is the name of something else"),
        ({"reward": lambda self, lanes, actions: {}}, r"reward\(\) returns a dict without terms"),
        (
            {"reward": lambda self, lanes, actions: {"a": {"b": np.zeros(2)}}},
            r"the term 'a' of reward\(\) is dict, but must be",
        ),
        ({"reward": lambda self, lanes, actions: np.zeros(2, complex)}, r"reward\(\) returns is of dtype complex128"),
        ({"terminated": lambda self, lanes: ["no", "no"]}, r"terminated\(\) returns is of dtype <U2"),
        ({"reward": lambda self, lanes, actions: np.zeros((2, 1))}, r"reward\(\) returns is of shape \(2, 1\)"),
        ({"terminated": lambda self, lanes: True}, r"terminated\(\) returns is of shape \(\)"),
        ({"control": lambda self, lanes, actions: actions[:, :3]}, r"control\(\) returns is of shape \(2, 3\)"),
        ({"update": lambda self, lanes, actions: 1 / 0}, r"Changed\.update\(\) has raised ZeroDivisionError"),
        ({"reward": lambda self, lanes, actions: lanes.qpos.fill(0)}, "read-only"),
        ({"observe": lambda self, lanes: setattr(lanes, "qpos", 0)}, r"lanes\.qpos cannot be written here; .*last_act"),
        ({"params": {"qpos": 1.0}}, "'qpos', but lanes.qpos is something else"),
        ({"params": {"seed": 1.0}}, "params names 'seed', which is a keyword of every such env"),
        ({"params": {"width": 1.0}}, "params names 'width', which is a keyword of every such env"),
        ({"params": {"elapsed_steps": 1.0}}, "'elapsed_steps', but lanes.elapsed_steps is something else"),
        ({"update": lambda self, lanes, actions: copy.copy(lanes)}, r"update\(\) has raised AttributeError"),
        ({"params": {"a b": 1.0}}, "'a b', which is no name that an attribute"),
        ({"frame_skip": 0}, r"Changed\.frame_skip=0"),
        ({"observe": lambda self, lanes: lanes.numbers.fill(0)}, "read-only"),
        ({"params": {"speed": "fast"}}, r"params\['speed'\]='fast' must be a finite number"),
        ({"prepare": lambda self: setattr(self, "state", {"a": np.zeros((2, 2))})}, r"state\['a'\] is of .*\(2, 2\)"),
        ({"action_space": gymnasium.spaces.Discrete(3)}, "must be a Box"),
        ({"observation_space": gymnasium.spaces.Box(-1, 1, (3,))}, "but its space is Box"),
        (
            {
                "observation_space": gymnasium.spaces.Dict(
                    {name: gymnasium.spaces.Box(-9, 9, (19,), np.float64) for name in "ab"}
                ),
                "observe": lambda self, lanes: {"a": lanes.qpos},
            },
            r"observe\(\) returns no 'b', which is in observation_space",
        ),
        (
            {"observation_space": gymnasium.spaces.Dict({"a": gymnasium.spaces.Box(-9, 9, (19,), np.float64)})},
            r"observe\(\) returns no 'a'",
        ),
        (
            {
                "observation_space": gymnasium.spaces.Dict({"a": gymnasium.spaces.Box(-9, 9, (19,), np.float64)}),
                "observe": lambda self, lanes: {"a": lanes.qpos, "b": lanes.qvel},
            },
            r"observe\(\)\['b'\] has no part in observation_space, which has \['a'\]",
        ),
        (
            {"info": lambda self, lanes: {"least_height": np.zeros(2)}},
            "'least_height', which is the name of something else",
        ),
    ],
)
def test_tasks_that_are_refused(members, words):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=words):
        make(changed(**members))


def test_what_is_no_task():
    with pytest.raises(TypeError, match=r"must be a class derived from batchenv\.MuJoCoTask"):
        make(5)
    with pytest.raises(TypeError, match=r"which is no batchenv\.MuJoCoTask"):
        make(dict)
    with pytest.raises(ValueError, match="no actuators"):
        batchenv.make_mujoco("<mujoco><worldbody/></mujoco>", task=Stand)


@pytest.mark.parametrize(
    ("first", "value", "message"),
    [
        (0, 0.5, r"lanes\.own is of dtype int64, which cannot hold float64: let the state begin with 0\.0"),
        (False, np.ones(2), "of dtype bool, which cannot hold float64"),
        (False, 2, "of dtype bool, which cannot hold int64: let the state begin with 0,"),
    ],
)
def test_states_that_would_lose_what_is_written(first, value, message):
    class Own(Stand):
        def prepare(self):
            super().prepare()
            self.state["own"] = first

        def update(self, lanes, actions):
            lanes.own = value

    with pytest.raises(RuntimeError, match=message):
        make(Own)


def test_things_of_different_sizes():
    """Their numbers are no array; it was once filled with those of their neighbours."""
    spec = mujoco.MjSpec.from_file(str(ROBOT))
    spec.add_sensor(name="a_clock", type=mujoco.mjtSensor.mjSENS_CLOCK)
    spec.add_sensor(name="a_gyro", type=mujoco.mjtSensor.mjSENS_GYRO, objtype=mujoco.mjtObj.mjOBJ_SITE, objname="imu")
    task = type("Odd", (Stand,), {"observe": lambda self, lanes: lanes.sensors("a_.*")[:, 0]})
    message = (
        "what matches 'a_.*' differs in size.*: of sensordata, a_clock has 1, a_gyro has 3. Name those of one size"
    )
    with pytest.raises(RuntimeError, match=message):
        batchenv.make_mujoco(spec, 2, task=task)


def test_things_without_names():
    spec = mujoco.MjSpec.from_file(str(ROBOT))
    for sensor in spec.sensors:
        sensor.name = ""
    with pytest.raises(
        RuntimeError, match=r"no sensor 'gyro': its 2 have no names, which name=\.\.\. in the XML gives"
    ):
        batchenv.make_mujoco(spec, 2, task=Stand)


def test_keywords_that_are_misspelt():
    """Such a task has no id, of which a command could list keywords."""
    with pytest.raises(TypeError, match=r"Stand has no parameter 'effort_weigth': did you mean effort_weight\? help\("):
        make(effort_weigth=1.0)


def test_functions_that_are_misspelt():
    """A task without rewards would learn nothing, and say nothing."""
    with pytest.warns(UserWarning, match=r"Odd\.rewards\(\) is not called by the env: did you mean reward\(\)\?"):
        make(type("Odd", (batchenv.MuJoCoTask,), {"rewards": lambda self, lanes, actions: 0}))
    with pytest.warns(UserWarning, match=r"Odd\.reset\(\) is not called by the env: did you mean start\(\)\?"):
        make(type("Odd", (batchenv.MuJoCoTask,), {"reset": lambda self, lanes: 0}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(type("Fine", (Stand,), {"starts": lambda self: 0, "rewards_of": lambda self: 0}))


def test_steps_of_mujoco_as_the_user_says():
    class Counts(Stand):
        def info(self, lanes):
            return {"skip": np.full(len(lanes), lanes.frame_skip), "seconds": np.full(len(lanes), lanes.dt)}

    env = make(Counts, frame_skip=2)
    env.reset(seed=0)
    infos = env.step(np.zeros((LANES, 12), np.float32))[4]
    assert (infos["skip"] == 2).all() and (infos["seconds"] == 2 * 0.004).all()


def test_nothing_is_printed_of_numbers_that_are_not_finite(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    with contextlib.suppress(Exception):
        make(type("Bad", (Stand,), {"control": lambda self, lanes, actions: np.full((len(lanes), 12), np.nan)}))
    assert not list(tmp_path.iterdir()) and "WARNING" not in "".join(capfd.readouterr())
