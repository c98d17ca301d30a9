"""Catch and NChain, which Gymnasium does not have: EnvPool's rules, on NumPy's random streams.

EnvPool draws from another generator. To follow it step for step, our lanes are given what it has drawn: Catch the
ball's column, from snapshots; NChain whether the step slips, by a probability of 0 or 1.
"""

import copy
import pickle

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

import batchenv

LANES = 64
STEPS = 350


def envpool(env_id, lanes=LANES, **keywords):
    module = pytest.importorskip("envpool", reason="compares with EnvPool")
    return module.make_gymnasium(env_id, num_envs=lanes, num_threads=1, seed=4, **keywords)


def assert_same_step(ours, theirs, where):
    """Equal values; EnvPool's rewards are float32, its integers int32."""
    for name, mine, other in zip(("observation", "reward", "terminated", "truncated"), ours, theirs, strict=False):
        np.testing.assert_array_equal(mine, other, err_msg=f"{name}, {where}")


# ---- Catch ---------------------------------------------------------------------------------------------------------


def starts_by_column(height, width):
    """A snapshot whose lane c begins with the ball in column c."""
    env = batchenv.make("Catch-v0", 40 * width, height=height, width=width)
    columns = env.reset(seed=0)[0][:, 0].argmax(axis=1)
    return env.snapshot([int(np.flatnonzero(columns == column)[0]) for column in range(width)])


@pytest.mark.parametrize("height, width", [(10, 5), (6, 8), (3, 2), (4, 1), (2, 3)])
def test_catch_is_envpools(height, width):
    theirs = envpool("Catch-v0", height=height, width=width)
    ours = batchenv.make("Catch-v0", LANES, height=height, width=width)
    starts = starts_by_column(height, width)
    observation, _ = theirs.reset()
    mine, _ = ours.reset(seed=0)
    begun = np.ones(LANES, bool)
    rng = np.random.default_rng(1)
    rewards = set()
    for step in range(STEPS):
        if begun.any():
            lanes = np.flatnonzero(begun)
            mine = ours.restore(starts, lanes, rows=observation[lanes, 0].argmax(axis=1))
        np.testing.assert_array_equal(mine, observation, err_msg=f"before step {step}")
        actions = rng.integers(3, size=LANES)
        mine, *rest, _ = ours.step(actions)
        observation, *expected, info = theirs.step(actions.astype(np.int32))
        for a, b in zip(rest, expected, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"step {step}")
        np.testing.assert_array_equal(ours.state["elapsed_steps"], info["elapsed_step"])
        begun = info["elapsed_step"] == 0
        rewards.update(rest[0].tolist())
    assert rewards == {0, 1} | ({-1} if width > 1 else set())


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=[mode.value for mode in AutoresetMode])
def test_catch_streams(mode):
    """The rules and draws as documented, by a plain implementation of them."""
    height, width = 7, 6
    env = batchenv.make("Catch-v0", LANES, height=height, width=width, autoreset_mode=mode)
    generators = [np.random.default_rng(5 + i) for i in range(LANES)]
    row, paddle = np.zeros(LANES, int), np.full(LANES, width // 2)
    column = np.array([generator.integers(width) for generator in generators])

    def board():
        cells = np.zeros((LANES, height, width), np.float32)
        cells[range(LANES), row, column] = cells[range(LANES), height - 1, paddle] = 1
        return cells

    def begin(lanes):
        for i in np.flatnonzero(lanes):
            row[i], paddle[i], column[i] = 0, width // 2, generators[i].integers(width)

    observation, info = env.reset(seed=5)
    np.testing.assert_array_equal(observation, board())
    assert observation.dtype == np.float32 and info == {}
    rng = np.random.default_rng(2)
    done = np.zeros(LANES, bool)
    for _ in range(200):
        actions = rng.integers(3, size=LANES)
        observation, reward, terminated, truncated, info = env.step(actions)
        begun = done & (mode is AutoresetMode.NEXT_STEP)
        begin(begun)
        row[~begun] += 1
        paddle[~begun] = np.clip(paddle + actions - 1, 0, width - 1)[~begun]
        done = row == height - 1
        np.testing.assert_array_equal(reward, done * np.where(column == paddle, 1, -1))
        np.testing.assert_array_equal(terminated, done)
        assert not truncated.any()
        if mode is AutoresetMode.SAME_STEP and done.any():
            np.testing.assert_array_equal(np.stack(info["final_obs"][done].tolist()), board()[done])
            begin(done)
        np.testing.assert_array_equal(observation, board())
        if mode is AutoresetMode.DISABLED and done.any():
            observation, _ = env.reset(options={"reset_mask": done})
            begin(done)
            np.testing.assert_array_equal(observation, board())


# ---- NChain --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [None, 17])
def test_nchain_is_envpools(limit):
    keywords = {} if limit is None else {"max_episode_steps": limit}
    theirs, ours = envpool("NChain-v0", **keywords), batchenv.make("NChain-v0", LANES, **keywords)
    np.testing.assert_array_equal(ours.reset(seed=0)[0], theirs.reset()[0])
    rng = np.random.default_rng(1)
    rewards, truncations = set(), 0
    for step in range(1100):
        actions = (rng.random(LANES) < 0.2).astype(np.int32)
        *expected, info = theirs.step(actions)
        slipped = (expected[1] == 2) != (actions == 1)
        ours.set_params(slip=slipped.astype(float))
        result = ours.step(actions)
        assert_same_step(result, expected, f"step {step}")
        np.testing.assert_array_equal(ours.state["elapsed_steps"], info["elapsed_step"])
        rewards.update(result[1].tolist())
        truncations += result[3].sum()
    assert rewards == {0, 2, 10} and truncations == LANES * (1100 // (1000 + 1) if limit is None else 1100 // (17 + 1))


def test_nchain_slips_as_often():
    """Action 1 in cell 0: reward 2, or 0 for a slip. Both within five standard deviations of 0.2."""
    lanes, steps = 4096, 50
    bound = 5 * np.sqrt(0.2 * 0.8 / (lanes * steps))
    ours, theirs = batchenv.make("NChain-v0", lanes), envpool("NChain-v0", lanes)
    actions = np.ones(lanes, np.int32)
    for env in (ours, theirs):
        env.reset(**({"seed": 3} if env is ours else {}))
        slips = sum(np.count_nonzero(env.step(actions)[1] == 0) for _ in range(steps))
        assert abs(slips / (lanes * steps) - 0.2) < bound


def test_nchain_streams():
    """The rules and draws as documented, by a plain implementation of them; parameters by lane."""
    slip, small, large = np.linspace(0, 1, LANES), np.arange(LANES) / 8, -np.arange(LANES)
    env = batchenv.make("NChain-v0", LANES, slip=slip, small=small, large=large, max_episode_steps=40)
    generators = [np.random.default_rng(9 + i) for i in range(LANES)]
    observation, info = env.reset(seed=9)
    assert info == {} and observation.dtype == np.int64
    rng = np.random.default_rng(2)
    cell = np.zeros(LANES, int)
    for step in range(1, 300):
        actions = (rng.random(LANES) < 0.3).astype(int)
        observation, reward, terminated, truncated, _ = env.step(actions)
        if step % 41 == 0:
            cell[:], expected = 0, np.zeros(LANES)
        else:
            back = (actions == 1) != (np.array([generator.random() for generator in generators]) < slip)
            expected = np.where(back, small, np.where(cell == 4, large, 0))
            cell = np.where(back, 0, np.minimum(cell + 1, 4))
        np.testing.assert_array_equal(observation, cell)
        np.testing.assert_array_equal(reward, expected)
        assert not terminated.any() and (truncated == (step % 41 == 40)).all()


# ---- both ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("env_id", ["Catch-v0", "NChain-v0"])
def test_spaces_are_envpools(env_id):
    ours, theirs = batchenv.make(env_id, LANES), envpool(env_id)
    assert ours.single_observation_space == theirs.observation_space
    assert isinstance(theirs.action_space, spaces.Discrete)
    assert ours.single_action_space.n == theirs.action_space.n
    assert batchenv.registry.TABLE[env_id].max_episode_steps in (theirs.spec.config.max_episode_steps, None)


@pytest.mark.parametrize("copies", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_catch_copies(copies):
    env = batchenv.make("Catch-v0", 3, height=4, width=9)
    env.reset(seed=1), env.step([0, 1, 2])
    other = copies(env)
    assert other.get_attr("height") == (4,) * 3 and other.get_attr("width") == (9,) * 3
    for _ in range(9):
        assert_same_step(other.step([2, 0, 1]), env.step([2, 0, 1]), "copy")


def test_catch_board_in_snapshots():
    """A state of another board is refused: its columns would be beyond this one's."""
    small, large = batchenv.make("Catch-v0", 2), batchenv.make("Catch-v0", 2, width=50)
    small.reset(seed=0), large.reset(seed=0)
    with pytest.raises(ValueError, match="another map"):
        small.restore(large.snapshot())


@pytest.mark.parametrize("height, width", [(2**20, 1), (2, 2**19), (2**10, 2**10)])
def test_the_largest_boards(height, width):
    env = batchenv.make("Catch-v0", 1, height=height, width=width)
    board = env.reset(seed=0)[0][0]
    assert board.shape == (height, width) and board[0].sum() == board[-1].sum() == 1 and board.sum() == 2
    env.step([1])


@pytest.mark.parametrize(
    "keywords, text",
    [
        ({"height": 2**20 + 1, "width": 1}, "height=1048577 must be at most 1048576"),
        ({"height": 2, "width": 2**19 + 1}, "make 1048578 cells: at most 1048576"),
        ({"height": 1}, "height=1 must be"),
        ({"width": 0}, "width=0 must be"),
        ({"width": 2.0}, "width=2.0 must be an int"),
        ({"height": 2**11, "width": 2**11}, "make 4194304 cells: at most 1048576"),
        ({"depth": 3}, "Catch-v0 has no parameter 'depth'; it has: height, width"),
        ({"board": 3}, "no parameter 'board'"),
    ],
    ids=str,
)
def test_bad_boards(keywords, text):
    with pytest.raises((TypeError, ValueError), match=text):
        batchenv.make("Catch-v0", 2, **keywords)


@pytest.mark.parametrize("slip", [-0.1, 1.1, np.nan, "0.2", [0.1]])
def test_bad_slips(slip):
    with pytest.raises((TypeError, ValueError), match="slip"):
        batchenv.make("NChain-v0", 2, slip=slip)
