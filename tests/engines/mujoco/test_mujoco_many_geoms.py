"""Robots among many geoms: groups look only at pairs that are near each other, and miss none that MuJoCo finds."""

import numpy as np
import pytest

import batchenv
from batchenv import _core
from batchenv.envs.mujoco import broad, features, physics
from helpers.mujoco import mujoco
from helpers.random_models import Model
from helpers.together import LANES, MOTOR, TOP, Both, always_alone, assert_like_mj_step, how, solved_by_mujoco, xml

pytestmark = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")
OBSERVED = ["qpos", "qvel", "cfrc_ext", "qfrc_constraint"]
SHANK = '<joint name="b" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .2 0 -.1" size=".03"/>'
ROBOT = (
    '<body pos="{} .35"><freejoint/><geom type="box" size=".15 .1 .05"/><geom size=".06" pos="-.15 0 -.1"/>'
    f'<body pos=".15 0 0">{SHANK}<geom size=".04" pos=".2 0 -.1" margin=".01"/></body></body>'
)


def terrain(count):
    rng, side = np.random.default_rng(4), int(np.sqrt(count))
    tiles = ""
    for k in range(count):
        x, y = 0.3 * (k % side - side / 2), 0.3 * (k // side - side / 2)
        kind, turn = rng.choice(["box", "box", "sphere", "capsule"]), rng.uniform(-20, 20)
        tile = f'<geom type="{kind}" size=".14 .1 .{k % 7 + 3}" euler="{turn:.3} 0 {turn:.3}"'
        place = f'pos="{x} {y} -.2"'
        tiles += f"{tile} {place}/>" if k % 4 else f"<body {place}>{tile}/></body>"
    return tiles


def plan(env):
    """Sizes of the plan by which the env's lanes are stepped."""
    sizes = physics.Plan(mujoco, env.get_attr("model")[0]).sizes
    return dict(zip(_core.PHYSICS_SIZES, sizes, strict=True))


@pytest.mark.parametrize("isa", _core.supported_isas())
@pytest.mark.parametrize("own", ["", "geom_friction", "body_pos", "geom_size"])
def test_robot_on_terrain(own, isa, monkeypatch):
    """Lanes may have models of their own, in which what never moves is elsewhere, too."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    made = []

    def make():
        text = xml(terrain(64) + ROBOT.format("0 0"))
        env = batchenv.make_mujoco(
            text, 9, frame_skip=3, num_threads=1, observation=OBSERVED, qpos_noise=0.3, max_episode_steps=50
        )
        made.append(env)
        return env

    def change(env):
        values = np.repeat(getattr(env.get_attr("model")[0], own)[None], 9, 0)
        values[1::2] *= np.random.default_rng(2).uniform(0.9, 1, values[1::2].shape)
        env.set_params(**{own: values})

    assert_like_mj_step(monkeypatch, make, 120, change=change if own else None)
    assert all(told.startswith("together") for told in how(made[0]))
    sizes = plan(made[0])
    assert sizes["num_blocks"] > 4 and sizes["num_pairs"] > 4 * sizes["num_always"]


def alongside(shapes=4):
    """A ball, and static boxes at which it can be from all sides."""
    boxes = "".join(f'<geom type="box" size=".2 .3 .4" pos="{3 * k} 1 0" margin=".02"/>' for k in range(shapes * 8))
    ball = (
        '<body><freejoint/><geom size=".1" margin=".03"/><body pos="0 0 50"><joint name="b"/><geom size=".1"/></body>'
    )
    top = '<mujoco><option gravity="0 0 0"/><worldbody>'
    return mujoco.MjModel.from_xml_string(xml(boxes + ball + "</body>", top=top))


def missed(model, deltas):
    """At which distances from touching, and from which sides, a ball that flies along a box is not as by mj_step."""
    both, data = Both(model), mujoco.MjData(model)
    wrong = []
    for delta in deltas:
        for side in range(6):
            direction = np.eye(3)[side // 2] * (-1 if side % 2 else 1)
            data.qpos[:3] = [9, 1, 0] + direction * (model.geom_size[0, side // 2] + 0.1 + 0.05 + delta)
            data.qvel[:3] = 0.1 - direction
            mujoco.mj_getState(model, data, both.lanes.records[0, : both.lanes.state_size], both.lanes.signature)
            both.lanes.records[:] = both.lanes.records[0]
            differs, _ = both.lanes.source.compare(np.zeros((LANES, 1), np.float32), 1)
            if (differs != -1).any():
                wrong.append((delta, side))
    return wrong


@pytest.mark.parametrize("isa", _core.supported_isas())
def test_no_pair_is_missed_that_barely_touches(isa, monkeypatch):
    monkeypatch.setenv("BATCHENV_ISA", isa)
    steps = [0, *(sign * 10.0**-k for k in range(2, 17) for sign in (-1, 1))]
    assert not missed(alongside(), steps)  # at 0, MuJoCo overlooks the contact on one side, because it rounds its boxes


def test_boxes_that_are_too_small_miss_pairs(monkeypatch):
    """So those above have been looked at because of their boxes, which are 0.01 mm too small here."""
    reach = broad.reach
    monkeypatch.setattr(broad, "reach", lambda *args: reach(*args) - 1e-5)
    assert len(missed(alongside(), [-1e-6])) == 6


def test_axes_that_are_not_1_long(monkeypatch):
    """MuJoCo turns shapes by such axes, which makes them larger or smaller: these are looked at everywhere."""
    model = alongside()
    model.geom_quat[3] *= 0.8
    found, _ = features.pairs(mujoco, model)
    assert np.flatnonzero(np.isinf(broad.reach(model, found, np.zeros(len(found))))).tolist() == [3]
    assert not missed(model, [-0.1, -0.01, -1e-5, 0, 1e-5, 0.01, 0.1, 0.3])


def test_mocap_bodies_that_are_nowhere():
    """MuJoCo finds contacts of a geom of whose place one number is NaN, wherever the other two are."""
    moved = '<body mocap="true" pos="0 9 9"><geom type="capsule" size=".1 .1"/></body>'
    both = Both(mujoco.MjModel.from_xml_string(xml(terrain(36) + moved + ROBOT.format("0 0"))))
    data, lanes = mujoco.MjData(both.lanes.model), both.lanes
    for number in (np.nan, np.inf, 1e200, 0):
        for axis in range(3):
            data.mocap_pos[0] = np.where(np.arange(3) == axis, number, 9)
            mujoco.mj_getState(lanes.model, data, lanes.records[0, : lanes.state_size], lanes.signature)
            lanes.records[:] = lanes.records[0]
            differs, unstable = lanes.source.compare(np.zeros((LANES, 1), np.float32), 2)
            assert (differs == (-2 if number else -1)).all() and unstable.all() == np.isnan(number)


def test_every_pair_is_in_one_list():
    some = 0
    for seed in range(40):
        try:
            model = mujoco.MjModel.from_xml_string(Model(seed).text)
        except ValueError:  # a body without mass, and the like
            continue
        found, _ = features.pairs(mujoco, model)
        lists = broad.lists(mujoco, model, found)
        again = np.concatenate([lists[f"{name}_pairs"] for name in ("always", "cell", "meeting")])
        assert np.array_equal(np.sort(again), np.arange(len(found)))
        some += lists["num_blocks"] > 1 and lists["num_meetings"] > 0
    assert some > 3


def test_more_contacts_than_there_is_room_for(monkeypatch):
    """MuJoCo solves the constraints of such lanes."""
    monkeypatch.setattr(physics, "_MOST_LOOKED", 6)
    both = Both(mujoco.MjModel.from_xml_string(xml(terrain(36) + ROBOT.format("0 0"))))
    differs, compared, _ = both.compare(np.random.default_rng(1), [5] * 30)
    assert not differs and compared > 100 and solved_by_mujoco(both) > 20


def test_thousands_of_pairs(monkeypatch):
    """They were too many before pairs far from each other were left out."""
    robots = ROBOT.format("0 0")
    both = Both(mujoco.MjModel.from_xml_string(xml(terrain(1600) + robots, motor=MOTOR, top=TOP)))
    assert not physics.reasons(mujoco, both.lanes.model)
    assert both.lanes.plan.sizes[_core.PHYSICS_SIZES.index("num_pairs")] > 6000
    differs, compared, _ = both.compare(np.random.default_rng(1), [5] * 10)
    assert not differs and compared > 60
