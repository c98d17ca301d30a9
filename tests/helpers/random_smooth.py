"""Random attributes of models that concern smooth forces: what random_models.py has drawn does not depend on them."""

import numpy as np

FAMILIES = ("gravcomp",)


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

    def body(self):
        return f'gravcomp="{self.number(-0.5, 1.5)}"' if self.draws("gravcomp", 0.6) else ""

    def joint(self):
        return 'actuatorgravcomp="true"' if self.draws("gravcomp", 0.4) else ""
