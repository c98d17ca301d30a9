"""Observations and actions of several parts equal those of Gymnasium's vector environments."""

import copy
import pickle
import re

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array, iterate

import batchenv
from batchenv.backend import core
from batchenv.spaces import nested
from helpers.begun import begun
from helpers.lockstep import actions_of

LANES = 5
MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED]


class DictEnv(gymnasium.Env):
    """The rules of csrc/envs/testing/synthetic_dict.c."""

    observation_space = spaces.Dict(
        image=spaces.Box(0, 255, (3, 4), np.uint8),
        position=spaces.Box(-np.inf, np.inf, (2,), np.float32),
        place=spaces.Discrete(10),
    )
    action_space = spaces.MultiDiscrete([3, 2, 4])

    def observation(self):
        image, position = self.cells.reshape(3, 4).copy(), self.position.astype(np.float32)
        return {"image": image, "position": position, "place": self.place}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cells = np.zeros(12, np.uint8)
        self.position = np.array([self.np_random.uniform(-1, 1) for _ in range(2)])
        self.place = 0
        return self.observation(), {"touched": np.int32(-1), "cell": {"row": -1}}

    def step(self, action):
        u = self.np_random.random()
        row, which, column = (int(part) for part in action)
        cell = row * 4 + column
        self.cells[cell] = (int(self.cells[cell]) + 1 + 100 * which) % 256
        self.position[which] = self.position[which] * 0.5 + (u - 0.5)
        total = self.place + row + column
        self.place = total % 10
        parts = np.array([self.position[0], float(column)])
        info = {"touched": np.int32(cell), "parts": parts, "cell": {"row": row, "column": column}}
        if total >= 10:
            info["carried"] = True
        return self.observation(), parts[0] + parts[1], u < 0.1, False, info


class NestedEnv(gymnasium.Env):
    """The rules of csrc/envs/testing/synthetic_nested.c."""

    observation_space = spaces.Dict(
        arm=spaces.Tuple([spaces.Discrete(5, start=-2), spaces.Box(-np.inf, np.inf, (2,), np.float64)]),
        flags=spaces.MultiBinary(3),
    )
    action_space = spaces.Tuple(
        [
            spaces.Discrete(3, start=1),
            spaces.Dict(keys=spaces.MultiBinary(3), push=spaces.Box(-1, 1, (2,), np.float32)),
            spaces.MultiDiscrete([2, 3]),
        ]
    )

    def observation(self):
        return {"arm": (self.angle, self.speed.copy()), "flags": self.flags.copy()}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.angle = int(self.np_random.integers(-2, 3))
        self.speed = np.array([self.np_random.random() for _ in range(2)])
        self.flags = np.zeros(3, np.int8)
        return self.observation(), {"pressed": 0, "team": {"size": np.int32(3)}}

    def step(self, action):
        gear, hand, dials = action
        u = self.np_random.random()
        self.angle = (self.angle + 2 + int(gear) + int(dials[1])) % 5 - 2
        self.speed = self.speed * 0.5 + hand["push"].astype(np.float64) * (1 + int(dials[0])) + u
        self.flags = self.flags ^ hand["keys"].astype(np.int8)
        pressed = int(hand["keys"].sum())
        info = {"pressed": pressed, "team": {"size": np.int32(3)}}
        return self.observation(), self.speed[0] + pressed, u < 0.1, False, info


CASES = {"SyntheticDict-v0": DictEnv, "SyntheticNested-v0": NestedEnv}
ids = pytest.mark.parametrize("env_id", CASES)


def same(ours, theirs):
    """Whether both are nested alike, with arrays of the same dtype and values."""
    if isinstance(theirs, dict):
        return isinstance(ours, dict) and set(ours) == set(theirs) and all(same(ours[k], theirs[k]) for k in theirs)
    if isinstance(theirs, tuple):
        return isinstance(ours, tuple) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, np.ndarray) and theirs.dtype == object:
        return ours.dtype == object and all(map(same, ours, theirs))
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    return ours.dtype == theirs.dtype and np.array_equal(ours, theirs)


def without_rewards(infos):
    """Infos without what no env of Gymnasium's has: see test_further_rewards.py."""
    if not isinstance(infos, dict):
        return infos
    return {name: without_rewards(value) for name, value in infos.items() if name not in ("rewards", "_rewards")}


def leaves(value):
    """The arrays of something nested."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else None
    return [value] if parts is None else [leaf for part in parts for leaf in leaves(part)]


def each(function, value):
    """The same nesting, with `function` of each array."""
    if isinstance(value, dict):
        return {name: each(function, part) for name, part in value.items()}
    return tuple(each(function, part) for part in value) if isinstance(value, tuple) else function(value)


def make_theirs(env_id, mode):
    def make():
        return gymnasium.wrappers.TimeLimit(CASES[env_id](), 40)

    return SyncVectorEnv([make] * LANES, autoreset_mode=mode)


@ids
@pytest.mark.parametrize("mode", MODES)
def test_parity(env_id, mode):
    ours = batchenv.make(env_id, LANES, autoreset_mode=mode)
    theirs = make_theirs(env_id, mode)
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.single_action_space == theirs.single_action_space
    assert ours.action_space == theirs.action_space
    (observation, info), (expected, expected_info) = ours.reset(seed=7), theirs.reset(seed=7)
    assert same(observation, expected) and same(info, expected_info)
    ended = 0
    for action in actions_of(theirs, 120):
        result, right = ours.step(action), theirs.step(action)
        assert all(map(same, result[:4], right[:4]))
        assert ours.observation_space.contains(result[0])
        infos = without_rewards(result[4])
        assert set(infos) == set(right[4])
        for name, value in right[4].items():
            assert same(infos[name], value), name
        done = result[2] | result[3]
        ended += done.sum()
        if mode == AutoresetMode.DISABLED and done.any():
            ours.reset(options={"reset_mask": done})
            theirs.reset(options={"reset_mask": done})
    assert ended > 3 * LANES


@ids
def test_the_queue_gives_what_a_step_gives(env_id):
    env, queued = batchenv.make(env_id, LANES), batchenv.make(env_id, LANES, batch_size=2, num_threads=2)
    first, _ = env.reset(seed=1)
    queued.async_reset(seed=1)
    actions = actions_of(env, 30)
    steps = [env.step(action) for action in actions]
    taken = np.zeros(LANES, int)
    rows = [list(iterate(env.action_space, action)) for action in actions]
    in_flight = LANES
    while in_flight >= 2:
        observation, reward, terminated, _, info = queued.recv()
        lanes = info["env_id"]
        for k, lane in enumerate(lanes):
            expected = first if taken[lane] == 0 else steps[taken[lane] - 1][0]
            assert same(each(lambda part: part[k], observation), each(lambda part: part[lane], expected))  # noqa: B023
            if taken[lane]:
                assert reward[k] == steps[taken[lane] - 1][1][lane]
                assert terminated[k] == steps[taken[lane] - 1][2][lane]
        ready = lanes[taken[lanes] < 30]
        chosen = [rows[taken[lane]][lane] for lane in ready]
        taken[ready] += 1
        if len(ready):
            room = create_empty_array(env.single_action_space, len(ready))
            queued.send(concatenate(env.single_action_space, chosen, room), ready)
        in_flight += len(ready) - 2
    assert taken.max() == 30


@ids
@pytest.mark.parametrize("mode", MODES[:2])
def test_rollouts(env_id, mode):
    env, other = (batchenv.make(env_id, LANES, autoreset_mode=mode) for _ in range(2))
    env.reset(seed=2)
    other.reset(seed=2)
    actions = actions_of(env, 50)
    steps = [env.step(action) for action in actions]
    observation, reward, terminated, truncated, info = other.rollout(nested_stack(actions))[:5]
    for t, step in enumerate(steps):
        assert same(each(lambda part: part[t], observation), step[0])  # noqa: B023
        assert same(reward[t], step[1]) and same(terminated[t], step[2]) and same(truncated[t], step[3])
        if mode == AutoresetMode.SAME_STEP and "final_obs" in step[4]:
            for lane in np.flatnonzero(step[4]["_final_obs"]):
                final = each(lambda part: part[t, lane], info["final_obs"])  # noqa: B023
                assert all(map(np.array_equal, leaves(final), leaves(step[4]["final_obs"][lane])))


def nested_stack(values):
    """Things that are nested alike as one, their arrays stacked."""
    if isinstance(values[0], dict):
        return {name: nested_stack([value[name] for value in values]) for name in values[0]}
    if isinstance(values[0], tuple):
        return tuple(nested_stack(list(parts)) for parts in zip(*values, strict=True))
    return np.stack(values)


@ids
def test_random_rollouts_draw_from_the_whole_action_space(env_id):
    env = begun(batchenv.make(env_id, LANES), seed=2)
    actions = env.rollout(400, policy="random", seed=1).actions
    for t in range(0, 400, 37):
        assert env.action_space.contains(each(lambda part: part[t], actions))  # noqa: B023
    for leaf, space in zip(leaves(actions), leaves_of_space(env.single_action_space), strict=True):
        if isinstance(space, spaces.Box):
            assert leaf.min() < -0.9 and leaf.max() > 0.9
        elif isinstance(space, spaces.Discrete):
            assert set(np.unique(leaf)) == set(range(space.start, space.start + space.n))
        else:
            sizes = space.nvec if isinstance(space, spaces.MultiDiscrete) else [2] * space.n
            for j, size in enumerate(np.ravel(sizes)):
                assert set(np.unique(leaf[..., j])) == set(range(size))


def leaves_of_space(space):
    if isinstance(space, spaces.Dict):
        return [leaf for part in space.spaces.values() for leaf in leaves_of_space(part)]
    return [leaf for part in space for leaf in leaves_of_space(part)] if isinstance(space, spaces.Tuple) else [space]


@ids
def test_out(env_id):
    env, other = (batchenv.make(env_id, LANES) for _ in range(2))
    env.reset(seed=4)
    other.reset(seed=4)
    out = (each(np.copy, other.observation_space.sample()), None, None, None)
    for action in actions_of(env, 20):
        expected, given = env.step(action), other.step(action, out=out)
        assert all(map(same, given[:4], expected[:4]))
        assert all(a is b for a, b in zip(leaves(given[0]), leaves(out[0]), strict=True))


def test_out_is_checked():
    env = begun(batchenv.make("SyntheticDict-v0", LANES), seed=4)
    action = env.action_space.sample()
    before = env.snapshot()
    part = np.empty((LANES, 3, 4), np.uint8)
    good = {"image": part, "position": None, "place": None}
    bad = [
        (part, TypeError, "out's observations must be a dict with the keys 'image', 'place', 'position', got ndarray"),
        ({"image": part}, TypeError, "out's observations must be a dict with the keys"),
        ({**good, "image": part[:, 0]}, ValueError, r"out's observations\['image'\] must have dtype uint8 and shape"),
        ({**good, "place": np.empty(LANES)}, ValueError, r"out's observations\['place'\] must have dtype int64"),
        ({**good, "position": [0.0]}, TypeError, r"out's observations\['position'\] must be a numpy.ndarray"),
    ]
    for value, error, message in bad:
        with pytest.raises(error, match=message):
            env.step(action, out=(value, None, None, None))
    memory = np.empty(LANES * 8, np.uint8)
    position = memory.view(np.float32).reshape(LANES, 2)
    overlapping = {"image": None, "place": memory.view(np.int64), "position": position}
    with pytest.raises(ValueError, match="must not overlap"):
        env.step(action, out=(overlapping, None, None, None))
    assert env.snapshot() == before
    env.step(action, out=(good, None, None, None))


@ids
def test_what_is_held_is_not_written_again(env_id):
    env = batchenv.make(env_id, LANES)
    observation, _ = env.reset(seed=4)
    kept = [leaves(observation)[1]]
    copies = [kept[0].copy()]
    for action in actions_of(env, 20):
        observation = env.step(action)[0]
        kept.append(leaves(observation)[-1])  # only one of its parts
        copies.append(kept[-1].copy())
    assert all(map(np.array_equal, kept, copies))


@ids
def test_snapshots(env_id):
    env = begun(batchenv.make(env_id, LANES), seed=5)
    actions = actions_of(env, 30)
    for action in actions[:10]:
        env.step(action)
    snapshot = env.snapshot()
    expected = [copy.deepcopy(env.step(action)[:4]) for action in actions[10:]]
    other = batchenv.make(env_id, LANES)
    for target in (env, other):
        observation = target.restore(pickle.loads(pickle.dumps(snapshot)))
        assert target.observation_space.contains(observation)
        for action, right in zip(actions[10:], expected, strict=True):
            assert all(map(same, target.step(action)[:4], right))


def test_actions_are_checked_by_part():
    env = begun(batchenv.make("SyntheticNested-v0", LANES))
    before = env.snapshot()
    gear, hand, dials = env.action_space.sample()
    beyond = dials.copy()
    beyond[3, 1] = 3
    bad = [
        ((gear, hand, beyond), ValueError, r"action 3 of lane 3 \('2', component 1\) is not in 0\.\.2"),
        ((gear, hand), TypeError, "actions must be a tuple of 3 parts, got tuple of 2"),
        ((gear, {"keys": hand["keys"]}, dials), TypeError, r"actions\[1\] must be a dict with the keys 'keys', 'push'"),
        ((gear * 0, hand, dials), ValueError, r"action 0 of lane 0 \('0'\) is not in 1\.\.3"),
        ((gear, {**hand, "keys": hand["keys"] + 2}, dials), ValueError, r"\('1/keys', component 0\) is not in 0\.\.1"),
        ((gear, {**hand, "push": hand["push"] * np.nan}, dials), ValueError, "is not a finite float32 number"),
        ((gear, {**hand, "push": hand["push"][:2]}, dials), ValueError, r"actions\['1/push'\] have shape \(2, 2\)"),
        ((gear, hand, dials.astype(float)), TypeError, r"actions\['2'\] have dtype float64"),
    ]
    for actions, error, message in bad:
        with pytest.raises(error, match=message):
            env.step(actions)
        with pytest.raises(error):
            env.rollout(each(lambda part: part[None], actions))
    assert env.snapshot() == before


@pytest.mark.parametrize("failing", [0, 3, -1])
def test_a_failed_lane_shows_zeros_in_all_parts(failing):
    env = begun(batchenv.make("SyntheticNested-v0", LANES, fail_step=2, fail_lane=failing, end_probability=0.0))
    failed = np.isin(np.arange(LANES), failing) | (failing == -1)
    actions = actions_of(env, 3)
    env.step(actions[0])
    with pytest.raises(batchenv.LaneError) as problem:
        env.step(actions[1])
    observation, reward, terminated, truncated, _ = problem.value.result
    assert problem.value.env_id.tolist() == np.flatnonzero(failed).tolist()
    np.testing.assert_array_equal(truncated, failed)
    assert not reward[failed].any() and not terminated.any()
    assert not any(part[failed].any() for part in leaves(observation))
    assert all(part[~failed].any() or failed.all() for part in leaves(observation)[:2])
    env.step(actions[2])


@pytest.mark.parametrize(
    "keywords",
    [
        {"frame_stack": 2},
        {"observation_dtype": "float32"},
        {"rescale_observation": (0, 1)},
        {"time_aware": True, "max_episode_steps": 9},
        {"normalize_observation": True},
        {"clip_observation": (0, 1)},
        {"rescale_observation": (0, 1), "frame_stack": 2},
    ],
)
@pytest.mark.parametrize(
    ("env_id", "parts"),
    [
        ("SyntheticDict-v0", {"image", "place", "position"}),
        ("SyntheticNested-v0", {"arm/0", "arm/1", "flags"}),
        ("Blackjack-v1", {"0", "1", "2"}),
    ],
)
def test_transforms_of_one_array_are_refused(keywords, env_id, parts):
    """The message says which transform it is, which parts there are, and what to do."""
    if env_id == "Blackjack-v1" and keywords.keys() & {"frame_stack", "time_aware"}:
        pytest.skip("its Tuple is one array inside, and can be stacked and flattened")
    with pytest.raises((ValueError, TypeError)) as told:
        batchenv.make(env_id, 2, **keywords)
    asked = ", ".join(name for name in keywords if name != "max_episode_steps")
    assert str(told.value).startswith(asked) and "several parts (" in str(told.value)
    assert set(re.findall(r"'([\w/]+)'", re.search("several parts (.*): leave it", str(told.value))[1])) == parts
    assert "leave it out and transform the parts that reset() and step() return" in str(told.value)
    assert "observation='flat'" in str(told.value)


@ids
def test_transforms_that_apply(env_id):
    plain = batchenv.make(env_id, LANES)
    env = batchenv.make(env_id, LANES, reward_scale=2.0, action_repeat=2, record_episode_statistics=True)
    plain.reset(seed=1)
    env.reset(seed=1)
    action = actions_of(env, 1)[0]
    twice = [copy.deepcopy(plain.step(action)) for _ in range(2)]
    observation, reward, *_ = env.step(action)
    going = ~(twice[0][2] | twice[0][3])
    assert going.any()
    assert np.array_equal(reward[going], 2 * (twice[0][1] + twice[1][1])[going])
    for ours, theirs in zip(leaves(observation), leaves(twice[1][0]), strict=True):
        assert np.array_equal(ours[going], theirs[going])


@ids
def test_threads_make_no_difference(env_id):
    env, other = (batchenv.make(env_id, 300, num_threads=threads) for threads in (1, 2))
    env.reset(seed=1)
    other.reset(seed=1)
    for action in actions_of(env, 10):
        assert all(map(same, other.step(action)[:4], env.step(action)[:4]))


@ids
def test_lanes_do_not_depend_on_how_many_there_are(env_id):
    env, last = batchenv.make(env_id, 300), batchenv.make(env_id, 3)
    assert same(each(lambda leaf: leaf[297:], env.reset(seed=1)[0]), last.reset(seed=298)[0])
    for action in actions_of(env, 10):
        ours, theirs = env.step(action), last.step(each(lambda leaf: leaf[297:], action))
        assert same(tuple(each(lambda leaf: leaf[297:], part) for part in ours[:4]), theirs[:4])


@pytest.mark.cases(1)
@ids
def test_the_checker_finds_nothing(env_id):
    batchenv.check_vector_env(env_id).raise_on_failure()


def test_spaces_with_a_start():
    parts = {"a": ("multi_discrete", "int64", (2,), (-1, 2), (3, 2)), "b": ("discrete", "int64", (), (4,), (6,))}
    expected = spaces.Dict(a=spaces.MultiDiscrete([5, 1], start=[-1, 2]), b=spaces.Discrete(3, start=4))
    assert core._space(parts) == expected


def test_trees():
    assert nested.tree_of([""]) == 0
    assert nested.tree_of(["b", "a/1", "a/0"]) == {"a": (2, 1), "b": 0}
    for names in (["", "a"], ["a", "a/b"], ["0", "2"]):
        with pytest.raises(ValueError, match="part"):
            nested.tree_of(names)
