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


BENCHMARKS = ("MT10", "MT25", "MT50", "ML10", "ML25", "ML45")


def benchmark_pair(name, split, seed, lanes=10, mode=gymnasium.vector.AutoresetMode.SAME_STEP, **keywords):
    """A benchmark's lanes, ours and the package's. name: also a task's, for ML1. split: "train" or "test"; None for
    those whose goals are observed."""
    keywords["autoreset_mode"] = mode
    if split is None:
        ours = batchenv.make(f"Meta-World/{name}", lanes, seed=seed, **keywords)
        return ours, package().make_mt_envs(name, seed=seed, **keywords)
    make = {"train": package().make_ml_envs_train, "test": package().make_ml_envs_test}[split]
    own = {} if name in BENCHMARKS else {"env_name": name}
    ours = batchenv.make(f"Meta-World/{'ML1' if own else name}-{split}", lanes, seed=seed, **own, **keywords)
    return ours, make(name, seed=seed, meta_batch_size=lanes, **keywords)


def same_bits(mine, theirs, what):
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    assert mine.dtype == theirs.dtype, what
    assert mine.shape == theirs.shape, what
    assert mine.tobytes() == theirs.tobytes(), (*what, np.argwhere(mine != theirs)[:5].tolist())


def same_infos(mine, theirs, what):
    """Infos that are not of episodes; the package has several types of numbers in them."""
    for name in theirs.keys() - {"episode", "_episode", "final_obs", "_final_obs", "final_info", "_final_info"}:
        ours, other = mine[name], theirs[name]
        if name == "obj_to_target" and np.asarray(other).dtype.kind == "i":  # Gymnasium's, of a first lane's int
            ours = np.trunc(ours)
        same_bits(ours, other if name.startswith("_") else np.asarray(other, np.float64), (*what, name))


def follow_benchmark(ours, theirs, steps, seed, sampling=0):
    """Steps both with the same actions; returns how many episodes have ended. sampling: after so many steps, each lane
    takes another goal; 0: the lanes do that in each reset."""
    rng = np.random.default_rng(seed)
    ended = 0
    for step in range(steps):
        if sampling and step % sampling == 0:
            observations = np.array([result[0] for result in theirs.call("sample_tasks")])
            same_bits(ours.reset(options={"sample_tasks": True})[0], observations, (step, "sampled"))
        elif step == 0:
            same_bits(ours.reset()[0], theirs.reset()[0], (step, "reset"))
        if step % 5 == 0:
            actions = rng.uniform(-1, 1, (ours.num_envs, 4)).astype(np.float32)
        mine, other = ours.step(actions), theirs.step(actions)
        for name, one, two in zip(("observations", "rewards", "ends", "truncations"), mine, other, strict=False):
            same_bits(one, two, (step, name))
        infos, others = mine[4], other[4]
        if "final_info" in others:
            same_bits(infos["_final_obs"], others["_final_obs"], (step, "final"))
            for lane in np.flatnonzero(others["_final_obs"]).tolist():
                last = others["final_obs"][lane].astype(mine[0].dtype)
                same_bits(infos["final_obs"][lane], last, (step, "final"))
            infos, others = infos["final_info"], others["final_info"]
        same_infos(infos, others, (step,))
        ended += int((mine[2] | mine[3]).sum())
    return ended
