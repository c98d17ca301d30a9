"""Fields of mjModel that lanes have of their own: the same bits as by mj_step whatever they are, or an error.

BATCHENV_FUZZ_CHANGES sets how many random changes of each field are made to each model (the default is few),
BATCHENV_FUZZ_SEED the first one's seed, and BATCHENV_FUZZ_FILES names models' files, with : between them, that are
changed in addition to Gymnasium's.
"""

import os
import pickle

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

import batchenv
from batchenv import _core
from batchenv.envs.mujoco import fields, physics
from batchenv.envs.mujoco.tasks import assets
from helpers.mujoco import mujoco
from helpers.parity import Case, follow, make_gymnasium
from helpers.together import BODY, LANES, LEG, Both, always_alone, assert_like_mj_step, how, rows, xml

CHANGES = int(os.environ.get("BATCHENV_FUZZ_CHANGES", LANES))
FIRST = int(os.environ.get("BATCHENV_FUZZ_SEED", "0"))
FILES = ["half_cheetah.xml", "humanoid.xml", "pusher_v5.xml"]
if CHANGES > LANES:
    FILES += ["ant.xml", "hopper.xml", "humanoidstandup.xml", "inverted_double_pendulum.xml", "inverted_pendulum.xml"]
    FILES += ["reacher.xml", "swimmer.xml", "walker2d_v5.xml"]
FILES += [path for path in os.environ.get("BATCHENV_FUZZ_FILES", "").split(":") if path]
ISAS = _core.supported_isas()

together = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")


# ---- bounds that MuJoCo's compiler computes

TWO = LEG.format('<geom size=".1" pos=".2 0 0"/><geom type="capsule" size=".05 .1" pos="-.2 0 0"/>')
WIDER = {"geom_margin": lambda model: model.geom_margin + 0.02}
MOVED = {"body_ipos": lambda model: model.body_ipos + [[0.1, 0.05, 0.3]] * (model.body_simple == 0)[:, None]}
LARGER = {"geom_size": lambda model: model.geom_size * 1.2}
BOUNDS = [
    *[(f"{task}-v5", WIDER) for task in ("HalfCheetah", "Humanoid", "HumanoidStandup", "Pusher")],
    *[("HalfCheetah-v5", values) for values in (MOVED, LARGER, {**MOVED, **WIDER, **LARGER})],
    *[(xml(TWO), values) for values in (WIDER, MOVED, LARGER)],
]


def make_of(model, count, **keywords):
    if model.startswith("<"):
        return batchenv.make_mujoco(model, count, qpos_noise=0.3, **keywords)
    return batchenv.make(model, count, **keywords)


@together
@pytest.mark.parametrize("model, values", BOUNDS)
def test_bounds_that_no_longer_hold(model, values, monkeypatch):
    """MuJoCo overlooks contacts of geoms that have become larger than its compiler knew, and so do lanes."""

    def make():
        env = make_of(model, 6)
        before = env.get_attr("model")[0]
        env.set_params(lanes=[0, 2, 3, 5], **{name: new(before) for name, new in values.items()})
        return env

    assert_like_mj_step(monkeypatch, make, 80)


def test_a_margin_at_the_start():
    """As in Gymnasium's env with the same margin."""
    for task in ("HalfCheetah", "Humanoid", "Pusher"):

        def changed(env_id=f"{task}-v5"):
            env = make_gymnasium(env_id)
            env.unwrapped.model.geom_margin[:] += 0.02
            return env

        margin = changed().unwrapped.model.geom_margin
        follow(Case(f"{task}-v5"), batchenv.make(f"{task}-v5", 3, geom_margin=margin), SyncVectorEnv([changed] * 3), 60)


def test_pickled_lanes_keep_the_bounds_that_they_had():
    """MuJoCo does not know of a margin that was set after the last field from which it computes others."""
    for order in ([WIDER, MOVED], [MOVED, WIDER], [MOVED, WIDER, LARGER, MOVED, WIDER]):
        env = batchenv.make("HalfCheetah-v5", 3)
        for values in order:
            model = env.get_attr("model")[1]
            env.set_params(lanes=[1, 2], **{name: new(model) for name, new in values.items()})
        copy = pickle.loads(pickle.dumps(env))
        for name in ("body_margin", "geom_rbound", "bvh_aabb", "dof_invweight0", "geom_margin", "geom_size"):
            for mine, theirs in zip(copy.get_attr("model"), env.get_attr("model"), strict=True):
                np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))
        for a, b in zip(rows(copy, 20), rows(env, 20), strict=True):
            assert a.tobytes() == b.tobytes()


# ---- why a lane is stepped alone

CAUSES = {
    "geom_margin": WIDER["geom_margin"],
    "geom_size": LARGER["geom_size"],
    "geom_gap": lambda model: model.geom_gap - 0.01,
    "body_ipos": lambda model: model.body_ipos + [[0, 0.5, 0.7]] * model.nbody,
    "geom_solimp": lambda model: model.geom_solimp * 1.5,
    "dof_damping": lambda model: 0 * model.dof_damping,
    "dof_frictionloss": lambda model: model.dof_frictionloss + 0.1,
    "jnt_stiffness": lambda model: 0 * model.jnt_stiffness,
    "viscosity": lambda model: np.array(0.1),
}
COMMON = ("body_mass", "body_inertia", "body_pos", "dof_damping", "dof_armature", "jnt_stiffness", "geom_friction")
COMMON += ("geom_solref", "actuator_gainprm", "actuator_gear", "gravity", "jnt_range")


@together
@pytest.mark.parametrize("name", CAUSES)
def test_the_field_is_named(name):
    env = batchenv.make("HalfCheetah-v5", 4)
    before = env.get_attr("model")[0]
    env.set_params(lanes=[1], **{name: CAUSES[name](before)}, geom_friction=before.geom_friction * 1.1)
    told = how(env)
    assert told[1].startswith("alone") and name in told[1], told[1]
    assert not [other for other in fields.MODEL_FIELDS if other in told[1].replace("body_iquat", "") and other != name
                and not {other, name} <= {"geom_solref", "geom_solimp"}]  # fmt: skip
    assert all(text.startswith("together") for text in (told[0], told[2], told[3]))


@together
@pytest.mark.parametrize("task", ["HalfCheetah", "Humanoid", "Ant", "Hopper"])
def test_common_randomisations_stay_in_groups(task):
    env = batchenv.make(f"{task}-v5", 8)
    rng = np.random.default_rng(1)
    model = env.get_attr("model")[0]
    for name in COMMON:
        value = fields.read(model, name)
        env.set_params(**{name: value * rng.uniform(0.9, 1.1, (8, *value.shape[:1], *(1,) * (value.ndim - 1)))})
        assert all(text.startswith("together") for text in how(env)), (name, how(env))


def test_lanes_that_get_the_same_numbers_share_a_model():
    """As long as they do; a lane that gets others later leaves those of its neighbours alone."""
    env = batchenv.make("Hopper-v5", 6, gravity=[0, 0, -5])
    lanes = env._backend.translator.lanes
    assert len({id(lanes.source.model(lane)) for lane in range(6)}) == 1
    env.set_params(lanes=[1, 2], gravity=[0, 0, -7])
    env.set_params(dof_damping=np.arange(36).reshape(6, 6) // 18 + 1.0)
    assert [model.opt.gravity[2] for model in env.get_attr("model")] == [-5, -7, -7, -5, -5, -5]
    assert [model.dof_damping[0] for model in env.get_attr("model")] == [1, 1, 1, 2, 2, 2]
    assert len({id(lanes.source.model(lane)) for lane in range(6)}) == 3


@together
def test_what_a_check_of_the_lanes_model_finds(monkeypatch):
    """The lane is stepped alone, with a reason and a warning."""

    def wrong(lanes, *rest, right=physics.floats_of):
        floats, why = right(lanes, *rest)
        floats[lanes.plan.starts[_core.PHYSICS_FLOATS.index("opt_gravity")] + 2] *= 1.001
        return floats, why

    env = batchenv.make("Hopper-v5", 12)
    with monkeypatch.context() as patch, pytest.warns(UserWarning, match="stepped one by one: .* differs from mj_step"):
        patch.setattr(physics, "floats_of", wrong)
        env.set_params(lanes=[3], gravity=[0, 0, -9])
    env.set_params(lanes=[*range(4, 12)], gravity=np.arange(24).reshape(8, 3))
    told = how(env)
    assert "differs from mj_step's" in told[3] and "in the check of the lane's model" in told[3]
    assert all(text.startswith("together") for lane, text in enumerate(told) if lane != 3)


# ---- impossible numbers

LIMITED = xml(
    '<body pos="0 0 .5"><freejoint/><geom size=".1"/><body pos=".3 0 0"><joint name="b" range="-1 1" limited="true"/>'
    '<geom type="capsule" size=".05 .1"/></body></body>',
    motor='<actuator><motor joint="b" forcerange="-1 2" forcelimited="true"/></actuator>',
)
IMPOSSIBLE = [
    ("actuator_forcerange", (0,), [2, -1], r"\[0\] of lane 1 must be in increasing order, got \[ 2. -1.\]"),
    ("jnt_range", (1,), [1, -1], r"\[1\] of lane 1 must be in increasing order"),
    ("geom_size", (1, 0), -0.1, r"\[1, 0\] of lane 1 must be more than 0, as in the model, got -0.1"),
    ("geom_size", (2, 1), 0, r"\[2, 1\] of lane 1 must be more than 0"),
    ("geom_size", (0, 0), -1, r"\[0, 0\] of lane 1 must be 0 or more"),
    ("geom_friction", (0, 0), -1, r"\[0, 0\] of lane 1 must be 0 or more"),
    ("dof_frictionloss", (3,), -1, r"\[3\] of lane 1 must be 0 or more"),
    ("body_quat", (1,), 0, r"\[1\] of lane 1 must be a quaternion, not all 0"),
    ("body_iquat", (1,), 0, r"\[1\] of lane 1 must be a quaternion, not all 0"),
    ("jnt_axis", (1,), 0, r"\[1\] of lane 1 must be a direction, not all 0"),
    ("density", (), -1, " of lane 1 must be 0 or more, got -1"),
    ("viscosity", (), -1, " of lane 1 must be 0 or more"),
    ("impratio", (), 0, " of lane 1 must be more than 0"),
]


@pytest.mark.parametrize("name, place, value, words", IMPOSSIBLE)
def test_impossible_numbers(name, place, value, words):
    env = batchenv.make_mujoco(LIMITED, 3)
    array = np.stack([fields.read(env.get_attr("model")[0], name)] * 3)
    array[(1, *place)] = value
    with pytest.raises(ValueError, match=name + words):
        env.set_params(**{name: array})
    with pytest.raises(ValueError, match=name + words):
        batchenv.make_mujoco(LIMITED, 3, **{name: array})
    env.set_params(lanes=[0, 2], **{name: array})
    env.reset(seed=1)


def test_numbers_that_the_model_has_are_possible():
    """MuJoCo's compiler lets them through where they are not used: a range of an actuator without limits, and so on."""
    motor = '<actuator><motor joint="b" forcerange="2 -1" forcelimited="false"/></actuator>'
    text = xml(BODY.replace('size=".1"', 'size=".1" friction="-1"'), motor=motor)
    env = batchenv.make_mujoco(text, 2)
    model = env.get_attr("model")[0]
    env.set_params(actuator_forcerange=model.actuator_forcerange, geom_friction=model.geom_friction)
    ground = model.geom_size.copy()
    ground[0] = 0  # a plane without end
    env.set_params(geom_size=ground)


# ---- random changes


def changed(rng, values):
    """A random change of a field: small or huge, of some or of all of its numbers."""
    with np.errstate(over="ignore"):
        new = {
            "mild": values * rng.uniform(0.7, 1.3, values.shape),
            "scaled": values * 10.0 ** rng.uniform(-9, 9),
            "none": values * 0,
            "turned": -values,
            "moved": values + rng.choice([0.001, 0.02, 0.3, -0.01]),
            "hardly moved": values + rng.standard_normal(values.shape) * 10.0 ** rng.uniform(-17, -5),
            "other": rng.standard_normal(values.shape),
            "extreme": rng.choice([1e9, 1e-9, 1e-16, 1e-300, 1e300, -1e-9], values.shape),
        }
    some = rng.random(values.shape) < rng.choice([0.1, 0.5, 1.0])
    return np.where(some, new[rng.choice(list(new))], values)


@together
@pytest.mark.parametrize("k", range(len(FILES) * (len(ISAS) if CHANGES > LANES else 1)))
def test_random_changes(k, monkeypatch):
    """With few changes, instruction sets go by turns."""
    monkeypatch.setenv("BATCHENV_ISA", ISAS[(k + k // len(FILES)) % len(ISAS)])
    model = mujoco.MjModel.from_xml_path(str(assets() / FILES[k % len(FILES)]))  # which may be an absolute path
    if physics.reasons(mujoco, model):
        pytest.skip("always alone")
    both = Both(model)
    wrong = []
    grouped = 0
    for name in fields.MODEL_FIELDS:
        before = fields.read(model, name)
        for seed in range(FIRST, FIRST + CHANGES, LANES) if before.size else ():
            rng = np.random.default_rng([seed, fields.MODEL_FIELDS.index(name)])
            both.put_back()
            for lane in range(LANES):
                try:
                    fields.set_fields(both.lanes, np.array([lane]), {name: changed(rng, before)})
                except ValueError:  # an impossible number
                    continue
                told = both.lanes.physics(lane)
                grouped += told.startswith("together")
                if "differs" in told:  # the check of the lane's model has found it
                    wrong.append((name, seed, told))
            difference, _, _ = both.compare(rng, (1, 2, 20, 8))
            if difference:
                wrong.append((name, seed, difference))
    assert not wrong, wrong
    assert grouped > LANES * 10
