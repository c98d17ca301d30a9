"""Random attributes of models that concern smooth forces: what random_models.py has drawn does not depend on them."""

import numpy as np

FAMILIES = ("gravcomp", "states", "muscles")


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

    def actuators(self, places):
        """Actuators at some of the places, such as 'joint="a"'."""
        return "".join(self.actuator(self.pick(*places)) for _ in range(4)) if places else ""

    def actuator(self, place):
        gear = f'gear="{self.number(-3, 3)}"'
        if self.draws("states", 0.6):
            return f"<{self.state()} {place} {gear}/>"
        if self.draws("muscles", 0.6):
            return f"<{self.muscle()} {place} {gear}/>"
        return ""

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
