"""Random spatial tendons of models, as XML, and sliders at cranks: what random_models.py has drawn does not depend on
them."""

import numpy as np

from helpers.mujoco import mujoco

WRAPS = tuple(int(part) for part in mujoco.__version__.split(".")[:2]) >= (3, 16)  # else mj_step has such tendons


class Cords:
    """Draws spatial tendons, and sites for them, for some seeds."""

    def __init__(self, seed):
        self.rng = np.random.default_rng((seed, 3))
        self.drawn = self.rng.random() < 0.3
        self.sites, self.round = [], []

    def chance(self, share):
        return self.rng.random() < share

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def number(self, low, high):
        return float(f"{self.rng.uniform(low, high):.4g}")

    def numbers(self, count, low, high):
        return " ".join(str(self.number(low, high)) for _ in range(count))

    def site(self, scale=0.2):
        if not self.drawn:
            return ""
        self.sites.append(f"cord{len(self.sites)}")
        place = f'pos="{self.numbers(3, -scale, scale)}" euler="{self.numbers(3, -3, 3)}"'
        return f'<site name="{self.sites[-1]}" {place}/>'

    def branch(self):
        """A path between pulleys, and whether it wraps around a geom."""
        stops = self.rng.permutation(self.sites)[: self.rng.integers(2, 5)]
        path, wraps = f'<site site="{stops[0]}"/>', False
        for stop in stops[1:]:
            if WRAPS and self.round and self.chance(0.5):
                side = f'sidesite="{self.pick(*self.sites)}"' if self.chance(0.6) else ""
                path, wraps = f'{path}<geom geom="{self.pick(*self.round)}" {side}/>', True
            path += f'<site site="{stop}"/>'
        return path, wraps

    def tendons(self, friction_loss):
        """Text, and {name: whether it is limited}. friction_loss: draws attributes."""
        text, names = "", {}
        for k in range(self.pick(1, 1, 2, 3) if self.drawn and len(self.sites) > 1 else 0):
            branches = [self.branch() for _ in range(self.pick(1, 1, 1, 2))]
            path = f'<pulley divisor="{self.number(0.3, 3)}"/>'.join(branch for branch, _ in branches)
            values, limited = {"name": f"s{k}"}, self.chance(0.4)
            if self.chance(0.5):
                values["stiffness"] = self.pick(self.number(0, 50), f"{self.number(0, 9)} 0 {self.number(0, 9)}")
                values["springlength"] = self.pick("-1", f"{self.number(0, 0.2)} {self.number(0.2, 0.6)}")
            if self.chance(0.5):
                values["damping"] = self.number(0, 3)
            if limited:
                values.update(limited="true", range=f"{self.number(0, 0.3)} {self.number(0.3, 0.9)}")
                values.update(margin=self.pick(0, 0.05))
            if self.chance(0.3) and not any(wraps for _, wraps in branches):
                values["armature"] = self.number(0, 0.3)
            if self.chance(0.2):
                values.update(actuatorfrclimited="true", actuatorfrcrange=f"{self.number(-2, 0)} {self.number(0, 2)}")
            attributes = " ".join(f'{name}="{value}"' for name, value in values.items())
            text += f"<spatial {attributes} {friction_loss()}>{path}</spatial>"
            names[f"s{k}"] = limited
        return f"<tendon>{text}</tendon>", names

    def sliders(self):
        """Actuators at sliders that cranks move."""
        made = ""
        for _ in range(2 if self.drawn and len(self.sites) > 1 else 0):
            crank, slider = self.rng.permutation(self.sites)[:2]
            if self.chance(0.5):
                made += (
                    f'<position kp="{self.number(0, 20)}" kv="{self.number(0, 2)}" gear="{self.number(-2, 2)}" '
                    f'cranksite="{crank}" slidersite="{slider}" cranklength="{self.number(0.05, 3)}"/>'
                )
        return f"<actuator>{made}</actuator>"
