"""Atari games for several players, as a batch and in PettingZoo's form; frames: test_atari_players_parity.py."""

import pickle

import gymnasium
import numpy as np
import pytest

import batchenv
from batchenv.envs.atari import games, players
from helpers.atari import PLAIN, id_of
from helpers.begun import begun
from helpers.processes import run_python

KEYS = ("rewards", "player_lives", "lives", "life_lost", "episode_frame_number")


def draw(env, steps, seed=0):
    nvec = env.single_action_space.nvec
    return np.random.default_rng(seed).integers(nvec, size=(steps, env.num_envs, len(nvec)))


def run(env, steps, seed=0):
    return [env.step(actions) for actions in draw(env, steps, seed)]


def assert_same(results, others):
    for ours, theirs in zip(results, others, strict=True):
        for a, b in zip(ours[:4], theirs[:4], strict=True):
            np.testing.assert_array_equal(a, b)
        for key in KEYS:
            np.testing.assert_array_equal(ours[4][key], theirs[4][key])


def play(env, steps, seed=0):
    """What some steps of a ParallelBatchEnv return."""
    rng = np.random.default_rng(seed)
    spaces = [env.action_space(agent).n for agent in env.agents]
    return [
        env.step({agent: rng.integers(n, size=env.num_envs) for agent, n in zip(env.agents, spaces, strict=True)})
        for _ in range(steps)
    ]


# ---- the batch -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game, count", [(game, n) for game, table in players.MODES.items() for n in table if n > 1])
def test_every_team_plays(game, count):
    env = batchenv.make(id_of(game), 2, players=count, obs_type="ram", stack_num=None, render_mode="rgb_array")
    observation, info = env.reset(seed=1)
    assert env.single_action_space == gymnasium.spaces.MultiDiscrete(env.single_action_space.nvec)
    assert len(env.single_action_space.nvec) == count and info["player_lives"].shape == (2, count)
    for result in run(env, 6):
        assert env.observation_space.contains(result[0])
        np.testing.assert_array_equal(result[4]["rewards"][:, 0], result[1])
        np.testing.assert_array_equal(result[4]["player_lives"][:, 0], result[4]["lives"])
    assert env.render([0])[0].shape == (games.about(game).height, 160, 3)
    assert observation.shape == (2, 128)


def test_infos_have_every_players_points_and_lives():
    env = batchenv.make("Pong-v5", 3, players=4, autoreset_mode="SameStep", max_episode_steps=40)
    _, info = env.reset(seed=1)
    np.testing.assert_array_equal(info["players"]["env_id"], np.repeat([0, 1, 2], 4).reshape(3, 4))
    assert "rewards" not in info
    scored = 0
    for t, (_, rewards, _, truncated, info) in enumerate(run(env, 120)):
        assert info["rewards"].dtype == np.float64 and info["rewards"].shape == (3, 4)
        assert info["player_lives"].dtype == np.int32 and info["_rewards"].all() and info["_player_lives"].all()
        np.testing.assert_array_equal(rewards, info["rewards"][:, 0])
        np.testing.assert_array_equal(info["players"]["env_id"], np.repeat([0, 1, 2], 4).reshape(3, 4))
        if info["rewards"].any():  # teams of two: what one scores the other loses
            np.testing.assert_array_equal(info["rewards"].sum(axis=1), np.zeros(3))
            scored += 1
        assert ("final_info" in info) == (t % 40 == 39) == truncated.all()
        if truncated.all():
            np.testing.assert_array_equal(info["final_info"]["rewards"], info["rewards"])
            assert info["final_info"]["_player_lives"].all()
    assert scored > 3


def test_final_lives_are_those_of_the_end():
    env = begun(batchenv.make("Entombed-v5", 2, players=2, autoreset_mode="SameStep"))
    ends = 0
    for _ in range(1500):
        *_, terminated, _, info = env.step(np.zeros((2, 2), np.int64))
        for lane in np.flatnonzero(terminated):
            assert info["final_info"]["player_lives"][lane].min() == 0 < info["player_lives"][lane].min()
            ends += 1
        if ends > 2:
            return
    pytest.fail("no game ended")


def test_rewards_are_scaled_clipped_and_summed_as_those_of_one():
    raw = batchenv.make("SpaceInvaders-v5", 4, players=2)
    for keywords, treated in (
        ({"reward_clipping": True}, lambda points: np.clip(points, -1, 1)),
        ({"reward_scale": 0.5, "clip_reward": (None, 4)}, lambda points: np.minimum(points * 0.5, 4)),
    ):
        env = batchenv.make("SpaceInvaders-v5", 4, players=2, **keywords)
        raw.reset(seed=1), env.reset(seed=1)
        seen = 0
        for a, b in zip(run(raw, 150), run(env, 150), strict=True):
            np.testing.assert_array_equal(treated(a[4]["rewards"]), b[4]["rewards"])
            np.testing.assert_array_equal(b[4]["rewards"][:, 0], b[1])
            seen += a[4]["rewards"].any(axis=0)
        assert seen.all()
    env = batchenv.make("SpaceInvaders-v5", 4, players=2, action_repeat=3)
    raw.reset(seed=1), env.reset(seed=1)
    for actions in draw(env, 50):
        points = sum(raw.step(actions)[4]["rewards"] for _ in range(3))
        np.testing.assert_array_equal(env.step(actions)[4]["rewards"], points)


def test_each_joystick_is_its_own():
    env = begun(batchenv.make("Pong-v5", 6, players=2, full_action_space=True, frameskip=1, **PLAIN), seed=1)
    actions = np.array([[0, 0], [1, 0], [0, 1], [17, 17], [3, 12], [12, 3]])
    env.step(actions)
    np.testing.assert_array_equal(env.state["last_action"], actions @ [1, 18])
    env.set_params(repeat_action_probability=1.0)
    env.step(actions[::-1].copy())
    np.testing.assert_array_equal(env.state["last_action"], actions @ [1, 18])
    env = batchenv.make("Pong-v5", 150, players=2, frameskip=1, **{**PLAIN, "repeat_action_probability": 0.25})
    env.reset(seed=1)
    env.step(np.full((150, 2), 2))
    first, second = env.state["last_action"] % 18 == 0, env.state["last_action"] // 18 == 0
    assert 0.17 < first.mean() < 0.33 and 0.17 < second.mean() < 0.33 and 0.03 < (first & second).mean() < 0.1


def test_episodes_start_as_with_one_player():
    env = batchenv.make("Pong-v5", 64, players=2)
    _, info = env.reset(seed=1)
    _, plain = batchenv.make("Pong-v5", 1, players=2, **PLAIN).reset(seed=1)  # what the game itself takes to start
    frames = info["episode_frame_number"] - plain["episode_frame_number"]
    assert frames.min() >= 1 and frames.max() <= 30 and len(set(frames.tolist())) > 10
    assert (env.state["last_action"] == 1 + 18).all()  # both have fired


def test_a_lost_life_of_player_one_ends_an_episode():
    env = batchenv.make("Joust-v5", 2, players=2, episodic_life=True, autoreset_mode="SameStep")
    _, info = env.reset(seed=0)
    before, ends = info["player_lives"], 0
    for result in run(env, 900):
        for lane in np.flatnonzero(result[2]):
            lives = result[4]["final_info"]["player_lives"][lane]
            ends += int(lives[0] < before[lane, 0])
            assert lives[0] < before[lane, 0] or lives.max() < 0
        before = result[4]["player_lives"]
    assert ends


@pytest.mark.parametrize("game", ["Pong", "Warlords", "Joust", "MazeCraze", "Combat"])
def test_seeds_decide_everything(game):
    keywords = {"repeat_action_probability": 0.25, "max_episode_steps": 25}
    one, two = (batchenv.make(f"{game}-v5", 3, players=2, **keywords) for _ in range(2))
    one.reset(seed=5)
    results = run(one, 40)
    two.reset(seed=99)
    run(two, 17, seed=3)
    two.reset(seed=5)
    assert_same(results, run(two, 40))
    alone = begun(batchenv.make(f"{game}-v5", 1, players=2, **keywords), seed=6)
    for actions, result in zip(draw(one, 40), results, strict=True):
        mine = alone.step(actions[1:2])
        for a, b in zip(mine[:4], result[:4], strict=True):
            np.testing.assert_array_equal(a[0], b[1])
        np.testing.assert_array_equal(mine[4]["rewards"][0], result[4]["rewards"][1])


def test_threads_change_nothing():
    results = []
    for threads in (1, 2):
        env = batchenv.make("Pong-v5", 20, players=4, num_threads=threads, max_episode_steps=7)
        env._backend.core.force_parallel(threads > 1)
        env.reset(seed=4)
        results.append(run(env, 20))
    assert_same(*results)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_asynchronous_steps_are_the_same(mode):
    lanes, steps = 9, 60
    keywords = {"players": 2, "autoreset_mode": mode, "max_episode_steps": 50, "repeat_action_probability": 0.25}
    env = batchenv.make("Pong-v5", lanes, batch_size=3, num_threads=2, **keywords)
    reference = begun(batchenv.make("Pong-v5", lanes, **keywords), seed=1)
    actions = draw(reference, steps)
    rows = [reference.step(row) for row in actions]
    env.async_reset(seed=1)
    taken = np.zeros(lanes, int)
    scored = 0
    while taken.max() < steps:
        observation, reward, _, _, info = env.recv()
        ids = info["env_id"]
        np.testing.assert_array_equal(info["players"]["env_id"], ids.repeat(2).reshape(3, 2))
        for k, lane in enumerate(ids):
            if taken[lane]:
                expected = rows[taken[lane] - 1]
                np.testing.assert_array_equal(observation[k], expected[0][lane])
                np.testing.assert_array_equal(info["rewards"][k], expected[4]["rewards"][lane])
                np.testing.assert_array_equal(info["player_lives"][k], expected[4]["player_lives"][lane])
                assert info["rewards"][k, 0] == reward[k]
                scored += int(reward[k] != 0)
        env.send(actions[taken[ids], ids], ids)
        taken[ids] += 1
    assert taken.min() > 0 and scored
    env.async_reset(seed=1)  # results in flight are dropped, and their points too
    for _ in range(3):
        _, _, _, _, info = env.recv()
        assert not info["rewards"].any()
    env.close()


def test_step_in_two_halves():
    env, reference = (begun(batchenv.make("Pong-v5", 4, players=2), seed=1) for _ in range(2))
    results = []
    for actions in draw(env, 20):
        env.step_async(actions)
        results.append(env.step_wait())
    assert_same(results, run(reference, 20))


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_rollouts_are_steps(mode):
    keywords = {"players": 2, "autoreset_mode": mode, "max_episode_steps": 45}
    one, two = (begun(batchenv.make("Pong-v5", 3, **keywords), seed=2) for _ in range(2))
    out = (None, np.empty((60, 3)), None, None)
    result = one.rollout(60, policy="random", seed=4, out=out)
    assert result.actions.shape == (60, 3, 2) and result.rewards is out[1]
    assert result.actions.min() == 0 and result.actions.max() == 5
    assert not np.array_equal(result.actions[..., 0], result.actions[..., 1])
    for t, actions in enumerate(result.actions):
        step = two.step(actions)
        for a, b in zip(result[:4], step[:4], strict=True):
            np.testing.assert_array_equal(a[t], b)
        for key in KEYS:
            np.testing.assert_array_equal(result.infos[key][t], step[4][key])
        if "final_info" in step[4]:
            np.testing.assert_array_equal(result.infos["final_info"]["rewards"][t], step[4]["final_info"]["rewards"])
            np.testing.assert_array_equal(result.infos["final_obs"][t], np.stack(step[4]["final_obs"]))
    assert result.rewards.any()
    one.reset(seed=2)
    again = one.rollout(result.actions)
    np.testing.assert_array_equal(again.infos["rewards"], result.infos["rewards"])
    assert one.rollout(0, policy="random").infos["rewards"].shape == (0, 3, 2)


@pytest.mark.parametrize("game, count", [("Pong", 4), ("Joust", 2), ("SpaceInvaders", 2), ("MazeCraze", 2)])
def test_snapshots_go_on_bit_for_bit(game, count):
    make = lambda: batchenv.make(f"{game}-v5", 3, players=count, repeat_action_probability=0.25)  # noqa: E731
    one = begun(make(), seed=1)
    run(one, 50)
    snapshot = one.snapshot()
    expected = run(one, 40, seed=9)
    for env in (one, make()):
        env.reset(seed=77)
        run(env, 5)
        env.restore(snapshot)
        assert_same(run(env, 40, seed=9), expected)
    for keywords in ({"players": 1}, {"players": 2, "mode": 36}):
        if game == "SpaceInvaders":
            with pytest.raises(ValueError, match="another game, mode"):
                batchenv.make(f"{game}-v5", 3, **keywords).restore(snapshot)


def test_pickles_and_gymnasium():
    env = begun(batchenv.make("Warlords-v5", 2), seed=1)
    run(env, 10)
    copy = pickle.loads(pickle.dumps(env))
    assert copy.single_action_space == env.single_action_space == gymnasium.spaces.MultiDiscrete([6] * 4)
    assert_same(run(env, 20), run(copy, 20))
    single = begun(gymnasium.make("batchenv/Pong-v5", players=2), seed=1)
    _, reward, _, _, info = single.step(single.action_space.sample())
    assert info["rewards"].shape == (2,) and info["rewards"][0] == reward
    assert gymnasium.make_vec("batchenv/Pong-v5", 3, players=4).action_space.shape == (3, 4)
    dm = pytest.importorskip("dm_env") and batchenv.make("Pong-v5", 2, players=2, env_type="dm")
    dm.reset(seed=1)
    assert dm.action_spec().shape == (2,)
    assert dm.step(np.zeros((2, 2), np.int64)).reward.shape == (2,)


@pytest.mark.long
def test_vector_env_check_passes():
    def make(num_envs, autoreset_mode):
        keywords = {"players": 2, "max_episode_steps": 30, "obs_type": "ram"}
        return batchenv.make("Pong-v5", num_envs, autoreset_mode=autoreset_mode, **keywords)

    batchenv.check_vector_env(make, max_steps=40).raise_on_failure()


# ---- PettingZoo's form -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_agents_get_what_the_batch_gives(mode):
    keywords = {"autoreset_mode": mode, "max_episode_steps": 60}
    ours = batchenv.make_parallel("Joust-v5", 3, **keywords)
    batch = batchenv.make("Joust-v5", 3, players=2, **keywords)
    observations, infos = ours.reset(seed=1)
    expected, _ = batch.reset(seed=1)
    assert list(observations) == ours.agents == ours.possible_agents == ["first_0", "second_0"]
    assert ours.num_agents == ours.max_num_agents == 2
    for agent in ours.agents:
        np.testing.assert_array_equal(observations[agent], expected)
        assert infos[agent]["active"].all()
        assert observations[agent][0].shape == ours.observation_space(agent).shape
    actions = draw(batch, 150)
    for row in actions:
        parts = ours.step({agent: row[:, k] for k, agent in enumerate(ours.agents)})
        observation, _, terminated, truncated, info = batch.step(row)
        for k, agent in enumerate(ours.agents):
            np.testing.assert_array_equal(parts[0][agent], observation)
            np.testing.assert_array_equal(parts[1][agent], info["rewards"][:, k])
            np.testing.assert_array_equal(parts[3][agent], truncated)
            np.testing.assert_array_equal(parts[4][agent]["lives"], info["player_lives"][:, k])
            assert (parts[2][agent] >= terminated).all()
            if "final_info" in info:
                theirs = info["final_info"]["player_lives"][:, k]
                np.testing.assert_array_equal(parts[4][agent]["final_info"]["lives"], theirs)


def test_agents_that_are_out():
    env = begun(batchenv.make_parallel("Joust-v5", 2, frameskip=8))
    before = np.ones((2, 2), bool)
    gone = restarted = alone = 0
    fresh = np.zeros(2, bool)  # lanes whose next step is a reset
    for _, _, terminations, truncations, infos in play(env, 1500):
        out = np.stack([terminations[agent] for agent in env.agents], axis=1)
        lives = np.stack([infos[agent]["lives"] for agent in env.agents], axis=1)
        active = np.stack([infos[agent]["active"] for agent in env.agents], axis=1)
        for lane in range(2):
            if fresh[lane]:
                assert active[lane].all() and not out[lane].any() and (lives[lane] > 0).all()
                restarted += 1
            else:
                np.testing.assert_array_equal(active[lane], before[lane])
            over = out[lane].all()
            np.testing.assert_array_equal(out[lane], (lives[lane] < 0) | over)
            gone += int((out[lane] & active[lane]).any())
            alone += int(out[lane].any() and not over)
            fresh[lane] = over or truncations["first_0"][lane]
            before[lane] = ~(lives[lane] < 0)
    assert gone and alone and restarted


def test_masked_resets_and_closing():
    env = begun(batchenv.make_parallel("Joust-v5", 3, autoreset_mode="Disabled", max_episode_steps=5), seed=1)
    last = play(env, 5)[-1]
    assert last[3]["second_0"].all()
    mask = np.array([True, False, True])
    _, infos = env.reset(options={"reset_mask": mask})
    np.testing.assert_array_equal(infos["first_0"]["_lives"], mask)
    assert infos["second_0"]["lives"][1] == last[4]["second_0"]["lives"][1] > 0  # a lane that goes on keeps its lives
    with pytest.raises(gymnasium.error.ResetNeeded):
        play(env, 1)
    env.reset()
    play(env, 1)
    env.close()
    assert env.agents == []
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        env.reset()


def test_pictures():
    env = begun(batchenv.make_parallel("Combat-v5", 2, render_mode="rgb_array"), seed=1)
    assert [frame.shape for frame in env.render()] == [(256, 160, 3)] * 2 and env.render_mode == "rgb_array"


# ---- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "env_id, keywords, error, told",
    [
        ("Pong-v5", {"players": 3}, ValueError, "players=3 cannot play pong, which has players=1: mode 0, 1; pl"),
        ("Pong-v5", {"players": 0}, ValueError, "players=0 must be at least 1"),
        ("Pong-v5", {"players": 5}, ValueError, "players=5 must be at most 4"),
        ("Pong-v5", {"players": True}, TypeError, "players=True"),
        ("Pong-v5", {"players": 2.0}, TypeError, "players=2.0"),
        ("Pong-v5", {"players": 2, "mode": 1}, ValueError, "mode=1 of pong is not for players=2: it has players=1"),
        ("Pong-v5", {"mode": 4}, ValueError, "mode=4 is none of this game's: 0, 1 .* it is for players=2"),
        ("Breakout-v5", {"players": 2}, ValueError, "breakout supports one player only; games for more are backgammon"),
        ("Combat-v5", {"players": 1}, ValueError, "'combat' needs two players"),
    ],
    ids=str,
)
def test_wrong_keywords(env_id, keywords, error, told):
    with pytest.raises(error, match=told):
        batchenv.make(env_id, 2, **keywords)


@pytest.mark.parametrize(
    "actions, error, told",
    [
        (np.zeros(3, int), ValueError, r"shape \(3,\), but 3 lanes need shape \(3, 2\)"),
        (np.zeros((2, 3), int), ValueError, r"shape \(2, 3\), but 3 lanes need shape \(3, 2\)"),
        (np.zeros((3, 2)), TypeError, "float64"),
        ([[0, 0], [0, 6], [0, 0]], ValueError, r"action 6 of lane 1 \(component 1\) is not in 0\.\.5"),
        ([[-1, 0], [0, 0], [0, 0]], ValueError, r"action -1 of lane 0 \(component 0\)"),
        (np.array([[0, 0], [0, 0], [0, 2**64 - 1]], np.uint64), ValueError, r"51615 of lane 2 \(component 1\) is not"),
        ([[0, 0], [0], [0, 0]], ValueError, "cannot be read"),
        (None, TypeError, r"None is a single value; pass an array of shape \(3, 2\)"),
    ],
    ids=str,
)
def test_wrong_actions(actions, error, told):
    env = batchenv.make("Pong-v5", 3, players=2)
    before, _ = env.reset(seed=1)
    with pytest.raises(error, match=told):
        env.step(actions)
    np.testing.assert_array_equal(env._backend.core.observe(), before)


def test_wrong_actions_of_sent_lanes_and_rollouts():
    env = batchenv.make("Pong-v5", 4, players=2, batch_size=2)
    env.async_reset(seed=1)
    env.recv(), env.recv()
    with pytest.raises(ValueError, match=r"action 9 of lane 3 \(component 0\) is not in 0\.\.5"):
        env.send([[0, 0], [9, 0]], [2, 3])
    with pytest.raises(ValueError, match=r"need shape \(2, 2\)"):
        env.send([0, 0], [2, 3])
    with pytest.raises(ValueError, match="occurs twice"):
        env.send([[0, 0], [0, 0]], [2, 2])
    env.close()
    env = begun(batchenv.make("Pong-v5", 2, players=2), seed=1)
    with pytest.raises(ValueError, match=r"action 7 of lane 0 \(component 1\) .*step 0 of the rollout"):
        env.rollout(np.full((3, 2, 2), [0, 7]))
    with pytest.raises(ValueError, match=r"out's rewards must have dtype float64 and shape \(3, 2\)"):
        env.rollout(3, policy="random", out=(None, np.empty((2, 2)), None, None))
    with pytest.raises(gymnasium.error.ResetNeeded):
        batchenv.make("Pong-v5", 2, players=2).step([[0, 0], [0, 0]])


@pytest.mark.parametrize(
    "actions, error, told",
    [
        ({"first_0": [0, 0]}, ValueError, r"lack \['second_0'\]"),
        ({"first_0": [0, 0], "second_0": [0, 0], "third_0": [0, 0]}, ValueError, r"unknown \['third_0'\]"),
        ({"first_0": [0, 0], "zweite": [0, 0]}, ValueError, r"lack \['second_0'\] and have unknown \['zweite'\]"),
        ({"first_0": [0, 0], "second_0": 0}, ValueError, r"actions\['second_0'\] have shape \(\)"),
        ({"first_0": [0, 0], "second_0": [0, 0.5]}, TypeError, r"actions\['second_0'\] have dtype float64"),
        ({"first_0": [0, 0], "second_0": [0, 6]}, ValueError, r"actions\['second_0'\]\[1\]=6 is not in 0\.\.5"),
        ([[0, 0], [0, 0]], TypeError, "must be a dict"),
    ],
    ids=str,
)
def test_wrong_dicts(actions, error, told):
    env = begun(batchenv.make_parallel("Pong-v5", 2), seed=1)
    with pytest.raises(error, match=told):
        env.step(actions)


def test_wrong_envs_and_agents():
    with pytest.raises(ValueError, match=r"CartPole-v1 is for one player"):
        batchenv.make_parallel("CartPole-v1", 2)
    with pytest.raises(ValueError, match="breakout supports one player only"):
        batchenv.make_parallel("Breakout-v5", 2)
    with pytest.raises(ValueError, match="players=1"):
        batchenv.make_parallel("Pong-v5", players=1)
    with pytest.raises(ValueError, match="env_type"):
        batchenv.make_parallel("Pong-v5", env_type="dm")
    from batchenv.integrations.pettingzoo import ParallelBatchEnv

    with pytest.raises(ValueError, match="one player per lane"):
        ParallelBatchEnv(batchenv.make("Pong-v5"))
    with pytest.raises(ValueError, match="'third_0' is none of"):
        batchenv.make_parallel("Pong-v5").action_space("third_0")


def test_import_stays_light():
    code = "import batchenv, sys; print([m for m in sys.modules if m.startswith('batchenv.') and 'pettingzoo' in m])"
    assert run_python(code).strip() == "[]" and batchenv.make_parallel.__module__ == "batchenv.make"
