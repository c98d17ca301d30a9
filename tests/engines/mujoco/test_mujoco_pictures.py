"""Pictures of MuJoCo's lanes equal Gymnasium's; where there is no screen or no graphics card, a message says so."""

import gc
import os

import numpy as np
import pytest

import batchenv
from batchenv.envs.mujoco.render import MuJoCoDrawer
from helpers.parity import Case
from helpers.processes import run_python

pytest.importorskip("mujoco", reason="pip install 'batchenv[mujoco]'")
pytest.importorskip("imageio", reason="Gymnasium's MuJoCo environments import imageio")


@pytest.mark.skipif("MUJOCO_GL" not in os.environ, reason="pictures need OpenGL: set MUJOCO_GL to egl or osmesa")
@pytest.mark.parametrize("env_id", ["Hopper-v5", "Reacher-v5", "Humanoid-v5"])
@pytest.mark.parametrize("mode", ["rgb_array", "depth_array", "rgbd_tuple"])
def test_pictures(env_id, mode):
    ours, theirs = Case(env_id, both={"render_mode": mode, "width": 64, "height": 48}).pair(2)
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


@pytest.mark.skipif(os.environ.get("DISPLAY") is not None, reason="there is a screen: a window would open")
def test_human_without_a_screen():
    code = (
        "import batchenv\n"
        "env = batchenv.make('Hopper-v5', 1, render_mode='human')\n"
        "try:\n    env.reset(seed=0)\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    told = run_python(code, WAYLAND_DISPLAY=None, MUJOCO_GL=None)
    assert told.startswith("DependencyNotInstalled") and "render_mode='human' needs a screen" in told


@pytest.mark.skipif("MUJOCO_GL" not in os.environ, reason="pictures need OpenGL: set MUJOCO_GL to egl or osmesa")
def test_cameras_follow_robots():
    pytest.importorskip("mujoco_playground", reason="pip install --no-deps playground")
    env = batchenv.make("Go1JoystickFlatTerrain-v0", 2, render_mode="rgb_array", width=64, height=48)
    env.reset(seed=0)
    env.render()
    for _ in range(30):
        env.step(np.ones((2, 12), np.float32))  # it falls over its legs
    env.render()
    (drawer,) = [one for one in gc.get_objects() if isinstance(one, MuJoCoDrawer) and one._follows]
    for lane, data in enumerate(env.call("data")):
        assert np.allclose(drawer._cameras[lane].lookat, data.body("trunk").xpos)
    env.close()


def test_environments_that_draw_in_turns():
    """Each drew with the OpenGL of the one that was made last: sizes and textures were another one's."""
    told = run_python("""
import os, warnings
os.environ.setdefault("MUJOCO_GL", "egl")
warnings.simplefilter("ignore")
import batchenv, gymnasium
try:
    large = batchenv.make("Hopper-v5", 1, render_mode="rgb_array", width=700, height=600)
    large.reset(seed=0)
    before = large.render()[0]
except (gymnasium.error.DependencyNotInstalled, ImportError, AttributeError):
    print("no OpenGL")
else:
    small = batchenv.make("Reacher-v5", 1, render_mode="rgb_array", width=32, height=32)
    small.reset(seed=0)
    other = small.render()[0]
    print((large.render()[0] == before).all(), (small.render()[0] == other).all())
""")
    if "no OpenGL" in told:
        pytest.skip("no OpenGL")
    assert told.split() == ["True", "True"]
