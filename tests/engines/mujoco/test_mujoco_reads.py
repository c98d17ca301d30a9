"""What tasks read of a model, by names (batchenv/envs/mujoco/reads.py)."""

import mujoco
import numpy as np
import pytest

import helpers.mujoco  # noqa: F401 skips this file where MuJoCo is not installed
from batchenv import _core
from batchenv.envs.mujoco import reads

MODEL = """<mujoco><worldbody>
<body name="trunk" pos="0 0 1"><freejoint name="root"/><geom name="box" size=".1"/><site name="imu"/>
<body name="left_leg"><joint name="left" axis="0 1 0"/><geom name="left_foot" size=".1"/></body>
<body name="right_leg"><joint name="right" type="ball"/><geom name="right_foot" size=".1"/></body></body></worldbody>
<actuator><motor name="m" joint="left"/></actuator>
<sensor><jointpos joint="left"/><gyro name="gyro" site="imu"/></sensor></mujoco>"""

CASES = [
    (("qpos", None, None), 12, [0]),
    (("xpos", "body", "trunk"), 3, [3]),
    (("xpos", "body", "@base"), 3, [6]),
    (("xpos", "body", "@number"), 3, [9]),
    (("geom_xpos", "geom", ".*_foot"), 3, [3, 6]),
    (("site_xmat", "site", "imu"), 9, [0]),
    (("sensordata", "sensor", "gyro"), 3, [1]),
    (("qpos", "joint", "right"), 4, [8]),
    (("qvel", "joint", "left|right"), 1, [6, 7]),
    (("ctrl", "actuator", "m"), 1, [0]),
    (("model.body_mass", "body", ".*_leg"), 1, [2, 3]),
]


def resolve(*rows):
    model = mujoco.MjModel.from_xml_string(MODEL)
    return reads.resolve(mujoco, model, rows, {"base": "left_leg", "number": 3, "wrong": 9, "none": 1.5})


@pytest.mark.parametrize("row,size,first", CASES)
def test_what_rows_mean(row, size, first):
    (found,) = resolve(row)
    assert found.array == row[0]
    assert (found.size, found.first.tolist()) == (size, first)
    assert found.first.dtype == np.int64


@pytest.mark.parametrize(
    "row,words",
    [
        (("xpoz", None, None), "'xpoz', which is no array of floats whose size stays the same.*xpos"),
        (("contact", None, None), "no array of floats"),
        (("efc_force", None, None), "no array of floats whose size stays the same"),
        (("__class__", None, None), "no array of floats"),
        (("model.body_parentid", None, None), "no array of floats"),
        (("xpos", "body", "(trunk"), r"'\(trunk' is neither a body of the model nor a regular expression: missing"),
        (("xpos", "body", "@bass"), "what a keyword 'bass' names.*base"),
        (("xpos", "boddy", "trunk"), "of a 'boddy'.*body"),
        (("xpos", "body", "trnk"), "xml_file: the model has no body 'trnk'.*trunk"),
        (("xpos", "body", "@wrong"), "wrong=9 must be at most 3"),
        (("xpos", "geom", "box"), "xpos has 4 rows for 3"),
    ],
)
def test_rows_that_mean_nothing(row, words):
    with pytest.raises(ValueError, match=words):
        resolve(row)


def test_a_keyword_of_the_wrong_type():
    with pytest.raises(TypeError, match=r"none=1\.5"):
        resolve(("xpos", "body", "@none"))


def test_the_table_of_a_type():
    """As C has it."""
    assert _core.type_info("Reacher")["reads"] == [("xpos", "body", "fingertip"), ("xpos", "body", "target")]
    assert _core.type_info("HumanoidV4")["reads"][:2] == [("cinert", None, None), ("cvel", None, None)]
    assert _core.type_info("CartPole")["reads"] is None
