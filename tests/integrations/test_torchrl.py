"""env_type="torchrl": TorchRL's own check, trajectories of its GymWrapper, collectors."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import batchenv
from helpers.awkward import makers
from helpers.robots import example

torch = pytest.importorskip("torch")
pytest.importorskip("torchrl")

from tensordict import TensorDict  # noqa: E402
from tensordict.nn import TensorDictModule  # noqa: E402
from torchrl.data import Bounded, Categorical, Composite, Unbounded  # noqa: E402
from torchrl.envs import (  # noqa: E402
    GymEnv,
    GymWrapper,
    RewardSum,
    SerialEnv,
    StepCounter,
    TransformedEnv,
    check_env_specs,
)

from batchenv.integrations.torchrl import TorchRLBatchEnv  # noqa: E402

try:
    from torchrl.collectors import Collector
except ImportError:  # its name before TorchRL 0.11
    from torchrl.collectors import SyncDataCollector as Collector

KEYS = ("observation", "done", "terminated", "truncated")


def made(env_id="CartPole-v1", lanes=5, **keywords):
    return batchenv.make(env_id, lanes, env_type="torchrl", **keywords)


def same(ours, theirs, lanes=slice(None)):
    for key in KEYS:
        assert ours[key].dtype == theirs[key].dtype and torch.equal(ours[key][lanes], theirs[key][lanes]), key


class Grid(gymnasium.Env):
    """Observations of several parts, two levels deep."""

    observation_space = spaces.Dict(
        {
            "picture": spaces.Box(0, 255, (3, 2), np.uint8),
            "self": spaces.Dict({"place": spaces.MultiDiscrete([4, 3]), "load": spaces.MultiBinary(2)}),
        }
    )
    action_space = spaces.MultiDiscrete([2, 3])

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return self._seen(), {}

    def step(self, action):
        self.steps += 1
        return self._seen(), float(action[1]), False, self.steps == 3, {}

    def _seen(self):
        own = {"place": np.array([self.steps, 0]), "load": np.array([1, 0], np.int8)}
        return {"picture": np.full((3, 2), self.steps, np.uint8), "self": own}


def test_seeds_and_options_of_a_reset():
    env, plain = made("CartPole-v1"), batchenv.make("CartPole-v1", 5, autoreset_mode="SameStep")
    near = {"low": -0.001, "high": 0.001}
    for _ in range(2):
        expected, _ = plain.reset(seed=3, options=near)
        np.testing.assert_array_equal(env.reset(seed=3, options=near)["observation"].numpy(), expected)
        some = TensorDict({"_reset": torch.tensor([[False], [True], [False], [False], [True]])}, 5)
        mask = some["_reset"].flatten().numpy()
        expected, _ = plain.reset(options={**near, "reset_mask": mask})
        found = env.reset(some, options=near)["observation"].numpy()
        np.testing.assert_array_equal(found[mask], expected[mask])
    with pytest.raises(ValueError, match="did you mean 'reset_mask'"):
        env.reset(options={"reset_masks": mask})
    with pytest.raises(ValueError, match="leave it out"):
        env.reset(options={"reset_mask": mask})
    with pytest.raises(TypeError, match="sead"):
        env.reset(sead=3)


# check_env_specs sets and compares torch's seeds; some versions of it warn
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "Catch-v0", "NChain-v0"])
def test_specs(env_id):
    env = made(env_id, max_episode_steps=7)
    assert env.batch_size == (5,)
    check_env_specs(env)


@pytest.mark.filterwarnings("ignore")
def test_specs_of_environments_in_python():
    env = batchenv.make_python(Grid, 4, workers="serial", env_type="torchrl")
    check_env_specs(env)
    data = env.rollout(7, break_when_any_done=False)
    assert data["next", "self", "place"][0, :, 0].tolist() == [1, 2, 3, 1, 2, 3, 1]
    assert data["self", "place"][0, :, 0].tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert data["picture"].dtype == torch.uint8 and data["next", "reward"].shape == (4, 7, 1)


def test_specs_of_tasks_over_mujoco_in_numpy():
    pytest.importorskip("mujoco")
    walk = example("walk")
    env = batchenv.make_mujoco(walk.model(), 3, env_type="torchrl", task=walk.Walk, max_episode_steps=7)
    check_env_specs(env)
    played = env.rollout(10, break_when_any_done=False)
    assert played["next", "policy"].shape == (3, 10, 57) and played["next", "truncated"].any()


def test_kinds_of_specs():
    env = made("CartPole-v1", 3)
    assert isinstance(env.action_spec, Categorical) and env.action_spec.shape == (3,)
    assert isinstance(env.observation_spec["observation"], Bounded)
    assert env.reward_spec.dtype == torch.float32 and isinstance(made("Pendulum-v1").reward_spec, Unbounded)
    assert made("Pendulum-v1", reward_dtype="float64").reward_spec.dtype == torch.float64


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_trajectories_are_those_of_gymnasium(env_id):
    """Over the same vector env, TorchRL's GymWrapper puts the same into its TensorDicts."""
    ours = made(env_id, 5, max_episode_steps=17)
    make = lambda: gymnasium.make(env_id, disable_env_checker=True, max_episode_steps=17)  # noqa: E731
    plain = SyncVectorEnv([make] * 5, autoreset_mode=AutoresetMode.SAME_STEP)
    theirs = GymWrapper(plain, categorical_action_encoding=True)
    theirs.set_seed(4)  # this resets, and reset() again
    ours.set_seed(4)
    ours.reset()
    here, there = ours.reset(), theirs.reset()
    same(here, there)
    torch.manual_seed(0)
    ended = 0
    for _ in range(60):
        here["action"] = ours.action_spec.rand()
        there["action"] = here["action"].clone()
        here, after = ours.step_and_maybe_reset(here)
        there, after_there = theirs.step_and_maybe_reset(there)
        same(here["next"], there["next"])
        assert torch.equal(here["next", "reward"], there["next", "reward"].float())
        ended += int(here["next", "done"].sum())
        if here["next", "done"].all():
            break  # GymWrapper resets once more where all lanes have ended together
        same(after, after_there)
        here, there = after, after_there
    assert ended >= 5


@pytest.mark.parametrize("how", ["override", "generic", "transformed"])
def test_every_way_to_step_gives_the_same(how):
    """`step` and a masked `reset` of EnvBase, as TransformedEnv calls them, too."""
    one, other = made(max_episode_steps=9), made(max_episode_steps=9)
    one.set_seed(0), other.set_seed(0)
    if how == "transformed":
        other = TransformedEnv(other, RewardSum())
    here, there = one.reset(), other.reset()
    for _ in range(40):
        here["action"] = torch.ones(5, dtype=torch.int64)
        there["action"] = here["action"].clone()
        here, after = one.step_and_maybe_reset(here)
        if how == "generic":
            there = other.step(there)
            after_there = other._step_mdp(there)
            if there["next", "done"].any():
                after_there["_reset"] = there["next", "done"].clone()
                after_there = other.reset(after_there)
        else:
            there, after_there = other.step_and_maybe_reset(there)
        same(here["next"], there["next"])
        same(after, after_there)
        here, there = after, after_there
    if how == "transformed":
        assert "episode_reward" in set(there.keys())


def test_masks():
    """Lanes of a mask start anew, and the others stay, whether or not they have just ended."""
    env = made("CartPole-v1", 4, max_episode_steps=50)
    env.set_seed(0)
    data = env.reset()
    for _ in range(5):
        data["action"] = torch.zeros(4, dtype=torch.int64)
        data = env.step(data)["next"]
    before = data["observation"].clone()
    assert not data["done"].any()
    data["_reset"] = torch.tensor([[True], [False], [True], [False]])
    after = env.reset(data)
    assert torch.equal(after["observation"][[1, 3]], before[[1, 3]])
    assert (after["observation"][[0, 2]] != before[[0, 2]]).any(1).all()
    assert env.env.state["elapsed_steps"].tolist() == [0, 5, 0, 5]


def test_a_lane_that_has_just_ended_is_not_reset_twice():
    env = made("CartPole-v1", 3, max_episode_steps=4)
    env.set_seed(0)
    data = env.reset()
    plain = batchenv.make("CartPole-v1", 3, autoreset_mode="SameStep", max_episode_steps=4)
    plain.reset(seed=0)
    for _ in range(4):
        data["action"] = torch.zeros(3, dtype=torch.int64)
        data = env.step(data)["next"]
        expected = plain.step(np.zeros(3, np.int64))
    assert data["done"].all()
    np.testing.assert_array_equal(data["observation"], np.stack(list(expected[4]["final_obs"])))
    mask = torch.tensor([[True], [False], [True]])
    first = env.reset(TensorDict({"_reset": mask, "done": data["done"]}, [3]))
    np.testing.assert_array_equal(first["observation"][[0, 2]], expected[0][[0, 2]])
    again = env.reset(TensorDict({"_reset": mask, "done": torch.zeros(3, 1, dtype=torch.bool)}, [3]))
    assert (again["observation"][[0, 2]] != first["observation"][[0, 2]]).any(1).all()


def test_tensordicts_hold_batchenvs_memory():
    """What the C core has written is what the collector gets."""
    env = made("CartPole-v1", 4)
    env.reset()
    data = TensorDict({"action": torch.zeros(4, dtype=torch.int64)}, [4])
    seen = []
    step = env._lanes.step
    env._lanes.step = lambda actions: seen.append(step(actions)) or seen[-1]
    data, after = env.step_and_maybe_reset(data)
    observations, rewards = seen[0][:2]
    assert data["next", "observation"].data_ptr() == after["observation"].data_ptr() == observations.data_ptr()
    assert data["next", "reward"].data_ptr() == rewards.data_ptr()


def test_steps_may_be_held():
    env = made("CartPole-v1", 4, max_episode_steps=6)
    data = env.reset()
    kept, copies = [], []
    for _ in range(30):
        data["action"] = env.action_spec.rand()
        data, after = env.step_and_maybe_reset(data)
        kept.append(data)
        copies.append(data.clone())
        data = after
    assert all((one == copy).all() for one, copy in zip(kept, copies, strict=True))


def test_other_entries_come_along():
    """What a policy writes beside the action: kept in the root, and from "next" where it says what is next."""
    one, other = made("CartPole-v1", 3), made("CartPole-v1", 3)
    one.set_seed(0), other.set_seed(0)
    results = []
    for env, step in ((one, one.step_and_maybe_reset), (other, super(TorchRLBatchEnv, other).step_and_maybe_reset)):
        data = env.reset()
        data["action"] = torch.ones(3, dtype=torch.int64)
        data["logits"] = torch.arange(3.0)
        data["next"] = TensorDict({"memory": torch.full((3,), 7.0)}, [3])
        results.append(step(data))
    for mine, generic in zip(*results, strict=True):
        assert set(mine.keys(True, True)) == set(generic.keys(True, True))
        assert (mine == generic).all()
    assert "memory" in set(results[0][0]["next"].keys()) and "logits" in set(results[0][1].keys())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wrapped", [False, True])
def test_collector(wrapped):
    env = made("CartPole-v1", 8)
    if wrapped:
        env = TransformedEnv(env, StepCounter())
    policy = TensorDictModule(lambda seen: (seen[..., 2] > 0).long(), in_keys=["observation"], out_keys=["action"])
    collector = Collector(env, policy, frames_per_batch=8 * 50, total_frames=8 * 150)
    collector.set_seed(0)
    plain = batchenv.make("CartPole-v1", 8, autoreset_mode="SameStep", reward_dtype="float32")
    batches = [batch.clone() for batch in collector]
    collector.shutdown()
    assert [batch.shape for batch in batches] == [(8, 50)] * 3
    data = torch.cat(batches, 1)
    assert data["next", "done"].any()
    # The same steps once more, with arrays: from the first observation on, whatever seed the collector has drawn.
    for t in range(149):
        ended = data["next", "done"][:, t, 0]
        later, last = data["observation"][:, t + 1], data["next", "observation"][:, t]
        assert torch.equal(later[~ended], last[~ended]) and (later[ended] != last[ended]).any(1).all()
        assert (later[ended].abs() <= 0.05).all()  # a start state
    plain.close()


@pytest.mark.filterwarnings("ignore")
def test_no_device_unless_one_is_named(monkeypatch):
    """As TorchRL's own environments have it: its collector then copies no TensorDict from device to device."""
    env, named = made("CartPole-v1"), made("CartPole-v1", device="cpu")
    assert env.device is env.reset().device is env.observation_spec.device is GymEnv("CartPole-v1").device is None
    assert named.device == named.reset().device == named.action_spec.device == torch.device("cpu")
    of_cpu = named.rand_action(named.reset())
    assert env.step(of_cpu.clone())["next", "observation"].shape == (5, 4)
    moves = []
    to = TensorDict.to
    monkeypatch.setattr(TensorDict, "to", lambda data, *args, **kwargs: moves.append(args) or to(data, *args, **kwargs))
    for one, expected in (env, 0), (named, 7):
        collector = Collector(one, None, frames_per_batch=5 * 7, total_frames=5 * 7)
        moves.clear()
        assert [batch.shape for batch in collector] == [(5, 7)] and len(moves) == expected
        collector.shutdown()


@pytest.mark.parametrize("shape", [None, (3,)])
def test_random_actions(shape):
    """Those that TorchRL draws by itself, from the same seed."""
    env = made("Pendulum-v1")
    spec = env.full_action_spec.clone()
    drawn = []
    for one in (spec, Composite(dict(spec.items()), shape=spec.shape, device=spec.device)):
        torch.manual_seed(0)
        drawn.append(one.rand(shape))
    assert drawn[0].shape == drawn[1].shape == (*(shape or ()), 5)
    assert set(drawn[0].keys()) == set(drawn[1].keys()) == {"action"} and drawn[0].device == drawn[1].device
    assert torch.equal(drawn[0]["action"], drawn[1]["action"]) and spec.is_in(drawn[0]) is True
    assert type(spec) is not Composite  # so that they took different ways


def test_python_lanes_and_devices():
    with pytest.raises(ValueError, match="must be 'SameStep' with env_type='torchrl'"):
        made(autoreset_mode="NextStep")
    with pytest.raises(ValueError, match="copy=False cannot be used"):
        made(copy=False)
    with pytest.raises(ValueError, match="batch_size=2 must be num_envs=5"):
        made(batch_size=2)
    with pytest.raises(ValueError, match=r"no spec for the space Tuple"):
        made("Blackjack-v1")
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="sees none"):
            made(device="cuda")

    class Clash(Grid):
        observation_space = spaces.Dict({"reward": spaces.Box(0, 1, ())})

    with pytest.raises(ValueError, match="'reward', which TensorDicts need"):
        batchenv.make_python(Clash, 2, workers="serial", env_type="torchrl")


@pytest.mark.filterwarnings("ignore:.*draws nothing")
def test_attributes():
    env = made("CartPole-v1", 3)
    assert env.num_envs == len(env) == 3 and isinstance(env.env, batchenv.BatchEnv) and env.render() is None
    assert repr(env) == f"TorchRLBatchEnv({env.env!r})"
    env.close()
    assert env.env.closed


def test_its_own_wrapper_around_a_batch_env():
    """GymWrapper, which reads final observations out of infos."""
    ours = batchenv.make("CartPole-v1", 4, autoreset_mode="SameStep")
    theirs = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 4, autoreset_mode=AutoresetMode.SAME_STEP)
    steps = []
    for env in (ours, theirs):
        torch.manual_seed(3)
        wrapped = GymWrapper(env)
        wrapped.set_seed(0)
        steps.append(wrapped.rollout(60, break_when_any_done=False))
    assert steps[0]["next", "done"].any()
    same(steps[0]["next"], steps[1]["next"])


class Parted(gymnasium.Env):
    """Actions of several parts, two levels deep; the observation shows what was done."""

    observation_space = spaces.Box(-9, 9, (4,), np.float32)
    action_space = spaces.Dict(
        gear=spaces.Discrete(3),
        arm=spaces.Dict(force=spaces.Box(-1, 1, (2,), np.float32), grip=spaces.MultiBinary(1)),
    )

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return np.zeros(4, np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.steps += 1
        seen = np.concatenate([[action["gear"]], action["arm"]["force"], action["arm"]["grip"]]).astype(np.float32)
        return seen, float(seen.sum()), False, self.steps == 3, {}


class OnePart(gymnasium.ActionWrapper):
    """A Dict action of one part."""

    def __init__(self, env):
        super().__init__(env)
        self.action_space = spaces.Dict(gear=spaces.Discrete(3))

    def action(self, action):
        return {**action, "arm": {"force": np.zeros(2, np.float32), "grip": np.zeros(1, np.int8)}}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("device", [None, "cpu"])
def test_dict_actions(device):
    """Named as TorchRL's own GymWrapper names them, in its SerialEnv, and with the same results."""
    ours = batchenv.make_python(Parted, 3, workers="serial", env_type="torchrl", device=device)
    theirs = SerialEnv(3, lambda: GymWrapper(Parted(), categorical_action_encoding=True))
    assert set(ours.full_action_spec.keys(True, True)) == set(theirs.full_action_spec.keys(True, True))
    for key in theirs.action_keys:
        assert ours.full_action_spec[key].shape == theirs.full_action_spec[key].shape, key
        assert ours.full_action_spec[key].dtype == theirs.full_action_spec[key].dtype, key
    check_env_specs(ours)
    torch.manual_seed(0)
    data, both = ours.rollout(3), {}
    for env in (ours, theirs):
        state, both[env] = env.reset(), []
        for t in range(3):
            for key in ours.action_keys:
                state[key] = data[key][:, t]
            both[env].append(env.step(state)["next"])
            state = both[env][-1].exclude("reward")
    for mine, its in zip(both[ours], both[theirs], strict=True):
        assert torch.equal(mine["observation"], its["observation"]) and torch.equal(mine["done"], its["done"])
        assert torch.equal(mine["reward"].float(), its["reward"])
    assert data["next", "observation"].abs().sum() > 0
    collector = Collector(ours, ours.rand_action, frames_per_batch=12, total_frames=24)
    for batch in collector:
        assert torch.equal(batch["next", "observation"][..., 1:3], batch["arm", "force"])
    collector.shutdown(close_env=False)
    ours.close()
    theirs.close()


def test_an_action_of_one_part():
    env = batchenv.make_python(lambda: OnePart(Parted()), 2, workers="serial", env_type="torchrl")
    state = env.reset()
    state["gear"] = torch.tensor([2, 1])
    assert env.step(state)["next", "observation"][:, 0].tolist() == [2, 1]
    env.close()


@pytest.mark.parametrize("name", ["observation", "done", "next"])
def test_parts_of_actions_that_tensordicts_have_no_room_for(name):
    def make():
        env = Parted()
        env.action_space = spaces.Dict({name: spaces.Discrete(2)})
        return env

    with pytest.raises(ValueError, match=f"actions have the key '{name}', which TensorDicts need for something else"):
        batchenv.make_python(make, 2, workers="serial", env_type="torchrl")


class Failing(gymnasium.Env):
    """Fails with action 2; its episodes have 4 steps, and observations say which of them and which episode it is."""

    observation_space, action_space = spaces.Box(0, 99, (2,), np.float32), spaces.Discrete(3)
    episode = 0

    def reset(self, *, seed=None, options=None):
        self.episode, self.steps = self.episode + 1, 0
        return np.float32([self.episode, 0]), {}

    def step(self, action):
        if action == 2:
            raise ZeroDivisionError("a bug in the env")
        self.steps += 1
        return np.float32([self.episode, self.steps]), 1.0, False, self.steps == 4, {}


@pytest.mark.parametrize("workers", ["serial", "processes"])
def test_a_reset_after_a_lane_has_failed(workers):
    """Lanes that went on show where they are. One whose episode has ended is not reset once more, one that has gone on
    since then is."""
    env = batchenv.make_python(Failing, 3, workers=workers, num_workers=2, env_type="torchrl")

    def fail(state):
        with pytest.raises(batchenv.LaneError) as problem:
            env.step_and_maybe_reset(state.set("action", torch.tensor([0, 2, 0])))
        return problem.value.result  # what "next" would have had

    def go_on(state):
        return env.step(state.set("action", torch.zeros(3, dtype=torch.int64)))["next"]

    def reset(state, lanes):
        return env.reset(state.set("_reset", torch.tensor(lanes)[:, None]))

    state = fail(go_on(go_on(env.reset())))
    assert state["observation"].tolist() == [[1, 3], [0, 0], [1, 3]]
    assert state["done"].flatten().tolist() == [False, True, False]
    state = reset(state, [False, True, False])
    assert state["observation"].tolist() == [[1, 3], [3, 0], [1, 3]]  # its episode 2 was over unseen
    state = fail(state)  # while the others' episodes end
    assert state["observation"].tolist() == [[1, 4], [0, 0], [1, 4]]
    state = go_on(reset(state, [True, True, True]))
    assert state["observation"].tolist() == [[2, 1], [5, 1], [2, 1]]
    state = go_on(go_on(go_on(state)))
    assert state["done"].all()
    state = reset(fail(state), [True, True, True])
    assert state["observation"].tolist() == [[4, 0], [8, 0], [4, 0]]
    env.close()


@pytest.mark.parametrize("workers", ["serial", "processes"])
def test_an_awkward_env(workers):
    """Observations and ends are those of TorchRL's own SerialEnv; infos, which nobody reads, cannot fail."""
    ours = batchenv.make_python(makers(), workers=workers, num_workers=2, env_type="torchrl")
    plain = [lambda one=one: GymWrapper(one(), categorical_action_encoding=True) for one in makers(reuses=False)]
    theirs = SerialEnv(len(plain), plain)
    mine, its = ours.reset(), theirs.reset()
    same(mine, its)
    for step in range(11):
        action = torch.arange(len(plain)) * step % 3
        (mine, mine_next), (its, its_next) = (
            env.step_and_maybe_reset(state.set("action", action)) for env, state in ((ours, mine), (theirs, its))
        )
        same(mine["next"], its["next"])
        same(mine_next, its_next)
        mine, its = mine_next, its_next
    ours.close()
    theirs.close()
