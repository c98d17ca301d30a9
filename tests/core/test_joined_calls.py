"""Several tasks in one batch, with random sizes, threads, keywords and calls: each lane does what it does in a batch of
its own task, on one thread. BATCHENV_JOINED_RUNS sets how many runs there are of each."""

import os

import numpy as np
import pytest

import batchenv
from helpers.joined import assert_alike, firsts, rows, start
from helpers.parity import assert_same

RUNS = int(os.environ.get("BATCHENV_JOINED_RUNS", "12"))
TASKS = {
    "carts": (["CartPole-v1", "CartPole-v0"], {}),
    "mazes": (["MiniGrid-Empty-5x5-v0", "MiniGrid-DoorKey-5x5-v0", "MiniGrid-FourRooms-v0"], {"observation": "image"}),
}
SIZES = [1, 2, 5, 63, 64, 65, 130, 200]  # kernels take lanes in blocks of 64
SOMETIMES = {
    "record_episode_statistics": True,
    "frame_stack": 2,
    "time_aware": True,
    "action_repeat": 2,
    "reward_scale": 0.5,
    "observation_dtype": "float64",
}


def some_keywords(rng):
    chosen = {name: value for name, value in SOMETIMES.items() if rng.random() < 0.25}
    return {**chosen, "max_episode_steps": int(rng.integers(3, 40))}


def step_all(env, apart, actions):
    result = env.step(actions)
    assert_alike(result, [one.step(own) for one, own in zip(apart, rows(apart, actions), strict=True)])
    return result[2] | result[3]


def step_some(env, apart, actions, lanes):
    """Returns which of the lanes have finished."""
    result = env.step(actions[lanes], lanes)
    for one, first in zip(apart, firsts(apart), strict=False):
        own = np.flatnonzero((lanes >= first) & (lanes < first + one.num_envs))
        if len(own):
            alone = one.step(actions[lanes[own]], lanes[own] - first)
            for mine, theirs in zip(result[:4], alone[:4], strict=True):
                assert_same(mine[own], theirs)
    return result[2] | result[3]


def reset_some(env, apart, mask):
    begun = []
    for one, own in zip(apart, rows(apart, mask), strict=True):
        begun.append(one.reset(options={"reset_mask": own})[0] if own.any() else one.restore(one.snapshot()))
    assert_alike(env.reset(options={"reset_mask": mask})[0], begun)


@pytest.mark.parametrize("run", range(RUNS))
@pytest.mark.parametrize("tasks", TASKS)
def test_random_calls(tasks, run):
    rng = np.random.default_rng(run)
    ids, keywords = TASKS[tasks]
    keywords = keywords | some_keywords(rng)
    mode = ["NextStep", "SameStep", "Disabled"][run % 3]
    lanes = {env_id: int(rng.choice(SIZES)) for env_id in ids}
    threads, seed = int(rng.integers(1, 4)), int(rng.integers(1000))
    env = batchenv.make(lanes, num_threads=threads, autoreset_mode=mode, **keywords)
    apart = [batchenv.make(one, n, num_threads=1, autoreset_mode=mode, **keywords) for one, n in lanes.items()]
    env._open().joined.force_parallel(threads > 1)
    assert_alike(env.reset(seed=seed), start(apart, seed))
    env.action_space.seed(seed)
    finished = np.zeros(env.num_envs, bool)
    for _ in range(30):
        actions = env.action_space.sample()
        if mode == "Disabled" and finished.any():
            reset_some(env, apart, finished)
            finished[:] = False
        if rng.random() < 0.7:
            finished[:] = step_all(env, apart, actions)
        else:
            some = rng.permutation(env.num_envs)[: rng.integers(1, env.num_envs + 1)]
            finished[some] = step_some(env, apart, actions, some)
    assert [one.random() for one in env.np_random] == [one.random() for other in apart for one in other.np_random]
