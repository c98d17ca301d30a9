"""Steps two vector envs with the same actions, and compares all that they return."""

import numpy as np
from gymnasium.vector import AutoresetMode

from helpers.parity import assert_same


def lockstep(ours, theirs, steps, where="", options=None, every=0):
    """Takes both through the same resets and actions, and requires that they return the same, bit for bit. With
    autoreset disabled, lanes whose episode has ended are reset by masks.

    Args:
        where: what messages begin with.
        options: of the first reset.
        every: after how many steps a lane is reset although its episode has not ended; 0: never.

    Returns:
        How many episodes have ended, and what the last step has returned.
    """

    def same(results, what):
        one, other = results
        assert_same(one, other, f"{where} {what}")
        return one

    both, lanes = (ours, theirs), theirs.num_envs
    disabled = theirs.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    same((env.reset(seed=3, options=options and dict(options)) for env in both), "reset")
    theirs.action_space.seed(1)
    ends, result, mask = 0, None, np.zeros(lanes, bool)
    for step in range(steps):
        if every and not disabled:
            mask = (np.arange(lanes) == step % lanes) & (step % every == every - 1)
        if mask.any():
            resets = (env.reset(options={"reset_mask": mask.copy()}) for env in both)
            same(resets, f"reset of some lanes before step {step}")
        actions = theirs.action_space.sample()
        result = same((env.step(actions) for env in both), f"step {step}")
        done = result[2] | result[3]
        ends += int(done.sum())
        if disabled:
            mask = done
    return ends, result


def actions_of(env, steps, seed=3):
    """Random actions for so many steps of all lanes."""
    env.action_space.seed(seed)
    return [env.action_space.sample() for _ in range(steps)]
