"""Random attributes of models that concern smooth forces: what random_models.py has drawn does not depend on them."""

import numpy as np

FAMILIES = (
    *("gravcomp", "states", "muscles", "at_joints", "at_sites", "springs", "polynomials", "actuator_parts", "groups"),
    *("tendon_limits", "flags"),
)
FLAGS = ("actuation", "clampctrl", "damper", "spring", "autoreset")


class Smooth:
    """Draws attributes as XML, of some of FAMILIES."""

    def __init__(self, seed):
        self.rng = np.random.default_rng((seed, 2))
        self.families = {name for name in FAMILIES if self.rng.random() < 0.15}

    def draws(self, family, share):
        """Whether the next thing has something of the family."""
        return family in self.families and self.rng.random() < share

    def number(self, low, high):
        return float(f"{self.rng.uniform(low, high):.4g}")

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def numbers(self, count, low, high):
        return " ".join(str(self.number(low, high)) for _ in range(count))

    def body(self):
        return f'gravcomp="{self.number(-0.5, 1.5)}"' if self.draws("gravcomp", 0.6) else ""

    def joint(self):
        return 'actuatorgravcomp="true"' if self.draws("gravcomp", 0.4) else ""

    def spring(self, is_scalar, values):
        """Changes attributes of a joint."""
        if not is_scalar and self.draws("springs", 0.7):
            values["stiffness"] = self.number(0, 20)
        for name in ("stiffness", "damping"):
            if self.draws("polynomials", 0.4):
                values[name] = self.poly(0, 5) if is_scalar or name == "damping" else values.get(name, 0)

    def poly(self, low, high):
        return f"{self.pick(0, self.number(low, high))} {self.pick(0, self.number(-0.3, 3))} {self.number(0, 3)}"

    def tendon(self, values):
        """Changes attributes of a tendon."""
        for name in ("stiffness", "damping"):
            if self.draws("polynomials", 0.5):
                values[name] = self.poly(0, 5)
        if self.draws("tendon_limits", 0.7):
            values.update(actuatorfrclimited="true", actuatorfrcrange=f"{self.number(-2, 0)} {self.number(0, 2)}")

    def flags(self):
        return {name: "disable" for name in FLAGS if self.draws("flags", 0.35)}

    def options(self):
        return {"actuatorgroupdisable": self.pick("1", "2 3", "30")} if "groups" in self.families else {}

    def actuators(self, places, joints, sites):
        """Actuators at some of the places, such as 'joint="a"', at joints of any kind, and at sites."""
        made = "".join(self.actuator(self.pick(*places)) for _ in range(4)) if places else ""
        for _ in range(3):
            if joints and self.draws("at_joints", 0.7):
                made += self.servo(f'{self.pick("joint", "jointinparent")}="{self.pick(*joints)}"')
            if sites and self.draws("at_sites", 0.7):
                second = f' refsite="{self.pick(*sites)}"' if self.rng.random() < 0.6 else ""
                made += self.servo(f'site="{self.pick(*sites)}"{second}')
        return made

    def actuator(self, place):
        gear = f'gear="{self.number(-3, 3)}"'
        if self.draws("states", 0.6):
            return f"<{self.state()} {place} {gear} {self.shared()}/>"
        if self.draws("muscles", 0.6):
            return f"<{self.muscle()} {place} {gear} {self.shared()}/>"
        if self.draws("tendon_limits", 0.5) or self.draws("actuator_parts", 0.5) or self.draws("groups", 0.5):
            return f"<motor {place} {gear} {self.shared()}/>"
        return ""

    def shared(self, at_one_joint=True):
        """What any actuator may have."""
        group = f'group="{self.pick(0, 1, 2, 3, 30)}"' if self.draws("groups", 0.8) else ""
        if not at_one_joint or not self.draws("actuator_parts", 0.7):
            return group
        damping = self.pick(self.number(0, 1), self.poly(0, 1))
        return f'{group} armature="{self.pick(0, self.number(0, 0.5))}" damping="{damping}"'

    def servo(self, place):
        """An actuator whose gear has six numbers, some of which are 0."""
        gear = [self.number(-2, 2) if self.rng.random() < 0.6 else 0 for _ in range(6)]
        half = self.pick(0, 3, None)
        if half is not None:
            gear[half : half + 3] = [0, 0, 0]
        kind = self.pick("motor", "position", "position", "velocity", "general", "intvelocity", "filtered")
        gains = f'kp="{self.number(0, 10)}" kv="{self.number(0, 1)}"'
        text = {
            "position": f"position {gains}",
            "velocity": f'velocity kv="{self.number(0, 2)}"',
            "intvelocity": f'intvelocity {gains} actrange="-9 9"',
            "general": f'general gaintype="affine" gainprm="{self.numbers(3, -2, 2)}" forcerange="-1 2"',
            "filtered": 'general dyntype="filter" dynprm="0.1" gainprm="2" biastype="affine" biasprm="0 -2 -.1"',
        }.get(kind, kind)
        if kind in ("motor", "position") and self.rng.random() < 0.4:
            text += ' ctrlrange="-9 9" ctrllimited="true"'  # angles beyond half a turn
        return f'<{text} {place} gear="{" ".join(map(str, gear))}" {self.shared("joint" in place)}/>'

    def state(self):
        reach = f"{self.number(-1, 0)} {self.number(0, 1)}"
        kind = self.pick("general", "general", "general", "intvelocity", "cylinder", "position")
        time = self.pick(0, self.number(0.001, 0.01), self.number(0.01, 1))
        if kind == "intvelocity":
            return f'intvelocity kp="{self.number(0, 20)}" kv="{self.number(0, 2)}" actrange="{reach}"'
        if kind == "cylinder":
            return f'cylinder timeconst="{time}" area="{self.number(0, 5)}" bias="{self.numbers(3, -1, 1)}"'
        early = self.pick("", 'actearly="true"')
        limit = self.pick("", f'actlimited="true" actrange="{reach}"', f'forcerange="{reach}"')
        if kind == "position":
            return f'position kp="{self.number(0, 20)}" kv="{self.number(0, 2)}" timeconst="{time}"'
        dynamics = f'dyntype="{self.pick("integrator", "filter", "filterexact")}" dynprm="{time}" {early} {limit}'
        gain = f'gaintype="{self.pick("fixed", "affine")}" gainprm="{self.numbers(3, -5, 5)}"'
        return f'general {dynamics} {gain} biastype="{self.pick("none", "affine")}" biasprm="{self.numbers(3, -5, 0)}"'

    def muscle(self):
        reach = f"{self.number(-2, -0.1)} {self.number(0.1, 2)}"
        limit = self.pick("", f'forcerange="{self.number(-5, 0)} {self.number(0, 5)}"')
        if self.rng.random() < 0.3:
            part = f"0.75 1.05 {self.number(-1, 9)} {self.number(50, 300)} .5 1.6 1.5 1.3 1.2"
            other = f'dyntype="{self.pick("none", "filter")}" dynprm="0.05" gaintype="muscle" gainprm="{part}"'
            bias = self.pick("", f'biastype="muscle" biasprm="{part}"')
            return f'general lengthrange="{reach}" {other} {bias} {limit}'
        values = {
            "timeconst": f"{self.number(0.005, 0.05)} {self.number(0.01, 0.1)}",
            "tausmooth": self.pick(0, 0, self.number(0, 1)),
            "range": f"{self.number(0.3, 0.9)} {self.number(0.9, 1.4)}",
            "force": self.pick(-1, self.number(0, 20)),
            "scale": self.number(10, 200),
            "lmin": self.number(0.1, 0.9),
            "lmax": self.number(0.9, 2),
            "vmax": self.number(0.1, 3),
            "fpmax": self.number(0, 2),
            "fvmax": self.number(0.9, 2),
        }
        text = " ".join(f'{name}="{value}"' for name, value in values.items())
        return f'muscle lengthrange="{reach}" {text} {limit}'
