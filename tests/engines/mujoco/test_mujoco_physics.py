"""Lanes that are stepped several at a time: the same bits as mj_step, which takes over where that is not possible."""

import contextlib
import ctypes
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import batchenv
from batchenv import _core
from batchenv.envs.mujoco import library, physics
from helpers.begun import begun
from helpers.mujoco import mujoco
from helpers.together import BODY, LANES, TOP, always_alone, assert_like_mj_step, compare, how, lanes_of, rows, xml

NAMES = (
    *("Ant", "HalfCheetah", "Hopper", "Humanoid", "HumanoidStandup", "InvertedDoublePendulum", "InvertedPendulum"),
    *("Pusher", "Reacher", "Swimmer", "Walker2d"),
)
pytestmark = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")


@pytest.mark.parametrize("isa", _core.supported_isas())
@pytest.mark.parametrize("name", NAMES)
def test_all_tasks(name, isa, monkeypatch):
    """11 lanes: whole groups, and a part of one; the tasks that end early end often."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    assert_like_mj_step(monkeypatch, lambda: batchenv.make(f"{name}-v5", 11, num_threads=1), 60)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("threads", [1, 2])
def test_modes_and_threads(mode, threads, monkeypatch):
    def make():
        return batchenv.make("Hopper-v5", 21, num_threads=threads, autoreset_mode=mode, max_episode_steps=23)

    assert_like_mj_step(monkeypatch, make, 70)


def test_repeated_actions_and_transforms(monkeypatch):
    def make():
        return batchenv.make("Walker2d-v5", 9, num_threads=1, action_repeat=3, frame_stack=2, clip_reward=(-1, 1))

    assert_like_mj_step(monkeypatch, make, 40)


@pytest.mark.parametrize("lanes,batch,threads", [(24, 8, 2), (24, 18, 1), (64, 64, 1), (140, 33, 2)])
def test_send_and_recv(monkeypatch, lanes, batch, threads):
    """Lanes go through the queue in any groups, however many a worker gets, and each has the episodes that it has
    alone."""
    makes = {"1": None, "0": None}
    for on in makes:
        monkeypatch.setenv("BATCHENV_PHYSICS", on)
        env = batchenv.make("Reacher-v5", lanes, batch_size=batch, num_threads=threads)
        env.async_reset(seed=3)
        seen = {lane: [] for lane in range(lanes)}
        while min(len(steps) for steps in seen.values()) <= 20:  # a busy machine may leave a thread's lanes behind
            observations, rewards, _, _, infos = env.recv()
            ids = infos["env_id"]
            assert len(set(ids.tolist())) == batch
            for lane, row, reward in zip(ids.tolist(), observations, rewards, strict=True):
                seen[lane].append((row.tobytes(), float(reward)))
            actions = np.array([np.sin(np.array([1.0, 2.0]) * len(seen[lane]) + lane) for lane in ids])
            env.send(actions.astype(np.float32), ids)
        env.close()
        makes[on] = seen
    for lane in range(lanes):
        count = min(len(seen[lane]) for seen in makes.values())
        assert makes["1"][lane][:count] == makes["0"][lane][:count]


def test_lanes_with_their_own_models(monkeypatch):
    """A group may have lanes of several models, whose numbers are then read from columns."""

    def randomise(env):
        rng = np.random.default_rng(4)
        model = env.get_attr("model")[0]
        env.set_params(
            lanes=[1, 2, 3, 7, 11],
            body_mass=model.body_mass * rng.uniform(0.7, 1.3, (12, 1)),
            dof_damping=model.dof_damping * rng.uniform(0.5, 2, (12, 1)),
            geom_friction=model.geom_friction * rng.uniform(0.3, 2, (12, 1, 1)),
            gravity=[0, 0.5, -7],
        )

    for name in ("Ant", "HalfCheetah"):
        with monkeypatch.context() as patch:
            assert_like_mj_step(patch, lambda name=name: batchenv.make(f"{name}-v5", 12), 40, change=randomise)


def test_a_lane_whose_model_does_not_fit(monkeypatch):
    """Its neighbours are still stepped together."""

    def change(env):
        env.set_params(lanes=[2], dof_frictionloss=np.full(6, 0.1))
        env.set_params(lanes=[4], jnt_stiffness=np.full(6, 3.0))
        told = how(env)
        if told[0].startswith("together"):
            assert "jnt_stiffness" in told[4] and told[4].endswith("or the other way round")
            assert "dof_frictionloss" in told[2]
            assert sum(text.startswith("together") for text in told) == 6

    assert_like_mj_step(monkeypatch, lambda: batchenv.make("Hopper-v5", 8), 30, change=change)


def test_snapshots_and_data(monkeypatch):
    """Restored lanes go on in the same way, and `data` repeats the last step."""
    env = begun(batchenv.make("Ant-v5", 10), seed=1)
    env.action_space.seed(1)
    for _ in range(30):
        env.step(env.action_space.sample())
    for lane, data in enumerate(env.get_attr("data")):
        np.testing.assert_array_equal(data.qpos, env.get_attr("qpos")[lane])
        np.testing.assert_array_equal(data.qvel, env.get_attr("qvel")[lane])
    saved = env.snapshot()
    actions = [env.action_space.sample() for _ in range(20)]
    first = [env.step(action)[0].copy() for action in actions]
    monkeypatch.setenv("BATCHENV_PHYSICS", "0")
    other = begun(batchenv.make("Ant-v5", 10), seed=2)
    other.restore(saved)
    for action, expected in zip(actions, first, strict=True):
        assert other.step(action)[0].tobytes() == expected.tobytes()


def test_unstable_lanes(monkeypatch):
    """A lane whose numbers explode is MuJoCo's, and is reported; its group is not disturbed."""

    def fling(env):
        strong = np.tile(env.get_attr("model")[0].actuator_gear, (8, 1, 1))
        strong[3] *= 1e9
        env.set_params(actuator_gear=strong)

    found = []

    def make():
        found.append(batchenv.make("HalfCheetah-v5", 8, frame_skip=40))
        return found[-1]

    assert_like_mj_step(monkeypatch, make, 30, change=fling)
    env = found[0]
    unstable = np.zeros(8, int)
    for _ in range(20):
        unstable += env.step(env.action_space.sample())[4].get("unstable", np.zeros(8, bool))
    assert unstable[3] > 0 and unstable.sum() == unstable[3]


NUMBERS_THAT_END = (  # a spring that is too strong for Runge-Kutta's third evaluation, beside what slides on the ground
    '<body pos="0 0 .1"><geom size=".01" contype="0" conaffinity="0"/>'
    '<body><joint name="b" type="slide" axis="1 0 0" limited="true" range="-.05 .05"/>'
    '<joint name="z" type="slide" axis="0 0 1"/><geom size=".1" mass="1"/></body>'
    '<body><joint type="slide" axis="0 0 1" stiffness="1e-4"/>'
    '<geom size=".01" mass="1e-5" contype="0" conaffinity="0"/></body></body>'
)


@pytest.mark.parametrize("isa", _core.supported_isas())
def test_lanes_that_become_nan_within_a_step(isa, monkeypatch):
    """mj_step finds their NaN in its next step only: this one's results are its NaN, signs included, and those of the
    lanes that are in the same place of a group later are not touched by it."""
    monkeypatch.setenv("BATCHENV_ISA", isa)
    motors = '<actuator><motor joint="b" gear="50"/><motor joint="z" gear="20"/></actuator>'
    text = xml(NUMBERS_THAT_END, motor=motors, top=TOP.replace("<option", '<option integrator="RK4"'))

    def make():
        observed = ["qpos", "qvel", "qfrc_constraint"]
        return batchenv.make_mujoco(text, 16, observation=observed, qvel_noise=0.05, num_threads=1, on_unstable="reset")

    def stiffen(env):
        stiffness = np.tile(env.get_attr("model")[0].jnt_stiffness, (16, 1))
        stiffness[[3, 4, 9, 10, 11], 2] = 1.7e308
        env.set_params(jnt_stiffness=stiffness)

    made = assert_like_mj_step(monkeypatch, make, 200, change=stiffen)
    assert any(np.isnan(array).any() for array in made)


def test_self_check(monkeypatch):
    """One wrong bit, and mj_step is used: with a warning, and for this model only."""
    plan = physics.Plan

    def wrong(module, model):
        made = plan(module, model)
        place = made.starts[_core.PHYSICS_FLOATS.index("body_mass")] + 1
        made.floats[place] = np.nextafter(made.floats[place], 99)
        return made

    monkeypatch.setattr(physics, "_checked", {})
    with monkeypatch.context() as patch:
        patch.setattr(physics, "Plan", wrong)
        with pytest.warns(UserWarning, match="lanes are stepped one by one: .* mj_step's in the self-check"):
            env = batchenv.make("Hopper-v5", 4)
        assert "differs from mj_step's" in how(env)[0]
    assert "differs from mj_step's" in how(batchenv.make("Hopper-v5", 4))[0]
    assert how(batchenv.make("Walker2d-v5", 4))[0].startswith("together")


@pytest.mark.parametrize("most", [3, 4, 5, 6, 8])
def test_limited_line_searches(most):
    """Some lanes run out of evaluations while others go on: they take the better end of what they have searched."""
    model = mujoco.MjModel.from_xml_path(str(Path(gymnasium.__file__).parent / "envs/mujoco/assets/humanoid.xml"))
    model.opt.ls_iterations = most
    differs, compared, _ = compare(model, np.random.default_rng(0), (1, 30, 60, 30))
    assert not differs and compared > 2 * LANES


def test_start_near_the_smooth_acceleration():
    """A heavy body that leaves the ground carries dust: its qacc_warmstart, which differs from qacc_smooth by rounding,
    must not look cheaper than that."""
    dust = '<joint axis="1 0 0"/><inertial pos=".03 -.02 .02" mass="3e-12" diaginertia="6e-9 6e-9 6e-9"/>'
    arm = f'<joint name="b" axis="0 1 0"/><geom size=".1" mass="1.3e4"/><body pos="0 0 .3">{dust}</body>'
    body = f'<body pos="0 0 .07"><freejoint/><geom size=".1" mass="1.3e4"/><body pos=".2 0 0">{arm}</body></body>'
    model = mujoco.MjModel.from_xml_string(xml(body))
    lanes, data, rng = lanes_of(model), mujoco.MjData(model), np.random.default_rng(0)
    physics.together(lanes, *library.load())
    for _ in range(40):
        for lane in range(LANES):
            mujoco.mj_resetData(model, data)
            data.qpos[:] += rng.uniform(-0.1, 0.1, model.nq)
            data.qpos[2] = rng.uniform(0.05, 0.098)
            data.qvel[:] = rng.uniform(-0.5, 0.5, model.nv)
            data.qvel[2] = 1.5
            mujoco.mj_forward(model, data)
            rounding = rng.standard_normal(model.nv) * 10.0 ** rng.uniform(-17, -10)
            data.qacc_warmstart[:] = data.qacc_smooth * (1 + rounding)
            mujoco.mj_getState(model, data, lanes.records[lane, : lanes.state_size], lanes.signature)
        differs, _ = lanes.source.compare(np.zeros((LANES, model.nu), np.float32), 1)
        assert (differs == -1).all(), [lanes.name_of(int(number)) for number in differs]


def test_singular_hessian():
    """A ball joint in a ball that touches the ground: of the Hessian, rounding leaves nothing that has a factor."""
    leaf = '<joint axis="1 0 0"/><inertial pos="-5e-6 -1e-5 -2.85e-5" mass="1e-5" diaginertia="7e-14 7e-14 7e-14"/>'
    leaf = f'<body pos="0 0 .3">{leaf}<geom size=".05" mass="1e-5"/></body>'
    arm = f'<joint name="b" axis="0 1 0"/><geom size=".1" mass="1e-3"/>{leaf}'
    ball = '<joint type="ball" damping=".1"/><geom size=".1" mass="1e-3"/>'
    body = f'<body pos="0 0 .097">{ball}<body pos=".2 0 0">{arm}</body></body>'
    model = mujoco.MjModel.from_xml_string(xml(body, top=TOP.replace('timestep="0.005"', 'integrator="RK4"')))
    for seed in range(12):
        differs, _, _ = compare(model, np.random.default_rng(seed), (1, 2, 2))
        assert not differs, seed


def test_mean_acceleration_of_runge_kutta(monkeypatch):
    """From MuJoCo 4 on, qacc is that of the whole step, and before it was that of the last evaluation."""
    text = xml(top=TOP.replace('timestep="0.005"', 'timestep="0.005" integrator="RK4"'))
    assert_like_mj_step(monkeypatch, lambda: batchenv.make_mujoco(text, 4, observation=["qacc", "qvel"]), 20)


def test_mocap_body_in_the_ground(monkeypatch):
    """MuJoCo looks for no contact where neither body can move."""
    text = xml(BODY + '<body mocap="true" pos="2 0 .05"><geom size=".1"/></body>')
    assert_like_mj_step(monkeypatch, lambda: batchenv.make_mujoco(text, 4, observation=["qpos", "cfrc_ext"]), 20)


def test_callbacks_of_the_user():
    """They are called in every step, as in MuJoCo."""
    if not library.load()[1]["mjcb_control"]:
        pytest.skip("this library has no such variable")
    calls = []

    def push(model, data):
        calls.append(1)
        data.ctrl[:] = 1

    env, other = (begun(batchenv.make("InvertedPendulum-v5", 4, num_threads=1), seed=1) for _ in range(2))
    mujoco.set_mjcb_control(push)
    try:
        assert ctypes.c_void_p.from_address(library.load()[1]["mjcb_control"]).value
        pushed = env.step(np.zeros((4, 1), np.float32))[0]
    finally:
        mujoco.set_mjcb_control(None)
    assert calls
    assert (pushed != other.step(np.zeros((4, 1), np.float32))[0]).any()


BOX = '<body pos="0.1 0 .3"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'


@pytest.mark.parametrize(
    "body,told",
    [
        (BODY, ""),
        (BODY + BOX + BOX.replace("0.1 0", ".2 0"), "% (box and box)"),
        (BODY.replace('name="b"', 'name="b" frictionloss="1"'), ""),
    ],
)
def test_what_is_said_of_steps(body, told):
    """How many steps were made in groups, and in which of their evaluations MuJoCo did a part."""
    env = batchenv.make_mujoco(xml(body), 4, num_threads=1)
    assert list(how(env)) == [f"together with others ({_core.chosen_isa()})"] * 4
    rows(env, 30)
    for text in how(env):
        assert text.startswith(f"together with others ({_core.chosen_isa()}): 100% of 30 steps of MuJoCo")
        assert told in text and ("; MuJoCo's functions looked for contacts in " in text) == bool(told)


@pytest.mark.parametrize("solver,steps,warns", [("CG", 120, True), ("CG", 20, False), ("Newton", 120, False)])
def test_a_warning_where_mujoco_did_most_of_the_work(solver, steps, warns):
    text = xml(BODY + BOX).replace("<option", f'<option solver="{solver}"')
    env = batchenv.make_mujoco(text, 4, num_threads=1)
    rows(env, steps)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        env.close()
    told = [str(warning.message) for warning in found if "MuJoCo did most of the work" in str(warning.message)]
    assert bool(told) == warns
    assert not told or "of the model's solver" in told[0]


def test_a_warning_where_lanes_are_stepped_one_by_one():
    motor = '<actuator><adhesion body="b" ctrlrange="0 1"/></actuator>'
    text = xml('<body name="b" pos="0 0 .3"><freejoint/><geom size=".1"/></body>', motor=motor)
    with pytest.warns(UserWarning, match="one by one.*the model has actuators"):
        batchenv.make_mujoco(text, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batchenv.make_mujoco(text, 1)  # where groups gain nothing


def test_what_is_said_of_steps_by_mj_step():
    env = begun(batchenv.make("Hopper-v5", 3, num_threads=1), seed=1)
    env.step(np.zeros((3, 3), np.float32))
    with raising(ValueError("never"), call=-1):
        env.step(np.zeros((3, 3), np.float32))
    expected = "50% of 8 steps of MuJoCo, the others by mj_step (50% because a callback of MuJoCo's was set)"
    assert list(how(env)) == [f"together with others ({_core.chosen_isa()}): {expected}"] * 3


def test_what_is_said_of_lanes_stepped_singly():
    """After steps together, too."""
    env = begun(batchenv.make("Hopper-v5", 3, num_threads=1), seed=1)
    env.step(np.zeros((3, 3), np.float32))
    env.step(np.zeros((1, 3), np.float32), [1])
    expected = "50% of 8 steps of MuJoCo, the others by mj_step (50% because no other lane was at hand)"
    assert how(env)[1] == f"together with others ({_core.chosen_isa()}): {expected}"


@contextlib.contextmanager
def raising(problem, call=1):
    """MuJoCo's mjcb_control raises `problem` in its call of this number, and does nothing in others."""
    if not library.load()[1]["mjcb_control"]:
        pytest.skip("this library has no such variable")
    calls = []

    def callback(model, data):
        calls.append(1)
        if len(calls) == call:
            raise problem

    mujoco.set_mjcb_control(callback)
    try:
        yield
    finally:
        mujoco.set_mjcb_control(None)


@pytest.mark.parametrize("lanes,threads", [(4, 1), (64, 2)])
def test_callbacks_that_raise(lanes, threads):
    """The lane that called fails, and its error holds the exception; the other lanes go on."""
    env, other = (batchenv.make("Hopper-v5", lanes, num_threads=threads) for _ in range(2))
    actions = np.zeros((lanes, 3), np.float32)
    env.reset(seed=1), other.reset(seed=1)
    expected = other.step(actions)[0]
    with raising(ValueError("mine"), call=5), pytest.raises(batchenv.LaneError, match="callback") as caught:
        env.step(actions)
    (lane,) = caught.value.env_id.tolist()
    assert caught.value.causes == {lane: caught.value.__cause__} and str(caught.value.__cause__) == "mine"
    others = np.arange(lanes) != lane
    assert (caught.value.result[0][others] == expected[others]).all()
    env.step(actions)


def test_callbacks_that_raise_elsewhere():
    """In resets, in workers of a queue, while mjData is made; and Ctrl-C in a callback."""
    env = batchenv.make("Hopper-v5", 6, batch_size=3, num_threads=2)
    with raising(ValueError("mine")), pytest.raises(batchenv.LaneError) as caught:
        env.reset(seed=1)
    assert str(caught.value.__cause__) == "mine"
    env.reset(seed=1)
    with raising(ValueError("mine")), pytest.raises(batchenv.LaneError) as caught:
        env.send(np.zeros((3, 3), np.float32), np.arange(3))
        env.recv()
    assert str(caught.value.__cause__) == "mine"
    env.reset(seed=1)
    with raising(ValueError("mine")), pytest.raises(ValueError, match="mine"):
        env.get_attr("data")
    with raising(KeyboardInterrupt()), pytest.raises(KeyboardInterrupt):
        env.step(np.zeros((6, 3), np.float32))
    env.step(np.zeros((6, 3), np.float32))
    env.close()


def test_envs_that_are_made_while_a_callback_is_set():
    """The self-check is put off for them: it would find that steps with a callback differ, and remember it."""
    model = mujoco.MjModel.from_xml_string(xml())
    with raising(ValueError("never"), call=-1):
        lanes = library.Lanes(model, 3, 1)
    assert lanes.physics(0) == "alone, by mj_step: mjcb_control was set when the lane got its model"
    assert library.Lanes(model, 3, 1).physics(0).startswith("together")


def test_other_versions_take_mj_step(monkeypatch):
    monkeypatch.setattr(physics, "VERSIONS", ())
    told = how(batchenv.make("Hopper-v5", 3))[0]
    assert told == f"alone, by mj_step: the arithmetic of mujoco {mujoco.__version__} is not known to this batchenv"
