"""What most tests begin with."""


def begun(env, seed=0):
    """The env, reset with this seed."""
    env.reset(seed=seed)
    return env
