"""Pictures that a user's C file draws."""

import pickle
import shutil

import gymnasium
import numpy as np
import pytest

import batchenv
from helpers.begun import begun
from helpers.own_env import edit
from helpers.project import ROOT

FIELD, WALKER, TREASURE = (235, 235, 225), (40, 90, 200), (220, 170, 30)


@pytest.fixture
def treasure(tmp_path):
    """An id of the tutorial's file."""
    path = shutil.copy(ROOT / "examples/own_env/treasure.c", tmp_path)
    return batchenv.compile(path, namespace=f"drawn{abs(hash(tmp_path))}").ids[0]


def drawn(state, lane):
    """The picture of a lane, from what it holds."""
    cells = np.full((7, 7, 3), FIELD, np.uint8)
    cells[state["goal_row"][lane], state["goal_column"][lane]] = TREASURE
    cells[state["row"][lane], state["column"][lane]] = WALKER
    return cells.repeat(16, axis=0).repeat(16, axis=1)


def test_lanes_are_drawn_as_they_are(treasure):
    env = batchenv.make(treasure, 5, render_mode="rgb_array")
    assert env.metadata["render_modes"] == ["rgb_array"] and env.metadata["render_fps"] == 5
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.render()
    env.reset(seed=3)
    before = env.render()
    env.step([0, 1, 2, 3, 0])
    for copied in (env, pickle.loads(pickle.dumps(env))):
        frames, state = copied.render(), copied.state
        assert len(frames) == 5 and frames[0].dtype == np.uint8
        for lane in range(5):
            np.testing.assert_array_equal(frames[lane], drawn(state, lane))
    assert not all(np.array_equal(*pair) for pair in zip(before, frames, strict=True))
    np.testing.assert_array_equal(env.render([4, 1])[1], frames[1])
    np.testing.assert_array_equal(env.call("render")[2], frames[2])


def test_gymnasium_takes_the_pictures(treasure, tmp_path):
    pytest.importorskip("moviepy", reason="needs moviepy: pip install moviepy")
    name = batchenv.spec(treasure).id
    one = begun(gymnasium.make(name, render_mode="rgb_array"), seed=3)
    vector = begun(gymnasium.make_vec(name, num_envs=3, render_mode="rgb_array"), seed=3)
    np.testing.assert_array_equal(one.render(), vector.render()[0])
    record = gymnasium.wrappers.vector.RecordVideo
    recorded = record(vector, str(tmp_path / "videos"), step_trigger=lambda step: step == 0)
    recorded.reset(seed=3)
    for _ in range(4):
        recorded.step(np.zeros(3, int))
    recorded.close()
    assert list((tmp_path / "videos").glob("*.mp4"))


@pytest.mark.parametrize("mode", ["human", "ansi", "depth_array", 3])
def test_other_modes_are_refused(treasure, mode):
    with pytest.raises(ValueError, match=r"render_mode=.* must be None or one of 'rgb_array'"):
        batchenv.make(treasure, 1, render_mode=mode)


PICTURE = """static void picture(const be_batch *batch, int64_t lane, int *rows, int *columns, uint8_t *rgb) {
    (void)batch, (void)lane, (void)rgb, (void)rows, (void)columns;
    %s
}

/* 4."""


@pytest.mark.parametrize(
    ("body", "match"),
    [
        ("", "0 rows and 0 columns of pixels, but each must be from 1 to 16384"),
        ("*rows = -3, *columns = 9;", "-3 rows and 9 columns"),
        ("*rows = 9, *columns = 1 << 30;", "9 rows and 1073741824 columns"),
        ("*rows = 9; *columns = rgb ? 7 : 8;", "9 x 8 pixels where rgb is NULL, and 9 x 7 where it draws them"),
    ],
)
def test_sizes_that_cannot_be_are_told(walk, body, match):
    edit(walk, "/* 4.", PICTURE % body)
    edit(walk, ".step = step,", ".step = step, .picture = picture,")
    env = batchenv.make(batchenv.compile(walk, cflags="-O0").ids[0], 2, render_mode="rgb_array")
    assert env.metadata["render_fps"] == 30
    env.reset(seed=0)
    with pytest.raises(ValueError, match=rf"type Walk\w+: picture\(\) says that lane 1 (has )?.*{match}"):
        env.render(1)


def test_a_file_without_pictures_has_no_modes(walk):
    (name,) = batchenv.compile(walk, cflags="-O0").ids
    assert batchenv.make(name).metadata["render_modes"] == []
    with pytest.raises(ValueError, match=r"render_mode='rgb_array' of Walk\w+-v0 must be None$"):
        batchenv.make(name, render_mode="rgb_array")
