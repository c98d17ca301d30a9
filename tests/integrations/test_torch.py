"""env_type="torch": what comes back equals BatchEnv's arrays, shares their memory, and is safe to hold."""

import copy
import pickle
import sys
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import batchenv
from helpers.begun import begun
from helpers.lockstep import actions_of
from helpers.processes import run_python
from helpers.robots import ROBOT, example

torch = pytest.importorskip("torch")

from batchenv.integrations.tensors import device_of, tensors  # noqa: E402
from batchenv.integrations.torch import TorchBatchEnv  # noqa: E402
from batchenv.integrations.transfer import Transfer  # noqa: E402

IDS = ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "Blackjack-v1", "Catch-v0"]


def equal(ours, theirs):
    """Tensors and arrays, nested, with the same values and dtypes."""
    if isinstance(theirs, dict):
        assert set(ours) == set(theirs)
        for name in theirs:
            equal(ours[name], theirs[name])
    elif isinstance(theirs, tuple):
        for one, other in zip(ours, theirs, strict=True):
            equal(one, other)
    else:
        assert isinstance(ours, torch.Tensor)
        ours = ours.cpu().numpy()
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def told(infos):
    """BatchEnv's infos in the form that tensors have."""
    expected = {name: value for name, value in infos.items() if name != "final_obs"}
    if "final_obs" in infos:
        expected["final_rows"] = infos.final_rows
    return expected


def pair(env_id, lanes=5, **keywords):
    keywords = {"autoreset_mode": "SameStep", "max_episode_steps": 9, "record_episode_statistics": True, **keywords}
    ours = batchenv.make(env_id, lanes, env_type="torch", **keywords)
    return ours, batchenv.make(env_id, lanes, **{"reward_dtype": "float32", **keywords})


def same_steps(ours, plain, steps=30):
    """Whether an episode has ended meanwhile."""
    ended = False
    for actions in actions_of(plain, steps, seed=0):
        expected, result = plain.step(actions), ours.step(torch.from_numpy(actions))
        result[4].get("episode", {}).pop("t", None)
        expected[4].get("episode", {}).pop("t", None)
        equal(result[:4], expected[:4])
        equal(result[4], told(expected[4]))
        ended |= "final_rows" in result[4]
    return ended


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("env_id", IDS)
def test_steps_equal_those_of_arrays(env_id, again):
    ours, plain = pair(env_id, copy=not again)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        equal(ours.reset(seed=3), plain.reset(seed=3))
        assert same_steps(ours, plain)
        equal(ours.state, plain.state)
    saved = ours.snapshot()
    assert same_steps(ours, plain)
    equal(ours.restore(saved), plain.restore(bytes(saved)))


def test_tensors_set_the_state():
    ours, plain = (begun(env, seed=3) for env in pair("CartPole-v1"))
    lanes, values = torch.tensor([3, 1]), torch.tensor([0.5, 0.25])
    equal(ours.set_state({"x": values, "theta": 0.0}, lanes), plain.set_state({"x": [0.5, 0.25], "theta": 0.0}, [3, 1]))
    equal(ours.state, plain.state)
    assert same_steps(ours, plain)


def test_rewards_are_float32_unless_said():
    assert batchenv.make("CartPole-v1", 2, env_type="torch").env.config["reward_dtype"] == "float32"
    ours, plain = map(begun, pair("Pendulum-v1", reward_dtype="float64"))
    same_steps(ours, plain)
    assert ours.step(torch.zeros(5, 1))[1].dtype == torch.float64


def test_memory_is_shared_and_never_written_while_held():
    env = batchenv.make("CartPole-v1", 6, env_type="torch")
    first = env.reset(seed=0)[0]
    actions = torch.zeros(6, dtype=torch.int64)
    kept, copies = [first], [first.clone()]
    for _ in range(30):
        observations = env.step(actions)[0]
        part = observations[2:4].t()  # a view alone keeps its memory
        kept += [part, env.step(actions)[1]]
        copies += [part.clone(), kept[-1].clone()]
        del observations
    assert all(torch.equal(one, other) for one, other in zip(kept, copies, strict=True))


def test_autograd_keeps_what_it_needs():
    env = begun(batchenv.make("CartPole-v1", 6, env_type="torch"))
    actions = torch.zeros(6, dtype=torch.int64)
    weight = torch.ones(4, requires_grad=True)
    observations = env.step(actions)[0]
    expected = observations.sum(0).clone()
    loss = (observations @ weight).sum()
    del observations
    for _ in range(10):
        env.step(actions)
    loss.backward()
    assert torch.equal(weight.grad, expected)


def test_tensors_come_again_with_copy_false():
    env = begun(batchenv.make("CartPole-v1", 6, env_type="torch", copy=False))
    actions = torch.zeros(6, dtype=torch.int64)
    results = [env.step(actions)[:4] for _ in range(8)]
    for early, late in zip(results[:4], results[4:], strict=True):
        assert all(one is other for one, other in zip(early, late, strict=True))


def test_copies_and_what_is_dropped():
    env = begun(batchenv.make("CartPole-v1", 3, env_type="torch"))
    actions = torch.zeros(3, dtype=torch.int64)
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert other.env is not env.env
        assert torch.equal(other.step(actions)[0], copy.deepcopy(env).step(actions)[0])
    inner, result = weakref.ref(env.env), env.step(actions)
    del env, other
    assert inner() is None, "something refers to the env in a circle"
    assert result[0].shape == (3, 4) and torch.isfinite(result[0]).all()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_every_kind_of_alias_keeps_its_values(mode):
    """Views, detached tensors, NumPy's arrays and DLPack's use the memory without the tensor that was handed out."""
    env = begun(batchenv.make("CartPole-v1", 6, env_type="torch", autoreset_mode=mode))
    actions = torch.zeros(6, dtype=torch.int64)
    aliases = [lambda t: t, lambda t: t[1:], lambda t: t.detach(), lambda t: t.numpy(), torch.from_dlpack,
               lambda t: t.data, lambda t: t.untyped_storage(), lambda t: t.view(torch.int32)]  # fmt: skip
    held, values = [], []

    def value(alias):
        return bytes(alias) if isinstance(alias, torch.UntypedStorage) else np.asarray(alias).copy()

    for alias in aliases:
        for part in env.step(actions)[:2]:
            held.append(alias(part))
            values.append(value(held[-1]))
            del part
    for _ in range(20):
        env.step(actions)
    for now, before in zip(held, values, strict=True):
        assert np.array_equal(value(now), before)


def test_what_is_done_to_a_tensor_does_not_come_again():
    """Tensors that nobody holds are handed out again, but not with what was done to them."""
    env = begun(batchenv.make("CartPole-v1", 6, env_type="torch"))
    actions = torch.zeros(6, dtype=torch.int64)
    changes = [lambda t: t.requires_grad_(), lambda t: t.unsqueeze_(0), lambda t: t.t_(),
               lambda t: setattr(t, "own", 1), lambda t: setattr(t, "data", torch.zeros(6, 4)),
               lambda t: t.set_(torch.zeros(6, 4)), lambda t: t.resize_(2, 2), lambda t: t.share_memory_()]  # fmt: skip
    for change in changes:
        for _ in range(5):
            change(env.step(actions)[0])
        for _ in range(5):
            observations = env.step(actions)[0]
            assert observations.shape == (6, 4) and observations.stride() == (4, 1)
            assert not observations.requires_grad and not vars(observations)
            assert torch.equal(observations, torch.from_numpy(env.env._backend.core.observe()))
            del observations


def test_tensors_come_again_when_nobody_holds_them():
    from batchenv.integrations.tensors import counted

    if not counted:
        pytest.skip("this PyTorch does not show who holds a tensor")
    env = begun(batchenv.make("CartPole-v1", 6, env_type="torch"))
    actions = torch.zeros(6, dtype=torch.int64)
    with torch.inference_mode():
        for _ in range(3):
            env.step(actions)
    first = env.step(actions)[1]
    first.mark = True  # it is another's from now on
    name = id(first)
    assert not first.is_inference(), "tensors made in inference mode came again outside of it"
    assert all(id(env.step(actions)[1]) != name for _ in range(10))
    del first
    for _ in range(10):
        env.step(actions)
    last = weakref.ref(env.step(actions)[0])
    assert env.step(actions)[0] is last()
    held = [env.step(actions) for _ in range(10)]
    assert len({part.data_ptr() for result in held for part in result[:4]}) == 40


def test_tensors_are_dropped_in_other_threads():
    env = begun(batchenv.make("CartPole-v1", 6, env_type="torch"))
    actions = torch.zeros(6, dtype=torch.int64)
    with ThreadPoolExecutor(2) as pool:
        for _ in range(200):
            pool.submit(lambda held: held.clear(), list(env.step(actions)))
    places = {env.step(actions)[0].data_ptr() for _ in range(50)}
    assert len(places) <= 2  # nothing is held any more


def test_infos_may_be_held_alone():
    """Also where all else that a step returned is gone, so that its tensors are handed out again."""
    env = batchenv.make("Taxi-v4", 4, env_type="torch", record_episode_statistics=True, max_episode_steps=5, seed=0)
    env.reset()
    kept, copies = [], []
    for step in range(30):
        infos = env.step(torch.full((4,), step % 6))[4]
        statistics = infos.get("episode", {}).get("r")
        kept.append((infos["action_mask"], infos["_action_mask"], statistics))
        copies.append(tuple(None if one is None else one.clone() for one in kept[-1]))
    assert any(statistics is not None for *_, statistics in kept)
    for held, copied in zip(kept, copies, strict=True):
        assert all(one is other or torch.equal(one, other) for one, other in zip(held, copied, strict=True))


def test_a_held_result_frees_its_memory():
    env = begun(batchenv.make("CartPole-v1", 6, env_type="torch"))
    actions = torch.zeros(6, dtype=torch.int64)
    places = {env.step(actions)[0].data_ptr() for _ in range(50)}
    assert len(places) <= 2  # the same memory again and again


def test_out():
    ours, plain = map(begun, pair("CartPole-v1", 4))
    out = torch.empty(4, 4), torch.empty(4), torch.empty(4, dtype=torch.bool), torch.empty(4, dtype=torch.bool)
    actions = np.zeros(4, np.int64)
    for _ in range(20):
        result, expected = ours.step(torch.from_numpy(actions), out=out), plain.step(actions)
        assert all(one is other for one, other in zip(result[:4], out, strict=True))
        equal(result[:4], expected[:4])
    result, expected = ours.step(torch.from_numpy(actions), out=(None, out[1], None, None)), plain.step(actions)
    assert result[1] is out[1]
    equal(result[:4], expected[:4])
    with pytest.raises(ValueError, match="rewards must have dtype float32"):
        ours.step(torch.from_numpy(actions), out=(None, torch.empty(4, dtype=torch.float64), None, None))
    with pytest.raises(TypeError, match="four arrays"):
        ours.step(torch.from_numpy(actions), out=out[:2])
    shared = torch.zeros(4, dtype=torch.int64)
    with pytest.raises(ValueError, match="overlap"):
        ours.step(shared, out=(None, None, shared.view(torch.bool)[:4], None))
    with pytest.raises(ValueError, match="overlap"):
        plain.step(shared, out=(None, None, shared.view(torch.bool)[:4], None))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_whole_numbers_of_any_dtype_and_layout(dtype):
    """BatchEnv reads tensors without NumPy in between: it must see what NumPy would."""
    env, other = begun(batchenv.make("CartPole-v1", 6)), begun(batchenv.make("CartPole-v1", 6))
    table = torch.tensor([[0, 1], [1, 1], [0, 0], [1, 0], [1, 1], [0, 1]], dtype=dtype)
    for actions in (table[:, 0], table[:, 0].contiguous(), table.t()[1], table.flatten()[3:9], table[:, 0].expand(6)):
        np.testing.assert_array_equal(env.step(actions)[0], other.step(actions.numpy().copy())[0])
    some = other.step(table[:3, 0].numpy().copy(), [4, 0, 2])[0]
    np.testing.assert_array_equal(env.step(table[:3, 0], [4, 0, 2])[0], some)
    wrong = table[:, 0].clone()
    wrong[4] = 7
    with pytest.raises(ValueError, match=r"action 7 of lane 4 is not in 0\.\.1"):
        env.step(wrong)
    with pytest.raises(ValueError, match=r"action 7 of lane 3 is not in 0\.\.1"):
        env.step(wrong[3:5], [5, 3])
    with pytest.raises(ValueError, match="shape"):
        env.step(table)
    with pytest.raises(TypeError, match="single value"):
        env.step(torch.tensor(1))
    with pytest.raises((TypeError, ValueError), match=r"no lane has been stepped|actions"):
        env.step(torch.zeros(6, dtype=torch.int64, device="meta"))
    with pytest.raises(TypeError, match="integers"):
        env.step(torch.zeros(6))
    with pytest.raises(TypeError, match="integers"):
        env.step(torch.zeros(6, dtype=torch.bool))
    parameter = torch.nn.Parameter(table[:, 0].clone(), requires_grad=False)  # a class of its own
    np.testing.assert_array_equal(env.step(parameter)[0], other.step(parameter.numpy().copy())[0])


def test_actions_at_odd_places():
    """Memory of which the processor could not read a whole number at once."""
    env, other = begun(batchenv.make("CartPole-v1", 2)), begun(batchenv.make("CartPole-v1", 2))
    actions = np.frombuffer(bytearray(17), np.uint8)[1:].view(np.int64)
    actions[1] = 1
    np.testing.assert_array_equal(env.step(torch.from_numpy(actions))[0], other.step([0, 1])[0])


def test_actions_with_gradients_come_apart_here():
    """A policy's continuous actions may have gradients, which no step can use."""
    env = begun(batchenv.make("Pendulum-v1", 3, env_type="torch"))
    assert not env.step(torch.zeros(3, 1, requires_grad=True))[0].requires_grad


def test_masks_and_lanes_may_be_tensors():
    ours, plain = map(begun, pair("CartPole-v1", 5))
    mask = torch.tensor([True, False, True, False, False])
    equal(ours.reset(options={"reset_mask": mask}), plain.reset(options={"reset_mask": mask.numpy()}))
    equal(ours.reset(torch.tensor([3, 1])), plain.reset([3, 1]))
    equal(
        ours.step(torch.tensor([1, 0]), torch.tensor([4, 2])),
        (*plain.step(np.array([1, 0]), [4, 2])[:4], {"env_id": np.array([4, 2])}),
    )


@pytest.mark.parametrize("batch_size", [6, 2])
def test_send_and_recv(batch_size):
    env = batchenv.make("CartPole-v1", 6, env_type="torch", batch_size=batch_size)
    env.async_reset(seed=0)
    for _ in range(20):
        observations, rewards, _, _, infos = env.recv()
        assert observations.shape == (batch_size, 4) and rewards.dtype == torch.float32
        assert infos["env_id"].dtype == torch.int64
        env.send(torch.zeros(batch_size, dtype=torch.int64), infos["env_id"])
    env.close()


def test_step_async():
    ours, plain = map(begun, pair("CartPole-v1"))
    actions = torch.ones(5, dtype=torch.int64)
    ours.step_async(actions), plain.step_async(actions)
    equal(ours.step_wait(), plain.step_wait())


def test_arecv():
    import asyncio

    env = batchenv.make("CartPole-v1", 3, env_type="torch")
    env.async_reset(seed=0)
    observations = asyncio.run(env.arecv())[0]
    equal(observations, batchenv.make("CartPole-v1", 3).reset(seed=0)[0])


def test_rollout():
    ours, plain = map(begun, pair("CartPole-v1"))
    actions = torch.zeros(12, 5, dtype=torch.int64)
    result, expected = ours.rollout(actions), plain.rollout(actions.numpy())
    del result.infos["episode"]["t"], expected.infos["episode"]["t"]
    equal(tuple(result), tuple(expected))
    assert isinstance(result, batchenv.Rollout)


class Pairs(gymnasium.Env):
    """Observations with parts that are single values and text."""

    observation_space = spaces.Dict({"x": spaces.Box(-1, 1, (2,)), "n": spaces.Discrete(5)})
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return self._seen(), {}

    def step(self, action):
        self.steps += 1
        return self._seen(), 0.5, self.steps == 3, False, {"speed": 2.5, "name": "a"}

    def _seen(self):
        return {"x": np.full(2, self.steps / 10, np.float32), "n": self.steps}


@pytest.mark.parametrize("workers", ["serial", "processes"])
def test_environments_in_python(workers):
    kwargs = {"workers": workers, "autoreset_mode": "SameStep"}
    with batchenv.make_python(Pairs, 3, env_type="torch", **kwargs) as env:
        assert isinstance(env, TorchBatchEnv)
        observations, _ = env.reset(seed=0)
        assert observations["n"].dtype == torch.int64
        for step in range(1, 7):
            observations, rewards, terminated, _, infos = env.step(torch.zeros(3, dtype=torch.int64))
            assert rewards.dtype == torch.float32 and rewards.tolist() == [0.5] * 3
            assert infos["speed"].tolist() == [2.5] * 3 if step % 3 else "final_info" in infos
            assert terminated.tolist() == [step % 3 == 0] * 3 and observations["n"].tolist() == [step % 3] * 3
            assert ("final_rows" in infos) == (step % 3 == 0) and "final_obs" not in infos
            if "final_rows" in infos:
                lanes, rows = infos["final_rows"]
                assert lanes.tolist() == [0, 1, 2] and rows["n"].tolist() == [3, 3, 3]
                assert rows["x"].dtype == torch.float32 and rows["x"].shape == (3, 2)


def test_tasks_over_mujoco_in_numpy():
    """One whose observations have parts; and one that computes in torch, over the lanes' memory."""
    pytest.importorskip("mujoco")
    walk = example("walk")
    keywords = {"task": walk.Walk, "max_episode_steps": 7, "autoreset_mode": "SameStep", "num_threads": 1}
    ours = batchenv.make_mujoco(walk.model(), 3, env_type="torch", **keywords)
    plain = batchenv.make_mujoco(walk.model(), 3, reward_dtype="float32", **keywords)
    equal(ours.reset(seed=0)[0], plain.reset(seed=0)[0])
    assert same_steps(ours, plain, 20)

    class Torch(example("stand").Stand):
        def reward(self, lanes, actions):
            change = torch.from_numpy(actions.copy()) - torch.from_numpy(lanes.last_action)
            height = torch.from_numpy(lanes.body("trunk").xpos.copy())[:, 2]
            return (height - 0.01 * change.square().sum(1)).numpy()

        def update(self, lanes, actions):
            torch.from_numpy(lanes.last_action).copy_(torch.from_numpy(actions.copy()))

    ours, plain = (batchenv.make_mujoco(ROBOT, 3, task=task) for task in (Torch, example("stand").Stand))
    ours.reset(seed=0), plain.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(10):
        actions = rng.uniform(-1, 1, (3, 12)).astype(np.float32)
        results = [env.step(actions) for env in (ours, plain)]
        np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-6)
        np.testing.assert_array_equal(results[0][0], results[1][0])
        np.testing.assert_array_equal(ours.state["last_action"], plain.state["last_action"])


def test_arrays_that_are_no_tensors():
    frozen = np.arange(3)
    frozen.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = tensors({"frozen": frozen, "back": np.arange(3)[::-1], "words": np.array(["a"]), "number": 3})
    made["frozen"][0] = 7
    assert frozen[0] == 0 and made["back"].tolist() == [2, 1, 0]
    assert isinstance(made["words"], np.ndarray) and made["number"] == 3


def test_lane_errors_carry_tensors():
    class Fails(Pairs):
        def step(self, action):
            if action:
                raise OSError("broken")
            return super().step(action)

    env = begun(batchenv.make_python(Fails, 3, workers="serial", env_type="torch"))
    with pytest.raises(batchenv.LaneError) as problem:
        env.step(torch.tensor([0, 1, 0]))
    assert list(problem.value.env_id) == [1] and isinstance(problem.value.result[1], torch.Tensor)


# ---- devices --------------------------------------------------------------------------------------------------------


def test_devices_that_are_none():
    for wrong in ("gpu", "mps", 1.5, None, "cpu:x"):
        with pytest.raises(ValueError, match="must be 'cpu', 'cuda', or one GPU"):
            batchenv.make("CartPole-v1", 2, env_type="torch", device=wrong)
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match=r"device='cuda:0' needs a GPU, but torch .* sees none"):
            batchenv.make("CartPole-v1", 2, env_type="torch", device="cuda:0")
    assert device_of("cpu") == device_of(torch.device("cpu")) == torch.device("cpu")
    with pytest.raises(TypeError, match="device"):
        batchenv.make("CartPole-v1", 2, device="cpu")


class Watched:
    """Streams that note what is asked of them, and whose copies end when they are waited for."""

    pinned = False

    def __init__(self):
        self.calls, self.marks = [], 0

    def own(self):
        self.calls.append("own")
        return warnings.catch_warnings()  # some context

    def mark(self):
        self.marks += 1
        return Mark(self.calls, self.marks)

    def taken(self, tensor):
        self.calls.append("taken")

    def given(self, made, mark):
        self.calls.append(f"given {len(made)} after {mark.number}")


class Mark:
    def __init__(self, calls, number):
        self.calls, self.number = calls, number

    def synchronize(self):
        self.calls.append(f"wait for {self.number}")


def transferring(env_id, lanes=5, **keywords):
    """An env that goes the way of a GPU's, whose device is the CPU, and one of arrays."""
    ours, plain = pair(env_id, lanes, **keywords)
    streams = Watched()
    ours._transfer = Transfer(ours.env, torch.device("cpu"), streams)
    ours._step_by(None)
    return ours, plain, streams


@pytest.mark.parametrize("env_id", IDS)
def test_the_way_of_a_gpu(env_id):
    ours, plain, _ = transferring(env_id)
    equal(ours.reset(seed=3), plain.reset(seed=3))
    assert same_steps(ours, plain)
    equal(ours.state, plain.state)


def test_the_order_of_copies():
    """Actions are waited for; room for results is written again only after its copy has ended."""
    ours, _, streams = transferring("CartPole-v1")
    ours.reset(seed=0)
    actions = torch.zeros(5, dtype=torch.int64)
    for _ in range(3):
        ours.step(actions)
    step = ["own", "taken", "wait for {}", "own", "given 4 after {}"]
    first = [word.format(k) for word, k in zip(step, (0, 0, 1, 0, 2), strict=True)]
    second = [word.format(k) for word, k in zip(step, (0, 0, 3, 0, 4), strict=True)]
    third = [word.format(k) for word, k in zip(step, (0, 0, 5, 0, 6), strict=True)]
    third.insert(3, "wait for 2")
    assert streams.calls == first + second + third


def test_the_way_of_a_gpu_leaves_results_alone():
    ours, _, _ = transferring("CartPole-v1")
    ours.reset(seed=0)
    results = [ours.step(torch.zeros(5, dtype=torch.int64))[:4] for _ in range(6)]
    copies = [[part.clone() for part in result] for result in results]
    for _ in range(6):
        ours.step(torch.zeros(5, dtype=torch.int64))
    for result, kept in zip(results, copies, strict=True):
        assert all(torch.equal(one, other) for one, other in zip(result, kept, strict=True))


def test_out_on_the_way_of_a_gpu():
    ours, plain, _ = transferring("CartPole-v1", 4)
    ours.reset(seed=0), plain.reset(seed=0)
    out = torch.empty(4, 4), torch.empty(4), torch.empty(4, dtype=torch.bool), None
    actions = torch.zeros(4, dtype=torch.int64)
    result, expected = ours.step(actions, out=out), plain.step(actions)
    assert all(one is other for one, other in zip(result[:3], out[:3], strict=True))
    equal(result[:4], expected[:4])
    before = ours.state["elapsed_steps"]
    wrong = [
        (torch.empty(4), None, None, None),
        (None, torch.empty(4, dtype=torch.float64), None, None),
        (None, None, torch.empty(4, dtype=torch.bool, device="meta"), None),
        (None, None, np.empty(4, bool), None),
        (None, None, None),
    ]
    for one in wrong:
        with pytest.raises((TypeError, ValueError), match="out"):
            ours.step(actions, out=one)
    with pytest.raises(ValueError, match="takes no out"):
        ours.step(actions[:1], [0], out=out)
    assert torch.equal(ours.state["elapsed_steps"], before)


def test_some_lanes_and_python_on_the_way_of_a_gpu():
    ours, plain, _ = transferring("CartPole-v1")
    ours.reset(seed=0), plain.reset(seed=0)
    equal(ours.step(torch.tensor([1, 0]), torch.tensor([4, 2]))[:4], plain.step(np.array([1, 0]), [4, 2])[:4])
    env = batchenv.make_python(Pairs, 3, workers="serial", env_type="torch", autoreset_mode="SameStep")
    env._transfer = Transfer(env.env, torch.device("cpu"), Watched())
    env._step_by(None)
    env.reset(seed=0)
    for step in range(1, 7):
        observations, *_, infos = env.step(torch.zeros(3, dtype=torch.int64))
        assert observations["n"].tolist() == [step % 3] * 3
        assert "final_rows" not in infos or infos["final_rows"][1]["n"].tolist() == [3] * 3


def test_without_torch():
    code = """
import sys
sys.modules["torch"] = None
import batchenv
for env_type, extra in (("torch", "torch"), ("torchrl", "torchrl")):
    try:
        batchenv.make("CartPole-v1", 2, env_type=env_type)
    except ImportError as error:
        assert f"pip install 'batchenv[{extra}]'" in str(error), error
    else:
        raise AssertionError(env_type)
"""
    run_python(code)
    assert "torch" in sys.modules


@pytest.mark.parametrize("kind", ["C", "serial", "in flight"])
def test_trees_of_infos(kind):
    """torch.utils._pytree takes infos apart as it does dicts: many libraries rely on that."""
    options = {"autoreset_mode": "SameStep", "max_episode_steps": 3}
    if kind == "serial":
        env = batchenv.make_python(Pairs, 2, workers="serial", **options)
    else:
        env = batchenv.make("CartPole-v1", 2, **options)
    if kind == "in flight":
        env.async_reset(seed=0)
        env.recv()
    else:
        env.reset(seed=0)
    for step in range(1, 4):
        actions = np.zeros(2, int)
        if kind == "in flight":
            env.send(actions, [0, 1])
        *_, infos = env.recv() if kind == "in flight" else env.step(actions)
        seen = torch.utils._pytree.tree_map(lambda leaf: leaf, infos)
        assert type(seen) is dict and list(seen) == list(infos)
        assert all(seen[name] is infos[name] for name in infos if not isinstance(infos[name], dict))
        assert ("final_obs" in seen) == (step == 3)


def test_a_dtype_that_numpy_does_not_have():
    env = begun(batchenv.make("Pendulum-v1", 2, env_type="torch"))
    with pytest.raises(TypeError, match=r"no dtype for tensors of torch\.bfloat16: pass another one, such as \.float"):
        env.step(torch.zeros(2, 1, dtype=torch.bfloat16))
