"""Batches whose lanes have several tasks: each lane does what it does in a batch of its own task."""

import pickle
import signal

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import batchenv
from batchenv.check import check_vector_env
from helpers.begun import begun
from helpers.joined import assert_alike, firsts, rows, start
from helpers.parity import assert_same

MODES = ["NextStep", "SameStep", "Disabled"]
MAZES = {"MiniGrid-Empty-5x5-v0": 3, "MiniGrid-DoorKey-5x5-v0": 1, "MiniGrid-FourRooms-v0": 4}
CARTS = {"CartPole-v1": 2, "CartPole-v0": 5}
KEYWORDS = {"max_episode_steps": 9, "record_episode_statistics": True}


def pair(ids, **keywords):
    """A batch of all of them, and a batch for each."""
    keywords = {**KEYWORDS, **({"observation": "image"} if ids is MAZES else {}), **keywords}
    return batchenv.make(ids, **keywords), [batchenv.make(env_id, count, **keywords) for env_id, count in ids.items()]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ids", [MAZES, CARTS], ids=["mazes", "carts"])
def test_steps_and_resets(ids, mode):
    env, apart = pair(ids, autoreset_mode=mode)
    assert_alike(env.reset(seed=5), start(apart, 5))
    env.action_space.seed(0)
    rng = np.random.default_rng(0)
    for step in range(60):
        actions = env.action_space.sample()
        result = env.step(actions)
        assert_alike(result, [one.step(own) for one, own in zip(apart, rows(apart, actions), strict=True)])
        mask = rng.random(env.num_envs) < 0.4
        if mode == "Disabled":
            mask |= result[2] | result[3]
        if mask.any() and (mode == "Disabled" or step % 7 == 0):
            seeds = [int(seed) if seed < 5 else None for seed in rng.integers(0, 10, env.num_envs)]
            theirs = []
            for one, own, seed in zip(apart, rows(apart, mask), rows(apart, np.array(seeds, object)), strict=True):
                if own.any():
                    theirs.append(one.reset(seed=seed.tolist(), options={"reset_mask": own})[0])
                else:
                    theirs.append(one.restore(one.snapshot()))
            assert_alike(env.reset(seed=seeds, options={"reset_mask": mask})[0], theirs)
    for name, values in env.state.items():
        assert_same(values, np.concatenate([one.state[name] for one in apart]))
    assert [one.random() for one in env.np_random] == [one.random() for other in apart for one in other.np_random]


@pytest.mark.parametrize("mode", MODES[:2])
def test_rollouts(mode):
    env, apart = pair(CARTS, autoreset_mode=mode, normalize_reward=None, frame_stack=2)
    env.reset(seed=1), start(apart, 1)
    actions = np.random.default_rng(0).integers(0, 2, (40, env.num_envs))
    mine = env.rollout(actions)
    theirs = [one.rollout(own.T) for one, own in zip(apart, rows(apart, actions.T), strict=True)]
    for name in ("observations", "rewards", "terminations", "truncations"):
        assert_same(getattr(mine, name), np.concatenate([getattr(one, name) for one in theirs], axis=1))
    assert list(mine.infos) == list(theirs[0].infos)
    assert_same(mine.infos["episode"]["r"], np.concatenate([one.infos["episode"]["r"] for one in theirs], axis=1))
    if mode == "SameStep":
        assert mine.infos["_final_obs"].any()
        assert_same(mine.infos["final_obs"], np.concatenate([one.infos["final_obs"] for one in theirs], axis=1))
    twin = begun(batchenv.make(CARTS, **KEYWORDS), 1)
    drawn = [twin.rollout(30, policy="random", seed=4).actions for _ in range(2)]
    assert_same(*drawn)
    assert drawn[0].min() == 0
    assert drawn[0].max() == 1


@pytest.mark.parametrize("mode", MODES[:2])
def test_some_lanes(mode):
    env, apart = pair(MAZES, autoreset_mode=mode)
    env.reset(seed=2), start(apart, 2)
    rng = np.random.default_rng(0)
    for _ in range(40):
        lanes = rng.permutation(env.num_envs)[: rng.integers(1, env.num_envs)]
        actions = rng.integers(0, 7, len(lanes))
        mine = env.step(actions, lanes)
        assert_same(mine[4]["env_id"], lanes)
        for one, first in zip(apart, firsts(apart), strict=False):
            own = np.flatnonzero((lanes >= first) & (lanes < first + one.num_envs))
            if len(own):
                theirs = one.step(actions[own], lanes[own] - first)
                for part, other in zip(mine[:4], theirs[:4], strict=True):
                    assert_same(part[own], other)


def test_some_lanes_on_several_threads():
    """A part with few lanes, which by itself would be stepped on one thread."""
    ids, limit = {"CartPole-v1": 5, "CartPole-v0": 300}, {"max_episode_steps": 20}
    one, many = (begun(batchenv.make(ids, num_threads=threads, **limit)) for threads in (1, 3))
    many._open().joined.force_parallel(True)
    rng = np.random.default_rng(0)
    for _ in range(100):
        lanes = rng.permutation(one.num_envs)
        actions = rng.integers(0, 2, len(lanes))
        assert_same(tuple(one.step(actions, lanes)[:4]), tuple(many.step(actions, lanes)[:4]))


@pytest.mark.parametrize("mode", MODES[:2])
@pytest.mark.parametrize("batch_size", [None, 3])
def test_lanes_in_flight(batch_size, mode):
    """Whatever the order in which lanes come back, each goes its own way."""
    keywords = {**KEYWORDS, "observation": "image", "autoreset_mode": mode}
    env, apart = batchenv.make(MAZES, batch_size=batch_size, **keywords), pair(MAZES, autoreset_mode=mode)[1]
    table = np.random.default_rng(0).integers(0, 7, (env.num_envs, 60))
    start(apart, 3)
    expected = [[one.step(own[:, t]) for t in range(60)] for one, own in zip(apart, rows(apart, table), strict=True)]
    env.async_reset(seed=3)
    steps = np.full(env.num_envs, -1)
    seen, ends = [], []
    for _ in range(30):
        assert env._open().in_flight() == env.num_envs
        observations, rewards, terminations, _, infos = env.recv(timeout=5)
        lanes = infos["env_id"]
        for row, lane in enumerate(lanes.tolist()):
            part = int(np.searchsorted(firsts(apart), lane, "right")) - 1
            own = lane - firsts(apart)[part]
            if steps[lane] >= 0:
                theirs = expected[part][steps[lane]]
                assert_same(observations[row], theirs[0][own])
                assert (rewards[row], terminations[row]) == (theirs[1][own], theirs[2][own])
                ended = theirs[2][own] or theirs[3][own]
                if ended and mode == "NextStep":
                    assert infos["_episode"][row]
                    assert infos["episode"]["r"][row] == theirs[4]["episode"]["r"][own]
                elif ended:
                    assert_same(infos["final_obs"][row], theirs[4]["final_obs"][own])
                    ends.append(lane)
                elif "_episode" in infos:
                    assert not infos["_episode"][row]
        steps[lanes] += 1
        seen.append(set(lanes.tolist()))
        if batch_size is None:
            assert_same(lanes, np.arange(env.num_envs))
        with pytest.raises(RuntimeError, match="recv"):
            env.step(env.action_space.sample()) if batch_size else env.recv()
        env.send(table[lanes, steps[lanes]], lanes if len(seen) % 2 else None)
    assert set.union(*seen) == set(range(env.num_envs))
    assert bool(ends) == (mode == "SameStep")
    with pytest.raises(RuntimeError, match=r"env_id\[0\]=0 is in flight"):
        env.send([0], [0])
    env.reset(seed=3)
    assert env._open().in_flight() == 0
    if batch_size is None:
        env.step_async(table[:, 0])
        assert_same(env.step_wait()[1], np.concatenate([one[0][1] for one in expected]))


def test_arrays_of_the_users_own():
    env, twin = begun(batchenv.make(MAZES, observation="image")), begun(batchenv.make(MAZES, observation="image"))
    out = (np.empty((8, 7, 7, 3), np.uint8), np.empty(8), None, np.empty(8, np.bool_))
    for _ in range(20):
        actions = env.action_space.sample()
        mine, theirs = env.step(actions, out=out), twin.step(actions)
        assert mine[0] is out[0]
        assert mine[1] is out[1]
        assert_same(tuple(mine[:4]), tuple(theirs[:4]))
    rewards = np.empty((3, 8))
    rollout = env.rollout(np.zeros((3, 8), np.int64), out=(None, rewards, None, None))
    assert rollout.rewards is rewards
    with pytest.raises(ValueError, match="observations must have dtype uint8"):
        env.step(actions, out=(out[0][:7], None, None, None))
    with pytest.raises(ValueError, match=r"action 9 of lane 6 is not in 0\.\.6"):
        env.step([0] * 6 + [9, 0])
    with pytest.raises(ValueError, match=r"action -1 of lane 7"):
        env.step([0, -1], [2, 7])
    observations, infos = env.reset([6, 1], seed=[3] * 8)
    assert_same(infos["env_id"], np.array([6, 1]))
    assert_same(observations[1], twin.reset(seed=[3] * 8)[0][1])


def test_interrupted_rollouts():
    def interrupt(*_):
        raise KeyboardInterrupt

    # Many steps, each of which is shorter than the time after which it looks at signals.
    env = begun(batchenv.make(["MountainCar-v0"] * 2, 80, max_episode_steps=10**8, action_repeat=5000))
    actions = np.ones((5000, 80), np.int64)
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            env.rollout(actions)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(ResetNeeded, match="interrupted"):
        env.step(env.action_space.sample())
    begun(env).step(env.action_space.sample())


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_matter(threads):
    ids, limit = {"CartPole-v1": 201, "CartPole-v0": 333}, {"max_episode_steps": 40}  # not in whole blocks of lanes
    one = begun(batchenv.make(ids, num_threads=1, **limit))
    many = begun(batchenv.make(ids, num_threads=threads, **limit))
    many._open().joined.force_parallel(threads > 1)
    for _ in range(100):
        actions = one.action_space.sample()
        assert_same(tuple(one.step(actions)[:4]), tuple(many.step(actions)[:4]))


def test_many_lanes_of_kernels():
    """A thread takes so many lanes in several pieces, which begin anywhere in a part."""
    ids, limit = {"CartPole-v1": 20_011, "CartPole-v0": 17_000}, {"max_episode_steps": 40}
    env = begun(batchenv.make(ids, num_threads=1, **limit))
    parts = [batchenv.make(name, lanes, **limit) for name, lanes in ids.items()]
    first = 0
    for part in parts:
        part.reset(seed=first)
        first += part.num_envs
    for _ in range(5):
        actions = env.action_space.sample()
        apart = [part.step(own) for part, own in zip(parts, np.split(actions, [20_011]), strict=True)]
        assert_same(
            tuple(env.step(actions)[:4]), tuple(map(np.concatenate, zip(*[one[:4] for one in apart], strict=True)))
        )


def test_snapshots():
    env, apart = pair(MAZES)
    env.reset(seed=0)
    env.rollout(7, policy="random", seed=0)
    saved = env.snapshot()
    ways = env.rollout(20, policy="random", seed=1)
    env.restore(saved)
    assert_same(env.rollout(20, policy="random", seed=1).observations, ways.observations)
    assert len(saved) == env.num_envs == len(env.snapshot())
    swapped = env.snapshot([5, 0])
    before = env.state
    env.restore(swapped, lanes=[7, 2])
    for name, values in env.state.items():
        assert_same(values[[7, 2]], before[name][[5, 0]])
    with pytest.raises(
        ValueError, match=r"row 0 of the snapshot cannot go into lane 0, which is one of MiniGrid-Empty"
    ):
        env.restore(swapped, lanes=[0, 1])
    one = begun(apart[2], 9)
    env.restore(one.snapshot([1]), lanes=[4])
    assert env.np_random[4].random() == one.np_random[1].random()
    with pytest.raises(ValueError, match="damaged"):
        env.restore(bytes(saved)[:-1])
    with pytest.raises(ValueError, match="damaged"):
        env.restore(bytes(saved)[:300] + bytes([bytes(saved)[300] ^ 1]) + bytes(saved)[301:])
    foreign = begun(batchenv.make("CartPole-v1", 2)).snapshot()
    with pytest.raises(ValueError, match="not a snapshot for this environment"):
        env.restore(foreign, lanes=[0, 1])


def test_pickles():
    env = begun(batchenv.make(CARTS, gravity=np.arange(7) + 5.0, seed=4, **KEYWORDS))
    env.rollout(5, policy="random", seed=0)
    env.plan(seeds=[3, 4, 5], labels=["a", "b", "c"])
    twin = pickle.loads(pickle.dumps(env))
    assert_same(twin.get_params()["gravity"], np.arange(7) + 5.0)
    a, b = env.rollout(40, policy="random", seed=1), twin.rollout(40, policy="random", seed=1)
    assert_same(a.observations, b.observations)
    assert (a.infos["episode"]["label"] == b.infos["episode"]["label"]).all()
    assert {"a", "b", "c"} <= set(a.infos["episode"]["label"].ravel())


def test_plans():
    """Lanes take the entries that they take in a batch of one task."""
    env, one = batchenv.make(CARTS, **KEYWORDS), batchenv.make("CartPole-v1", 7, **KEYWORDS)
    for each in (env, one):
        each.plan(seeds=list(range(20)), params={"gravity": np.arange(20) + 3.0}, order="shuffled", seed=2)
    assert_same(env.reset()[0], one.reset()[0])
    for _ in range(40):
        actions = env.action_space.sample()
        mine, theirs = env.step(actions), one.step(actions)
        assert_same(mine[0], theirs[0])
        if "episode" in theirs[4]:
            assert_same(mine[4]["episode"]["entry"], theirs[4]["episode"]["entry"])
    assert_same(env._open().places(), one._open().places())
    env.end_plan()
    assert env.present_plan is None


def test_params():
    env = begun(batchenv.make(CARTS, max_episode_steps=99))
    env.set_params(gravity=3.0)
    assert env.get_params()["gravity"] == 3.0
    env.set_params(lanes=[1, 4], gravity=[5.0, 6.0])
    assert_same(env.get_params()["gravity"], np.array([3.0, 5, 3, 3, 6, 3, 3]))
    env.set_params(gravity=np.arange(7) + 1.0, force_mag=4.0)
    assert_same(env.get_params()["gravity"], np.arange(7) + 1.0)
    before = env.get_params()
    with pytest.raises(ValueError, match="masscart"):
        env.set_params(masscart=[1.0] * 6 + [-1.0], gravity=2.0)
    assert all(np.array_equal(value, before[name]) for name, value in env.get_params().items())
    with pytest.raises(TypeError, match="gravitation"):
        env.set_params(gravitation=1.0)
    env.set_params(x_threshold=np.array([1.0, 2, 1, 1, 1, 1, 1]))
    assert env.single_observation_space.high[0] == 4
    assert env.get_attr("gravity") == tuple(np.arange(7) + 1.0)
    env.set_attr("gravity", 9.0)
    assert env.get_params()["gravity"] == 9.0


def test_states():
    env = begun(batchenv.make(CARTS, max_episode_steps=99))
    observations = env.set_state({"x": [0.5, 0.6]}, lanes=[6, 1])
    assert_same(observations[[6, 1], 0], np.array([0.5, 0.6], np.float32))
    assert_same(env.state["x"][[6, 1]], np.array([0.5, 0.6]))
    with pytest.raises(ValueError, match="speed"):
        env.set_state({"speed": 1.0})


def test_normalizers_are_shared():
    """As those of one batch of as many lanes."""
    keywords = {"normalize_observation": True, "normalize_reward": 0.9, "reward_dtype": "float32", "copy": False}
    env = begun(batchenv.make(CARTS, **KEYWORDS, **keywords))
    one = begun(batchenv.make("CartPole-v1", 7, **KEYWORDS, **keywords))
    for _ in range(30):
        actions = env.action_space.sample()
        assert_same(tuple(env.step(actions)[:4]), tuple(one.step(actions)[:4]))
    assert_same(env.normalizer.obs_rms.mean, one.normalizer.obs_rms.mean)
    assert env.single_observation_space == one.single_observation_space
    assert_same(env.rollout(9, policy="random", seed=0).rewards.dtype.type(0), np.float32(0))


def test_recordings(tmp_path):
    path = tmp_path / "run.rec"
    env = batchenv.make(CARTS, **KEYWORDS)
    with batchenv.record(env, path):
        env.reset(seed=1)
        saved = env.snapshot()
        for _ in range(20):
            env.step(env.action_space.sample())
        env.restore(saved, lanes=[1, 5], rows=[0, 6])
        env.set_params(gravity=4.0, lanes=[2])
        env.rollout(15, policy="random", seed=0)
        env.send([0, 1], [6, 2])
        env.send([1] * 5, [0, 1, 3, 4, 5])
        env.recv()
    recording = batchenv.replay(path, make_env=lambda: batchenv.make(CARTS, **KEYWORDS))
    recording.verify()
    assert recording.lengths.tolist() == [36] * 7


def test_pictures():
    env = begun(batchenv.make({"MiniGrid-Empty-5x5-v0": 1, "MiniGrid-DoorKey-5x5-v0": 2}, observation="image",
                              render_mode="rgb_array"))  # fmt: skip
    one = begun(batchenv.make("MiniGrid-DoorKey-5x5-v0", 2, observation="image", render_mode="rgb_array"), 1)
    assert_same(env.render([2, 0])[0], one.render([1])[0])
    assert len(env.render()) == 3
    carts = begun(batchenv.make(CARTS, render_mode="rgb_array", **KEYWORDS), 4)
    carts.step(carts.action_space.sample())
    assert carts.render(3)[0].shape == (400, 600, 3)
    assert carts.metadata["render_fps"] == 50
    with pytest.raises(ValueError, match="human"):
        batchenv.make(CARTS, render_mode="human", **KEYWORDS)


@pytest.mark.parametrize(
    ("ids", "keywords", "error", "match"),
    [
        (["CartPole-v1", "Acrobot-v1"], {}, ValueError, "need observations of one shape and dtype, and have CartPole"),
        (["CartPole-v1", "CartPole-v0"], {"num_envs": 4}, ValueError, "have different time limits"),
        (["CartPole-v1", "CartPole-v0"], {"num_envs": 3}, ValueError, "num_envs=3 must be a multiple of 2"),
        (["CartPole-v1"], {}, ValueError, "must be one id"),
        ([], {"num_envs": 4}, ValueError, r"^\[\] must be one id, or two or more in a list$"),
        ({}, {"num_envs": 4}, ValueError, "^{} must be one id, or two or more in a list$"),
        ({"CartPole-v1": 2, "CartPole-v0": 0}, {}, ValueError, "number of lanes of CartPole-v0=0"),
        (CARTS, {"num_envs": 3}, ValueError, "num_envs=3 is not the sum"),
        (["CartPole-v1", "Nothing-v1"], {"num_envs": 2}, ValueError, "Nothing-v1"),
        (["CartPole-v1", "Meta-World/MT10"], {"num_envs": 2}, ValueError, "stands for several tasks already"),
        (CARTS, {"max_episode_steps": 9, "mass": 1.0}, TypeError, "mass"),
    ],
    ids=str,
)
def test_bad_ids(ids, keywords, error, match):
    keywords = {"num_envs": 2, **keywords} if isinstance(ids, list) else keywords
    with pytest.raises(error, match=match):
        batchenv.make(ids, **keywords)


def make_carts(num_envs=4, **keywords):
    return batchenv.make(["CartPole-v1", "CartPole-v0"], num_envs, max_episode_steps=30, **keywords)


def test_all_rules_hold():
    assert check_vector_env(make_carts, num_envs=4).passed
