"""BatchEnv over another backend than the C core: Gymnasium's own environments, stepped one after the other."""

import contextlib
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import batchenv
from batchenv.backend.core import CoreBackend
from batchenv.backend.protocol import Backend, Drawer, LaneError, LaneSpaces
from batchenv.env.batch_env import BatchEnv
from helpers.begun import begun

ID = "FrozenLake-v1"


class SerialBackend(Backend):
    """Lanes that are Gymnasium environments of their own, in a SyncVectorEnv. It cannot save lanes."""

    num_threads = 1

    def __init__(self, count, mode, render_mode=None):
        make = [lambda: gymnasium.make(ID, render_mode=render_mode)] * count
        self.envs = SyncVectorEnv(make, autoreset_mode=mode)
        self.num_envs, self.closed, self.needs_reset, self.busy = count, False, True, False
        self.spaces = LaneSpaces(self.envs.single_observation_space, self.envs.single_action_space)
        self.sent, self.failing = None, []

    @contextlib.contextmanager
    def hold(self, settle=True):
        if self.busy:
            raise RuntimeError("another call is running")
        if settle and self.sent is not None:
            raise RuntimeError("lanes are in flight: recv() them first")
        self.busy = True
        try:
            yield
        finally:
            self.busy = False

    def layout(self):
        return self.spaces

    def reset(self, seeds, mask, options):
        self.sent, self.needs_reset = None, False
        return self.envs.reset(seed=seeds, options=options if mask is None else {**options, "reset_mask": mask})

    def step(self, actions, out):
        if self.needs_reset:
            raise ResetNeeded("step() before the first reset")
        if np.asarray(actions) not in self.envs.action_space:
            raise ValueError(f"actions {actions!r} are not in {self.envs.action_space}")
        result = self.envs.step(np.asarray(actions))
        if self.failing:
            lanes, self.failing = np.array(self.failing), []
            raise LaneError("some lanes failed", lanes, result)
        return result

    def send(self, actions, env_id):
        self.sent = lambda: self.step(actions, None)
        return np.arange(self.num_envs)

    def send_reset(self, seeds, options):
        zeros = np.zeros(self.num_envs)

        def first():
            observations, infos = self.reset(seeds, None, options)
            return observations, zeros, zeros > 0, zeros > 0, infos

        self.sent = first

    def recv(self, timeout):
        if self.sent is None:
            raise RuntimeError("no lanes are in flight")
        (*arrays, infos), self.sent = self.sent(), None
        return (*arrays, {**infos, "env_id": np.arange(self.num_envs)})

    def in_flight(self):
        return 0 if self.sent is None else self.num_envs

    def rollout(self, actions, steps, key, first_step, out):
        if actions is None:
            rng = np.random.default_rng([key, first_step])
            actions = rng.integers(0, self.spaces.action_space.n, (steps, self.num_envs))
        results = [self.step(row, None)[:4] for row in actions]
        return (*(np.stack(column) for column in zip(*results, strict=True)), {}, actions)

    def get_params(self):
        return {"is_slippery": True}

    def state(self):
        return {"s": np.array(self.envs.get_attr("s")), "elapsed_steps": np.array(self.envs.get_attr("_elapsed_steps"))}

    def attributes(self):
        return [*self.state(), "desc"]

    def attribute(self, name):
        return self.envs.get_attr(name)

    def generators(self):
        return tuple(self.envs.np_random)

    def keywords(self):
        return {"is_slippery": True}

    def drawer(self, mode):
        return Pictures(self.envs)

    def close(self):
        if not self.closed:
            self.envs.close()
        self.closed = True


class Pictures(Drawer):
    def __init__(self, envs):
        self.envs = envs

    def draw(self, lanes):
        return tuple(self.envs.envs[lane].render() for lane in lanes)


def over(count=4, mode=AutoresetMode.NEXT_STEP, render_mode=None, **keywords):
    backend = SerialBackend(count, mode, render_mode)
    return BatchEnv.over(backend, id=ID, autoreset_mode=mode, render_mode=render_mode, **keywords)


def assert_same(ours, theirs):
    if isinstance(theirs, dict):
        assert set(ours) == set(theirs)
        for key in theirs:
            assert_same(ours[key], theirs[key])
    elif isinstance(theirs, tuple):
        for a, b in zip(ours, theirs, strict=True):
            assert_same(a, b)
    else:
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_trajectories_are_those_of_the_c_core(mode):
    """What crosses the seam has the same form on both sides: values, dtypes of spaces, infos."""
    python, compiled = over(mode=mode), batchenv.make(ID, 4, autoreset_mode=mode)
    assert python.single_observation_space == compiled.single_observation_space
    assert python.action_space == compiled.action_space and python.metadata["autoreset_mode"] is mode
    assert_same(python.reset(seed=3), compiled.reset(seed=3))
    rng = np.random.default_rng(0)
    for _ in range(60):
        actions = rng.integers(0, 4, 4)
        ours, theirs = python.step(actions), compiled.step(actions)
        assert_same(ours[:4], theirs[:4])
        # Values are not compared: Gymnasium cuts a `prob` of 1/3 to 0 where another lane has the int 1 of a reset.
        assert set(ours[4]) == set(theirs[4])
        done = ours[2] | ours[3]
        if mode is AutoresetMode.DISABLED and done.any():
            assert_same(*(env.reset(options={"reset_mask": done})[0] for env in (python, compiled)))
    assert python.get_attr("s") == compiled.get_attr("s") and python.np_random_seed == (3, 4, 5, 6)
    assert_same(python.state["s"], compiled.state["s"])


def test_a_backend_keeps_the_contract():
    """Every rule of the checker that has to do with no more than one process."""
    report = batchenv.check_vector_env(lambda num_envs, autoreset_mode: over(num_envs, AutoresetMode(autoreset_mode)))
    assert report.passed, report.failures_only()


def test_steps_in_two_halves():
    env, same = over(), over()
    env.async_reset(seed=1)
    assert_same(env.recv()[0], same.reset(seed=1)[0])
    env.step_async([1, 2, 1, 2])
    with pytest.raises(RuntimeError, match="in flight"):
        env.state  # noqa: B018
    assert_same(env.step_wait()[:4], same.step([1, 2, 1, 2])[:4])
    with pytest.raises(RuntimeError, match="no lanes are in flight"):
        env.recv()


def test_rollouts_go_on_from_call_to_call():
    env, same = begun(over(), seed=1), begun(over(), seed=1)
    first, second = env.rollout(3, policy="random", seed=7), env.rollout(2, policy="random")
    for part in (first, second):
        assert_same(part.observations, np.stack([same.step(row)[0] for row in part.actions]))
    assert not np.array_equal(first.actions[:2], second.actions)


def test_failed_lanes_are_told_with_what_the_others_got():
    env, same = begun(over(), seed=1), begun(over(), seed=1)
    env._backend.failing = [2]
    with pytest.raises(LaneError) as caught:
        env.step([1, 1, 1, 1])
    assert caught.value.env_id.tolist() == [2]
    assert_same(caught.value.result[:4], same.step([1, 1, 1, 1])[:4])
    assert_same(env.step([2, 2, 2, 2])[:4], same.step([2, 2, 2, 2])[:4])


def test_pictures_attributes_and_the_end():
    env = over(2, render_mode="ansi", metadata={"render_modes": ["ansi"]}, seed=5)
    env.reset()
    assert env.np_random_seed == (5, 6) and env.config["is_slippery"] is True and env.id == ID
    assert all("S" in picture for picture in env.render()) and len(env.render([1])) == 1
    assert len(env.get_attr("desc")) == 2
    with pytest.raises(AttributeError, match=r"they have: .*desc"):
        env.get_attr("color")
    saved = batchenv.make(ID, 2)
    saved.reset()
    for call, what in [
        (lambda: env.set_params(is_slippery=False), "set_params"),
        (env.snapshot, "snapshot"),
        (lambda: env.restore(saved.snapshot()), "restore"),
        (env.fileno, "fileno"),
    ]:
        with pytest.raises(NotImplementedError, match=rf"{what}\(\) is not possible here: SerialBackend"):
            call()
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(env)
    backend = env._backend
    env.close()
    assert backend.closed and env.closed
    for call in (env.reset, env.get_params, env.recv, lambda: env.step([0, 0])):
        with pytest.raises(ClosedEnvironmentError):
            call()


def test_the_c_core_has_every_verb():
    """Of its own: none is left to the seam's defaults."""
    verbs = {name for name in vars(Backend) if not name.startswith("_")}
    assert {"layout", "reset", "step", "recv", "rollout", "snapshot", "restore", "close"} <= verbs
    of_envs = {"has_envs", "apply", "tell_apart"}  # for lanes that are objects of Python: tests/workers
    of_watchers = {"innermost"}  # for backends that watch others: tests/recordings
    own = {name for name in verbs if getattr(CoreBackend, name) is not getattr(Backend, name)}
    assert verbs - of_envs - of_watchers <= own | set(vars(CoreBackend))


def test_a_backend_without_steps_is_none():
    with pytest.raises(TypeError, match="abstract method"):
        type("Half", (SerialBackend,), {"step": Backend.step})(1, AutoresetMode.NEXT_STEP)


def test_parameters_stay_where_the_spaces_cannot_follow(monkeypatch):
    env = batchenv.make("CartPole-v1", 3)
    space, params = env.observation_space, env.get_params()

    def no_room(*arguments):
        raise MemoryError("no room for bounds")

    monkeypatch.setattr(batchenv.env.base, "batch_space", no_room)
    with pytest.raises(MemoryError, match="no room"):
        env.set_params(x_threshold=5.0)
    assert env.get_params() == params and env.observation_space is space
    monkeypatch.undo()
    env.set_params(x_threshold=5.0)
    assert env.get_params()["x_threshold"] == 5.0 and env.observation_space.high[0, 0] == 10.0
