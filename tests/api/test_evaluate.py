"""batchenv.evaluate: the numbers of a loop over single envs, without a bias to short episodes."""

import json
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import batchenv
from batchenv.__main__ import main
from batchenv.evaluation.result import _wilson
from helpers.parallel_envs import Herd

MODES = list(AutoresetMode)


def upright(observations):
    return (observations[:, 2] > 0).astype(int)


def single(env_id, policy, seeds, **keywords):
    """Returns, lengths and ends of a loop over Gymnasium's own env."""
    env, rows = gymnasium.make(env_id, **keywords), []
    for seed in seeds:
        observation, _ = env.reset(seed=seed)
        total, length, over = 0.0, 0, False
        while not over:
            observation, reward, terminated, truncated, _ = env.step(policy(observation[None])[0])
            total, length, over = total + float(reward), length + 1, terminated or truncated
        rows.append((total, length, terminated))
    return [np.array(column) for column in zip(*rows, strict=True)]


def check(result, expected):
    np.testing.assert_array_equal(result.returns, expected[0])
    np.testing.assert_array_equal(result.lengths, expected[1])
    np.testing.assert_array_equal(result.terminated, expected[2])


@pytest.mark.parametrize("lanes", [1, 5, 40])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["ours", "sync", "wrapped"])
def test_numbers_of_a_loop_over_single_envs(kind, mode, lanes):
    if kind == "sync":
        options = {"vectorization_mode": "sync", "vector_kwargs": {"autoreset_mode": mode}}
        env = gymnasium.make_vec("CartPole-v1", lanes, **options)
    else:
        env = batchenv.make("CartPole-v1", lanes, autoreset_mode=mode)
    if kind == "wrapped":
        env = gymnasium.wrappers.vector.TransformReward(env, lambda rewards: rewards)
    result = batchenv.evaluate(env, upright, 23, seed=7)
    check(result, single("CartPole-v1", upright, range(7, 30)))
    np.testing.assert_array_equal(result.seeds, np.arange(7, 30))


def test_a_continuous_task_and_seeds_of_ones_own():
    def turn(observations):
        return np.clip(-2 * observations[:, 1:2] - observations[:, 2:], -2, 2).astype(np.float32)

    seeds = [5, 1, 5, 2**40]
    result = batchenv.evaluate("Pendulum-v1", turn, seeds=seeds, num_envs=3)
    check(result, single("Pendulum-v1", turn, seeds))
    assert result.returns[0] == result.returns[2] and not result.terminated.any()


def test_episodes_of_python_envs():
    env = batchenv.make_python("CartPole-v1", 4, autoreset_mode="Disabled")
    check(batchenv.evaluate(env, upright, 9), single("CartPole-v1", upright, range(9)))
    env.close()


class Uneven(gymnasium.vector.VectorEnv):
    """Episodes of 2 steps with a return of 0, or of 50 steps with a return of 1; they alternate in each lane. It knows
    no masks."""

    def __init__(self, num_envs, mode):
        self.num_envs, self.metadata = num_envs, {"autoreset_mode": mode}
        self.single_observation_space = gymnasium.spaces.Box(0, 1, (1,))
        self.single_action_space = gymnasium.spaces.Discrete(2)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)

    def reset(self, *, seed=None, options=None):
        self.episode, self.steps = np.arange(self.num_envs), np.zeros(self.num_envs, int)
        self.over = np.zeros(self.num_envs, bool)
        return np.zeros((self.num_envs, 1), np.float32), {}

    def step(self, actions):
        waiting = self.over if self.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP else np.zeros_like(self.over)
        self.steps = np.where(waiting, 0, self.steps + 1)
        long = self.episode % 2 == 1
        self.over = ~waiting & (self.steps >= np.where(long, 50, 2))
        rewards = np.where(waiting, 1000.0, self.over & long)
        self.episode = self.episode + self.over
        if self.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP:
            self.steps[self.over] = 0
        return np.zeros((self.num_envs, 1), np.float32), rewards, self.over, np.zeros_like(self.over), {}


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_no_bias_to_short_episodes_in_other_vector_envs(mode):
    result = batchenv.evaluate(Uneven(6, mode), "random", 24)
    assert result.returns.mean() == 0.5 and result.seeds is None
    assert set(zip(result.lengths.tolist(), result.returns.tolist(), strict=True)) == {(2, 0.0), (50, 1.0)}
    np.testing.assert_array_equal(result.lanes, np.arange(24) % 6)


def test_other_vector_envs_say_what_they_cannot():
    with pytest.raises(ValueError, match=r"Uneven is not known to take .*reset_mask"):
        batchenv.evaluate(Uneven(2, AutoresetMode.NEXT_STEP), "random", seeds=[1, 2])
    with pytest.raises(ValueError, match="autoreset disabled"):
        batchenv.evaluate(Uneven(2, AutoresetMode.DISABLED), "random", 3)


def test_lanes_with_nothing_left_are_idle():
    env = batchenv.make("CartPole-v1", 8, autoreset_mode="Disabled", record_episode_statistics=True)
    stepped, step = [], env.step
    env.step = lambda actions, env_id=None: (
        stepped.append(8 if env_id is None else len(env_id)) or step(actions, env_id)
    )
    result = batchenv.evaluate(env, upright, 8)
    assert sum(stepped) == result.lengths.sum()


def test_dict_observations_texts_and_success():
    seen = []

    def policy(observations, starts):
        seen.append((len(observations["mission"]), int(starts.sum())))
        return np.full(5, 2)

    result = batchenv.evaluate("BabyAI-GoToRedBallGrey-v0", policy, 12, num_envs=5)
    assert {count for count, _ in seen} == {5} and sum(starts for _, starts in seen) == 12
    assert len(result) == 12 and result.columns()["seed"].tolist() == list(range(12))


def test_infos_of_the_last_step():
    result = batchenv.evaluate("Taxi-v4", "random", 6, infos=["prob", "action_mask"])
    assert result.infos["prob"].shape == (6,) and result.infos["action_mask"].shape == (6, 6)
    assert "action_mask_5" in result.columns()
    masks = []
    for mode in MODES:
        env = batchenv.make("Taxi-v4", 3, autoreset_mode=mode)
        result = batchenv.evaluate(env, lambda observations: observations % 4, 6, infos=["action_mask"])
        masks.append(result.infos["action_mask"].tolist())
    assert masks[0] == masks[1] == masks[2] and len({tuple(mask) for mask in masks[0]}) > 1
    with pytest.raises(ValueError, match=r"no info 'probe'.*'prob'"):
        batchenv.evaluate("Taxi-v4", "random", 2, infos=["probe"])


def test_summary():
    result = batchenv.evaluate("CartPole-v1", "random", 200)
    found = result.summary()
    assert found["return_min"] <= found["return_low"] < found["return_mean"] < found["return_high"]
    error = found["return_std"] / np.sqrt(200)
    assert found["return_high"] - found["return_low"] == pytest.approx(2 * 1.96 * error, rel=0.1)
    wider = result.summary(0.99)
    assert wider["return_low"] < found["return_low"] and result.summary() == found
    assert _wilson(0.5, 100, 0.95) == pytest.approx((0.4038, 0.5962), abs=1e-4)
    assert _wilson(1.0, 10, 0.95) == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert str(result).startswith("200 episodes: mean return")
    with pytest.raises(ValueError, match="between 0 and 1"):
        result.summary(95)


def test_models_with_predict_and_their_state():
    class Model:
        def predict(self, observations, state, episode_start, deterministic):
            assert deterministic
            state = np.where(episode_start, 0, 0 if state is None else state) + 1  # steps of the episode
            return (state % 2).astype(int), state

    def alternate():
        step = {"k": 0}

        def policy(observations):
            step["k"] += 1
            return np.array([step["k"] % 2])

        return policy

    result = batchenv.evaluate("CartPole-v1", Model(), 7, num_envs=3)
    for seed in range(7):
        assert single("CartPole-v1", alternate(), [seed])[1][0] == result.lengths[seed]


def test_torch_modules():
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Dropout(0.9))

    class Policy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = module

        def forward(self, observations):
            assert not torch.is_grad_enabled()
            return self.body(observations).argmax(-1)

    policy = Policy().train()
    one, other = (batchenv.evaluate("CartPole-v1", policy, 5, num_envs=lanes) for lanes in (2, 5))
    np.testing.assert_array_equal(one.returns, other.returns)  # no dropout
    assert policy.training


def test_players():
    result = batchenv.evaluate("Pong-v5", "random", 2, players=2, max_episode_steps=60)
    assert result.player_returns.shape == (2, 2)


def test_agents_that_are_rows():
    env = batchenv.make_parallel(Herd, 3, env_type="gymnasium")
    result = batchenv.evaluate(env, "random", 14)
    np.testing.assert_array_equal(result.lanes, np.arange(14) % 9)
    np.testing.assert_array_equal(result.lengths[0::9], result.lengths[1::9])  # agents of one lane end together
    env.close()


def test_videos(tmp_path):
    result = batchenv.evaluate("CartPole-v1", upright, 4, video=tmp_path, video_episodes=[1, 3])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000001.mp4", "000003.mp4"]

    assert len(result) == 4
    with pytest.raises(ValueError, match="render_mode"):
        batchenv.evaluate(batchenv.make("CartPole-v1", 2), upright, 2, video=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"episodes": 0}, ValueError, "episodes=0 must be at least 1"),
        ({"seeds": [1, 2], "episodes": 3}, ValueError, "2 numbers, for episodes=3"),
        ({"seeds": []}, ValueError, "at least one"),
        ({"seeds": [-1]}, ValueError, r"seeds\[0\]=-1 must be at least 0"),
        ({"policy": 3}, TypeError, "policy=3 must be a function"),
        ({"policy": "greedy"}, ValueError, "must be 'random'"),
        ({"env": 3}, TypeError, "env=3 must be an id"),
        ({"env": "CartPole-v9"}, Exception, "CartPole"),
        ({"autoreset_mode": "SameStep"}, TypeError, "autoreset_mode is what evaluate"),
        ({"num_envs": 0}, ValueError, "num_envs=0"),
    ],
)
def test_wrong_arguments(arguments, error, message):
    given = {"env": "CartPole-v1", "policy": "random", **arguments}
    with pytest.raises(error, match=message):
        batchenv.evaluate(given.pop("env"), given.pop("policy"), **given)
    with pytest.raises(TypeError, match="frame_skip is a keyword"):
        batchenv.evaluate(batchenv.make("CartPole-v1", 2), "random", 2, frame_skip=2)
    with pytest.raises(ValueError, match="without batch_size"):
        batchenv.evaluate(batchenv.make("CartPole-v1", 4, batch_size=2), "random", 2)


def test_pandas_and_progress():
    frame = pytest.importorskip("pandas")
    table = batchenv.evaluate("CartPole-v1", "random", 5).to_pandas()
    assert isinstance(table, frame.DataFrame) and list(table["seed"]) == [0, 1, 2, 3, 4]
    pytest.importorskip("tqdm")
    batchenv.evaluate("CartPole-v1", "random", 5, progress=True)


def test_command_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "my_agent.py").write_text("def act(observations):\n    return (observations[:, 2] > 0).astype(int)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    command = ["evaluate", "CartPole-v1", "--policy", "my_agent:act", "--episodes", "9", "--json", "out.json"]
    assert main(command) == 0
    assert "return_mean: " in capsys.readouterr().out
    written = json.loads((tmp_path / "out.json").read_text())
    np.testing.assert_array_equal(written["episodes"]["return"], single("CartPole-v1", upright, range(9))[0])
    for wrong in (["--json", "nowhere/out.json"], ["--confidence", "95"]):  # before the episodes are played
        with pytest.raises(SystemExit):
            main(["evaluate", "CartPole-v1", "--policy", "my_agent:fail", *wrong])
        assert wrong[1] in capsys.readouterr().err
    for policy, message in (("my_agent", "module:function"), ("nobody:act", "no module"), ("my_agent:go", "no 'go'")):
        assert main(["evaluate", "CartPole-v1", "--policy", policy]) == 2
        assert message in capsys.readouterr().err
