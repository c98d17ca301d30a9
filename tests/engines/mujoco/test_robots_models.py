"""Models of robots that differ from lane to lane, terrain, and examples/own_task/walk.py, which has everything."""

import copy
import pickle

import numpy as np
import pytest

import batchenv
from batchenv import robots
from helpers.mujoco import mujoco
from helpers.robots import ROBOT, Probe, example, played, probe

walk = example("walk")


# ---- models that differ ----------------------------------------------------------------------------------------------


class Drawn(Probe):
    def prepare(self):
        self.part = self.make(self.model)
        self.state = {"one": 0.0}


def models(draw, lanes=40, seed=0):
    """Models of lanes whose episodes have started with a Randomization to which `draw` has added."""

    def make(model):
        randomization = robots.Randomization(model)
        draw(randomization)
        return randomization

    env = probe(make, lanes, Drawn)
    env.reset(seed=seed)
    assert all(told.startswith("together") for told in env.get_attr("physics")), env.get_attr("physics")
    return mujoco.MjModel.from_xml_path(str(ROBOT)), env.get_attr("model")


def field(found, name):
    return np.stack([np.array(getattr(model, name)) for model in found])


class SomeBad(Probe):
    """Lane 2 draws a mass that no body can have."""

    def prepare(self):
        self.state = {"one": 0.0}

    def start(self, lanes):
        masses = np.repeat(self.model.body_mass[None], len(lanes), axis=0)
        masses[lanes.numbers == 2, 1] = self.bad
        lanes.set_model(body_mass=masses * 2)


@pytest.mark.parametrize("bad", [-1.0, np.nan])
def test_a_lane_that_draws_what_no_model_can_have_fails_alone(bad):
    """All lanes that started with it failed."""
    env = probe(lambda model: None, 4, SomeBad, bad=bad)
    with pytest.raises(batchenv.LaneError, match=r"lane 2: .*body_mass") as caught:
        env.reset(seed=0)
    assert caught.value.env_id.tolist() == [2]
    masses = field(env.get_attr("model"), "body_mass")[:, 1]
    before = mujoco.MjModel.from_xml_path(str(ROBOT)).body_mass[1]
    assert masses.tolist() == [2 * before, 2 * before, before, 2 * before]


def test_scale_of_some_columns():
    before, after = models(lambda drawn: drawn.scale("geom_friction", (0.5, 2), names=".*_foot", columns=0))
    ratio = field(after, "geom_friction") / before.geom_friction
    feet = [before.geom(name).id for name in ("fl_foot", "fr_foot", "hl_foot", "hr_foot")]
    drawn = ratio[:, feet, 0]
    assert (ratio[:, feet, 1:] == 1).all() and (np.delete(ratio, feet, axis=1) == 1).all()
    assert 0.5 <= drawn.min() < 0.6 and 1.9 < drawn.max() <= 2 and (drawn[:, 0] != drawn[:, 1]).all()


def test_one_number_for_all():
    before, after = models(lambda drawn: drawn.scale("dof_damping", (0.5, 2), together=True))
    ratio = field(after, "dof_damping")[:, 6:] / before.dof_damping[6:]
    np.testing.assert_allclose(ratio, np.tile(ratio[:, :1], 12))
    assert len(np.unique(ratio[:, 0])) == 40


def test_mass_with_inertia():
    before, after = models(lambda drawn: drawn.add("body_mass", (-1, 3), names="trunk", with_inertia=True))
    mass = field(after, "body_mass")
    assert 5 <= mass[:, 1].min() < 5.5 and 8.5 < mass[:, 1].max() <= 9 and (mass[:, 2:] == before.body_mass[2:]).all()
    ratio = field(after, "body_inertia") / np.where(before.body_inertia == 0, 1, before.body_inertia)
    np.testing.assert_allclose(ratio[:, 1], np.repeat(mass[:, 1:2] / 6, 3, axis=1))
    np.testing.assert_array_equal(field(after, "body_inertia")[:, 2:], np.tile(before.body_inertia[2:], (40, 1, 1)))
    assert len(np.unique(field(after, "body_subtreemass")[:, 1])) == 40  # computed anew


def test_distributions():
    def draw(drawn):
        drawn.set("dof_armature", (0.001, 0.1), names=".*_hip", distribution="log_uniform")
        drawn.add("dof_damping", (2, 0.5), names=".*_hip", distribution="normal")
        drawn.set("gravity", (-1, 1), columns=[0, 1])

    before, after = models(draw, 60)
    armature = np.log(field(after, "dof_armature")[:, [6, 9, 12, 15]])
    assert np.log(0.001) <= armature.min() and armature.max() <= np.log(0.1)
    assert abs(armature.mean() - np.log(0.01)) < 0.3
    damping = field(after, "dof_damping")[:, [6, 9, 12, 15]]
    assert abs(damping.mean() - 2.5) < 0.15 and 0.4 < damping.std() < 0.6
    gravity = np.stack([model.opt.gravity for model in after])
    assert (gravity[:, 2] == before.opt.gravity[2]).all() and np.unique(gravity[:, :2]).size == 120
    np.testing.assert_array_equal(field(after, "dof_armature")[:, 7], np.full(60, 0.01))


def test_changes_of_one_field_follow_each_other():
    def draw(drawn):
        drawn.scale("actuator_gainprm", (2, 2), columns=0)
        drawn.add("actuator_gainprm", (1, 1), names="fl_.*", columns=0)

    before, after = models(draw, 2)
    gains = field(after, "actuator_gainprm")[:, :, 0]
    np.testing.assert_array_equal(gains[:, :3], np.tile(2 * before.actuator_gainprm[:3, 0] + 1, (2, 1)))
    np.testing.assert_array_equal(gains[:, 3:], np.tile(2 * before.actuator_gainprm[3:, 0], (2, 1)))


@pytest.mark.parametrize("pool", [0, 5])
def test_critics_may_see_what_was_drawn(pool):
    class Shown(Probe):
        def start(self, lanes):
            self.part.start(lanes)

    def make(model):
        drawn = robots.Randomization(model, pool=pool)
        drawn.scale("geom_friction", (0.5, 2), names=".*_foot", columns=[0, 1], together=True)
        drawn.add("body_mass", (0, 3), names="trunk")
        drawn.set("dof_armature", (0.01, 0.02), names=".*_hip")
        return drawn

    env = probe(make, 6, Shown)
    observations, _ = env.reset(seed=0)
    assert observations.shape == (6, 2 + 1 + 4) and observations.tobytes() == env.state["drawn"].tobytes()
    before = mujoco.MjModel.from_xml_path(str(ROBOT))
    for model, row in zip(env.get_attr("model"), observations, strict=True):
        ratio = model.geom("fl_foot").friction / before.geom("fl_foot").friction
        np.testing.assert_allclose(row, [*ratio[:2], model.body_mass[1] - 6, *model.dof_armature[[6, 9, 12, 15]]])


def test_models_that_are_refused_are_not_kept(monkeypatch):
    """Neither they nor those of a call that failed: their self-check may not have come to its end."""
    env = batchenv.make_mujoco(ROBOT, 4)
    env.reset(seed=0)
    lanes, mass = env._backend.translator.lanes, env.get_attr("model")[0].body_mass * np.linspace(1, 2, 4)[:, None]
    with pytest.raises(ValueError, match="body_mass"):
        env.set_params(body_mass=-mass)
    assert not lanes.kept

    def fail(*arguments):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("batchenv.envs.mujoco.physics.check_models", fail)
        with pytest.raises(MemoryError):
            env.set_params(body_mass=mass)
    assert not lanes.kept
    env.set_params(body_mass=mass)
    assert len(lanes.kept) == 4 and all(told.startswith("together") for told in env.get_attr("physics"))


def test_a_pool_of_models():
    """Each episode has one of them, whichever lane it is in; they are made once."""

    def make(model):
        drawn = robots.Randomization(model, pool=7, seed=3)
        drawn.scale("geom_friction", (0.5, 2), names=".*_foot", columns=0, together=True)
        drawn.add("body_mass", (0, 3), names="trunk", with_inertia=True)
        return drawn

    env, again = (probe(make, 12, Drawn, max_episode_steps=2) for _ in range(2))
    env.reset(seed=0)
    again.reset(seed=0)
    seen, zeros = {}, np.zeros(env.action_space.shape, np.float32)
    lanes = env._backend.translator.lanes
    for _ in range(30):
        for lane in range(12):
            model = lanes.source.model(lane)
            seen[id(model)] = model
        assert env.step(zeros)[0].tobytes() == again.step(zeros)[0].tobytes()
    masses = {float(model.body_mass[1]) for model in seen.values()}
    assert len(seen) == len(masses) == 7 and 6 <= min(masses) < max(masses) <= 9
    frictions = {(float(model.body_mass[1]), float(model.geom("fl_foot").friction[0])) for model in seen.values()}
    assert len(frictions) == 7  # drawn together
    assert all(told.startswith("together") for told in env.get_attr("physics"))
    with pytest.raises(ValueError, match="pool=-1 must be at least 0"):
        robots.Randomization(mujoco.MjModel.from_xml_path(str(ROBOT)), pool=-1)


@pytest.mark.parametrize(
    ("how", "arguments", "message"),
    [
        ("scale", ("geom_frictoin", (1, 2)), "no field 'geom_frictoin'.*geom_friction"),
        ("scale", ("body_mass", (2, 1)), r"values=\(2, 1\)"),
        ("scale", ("body_mass", (0, 1), "distribution", "log_uniform"), "larger than 0"),
        ("scale", ("body_mass", (0, -1), "distribution", "normal"), "a deviation, which is not negative"),
        ("scale", ("body_mass", (0, 1), "distribution", "gauss"), "'uniform', 'log_uniform', 'normal'"),
        ("add", ("geom_size", (0, 1), "with_inertia", True), "with_inertia=True is for body_mass"),
        ("set", ("body_mass", (0, 1), "names", "trunck"), "no body 'trunck'.*trunk"),
        ("set", ("gravity", (0, 1), "names", "trunk"), "belongs to the whole model"),
        ("set", ("geom_friction", (0, 1), "columns", 3), "columns=3 must be at most 2"),
    ],
)
def test_bad_randomization(how, arguments, message):
    drawn = robots.Randomization(mujoco.MjModel.from_xml_path(str(ROBOT)))
    field, values, *more = arguments
    with pytest.raises(ValueError, match=message):
        getattr(drawn, how)(field, values, **dict(zip(more[::2], more[1::2], strict=True)))


# ---- terrain ---------------------------------------------------------------------------------------------------------


def on_terrain(spec, kinds=robots.TERRAINS):
    robots.add_terrain(spec, kinds, levels=3, tile=4.0, friction=[0.9, 0.01, 0.01])
    return spec.compile()


@pytest.fixture(scope="module")
def terrain():
    """The robot on all kinds of terrain."""
    spec = mujoco.MjSpec.from_file(str(ROBOT))
    spec.delete(spec.geom("floor"))
    return on_terrain(spec)


def test_terrain():
    """Sites are on its surface, tiles are flat in the middle, and become harder."""
    terrain = on_terrain(mujoco.MjSpec())
    data = mujoco.MjData(terrain)
    mujoco.mj_forward(terrain, data)
    ground, rough = np.zeros(1, np.int32), np.zeros((3, len(robots.TERRAINS)))

    def height(x, y):
        distance = mujoco.mj_ray(terrain, data, np.array([x, y, 9.0]), np.array([0, 0, -1.0]), None, 1, 1, ground, None)
        assert terrain.geom(ground[0]).name.startswith("terrain")
        return 9 - distance

    for level in range(3):
        for kind in range(len(robots.TERRAINS)):
            x, y, z = data.site(f"terrain_{level}_{kind}").xpos
            for dx, dy in [(0.03, 0.03), (0.7, 0.7), (-0.7, 0.2)]:
                assert height(x + dx, y + dy) == pytest.approx(z, abs=2e-3)
            axis = np.arange(-1.9, 2, 0.3)
            rough[level, kind] = np.std([height(x + dx, y + dy) for dx in axis for dy in axis])
    assert (rough[:, 0] < 0.03).all()  # flat, but for the borders to its neighbours
    assert (np.diff(rough[:, 1:], axis=0) > 0).all()
    assert (terrain.geom_friction == [0.9, 0.01, 0.01]).all()


def test_terrain_of_boxes_alone():
    """It is on a plane, whose contacts are found in groups."""
    terrain = on_terrain(mujoco.MjSpec(), ["flat", "box_stairs"])
    assert terrain.nhfield == 0 and terrain.geom("terrain").type == mujoco.mjtGeom.mjGEOM_PLANE
    assert terrain.site("terrain_0_0").pos[2] == 0 and terrain.site("terrain_2_1").pos[2] == pytest.approx(2 * 0.2)


class Climbing(Probe):
    max_episode_steps = 50

    def update(self, lanes, actions):
        self.part.update(lanes, np.where(lanes.numbers % 2 == 0, 0.5, 0.0))


def test_levels(terrain):
    """Who walks far is promoted, who stays behind a command is demoted; seeds begin anew."""
    env = probe(robots.TerrainLevels, 16, Climbing, terrain)
    env.reset(seed=0)
    first, kinds = env.state, len(robots.TERRAINS)
    assert (first["terrain_level"] == 0).all() and (first["terrain_kind"] == np.arange(16) % kinds).all()
    sites = np.array([terrain.site(f"terrain_0_{kind % kinds}").pos for kind in range(16)])
    starts = np.stack([data.qpos[:3] for data in env.get_attr("data")])
    np.testing.assert_allclose(starts, sites + np.array([0, 0, 0.27]))

    def restart(walked, asked, level):
        env.set_state({"terrain_walked": walked, "terrain_asked": asked, "terrain_level": level})
        env.reset()
        state = env.state
        assert not state["terrain_walked"].any() and not state["terrain_asked"].any()
        return state["terrain_level"]

    assert (restart(2.1, 9.0, 0) == 1).all()  # a tile's half is 2 m
    assert (restart(1.9, 3.7, 1) == 1).all()
    assert (restart(0.9, 2.0, 1) == 0).all()
    assert (restart(0.0, 9.0, 0) == 0).all()
    assert set(restart(2.1, 0.0, 2)) == {0, 1, 2}
    highest = restart(2.1, 0.0, 1)
    assert (highest == 2).all()
    starts = np.stack([data.qpos[:2] for data in env.get_attr("data")])
    np.testing.assert_allclose(starts, [terrain.site(f"terrain_2_{kind % kinds}").pos[:2] for kind in range(16)])
    env.reset(seed=[3, *[None] * 15])
    assert env.state["terrain_level"].tolist() == [0, *[2] * 15]
    env.reset(seed=0, options={"reset_mask": np.arange(16) == 5})
    assert env.state["terrain_level"].tolist() == [0, *[2] * 4, 0, *[2] * 10]
    saved = env.snapshot()
    env.reset(seed=1)
    assert not env.state["terrain_level"].any()
    env.restore(saved)
    assert env.state["terrain_level"].sum() == 28


def test_first_levels(terrain):
    """Each of the first ones is as probable as the others."""
    env = probe(lambda model: robots.TerrainLevels(model, most=1), 300, Climbing, terrain)
    env.reset(seed=0)
    assert 100 < env.state["terrain_level"].sum() < 200


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_what_is_kept_of_lanes_that_wait(mode):
    """No step counts that they do not take."""

    class Counts(batchenv.MuJoCoTask):
        keeps = "steps"

        def prepare(self):
            self.state = {"steps": 0, "own": 0}

        def control(self, lanes, actions):
            lanes.own += 1
            return actions

        def terminated(self, lanes):
            return lanes.own > 2 + lanes.numbers

        def update(self, lanes, actions):
            lanes.steps += 1

    env = batchenv.make_mujoco(ROBOT, 4, task=Counts, autoreset_mode=mode)
    env.reset(seed=0)
    stepped, waits = np.zeros(4, int), np.zeros(4, bool)
    for _ in range(20):
        _, _, ended, _, _ = env.step(np.zeros((4, 12), np.float32))
        stepped += ~waits
        waits = ended & (mode == "NextStep")
        np.testing.assert_array_equal(env.state["steps"], stepped)


def test_distances_on_terrain(terrain):
    env = probe(robots.TerrainLevels, 4, Climbing, terrain)
    states = played(env, 10)
    np.testing.assert_allclose(states["terrain_asked"][-1], [0.1, 0, 0.1, 0])
    moved = np.stack([data.qpos[:2] for data in env.get_attr("data")])
    moved -= [terrain.site(f"terrain_0_{kind}").pos[:2] for kind in range(4)]
    np.testing.assert_allclose(states["terrain_walked"][-1], np.linalg.norm(moved, axis=1))


def test_levels_of_a_task_that_does_not_keep_them(terrain):
    """What `robots.states` notes is what makes the difference, or `keeps`; a name that is no state is refused."""
    env = probe(robots.TerrainLevels, 2, Climbing, terrain, prepare=forgetful)
    env.reset(seed=0)
    env.set_state({"terrain_walked": 3.0, "terrain_level": 1})
    env.reset()
    assert not env.state["terrain_level"].any()
    env = probe(robots.TerrainLevels, 2, Climbing, terrain, prepare=careful)
    env.reset(seed=0)
    env.set_state({"terrain_walked": 3.0, "terrain_level": 1})
    env.reset()
    assert (env.state["terrain_level"] == 2).all()
    with pytest.raises(ValueError, match=r"keeps: 'terrain_levl' is no part of the task's state.*terrain_level"):
        probe(robots.TerrainLevels, 2, Climbing, terrain, prepare=misspelt)


def forgetful(task):
    Probe.prepare(task)
    task.state = dict(task.state)


def careful(task):
    forgetful(task)
    task.keeps = task.part.kept


def test_states_that_are_joined():
    """By the user, who adds something of their own."""
    for kept in (robots.states(Keeper()) | {"own": 0}, {"own": 0} | robots.states(Keeper())):
        assert kept.kept == ("a",) and dict(kept) == {"a": 0, "own": 0}


class Keeper:
    state, kept = {"a": 0}, ("a",)


def misspelt(task):
    Probe.prepare(task)
    task.keeps = "terrain_levl"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kinds": ["rough", "slop"]}, "'slop' must be one of 'flat'"),
        ({"kinds": []}, "at least one"),
        ({"levels": 0}, "levels=0"),
        ({"cell": 0}, "must have 4 to 2000 cells"),
        ({"tile": 0.1}, "must have 4 to 2000 cells"),
    ],
)
def test_bad_terrain(arguments, message):
    with pytest.raises(ValueError, match=message):
        robots.add_terrain(mujoco.MjSpec(), **arguments)


def test_levels_without_terrain():
    with pytest.raises(RuntimeError, match=r"the model has no sites terrain_0_0 .*robots.add_terrain"):
        probe(robots.TerrainLevels, 2)


# ---- models that are given as such -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["MjModel", "MjSpec"])
@pytest.mark.parametrize("task", [None, Drawn])
def test_models_that_are_given(kind, task):
    """As from the XML file, whatever becomes of the user's own; they can be pickled."""
    spec = mujoco.MjSpec.from_file(str(ROBOT))
    given = spec if kind == "MjSpec" else spec.compile()
    keywords = {} if task is None else {"task": type("Task", (task,), {"make": lambda *_: None})}
    env = batchenv.make_mujoco(given, 3, **keywords)
    if kind == "MjModel":
        given.opt.gravity[:] = 0
    else:
        given.option.gravity[:] = 0
    other = batchenv.make_mujoco(ROBOT, 3, **keywords)
    assert env.reset(seed=0)[0].tobytes() == other.reset(seed=0)[0].tobytes()
    actions = np.full(env.action_space.shape, 0.3, np.float32)
    for _ in range(5):
        assert env.step(actions)[0].tobytes() == other.step(actions)[0].tobytes()
    if task is None:
        again = pickle.loads(pickle.dumps(env))
        assert again.step(actions)[0].tobytes() == other.step(actions)[0].tobytes()
    else:
        again = copy.deepcopy(env)
        assert again.step(actions)[0].tobytes() == other.step(actions)[0].tobytes()


def test_models_that_are_none():
    with pytest.raises(ValueError, match="xml is not a model that mujoco"):
        spec = mujoco.MjSpec()
        spec.worldbody.add_body().add_freejoint()
        batchenv.make_mujoco(spec, 2)
    with pytest.raises(TypeError, match=r"the path of an XML file, XML text, or a mujoco\.MjModel, not int"):
        batchenv.make_mujoco(3, 2)


# ---- all of it together ----------------------------------------------------------------------------------------------


def test_walk_depends_neither_on_threads_nor_on_the_number_of_lanes():
    spec = walk.model()
    envs = [batchenv.make_mujoco(spec, lanes, task=walk.Walk, num_threads=threads, max_episode_steps=30, **more)
            for lanes, threads, more in ((4, 1, {}), (4, 2, {}), (9, 2, {}), (4, 1, {"autoreset_mode": "SameStep"}))
            ]  # fmt: skip
    first = [env.reset(seed=3)[0]["policy"][:4] for env in envs]
    assert all(one.tobytes() == first[0].tobytes() for one in first)
    rng = np.random.default_rng(0)
    for step in range(60):
        actions = rng.uniform(-1, 1, (9, 12)).astype(np.float32)
        results = [env.step(actions[: env.num_envs]) for env in (envs if step < 29 else envs[:3])]
        for observations, rewards, *_, infos in results:
            assert observations["policy"][:4].tobytes() == results[0][0]["policy"].tobytes(), step
            assert observations["critic"][:4].tobytes() == results[0][0]["critic"].tobytes(), step
            assert rewards[:4].tobytes() == results[0][1].tobytes()
            for name, terms in infos.get("reward", {}).items():
                assert terms[:4].tobytes() == results[0][4]["reward"][name].tobytes(), name


def test_walk_goes_on_in_copies():
    """They have the lanes' own models, too."""
    env = batchenv.make_mujoco(walk.model(), 4, task=walk.Walk, max_episode_steps=25)
    env.reset(seed=0)
    given = np.random.default_rng(1).uniform(-1, 1, (60, 4, 12)).astype(np.float32)
    for actions in given[:30]:
        env.step(actions)
    other = copy.deepcopy(env)
    for actions in given[30:]:
        assert env.step(actions)[0]["critic"].tobytes() == other.step(actions)[0]["critic"].tobytes()
