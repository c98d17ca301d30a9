"""What a recording gives back is what the env returned, bit for bit."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import batchenv
from batchenv.recordings.leaves import flat
from helpers.ids import ALL
from helpers.recordings import Kept

ENVS = {
    "CartPole": ("CartPole-v1", {}),
    "float32": ("CartPole-v1", {"reward_dtype": "float32"}),
    "FrozenLake": ("FrozenLake-v1", {}),
    "Taxi": ("Taxi-v4", {"is_rainy": True}),
    "Blackjack": ("Blackjack-v1", {}),
    "MiniGrid": ("MiniGrid-DoorKey-5x5-v0", {}),
    "BabyAI": ("BabyAI-GoToLocal-v0", {}),
    "Pendulum": ("Pendulum-v1", {}),
    "LunarLander": ("LunarLander-v3", {}),
    "BipedalWalker": ("BipedalWalker-v3", {}),
    "HalfCheetah": ("HalfCheetah-v5", {"max_episode_steps": 40}),
    "Pong": ("Pong-v5", {}),
    "stack": ("Pendulum-v1", {"frame_stack": 3, "time_aware": True, "max_episode_steps": 30}),
    "normalized": ("Pendulum-v1", {"normalize_observation": True, "normalize_reward": 0.99, "frame_stack": 2}),
    "lanes differ": ("CartPole-v1", {"length": np.linspace(0.3, 0.7, 4)}),
    "repeat": ("LunarLander-v3", {"action_repeat": 3, "record_episode_statistics": True}),
}


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("case", ENVS)
def test_every_step_is_given_back(case, mode, tmp_path):
    env_id, keywords = ENVS[case]
    env = batchenv.make(env_id, 4, autoreset_mode=mode, **keywords)
    kept, steps = Kept(env), 60 if case == "Pong" else 150
    with batchenv.record(env, tmp_path / "run.rec", key_frames=32) as recorder:
        kept.reset(seed=3)
        kept.steps(steps)
        assert recorder.steps == 4 * steps
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.complete
        assert recording.steps == 4 * steps
        assert recording.verify() == 4 * steps
        kept.check(recording)
        kept.check(recording, 37, 55)
        kept.check(recording, 33, 34, [2])
        kept.check(recording, 5, 41, [3, 1])
        at = 0
        for window in recording.windows(47):
            kept.check_window(window, at, range(4))
            at += len(window.rewards)
        assert at == steps


@pytest.mark.parametrize("env_id", ALL)
def test_every_environment(env_id, tmp_path):
    env = batchenv.make(env_id, 3, autoreset_mode="SameStep", max_episode_steps=16)  # ends meet the steps in checksums
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec", key_frames=16):
        kept.reset(seed=3)
        kept.steps(50)
        env.rollout(20, policy="random", seed=0)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.verify() == 210
        kept.check(recording, 0, 50)
        kept.check(recording, 20, 50, [1])


@pytest.mark.parametrize("env_id", ["Blackjack-v1", "MiniGrid-DoorKey-5x5-v0", "HalfCheetah-v5", "Taxi-v4"])
def test_results_of_any_env_may_be_stored(env_id, tmp_path):
    env = batchenv.make(env_id, 3, autoreset_mode="SameStep", max_episode_steps=9)
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec", observations=True):
        kept.reset(seed=3)
        kept.steps(50)
        rollout = env.rollout(30, policy="random", seed=0)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.verify() == 240
        kept.check(recording, 0, 50)
        window = recording.window(50, 80)
        assert np.array_equal(window.rewards, rollout.rewards)
        for name, values in rollout.infos.items():
            if isinstance(values, np.ndarray) and name != "final_obs":
                assert np.array_equal(window.infos[name], values)
        for one in recording.trajectories():
            assert len(flat(one.observations)[0]) == len(one.rewards) + 1


def test_actions_are_given_back(tmp_path):
    for env_id in ("CartPole-v1", "Taxi-v4", "Pong-v5", "HalfCheetah-v5"):
        env = batchenv.make(env_id, 3)
        with batchenv.record(env, tmp_path / "run.rec", overwrite=True):
            env.reset(seed=0)
            given = env.rollout(30, policy="random", seed=1).actions
        with batchenv.replay(tmp_path / "run.rec") as recording:
            window = recording.window(0, 30)
            assert np.array_equal(window.actions, given)
            assert window.actions.dtype == env.action_space.dtype


@pytest.mark.parametrize("bits", [2, 3, 5, 16, 17, 300, 70000])
def test_actions_of_any_size_are_packed(bits):
    from gymnasium import spaces

    from batchenv.recordings.leaves import kept, leaves_of, packed, unpacked

    rng = np.random.default_rng(bits)
    space = spaces.Discrete(bits, start=-2)
    (leaf,) = leaves_of(space)
    values = rng.integers(-2, bits - 2, (7, 5))
    written = packed(leaf, kept(leaf, values, (7, 5)))
    assert np.array_equal(unpacked(leaf, written, (7, 5)), values)
    many = spaces.MultiDiscrete([bits, 2, bits])
    (leaf,) = leaves_of(many)
    values = rng.integers(0, [bits, 2, bits], (7, 5, 3))
    assert np.array_equal(unpacked(leaf, packed(leaf, kept(leaf, values, (7, 5))), (7, 5)), values)


def test_float64_actions_act_as_they_did(tmp_path):
    env = batchenv.make("HalfCheetah-v5", 2)
    kept = Kept(env)
    rng = np.random.default_rng(0)
    with batchenv.record(env, tmp_path / "run.rec"):
        kept.reset(seed=0)
        for _ in range(40):
            kept.step(rng.uniform(-1, 1, (2, 6)))
    with batchenv.replay(tmp_path / "run.rec") as recording:
        kept.check(recording)
        recording.verify()


@pytest.mark.parametrize("env_id", ["CartPole-v1", "HalfCheetah-v5", "MiniGrid-DoorKey-5x5-v0"])
def test_rollouts_are_recorded_as_steps(env_id, tmp_path):
    env = batchenv.make(env_id, 5)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=2)
        first = env.rollout(40, policy="random", seed=4)
        second = env.rollout(first.actions)
        env.step(env.action_space.sample())
    with batchenv.replay(tmp_path / "run.rec") as recording:
        window = recording.window(0, 80)
        for part, one, two in zip(
            *map(flat, (window.observations, first.observations, second.observations)), strict=True
        ):
            if part.dtype.kind != "O":
                assert np.array_equal(part, np.concatenate([one, two]))
        assert np.array_equal(window.rewards, np.concatenate([first.rewards, second.rewards]))
        for name in first.infos:
            assert np.array_equal(window.infos[name], np.concatenate([first.infos[name], second.infos[name]]))
        assert recording.verify() == 81 * 5


@pytest.mark.parametrize("env_id", ["CartPole-v1", "MiniGrid-DoorKey-5x5-v0", "HalfCheetah-v5"])
def test_replays_in_small_parts(env_id, tmp_path, monkeypatch):
    from batchenv.recordings import player

    env = batchenv.make(env_id, 3)
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec"):
        kept.reset(seed=0)
        kept.steps(100)
    monkeypatch.setattr(player, "_BYTES", 7 * 3 * player._nbytes(env.single_observation_space))  # 7 steps at a time
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.verify() == 300
        kept.check(recording)
        kept.check(recording, 10, 90, [2, 0])


def test_episodes_that_are_cut(tmp_path):
    env = batchenv.make("CartPole-v1", 3)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=0)
        env.rollout(np.zeros((4, 3), int))
        env.reset(seed=[None, 8, None], options={"reset_mask": np.array([False, True, False])})
        env.rollout(np.zeros((3, 3), int))
        snapshot = env.snapshot()
        env.restore(snapshot, [2], rows=[2])
        env.rollout(np.zeros((1, 3), int))
    with batchenv.replay(tmp_path / "run.rec") as recording:
        table = recording.episodes
        rows = sorted(zip(*(column.tolist() for column in table), strict=True))
        cut = [False, False, False]
        assert rows == [
            (0, 0, 8, 8.0, *cut, 0),
            (1, 0, 4, 4.0, *cut, 1),
            (1, 4, 4, 4.0, *cut, 8),
            (2, 0, 7, 7.0, *cut, 2),
            (2, 7, 1, 1.0, *cut, -1),
        ]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_matter(threads, tmp_path):
    env = batchenv.make("LunarLander-v3", 6, num_threads=2)
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec"):
        kept.reset(seed=0)
        kept.steps(80)
    with batchenv.replay(tmp_path / "run.rec", num_threads=threads) as recording:
        kept.check(recording)


def test_another_process_replays_it(tmp_path):
    program = """
        import sys, numpy as np, batchenv
        env = batchenv.make("HalfCheetah-v5", 3, max_episode_steps=30)
        with batchenv.record(env, sys.argv[1]):
            env.reset(seed=8)
            rollout = env.rollout(100, policy="random", seed=5)
        np.save(sys.argv[2], rollout.observations)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "run.rec"), str(tmp_path / "seen.npy")]
    subprocess.run(command, check=True)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert np.array_equal(recording.window(0, 100).observations, np.load(tmp_path / "seen.npy"))
        assert recording.verify() == 300


def test_a_recording_may_begin_in_the_middle(tmp_path):
    env = batchenv.make("LunarLander-v3", 4)
    kept = Kept(env)
    env.reset(seed=0)
    env.rollout(100, policy="random", seed=1)
    with batchenv.record(env, tmp_path / "run.rec"):
        kept.before = [{0: None} for _ in range(4)]
        kept.steps(120)
    for known in kept.before:
        known.pop(0)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        kept.check(recording, 1)
        episodes = recording.episodes
        assert not episodes.complete[episodes.starts == 0].any()
        assert recording.verify() == 480


def test_waiting_lanes_begin_with_their_reset(tmp_path):
    env = batchenv.make("CartPole-v1", 2, max_episode_steps=5)
    env.reset(seed=0)
    env.rollout(5, policy="random", seed=1)  # the next step resets both
    with batchenv.record(env, tmp_path / "run.rec"):
        env.rollout(12, policy="random")
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.episodes.starts.tolist()[:4] == [1, 1, 7, 7]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_the_table_of_episodes(mode, tmp_path):
    env = batchenv.make("CartPole-v1", 3, autoreset_mode=mode)
    rows, open_ = [], {}
    env.action_space.seed(0)
    with batchenv.record(env, tmp_path / "run.rec", flush_seconds=1e-4):
        env.reset(seed=10)
        seeds = [10, 11, 12]
        begin, total = [0, 0, 0], [0.0, 0.0, 0.0]
        skip = [False] * 3
        for t in range(200):
            result = env.step(env.action_space.sample())
            over = result[2] | result[3]
            for lane in range(3):
                if skip[lane]:
                    skip[lane], begin[lane], total[lane] = False, t + 1, 0.0
                    continue
                total[lane] += result[1][lane]
                if over[lane]:
                    rows.append(
                        (lane, begin[lane], t + 1 - begin[lane], total[lane], bool(result[2][lane]), seeds[lane])
                    )
                    seeds[lane], total[lane] = -1, 0.0
                    begin[lane], skip[lane] = t + 1, mode == "NextStep"
            if mode == "Disabled" and over.any():
                new = [100 + t if flag else None for flag in over]
                env.reset(seed=new, options={"reset_mask": over})
                seeds = [seed if seed is not None else old for seed, old in zip(new, seeds, strict=True)]
        open_ = {lane: (begin[lane], total[lane]) for lane in range(3) if begin[lane] < 200 and not skip[lane]}
    with batchenv.replay(tmp_path / "run.rec") as recording:
        table = recording.episodes
        whole = np.flatnonzero(table.complete)
        found = sorted(
            (int(table.lanes[k]), int(table.starts[k]), int(table.lengths[k]), float(table.returns[k]),
             bool(table.terminated[k]), int(table.seeds[k])) for k in whole
        )  # fmt: skip
        assert found == sorted(rows)
        cut = [k for k in range(len(table.lanes)) if not table.complete[k]]
        assert {int(table.lanes[k]): (int(table.starts[k]), float(table.returns[k])) for k in cut} == open_
        assert (np.diff(table.starts) >= 0).all()
        one = recording.episode(4)
        assert one.rewards.shape == (table.lengths[4],)
        assert one.rewards.sum() == table.returns[4]
        assert (one.terminations | one.truncations).tolist() == [False] * (table.lengths[4] - 1) + [True]


def test_returns_that_are_no_whole_numbers(tmp_path):
    env = batchenv.make("Pendulum-v1", 3, max_episode_steps=20)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=1)
        rewards = env.rollout(100, policy="random", seed=2).rewards
    with batchenv.replay(tmp_path / "run.rec") as recording:
        table = recording.episodes
        for lane, start, length, total in zip(*table[:4], strict=True):
            assert np.isclose(total, rewards[start : start + length, lane].sum(), rtol=1e-12)


def test_key_frames_take_a_quarter_at_most(tmp_path):
    env = batchenv.make("CartPole-v1", 16)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=0)
        for _ in range(30):
            env.rollout(1000, policy="random")
    with batchenv.replay(tmp_path / "run.rec") as recording:
        sizes = {
            kind: sum(e.block.length for e in recording._contents.entries if e.kind == kind) for kind in (b"KEYF",)
        }
        assert 0 < sizes[b"KEYF"] < 0.27 * recording.nbytes
        keys = [entry.low for entry in recording._contents.entries if entry.kind == b"KEYF"]
        assert max(np.diff([0, *keys, 30000])) <= 8192 + 1024


def test_large_key_frames_are_rare(tmp_path):
    env = batchenv.make("Pong-v5", 2)
    with batchenv.record(env, tmp_path / "run.rec", flush_seconds=1000):
        env.reset(seed=0)
        for _ in range(31):
            env.rollout(100, policy="random")
    with batchenv.replay(tmp_path / "run.rec") as recording:
        keys = [entry.low for entry in recording._contents.entries if entry.kind == b"KEYF"]
        assert keys == [1100]  # behind the rollout in which the first block was full


def test_counters_and_names(tmp_path):
    env = batchenv.make("CartPole-v1", 2)
    recorder = batchenv.record(env, tmp_path / "run.rec", info={"who": "me", "numbers": (1, 2.5)})
    env.reset(seed=0)
    env.rollout(100, policy="random", seed=0)
    recorder.flush()
    assert (recorder.steps, recorder.closed) == (200, False)
    assert recorder.nbytes == (tmp_path / "run.rec").stat().st_size
    assert recorder.episodes > 2
    recorder.close()
    recorder.close()
    assert recorder.closed and "closed" in repr(recorder)
    env.step([0, 1])  # the env goes on
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.info == {"who": "me", "numbers": (1, 2.5)}
        assert recording.header["id"] == "CartPole-v1"
        assert recording.lengths.tolist() == [100, 100]
        assert "CartPole-v1" in repr(recording)
        assert recording.single_observation_space == env.single_observation_space
        assert recording.single_action_space == env.single_action_space


def test_what_a_recording_costs_in_bytes(tmp_path):
    env = batchenv.make("Pong-v5", 8)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=0)
        for _ in range(4):
            env.rollout(100, policy="random")
        recorded = env.rollout(100, policy="random")
    del recorded
    with batchenv.replay(tmp_path / "run.rec") as recording:
        steps = sum(e.block.length for e in recording._contents.entries if e.kind == b"STEP")
        assert steps < recording.steps  # less than a byte per step


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.window(0, 0), "stop=0 must be at least 1"),
        (lambda r: r.window(-1, 5), "start=-1 must be at least 0"),
        (lambda r: r.window(0, 21), "stop=21 must be at most 20: these lanes have 20 steps"),
        (lambda r: r.window(0, 5, [3]), "3"),
        (lambda r: r.episode(99), "number=99 must be at most"),
        (lambda r: next(r.windows(0)), "length=0 must be at least 1"),
        (lambda r: next(r.transitions(0)), "batch_size=0 must be at least 1"),
    ],
)
def test_wrong_arguments_are_refused(call, message, tmp_path):
    env = batchenv.make("CartPole-v1", 3)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=0)
        env.rollout(20, policy="random", seed=0)
    with batchenv.replay(tmp_path / "run.rec") as recording, pytest.raises((ValueError, IndexError), match=message):
        call(recording)
