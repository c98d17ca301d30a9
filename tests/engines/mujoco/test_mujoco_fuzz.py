"""Random models, stepped several lanes at a time and by mj_step: every number is the same to the last bit.

BATCHENV_FUZZ_MODELS sets how many models there are (the default is few), BATCHENV_FUZZ_SEED the first one's seed.
"""

import os

import numpy as np
import pytest

from batchenv import _core
from batchenv.engines.mujoco import library, physics
from helpers.mujoco import mujoco

MODELS = int(os.environ.get("BATCHENV_FUZZ_MODELS", "25"))
FIRST = int(os.environ.get("BATCHENV_FUZZ_SEED", "0"))
LANES = 8
VERSION = tuple(int(part) for part in mujoco.__version__.split(".")[:2])
pytestmark = pytest.mark.skipif(VERSION not in physics.VERSIONS, reason="this MuJoCo always takes mj_step")


class Model:
    """A random model as XML."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.joints, self.made = [], 0
        options = {
            "timestep": self.pick(0.001, 0.002, 0.005, 0.01),
            "integrator": self.pick("Euler", "RK4"),
            "solver": self.pick("Newton", "Newton", "PGS", "PGS", "CG"),
            "cone": self.pick("pyramidal", "pyramidal", "pyramidal", "elliptic"),
            "iterations": self.pick(100, 100, 3),
            "ls_iterations": self.pick(50, 50, 4),
            "impratio": self.pick(1, 1, 5),
            "tolerance": self.pick(1e-8, 1e-8, 1e-4),
        }
        if self.chance(0.2):
            options.update(density=self.number(1, 2000), viscosity=self.pick(0, self.number(0, 1)))
        trees = self.pick(1, 1, 1, 1, 2)
        bodies = "".join(self.tree(3 * k) for k in range(trees))
        plane = f'<geom type="plane" size="9 9 1" {self.surface()} {self.turned(0.1) if self.chance(0.3) else ""}/>'
        self.text = (
            f'<mujoco><compiler angle="radian"/><option {self.attributes(options)}/>'
            f"<worldbody>{plane}{bodies}</worldbody>"
            f"{self.actuators()}{self.tendons()}</mujoco>"
        )

    def chance(self, share):
        return self.rng.random() < share

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def number(self, low, high):
        return float(f"{self.rng.uniform(low, high):.4g}")

    def numbers(self, count, low, high):
        return " ".join(str(self.number(low, high)) for _ in range(count))

    def turned(self, scale=3.0):
        return f'euler="{self.numbers(3, -scale, scale)}"'

    @staticmethod
    def attributes(values):
        return " ".join(f'{name}="{value}"' for name, value in values.items())

    def curve(self, end=""):
        """solref and solimp."""
        if self.chance(0.4):
            return ""
        ref = f"{self.number(0.002, 0.1)} {self.number(0.3, 1.5)}"
        if self.chance(0.2):
            ref = f"{self.number(-900, -10)} {self.number(-60, -1)}"
        low = self.number(0.1, 0.95)
        high = self.pick(low, self.number(low, 0.99))
        power = self.pick(1, 2, 2, self.number(1, 4))
        return (
            f'solref{end}="{ref}" solimp{end}="{low} {high} {self.number(0.001, 0.1)} {self.number(0.1, 0.9)} {power}"'
        )

    def surface(self):
        more = f'friction="{self.numbers(3, 0.001, 1.5)}" condim="{self.pick(1, 3, 3, 3, 4, 6)}" {self.curve()}'
        if self.chance(0.3):
            more += f' margin="{self.number(0, 0.05)}"'
        if self.chance(0.1):
            more += f' gap="{self.number(0, 0.01)}"'
        if self.chance(0.2):
            more += f' priority="{self.pick(0, 1)}" solmix="{self.pick(0, 0.5, 2)}"'
        return more

    def geom(self):
        kind = self.pick("sphere", "capsule", "capsule", "capsule", "cylinder", "box", "ellipsoid")
        sizes = {"sphere": 1, "capsule": 2, "cylinder": 2}.get(kind, 3)
        affinity = "" if self.chance(0.3) else 'contype="1" conaffinity="0"'  # touches the plane only
        place = f'pos="{self.numbers(3, -0.1, 0.1)}" {self.turned()}' if self.chance(0.7) else ""
        return f'<geom type="{kind}" size="{self.numbers(sizes, 0.03, 0.2)}" {place} {affinity} {self.surface()}/>'

    def joint(self):
        self.made += 1
        name = f"j{self.made}"
        kind = self.pick("hinge", "hinge", "hinge", "slide", "ball")
        values = {"name": name, "type": kind, "pos": self.numbers(3, -0.1, 0.1)}
        if kind != "ball":
            values["axis"] = self.pick("1 0 0", "0 1 0", "0 0 1", self.numbers(3, 0.1, 1))
            self.joints.append(name)
            if self.chance(0.5):
                values.update(limited="true", range=f"{self.number(-1, 0)} {self.number(0, 1)}")
            if self.chance(0.2):
                values.update(margin=self.number(0, 0.1))
            if self.chance(0.3):
                values.update(stiffness=self.number(0, 20), springref=self.number(-0.5, 0.5))
        if self.chance(0.5):
            values["damping"] = self.number(0, 2)
        if self.chance(0.3):
            values["armature"] = self.number(0, 0.5)
        if self.chance(0.03):
            values["frictionloss"] = self.number(0, 0.5)
        return f"<joint {self.attributes(values)} {self.curve('limit') if kind != 'ball' else ''}/>"

    def body(self, depth):
        geoms = "".join(self.geom() for _ in range(self.pick(1, 1, 1, 2)))
        joints = "".join(self.joint() for _ in range(self.pick(0, 1, 1, 1, 2)))
        site = f'<site pos="{self.numbers(3, -0.1, 0.1)}" {self.turned()}/>' if self.chance(0.2) else ""
        children = "".join(self.body(depth + 1) for _ in range(self.pick(0, 1, 1, 2) if depth < 4 else 0))
        place = f'pos="{self.numbers(3, -0.3, 0.3)}" {self.turned() if self.chance(0.5) else ""}'
        return f"<body {place}>{joints}{geoms}{site}{children}</body>"

    def tree(self, where):
        root = "<freejoint/>" if self.chance(0.5) else '<joint type="slide" axis="0 0 1"/>' + self.joint()
        geoms, child = self.geom(), self.body(1)
        return f'<body pos="{where} 0 {self.number(0.1, 0.7)}">{root}{geoms}{child}{self.body(2)}</body>'

    def actuators(self):
        chosen = [name for name in self.joints if self.chance(0.6)] or self.joints[:1]
        limit = self.pick('ctrlrange="-1 1" ctrllimited="true"', "")
        motors = "".join(f'<motor joint="{name}" gear="{self.number(-20, 20)}" {limit}/>' for name in chosen)
        return f"<actuator>{motors}</actuator>"

    def tendons(self):
        if len(self.joints) < 3 or self.chance(0.8):
            return ""
        parts = "".join(f'<joint joint="{name}" coef="{self.number(-1, 1)}"/>' for name in self.joints[:2])
        return f"<tendon><fixed>{parts}</fixed></tendon>"


def compare(model, rng):
    """Steps the model in groups and by mj_step. Returns what differs, or "", and how many lane steps were compared."""
    _, functions = library.load()
    lanes = library.Lanes(model, LANES, 1, ("xpos", "cvel", "cfrc_ext", "qfrc_constraint"), together=False)
    physics.together(lanes, mujoco, functions)
    data = mujoco.MjData(model)
    compared = 0

    def put(lane):
        scale = rng.choice([0.02, 0.2, 1.0])
        mujoco.mj_resetData(model, data)
        data.qpos[:] += rng.uniform(-scale, scale, model.nq)
        data.qvel[:] = rng.standard_normal(model.nv) * scale
        mujoco.mj_getState(model, data, lanes.records[lane, : lanes.state_size], lanes.signature)

    for lane in range(LANES):
        put(lane)
    for steps in (1, 4, 30, 2, 60, 3):
        actions = rng.uniform(-1, 1, (LANES, model.nu)).astype(np.float32)
        differs, unstable = lanes.source.compare(actions, steps)
        compared += int((differs == -1).sum())
        for lane in np.flatnonzero(differs >= 0):
            return f"{lanes.name_of(int(differs[lane]))} of lane {lane}", compared
        for lane in np.flatnonzero(unstable):
            put(lane)
    return "", compared


@pytest.mark.parametrize("isa", _core.supported_isas())
def test_random_models(isa, monkeypatch):
    monkeypatch.setenv("BATCHENV_ISA", isa)
    together = compared = 0
    wrong = []
    for seed in range(FIRST, FIRST + MODELS):
        try:
            model = mujoco.MjModel.from_xml_string(Model(seed).text)
        except ValueError:  # a body without mass, and the like
            continue
        if physics.reasons(mujoco, model) or model.nu == 0:
            continue
        together += 1
        difference, count = compare(model, np.random.default_rng(seed))
        compared += count
        if difference:
            wrong.append((seed, difference))
    assert not wrong, f"seeds: {wrong}"
    assert together > MODELS / 2 and compared > together * LANES
