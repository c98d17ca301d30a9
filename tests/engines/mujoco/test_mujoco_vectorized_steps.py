"""Tasks over a model in NumPy that come between the steps of MuJoCo, change velocities, or draw models."""

import pickle

import numpy as np
import pytest

import batchenv
from helpers.mujoco import mujoco
from helpers.robots import LANES, Everything, Stand, actions_of, changed, make


def test_gymnasiums_ant_in_numpy():
    """The same rewards and ends as Gymnasium's own task, from the same physics."""
    from batchenv.envs.mujoco.tasks import assets

    class Ant(batchenv.MuJoCoTask):
        frame_skip = 5

        def prepare(self):
            self.state = {"x": 0.0}

        def start(self, lanes):
            lanes.qpos += lanes.uniform(-0.1, 0.1, self.model.nq)
            lanes.qvel += 0.1 * lanes.normal(0, 1, self.model.nv)

        def control(self, lanes, actions):
            lanes.x = lanes.body("torso").xpos[:, 0]
            return actions

        def reward(self, lanes, actions):
            forward = (lanes.body("torso").xpos[:, 0] - lanes.x) / lanes.dt
            return forward + ~self.terminated(lanes) - 0.5 * np.square(actions).sum(1)

        def terminated(self, lanes):
            height = lanes.qpos[:, 2]
            return ~((height >= 0.2) & (height <= 1))

        def observe(self, lanes):
            return np.concatenate([lanes.qpos[:, 2:], lanes.qvel], axis=1)

    ours = batchenv.make_mujoco(assets() / "ant.xml", 4, task=Ant, max_episode_steps=1000)
    theirs = batchenv.make("Ant-v5", 4, include_cfrc_ext_in_observation=False, contact_cost_weight=0)
    assert np.array_equal(ours.reset(seed=0)[0], theirs.reset(seed=0)[0])
    rng = np.random.default_rng(0)
    for _ in range(100):
        actions = rng.uniform(-1, 1, (4, 8)).astype(np.float32)
        one, other = ours.step(actions), theirs.step(actions)
        assert np.array_equal(one[0], other[0]) and np.array_equal(one[2], other[2])
        assert np.allclose(one[1], other[1], atol=1e-6)


class Pickled(Everything):
    pass


def test_pickles():
    env = make(Pickled, 3, weight=[1, 2, 3], max_episode_steps=20)
    env.reset(seed=0)
    env.step(np.ones((3, 3)))
    other = pickle.loads(pickle.dumps(env))
    for _ in range(3):
        one, two = env.step(np.ones((3, 3))), other.step(np.ones((3, 3)))
        assert one[0]["policy"].tobytes() == two[0]["policy"].tobytes() and one[1].tobytes() == two[1].tobytes()


class Late(Stand):
    """Servos of its own, whose targets come two of MuJoCo's steps late."""

    def prepare(self):
        super().prepare()
        self.state["before"] = np.zeros(self.model.nu)

    def control(self, lanes, actions):
        return self.torques(lanes, lanes.before)

    def recontrol(self, lanes, actions, step):
        target = super().control(lanes, actions)
        if step == 4:
            lanes.before = target
        return self.torques(lanes, lanes.before if step < 2 else target)

    def torques(self, lanes, target):
        return 20 * (target - lanes.qpos[:, 7:]) - 0.5 * lanes.qvel[:, 6:]


def test_controls_between_the_steps_of_mujoco():
    env = make(Late)
    observations, _ = env.reset(seed=2)
    model, rng = env.get_attr("model")[0], np.random.default_rng(0)
    datas = [mujoco.MjData(model) for _ in range(LANES)]
    for data, row in zip(datas, observations, strict=True):
        data.qpos[:], data.qvel[:] = row[: model.nq], row[model.nq : model.nq + model.nv]
        mujoco.mj_forward(model, data)
    before = np.zeros((LANES, 12))
    for _ in range(20):
        actions = actions_of(rng)
        observations, *_ = env.step(actions)
        targets = model.qpos0[7:] + 0.25 * actions.astype(float)
        for lane, data in enumerate(datas):
            for step in range(5):
                target = before[lane] if step < 2 else targets[lane]
                data.ctrl[:] = 20 * (target - data.qpos[7:]) - 0.5 * data.qvel[6:]
                mujoco.mj_step(model, data)
            assert np.array_equal(observations[lane, : model.nq], data.qpos)
        before = targets
    assert env.get_attr("physics")[0].startswith("together")
    some = env.step(actions[:2], [4, 2])[0]
    for row, lane, action in zip(some, (4, 2), actions, strict=False):
        data, target = datas[lane], model.qpos0[7:] + 0.25 * action.astype(float)
        for step in range(5):
            data.ctrl[:] = 20 * ((before[lane] if step < 2 else target) - data.qpos[7:]) - 0.5 * data.qvel[6:]
            mujoco.mj_step(model, data)
        assert np.array_equal(row[: model.nq], data.qpos)


class Kicked(Stand):
    """Its velocities change at once."""

    def control(self, lanes, actions):
        lanes.qvel[:, :3] += actions[:, :3]
        lanes.joint("fl_hip").qvel = actions[:, 3:4]
        return super().control(lanes, actions)


@pytest.mark.parametrize("base", [Stand, Late])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_velocities_that_a_task_changes(base, mode):
    """The steps of MuJoCo begin with them, in groups, of all lanes or some."""
    env = make(type("Kicked", (Kicked, base), {}), autoreset_mode=mode, least_height=-9.0, max_episode_steps=9)
    env.reset(seed=2)
    model, rng = env.get_attr("model")[0], np.random.default_rng(0)
    hip = model.joint("fl_hip").dofadr[0]
    for step in range(30):
        actions, before = actions_of(rng), env.get_attr("data")
        late = env.state["before"] if base is Late else None
        chosen = np.array([4, 1]) if step % 3 == 2 else np.arange(LANES)
        _, _, _, truncated, _ = env.step(actions[chosen], chosen) if len(chosen) < LANES else env.step(actions)
        after = env.get_attr("data")
        for lane in chosen[~truncated]:
            data, action = before[lane], actions[lane].astype(float)
            if after[lane].time == 0:
                continue  # it was reset in this step
            data.qvel[:3] += action[:3]
            data.qvel[hip] = action[3]
            for k in range(5):
                target = model.qpos0[7:] + 0.25 * action
                if base is Late:
                    target = late[lane] if k < 2 else target
                    data.ctrl[:] = 20 * (target - data.qpos[7:]) - 0.5 * data.qvel[6:]
                else:
                    data.ctrl[:] = target
                mujoco.mj_step(model, data)
            assert np.array_equal(data.qpos, after[lane].qpos) and np.array_equal(data.qvel, after[lane].qvel), step
    assert env.get_attr("physics")[0].startswith("together")


@pytest.mark.parametrize("how", ["ignore", "reset", "raise"])
def test_simulations_that_are_unstable_between_controls(how):
    """What happens in any of MuJoCo's steps counts, not only what does in the last."""

    class Bad(Late):
        def recontrol(self, lanes, actions, step):
            controls = super().recontrol(lanes, actions, step)
            if self.armed and step == 1:
                controls[lanes.numbers == 2] = np.nan
            return controls

        armed = False

    env = make(Bad, on_unstable=how)
    env.reset(seed=0)
    zeros = np.zeros((LANES, 12), np.float32)
    env.step(zeros)
    snapshot = env.snapshot()
    expected = env.step(zeros)[0]
    for numbers in ((), ([5, 2],)):
        env.restore(snapshot)
        Bad.armed = True
        try:
            result, failed = env.step(zeros[: 2 if numbers else LANES], *numbers), []
        except batchenv.LaneError as error:
            result, failed = error.result, error.env_id.tolist()
        Bad.armed = False
        where = 1 if numbers else 2
        assert failed == ([2] if how == "raise" else [])
        assert np.flatnonzero(result[3]).tolist() == ([] if how == "ignore" else [where])
        if how != "raise":
            assert np.flatnonzero(result[4]["unstable"]).tolist() == [where]
    env.restore(snapshot)  # into a lane that had ended
    result = env.step(zeros)
    assert result[0].tobytes() == expected.tobytes() and "unstable" not in result[4]


class Varied(Stand):
    """Each episode has a model of its own."""

    def start(self, lanes):
        super().start(lanes)
        scale = lanes.uniform(0.5, 1.5)
        damping = np.full(self.model.nv, 0.5)
        lanes.set_model(dof_damping=damping)
        damping[:] = 9  # which is the task's own array again
        lanes.set_model(
            body_mass=self.model.body_mass * scale[:, None],
            body_inertia=self.model.body_inertia * scale[:, None, None],
        )


def test_models_of_episodes():
    env = make(Varied, max_episode_steps=3)
    env.reset(seed=1)
    seen = []
    for _ in range(2):
        models = env.get_attr("model")
        seen.append([model.body_mass[1] for model in models])
        datas = [mujoco.MjData(model) for model in models]
        for data, state in zip(datas, env.get_attr("data"), strict=True):
            data.qpos[:], data.qvel[:] = state.qpos, state.qvel
            mujoco.mj_forward(data.model, data)
        for _ in range(3):
            observations, *_ = env.step(np.zeros((LANES, 12), np.float32))
            for row, data in zip(observations, datas, strict=True):
                data.ctrl[:] = data.model.qpos0[7:]
                mujoco.mj_step(data.model, data, 5)
                assert np.array_equal(row[: data.model.nq], data.qpos)
            assert all((model.dof_damping == 0.5).all() for model in models)
        env.step(np.zeros((LANES, 12), np.float32))
    assert len({*seen[0], *seen[1]}) == 2 * LANES
    other = pickle.loads(pickle.dumps(env))
    one, two = env.step(np.zeros((LANES, 12), np.float32)), other.step(np.zeros((LANES, 12), np.float32))
    assert one[0].tobytes() == two[0].tobytes()


@pytest.mark.parametrize(
    "fields,words",
    [
        ({"body_mas": 1}, r"no field 'body_mas' of mjModel can be set.*body_mass"),
        ({"body_mass": [1, 2, 3]}, r"body_mass is of shape \(3,\), but must be of shape \(14,\)"),
    ],
)
def test_models_that_are_refused(fields, words):
    with pytest.raises((ValueError, RuntimeError), match=words):
        make(changed(start=lambda self, lanes: lanes.set_model(**fields)))
    with pytest.raises(RuntimeError, match=r"set_model\(\) is for start\(\)"):
        make(changed(update=lambda self, lanes, actions: lanes.set_model(**fields)))


def test_masses_that_mujoco_refuses():
    """The lanes that start fail, and say why."""
    task = changed(
        start=lambda self, lanes: self.armed and lanes.set_model(body_mass=-1 * self.model.body_mass), armed=0
    )
    env = make(task)
    env.reset(seed=0)
    task.armed = True
    with pytest.raises(batchenv.LaneError, match=r"body_mass\[1\] of lane 0 must be more than 0"):
        env.reset(seed=0)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_sums_of_terms(mode):
    env = make(Everything, 4, max_episode_steps=5, autoreset_mode=mode, record_episode_statistics=True)
    env.reset(seed=0)
    sums = {"alive": np.zeros(4), "track": np.zeros(4)}
    ended = 0
    for _ in range(14):
        _, _, _, truncations, infos = env.step(np.zeros((4, 3)))
        told = infos.get("final_info", infos)
        if "reward" not in told:  # lanes have been reset
            assert mode == "NextStep" and (env.state["elapsed_steps"] == 0).all()
            continue
        for name, total in sums.items():
            total += told["reward"][name]
            assert np.array_equal(told["reward_sums"][name], total)
        if truncations.any():
            ended += 1
            assert np.allclose(infos["episode"]["r"], sums["alive"] + sums["track"])
            sums = {name: np.zeros(4) for name in sums}
    assert ended == 2
    snapshot = env.snapshot()
    before = env.step(np.zeros((4, 3)))[4]
    env.restore(snapshot)
    after = env.step(np.zeros((4, 3)))[4]
    before, after = (told.get("final_info", told)["reward_sums"]["track"] for told in (before, after))
    assert np.array_equal(before, after)
    with pytest.raises(ValueError, match=r"'reward_sums', but lanes\.reward_sums is something else"):
        make(changed(params={"reward_sums": 1.0}))
