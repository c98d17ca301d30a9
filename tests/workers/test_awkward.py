"""Environments, and what makes them, that do what nobody expects."""

import copy
import sys
import threading
import time
import types

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

import batchenv
from helpers.begun import begun
from helpers.parity import MODES, assert_same
from helpers.processes import run_python
from helpers.python_envs import KINDS, Awaited, Plain, make


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


class Shut(Plain):
    """Its close() notes this, and fails."""

    closed = []

    def __init__(self):
        self.number = len(Shut.closed)

    def close(self):
        Shut.closed.append(self)
        raise OSError(f"{len(Shut.closed)} cannot be closed")


@pytest.mark.parametrize("kind", ["serial", "threads", "asyncio"])
def test_all_are_closed_although_some_cannot_be(kind):
    Shut.closed.clear()
    env = begun(make(kind, Shut, 3), seed=1)
    with pytest.raises(OSError, match="cannot be closed"):
        env.close()
    assert env.closed and len(set(Shut.closed)) == 3
    env.close()


@pytest.mark.parametrize("kind", ["serial", "asyncio"])
def test_an_exception_of_the_making_is_not_hidden_by_one_of_closing(kind):
    Shut.closed.clear()
    with pytest.raises(ZeroDivisionError):
        make(kind, [Shut, lambda: 1 / 0])
    assert len(Shut.closed) == 1


class Old(Plain):
    """Its spaces are those of another library."""

    action_space = type("Discrete", (), {"n": 3})()


@pytest.mark.cases(10)
@pytest.mark.parametrize(
    ("make_env", "message"),
    [
        (lambda: None, "has returned None for lane 0, which has no reset: return an env with Gymnasium's API"),
        (lambda: 3, "has returned 3 for lane 0, which has no reset"),
        (lambda: Plain, "which is a class: return one env"),
        (lambda: gymnasium.vector.SyncVectorEnv([Plain]), "which is a vector of envs: return one env"),
        (Old, "which has an action_space of .*Discrete.*, which is none of Gymnasium's spaces"),
    ],
)
def test_what_is_no_env(kind, make_env, message):
    with pytest.raises(TypeError, match=message):
        make(kind, make_env)


def test_lanes_that_are_the_same_object(kind):
    one = Plain()
    with pytest.raises(ValueError, match="lanes 0 and 2 are the same object: let make_env make a new env"):
        make(kind, [lambda: one, Plain, lambda: one], 3)


@pytest.mark.parametrize("timeout", [float("nan"), 0, -1.0])
def test_a_timeout_that_is_none(timeout):
    with pytest.raises(ValueError, match="must be more than 0 seconds, or None"):
        make("processes", Plain, step_timeout=timeout)


@pytest.mark.parametrize("kind", ["processes", "asyncio"])
def test_a_timeout_that_never_comes(kind):
    env = make(kind, Plain, step_timeout=float("inf"))
    env.fileno()
    env.async_reset(seed=1)
    assert env.recv(timeout=float("inf"))[0].tolist() == [[0, 0]] * 2


@pytest.mark.parametrize("kind", ["serial", "threads"])
def test_a_timeout_that_nobody_can_keep(kind):
    with pytest.raises(ValueError, match=f"step_timeout=3 is for .*'asyncio', not for workers='{kind}', where nothing"):
        make(kind, Plain, step_timeout=3)


class Named(Plain):
    """Says something by a name that infos have of their own."""

    def step(self, action):
        *result, _ = super().step(action)
        return *result, {"env_id": 7}


def test_lanes_are_named_by_their_own_numbers(kind):
    env = begun(make(kind, [Named, Plain]), seed=1)
    assert list(env.step(np.zeros(2, int))[4]) == ["env_id", "_env_id"]  # as SyncVectorEnv has it
    some = env.step(np.zeros(2, int), [1, 0])[4]
    assert list(some) == ["env_id"] and some["env_id"].tolist() == [1, 0]
    for _ in range(3):
        env.send(np.zeros(2, int), [1, 0])
        all_lanes = env.recv()[4]
        assert list(all_lanes) == ["env_id"] and all_lanes["env_id"].tolist() == [0, 1]


class Mute(Exception):
    def __str__(self):
        raise ValueError("nothing to say")


class Fails(Plain):
    def step(self, action):
        raise Mute


def test_an_exception_that_says_nothing(kind):
    env = begun(make(kind, [Plain, Fails]), seed=1)
    for _ in range(2):
        with pytest.raises(batchenv.LaneError, match="lane 1: Mute") as raised:
            env.step(np.zeros(2, int))
        assert type(raised.value.causes[1]) is Mute and raised.value.result[0][0].any()
        env.step(np.zeros(2, int))


def test_options_that_cannot_be_sent():
    """They are refused before anything else happens."""
    env = make("processes", Plain, batch_size=2)
    env.async_reset(seed=1)
    with pytest.raises(ValueError, match="the options of a reset cannot be sent to another process"):
        env.reset(options={"numbers": (k for k in range(3))})
    with pytest.raises(ValueError, match="the options of a reset cannot be sent"):
        env.async_reset(options={"numbers": (k for k in range(3))})
    assert env.recv()[0].tolist() == [[0, 0]] * 2
    env.reset(options={"function": lambda: 3})


NOTHING = {
    "array": (spaces.Box(-1, 1, (0,), np.float32), np.zeros(0, np.float32)),
    "matrix": (spaces.Box(-1, 1, (2, 0), np.float64), np.zeros((2, 0))),
    "dict": (spaces.Dict(), {}),
    "tuple": (spaces.Tuple([]), ()),
}


@pytest.mark.parametrize("name", NOTHING)
def test_spaces_of_nothing(kind, name):
    space, nothing = NOTHING[name]

    class Empty(Plain):
        observation_space = space
        action_space = space if isinstance(space, spaces.Box) else spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            return nothing, {}

        def step(self, action):
            assert action in self.action_space
            return nothing, 1.0, False, False, {}

    env = make(kind, Empty)
    observations, _ = env.reset(seed=1)
    if isinstance(nothing, np.ndarray):
        assert observations.shape == (2, *space.shape) and observations.dtype == space.dtype
    else:
        assert observations == nothing
    env.send(env.action_space.sample(), [0, 1])
    assert env.recv()[1].tolist() == [1, 1] == env.step(env.action_space.sample())[1].tolist()


class Texts(Plain):
    """Observes its last action, which is a text, after it has waited as many hundredths of a second."""

    action_space = spaces.Text(30)

    def step(self, action):
        time.sleep(len(action) / 100)
        return np.full(2, len(action) / 10, np.float32), 1.0, False, False, {}


def test_texts_as_actions_of_lanes_in_flight(kind):
    """A call that is refused changes no action of theirs, and no env_id means the lanes last received."""
    env = begun(make(kind, Texts, 3, batch_size=2), seed=1)
    env.send(("x" * 20, "yy"), [2, 1])
    for refused, actions, *lanes in ((env.send, ("z",), [1]), (env.step, ("z",) * 3), (env.step, ("z",), [2])):
        with pytest.raises(RuntimeError, match="in flight"):
            refused(actions, *lanes)
    for lanes in ([3], [-1], [0, 0]):
        with pytest.raises(ValueError, match="env_id"):
            env.send(("z",) * len(lanes), lanes)
    observations, *_, infos = env.recv()
    seen = dict(zip(infos["env_id"].tolist(), observations[:, 0].tolist(), strict=True))
    assert seen == {1: np.float32(0.2), 2: 2}
    env.send(("a", "bbb"))
    observations, *_, infos = env.recv()
    again = dict(zip(infos["env_id"].tolist(), observations[:, 0].tolist(), strict=True))
    first, second = seen
    assert again == {first: np.float32(0.1), second: np.float32(0.3)}


class Frugal(Plain):
    """Changes one observation and one info in place, in resets, too."""

    def __init__(self, observation_space):
        self.observation_space, self.seen = observation_space, {"array": np.zeros(2, np.float32), "number": 0}
        self.info = {"inner": {"number": 0}, "array": np.zeros(2)}

    def _look(self):
        self.info["text"] = self.seen["text"] = str(self.count)
        self.info["array"][:] = self.seen["array"][:] = self.count
        self.info["inner"]["number"] = self.seen["number"] = self.count
        return self.seen["array"] if isinstance(self.observation_space, spaces.Box) else self.seen

    def reset(self, *, seed=None, options=None):
        self.count = 0
        return self._look(), self.info

    def step(self, action):
        self.count += 1
        return self._look(), 1.0, self.count == 2, False, self.info


FRUGAL = {
    "box": spaces.Box(0, 9, (2,), np.float32),
    "dict": spaces.Dict(array=spaces.Box(0, 9, (2,), np.float32), number=spaces.Discrete(9)),
    "text": spaces.Dict(array=spaces.Box(0, 9, (2,), np.float32), number=spaces.Discrete(9), text=spaces.Text(9)),
}


@pytest.mark.parametrize("name", FRUGAL)
def test_what_an_episode_ends_with_is_not_that_of_the_next(kind, name):
    """In SyncVectorEnv, final observations are."""
    env = begun(make(kind, lambda: Frugal(FRUGAL[name]), autoreset_mode="SameStep"), seed=1)
    env.step(np.zeros(2, int))
    observations, *_, infos = env.step(np.zeros(2, int))
    shown, final = observations, infos["final_obs"][1]
    if name != "box":
        assert shown["number"].tolist() == [0, 0] and final["number"] == 2
        shown, final = shown["array"], final["array"]
    if name == "text":
        assert observations["text"] == ("0", "0") and infos["final_obs"][1]["text"] == "2"
    assert shown.tolist() == [[0, 0]] * 2 and final.tolist() == [2, 2]
    ended = infos["final_info"]
    assert list(ended["text"]) == ["2", "2"] and ended["inner"]["number"].tolist() == [2, 2]
    assert np.stack(ended["array"]).tolist() == [[2, 2]] * 2 and np.stack(infos["array"]).tolist() == [[0, 0]] * 2


class Reads(Plain):
    """Observes an attribute before and after its step has taken a while."""

    value = 0.0

    def step(self, action):
        before = self.value
        time.sleep(0.2)
        return np.float32([before, self.value]), 1.0, False, False, {}


@pytest.mark.parametrize("kind", ["serial", "threads", "asyncio"])
def test_attributes_of_lanes_in_flight_are_set_after_their_steps(kind):
    env = begun(make(kind, Reads), seed=1)
    env.send(np.zeros(2, int), [0, 1])
    time.sleep(0.05)
    env.set_attr("value", 5.0)
    assert env.recv()[0].tolist() == [[0, 0]] * 2
    env.send(np.zeros(2, int), [0, 1])
    assert env.recv()[0].tolist() == [[5, 5]] * 2


def test_what_envs_print_arrives():
    """Although the worker's output is a pipe here, and its process ends without a word."""
    printed = run_python(
        """
        import numpy as np, batchenv
        from gymnasium.envs.classic_control import CartPoleEnv

        class Printing(CartPoleEnv):
            def step(self, action):
                print("in a step")
                return super().step(action)

        for method in ("forkserver", "spawn", "fork"):
            env = batchenv.make_python(Printing, 2, num_workers=2, start_method=method)
            env.reset(seed=1)
            env.step(np.zeros(2, int))
            env.close()
        """
    )
    assert printed.count("in a step") == 6


BOX = spaces.Box(-9, 9, (2,), np.float32)
PICKLED = {
    "uint16": spaces.Box(0, 1000, (2,), np.uint16),
    "float16": spaces.Box(-9, 9, (2,), np.float16),
    "five dimensions": spaces.Box(-9, 9, (1, 1, 1, 1, 2), np.float32),
    "a Dict": spaces.Dict(wide=spaces.Box(0, 1000, (2,), np.uint16), narrow=BOX),
    "a Tuple": spaces.Tuple([spaces.Box(0, 1000, (2,), np.uint16), BOX]),
    "names with slashes": spaces.Dict({"a/b": spaces.Discrete(3), "c": BOX}),
}
THROUGH_C = {
    "Box": BOX,
    "Discrete": spaces.Discrete(3, start=1),
    "MultiBinary": spaces.MultiBinary(3),
    "Dict": spaces.Dict(way=spaces.Discrete(3), place=BOX),
    "Tuple": spaces.Tuple([spaces.Discrete(3), BOX]),
}
FORGETFUL = THROUGH_C | PICKLED


class Giving(Plain):
    """Gives samples of its space, or what `spoil` makes of one: in a step with action 1, or in a reset that is told to
    "fail"."""

    def __init__(self, space, spoil):
        self.observation_space, self.spoil = copy.deepcopy(space), spoil  # lanes draw from theirs at the same time

    def _look(self, spoiled):
        self.observation_space.seed(3)
        seen = self.observation_space.sample()
        return self.spoil(seen) if spoiled else seen

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._look(options), {}

    def step(self, action):
        return self._look(action == 1), 1.0, False, False, {}


def numbers_in(seen):
    """All that a value of nested arrays holds, one after the other."""
    parts = seen.values() if isinstance(seen, dict) else seen if isinstance(seen, tuple) else [np.ravel(seen)]
    return np.concatenate([numbers_in(part) if isinstance(seen, (dict, tuple)) else part for part in parts])


def assert_only_fails(lane, env, problem):
    """It is this lane that has failed, its row is zeros, and the others are not; the next step begins a new episode."""
    assert list(problem.causes) == [lane] and problem.result[3].tolist() == [row == lane for row in range(3)]
    rows = gymnasium.vector.utils.iterate(env.observation_space, problem.result[0])
    assert [bool(numbers_in(row).any()) for row in rows] == [row != lane for row in range(3)]
    rows = gymnasium.vector.utils.iterate(env.observation_space, env.step(np.zeros(3, int))[0])
    assert all(numbers_in(row).any() for row in rows)


@pytest.mark.cases(15)
@pytest.mark.parametrize("name", FORGETFUL)
def test_none_in_place_of_an_observation(kind, name):
    """What an env returns that has forgotten a `return`."""
    space = FORGETFUL[name]
    env = begun(make(kind, lambda: Giving(space, lambda seen: None), 3), seed=1)
    with pytest.raises(batchenv.LaneError, match=r"lane 1: ValueError: step\(\)'s observation") as raised:
        env.step(np.array([0, 1, 0]))
    assert_only_fails(1, env, raised.value)
    with pytest.raises(batchenv.LaneError, match=r"lane 2: ValueError: reset\(\)'s observation"):
        env.reset(options={"reset_mask": np.array([False, False, True]), "fail": True})


class Empty(spaces.Space):
    """Its values are None."""

    def __eq__(self, other):
        return isinstance(other, Empty)

    def contains(self, value):
        return value is None

    def sample(self, mask=None, probability=None):
        return None


def test_none_where_it_is_an_observation(kind):
    env = make(kind, lambda: Giving(Empty(), lambda seen: None))
    assert env.reset(seed=1)[0] == env.step(np.ones(2, int))[0] == (None, None)


def mapped(change, seen):
    """With this change of each of its arrays."""
    if isinstance(seen, dict):
        return {key: mapped(change, part) for key, part in seen.items()}
    return tuple(mapped(change, part) for part in seen) if isinstance(seen, tuple) else change(seen)


def widened(seen):
    return mapped(lambda part: np.ones((3, *np.shape(part)), part.dtype), seen)


def as_complex(seen):
    """Of a dtype that no space has."""
    return mapped(lambda part: np.asarray(part, complex), seen)


def failing(seen):
    raise RuntimeError("a bug in the env")


@pytest.mark.cases(18)
@pytest.mark.parametrize("name", PICKLED)
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (widened, r"is of shape \(3,.* but the env's space says"),
        (as_complex, "dtype complex128, but the env's space says"),
        (failing, "RuntimeError: a bug in the env"),
    ],
)
def test_a_lane_that_fails_where_observations_are_pickled(kind, name, spoil, words):
    space = PICKLED[name]
    env = begun(make(kind, lambda: Giving(space, spoil), 3), seed=1)
    with pytest.raises(batchenv.LaneError, match=f"lane 1: .*{words}") as raised:
        env.step(np.array([0, 1, 0]))
    assert_only_fails(1, env, raised.value)
    env.send(np.array([0, 1, 0]), [0, 1, 2])
    with pytest.raises(batchenv.LaneError, match=words) as raised:
        env.recv()
    assert_only_fails(1, env, raised.value)


class Sharing(Plain):
    """Says what it has to say in a dict, with an array and a dict, that all envs share."""

    info = {"count": 0, "array": np.zeros(2), "inner": {"count": 0}}

    def __init__(self, lane):
        self.lane = lane

    def _write(self):
        number = self.lane + 10 * self.count
        self.info["count"] = self.info["inner"]["count"] = number
        self.info["array"][:] = number

    def reset(self, *, seed=None, options=None):
        observation, _ = super().reset(seed=seed)
        self._write()
        return observation, self.info

    def step(self, action):
        observation, reward, *_ = super().step(action)
        self._write()
        return observation, reward, self.count == 2, False, self.info


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["serial", "processes", "coroutines"])
def test_a_dict_of_infos_that_envs_share(kind, mode):
    """Each lane's infos are those of when it has stepped."""
    wrap = Awaited if kind == "coroutines" else lambda env: env
    makers = [lambda lane=lane: wrap(Sharing(lane)) for lane in range(3)]
    ours = make("asyncio" if kind == "coroutines" else kind, makers, 3, autoreset_mode=mode)
    theirs = gymnasium.vector.SyncVectorEnv([lambda lane=lane: Sharing(lane) for lane in range(3)], autoreset_mode=mode)
    assert_same(ours.reset(seed=1)[1], theirs.reset(seed=1)[1], "reset")
    for _ in range(2 if mode is AutoresetMode.DISABLED else 5):
        assert_same(ours.step(np.zeros(3, int))[4], theirs.step(np.zeros(3, int))[4], "step")


class Crashing(Plain):
    """One lane says why as a text, the others as a number; with `options`, in a reset."""

    def __init__(self, lane):
        self.lane = lane

    def _info(self, crashes):
        return {"why": "crash" if self.lane == 3 and crashes else 0}

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0], self._info(options)

    def step(self, action):
        *result, _ = super().step(action)
        return *result, self._info(action == 2)


def test_infos_that_cannot_be_put_together(kind):
    """The call raises, and all lanes have done it and go on."""
    env = begun(make(kind, [lambda lane=lane: Crashing(lane) for lane in range(4)], 4), seed=1)
    words = "the info 'why' of lane 3 is 'crash', which cannot be put together with .*invalid literal"
    for count in (1, 3):
        with pytest.raises(ValueError, match=words):
            env.step(np.full(4, 2))
        assert env.step(np.zeros(4, int))[0][:, 0].tolist() == [count + 1] * 4
    env.send(np.full(4, 2), np.arange(4))
    with pytest.raises(ValueError, match=words):
        env.recv()
    env.send(np.zeros(4, int))
    assert env.recv()[0][:, 0].tolist() == [6] * 4
    with pytest.raises(ValueError, match=words):
        env.reset(options={"crash": True})
    assert env.step(np.zeros(4, int))[0][:, 0].tolist() == [1] * 4


FLAGS = {
    "Box": spaces.Box(0, 1, (3,), np.bool_),
    "Dict": spaces.Dict(flags=spaces.Box(0, 1, (3,), np.bool_), way=spaces.Discrete(3)),
}


class Taking(Plain):
    """Notes its actions."""

    def __init__(self, action_space):
        self.action_space = copy.deepcopy(action_space)

    def step(self, action):
        assert self.action_space.contains(action), action
        self.taken = action
        return super().step(action)


@pytest.mark.parametrize("name", FLAGS)
def test_actions_of_dtype_bool(kind, name):
    env = begun(make(kind, lambda: Taking(FLAGS[name])), seed=1)
    env.action_space.seed(1)
    actions = env.action_space.sample()
    env.step(actions)
    assert_same(env.get_attr("taken"), tuple(gymnasium.vector.utils.iterate(env.action_space, actions)), "actions")
    env.rollout(5, policy="random", seed=1)


OF_THE_SCRIPT = """
    import enum, sys
    import gymnasium, numpy as np, batchenv

    class MyBox(gymnasium.spaces.Box):
        pass

    class Color(enum.Enum):
        RED = 1

    class Env(gymnasium.Env):
        metadata = {"render_modes": [], "color": Color.RED, "call": lambda: 7}
        observation_space, action_space = MyBox(-9, 9, (2,), np.float32), gymnasium.spaces.Discrete(3)

        def reset(self, *, seed=None, options=None):
            return np.ones(2, np.float32), {}

        def step(self, action):
            return np.ones(2, np.float32), 1.0, False, False, {}

    env = batchenv.make_python(Env, 2, num_workers=2, start_method=sys.argv[1])
    print(env.reset(seed=1)[0].tolist(), env.step(np.zeros(2, int))[1].tolist())
    print(type(env.single_observation_space) is MyBox, env.metadata["color"] is Color.RED, env.metadata["call"]())
    env.close()
"""


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_spaces_and_metadata_of_the_main_module(method):
    assert run_python(OF_THE_SCRIPT, method) == "[[1.0, 1.0], [1.0, 1.0]] [1.0, 1.0]\nTrue True 7\n"


class Locked(Plain):
    def __init__(self):
        self.metadata = {"lock": threading.Lock()}


def test_metadata_that_cannot_be_pickled():
    with pytest.raises(TypeError, match=r"the spaces and metadata of Locked cannot be sent .*lock"):
        make("processes", Locked)


def test_an_env_of_a_module_that_workers_cannot_import(monkeypatch):
    module = types.ModuleType("not_on_any_path")
    module.Hidden = type("Hidden", (Plain,), {"__module__": module.__name__})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with pytest.raises(ImportError, match=r"cannot import what make_env needs \(No module named 'not_on_any_path'\)"):
        make("processes", module.Hidden)
