"""minigrid's own bot as a policy for a SyncVectorEnv of BabyAI's levels, so that instructions are met and done, which
random actions hardly ever do."""

import numpy as np
from minigrid.utils.baby_ai_bot import BabyAIBot

from helpers.patience import at_most

PATIENCE = 2  # seconds of processor time for one action: in levels such as UnlockToUnlock the bot may go on for ever
WEIGHTS = (0.12, 0.12, 0.33, 0.15, 0.10, 0.16, 0.02)  # of random actions: most of them should get somewhere


class Bot:
    """Chooses actions for the lanes of a SyncVectorEnv of minigrid's BabyAI levels.

    Args:
        env: the SyncVectorEnv; it has been reset.
        seed: for random actions.
        noise: how often an action is random. Where the bot cannot go on, all are, until the episode ends.
        lanes: for which it chooses; None: all.
    """

    def __init__(self, env, seed=0, noise=0.0, lanes=None):
        self.lanes = list(range(env.num_envs)) if lanes is None else lanes
        self.levels = [env.envs[lane].unwrapped for lane in self.lanes]
        self.noise, self.rng = noise, np.random.default_rng(seed)
        self.bots = [BabyAIBot(level) for level in self.levels]
        self.last = [None] * len(self.levels)

    def actions(self, ended):
        """One action per lane that it plays, int64. ended: bool (n,), the lanes whose episode has begun anew."""
        for lane in np.flatnonzero(ended[self.lanes]):
            self.bots[lane], self.last[lane] = BabyAIBot(self.levels[lane]), None
        for lane in range(len(self.levels)):
            self.last[lane] = self._action(lane)
        return np.array(self.last, np.int64)

    def _action(self, lane):
        if self.bots[lane] is not None and self.rng.random() >= self.noise:
            try:
                with at_most(PATIENCE):
                    return int(self.bots[lane].replan(self.last[lane]))
            except Exception:  # it raises AssertionError and others where it does not know what to do
                self.bots[lane] = None
        return int(self.rng.choice(len(WEIGHTS), p=WEIGHTS))
