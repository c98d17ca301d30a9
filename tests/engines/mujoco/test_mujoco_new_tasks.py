"""Tasks that `python -m batchenv new NAME --mujoco ROBOT.xml` writes, and what the other commands do with them."""

import pickle
import re
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import batchenv
from batchenv.__main__ import main
from batchenv.compiler import CompileError, template
from batchenv.envs.mujoco.tasks import assets
from helpers.mujoco import mujoco, same_as_single_lanes
from helpers.own_env import edit
from helpers.processes import command_line, hide

ROBOT = Path(__file__).resolve().parents[3] / "examples/own_task/quadruped.xml"
BALL = '<geom size=".1"/>'
ODD = f"""<mujoco><worldbody>
<body name='a"b\\c*/d??/e%s' pos="0 0 1"><freejoint/>{BALL}<body name="ü\t&#10;"><joint name="*/ int x; /*"/>
<geom size=".1" name="left.foot|(" pos=".3 0 0"/><geom size=".1" name="@foot" pos="0 0 .3"/></body></body></worldbody>
<actuator><motor joint="*/ int x; /*" name="*/ int y; /*" ctrlrange="-2 3"/></actuator></mujoco>"""
NAMELESS = f"""<mujoco><worldbody><body pos="0 0 1"><freejoint/>{BALL}<body><joint name="j"/>
<geom size=".1" pos=".3 0 0"/></body></body></worldbody><actuator><motor joint="j"/></actuator></mujoco>"""
MANY = f"""<mujoco><worldbody>
{"".join(f'<body name="b{k}" pos="{k} 0 0"><joint name="j{k}"/>{BALL}</body>' for k in range(40))}</worldbody>
<actuator>{"".join(f'<motor joint="j{k}" ctrlrange="-1 {k + 1}"/>' for k in range(40))}</actuator></mujoco>"""
# A free cube beside an arm is not the robot.
ARM = f"""<mujoco><worldbody><body name="cube" pos="1 0 1"><freejoint/>{BALL}</body>
<body name="arm"><joint name="a" axis="0 1 0"/>{BALL}<body name="hand" pos="0 0 .5"><joint name="b" type="slide"/>
{BALL}</body></body></worldbody><actuator><position joint="a" kp="20" gear="2" ctrlrange="-1 1"/>
<position joint="b" kp="20"/><velocity joint="a" kv="1"/></actuator>
<keyframe><key name="home" qpos="1 0 1 1 0 0 0 .3 .2" ctrl="0 0 .5"/></keyframe></mujoco>"""


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BATCHENV_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("BATCHENV_ISA", "baseline")
        yield


@pytest.fixture
def new(tmp_path):
    """Writes a task for XML text, or the XML file of a path."""

    def write(xml):
        if not isinstance(xml, Path):
            (tmp_path / "robot.xml").write_text(xml)
            xml = tmp_path / "robot.xml"
        return template.write("task_" + re.sub(r"\W", "_", tmp_path.name), tmp_path, str(xml))

    return write


def compiled(path):
    """The id of a C file, at which the compiler has nothing to say."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (name,) = batchenv.compile(path, cflags=["-Wall", "-Wextra"]).ids
    return name


@pytest.mark.parametrize(
    "xml",
    [
        ROBOT,
        assets() / "ant.xml",
        assets() / "inverted_pendulum.xml",
        assets() / "hopper.xml",
        ODD,
        NAMELESS,
        MANY,
        ARM,
    ],
    ids=["quadruped", "ant", "inverted_pendulum", "hopper", "odd", "nameless", "many", "arm"],
)
def test_models_of_all_kinds(xml, new):
    name = compiled(new(xml))
    env = batchenv.make(name, 8)
    assert (env.single_action_space.low == -1).all() and (env.single_action_space.high == 1).all()
    observations, _ = env.reset(seed=0)
    result = env.rollout(100, policy="random", seed=0)
    assert np.isfinite(result.observations).all() and np.isfinite(result.rewards).all()
    assert (result.observations[-1] != observations).any(axis=0).sum() > 0
    assert env.get_attr("physics")[0].startswith("together with others")
    if xml in (ROBOT, assets() / "inverted_pendulum.xml", ODD):  # others would take long, and differ in tables only
        report = batchenv.check_vector_env(name, max_steps=40, env_kwargs={"max_episode_steps": 30})
        assert report.passed, report.failures_only()


class Reference:
    """One lane of the quadruped's task in Python."""

    def __init__(self, seed):
        self.model = mujoco.MjModel.from_xml_path(str(ROBOT))
        self.data = mujoco.MjData(self.model)
        rng = gymnasium.utils.seeding.np_random(seed)[0]
        self.data.qpos[:] = self.model.qpos0 + rng.uniform(-0.01, 0.01, self.model.nq)
        self.data.qvel[:] = rng.uniform(-0.01, 0.01, self.model.nv)
        mujoco.mj_forward(self.model, self.data)

    def observe(self):
        data = self.data
        feet = [data.geom(f"{leg}_foot").xpos[2] for leg in ("fl", "fr", "hl", "hr")]
        sensors = data.sensor("gyro").data, data.sensor("accelerometer").data
        return np.concatenate([data.qpos[2:], data.qvel, feet, *sensors])

    def step(self, action):
        action = action.astype(np.float64)
        self.data.ctrl[:] = self.model.qpos0[7:] + 0.25 * action
        mujoco.mj_step(self.model, self.data, 5)
        effort = 0.0
        for one in action:
            effort += one * one
        height = self.data.body("trunk").xpos[2]
        return self.observe(), 1.0 + 1.0 * self.data.qvel[0] - 0.01 * effort, height < 0.162


def test_the_quadruped_is_as_mujoco_itself(new):
    env = batchenv.make(compiled(new(ROBOT)), 6, autoreset_mode=AutoresetMode.DISABLED)
    lanes = [Reference(3 + lane) for lane in range(6)]
    same_as_single_lanes(env, lanes, "speed", lambda data: data.qvel[0])


def controls(path, action):
    """The controls of a lane for an action in which all numbers are the same."""
    env = batchenv.make(compiled(path), 1, reset_noise_scale=0)
    env.reset(seed=0)
    env.step(np.full(env.action_space.shape, action, np.float32))
    return env.get_attr("data")[0].ctrl


def test_what_actions_do(new):
    many = new(MANY)
    high = np.arange(40) + 1.0
    np.testing.assert_allclose(controls(many, 0), (high - 1) / 2)
    np.testing.assert_allclose(controls(many, 1), high)


def test_actions_and_starts_around_a_keyframe(new):
    """A servo's target is the length of its actuator there, gear included; the control of another actuator is the
    keyframe's."""
    path = new(ARM)
    np.testing.assert_allclose(controls(path, 0), [0.6, 0.2, 0.5])
    np.testing.assert_allclose(controls(path, 1), [1.1, 0.25, 1.5])
    env = batchenv.make(compiled(path), 3, reset_noise_scale=0)
    observations, _ = env.reset(seed=0)
    np.testing.assert_array_equal(observations[0, :9], [1, 0, 1, 1, 0, 0, 0, 0.3, 0.2])
    assert "least_height" not in path.read_text()  # the arm cannot fall, and the cube is not rewarded


def test_names_are_in_the_tables(new):
    text = new(ODD).read_text()
    assert r'[TRUNK] = {"xpos", "body", "a\"b\\c*\057d\?\?/e%s"},' in text
    assert '[FEET] = {"geom_xpos", "geom", "left\\\\.foot\\\\|\\\\(|@foot"}' in text
    assert text.count("*/ int") == 0


def test_another_model_with_other_actuators(new):
    name = compiled(new(ROBOT))
    fewer = ROBOT.read_text().replace('<position name="hr_calf" joint="hr_calf"/>', "")
    with pytest.raises(ValueError, match=r"the model has 11 actuators, and task_\w+\.c has 12: change its table"):
        batchenv.make(name, 2, xml_file=fewer)
    heavier = ROBOT.read_text().replace('mass="6"', 'mass="7"')
    assert batchenv.make(name, 2, xml_file=heavier).get_attr("model")[0].body("trunk").mass[0] == 7


# ---- where the model is


def test_the_model_is_found_from_the_c_file(new, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    path = new(ROBOT.read_text())
    edit(path, re.search(r'\.text = "(.*)"', path.read_text())[1], "robot.xml")
    monkeypatch.chdir(tmp_path / "elsewhere")
    name = compiled(path)
    assert batchenv.spec(name).kwargs["xml_file"] == str(tmp_path / "robot.xml")
    env = pickle.loads(pickle.dumps(batchenv.make(name, 2)))
    assert gymnasium.make_vec(f"batchenv/{name}", num_envs=2).reset(seed=0)[0].tolist() == env.reset(seed=0)[0].tolist()
    assert main(["compile", str(path), "--namespace", "there", "-o", "task.so"]) == 0
    (there,) = batchenv.load("task.so", namespace="there2").ids
    with pytest.raises(FileNotFoundError, match=r"elsewhere/robot\.xml': name the XML file of a model"):
        batchenv.make(there, 2)
    (tmp_path / "elsewhere/robot.xml").write_text(ROBOT.read_text())
    assert batchenv.make(there, 2).num_envs == 2


def test_paths_as_they_were_typed(tmp_path, monkeypatch):
    (tmp_path / "models").mkdir()
    (tmp_path / "models/robot.xml").write_text(NAMELESS)
    (tmp_path / "tasks").mkdir()
    monkeypatch.chdir(tmp_path / "tasks")
    assert main(["new", "below", "--mujoco", "../models/robot.xml"]) == 0
    assert '.text = "../models/robot.xml"' in (tmp_path / "tasks/below.c").read_text()
    monkeypatch.chdir(tmp_path)
    assert template.write("above", "tasks", "models/robot.xml") == Path("tasks/above.c")
    assert '.text = "../models/robot.xml"' in (tmp_path / "tasks/above.c").read_text()
    assert f'.text = "{ROBOT}"' in template.write("absolute", "tasks", str(ROBOT)).read_text()


@pytest.mark.parametrize(
    "old,other,words",
    [
        ('{"xml_file", ', '{"xml_fil", ', r"row 0 of \.ids \(.*\) sets something that is not in \.params"),
        (r'\.text = ".*"', "5", r"row 0 of \.ids \(.*\) sets xml_file to no text"),
        (r'\.text = ".*"', r'.text = "\\377"', "has a text that is not UTF-8"),
    ],
)
def test_settings_that_are_none(old, other, words, new):
    path = new(NAMELESS)
    path.write_text(re.sub(old, other, path.read_text(), count=1))
    with pytest.raises(ValueError, match=words):
        batchenv.compile(path)


# ---- what is refused


@pytest.mark.parametrize(
    "text,words",
    [
        (None, r"--mujoco: there is no file '.*robot\.xml': name the XML file of a model"),
        ("<robots/>", r"--mujoco='.*robot\.xml' is not a model that mujoco .* reads"),
        (
            f"<mujoco><worldbody>{BALL}</worldbody></mujoco>",
            r"--mujoco='.*robot\.xml': the model has no actuators, .* add some, as in <actuator>",
        ),
    ],
)
def test_xml_that_is_none(text, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("robot.xml").write_text(text)
    assert main(["new", "walk", "--mujoco", str(tmp_path / "robot.xml")]) == 2
    assert re.search(words, capsys.readouterr().err) and not Path("walk.c").exists()


def test_nothing_is_overwritten(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("walk.c").write_text("mine")
    assert main(["new", "walk", "--mujoco", str(ROBOT)]) == 2
    assert "walk.c is there already" in capsys.readouterr().err and Path("walk.c").read_text() == "mine"


def test_without_mujoco(tmp_path):
    done = command_line("new", "walk", "--mujoco", ROBOT, cwd=tmp_path, PYTHONPATH=hide("mujoco", tmp_path))
    assert done.returncode == 2 and 'pip install "batchenv[mujoco]"' in done.stderr
    assert not (tmp_path / "walk.c").exists()


# ---- the other commands


def test_info_and_bench(new, capsys):
    path = new(NAMELESS)
    assert main(["info", str(path)]) == 0
    told = capsys.readouterr().out
    assert (
        f"xml_file = {str(path.parent / 'robot.xml')!r}: the model: the path of an XML file" in told
        and "forward_weight = 1.0 (any number)" in told
    )
    assert main(["info", str(path), "--set", f"xml_file={path.parent / 'robot.xml'}", "--set", "action_scale=0.5"]) == 0
    assert "action_scale = 0.5 (any number)" in capsys.readouterr().out
    assert main(["bench", str(path), "--compare", "--lanes", "4", "--seconds", "0.01", "--set", "action_scale=2"]) == 0
    told = capsys.readouterr().out
    assert "is of a file of your own, which no other program runs: nothing is compared" in told
    assert "Made with action_scale=2." in told


def test_check_runs_under_sanitizers_with_the_model_of_the_file_or_another(new):
    try:
        from batchenv.check.c_file import sanitizer_runtime

        sanitizer_runtime()
    except CompileError:
        pytest.skip("the compiler has no sanitizers")
    path = new(NAMELESS)
    known = ["check", path, "-q", "--num-envs", "3", "--max-steps", "40"]
    done = command_line(*known)
    assert done.returncode == 0 and re.search(r"1[0-9]+ hold, 0 fail", done.stdout), done.stdout + done.stderr
    done = command_line(*known, "--set", "xml_file=no_robot.xml")
    assert done.returncode == 1 and "there is no file 'no_robot.xml'" in done.stdout, done.stdout + done.stderr
    edit(path, "row = be_mujoco_append_state(b, lane, 2, row);", "be_mujoco_append_state(b, lane, 0, row);")
    done = command_line(*known)
    assert done.returncode == 1 and "the C code broke" in done.stdout, done.stdout + done.stderr


def test_keywords_of_the_command_line(capsys):
    for text in ("xml_file", "5=3", "=3"):
        with pytest.raises(SystemExit):
            main(["info", "CartPole-v1", "--set", text])
        assert "must be a keyword of make and its value: xml_file=robot.xml" in capsys.readouterr().err
    assert main(["info", "CartPole-v1", "--set", "nix=3"]) == 2
    assert "nix" in capsys.readouterr().err
    assert main(["info", "FrozenLake-v1", "--set", "is_slippery=False", "--set", "map_name=8x8"]) == 0
    assert "is_slippery = False" in capsys.readouterr().out


def test_keywords_of_the_checker():
    def made(num_envs, length):
        assert length == 0.3
        return batchenv.make("CartPole-v1", num_envs, length=length)

    assert batchenv.check_vector_env(made, env_kwargs={"length": 0.3}, max_steps=1).passed
    report = batchenv.check_vector_env("CartPole-v1", env_kwargs={"longth": 0.3}, max_steps=1)
    assert not report.passed and "longth" in str(report)
    with pytest.raises(TypeError, match="are for what makes an env, and this one is made"):
        batchenv.check_vector_env(batchenv.make("CartPole-v1", 2), env_kwargs={"length": 0.3})
