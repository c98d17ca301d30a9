"""Every lane's trajectory is that of the sync env, whoever steps it and when."""

import numpy as np
import pytest

import batchenv
from helpers.begun import begun

ALL = {"record_episode_statistics": True, "frame_stack": 2, "time_aware": True, "reward_scale": 0.5, "action_repeat": 2}


def action_for(env, lane, t):
    """Depends on the lane and its own step count alone."""
    space = env.single_action_space
    rng = np.random.default_rng([int(lane), int(t)])
    if hasattr(space, "n"):
        return rng.integers(space.n)
    return rng.uniform(space.low, space.high).astype(np.float32)


def sync_histories(env_id, lanes, steps, seed, **options):
    """Per lane: its observation, reward and flags of every step."""
    env = batchenv.make(env_id, lanes, **options)
    histories = [[(row.copy(), 0.0, False, False)] for row in env.reset(seed=seed)[0]]
    finals = [[] for _ in range(lanes)]
    for t in range(steps):
        actions = np.stack([action_for(env, lane, t) for lane in range(lanes)])
        obs, rew, term, trunc, info = env.step(actions)
        for lane in range(lanes):
            histories[lane].append((obs[lane].copy(), rew[lane], term[lane], trunc[lane]))
        collect(finals, np.arange(lanes), info)
    env.close()
    return histories, finals


def collect(finals, ids, info):
    """Appends what a batch says of finished episodes, in terms of lanes."""
    for k, lane in enumerate(ids):
        if "_final_obs" in info and info["_final_obs"][k]:
            finals[lane].append(np.array(info["final_obs"][k]))
        if "_episode" in info and info["_episode"][k]:
            finals[lane].append((info["episode"]["r"][k], info["episode"]["l"][k]))


def async_histories(env_id, lanes, steps, seed, **options):
    env = batchenv.make(env_id, lanes, **options)
    env.async_reset(seed=seed)
    histories = [[] for _ in range(lanes)]
    finals = [[] for _ in range(lanes)]
    unfinished = lanes
    while unfinished:
        waiting = env._backend.core.in_flight()
        if waiting < env.batch_size:  # the last lanes: give idle ones something to do
            done = [lane for lane in range(lanes) if len(histories[lane]) > steps][: env.batch_size - waiting]
            env.send(np.stack([action_for(env, lane, 0) for lane in done]), done)
        obs, rew, term, trunc, info = env.recv(timeout=30)
        ids = info["env_id"]
        assert len(ids) == len(obs) == len(rew) == env.batch_size and len(set(ids)) == len(ids)
        again = []
        for k, lane in enumerate(ids):
            if len(histories[lane]) > steps:
                continue
            histories[lane].append((obs[k].copy(), rew[k], term[k], trunc[k]))
            keys = info.keys() & {"_final_obs", "final_obs", "_episode"}
            one = {key: info[key][k : k + 1] for key in keys}
            if "episode" in info:
                one["episode"] = {key: value[k : k + 1] for key, value in info["episode"].items()}
            collect(finals, [lane], one)
            if len(histories[lane]) <= steps:
                again.append(lane)
            else:
                unfinished -= 1
        if again:
            env.send(np.stack([action_for(env, lane, len(histories[lane]) - 1) for lane in again]), again)
    env.close()
    return histories, finals


def assert_equal_histories(ours, expected):
    for lane, (a, b) in enumerate(zip(ours[0], expected[0], strict=True)):
        assert len(a) == len(b)
        for t, (x, y) in enumerate(zip(a, b, strict=True)):
            np.testing.assert_array_equal(x[0], y[0], err_msg=f"lane {lane} step {t}")
            assert x[1:] == y[1:], (lane, t)
    for a, b in zip(ours[1], expected[1], strict=True):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.cases(2, per="env_id")
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("transforms", [{}, ALL], ids=["plain", "transforms"])
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "Acrobot-v1", "Synthetic-v0"])
def test_trajectories_are_those_of_the_sync_env(env_id, transforms, mode):
    options = {"max_episode_steps": 23, "autoreset_mode": mode, **transforms}
    if env_id == "Synthetic-v0":
        options |= {"cost_us": 20.0, "tail_probability": 0.1}
    expected = sync_histories(env_id, 20, 40, 7, **options)
    assert any(expected[1]) == (mode == "SameStep" or bool(transforms))
    for batch_size, threads in ((1, 2), (7, 1), (7, 3), (20, 2)):
        ours = async_histories(env_id, 20, 40, 7, batch_size=batch_size, num_threads=threads, **options)
        assert_equal_histories(ours, expected)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "Blackjack-v1"])
def test_whole_blocks_and_scattered_lanes(env_id):
    """Lanes that lie side by side are stepped in place, others are gathered: both the same as the sync env."""
    lanes = 700
    ours = begun(batchenv.make(env_id, lanes, batch_size=350, num_threads=2), seed=1)
    sync = begun(batchenv.make(env_id, lanes), seed=1)
    rng = np.random.default_rng(0)
    for round in range(12):
        actions = rng.integers(ours.single_action_space.n, size=lanes)
        expected = sync.step(actions)
        order = np.arange(lanes) if round % 2 else rng.permutation(lanes)
        ours.send(actions[order[:350]], order[:350])
        ours.send(actions[order[350:]], order[350:])
        seen = []
        for _ in range(2):
            result = ours.recv()
            ids = result[4]["env_id"]
            seen.extend(ids)
            for a, b in zip(result[:4], expected[:4], strict=True):
                if isinstance(a, tuple):
                    for x, y in zip(a, b, strict=True):
                        np.testing.assert_array_equal(x, y[ids])
                else:
                    np.testing.assert_array_equal(a, b[ids])
            for key in result[4].keys() - {"env_id"}:
                np.testing.assert_array_equal(result[4][key], expected[4][key][ids])
        assert sorted(seen) == list(range(lanes))


def test_params_by_lane():
    lanes, gravity = 300, np.linspace(5.0, 15.0, 300)
    ours = begun(batchenv.make("CartPole-v1", lanes, batch_size=100, gravity=gravity), seed=1)
    sync = begun(batchenv.make("CartPole-v1", lanes, gravity=gravity), seed=1)
    rng = np.random.default_rng(0)
    for t in range(10):
        if t == 5:
            for env in (ours, sync):
                env.set_params(length=0.3 + gravity / 50, lanes=gravity > 7)
        actions = rng.integers(2, size=lanes)
        expected = sync.step(actions)[0]
        order = rng.permutation(lanes)
        ours.send(actions[order], order)
        for _ in range(3):
            rows, *_, info = ours.recv()
            np.testing.assert_array_equal(rows, expected[info["env_id"]])


def test_actions_that_are_not_contiguous():
    ours, sync = begun(batchenv.make("CartPole-v1", 8, batch_size=8)), begun(batchenv.make("CartPole-v1", 8))
    actions = np.arange(32) // 2 % 2
    ours.send(actions[::4], np.arange(8))
    np.testing.assert_array_equal(ours.recv()[0], sync.step(np.ascontiguousarray(actions[::4]))[0])
