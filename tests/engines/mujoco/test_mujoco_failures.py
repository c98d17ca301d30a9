"""What goes wrong with MuJoCo: simulations that are unstable, its own errors, wrong keywords, a missing package."""

import os
from pathlib import Path

import numpy as np
import pytest

import batchenv
from helpers.begun import begun
from helpers.mujoco import JOINTS, PENDULUM
from helpers.parity import Case, assert_same
from helpers.processes import run_python


@pytest.fixture
def unstable(tmp_path):
    """A model that an action of 1 makes unstable, and 0 does not."""
    path = tmp_path / "unstable.xml"
    path.write_text(PENDULUM.format(joints=JOINTS, gear="1e14"))
    return str(path)


def test_an_unstable_simulation(unstable):
    def make(**kwargs):
        env = begun(batchenv.make("InvertedPendulum-v5", 3, xml_file=unstable, **kwargs), seed=1)
        return env

    actions = np.array([[0], [1], [0]], np.float32)
    only = [False, True, False]

    env = make()  # as Gymnasium: MuJoCo resets the simulation, and it goes on
    _, _, _, truncations, info = env.step(actions)
    np.testing.assert_array_equal(info["unstable"], only)
    np.testing.assert_array_equal(info["_unstable"], only)
    assert not truncations.any()
    assert "unstable" not in env.step(actions * 0)[4]

    *_, truncations, info = make(on_unstable="reset").step(actions)
    np.testing.assert_array_equal(truncations, only)
    np.testing.assert_array_equal(info["unstable"], only)

    with pytest.raises(batchenv.LaneError, match=r"lane 1: the simulation is unstable.*BADQ") as raised:
        make(on_unstable="raise").step(actions)
    np.testing.assert_array_equal(raised.value.env_id, [1])
    np.testing.assert_array_equal(raised.value.result[3], only)


def test_data_of_an_unstable_simulation(tmp_path, monkeypatch, capfd):
    """The step is repeated for it, as silently as it was taken."""
    monkeypatch.chdir(tmp_path)
    env = begun(batchenv.make("Hopper-v5", 2, gravity=[0, 0, -1e12], terminate_when_unhealthy=False), seed=1)
    assert env.step(env.action_space.high)[4]["unstable"].all()
    for data, qpos in zip(env.get_attr("data"), env.get_attr("qpos"), strict=True):
        np.testing.assert_array_equal(data.qpos, qpos)
    assert capfd.readouterr() == ("", "") and not list(tmp_path.iterdir())  # such as MUJOCO_LOG.TXT


def test_unstable_as_gymnasium(unstable, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # Gymnasium's MuJoCo writes MUJOCO_LOG.TXT
    ours, theirs = (begun(env, seed=1) for env in Case("InvertedPendulum-v5", both={"xml_file": unstable}).pair(3))
    for _ in range(5):
        a, b = ours.step(ours.action_space.high), theirs.step(ours.action_space.high)
        a[4].pop("unstable", None), a[4].pop("_unstable", None)
        assert_same(a, b, "")


def test_huge_numbers_of_a_model(tmp_path, recwarn):
    """Nothing is said of numbers that become infinite, as they do in MuJoCo."""
    path = tmp_path / "huge.xml"
    path.write_text(PENDULUM.format(joints=JOINTS, gear="1e300"))
    begun(batchenv.make_mujoco(str(path), 2), seed=1)
    assert not recwarn


def test_an_error_of_mujoco_does_not_end_the_process(tmp_path):
    """Memory that is enough to make lanes, and not for the contacts there are: how much that is depends on MuJoCo."""
    path = tmp_path / "small.xml"
    geoms = "".join(f'<body pos="0 0 {0.05 * k}"><freejoint/><geom size=".1"/></body>' for k in range(12))
    told = []
    for kilobytes in range(6, 40):
        path.write_text(
            f'<mujoco><size memory="{kilobytes}K"/><worldbody><geom type="plane" size="9 9 1"/>'
            f'<body>{JOINTS}<geom size=".1"/></body>'
            f'{geoms}</worldbody><actuator><motor joint="a" ctrlrange="-1 1"/></actuator></mujoco>'
        )
        try:
            env = batchenv.make_mujoco(str(path), 4, num_threads=1)  # more lanes than mjData
        except ValueError:  # not even enough to make them
            continue
        for _ in range(2):
            try:
                env.reset(seed=1)
                for _ in range(3):
                    env.step(np.zeros((4, 1), np.float32))
            except RuntimeError as error:  # LaneError, in a step
                told.append(str(error))
    assert told and all("MuJoCo: mj_stackAlloc" in message for message in told)
    fine = begun(batchenv.make("InvertedPendulum-v5", 2), seed=1)
    fine.step(np.zeros((2, 1), np.float32))


@pytest.mark.parametrize(
    "env_id, kwargs, error, words",
    [
        ("Hopper-v5", {"xml_file": "no_such.xml"}, FileNotFoundError, "no_such.xml"),
        ("Hopper-v5", {"xml_file": 3}, TypeError, "xml_file=3"),
        ("Hopper-v5", {"healthy_z_range": 3}, ValueError, "healthy_z_range=3"),
        ("Hopper-v5", {"healthy_z_range": (np.nan, 1)}, ValueError, "healthy_z_range"),
        ("Hopper-v5", {"healthy_z_range": (0, 1), "healthy_z_min": 0.5}, TypeError, "healthy_z_min"),
        ("Hopper-v5", {"frame_skip": 0}, ValueError, "frame_skip=0"),
        ("Hopper-v5", {"exclude_current_positions_from_observation": 1}, TypeError, "must be a bool"),
        ("Hopper-v5", {"on_unstable": "stop"}, ValueError, "on_unstable='stop'"),
        ("Hopper-v5", {"no_such": 1}, TypeError, "no_such"),
        ("Ant-v5", {"main_body": "leg"}, ValueError, "'leg'"),
        ("Ant-v5", {"main_body": 99}, ValueError, "main_body=99"),
        ("Reacher-v5", {"xml_file": "hopper.xml"}, ValueError, "'fingertip'"),
        ("Humanoid-v5", {"xml_file": "hopper.xml"}, ValueError, "tendons"),
        ("Walker2d-v5", {"xml_file": "inverted_pendulum.xml"}, ValueError, "2 positions, 2 velocities and 1 actuators"),
        ("InvertedDoublePendulum-v5", {"xml_file": "inverted_pendulum.xml"}, ValueError, "a site, at the tip"),
    ],
)
def test_bad_keywords(env_id, kwargs, error, words):
    with pytest.raises(error, match=words):
        batchenv.make(env_id, 2, **kwargs)


GENERATIONS = """
import os, threading, time
import batchenv

env = batchenv.make("Humanoid-v5", 8, num_threads=2, frame_skip=300)

def generation(left):
    env.reset(seed=1)
    actions = env.action_space.sample()
    if left == 0:
        env.step(actions)
        print("the last one steps", flush=True)
        return
    stepping = threading.Thread(target=env.step, args=(actions,), daemon=True)
    stepping.start()
    time.sleep(0.1)
    if os.fork() == 0:
        generation(left - 1)
        os._exit(0)
    assert os.wait()[1] == 0
    stepping.join()

generation(5)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_children_of_children_find_mjdata_that_nobody_will_give_back():
    """Each is forked while threads that it will not have hold some of the few mjData there are."""
    assert run_python(GENERATIONS) == "the last one steps\n"


def test_without_mujoco():
    code = """
import sys
import batchenv
from batchenv.envs.mujoco.tasks import assets
assert not any(name.split(".")[0] == "mujoco" for name in sys.modules), "import batchenv stays light"
sys.modules["mujoco"] = None
assert "Hopper-v5" in batchenv.list_envs()
try:
    batchenv.make("Hopper-v5", 2)
except Exception as error:
    print(type(error).__name__, error)
"""
    told = run_python(code)
    assert "DependencyNotInstalled" in told and 'pip install "batchenv[mujoco]"' in told


def test_an_old_mujoco():
    code = """
import sys, types
old = types.ModuleType("mujoco"); old.__version__ = "2.3.7"; sys.modules["mujoco"] = old
import batchenv
from batchenv.envs.mujoco.tasks import assets
try:
    batchenv.make("Hopper-v5", 2)
except Exception as error:
    print(error)
"""
    assert "mujoco 2.3.7 is too old: 3.1 or newer" in run_python(code)


def test_a_working_directory_that_is_gone(tmp_path):
    code = (
        "import os, sys, batchenv\n"
        "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\n"
        "try:\n    batchenv.make('Hopper-v5', 1)\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    # The folder is on Python's path, as it usually is: that is what the import stumbles over.
    path = str(Path(batchenv.__file__).parents[1])
    told = run_python(code, cwd=tmp_path, PYTHONSAFEPATH=None, PYTHONPATH=path)
    assert "working directory that is gone" in told
