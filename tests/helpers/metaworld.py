"""Meta-World as the reference. Its ids are not put into Gymnasium's registry, which other tests go through."""

import functools

import gymnasium
import numpy as np

import batchenv
from helpers.parity import Case

IDS = batchenv.list_envs("metaworld")


@functools.cache
def package():
    """The package.

    Raises:
        ImportError: it is not installed.
    """
    before = dict(gymnasium.registry)
    try:
        import metaworld

        return metaworld
    finally:
        gymnasium.registry.clear()
        gymnasium.registry.update(before)


@functools.cache
def benchmark(name, goals_seed, hidden=False):
    """MT1 or, with hidden goals, ML1."""
    return (package().ML1 if hidden else package().MT1)(name, seed=goals_seed)


class Seeded(gymnasium.Wrapper):
    """reset(seed=...) seeds the stream that chooses goals, which the package only does where it makes an env; infos are
    floats, of which the package has several types; and there are no statistics of episodes."""

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.unwrapped.np_random, _ = gymnasium.utils.seeding.np_random(seed)
        return self.env.reset()

    def step(self, action):
        *result, info = self.env.step(action)
        info.pop("episode", None)
        return *result, {key: float(value) for key, value in info.items()}


def make_metaworld(env_id, goals_seed=0, max_episode_steps=None, partially_observable=False, **keywords):
    """One of the package's environments."""
    name = env_id.removeprefix("Meta-World/")
    made = benchmark(name, goals_seed, partially_observable)
    env = package()._init_each_env(
        made.train_classes[name], list(made.train_tasks), max_episode_steps=max_episode_steps, **keywords
    )
    env.unwrapped.set_task(made.train_tasks[0])
    env.unwrapped.observation_space = env.unwrapped.sawyer_observation_space  # otherwise as if goals were hidden
    return Seeded(env)


def of(env_id, **both):
    """A case of this family, with these keywords for both."""
    return Case(env_id, both=both, creator=make_metaworld, hold=5)


@functools.cache
def policies():
    """The package's own policies, which do the tasks."""
    before = dict(gymnasium.registry)
    try:
        package()
        from metaworld.policies import ENV_POLICY_MAP

        return ENV_POLICY_MAP
    finally:
        gymnasium.registry.clear()
        gymnasium.registry.update(before)


def towards_objects(env, step):
    """Actions that lead the hand's tip straight to the object, and close the hand there now and then."""
    seen = env.restore(env.snapshot())
    way = seen[:, 4:7] - seen[:, :3] + [0, 0, 0.045]
    return np.hstack([np.clip(10 * way, -1, 1), np.full((len(seen), 1), np.sin(step / 9))]).astype(np.float32)


def skilled(env_id, noise=0.1):
    """A case's `policy`: the package's own, with some noise. Tasks get done."""
    policy = policies()[env_id.removeprefix("Meta-World/")]()

    def choose(env, step):
        actions = np.array([policy.get_action(row) for row in env.restore(env.snapshot())])
        actions += noise * np.random.default_rng(step).standard_normal(actions.shape)
        return np.clip(actions, -1, 1).astype(np.float32)

    return choose
