"""All interfaces read seeds alike: an int of any size from 0 on, of which lane i gets seed + i."""

import os
import re

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv

import batchenv
from batchenv.arguments.seeds import FIX
from batchenv.integrations.fragments import FragmentMaker
from helpers.begun import begun

LANES = 3
GOOD = [
    *(0, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**128 - 1, 2**128, 3**500),
    *(np.int64(7), np.uint8(255), np.int8(127), np.uint32(2**32 - 1), np.int64(2**63 - 1), np.uint64(2**64 - 1)),
    np.array(7),
]
NEGATIVE = [-1, -(2**70), np.int64(-1), np.int8(-128)]
NO_INT = [1.5, 3.0, True, "7", b"7", np.float64(3), np.bool_(True), np.array(True), np.array(2.0), np.nan, 1j, {}]


def needs(package):
    return pytest.importorskip(package, reason=f"needs {package}")


class Pole:
    """A cart-pole for one agent, with PettingZoo's parallel API."""

    metadata, possible_agents = {"name": "pole"}, ["cart"]

    def __init__(self):
        self.env = CartPoleEnv()
        self.observation_space = lambda _: self.env.observation_space
        self.action_space = lambda _: self.env.action_space

    def reset(self, seed=None, options=None):
        self.agents = ["cart"]
        observation, info = self.env.reset(seed=seed)
        return {"cart": observation}, {"cart": info}

    def close(self):
        self.env.close()


def make(seed=None, **options):
    return batchenv.make("CartPole-v1", LANES, seed=seed, **options)


def made_by(call):
    def begin():
        return lambda seed: call(seed).reset()[0]

    return begin


def reset(make_env, look=lambda result: result[0], package=None):
    """What `look` sees in what resets of an env return."""

    def begin():
        if package:
            needs(package)
        env = make_env()
        return lambda seed: look(env.reset(seed=seed))

    return begin


def of_type(env_type):
    return lambda: make(env_type=env_type)


def in_python(**options):
    return lambda: batchenv.make_python(CartPoleEnv, LANES, **options)


def players(**options):
    return lambda: batchenv.make_parallel(Pole, LANES, workers="serial", **options)


def vector():
    return gymnasium.make_vec("batchenv/CartPole-v1", LANES, vectorization_mode="vector_entry_point")


def reset_of_a_list():
    env = make()
    return lambda seed: env.reset(seed=_of_lanes(seed))[0]


def reset_of_some():
    env = begun(make())
    return lambda seed: env.reset([2, 0, 1], seed=seed)[0][[1, 2, 0]]


def async_reset():
    env = make()

    def call(seed):
        env.async_reset(seed=seed)
        return env.recv()[0]

    return call


def over():
    def call(seed):
        env = make()
        return batchenv.BatchEnv.over(env._backend, id="again", seed=seed).reset()[0]

    return call


def then_reset(env_type):
    """An interface with a method `seed` for the next reset."""

    def begin():
        needs({"sb3": "stable_baselines3", "rl_games": "rl_games"}.get(env_type, "gymnasium"))
        env = make(env_type=env_type)

        def call(seed):
            env.seed(seed)
            return env.reset()

        return call

    return begin


def tianshou():
    needs("tianshou")
    env = make(env_type="tianshou")
    env.reset()

    def call(seed):
        assert env.seed(seed) == [[int(seed) + lane] for lane in range(LANES)]
        return np.stack([env.env.state[name] for name in ("x", "x_dot", "theta", "theta_dot")], 1).astype(np.float32)

    return call


def tianshou_reset():
    """Which gives each lane this very seed."""
    needs("tianshou")
    env = make(env_type="tianshou")
    env.reset()
    return lambda seed: np.array([env.reset([lane], seed=own)[0][0] for lane, own in enumerate(_of_lanes(seed))])


def _of_lanes(seed):
    """The first one as it was given, and the next ints."""
    return [seed, *(int(seed) + lane for lane in range(1, LANES))] if _is_good(seed) else [seed] * LANES


def _is_good(seed):
    return any(seed is good for good in GOOD)


def torchrl():
    needs("torchrl")
    env = make(env_type="torchrl")

    def call(seed):
        env.set_seed(seed)
        return env.reset()["observation"].numpy()

    return call


def sb3_of_players():
    needs("stable_baselines3")
    env = players(env_type="sb3")()

    def call(seed):
        assert env.seed(seed) == [int(seed) + lane for lane in range(LANES)]
        return env.reset()

    return call


def ray():
    needs("ray")
    from batchenv.integrations.ray import RaySampler

    def call(seed):
        if not _is_good(seed):
            return RaySampler("CartPole-v1", LANES, 1, 5, seed=seed)  # the seed is read before anything is started
        maker = FragmentMaker(make, None, 5, int(seed), 0)
        return maker.fragment(0, 0, None).observations[0]

    return call


def jax_states():
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    needs("jax")
    env = batchenv.jax.make("CartPole-v1", LANES)
    return lambda seed: env.init(seed)[1]


def jax_handles():
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    needs("jax")
    functions = make().xla()
    return lambda seed: functions.reset(functions.handle, seed)[1]


INTERFACES = {
    "reset": reset(make),
    "reset, batches": reset(lambda: make(batch_size=2)),
    "reset, a list": reset_of_a_list,
    "reset, some lanes": reset_of_some,
    "async_reset": async_reset,
    "make": made_by(make),
    "make, SameStep": made_by(lambda seed: make(seed, autoreset_mode="SameStep")),
    "BatchEnv.over": over,
    "serial": reset(in_python(workers="serial")),
    "threads": reset(in_python(workers="threads", num_workers=2)),
    "asyncio": reset(in_python(workers="asyncio")),
    "processes": reset(in_python(workers="processes", num_workers=1)),
    "gym": then_reset("gym"),
    "gym, reset": reset(of_type("gym"), lambda result: result),
    "dm": reset(of_type("dm"), lambda result: result.observation.obs, "dm_env"),
    "sb3": then_reset("sb3"),
    "rl_games": then_reset("rl_games"),
    "tianshou": tianshou,
    "tianshou, reset": tianshou_reset,
    "torch": reset(of_type("torch"), lambda result: result[0].numpy(), "torch"),
    "torchrl": torchrl,
    "gymnasium.make": reset(lambda: gymnasium.make("batchenv/CartPole-v1"), lambda result: result[0][np.newaxis]),
    "gymnasium.make_vec": reset(vector),
    "make_parallel": reset(players(), lambda result: result[0]["cart"]),
    "PlayerVectorEnv": reset(players(env_type="gymnasium")),
    "PlayerVecEnv": sb3_of_players,
    "ray": ray,
    "batchenv.jax": jax_states,
    "xla": jax_handles,
}


@pytest.fixture(scope="module")
def lanes():
    """Of each seed, the first observations of Gymnasium's envs."""
    env, found = CartPoleEnv(), {}
    for seed in GOOD:
        found[int(seed)] = np.array([env.reset(seed=int(seed) + lane)[0] for lane in range(LANES)])
    return found


@pytest.mark.parametrize("interface", INTERFACES)
def test_seeds_of_any_size(interface, lanes):
    begin = INTERFACES[interface]()
    for seed in GOOD:
        found, expected = np.asarray(begin(seed)), lanes[int(seed)]
        np.testing.assert_array_equal(found, expected[: len(found)], repr(seed))


@pytest.mark.parametrize("interface", INTERFACES)
def test_what_is_no_seed_is_refused_alike(interface):
    begin = INTERFACES[interface]()
    for kind, rule, seeds in ((ValueError, "at least 0", NEGATIVE), (TypeError, "an int, not ", NO_INT)):
        for seed in seeds:
            shown = re.escape(repr(int(seed) if seeds is NEGATIVE else seed))
            with pytest.raises(kind, match=f"={shown} must be {rule}") as told:
                begin(seed)
            assert "seed" in str(told.value) and FIX in str(told.value)


def test_random_actions_have_such_seeds():
    env = begun(make())
    drawn = {}
    for seed in GOOD:
        drawn[int(seed)] = env.rollout(64, policy="random", seed=seed).actions.tobytes()
        assert drawn[int(seed)] == env.rollout(64, policy="random", seed=int(seed)).actions.tobytes()
    assert len(set(drawn.values())) == len(drawn)
    for seed in NEGATIVE + NO_INT:
        with pytest.raises((TypeError, ValueError), match=FIX):
            env.rollout(4, policy="random", seed=seed)


def test_seeds_of_lanes():
    """As Gymnasium takes them: any sequence of ints."""
    env, twin = make(), make()
    for seeds in ([2**40, 3, 2**130], (4, 5, 6), range(3), np.array([1, 2, 3], np.uint8), [np.uint64(2**64 - 1), 0, 1]):
        np.testing.assert_array_equal(env.reset(seed=seeds)[0], twin.reset(seed=[int(seed) for seed in seeds])[0])
    for seeds in (np.array([1.0, 2, 3]), np.array([True, False, True]), [[1], [2], [3]], ["1", "2", "3"]):
        with pytest.raises(TypeError, match=r"seed\[0\]=.* must be an int"):
            env.reset(seed=seeds)


def test_tensors_are_seeds():
    torch = needs("torch")
    env, twin = make(), make()
    np.testing.assert_array_equal(env.reset(seed=torch.tensor(2**40))[0], twin.reset(seed=2**40)[0])
    np.testing.assert_array_equal(env.reset(seed=torch.tensor([7, 8, 9]))[0], twin.reset(seed=7)[0])
    for seed in (torch.tensor(True), torch.tensor(1.0), torch.tensor(-1)):
        with pytest.raises((TypeError, ValueError), match=FIX):
            env.reset(seed=seed)
