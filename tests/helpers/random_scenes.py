"""Random surroundings for random models, as XML: many geoms, of which most are far from each other."""

import numpy as np


class Scene:
    """Things that stand around, lie around and are moved by the caller; none in most models.

    Attributes:
        assets, world, pairs: parts of a model. geoms: names.
    """

    def __init__(self, seed):
        self.rng, self.geoms = np.random.default_rng((seed, 4)), []
        self.assets = self.world = ""
        if self.rng.random() < 0.6:
            return
        self.width = self.rng.choice([1.0, 3.0, 10.0])  # from a heap to a plain
        self.mixed = self.rng.random() < 0.4  # shapes of all kinds, some with margins
        for _ in range(self.rng.integers(4, 60)):
            self.world += self.geom()
        for _ in range(self.rng.integers(0, 4)):
            fixed = f'<body pos="{self.place()}" {self.turned()}>{self.geom()}{self.geom()}</body>'
            self.world += f'<body pos="{self.place()}" {self.turned()}>{self.geom()}{fixed}</body>'
        for k in range(self.rng.integers(0, 3)):
            self.world += f'<body name="moved{k}" mocap="true" pos="{self.place()}">{self.geom()}{self.geom()}</body>'
        for k in range(self.rng.choice([0, 0, 1, 4])):
            loose = f"<freejoint/>{''.join(self.geom(0.2) for _ in range(self.rng.integers(1, 3)))}"
            self.world += f'<body name="loose{k}" pos="{self.place()}">{loose}</body>'
        if self.rng.random() < 0.2:
            heights = " ".join(f"{height:.2f}" for height in self.rng.uniform(0, 1, 16))
            self.assets = (
                f'<asset><hfield name="hills" nrow="4" ncol="4" elevation="{heights}" size="1 1 .2 .1"/></asset>'
            )
            self.world += f'<geom type="hfield" hfield="hills" pos="{self.place()}"/>'

    def place(self):
        x, y, z = self.rng.uniform(-self.width, self.width, 3)
        return f"{x:.4g} {y:.4g} {abs(z) * 0.2:.4g}"

    def turned(self):
        angles = self.rng.uniform(-3, 3, 3)
        return f'euler="{angles[0]:.4g} {angles[1]:.4g} {angles[2]:.4g}"' if self.rng.random() < 0.5 else ""

    def geom(self, width=None):
        kinds = ("box", "sphere", "capsule", "cylinder", "ellipsoid") if self.mixed else ("box", "box", "sphere")
        place = self.place() if width is None else " ".join(f"{x:.3g}" for x in self.rng.uniform(-width, width, 3))
        sizes = " ".join(f"{size:.3g}" for size in self.rng.uniform(0.02, 0.3, 3))
        margin = f'margin="{self.rng.uniform(0, 0.2):.3g}"' if self.mixed and self.rng.random() < 0.2 else ""
        gap = f'gap="{self.rng.uniform(0, 0.1):.3g}"' if self.mixed and self.rng.random() < 0.1 else ""
        kind = kinds[self.rng.integers(len(kinds))]
        self.geoms.append(f"scene{len(self.geoms)}")
        return (
            f'<geom name="{self.geoms[-1]}" type="{kind}" size="{sizes}" pos="{place}" {self.turned()} {margin} {gap}/>'
        )

    def contacts(self, bodies, geoms):
        """<pair>s of the scene's geoms with others, and bodies that do not touch it."""
        parts = ""
        for _ in range(self.rng.integers(0, 4) if self.geoms else 0):
            one, two = self.rng.choice(self.geoms), self.rng.choice(geoms)
            parts += f'<pair geom1="{one}" geom2="{two}" margin="{self.rng.uniform(0, 0.2):.3g}"/>'
        if self.geoms and self.rng.random() < 0.3:
            parts += f'<exclude body1="world" body2="{self.rng.choice(bodies)}"/>'
        return f"<contact>{parts}</contact>"
