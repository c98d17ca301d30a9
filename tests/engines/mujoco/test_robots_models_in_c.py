"""Models that are drawn for each episode, and levels of terrain: a task in C has the bits of the same one in NumPy."""

import pickle

import mujoco
import numpy as np
import pytest

import batchenv
from batchenv import robots
from helpers.robots import ROBOT, compiled, example

LANES, NUMBERS = 6, 1 + 1 + 12 + 18  # drawn: of friction, of the mass, of gains, of armatures

TABLES = """
static const be_drawn drawn[] = {
    {"geom_friction", ".*_foot", BE_SCALE, 0.5, 1.5, .columns = BE_COLUMN(0), .together = 1},
    {"body_mass", "trunk", BE_ADD, -0.5, 1, .with_inertia = 1},
    {"actuator_gainprm", NULL, BE_SCALE, 1, 0.05, BE_NORMAL, .columns = BE_COLUMN(0)},
    {"dof_armature", NULL, BE_SET, 0.001, 0.1, BE_LOG_UNIFORM},
    {0},
};
enum { ACTION = MJ_FIELDS, TERRAIN };
"""
START = """
    const be_mujoco_view *model = be_mujoco_of(b);
    double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS];
    be_append(qpos, model->init_qpos, model->num_qpos);
    be_append(be_mujoco_arrays(b, lane)[MJ_QVEL], model->init_qvel, model->num_qvel);
    be_terrain_start(b, lane, &terrain, 1);
    const int status = be_mujoco_draw_model(b, lane, error);
    if (status != BE_OK) return status;
    for (int64_t j = 7; j < model->num_qpos; j++) qpos[j] += be_rng_uniform(&b->rng[lane], -0.1, 0.1);
    return be_mujoco_begin(b, lane, error);"""
OBSERVED = """[2];
    int64_t count;
    const double *numbers = be_mujoco_drawn_of(b, lane, &count);
    row = be_append(row, numbers, count);
    *row++ = (double)*MJ_FIELD(b, TERRAIN + BE_TERRAIN_LEVEL, int64_t, lane);
    *row++ = be_mujoco_read_of(b, lane, FRICTION)[0];
}"""
EDITS = {
    '#include "mujoco_task.h"\n': '#include "mujoco_task.h"\n#include "mujoco_terrain.h"\n',
    "enum { ACTION = MJ_FIELDS };": TABLES,
    'asked for last"},': 'asked for last"}, BE_TERRAIN_FIELDS(TERRAIN),',
    "enum { TRUNK, FEET, GYRO };": "enum { TRUNK, FEET, GYRO, SITES, FRICTION };",
    '[GYRO] = {"sensordata", "sensor", "gyro"},': """[GYRO] = {"sensordata", "sensor", "gyro"},
    [SITES] = BE_TERRAIN_READ("terrain"), [FRICTION] = {"model.geom_friction", "geom", "fl_foot"},""",
    "enum { UNSTABLE": "static const be_terrain terrain = {SITES, TERRAIN};\nenum { UNSTABLE",
    "+ model->reads[FEET].count;": "+ model->reads[FEET].count + be_mujoco_num_drawn(setup) + 2;",
    "[2];\n}": OBSERVED,
    "    return be_mujoco_start(b, lane, be_param_of(b, NOISE, lane), 0, error);": START,
    "    const float *action = MJ_ACTION(b, rows, lane);": """    const float *action = MJ_ACTION(b, rows, lane);
    be_terrain_update(b, lane, &terrain, 0.5);""",
    ".control = control,": ".control = control, .drawn = drawn, .model_pool = 4,",
}  # of examples/own_task/stand.c


class Varied(example("stand").Stand):
    pool = 0

    def prepare(self):
        super().prepare()
        self.levels = robots.TerrainLevels(self.model, most=1)
        self.drawn = drawn = robots.Randomization(self.model, pool=self.pool)
        drawn.scale("geom_friction", (0.5, 1.5), names=".*_foot", columns=0, together=True)
        drawn.add("body_mass", (-0.5, 1), names="trunk", with_inertia=True)
        drawn.scale("actuator_gainprm", (1, 0.05), columns=0, distribution="normal")
        drawn.set("dof_armature", (0.001, 0.1), distribution="log_uniform")
        self.state = robots.states(self.levels, self.drawn, **self.state)
        self.friction = self.model.geom("fl_foot").friction[0]

    def start(self, lanes):
        self.levels.start(lanes)
        self.drawn.start(lanes)
        lanes.qpos[:, 7:] += lanes.uniform(-0.1, 0.1, self.model.nu)

    def update(self, lanes, actions):
        super().update(lanes, actions)
        self.levels.update(lanes, 0.5)

    def observe(self, lanes):
        friction = self.friction * lanes.drawn[:, :1]
        return np.concatenate([super().observe(lanes), lanes.drawn, lanes.terrain_level[:, None], friction], axis=1)


@pytest.fixture(scope="module")
def in_c(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("c"), "Varied", EDITS)


@pytest.fixture(scope="module")
def model():
    spec = mujoco.MjSpec.from_file(str(ROBOT))
    spec.delete(spec.geom("floor"))
    robots.add_terrain(spec, ("flat", "rough"), levels=4, tile=2.0)
    return spec.compile()


def make(in_c, model, lanes=LANES, **keywords):
    return batchenv.make(in_c, lanes, xml_file=model, **{"max_episode_steps": 4, "least_height": -9.0, **keywords})


def play(env, steps, seed=0):
    """Observations, rewards and flags of so many steps."""
    rng, results = np.random.default_rng(seed), []
    for _ in range(steps):
        actions = rng.uniform(-1, 1, env.action_space.shape).astype(np.float32)
        results += [np.copy(array) for array in env.step(actions)[:4]]
    return results


def alike(one, other):
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(("pool", "mode", "threads"), [(0, "NextStep", 2), (4, "NextStep", 1), (4, "SameStep", 2)])
def test_bits_of_the_task_in_numpy(pool, mode, threads, in_c, model):
    keywords = {"autoreset_mode": mode, "max_episode_steps": 4, "num_threads": threads, "least_height": -9.0}
    ours = make(in_c, model, model_pool=pool, **keywords)
    task = type("Varied", (Varied,), {"pool": pool})
    theirs = batchenv.make_mujoco(model, LANES, task=task, **keywords)
    first = ours.reset(seed=3)[0]
    assert first.tobytes() == theirs.reset(seed=3)[0].tobytes()
    for step, (one, other) in enumerate(zip(play(ours, 14), play(theirs, 14), strict=True)):
        assert one.tobytes() == other.tobytes(), step
    assert len(np.unique(first[:, -2 - NUMBERS])) == LANES if pool == 0 else 4
    levels = ours.state["terrain_level"]
    np.testing.assert_array_equal(levels, theirs.state["terrain_level"])
    assert ours.get_attr("physics")[0].startswith("together")
    for one, other in zip(ours.get_attr("model"), theirs.get_attr("model"), strict=True):
        for name in ("body_mass", "body_inertia", "geom_friction", "dof_armature", "dof_invweight0"):
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


def test_levels_rise_and_fall_and_a_seed_begins_anew(in_c, model):
    env = make(in_c, model, lanes=32)
    first = env.reset(seed=5)[0].copy()
    assert set(first[:, -2]) == {0, 1}
    np.testing.assert_array_equal(env.state["terrain_kind"], np.arange(32) % 2)
    env.set_state({"terrain_walked": np.arange(32) % 4 / 2 + 0.1, "terrain_asked": np.full(32, 2.4)})
    before = env.state["terrain_level"]
    env.reset()
    change = np.where(np.arange(32) % 4 >= 2, 1, -1)  # 1.1 m is farther than half a tile of 2 m
    np.testing.assert_array_equal(env.state["terrain_level"], np.maximum(before + change, 0))
    assert env.reset(seed=5)[0].tobytes() == first.tobytes()


@pytest.mark.parametrize("pool", [0, 4])
def test_snapshots_and_pickles_hold_the_models(pool, in_c, model):
    env = make(in_c, model, model_pool=pool)
    env.reset(seed=1)
    play(env, 2)
    saved = env.snapshot()
    expected = play(env, 2)  # to the end of the episode
    play(env, 5, seed=1)  # other episodes, with other models
    env.restore(saved)
    assert alike(play(env, 2), expected)
    other = make(in_c, model, model_pool=4 - pool)  # whose models are others
    other.reset(seed=2)
    other.restore(saved)
    assert alike(play(other, 2), expected)
    env.restore(saved)
    copy = pickle.loads(pickle.dumps(env))
    assert alike(play(copy, 14), play(env, 14))


def test_fields_of_the_user_stay(in_c, model):
    env = make(in_c, model)
    env.reset(seed=1)
    env.set_params(gravity=[0, 0, -5.0])
    play(env, 9)
    for lane, one in enumerate(env.get_attr("model")):
        assert one.opt.gravity[2] == -5
        assert one.body("trunk").mass != model.body("trunk").mass, lane
    friction = {one.geom("fl_foot").friction[0] for one in env.get_attr("model")}
    assert 1 < len(friction) <= 4


@pytest.mark.parametrize("pool", [0, 4])
def test_pickles_hold_a_drawn_field_that_the_user_has_set(pool, in_c, model):
    env = make(in_c, model, model_pool=pool)
    env.reset(seed=1)
    env.set_params(geom_friction=np.full(model.geom_friction.shape, 0.3))
    copy = pickle.loads(pickle.dumps(env))
    for one, other in zip(env.get_attr("model"), copy.get_attr("model"), strict=True):
        assert (one.geom_friction == 0.3).all()
        for name in ("geom_friction", "body_mass", "body_inertia", "dof_armature"):
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
    assert alike(play(copy, 9), play(env, 9))
    assert all(one.geom("fl_foot").friction[0] != 0.3 for one in env.get_attr("model"))  # drawn anew


def test_what_a_seeded_lane_does_depends_on_the_seed_alone(model, tmp_path):
    drawing = "    const int status = be_mujoco_draw_model(b, lane, error);"
    assert START.count(drawing) == 1
    sometimes = START.replace(
        drawing, f"    int status = BE_OK;\n    if (be_rng_double(&b->rng[lane]) < 0.5)\n{drawing}"
    )
    sometimes = sometimes.replace("const int status = be_mujoco_draw_model", "    status = be_mujoco_draw_model")
    edits = {key: sometimes if value == START else value for key, value in EDITS.items()}
    for pool in (0, 4):
        env = make(compiled(tmp_path, f"Sometimes{pool}", edits), model, model_pool=pool)
        first = env.reset(seed=3)[0].copy()
        env.reset(seed=4)
        assert env.reset(seed=3)[0].tobytes() == first.tobytes()


def test_a_model_that_cannot_be_restored(in_c, model, monkeypatch):
    from batchenv.envs.mujoco import drawn

    env = make(in_c, model, model_pool=0)
    env.reset(seed=1)
    saved = env.snapshot()
    env.reset(seed=2)

    def refuse(*arguments, **keywords):
        raise MemoryError("no room")

    monkeypatch.setattr(drawn.fields, "set_fields", refuse)
    with pytest.raises(RuntimeError, match="lane 0 cannot be restored: the model") as failed:
        env.restore(saved)
    assert isinstance(failed.value.__cause__, MemoryError)


def test_drawn_fields_are_no_keywords(in_c, model):
    with pytest.raises(ValueError, match="geom_friction is drawn for each episode"):
        make(in_c, model, geom_friction=model.geom_friction)


def test_lanes_share_the_models_of_the_pool(in_c, model):
    env = make(in_c, model, lanes=16, num_threads=2)
    env.reset(seed=1)
    play(env, 9)
    source = env._backend.translator.lanes.source
    assert len({id(source.model(lane)) for lane in range(16)}) <= 4


@pytest.mark.parametrize("threads", [1, 2])
def test_settling_tasks_fail_alike_whoever_begins_with_them(threads, model, tmp_path):
    """Lanes that begin together draw once, as one that begins alone does."""
    tables = TABLES.replace("BE_ADD, -0.5, 1,", "BE_ADD, -9, 9,")
    begin = """
static int64_t begin(be_batch *b, int64_t lane, be_error *error) {
    const be_mujoco_view *model = be_mujoco_of(b);
    double *qpos = be_mujoco_arrays(b, lane)[MJ_QPOS];
    be_append(qpos, model->init_qpos, model->num_qpos);
    be_append(be_mujoco_arrays(b, lane)[MJ_QVEL], model->init_qvel, model->num_qvel);
    be_terrain_start(b, lane, &terrain, 1);
    if (be_mujoco_draw_model(b, lane, error) != BE_OK || be_mujoco_begin(b, lane, error) != BE_OK) return -1;
    return 20;
}
static int open_settling(be_batch *b, const void *engine, be_error *error) {
    return be_mujoco_open_settling(b, engine, begin, error);
}
static int start(be_batch"""
    edits = {**EDITS, "enum { ACTION = MJ_FIELDS };": tables, "static int start(be_batch": begin}
    edits["    return be_mujoco_start(b, lane, be_param_of(b, NOISE, lane), 0, error);"] = (
        "    return be_mujoco_settle(b, lane, error);"
    )
    edits["    MJ_MEMBERS, "] = '    MJ_MEMBERS_OPENED("MuJoCo", open_settling, BE_LANE_BY_LANE), '
    env_id = compiled(tmp_path, f"Settling{threads}", edits)
    found = []
    for lanes in (range(8), [0], [5]):
        env = make(env_id, model, lanes=len(lanes), model_pool=0, num_threads=threads)
        results = []
        for seed in range(4):
            try:
                env.reset(seed=[100 * seed + lane for lane in lanes])
                failed = []
            except batchenv.LaneError as error:
                failed = error.env_id.tolist()
            results.append([k in failed for k in range(len(lanes))])
        found.append(results)
    assert 0 < sum(failed for result in found[0] for failed in result) < 32
    for one, lane in ((found[1], 0), (found[2], 5)):
        for alone, together in zip(one, found[0], strict=True):
            assert alone[0] == together[lane]


def test_one_lane_fails_whose_model_cannot_be(in_c, model, tmp_path):
    tables = EDITS["enum { ACTION = MJ_FIELDS };"].replace("BE_ADD, -0.5, 1,", "BE_ADD, -30, 30,")
    edits = {**EDITS, "enum { ACTION = MJ_FIELDS };": tables}
    env = make(compiled(tmp_path, "Heavy", edits), model, model_pool=0)
    with pytest.raises(batchenv.LaneError, match="model of its episode") as failed:
        env.reset(seed=1)
    assert 0 < len(failed.value.env_id) < LANES
    assert "body_mass" in str(next(iter(failed.value.causes.values())))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"geom_friction", ".*_foot"', '"geom_frictoin", ".*_foot"', "row 0 .*did you mean 'geom_friction'"),
        ('"geom_friction", ".*_foot"', '"geom_friction", ".*_hoof"', "row 0 .*no geom '.*_hoof'"),
        ("BE_ADD, -0.5, 1", "BE_ADD, 1, -0.5", "row 1 .*least, largest"),
        ("BE_COLUMN(0), .together", "BE_COLUMN(5), .together", "row 0 .*columns"),
    ],
)
def test_wrong_tables(before, after, message, model, tmp_path, request):
    assert TABLES.count(before) == 1
    edits = {**EDITS, "enum { ACTION = MJ_FIELDS };": TABLES.replace(before, after)}
    name = f"Wrong{len(request.node.name)}{abs(hash(after))}"
    with pytest.raises((ValueError, TypeError), match=message):
        make(compiled(tmp_path, name, edits), model)
