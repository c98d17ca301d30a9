"""Steps lanes of MuJoCo models in groups and by mj_step, and compares every number."""

import copy

import numpy as np

from batchenv import _core
from batchenv.envs.mujoco import library, physics, sensors, tendons


def always_alone():
    """Whether this MuJoCo or CPU always takes mj_step."""
    version = tuple(int(part) for part in library.load()[0].__version__.split(".")[:2])
    return version not in physics.VERSIONS or len(_core.supported_isas()) == 1


# ---- envs

TOP = '<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="9 9 1"/>'
LEG = '<body pos="0 0 .5"><joint name="a" type="slide" axis="0 0 1"/><joint name="b" axis="0 1 0"/>{}</body>'
BALL = '<geom size=".1"/>'
BODY = LEG.format(BALL)
MOTOR = '<actuator><motor joint="b" ctrlrange="-1 1"/></actuator>'


def xml(body=BODY, more="", motor=MOTOR, top=TOP):
    return f"{top}{body}</worldbody>{motor}{more}</mujoco>"


def how(env):
    return env.get_attr("physics")


def rows(env, steps, seed=1, change=None):
    """All that a run returns."""
    space = env.action_space
    space.seed(seed)
    result = [env.reset(seed=seed)[0].copy()]
    for step in range(steps):
        if change and step == steps // 2:
            change(env)
        *arrays, infos = env.step(space.sample())
        result.extend(array.copy() for array in arrays)
        for key in sorted(infos):
            values = infos[key]
            if isinstance(values, np.ndarray):
                result.extend([row.copy() for row in values if row is not None] if values.dtype == object else [values])
        if env.autoreset_mode.name == "DISABLED" and (arrays[2] | arrays[3]).any():
            result.append(env.reset(options={"reset_mask": arrays[2] | arrays[3]})[0].copy())
    return result


def assert_like_mj_step(monkeypatch, make, steps, change=None, together=True):
    """Runs of the env that make() makes are the same with BATCHENV_PHYSICS=0."""
    env = make()
    found = rows(env, steps, change=change)
    assert any(text.startswith("together") for text in how(env)) == together, how(env)
    monkeypatch.setenv("BATCHENV_PHYSICS", "0")
    alone = make()
    assert how(alone)[0] == "alone, by mj_step: BATCHENV_PHYSICS=0"
    expected = rows(alone, steps, change=change)
    assert len(found) == len(expected)
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert a.tobytes() == b.tobytes(), k
    return found


# ---- lanes without an env

LANES = 8


def lanes_of(model, names=_core.PHYSICS_ARRAYS):
    """Lanes that show every array that groups compute, or those of `names`."""
    mujoco, _ = library.load()
    data = mujoco.MjData(model)
    foreign = tendons.foreign(mujoco, model)
    shown = [name for name in names if getattr(data, name, np.zeros(0)).size and name not in foreign]
    if "sensordata" in shown and sensors.unknown(mujoco, model):
        shown.remove("sensordata")
    observed = [name for name in shown if name not in _core.MUJOCO_FIELDS]
    return library.Lanes(model, LANES, 1, observed=observed, together=False)


def push(data, rng):
    """Applies forces to joints, or to some bodies, from weak to strong."""
    strength = 10 ** rng.uniform(-2, 2)
    if rng.random() < 0.5:
        data.qfrc_applied[:] = rng.standard_normal(data.qfrc_applied.size) * strength
    for body in np.flatnonzero(rng.random(len(data.xfrc_applied)) < 0.4):
        data.xfrc_applied[body, rng.integers(6) :] = rng.standard_normal() * strength


VARIED = (
    *("body_mass", "body_inertia", "body_pos", "body_gravcomp", "dof_damping", "dof_armature", "dof_frictionloss"),
    *("jnt_stiffness", "jnt_range", "jnt_margin", "tendon_stiffness", "tendon_damping", "actuator_gainprm"),
    *("actuator_biasprm", "actuator_gear", "geom_friction", "geom_size", "geom_margin", "geom_gap", "geom_solref"),
    *("geom_pos", "geom_quat"),
)  # fields of models that lanes may have of their own, any of which may be a little larger or smaller


class Both:
    """LANES lanes of a model, which can be stepped in groups and by mj_step. names: see `lanes_of`. pushed: forces are
    applied to every other lane, and mocap bodies of some lanes are elsewhere. far: some lanes begin far away.

    Attributes:
        lanes: a library.Lanes.
    """

    def __init__(self, model, names=_core.PHYSICS_ARRAYS, pushed=False, far=False):
        mujoco, functions = library.load()
        self._pushed, self._far = pushed, far
        self.lanes = lanes = lanes_of(model, names)
        physics.together(lanes, mujoco, functions)
        self._floats, self._data = lanes.plan.floats, mujoco.MjData(model)
        low, high = np.clip(model.actuator_ctrlrange.T, -100, 100)
        free = model.actuator_ctrllimited == 0
        low[free], high[free] = -1, 1
        beyond = 0.2 * (high - low)  # MuJoCo clips controls that are out of range
        self._low, self._high = low - beyond, high + beyond

    def put_back(self):
        """Gives all lanes the model that they had at first."""
        for lane in range(LANES):
            self.lanes.source.put_model(lane, self.lanes.model, self._floats)

    def vary(self, rng):
        """Gives some lanes models of their own, if lanes with these can be in groups."""
        mujoco, _ = library.load()
        for lane in np.flatnonzero(rng.random(LANES) < 0.6).tolist():
            model = copy.copy(self.lanes.model)
            for name in rng.choice(VARIED, 4, replace=False):
                values = getattr(model, name)
                values *= rng.uniform(0.8, 1.2, values.shape)
            mujoco.mj_setConst(model, self._data)
            floats, _ = physics.floats_of(self.lanes, mujoco, model)
            if floats is not None:
                self.lanes.source.put_model(lane, model, floats)

    def _put(self, lane, rng):
        mujoco, _ = library.load()
        lanes, data, model = self.lanes, self._data, self.lanes.model
        scale = rng.choice([0.02, 0.2, 1.0])
        mujoco.mj_resetData(model, data)
        data.qpos[:] += rng.uniform(-scale, scale, model.nq)
        data.qvel[:] = rng.standard_normal(model.nv) * scale
        data.act[:] += rng.uniform(-scale, scale, model.na)
        if self._far and rng.random() < 0.1:
            for joint in np.flatnonzero(model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)):
                data.qpos[model.jnt_qposadr[joint] :][:3] += rng.uniform(-1, 1, 3) * 10 ** rng.uniform(0, 10)
        if self._pushed and lane % 2:
            push(data, rng)
        if self._pushed and lane % 3:
            data.mocap_pos += rng.uniform(-scale, scale, data.mocap_pos.shape)
            data.mocap_quat += rng.uniform(-scale, scale, data.mocap_quat.shape)
        mujoco.mj_getState(model, data, lanes.records[lane, : lanes.state_size], lanes.signature)

    def compare(self, rng, calls):
        """Steps from random states both ways, each of the `calls` so many steps with other controls.

        Returns what differs, or ""; and how many of the lanes' calls were compared, and how many were left to mj_step.
        """
        compared = left = 0
        for lane in range(LANES):
            self._put(lane, rng)
        for steps in calls:
            actions = rng.uniform(self._low, self._high, (LANES, len(self._low))).astype(np.float32)
            differs, unstable = self.lanes.source.compare(actions, steps)
            compared += int((differs == -1).sum())
            left += int((differs == -2).sum())
            for lane in np.flatnonzero(differs >= 0):
                return f"{self.lanes.name_of(int(differs[lane]))} of lane {lane}", compared, left
            for lane in np.flatnonzero(unstable):
                self._put(lane, rng)
        return "", compared, left


def solved_by_mujoco(both):
    """In how many evaluations MuJoCo solved a lane's constraints."""
    return sum(sum(both.lanes.source.counts(lane)[2]) for lane in range(LANES))


def found_by_mujoco(both):
    """In how many evaluations MuJoCo's functions looked for a lane's contacts."""
    return sum(both.lanes.source.counts(lane)[3] for lane in range(LANES))


def compare(model, rng, calls, names=_core.PHYSICS_ARRAYS, pushed=False, varied=False, far=False):
    """See `Both.compare`, and with `varied` `Both.vary`."""
    both = Both(model, names, pushed, far)
    if varied:
        both.vary(rng)
    return both.compare(rng, calls)
