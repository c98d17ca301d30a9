"""Random models, stepped several lanes at a time and by mj_step: every number is the same to the last bit.

BATCHENV_FUZZ_MODELS sets how many models there are (the default is few), BATCHENV_FUZZ_SEED the first one's seed.
"""

import os

import numpy as np
import pytest

from batchenv import _core
from batchenv.engines.mujoco import physics
from helpers.mujoco import mujoco
from helpers.together import LANES, compare

MODELS = int(os.environ.get("BATCHENV_FUZZ_MODELS", "25"))
FIRST = int(os.environ.get("BATCHENV_FUZZ_SEED", "0"))
VERSION = tuple(int(part) for part in mujoco.__version__.split(".")[:2])
pytestmark = pytest.mark.skipif(VERSION not in physics.VERSIONS, reason="this MuJoCo always takes mj_step")


class Model:
    """A random model as XML."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.joints, self.made, self.places = [], 0, []
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
        actuators, tendons = self.actuators(), self.tendons()
        flags = ""
        if self.chance(0.5):  # drawn last, so that seeds still have the models that they had before there were these
            tendons += self.more_tendons()
            actuators += self.servos()
            flags = self.flags()
        self.text = (
            f'<mujoco><compiler angle="radian"/><option {self.attributes(options)}>{flags}</option>'
            f"<worldbody>{plane}{bodies}</worldbody>{tendons}{actuators}</mujoco>"
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

    def more_tendons(self):
        """With springs, dampers and limits, over any joints in any order."""
        tendons = ""
        for k in range(self.pick(0, 1, 2) if self.joints else 0):
            chosen = self.rng.permutation(self.joints)[: self.rng.integers(1, 7)]
            parts = "".join(f'<joint joint="{name}" coef="{self.number(-1, 1)}"/>' for name in chosen)
            values = {"name": f"t{k}"}
            if self.chance(0.5):
                values.update(stiffness=self.number(0, 20), springlength=self.numbers(1, -0.5, 0.5))
            if self.chance(0.3):
                values["springlength"] = f"{self.number(-0.5, 0)} {self.number(0, 0.5)}"
            if self.chance(0.5):
                values["damping"] = self.number(0, 2)
            if self.chance(0.3):
                values.update(
                    limited="true", range=f"{self.number(-1, 0)} {self.number(0, 1)}", margin=self.pick(0, 0.1)
                )
            tendons += f"<fixed {self.attributes(values)}>{parts}</fixed>"
            self.places.append(f'tendon="t{k}"')
        return f"<tendon>{tendons}</tendon>"

    def servos(self):
        """Actuators whose forces depend on where they are, at joints and tendons."""
        places = [*self.places, *(f'joint="{name}"' for name in self.joints)]
        servos = ""
        for _ in range(self.pick(1, 2, 4) if places else 0):
            kind = self.pick("position", "velocity", "motor", "general", "damper")
            values = {
                "position": {"kp": self.number(0, 50), "kv": self.number(0, 2)},
                "velocity": {"kv": self.number(0, 5)},
                "damper": {"kv": self.number(0, 5), "ctrlrange": "0 1"},
                "general": {
                    **{"gaintype": self.pick("fixed", "affine"), "gainprm": self.numbers(3, -5, 5)},
                    **{"biastype": self.pick("none", "affine"), "biasprm": self.numbers(3, -5, 0)},
                },
            }.get(kind, {})
            if self.chance(0.4):
                values["forcerange"] = f"{self.number(-3, 0)} {self.number(0, 3)}"
            servos += f'<{kind} {places[self.rng.integers(len(places))]} gear="{self.number(-3, 3)}" '
            servos += f"{self.attributes(values)}/>"
        return f"<actuator>{servos}</actuator>"

    def flags(self):
        names = [name for name in ("gravity", "eulerdamp", "limit", "contact", "constraint") if self.chance(0.1)]
        values = {name: "disable" for name in names}
        if self.chance(0.3):
            values["energy"] = "enable"
        return f"<flag {self.attributes(values)}/>"


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
        difference, count, _ = compare(model, np.random.default_rng(seed), (1, 4, 30, 2, 60, 3))
        compared += count
        if difference:
            wrong.append((seed, difference))
    assert not wrong, f"seeds: {wrong}"
    assert together > MODELS / 2 and compared > together * LANES
