"""DM Control's tasks with pictures as observations. Each test is a process of its own, since the first use of OpenGL
decides about all others of a process."""

import functools
import sys
from pathlib import Path

import pytest

from helpers.processes import python, run_python

pytest.importorskip("dm_control")

TESTS = str(Path(__file__).resolve().parents[2])
HEAD = f"""
import sys, warnings
sys.path.insert(0, {TESTS!r})
warnings.simplefilter("ignore")
import numpy as np, batchenv
def make(task="cheetah-run", lanes=2, **keywords):
    return batchenv.make(f"dm_control/{{task}}-v0", lanes, observation="pixels", width=32, height=24, **keywords)
"""


@functools.cache
def obstacle():
    """Why there is no OpenGL here, or ""."""
    done = python("-c", HEAD + "make().close()", MUJOCO_GL="egl")
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def drawn(code, **variables):
    """Runs code that draws, and returns what it prints."""
    if obstacle():
        pytest.skip(obstacle())
    return run_python(HEAD + code, **{"MUJOCO_GL": "egl", **variables})


TASKS = [
    ("cheetah", "run"),  # as it is
    ("fish", "swim"),  # with a target
    ("manipulator", "insert_peg"),  # with things that are moved
    ("point_mass", "hard"),
    ("quadruped", "escape"),  # with a ground that differs from lane to lane
    ("ball_in_cup", "catch"),  # with a spatial tendon
]


@pytest.mark.parametrize(("domain", "task"), TASKS)
def test_pictures_are_dm_controls(domain, task):
    found = drawn(f"""
from helpers import dm_control
print(list(dm_control.picture_differences({domain!r}, {task!r}, seed=3)))
if {domain!r} == "cheetah":
    print(list(dm_control.picture_differences("cheetah", "run", camera=1, size=(40, 60), steps=2)))
    print(list(dm_control.picture_differences("cheetah", "run", camera=-1, size=(40, 60), steps=2)))
""")
    assert set(found.split("\n")) == {"[]", ""}


def test_pictures_do_not_depend_on_how_lanes_are_stepped():
    drawn("""
actions = np.random.default_rng(0).uniform(-1, 1, (5, 6, 6))
def play(env):
    pictures = [env.reset(seed=2)[0].copy()]
    return pictures + [env.step(action)[0].copy() for action in actions]
expected = play(make(lanes=6, num_threads=1, max_episode_steps=3))
for threads in (2, 5):
    for a, b in zip(play(make(lanes=6, num_threads=threads, max_episode_steps=3)), expected):
        np.testing.assert_array_equal(a, b)
env = make(lanes=6, num_threads=2, batch_size=3, max_episode_steps=3)
env.async_reset(seed=2)
step = np.zeros(6, int)
for _ in range(8):
    pictures, *_, infos = env.recv()
    for lane, picture in zip(infos["env_id"], pictures):
        np.testing.assert_array_equal(picture, expected[step[lane]][lane])
    lanes = infos["env_id"]
    env.send(actions[step[lanes] % 5, lanes], lanes)
    step[lanes] += 1
same = make(lanes=6, autoreset_mode="SameStep", max_episode_steps=3)
same.reset(seed=2)
for t in range(3):
    pictures, *_, infos = same.step(actions[t])
np.testing.assert_array_equal(np.stack(infos["final_obs"]), expected[3])
np.testing.assert_array_equal(pictures, expected[4])
rolled, stepped = make(lanes=6, max_episode_steps=3), make(lanes=6, max_episode_steps=3)
rolled.reset(seed=2), stepped.reset(seed=2)
rollout = rolled.rollout(5, policy="random", seed=4)
for t in range(5):
    np.testing.assert_array_equal(rollout[0][t], stepped.step(rollout.actions[t])[0])
""")


def test_pictures_are_kept_and_changed_with_what_they_show():
    drawn("""
import copy, pickle
env = make("reacher-easy", 3)
env.reset(seed=1)
actions = np.random.default_rng(0).uniform(-1, 1, (3, 3, 2))
kept, before = env.snapshot(), env.step(actions[0])[0].copy()
others = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
after = env.step(actions[1])[0].copy()
for other in others:
    np.testing.assert_array_equal(other.step(actions[1])[0], after)
env.restore(kept)
np.testing.assert_array_equal(env.step(actions[0])[0], before)
moved = env.set_state({"target": np.full((3, 2), 0.1)})
assert (moved != before).any((1, 2, 3)).all()
np.testing.assert_array_equal(env.set_state({"target": np.full((3, 2), 0.1)}), moved)
stacked = make("reacher-easy", 2, frame_stack=3)
assert stacked.reset(seed=1)[0].shape[:2] == (2, 3) and stacked.reset(seed=1)[0].dtype == np.uint8
both = make("reacher-easy", 2, render_mode="rgb_array")
first = both.reset(seed=1)[0].copy()
np.testing.assert_array_equal(both.render()[0], first[0])
both.step(actions[0, :2])
np.testing.assert_array_equal(both.reset(seed=1)[0], first)
both.close(), env.close()
assert make("reacher-easy", 1).reset(seed=1)[0].std() > 0
""")


def test_rendering_shows_the_ground_of_each_lane():
    """It was the one of the model's file, which is flat; and what is rendered is what is observed."""
    drawn("""
import mujoco
flags = {mujoco.mjtVisFlag.mjVIS_RANGEFINDER: False}  # as in dm_control's pictures
size = {"width": 32, "height": 24, "visual_options": flags}
env = batchenv.make("dm_control/quadruped-escape-v0", 2, render_mode="rgb_array", **size)
observed = make("quadruped-escape")
env.reset(seed=1)
pictures = observed.reset(seed=1)[0]
np.testing.assert_array_equal(np.stack(env.render()), pictures)
np.testing.assert_array_equal(env.render(lanes=1)[0], pictures[1])
env.set_state({"terrain": np.zeros((2, 201 * 201), np.float32)})
assert (env.render()[0] != pictures[0]).any()
""")


def test_others_keep_their_contexts():
    """Of environments that render, and of dm_control, which does not look whether its context is still the current
    one: where a drawing environment is made, draws, is dropped without being closed, and is closed."""
    drawn("""
import gc
from helpers import dm_control
reference = dm_control.load().load("cheetah", "run", task_kwargs={"random": 0})
reference.reset()
rendering = batchenv.make("dm_control/cheetah-run-v0", 1, render_mode="rgb_array", width=84, height=84)
rendering.reset(seed=0)
draw = [lambda: reference.physics.render(84, 84, camera_id=0).copy(), lambda: rendering.render()[0].copy()]
before = [one() for one in draw]
def check(where):
    for k in (0, 1, 1, 0):
        np.testing.assert_array_equal(draw[k](), before[k], f"{where}: {k}")
check("nothing done")
env = make(lanes=3, num_threads=2)
check("made")
env.reset(seed=0), env.step(np.zeros((3, 6)))
check("drawn")
del env
gc.collect()
check("dropped")
env = make("fish-swim")
env.reset(seed=0), env.close()
check("closed")
""")


@pytest.mark.parametrize("call", ["make()", "env.reset()", "other.render()", "third.reset(), third.render()"])
def test_a_process_forked_from_one_that_draws_is_refused(call):
    """OpenGL hung in it."""
    told = drawn(f"""
import os
env = make()
other, third = (batchenv.make("Hopper-v5", 1, render_mode="rgb_array", width=32, height=32) for _ in range(2))
env.reset(seed=0), other.reset(seed=0), other.render()
if os.fork() == 0:
    try:
        {call}
    except (RuntimeError, batchenv.LaneError) as error:
        print(error.__cause__ or error, flush=True)
    os._exit(0)
os.wait()
assert env.step(np.zeros((2, 6)))[0].std() > 0 and other.render()[0].std() > 0
""")
    assert "OpenGL would hang here: start processes with the method 'spawn'" in told


def test_a_process_forked_before_anything_is_drawn_draws():
    told = drawn("""
import os, mujoco.egl
batchenv.make("dm_control/cheetah-run-v0", 1).close()
if os.fork() == 0:
    print(make().reset(seed=0)[0].std() > 0, flush=True)
    os._exit(0)
os.wait()
""")
    assert told.split()[-1] == "True"


CART = """<mujoco><worldbody><light pos="0 0 3"/><geom type="plane" size="1 1 1"/>{}<body name="cart">
<joint name="slider" type="slide" axis="1 0 0"/><geom size=".1"/><body name="pole_1">
<joint name="hinge_1" axis="0 1 0"/><geom size=".05"/></body></body></worldbody>
<actuator><motor joint="slider"/></actuator></mujoco>"""


@pytest.mark.parametrize("camera", ["", '<camera name="own" pos="0 -2 1" xyaxes="1 0 0 0 0 1"/>'])
def test_models_of_ones_own(camera):
    """Without cameras, the free one draws."""
    drawn(f"""
picture = make("cartpole-balance", 1, xml_file={CART.format(camera)!r}).reset(seed=0)[0]
assert picture.std() > 0
""")


def test_warnings_are_warnings():
    """Of slow drawing: they were taken for a lack of OpenGL where warnings are errors."""
    code = HEAD.replace('warnings.simplefilter("ignore")', "") + "make()"
    done = python("-W", "error::UserWarning", "-c", code, MUJOCO_GL="egl")
    assert "no OpenGL" not in done.stderr or obstacle()


@pytest.mark.parametrize(("keywords", "message"), [
    ("camera_id=-1, default_camera_config={'type': 7}", "default_camera_config: type=7 must be 0 (free), 1"),
    ("camera_id=-1, default_camera_config={'type': 1, 'trackbodyid': 99}", "trackbodyid=99 must be"),
    ("camera_id=-1, default_camera_config={'type': 1}", "trackbodyid=-1 must be"),
    ("camera_id=-1, default_camera_config={'type': 2, 'fixedcamid': 99}", "fixedcamid=99 must be"),
    ("camera_id=-1, default_camera_config={'distance': 'far'}", "distance='far' must be a finite number"),
    ("camera_id=-1, default_camera_config={'lookat': [1, 2]}", "lookat=[1, 2] must be three finite numbers"),
    ("default_camera_config={'distance': 3.0}", "default_camera_config is for the free camera, camera_id=-1"),
    ("camera_id=0, camera_name='side'", "give one of them"),
    ("camera_name=3", "camera_name=3 must be a str, not int"),
    ("visual_options={True: True}", "visual_options: True must be a flag"),
    ("visual_options={1.0: True}", "visual_options: 1.0 must be a flag"),
    ("visual_options={0: 'x'}", "the value 'x' of flag 0 must be a bool"),
    ("visual_options={14: True}", "mjVIS_CONTACTPOINT is not drawn in observations"),
    ("height=20000", "height=20000 must be"),
    ("camera_id=9", "camera_id=9 must be"),
    ("camera_id=-2", "camera_id=-2 must be"),
    ("camera_name='sid'", "camera_name: the model has no camera 'sid': did you mean 'side'?"),
    ("visual_options={99: True}", "visual_options: 99 must be a flag"),
])  # fmt: skip
def test_views_that_do_not_exist_are_refused(keywords, message):
    code = f"{HEAD}\nbatchenv.make('dm_control/cheetah-run-v0', observation='pixels', **dict({keywords}))"
    done = python("-c", code, MUJOCO_GL="egl")
    assert done.returncode == 1 and message in done.stderr, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="names of libraries of Linux")
def test_without_opengl_it_says_what_to_do():
    done = python("-c", HEAD + "make()", MUJOCO_GL="disabled")
    assert "DependencyNotInstalled: no OpenGL for observation='pixels': set MUJOCO_GL=egl" in done.stderr
