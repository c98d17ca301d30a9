"""Rewards beside the lane's own: ports of BE_REWARD, which infos have under their names, alone or in a dict."""

import numpy as np
import pytest

import batchenv
from batchenv import _core
from helpers.begun import begun
from helpers.lockstep import actions_of

LANES = 5


def from_parts(observations, infos):
    """What SyntheticDict-v0's rewards are, by its other infos."""
    return infos["parts"][:, [0, 1, 0]] * [1, 2, 3] - [0, 1, 2]


def from_speeds(observations, infos):
    """Likewise SyntheticNested-v0's, by its observations."""
    return np.column_stack([observations["arm"][1], infos["pressed"]])


def of_parts(infos):
    return infos["rewards"]


def of_team(infos):
    return infos["team"]["rewards"]


CASES = {
    "SyntheticDict-v0": ({"num_rewards": 3}, of_parts, from_parts),
    "SyntheticNested-v0": ({}, of_team, from_speeds),
}
each_id = pytest.mark.parametrize("env_id", CASES)
each_mode = pytest.mark.parametrize("mode", ["NextStep", "SameStep"])


def make(env_id, lanes=LANES, **keywords):
    return batchenv.make(env_id, lanes, **{**CASES[env_id][0], **keywords})


def part_of(value, rows):
    """Rows of something nested."""
    if isinstance(value, dict):
        return {name: part_of(part, rows) for name, part in value.items()}
    return tuple(part_of(part, rows) for part in value) if isinstance(value, tuple) else value[rows]


def assert_same(ours, theirs):
    """Of infos, masks included; an array for each of `final_obs`."""
    assert set(ours) == set(theirs)
    for name, value in theirs.items():
        if isinstance(value, dict):
            assert_same(ours[name], value)
        elif name != "final_obs":
            np.testing.assert_array_equal(ours[name], value)


@each_id
@each_mode
def test_every_step_has_them(env_id, mode):
    _, rewards_of, expected_of = CASES[env_id]
    env = make(env_id, autoreset_mode=mode)
    _, info = env.reset(seed=1)
    assert not any("rewards" in part for part in (info, info.get("team", {})))
    resetting, ended = np.zeros(LANES, bool), 0
    for action in actions_of(env, 100):
        observation, _, terminated, truncated, info = env.step(action)
        rewards, done = rewards_of(info), terminated | truncated
        assert rewards.dtype == np.float64 and rewards.flags.c_contiguous and len(rewards) == LANES
        masks = info.get("team", info)
        assert masks["_rewards"].dtype == np.bool_ and masks["_rewards"].all()
        others = ~done
        if mode == "NextStep":
            others = ~resetting
            assert not rewards[resetting].any()
            resetting = done
        elif done.any():
            final = info["final_info"]
            np.testing.assert_array_equal(final.get("team", final)["_rewards"], done)
            np.testing.assert_array_equal(rewards_of(final), np.where(done[:, None], rewards, 0))
            lanes, rows = info.final_rows
            told = {name: final[name][lanes] for name in ("parts", "pressed") if name in final}
            np.testing.assert_array_equal(rewards[done], expected_of(rows, told))
        if others.any():
            told = {name: info[name][others] for name in ("parts", "pressed") if name in info}
            np.testing.assert_array_equal(rewards[others], expected_of(part_of(observation, others), told))
        ended += done.sum()
    assert ended > LANES


@each_id
@pytest.mark.parametrize(
    "keywords, treated",
    [
        ({"reward_scale": -0.5}, lambda rewards: rewards * -0.5),
        ({"clip_reward": (-0.7, 0.3)}, lambda rewards: np.clip(rewards, -0.7, 0.3)),
        ({"reward_scale": 3.0, "clip_reward": (None, 0.5)}, lambda rewards: np.minimum(rewards * 3.0, 0.5)),
        ({"reward_dtype": "float32"}, lambda rewards: rewards),
    ],
    ids=["scaled", "clipped", "scaled and clipped", "float32"],
)
@pytest.mark.parametrize("lanes", [1, LANES, 70])
def test_they_are_scaled_and_clipped(env_id, keywords, treated, lanes):
    rewards_of = CASES[env_id][1]
    raw = begun(make(env_id, lanes, autoreset_mode="SameStep"), seed=1)
    env = begun(make(env_id, lanes, autoreset_mode="SameStep", **keywords), seed=1)
    ended = 0
    for action in actions_of(raw, 40):
        plain, info = raw.step(action)[4], env.step(action)[4]
        assert rewards_of(info).dtype == np.float64
        np.testing.assert_array_equal(rewards_of(info), treated(rewards_of(plain)))
        if "final_info" in info:
            done = info["_final_obs"]
            ended += done.sum()
            np.testing.assert_array_equal(rewards_of(info["final_info"])[done], rewards_of(info)[done])
    assert ended


@each_id
def test_they_are_summed_over_repeated_actions(env_id):
    rewards_of, repeat = CASES[env_id][1], 3
    env = make(env_id, action_repeat=repeat, reward_scale=0.5)
    references = [make(env_id, 1) for _ in range(LANES)]
    env.reset(seed=9)
    for lane, reference in enumerate(references):
        reference.reset(seed=9 + lane)
    resetting, cut_short = np.zeros(LANES, bool), 0
    for action in actions_of(env, 60):
        _, reward, terminated, truncated, info = env.step(action)
        for lane, reference in enumerate(references):
            total, sums = 0.0, 0.0
            for steps in range(1 if resetting[lane] else repeat):
                _, one, *ends, told = reference.step(part_of(action, slice(lane, lane + 1)))
                total, sums = total + one[0], sums + rewards_of(told)[0]
                if any(ends):
                    cut_short += steps + 1 < repeat
                    break
            assert reward[lane] == 0.5 * total
            np.testing.assert_array_equal(rewards_of(info)[lane], 0.5 * sums)
        resetting = terminated | truncated
    assert cut_short


@each_id
@each_mode
def test_rollouts_have_what_steps_have(env_id, mode):
    rewards_of = CASES[env_id][1]
    keywords = {"autoreset_mode": mode, "reward_scale": 2.0, "clip_reward": (-1.5, None)}
    env, stepped = begun(make(env_id, 70, **keywords), seed=2), begun(make(env_id, 70, **keywords), seed=2)
    rollout = env.rollout(50, policy="random", seed=4)
    for t in range(50):
        *_, info = stepped.step(part_of(rollout.actions, t))
        np.testing.assert_array_equal(rewards_of(rollout.infos)[t], rewards_of(info))
        if "cell" in info:
            np.testing.assert_array_equal(rollout.infos["cell"]["row"][t], info["cell"]["row"])
        if "final_info" in info:
            done = info["_final_obs"]
            final, expected = rollout.infos["final_info"], info["final_info"]
            np.testing.assert_array_equal(rewards_of(final)[t], rewards_of(expected))
            if "cell" in expected:
                np.testing.assert_array_equal(final["cell"]["column"][t][done], expected["cell"]["column"][done])
    infos = rollout.infos
    assert not any(name.startswith("_") and name != "_final_obs" for name in (*infos, *infos.get("cell", {})))
    assert rewards_of(env.rollout(0, policy="random").infos).shape == (0, *rewards_of(rollout.infos).shape[1:])


@each_id
@each_mode
def test_lanes_in_flight_have_what_a_step_gives(env_id, mode):
    rewards_of, steps = CASES[env_id][1], 30
    keywords = {"autoreset_mode": mode, "reward_scale": 2.0}
    env, queued = make(env_id, **keywords), make(env_id, batch_size=2, num_threads=2, **keywords)
    env.reset(seed=1)
    queued.async_reset(seed=1)
    actions = actions_of(env, steps)
    results = [env.step(action)[4] for action in actions]
    taken, in_flight = np.zeros(LANES, int), LANES
    while in_flight >= 2:
        info = queued.recv()[4]
        in_flight -= 2
        for k, lane in enumerate(info["env_id"]):
            expected = results[taken[lane] - 1] if taken[lane] else None
            right = rewards_of(expected)[lane] if taken[lane] else np.zeros_like(rewards_of(info)[k])
            np.testing.assert_array_equal(rewards_of(info)[k], right)
            if "_final_obs" in info and info["_final_obs"][k]:
                np.testing.assert_array_equal(rewards_of(info["final_info"])[k], right)
                final = rewards_of(expected["final_info"])[lane]
                np.testing.assert_array_equal(rewards_of(info["final_info"])[k], final)
            if taken[lane] < steps:
                queued.send(part_of(actions[taken[lane]], slice(lane, lane + 1)), [lane])
                taken[lane] += 1
                in_flight += 1
    assert taken.min() > 10


@each_id
@each_mode
def test_steps_of_some_lanes_have_theirs(env_id, mode):
    rewards_of = CASES[env_id][1]
    keywords = {"autoreset_mode": mode, "reward_scale": 2.0}
    env, other = begun(make(env_id, **keywords), seed=1), begun(make(env_id, **keywords), seed=1)
    for action in actions_of(env, 30):
        expected = env.step(action)[4]
        for lanes in ([3, 0], [4, 2, 1]):
            info = other.step(part_of(action, lanes), lanes)[4]
            np.testing.assert_array_equal(rewards_of(info), rewards_of(expected)[lanes])
            if "final_info" in info:
                np.testing.assert_array_equal(rewards_of(info["final_info"]), rewards_of(expected["final_info"])[lanes])


@each_id
def test_arrays_that_are_held_are_not_written_again(env_id):
    rewards_of = CASES[env_id][1]
    env = begun(make(env_id), seed=1)
    held = [rewards_of(env.step(action)[4]) for action in actions_of(env, 10)]
    copies = [rewards.copy() for rewards in held]
    for action in actions_of(env, 10, seed=5):
        env.step(action)
    assert all(map(np.array_equal, held, copies))
    assert not any(np.shares_memory(held[i], held[j]) for i in range(10) for j in range(i))


@each_id
def test_rewards_of_before_do_not_come_back(env_id):
    rewards_of = CASES[env_id][1]
    env = begun(make(env_id), seed=1)
    actions = actions_of(env, 6)
    snapshot = env.snapshot()
    expected = [rewards_of(env.step(action)[4]).copy() for action in actions]
    for starting in (lambda: env.restore(snapshot), lambda: env.reset(seed=1)):
        starting()
        for action, rewards in zip(actions, expected, strict=True):
            np.testing.assert_array_equal(rewards_of(env.step(action)[4]), rewards)


def test_a_failed_lane_has_none():
    env = begun(make("SyntheticNested-v0", fail_step=2, fail_lane=3, end_probability=0.0))
    actions = actions_of(env, 3)
    assert env.step(actions[0])[4]["team"]["rewards"].all(axis=1).any()
    with pytest.raises(batchenv.LaneError) as problem:
        env.step(actions[1])
    rewards = problem.value.result[4]["team"]["rewards"]
    assert not rewards[3].any() and rewards[:3].any(axis=1).all()


def test_resets_of_some_lanes_have_dicts_with_masks():
    env = begun(make("SyntheticDict-v0", 3, autoreset_mode="Disabled", end_probability=0.0), seed=1)
    env.step(actions_of(env, 1)[0])
    mask = np.array([False, True, True])
    _, info = env.reset(options={"reset_mask": mask})
    np.testing.assert_array_equal(info["cell"]["row"], [0, -1, -1])
    np.testing.assert_array_equal(info["cell"]["_row"], mask)
    np.testing.assert_array_equal(info["_cell"], mask)
    assert set(info["cell"]) == {"row", "_row"} and "rewards" not in info


def test_a_dict_has_the_lanes_that_have_anything_in_it():
    env = begun(make("SyntheticDict-v0", end_probability=0.3), seed=1)
    started = 0
    for action in actions_of(env, 30):
        *_, info = env.step(action)
        assert {"cell", "_cell"} < set(info) and set(info["cell"]) <= {"row", "_row", "column", "_column"}
        cell, fresh = info["cell"], info["touched"] == -1
        if fresh.all():
            assert "column" not in cell
        else:
            np.testing.assert_array_equal(cell["_column"], ~fresh)
        assert info["_cell"].all() and cell["_row"].all() and not np.shares_memory(info["_cell"], cell["_row"])
        started += fresh.any()
    assert started


@pytest.mark.parametrize("count", [0, 1, 9])
def test_params_say_how_many_there_are(count):
    env = batchenv.make("SyntheticDict-v0", 70, num_rewards=count, end_probability=0.0, batch_size=7, num_threads=2)
    stepped = batchenv.make("SyntheticDict-v0", 70, num_rewards=count, end_probability=0.0)
    _, info = stepped.reset(seed=1)
    assert "rewards" not in info and stepped.get_attr("num_rewards") == (count,) * 70
    *_, info = stepped.step(np.ones((70, 3), np.int64))
    if count == 0:
        assert "rewards" not in info and "_rewards" not in info
        assert "rewards" not in stepped.rollout(3, policy="random").infos
    else:
        parts = info["parts"][:, np.arange(count) % 2]
        np.testing.assert_array_equal(info["rewards"], parts * np.arange(1, count + 1) - np.arange(count))
    env.async_reset(seed=1)
    for k in range(20):  # in flight lanes of a kernel that are not neighbours are stepped elsewhere
        told = env.recv()[4]
        if k >= 10 and count:
            np.testing.assert_array_equal(told["rewards"], info["rewards"][told["env_id"]])
        env.send(np.ones((7, 3), np.int64), told["env_id"]) if k < 10 else None
    with pytest.raises(ValueError, match="change the shape of a space: make a new env"):
        stepped.set_params(num_rewards=count + 1 - 2 * (count == 9))
    rows = {line["name"]: line for line in _core.type_info("SyntheticDict")["info"]}
    assert {"cell/row", "cell/column", "rewards"} < set(rows) and rows["rewards"]["shape"] == (2,)


def test_one_lane_of_gymnasiums():
    import gymnasium

    env = gymnasium.make("batchenv/SyntheticNested-v0")
    _, info = env.reset(seed=1)
    assert info["team"]["size"] == 3 and "rewards" not in info["team"]
    observation, *_, info = env.step(env.action_space.sample())
    np.testing.assert_array_equal(info["team"]["rewards"], [*observation["arm"][1], info["pressed"]])
