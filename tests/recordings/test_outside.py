"""What changes lanes besides steps is recorded, and happens again in a replay."""

import numpy as np
import pytest

import batchenv
from batchenv.recordings import RecordingError
from helpers.recordings import Kept


def recorded(env, path, act, **keywords):
    """Records what `act` does with an env, and compares a replay with it."""
    kept = Kept(env)
    with batchenv.record(env, path, **keywords):
        act(kept)
    with batchenv.replay(path) as recording:
        recording.verify()
        kept.check(recording)
        most = int(recording.lengths.min())
        kept.check(recording, most // 2, most)
        kept.check(recording, most // 3, most // 2 + 1, [env.num_envs - 1, 0])
        kept.check(recording, 1, 3)
    return kept


@pytest.mark.parametrize("keys", [8, None])
def test_masked_resets_and_lists_of_seeds(keys, tmp_path):
    def act(kept):
        kept.reset(seed=[5, 6, 7, 8])
        kept.steps(20)
        kept.reset(seed=[None, 99, None, None], options={"reset_mask": np.array([False, True, True, False])})
        kept.steps(20, 1)
        kept.reset()
        kept.steps(13, 2)
        kept.reset(seed=2**70)
        kept.steps(13, 3)

    recorded(batchenv.make("CartPole-v1", 4), tmp_path / "run.rec", act, key_frames=keys)


def test_options_of_resets(tmp_path):
    def act(kept):
        kept.reset(seed=1, options={"low": -0.2, "high": 0.2})
        kept.steps(20)
        kept.reset(options={"low": -0.01, "high": 0.01, "reset_mask": np.array([True, False, True])})
        kept.steps(20)

    recorded(batchenv.make("CartPole-v1", 3), tmp_path / "run.rec", act, key_frames=8)


def test_autoreset_disabled(tmp_path):
    def act(kept):
        kept.reset(seed=1)
        for t in range(100):
            result = kept.step(np.full(4, t % 2))
            over = result[2] | result[3]
            if over.any():
                kept.reset(options={"reset_mask": over})

    env = batchenv.make("CartPole-v1", 4, autoreset_mode="Disabled", max_episode_steps=15)
    recorded(env, tmp_path / "run.rec", act, key_frames=16)


def test_parameters(tmp_path):
    def act(kept):
        kept.reset(seed=1)
        kept.steps(20)
        kept.env.set_params(gravity=3.0)
        kept.steps(20)
        kept.env.set_params(length=[0.4, 0.8], lanes=[0, 2])
        kept.steps(20)
        kept.env.set_attr("masscart", [1.0, 1.1, 1.2])
        kept.steps(20)

    recorded(batchenv.make("CartPole-v1", 3, max_episode_steps=17), tmp_path / "run.rec", act, key_frames=16)


def test_fields_of_models(tmp_path):
    def act(kept):
        kept.reset(seed=1)
        kept.steps(20)
        gravity = np.tile([0.0, 0.0, -9.81], (3, 1))
        gravity[:, 2] *= [1, 0.5, 0.2]
        kept.env.set_params(gravity=gravity)
        kept.steps(40)
        kept.env.set_params(gravity=[0.0, 0.0, -1.0], lanes=[1])
        kept.steps(30)

    recorded(batchenv.make("HalfCheetah-v5", 3), tmp_path / "run.rec", act, key_frames=16)


def test_fields_changed_before_a_recording_are_refused(tmp_path):
    env = batchenv.make("HalfCheetah-v5", 2)
    env.reset(seed=0)
    env.set_params(gravity=[0.0, 0.0, -3.0])
    with pytest.raises(RecordingError, match="begin to record before that"):
        batchenv.record(env, tmp_path / "run.rec")
    assert not (tmp_path / "run.rec").exists()


def test_parameters_that_were_set_before(tmp_path):
    env = batchenv.make("CartPole-v1", 3)
    env.set_params(gravity=4.0, length=[0.3, 0.4, 0.5])
    recorded(env, tmp_path / "run.rec", lambda kept: (kept.reset(seed=0), kept.steps(30)))


def test_states(tmp_path):
    def act(kept):
        kept.reset(seed=1)
        kept.steps(20)
        kept.seen(kept.env.set_state({"x": 0.5, "theta": [0.1, -0.1]}, lanes=[1, 2]))
        kept.steps(20)

    recorded(batchenv.make("CartPole-v1", 3), tmp_path / "run.rec", act, key_frames=16)


def test_states_of_mujoco(tmp_path):
    def act(kept):
        kept.reset(seed=1)
        kept.steps(10)
        forces = kept.env.state["qfrc_applied"][1] + 0.5
        kept.seen(kept.env.set_state({"qfrc_applied": forces}, lanes=1))
        kept.steps(20)

    recorded(batchenv.make("Hopper-v5", 3), tmp_path / "run.rec", act, key_frames=16)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "LunarLander-v3", "Hopper-v5"])
def test_restores(env_id, tmp_path):
    other = batchenv.make(env_id, 2)
    other.reset(seed=77)
    other.rollout(15, policy="random", seed=0)
    foreign = other.snapshot()

    def act(kept):
        kept.reset(seed=1)
        kept.steps(10)
        own = kept.env.snapshot([0, 2])
        kept.steps(10)
        kept.seen(kept.env.restore(own, [1, 2], rows=[1, 0]))
        kept.steps(10)
        kept.seen(kept.env.restore(bytes(foreign), [0], rows=[1]))
        kept.steps(15)

    recorded(batchenv.make(env_id, 3), tmp_path / "run.rec", act, key_frames=8)


def test_a_restore_may_come_first(tmp_path):
    env = batchenv.make("CartPole-v1", 3)
    env.reset(seed=0)
    snapshot = env.snapshot()

    def act(kept):
        kept.seen(kept.env.restore(snapshot))
        kept.steps(20)

    recorded(batchenv.make("CartPole-v1", 3), tmp_path / "run.rec", act)


def test_moments_that_users_set(tmp_path):
    env = batchenv.make("Pendulum-v1", 3, normalize_observation=True, normalize_reward=0.9, clip_observation=(-5, 5))
    env.normalizer.obs_rms.mean = np.array([0.5, 0.0, 1.0])

    def act(kept):
        kept.reset(seed=1)
        kept.steps(30)
        env.normalizer.update_running_mean = False
        kept.steps(20)
        env.normalizer.obs_rms.var[1] = 4.0
        env.reward_normalizer.return_rms.mean = 0.25
        env.reward_normalizer.update_running_mean = False
        kept.steps(40)

    recorded(env, tmp_path / "run.rec", act, key_frames=16)


def test_normalized_in_the_middle(tmp_path):
    env = batchenv.make("Pendulum-v1", 3, normalize_observation=True, normalize_reward=0.9)
    env.reset(seed=0)
    env.rollout(50, policy="random", seed=0)
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec", key_frames=16):
        kept.steps(60)
    for known in kept.before:
        known[0] = None
    with batchenv.replay(tmp_path / "run.rec") as recording:
        recording.verify()
        kept.check(recording, 1)
        kept.check(recording, 40, 50)


def test_some_lanes_are_stepped(tmp_path):
    def act(kept):
        rng = np.random.default_rng(0)
        kept.reset(seed=1)
        kept.steps(5)
        for _ in range(60):
            lanes = rng.permutation(5)[: rng.integers(1, 6)]
            actions = rng.integers(0, 2, len(lanes))
            kept.took(kept.env.step(actions, lanes), lanes)
        kept.steps(20)
        kept.reset(options={"reset_mask": np.array([True, False, False, True, False])})
        kept.steps(10)

    for name, keys in (("a.rec", 8), ("b.rec", None)):
        recorded(batchenv.make("CartPole-v1", 5), tmp_path / name, act, key_frames=keys)


def test_some_lanes_of_a_normalizing_env(tmp_path):
    def act(kept):
        kept.reset(seed=1)
        for t in range(20):
            lanes = [t % 3, (t + 1) % 3]
            kept.took(kept.env.step(np.zeros((2, 1)), lanes), lanes)

    recorded(batchenv.make("Pendulum-v1", 3, normalize_observation=True), tmp_path / "run.rec", act)


def test_an_interrupted_call_is_bridged(tmp_path):
    env = batchenv.make("Pendulum-v1", 3)
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec"):
        kept.reset(seed=0)
        kept.steps(10)
        backend = env._open()
        backend._lost = True  # as after Ctrl-C in the middle of a step: nobody knows what lanes have done
        backend.inner.reset([None] * 3, None, None)
        backend.inner.step(np.zeros((3, 1)), None)
        kept.reset()
        kept.steps(20)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        recording.verify()
        kept.check(recording, 0, 10)
        kept.check(recording)


def test_a_mistake_of_the_user_is_not_recorded(tmp_path):
    env = batchenv.make("CartPole-v1", 3)
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec"):
        kept.reset(seed=0)
        kept.steps(5)
        for wrong in (
            lambda: env.step([0, 1]),
            lambda: env.step([0, 1, 7]),
            lambda: env.reset(options={"nonsense": 1}),
            lambda: env.set_params(nonsense=1),
            lambda: env.set_state({"nonsense": 1}),
            lambda: env.restore(b"nonsense"),
            lambda: env.rollout(np.full((3, 3), 9)),
        ):
            with pytest.raises((ValueError, TypeError)):
                wrong()
        kept.steps(5)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        recording.verify()
        kept.check(recording)


def test_a_copy_is_not_recorded(tmp_path):
    import copy

    env = batchenv.make("CartPole-v1", 2)
    with batchenv.record(env, tmp_path / "run.rec") as recorder:
        env.reset(seed=0)
        env.step([0, 1])
        other = copy.deepcopy(env)
        other.step([1, 1])
        assert recorder.steps == 2
        env.close()  # ends the recording
        assert recorder.closed
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert (recording.complete, recording.steps) == (True, 2)


@pytest.mark.parametrize("before", [True, False])
def test_ctrl_c_between_a_step_and_its_record(before, tmp_path, monkeypatch):
    env = batchenv.make("LunarLander-v3", 3)
    kept = Kept(env)
    with batchenv.record(env, tmp_path / "run.rec") as recorder:
        kept.reset(seed=0)
        kept.steps(20)
        log, step = recorder._log, recorder._log.step

        def interrupted(*arguments):
            if not before:
                step(*arguments)
            raise KeyboardInterrupt

        monkeypatch.setattr(log, "step", interrupted)
        action, ahead = env.action_space.sample(), env.snapshot()
        with pytest.raises(KeyboardInterrupt):
            env.step(action)
        monkeypatch.undo()
        if not before:  # it was recorded, although the user has not seen it
            other = batchenv.make("LunarLander-v3", 3)
            other.restore(ahead)
            kept.took(other.step(action))
        kept.steps(30, 1)
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.verify() == 3 * (50 if before else 51)
        window = recording.window(0, 50)
        for t in range(50):
            for lane in range(3):
                assert np.array_equal(window.observations[t, lane], kept.lanes[lane][t][0][0])


def test_a_reset_that_is_refused_drops_nothing(tmp_path):
    env = batchenv.make("CartPole-v1", 4, batch_size=2)
    with batchenv.record(env, tmp_path / "run.rec"):
        env.reset(seed=0)
        env.send([0, 1, 1, 0], [0, 1, 2, 3])
        for call in (env.reset, env.async_reset):
            with pytest.raises(ValueError):
                call(options={"nonsense": 1})
        env.recv(), env.recv()
    with batchenv.replay(tmp_path / "run.rec") as recording:
        assert recording.verify() == 4
