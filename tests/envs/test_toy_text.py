"""The toy-text environments beyond their trajectories (test_parity.py): tuples, maps, infos, copies, threads."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import DtypeObservation, FrameStackObservation, TimeAwareObservation

import batchenv
from helpers import ids
from helpers.begun import begun
from helpers.lockstep import actions_of
from helpers.parity import assert_same, make_gymnasium

LANES = 64
SEED = 2**33 + 11
ISAS = batchenv.build_info()["isas"]
MODES = list(AutoresetMode)

WIDE = ["HSFFFFFFFFS", "FFHFFXFFHFF", "FSFFFFHFFFG"]

IDS = [name for name in ids.IN_GYMNASIUM if batchenv.registry.TABLE[name].family == "toy text"]


@pytest.mark.parametrize("env_id", IDS)
def test_single_env(env_id):
    """gymnasium.make("batchenv/..."): ints, or tuples of ints, and infos of one lane."""
    ours, theirs = gymnasium.make(f"batchenv/{env_id}"), make_gymnasium(env_id)
    assert_same(ours.reset(seed=3), theirs.reset(seed=3), "reset")
    for step, action in enumerate(actions_of(ours, 200, seed=0)):
        expected = theirs.step(action)
        result = ours.step(action)
        assert_same(result[0], expected[0], f"step {step}")
        assert result[1:4] == expected[1:4]
        assert_same(result[4], expected[4], f"step {step}")
        if result[2] or result[3]:
            assert_same(ours.reset(), theirs.reset(), f"reset after step {step}")


def play(env, rng, steps):
    for _ in range(steps):
        env.step(rng.integers(env.single_action_space.n, size=env.num_envs))


# ---- everything else that a BatchEnv does --------------------------------------------------------------------------

ONE_OF_EACH = {
    "FrozenLake": ("FrozenLake-v1", {"desc": WIDE, "success_rate": 0.6, "reward_schedule": (5, -1, 0.5)}),
    "Taxi": ("Taxi-v4", {"is_rainy": True, "fickle_passenger": True, "fickle_probability": 0.8}),
    "CliffWalking": ("CliffWalkingSlippery-v1", {}),
    "Blackjack": ("Blackjack-v1", {"sab": False, "natural": True}),
    "Catch": ("Catch-v0", {"height": 4, "width": 7}),
    "NChain": ("NChain-v0", {"slip": 0.3, "large": 7.5}),
}
EACH = pytest.mark.parametrize("case", ONE_OF_EACH)
IN_GYMNASIUM = pytest.mark.parametrize("case", [case for case in ONE_OF_EACH if case not in ("Catch", "NChain")])


class Repeat(gymnasium.Wrapper):
    """An action several times, or until the episode ends."""

    def step(self, action):
        total = 0.0
        for _ in range(3):
            observation, reward, terminated, truncated, info = self.env.step(action)
            total += reward
            if terminated or truncated:
                break
        return observation, total, terminated, truncated, info


@pytest.mark.cases(4)
@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
@IN_GYMNASIUM
def test_repeated_actions(case, mode):
    """A lane that ends among the repetitions draws no further number: streams stay Gymnasium's."""
    env_id, kwargs = ONE_OF_EACH[case]
    lanes = 37  # with a part of a block

    def make():
        return Repeat(make_gymnasium(env_id, max_episode_steps=20, **kwargs))

    theirs = SyncVectorEnv([make] * lanes, autoreset_mode=mode)
    ours = batchenv.make(env_id, lanes, autoreset_mode=mode, max_episode_steps=20, action_repeat=3, **kwargs)
    assert_same(ours.reset(seed=SEED), theirs.reset(seed=SEED), "reset")
    rng = np.random.default_rng(6)
    for step in range(150):
        actions = rng.integers(ours.single_action_space.n, size=lanes)
        result, expected = ours.step(actions), theirs.step(actions)
        assert_same(result, expected, f"step {step}")
        done = expected[2] | expected[3]
        if mode is AutoresetMode.DISABLED and done.any():
            options = {"reset_mask": done}
            assert_same(ours.reset(options=dict(options))[0], theirs.reset(options=dict(options))[0], f"reset {step}")
    for mine, generator in zip(ours.np_random, theirs.np_random, strict=True):
        assert mine.bit_generator.state == generator.bit_generator.state


STACKED = {
    "frame_stack": ({"frame_stack": 3}, lambda env: FrameStackObservation(env, 3)),
    "time_aware": ({"time_aware": True}, TimeAwareObservation),
    "both": ({"time_aware": True, "frame_stack": 2}, lambda env: FrameStackObservation(TimeAwareObservation(env), 2)),
    "float32": ({"observation_dtype": np.float32}, lambda env: DtypeObservation(env, np.float32)),
    "int64": ({"observation_dtype": np.int64}, lambda env: DtypeObservation(env, np.int64)),
}


@pytest.mark.parametrize("transform", STACKED)
@IN_GYMNASIUM
def test_transforms(case, transform):
    """Built-in transforms are Gymnasium's wrappers over Discrete and Tuple spaces as well."""
    env_id, kwargs = ONE_OF_EACH[case]
    keywords, wrap = STACKED[transform]
    single = make_gymnasium(env_id, max_episode_steps=9, **kwargs)
    try:
        wrap(single)
    except (TypeError, AssertionError):  # the latter in old releases
        with pytest.raises(TypeError, match=rf"{next(iter(keywords))}: .* several parts \('0', '1', '2'\)"):
            batchenv.make(env_id, 5, max_episode_steps=9, **keywords, **kwargs)
        return
    ours = batchenv.make(env_id, 5, max_episode_steps=9, autoreset_mode="SameStep", **keywords, **kwargs)

    def make():
        return wrap(make_gymnasium(env_id, max_episode_steps=9, **kwargs))

    theirs = SyncVectorEnv([make] * 5, autoreset_mode="SameStep")
    assert ours.single_observation_space == theirs.single_observation_space
    assert_same(ours.reset(seed=1)[0], theirs.reset(seed=1)[0], "reset")
    rng = np.random.default_rng(0)
    for step in range(100):
        actions = rng.integers(ours.single_action_space.n, size=5)
        result, expected = ours.step(actions), theirs.step(actions)
        assert_same(result[:4], expected[:4], f"step {step}")
        assert ("final_obs" in result[4]) == ("final_obs" in expected[4])
        if "final_obs" in expected[4]:
            assert_same(result[4]["final_obs"], expected[4]["final_obs"], f"step {step}, final_obs")


@pytest.mark.parametrize("copies", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
@EACH
def test_copies(case, copies):
    """With the map and the keywords, in the middle of episodes."""
    env_id, kwargs = ONE_OF_EACH[case]
    env = begun(batchenv.make(env_id, 9, **kwargs), seed=4)
    rng = np.random.default_rng(3)
    play(env, rng, 20)
    other = copies(env)
    for step in range(60):
        actions = rng.integers(env.single_action_space.n, size=9)
        assert_same(other.step(actions), env.step(actions), f"step {step}")


@EACH
def test_snapshots(case):
    """Into another batch that was made alike, lanes in another order."""
    env_id, kwargs = ONE_OF_EACH[case]
    env, other = batchenv.make(env_id, 9, **kwargs), batchenv.make(env_id, 4, **kwargs)
    env.reset(seed=4), other.reset(seed=7)
    rng = np.random.default_rng(3)
    play(env, rng, 20)
    lanes = [8, 0, 3, 5]
    observation = other.restore(env.snapshot(lanes))
    for step in range(60):
        actions = rng.integers(env.single_action_space.n, size=9)
        *result, _ = env.step(actions)
        *moved, _ = other.step(actions[lanes])
        chosen = tuple(part[lanes] for part in result[0]) if isinstance(result[0], tuple) else result[0][lanes]
        assert_same(moved[0], chosen, f"step {step}")
        for a, b in zip(moved[1:], result[1:], strict=True):
            assert_same(a, b[lanes], f"step {step}")
    assert type(observation) is type(moved[0])


@EACH
def test_rollouts(case):
    """As single steps, infos included."""
    env_id, kwargs = ONE_OF_EACH[case]
    one, many = (begun(batchenv.make(env_id, 70, autoreset_mode="SameStep", **kwargs), seed=4) for _ in range(2))
    actions = np.random.default_rng(3).integers(one.single_action_space.n, size=(40, 70))
    rollout = many.rollout(actions)
    for step in range(40):
        observation, reward, terminated, truncated, info = one.step(actions[step])
        if isinstance(observation, tuple):
            assert_same(tuple(part[step] for part in rollout.observations), observation, f"step {step}")
        else:
            assert_same(rollout.observations[step], observation, f"step {step}")
        for mine, expected in zip(rollout[1:4], (reward, terminated, truncated), strict=True):
            assert_same(mine[step], expected, f"step {step}")
        for name in ("prob", "action_mask"):
            assert (name in info) == (name in rollout.infos)
            if name in info:
                assert_same(rollout.infos[name][step], info[name], f"step {step}")


def test_tuples_of_arrays():
    """Blackjack's observations: three columns of one array. Held ones stay; a ring's and `out`'s are written again."""
    kept, ring, filled = (batchenv.make("Blackjack-v1", 6, copy=copy) for copy in (True, False, True))
    rng = np.random.default_rng(0)
    out = (np.empty((6, 3), np.int64), np.empty(6), np.empty(6, bool), np.empty(6, bool))
    history = []
    for env in (kept, ring, filled):
        first, _ = env.reset(seed=2)
        assert type(first) is tuple and [part.shape for part in first] == [(6,)] * 3
    for _ in range(20):
        actions = rng.integers(2, size=6)
        result = kept.step(actions)
        history.append((result[0], [part.copy() for part in result[0]]))
        other, same = ring.step(actions), filled.step(actions, out=out)
        for j in range(3):
            np.testing.assert_array_equal(other[0][j], result[0][j])
            np.testing.assert_array_equal(same[0][j], result[0][j])
            np.testing.assert_array_equal(out[0][:, j], result[0][j])
            assert np.shares_memory(same[0][j], out[0])
    for held, values in history:
        for part, value in zip(held, values, strict=True):
            np.testing.assert_array_equal(part, value)
    for wrong in (first, np.empty((6, 2), np.int64), np.empty((6, 3), np.int32), np.empty((6, 6), np.int64)[:, ::2]):
        with pytest.raises((TypeError, ValueError), match="out's observations must"):
            filled.step(actions, out=(wrong, None, None, None))


@pytest.mark.parametrize("env_id", [*IDS, "Catch-v0", "NChain-v0"])
def test_refused_actions(env_id):
    """Gymnasium's environments index tables with them; ours say so, and nothing has moved."""
    env = begun(batchenv.make(env_id, 3))
    before = env.snapshot()
    n = env.single_action_space.n
    for wrong in (-1, n, 2**40):
        with pytest.raises(ValueError, match=rf"action {wrong} of lane 1 is not in 0\.\.{n - 1}"):
            env.step([0, wrong, 0])
    with pytest.raises(TypeError, match="float64"):
        env.step([0.0, 1.0, 0.0])
    assert env.snapshot() == before


# ---- FrozenLake ----------------------------------------------------------------------------------------------------


def test_rare_starts():
    """Sums of 1/n that stay below 1 leave draws for which no start is found: Gymnasium takes cell 0, and so do we."""
    desc = ["H" + "S" * 10]
    assert np.cumsum(np.full(10, 0.1))[-1] < 1
    env = batchenv.make("FrozenLake-v1", 20_000, desc=desc)
    starts, _ = env.reset(seed=1)
    assert set(starts.tolist()) == set(range(1, 11))
    theirs = gymnasium.make("FrozenLake-v1", desc=desc)
    for lane in range(0, 20_000, 997):
        assert theirs.reset(seed=1 + lane)[0] == starts[lane]


def test_random_map():
    """map_name=None: one map, with a way to the goal, for all lanes; another one each time."""
    from gymnasium.envs.toy_text.frozen_lake import is_valid

    maps = []
    for _ in range(4):
        env = batchenv.make("FrozenLake-v1", 2, map_name=None)
        one, two = env.get_attr("desc")
        assert one.shape == (8, 8) and one.dtype == "S1" and (one == two).all()
        assert is_valid(one.astype(str), 8)
        maps.append(one.tobytes())
    assert len(set(maps)) > 1


def test_patched_random_maps():
    """make_vec draws a map for each lane: ours has one for all, so Gymnasium's own is given."""
    with batchenv.patch_gymnasium():
        theirs = gymnasium.make_vec("FrozenLake-v1", 6, map_name=None)
        assert type(theirs) is SyncVectorEnv
        assert len({desc.tobytes() for desc in theirs.get_attr("desc")}) > 1
        spec = copy.deepcopy(gymnasium.spec("FrozenLake-v1"))
        spec.kwargs["map_name"] = None
        assert type(gymnasium.make_vec(spec, 2)) is SyncVectorEnv
        for kwargs in ({}, {"map_name": "8x8"}, {"map_name": None, "desc": WIDE}, {"desc": None}):
            assert type(gymnasium.make_vec("FrozenLake-v1", 2, **kwargs)) is batchenv.BatchEnv


def test_maps_in_snapshots():
    """The same map may have been given in another way; another one is refused."""
    env = begun(batchenv.make("FrozenLake-v1", 2, map_name=None))
    again = batchenv.make("FrozenLake-v1", 2, desc=env.get_attr("desc")[0])
    assert_same(again.restore(env.snapshot()), env.reset(seed=0)[0], "restored")
    assert (copy.deepcopy(env).get_attr("desc")[0] == env.get_attr("desc")[0]).all()
    other = batchenv.make("FrozenLake8x8-v1", 2)
    with pytest.raises(ValueError, match="another map"):
        other.restore(env.snapshot())
    dry = batchenv.make("FrozenLake-v1", 2, desc=env.get_attr("desc")[0], is_slippery=False)
    with pytest.raises(ValueError, match="another is_slippery"):
        dry.restore(env.snapshot())


@pytest.mark.parametrize(
    "desc",
    [
        ["SFH", "FFG"],
        ("SFH", "FFG"),
        [list("SFH"), list("FFG")],
        [b"SFH", b"FFG"],
        np.array([list("SFH"), list("FFG")]),
        np.array([list("SFH"), list("FFG")], "S1"),
        np.array(["SFH", "FFG"]),
        gymnasium.make("FrozenLake-v1", desc=["SFH", "FFG"]).unwrapped.desc,
    ],
    ids=lambda desc: f"{type(desc).__name__}-{type(desc[0]).__name__}",
)
def test_forms_of_maps(desc):
    env = batchenv.make("FrozenLake-v1", 2, desc=desc)
    assert env.get_attr("desc")[1].tolist() == [[b"S", b"F", b"H"], [b"F", b"F", b"G"]]
    assert env.single_observation_space.n == 6


def test_lake_attributes():
    env = begun(batchenv.make("FrozenLake-v1", 3, desc=WIDE, is_slippery=False, reward_schedule=(2, -1, 0)))
    assert env.get_attr("lastaction") == (None,) * 3
    env.step([0, 1, 3])
    assert env.get_attr("lastaction") == (0, 1, 3)
    assert (env.get_attr("nrow"), env.get_attr("ncol")) == ((3,) * 3, (11,) * 3)
    assert env.get_attr("is_slippery") == (False,) * 3
    assert env.get_attr("reward_schedule")[0] == (2, -1, 0) and env.get_attr("reward_range")[0] == (-1, 2)
    theirs = gymnasium.make("FrozenLake-v1", desc=WIDE).unwrapped
    np.testing.assert_array_equal(env.get_attr("desc")[2], theirs.desc)
    env.set_attr("reward_goal", 7)
    assert env.get_attr("reward_schedule")[1] == (7, -1, 0)
    with pytest.raises(AttributeError, match="desc"):
        env.get_attr("nonsense")


def test_rates_by_lane():
    """A success rate and rewards of a lane's own."""
    rates, goal = np.linspace(0, 1, 9), np.arange(9.0)
    ours = batchenv.make("FrozenLake-v1", 9, success_rate=rates, reward_goal=goal)
    kwargs = [{"success_rate": float(rates[i]), "reward_schedule": (float(goal[i]), 0, 0)} for i in range(9)]
    theirs = SyncVectorEnv([lambda own=own: make_gymnasium("FrozenLake-v1", **own) for own in kwargs])
    assert_same(ours.reset(seed=8), theirs.reset(seed=8), "reset")
    rng = np.random.default_rng(1)
    for step in range(300):
        actions = rng.integers(4, size=9)
        assert_same(ours.step(actions), theirs.step(actions), f"step {step}")


@pytest.mark.parametrize(
    "kwargs, text",
    [
        ({"desc": "SFFG"}, "desc='SFFG' must be rows"),
        ({"desc": 3}, "desc=3 must be rows"),
        ({"desc": []}, r"desc=\[\] has no cells"),
        ({"desc": [""]}, "no cells"),
        ({"desc": ["SF", "G"]}, "row 1 has 1 cells and row 0 has 2"),
        ({"desc": ["SF", 3]}, "rows of equal length"),
        ({"desc": ["SF", None]}, "rows of equal length"),
        ({"desc": [["S", 1]]}, "cell 1 of row 0 is 1"),
        ({"desc": [["SF", "G"]]}, "cell 0 of row 0 is 'SF'"),
        ({"desc": ["S\0"]}, "cell 1 of row 0"),
        ({"desc": ["Sé"]}, "cell 1 of row 0 is 'é'"),
        ({"desc": [b"S\xff"]}, "rows of equal length"),
        ({"desc": ["FFG"]}, "desc has no start"),
        ({"desc": ["S" * 2000] * 600}, "600 rows and 2000 columns must have 1 to 1048576 cells"),
        ({"map_name": "5x5"}, "'4x4', '8x8'"),
        ({"map_name": 4}, "map_name=4 must be a str"),
        ({"map_name": ["4x4"]}, "map_name"),
        ({"is_slippery": 1}, "is_slippery=1 must be a bool"),
        ({"success_rate": 1.5}, "success_rate=1.5 must be a finite number between 0 and 1"),
        ({"success_rate": -0.1}, "success_rate"),
        ({"success_rate": np.nan}, "success_rate"),
        ({"success_rate": "1"}, "success_rate"),
        ({"reward_schedule": (1, 0)}, "must be three numbers"),
        ({"reward_schedule": 1}, "must be three numbers"),
        ({"reward_schedule": (1, 0, np.inf)}, "reward_frozen"),
        ({"reward_schedule": ("a", 0, 0)}, "reward_goal"),
        ({"reward_schedule": (1, 0, 0), "reward_hole": 2}, "give one of them"),
        ({"slippery": True}, "'slippery'.*did you mean is_slippery"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_bad_lakes(kwargs, text):
    with pytest.raises((TypeError, ValueError), match=text):
        batchenv.make("FrozenLake-v1", 2, **kwargs)
