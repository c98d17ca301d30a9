"""What the other calls do while lanes are in flight: they wait for them, drop them, or are refused."""

import copy
import pickle

import numpy as np
import pytest

import batchenv
from helpers.begun import begun
from helpers.queue import ready


def test_what_touches_lanes_in_flight():
    env = ready()
    saved = env.snapshot()
    env.send([1, 0], [1, 4])
    assert env.state["elapsed_steps"][1] == 1  # waits for the step
    with pytest.raises(RuntimeError, match=r"step.*env_id 1, 4"):
        env.step(np.zeros(6, int))
    with pytest.raises(RuntimeError, match="rollout"):
        env.rollout(np.zeros((2, 6), int))
    with pytest.raises(RuntimeError, match=r"restore.*env_id 1, 4"):
        env.restore(saved)
    with pytest.raises(RuntimeError, match=r"reset.*env_id 1"):
        env.reset(options={"reset_mask": np.arange(6) < 2})
    env.reset(options={"reset_mask": np.arange(6) == 3})  # not in flight
    with pytest.raises(RuntimeError, match="in flight"):
        copy.deepcopy(env)
    env.set_params(gravity=3.0)
    with pytest.raises(RuntimeError, match=r"restore.*env_id 1"):
        env.restore(saved, [0, 1], rows=[0, 1])
    assert env.get_params()["gravity"] == 3.0  # the snapshot's has not come
    for call in (env.reset, env.async_reset):
        with pytest.raises(ValueError, match="low"):
            call(options={"low": "x"})
    assert sorted(env.recv()[4]["env_id"]) == [1, 4]
    env.restore(saved)
    pickle.loads(pickle.dumps(env)).send([1, 0], [1, 4])
    env.send([1, 0], [1, 4])
    env.reset(seed=1)  # drops what is in flight
    with pytest.raises(RuntimeError, match="nothing in flight"):
        env.recv()
    env.send([1, 0], [1, 4])
    env.async_reset(seed=2)
    rows = {}
    for _ in range(3):
        observations, *_, info = env.recv()
        rows.update(zip(info["env_id"].tolist(), observations, strict=True))
    np.testing.assert_array_equal(np.stack([rows[lane] for lane in range(6)]), ready().reset(seed=2)[0])


def test_a_refused_reset_drops_nothing():
    env = begun(batchenv.make("CartPole-v1", 4, batch_size=2))
    env.send([0, 0], [1, 3])
    for reset in (env.reset, env.async_reset):
        with pytest.raises(ValueError):
            reset(options={"low": 2.0, "high": 1.0})
    assert sorted(env.recv(5)[4]["env_id"]) == [1, 3]


def test_a_refused_restore_changes_no_params():
    env = ready()
    other = begun(batchenv.make("CartPole-v1", 6, gravity=3.0), seed=1)
    env.send([1], [2])
    with pytest.raises(RuntimeError, match="restore"):
        env.restore(other.snapshot())
    assert env.get_params()["gravity"] == 9.8


def test_pictures_of_lanes_in_flight():
    """The arrow of Pendulum's picture is the lane's last action, by whichever way it was sent."""
    pytest.importorskip("pygame")
    ours = begun(batchenv.make("Pendulum-v1", 3, batch_size=2, render_mode="rgb_array"), seed=1)
    sync = begun(batchenv.make("Pendulum-v1", 3, render_mode="rgb_array"), seed=1)
    actions = np.array([[2.0], [-1.5], [0.5]], np.float32)
    sync.step(actions)
    ours.send(actions[[2, 0]], [2, 0])
    ours.send(actions[[1]], [1])
    for a, b in zip(ours.render(), sync.render(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_recv_draws_the_window(monkeypatch):
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = batchenv.make("CartPole-v1", 1, render_mode="human")
    drawn = []
    monkeypatch.setattr(env._drawer, "draw", lambda lanes: drawn.append(1))
    env.async_reset(seed=0)
    env.recv()
    env.step_async([0])
    env.step_wait()
    assert len(drawn) == 2
    env.close()
