"""Environments written in Python that return what they should not, or say it in another form, and spaces that do not
suit C."""

import numpy as np
import pytest
from gymnasium import spaces

import batchenv
from helpers.begun import begun
from helpers.python_envs import KINDS, Awaited, Plain, make


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


class Wrong(Plain):
    """Says what it is told to say."""

    reward, terminated, truncated, info = 1.0, False, False, {}

    def step(self, action):
        observation, *_ = super().step(action)
        return observation, self.reward, self.terminated, self.truncated, self.info


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"reward": np.ones(1)}, r"reward is an array of shape \(1,\) and dtype float64, but must be a number"),
        ({"reward": None}, "reward is None, of type NoneType, but must be a number: correct the env"),
        ({"reward": {"a": 1.0}}, "reward is {'a': 1.0}, of type dict, but must be a number"),
        ({"terminated": np.zeros(2, bool)}, r"terminated is an array of shape \(2,\) and dtype bool, but must be True"),
        ({"truncated": np.zeros(2)}, "truncated is an array of shape .* but must be True or False: correct the env"),
    ],
)
def test_wrong_rewards_and_flags_are_named(kind, said, message):
    env = begun(make(kind, type("Wrong", (Wrong,), said), 1))
    with pytest.raises(batchenv.LaneError, match="TypeError: step\\(\\)'s " + message):
        env.step([0])


def test_rewards_and_flags_of_other_types_are_taken(kind):
    env = begun(make(kind, type("Wrong", (Wrong,), {"reward": np.float32(2), "terminated": np.array([True])}), 1))
    _, rewards, terminations, *_ = env.step([0])
    assert rewards.tolist() == [2.0] and terminations.tolist() == [True]


@pytest.mark.parametrize("said", [5, "text", None, np.zeros(2), {"inner": 1}], ids=str)
def test_an_info_called_final_info(kind, said):
    class Ends(Wrong):
        info = {"final_info": said, "final_obs": 7, "count": 3}

        def step(self, action):
            result = super().step(action)
            return *result[:2], bool(self.count == action), *result[3:]

    env = begun(make(kind, Ends, 2, autoreset_mode="SameStep"))
    _, _, ended, _, infos = env.step(np.array([1, 8]))
    assert ended.tolist() == [True, False]
    assert infos["_final_obs"].tolist() == infos["_final_info"].tolist() == [True, False]
    assert infos["final_obs"][0].tolist() == [1, 1] and infos["final_obs"][1] is None
    assert infos["final_info"]["count"][0] == 3 and "final_info" in infos["final_info"]
    env.step(np.array([8, 8]))


class Changed(Plain):
    """Action 8 gives it other spaces."""

    def step(self, action):
        if action == 8:
            self.observation_space, self.action_space = spaces.Box(-9, 9, (5,), np.float32), spaces.Discrete(2)
        return self.observation_space.sample(), *super().step(action)[1:]


@pytest.mark.parametrize("kind", [*KINDS, "coroutines"])
@pytest.mark.parametrize("lane", [0, 1])
def test_an_env_that_has_changed_its_spaces_is_restarted(kind, lane):
    make_env = (lambda: Awaited(Changed())) if kind == "coroutines" else Changed
    env = begun(make("asyncio" if kind == "coroutines" else kind, make_env, 2, on_failure="restart"))
    actions = np.zeros(2, int)
    actions[lane] = 8
    with pytest.raises(batchenv.LaneError) as error:
        env.step(actions)
    assert error.value.env_id.tolist() == [lane]
    for _ in range(3):
        observations = env.step(np.zeros(2, int))[0]
        assert observations.shape == (2, 2)


def test_more_envs_than_there_can_be():
    with pytest.raises(ValueError, match="num_envs=1099511627776 must be at most 2147483647"):
        batchenv.make_python(Plain, 2**40)


@pytest.mark.parametrize(
    "space",
    [
        *(spaces.Discrete(3, start=start) for start in (2**62, -(2**62), 2**53 - 1)),
        *(spaces.Discrete(2**62), spaces.MultiDiscrete([3, 2], start=[2**62, 0])),
    ],
    ids=str,
)
def test_integers_that_doubles_cannot_tell_apart(kind, space):
    class Far(Wrong):
        observation_space = action_space = space

        def reset(self, *, seed=None, options=None):
            self.count = 0
            return space.sample(), {}

        def step(self, action):
            assert space.contains(action)
            return action, 0.0, False, False, {}

    env = begun(make(kind, Far, 3))
    for _ in range(5):
        actions = env.action_space.sample()
        observations = env.step(actions)[0]
        assert observations.dtype == np.int64 and observations.tolist() == actions.tolist()


def test_a_step_that_returns_nothing_while_it_is_measured():
    class Silent(Plain):
        def step(self, action):
            pass

    with pytest.raises(TypeError, match="step\\(\\) returned an object of type NoneType, but must return"):
        batchenv.make_python(Silent, 2, workers="processes", num_workers="measured")
