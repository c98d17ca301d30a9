"""The Atari environments: ids, options, seeds, episodes, snapshots, errors (frames: test_atari_parity.py)."""

import os
import pickle
import shutil

import gymnasium
import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled

import batchenv
from batchenv.envs.atari import files, games
from helpers.atari import PLAIN, id_of
from helpers.begun import begun
from helpers.processes import command_line, run_python, succeeded


def run(env, steps, seed=0):
    """What some steps with random actions return."""
    rng = np.random.default_rng(seed)
    return [env.step(rng.integers(env.single_action_space.n, size=env.num_envs)) for _ in range(steps)]


def assert_same(results, others, lanes=slice(None), other_lanes=slice(None)):
    for ours, theirs in zip(results, others, strict=True):
        for a, b in zip(ours[:4], theirs[:4], strict=True):
            np.testing.assert_array_equal(a[lanes], b[other_lanes])
        for key in ("lives", "episode_frame_number", "life_lost"):
            np.testing.assert_array_equal(ours[4][key][lanes], theirs[4][key][other_lanes])


def test_machines_of_others_are_whole():
    """The library has a picture of averages, which machines of ours leave out while they are made."""
    code = """
import sys
from multi_agent_ale_py import ALEInterface
from batchenv.envs.atari.files import rom_path
import batchenv
if sys.argv[1] == "beside":
    batchenv.make("Pong-v5", 1).reset(seed=0)
machine = ALEInterface()
machine.setBool(b"color_averaging", True)
machine.setInt(b"random_seed", 1)
machine.loadROM(str(rom_path("pong")).encode())
for _ in range(80):
    machine.act(3)
picture = machine.getScreenRGB()
assert len(set(picture.ravel().tolist())) > 5
print(picture.tobytes().hex())
"""
    assert run_python(code, "alone") == run_python(code, "beside")


# ---- ids -------------------------------------------------------------------------------------------------------------


def test_ids_are_those_of_ale_py_and_envpool():
    ours = set(batchenv.list_envs("atari"))
    ale_py = pytest.importorskip("ale_py")
    gymnasium.register_envs(ale_py)
    theirs = {name for name in gymnasium.registry if name.startswith("ALE/")}
    assert theirs == {name for name in ours if name.startswith("ALE/")}
    theirs = {
        name for name, spec in gymnasium.registry.items()
        if name.endswith("NoFrameskip-v4") and "ale_py" in str(spec.entry_point)
    }  # fmt: skip
    assert theirs == {name for name in ours if name.endswith("NoFrameskip-v4")}
    envpool = pytest.importorskip("envpool")
    theirs = {name for name in envpool.list_all_envs() if name in ours and "/" not in name}
    more = {"Combat-v5", "Joust-v5", "MazeCraze-v5", "Warlords-v5"}  # need two players, whom neither has
    assert theirs == {name for name in ours if "/" not in name and "NoFrameskip" not in name} - more


@pytest.mark.cases(16)
@pytest.mark.parametrize("game", games.GAMES)
def test_every_game_runs(game):
    env = batchenv.make(id_of(game), 2, episodic_life=True, img_height=42, img_width=40)
    observation, info = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    assert (info["lives"] >= 0).all()
    for result in run(env, 8):
        assert env.observation_space.contains(result[0])


def test_defaults_of_ids():
    gymnasium.register_envs(pytest.importorskip("ale_py"))
    ours, theirs = batchenv.make("ALE/Pong-v5", 3), gymnasium.make_vec("ALE/Pong-v5", 3)
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space
    assert ours.get_params()["repeat_action_probability"] == 0.25
    theirs = gymnasium.make("PongNoFrameskip-v4")
    ours = batchenv.make("PongNoFrameskip-v4")
    assert ours.single_observation_space == theirs.observation_space
    assert ours.single_action_space == theirs.action_space
    assert ours.get_params()["frameskip"] == 1
    assert gymnasium.make("batchenv/ALE-Pong-v5").observation_space.shape == (4, 84, 84)
    assert gymnasium.make_vec("batchenv/Pong-v5", 2).observation_space.shape == (2, 4, 84, 84)
    assert batchenv.make("batchenv/ALE-Pong-v5").spec.id == "batchenv/ALE-Pong-v5"


def test_envpool_spaces():
    envpool = pytest.importorskip("envpool")
    for game in ("Pong", "Breakout", "MontezumaRevenge", "WizardOfWor", "FlagCapture"):
        theirs, ours = envpool.make_spec(f"{game}-v5"), batchenv.make(f"{game}-v5")
        assert ours.single_observation_space.shape == theirs.observation_space.shape
        assert ours.single_action_space.n == theirs.action_space.n
        assert batchenv.registry.TABLE[f"{game}-v5"].max_episode_steps == theirs.config.max_episode_steps


def test_command_line():
    told = succeeded(command_line("info", "ALE/Pong-v5"))
    assert "Discrete(6)" in told and "repeat_action_probability = 0.25" in told and "reward_clipping = True" in told


def test_import_stays_light():
    code = "import batchenv, sys; print([m for m in ('ale_py', 'multi_agent_ale_py', 'cv2') if m in sys.modules])"
    assert run_python(code).strip() == "[]"


# ---- observations ----------------------------------------------------------------------------------------------------


def test_forms_of_observations():
    for keywords, shape in (
        ({}, (4, 84, 84)),
        ({"obs_type": "rgb"}, (4, 84, 84, 3)),
        ({"stack_num": None}, (84, 84)),
        ({"stack_num": 1}, (1, 84, 84)),
        ({"img_height": None, "img_width": None, "stack_num": None}, (210, 160)),
        ({"obs_type": "ram"}, (4, 128)),
        ({"obs_type": "ram", "stack_num": None}, (128,)),
    ):
        env = batchenv.make("Pong-v5", 2, **keywords)
        assert env.single_observation_space.shape == shape
        observation, _ = env.reset(seed=1)
        assert observation.shape == (2, *shape) and observation.dtype == np.uint8
        result = run(env, 5)[-1]
        if keywords.get("obs_type") == "ram":
            np.testing.assert_array_equal(result[0].reshape(2, -1, 128)[:, -1], env.state["ram"])


def test_stack_moves_on_and_fills_at_a_reset():
    env = batchenv.make("Breakout-v5", 3)
    observation, _ = env.reset(seed=1)
    assert (observation == observation[:, :1]).all()
    for result in run(env, 12):
        np.testing.assert_array_equal(result[0][:, :-1], observation[:, 1:])
        observation = result[0]


def test_pictures_are_the_screens():
    ours = batchenv.make("ALE/Breakout-v5", 3, render_mode="rgb_array")
    raw = batchenv.make("BreakoutNoFrameskip-v4", 3, frameskip=4, maxpool=False, noop_max=30, use_fire_reset=True)
    ours.set_params(repeat_action_probability=0.0)
    ours.reset(seed=1), raw.reset(seed=1)
    for _, result in zip(run(ours, 10), run(raw, 10), strict=True):
        seen = result[0]
    frames = ours.render()
    np.testing.assert_array_equal(np.stack(frames), seen)
    np.testing.assert_array_equal(ours.render([2])[0], seen[2])


# ---- seeds and independence ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("env_id", ["ALE/Seaquest-v5", "Breakout-v5"])
def test_seeds_decide_everything(env_id):
    one, two = (batchenv.make(env_id, 4, episodic_life=True) for _ in range(2))
    first, _ = one.reset(seed=5)
    results = run(one, 60)
    two.reset(seed=99)
    run(two, 37, seed=3)
    again, _ = two.reset(seed=5)
    np.testing.assert_array_equal(first, again)
    assert_same(results, run(two, 60))
    alone = begun(batchenv.make(env_id, 1, episodic_life=True), seed=7)
    rng = np.random.default_rng(0)
    for t, result in enumerate(results):
        actions = rng.integers(one.single_action_space.n, size=4)
        mine = alone.step(actions[2:3])
        for a, b in zip(mine[:4], result[:4], strict=True):
            np.testing.assert_array_equal(a[0], b[2], err_msg=f"step {t}")


def test_start_states_that_are_remembered_are_those_of_the_game():
    """Those of eight games are; more push out the oldest."""
    kinds = [{"mode": mode} for mode in (0, 1)] + [{"players": 2, "mode": mode} for mode in (3, 4, 9, 10)]
    kinds += [{**kind, "difficulty": 1} for kind in kinds[:3]]

    def start(kind):
        env = begun(batchenv.make("Pong-v5", 1, noop_max=0, use_fire_reset=False, **kind))
        return env.state["ram"].tobytes() + env.state["screen"].tobytes(), env.snapshot()

    first = [start(kind) for kind in kinds]
    assert len({shown for shown, _ in first[:6]}) == 6  # the modes start in different ways
    for kind, found in zip(kinds, first, strict=True):
        assert start(kind) == start(kind) == found


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_threads_change_nothing(mode):
    results = []
    for threads in (1, 2):
        env = batchenv.make("ALE/SpaceInvaders-v5", 70, num_threads=threads, autoreset_mode=mode, episodic_life=True)
        env._backend.core.force_parallel(threads > 1)
        env.reset(seed=4)
        results.append(run(env, 12))
    assert_same(*results)


def test_asynchronous_steps_are_the_same():
    lanes, steps = 12, 15
    env = batchenv.make("ALE/Breakout-v5", lanes, batch_size=3, num_threads=2)
    reference = batchenv.make("ALE/Breakout-v5", lanes)
    rows = [reference.reset(seed=1)[0]]
    actions = np.random.default_rng(0).integers(4, size=(steps, lanes))
    rows += [reference.step(row)[0] for row in actions]
    env.async_reset(seed=1)
    taken = np.zeros(lanes, int)
    while taken.max() < steps:
        observation, *_, info = env.recv()
        ids = info["env_id"]
        for row, lane in zip(observation, ids, strict=True):
            np.testing.assert_array_equal(row, rows[taken[lane]][lane])
        env.send(actions[taken[ids], ids], ids)
        taken[ids] += 1
    assert taken.min() > 0
    env.close()


def test_sticky_actions():
    env = batchenv.make("Breakout-v5", 2, frameskip=1, **{**PLAIN, "repeat_action_probability": np.array([0.0, 1.0])})
    env.reset(seed=1)
    for action in (2, 3, 2, 0):
        env.step(np.array([action, action]))
        expected = [[0, 1, 3, 4][action], 0]  # the second lane stays at the no-op of its start
        np.testing.assert_array_equal(env.state["last_action"], expected)
    env = batchenv.make("Breakout-v5", 200, **{**PLAIN, "frameskip": 1, "repeat_action_probability": 0.25})
    env.reset(seed=1)
    env.step(np.full(200, 2))
    assert 0.15 < (env.state["last_action"] == 0).mean() < 0.35


# ---- episodes --------------------------------------------------------------------------------------------------------


def test_noops_and_fire():
    env = batchenv.make("Breakout-v5", 64)
    _, info = env.reset(seed=1)
    frames = info["episode_frame_number"]
    assert frames.min() >= 1 and frames.max() <= 30 and len(set(frames.tolist())) > 10
    assert (env.state["last_action"] == 1).all()
    env = begun(batchenv.make("MsPacman-v5", 2), seed=1)  # has no fire
    assert (env.state["last_action"] == 0).all()
    env = batchenv.make("Breakout-v5", 2, **PLAIN)
    _, info = env.reset(seed=1)
    assert (info["episode_frame_number"] == 0).all() and (info["frame_number"] == 0).all()
    result = run(env, 3)[-1]
    assert (result[4]["frame_number"] == 12).all()


def test_episodic_life():
    env = begun(batchenv.make("Breakout-v5", 2, episodic_life=True, autoreset_mode="SameStep"), seed=3)
    lives, ends = [5], 0
    for _ in range(700):
        *_, terminated, truncated, info = env.step(np.zeros(2, np.int64))
        assert not truncated.any()
        if terminated[0]:
            ends += 1
            before = info["final_info"]["lives"][0]
            assert before == lives[-1] - 1 and info["final_info"]["life_lost"][0]
            # The next episode goes on with the lives left; after the last one, another game starts.
            assert info["lives"][0] == (before or 5)
            lives.append(info["lives"][0])
    assert ends >= 6
    env.step(np.zeros(2, np.int64))
    _, info = env.reset(seed=3)
    np.testing.assert_array_equal(info["lives"], [5, 5])


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_game_that_goes_on_with_no_lives_left(mode):
    """In Atlantis life number 0 is played: as with EnvPool and ale-py's vector env, no episode ends before it."""
    env = batchenv.make("Atlantis-v5", 1, env_type="envpool_gym", episodic_life=True, autoreset_mode=mode, seed=0)
    env.reset()
    ends, played, before = [], 0, 6
    for _ in range(900):
        _, _, dones, info = env.step(np.zeros(1, np.int64))
        told = info.get("final_info", info)
        lives = int(told["lives"][0])
        if lives < before:
            assert told["life_lost"][0] and dones[0] == (lives > 0)
        if dones[0]:
            ends.append((lives, bool(info["terminated"][0])))
        played += lives == 0 and not dones[0]
        before = int(info["lives"][0])
    assert ends[:7] == [(5, False), (4, False), (3, False), (2, False), (1, False), (0, True), (5, False)]
    assert played > 20


def test_a_seeded_reset_starts_a_new_game_after_a_lost_life():
    env = batchenv.make("Breakout-v5", 1, episodic_life=True, autoreset_mode="Disabled")
    first, _ = env.reset(seed=3)
    while not env.step(np.zeros(1, np.int64))[2][0]:
        pass
    again, info = env.reset(seed=3)
    np.testing.assert_array_equal(again, first)
    assert info["lives"][0] == 5
    while not env.step(np.zeros(1, np.int64))[2][0]:
        pass
    _, info = env.reset()
    assert info["lives"][0] == 4


def test_frames_end_an_episode():
    env = begun(batchenv.make("ALE/Pong-v5", 2, max_num_frames_per_episode=100, autoreset_mode="SameStep"), seed=1)
    seen = 0
    for result in run(env, 60):
        assert not result[2].any()
        for lane in np.flatnonzero(result[3]):
            assert result[4]["final_info"]["episode_frame_number"][lane] == 100
            assert result[4]["episode_frame_number"][lane] <= 30
            seen += 1
    assert seen >= 4
    env = begun(batchenv.make("Pong-v5", 2, max_episode_steps=9), seed=1)
    assert [bool(result[3].all()) for result in run(env, 9)] == [False] * 8 + [True]


def test_rewards_clipped_after_they_are_recorded():
    clipped = begun(batchenv.make("SpaceInvaders-v5", 8, reward_clipping=True, record_episode_statistics=True), seed=1)
    plain = begun(batchenv.make("SpaceInvaders-v5", 8), seed=1)
    total, seen = np.zeros(8), 0
    for a, b in zip(run(clipped, 500), run(plain, 500), strict=True):
        np.testing.assert_array_equal(a[1], np.clip(b[1], -1, 1))
        np.testing.assert_array_equal(a[0], b[0])
        total += b[1]
        for lane in np.flatnonzero(a[2]):
            assert a[4]["episode"]["r"][lane] == total[lane]
            total[lane] = 0
            seen += 1
    assert seen and clipped.get_params().keys() == plain.get_params().keys()


def test_modes_and_difficulties():
    easy, hard = (begun(batchenv.make("Breakout-v5", 1, **PLAIN, mode=mode, difficulty=1), seed=1) for mode in (0, 12))
    assert not all(np.array_equal(a[0], b[0]) for a, b in zip(run(easy, 20), run(hard, 20), strict=True))


def test_all_actions():
    env = begun(batchenv.make("Freeway-v5", 18, full_action_space=True, frameskip=1, **PLAIN), seed=1)
    env.step(np.arange(18))
    np.testing.assert_array_equal(env.state["last_action"], np.arange(18))


# ---- snapshots -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", ["Pong", "Seaquest", "MontezumaRevenge", "Adventure", "Pitfall2"])
def test_snapshots_go_on_bit_for_bit(game):
    one = begun(batchenv.make(f"ALE/{game}-v5", 4, episodic_life=True), seed=1)
    run(one, 40)
    snapshot = one.snapshot()
    expected = run(one, 50, seed=9)
    for env in (one, batchenv.make(f"ALE/{game}-v5", 4, episodic_life=True)):
        env.reset(seed=77)
        run(env, 5)
        env.restore(snapshot)
        assert_same(run(env, 50, seed=9), expected)


def test_one_lane_into_many_and_what_it_shows():
    env = begun(batchenv.make("Breakout-v5", 5, render_mode="rgb_array"), seed=1)
    before = run(env, 30)[-1]
    picture = env.render([2])[0]
    observation = env.restore(env.snapshot([2]))
    assert (observation == before[0][2]).all()
    assert all((frame == picture).all() for frame in env.render())
    for result in (env.step(np.full(5, 2)) for _ in range(20)):
        assert (result[0] == result[0][:1]).all()


def test_foreign_and_damaged_snapshots_are_refused():
    pong = begun(batchenv.make("Pong-v5", 2), seed=1)
    snapshot = pong.snapshot()
    for other in (
        batchenv.make("Breakout-v5", 2),
        batchenv.make("Pong-v5", 2, mode=1),
        batchenv.make("Pong-v5", 2, img_height=42, img_width=168 // 2),
        batchenv.make("Pong-v5", 2, obs_type="ram"),
    ):
        with pytest.raises(ValueError, match="snapshot"):
            other.restore(snapshot)
    data = bytearray(bytes(snapshot))
    data[-100] ^= 1
    with pytest.raises(ValueError, match="checksum"):
        pong.restore(bytes(data))


def test_pickles():
    env = begun(batchenv.make("ALE/Breakout-v5", 2, img_height=64, img_width=64, reward_clipping=True), seed=1)
    run(env, 10)
    copy = pickle.loads(pickle.dumps(env))
    assert_same(run(env, 20), run(copy, 20))


# ---- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "keywords, error, told",
    [
        ({"game": "poong"}, ValueError, "poong"),
        ({"game": "combat"}, ValueError, "two players: pass players=2"),
        ({"mode": 7}, ValueError, "mode=7 is none of this game's: 0, 1"),
        ({"mode": -2}, ValueError, "mode=-2 must be at least"),
        ({"difficulty": 9}, ValueError, "difficulty=9"),
        ({"img_height": 211}, ValueError, "img_height=211"),
        ({"img_width": 161}, ValueError, "img_width=161"),
        ({"img_width": 0}, ValueError, "img_width=0"),
        ({"stack_num": 0}, ValueError, "stack_num=0"),
        ({"stack_num": 2.5}, TypeError, "stack_num=2.5"),
        ({"frameskip": 0}, ValueError, "frameskip=0"),
        ({"noop_max": -1}, ValueError, "noop_max=-1"),
        ({"obs_type": "sound"}, ValueError, "obs_type='sound'"),
        ({"repeat_action_probability": 1.5}, ValueError, "repeat_action_probability=1.5"),
        ({"full_action_space": 1}, TypeError, "full_action_space=1"),
        ({"colour": True}, TypeError, "colour"),
    ],
    ids=str,
)
def test_wrong_keywords(keywords, error, told):
    with pytest.raises(error, match=told):
        batchenv.make("Pong-v5", 2, **keywords)


def test_wrong_actions():
    env = begun(batchenv.make("Pong-v5", 2), seed=1)
    with pytest.raises(ValueError, match="action 6 of lane 1"):
        env.step(np.array([0, 6]))


def test_roms_that_are_missing_or_damaged(tmp_path, monkeypatch):
    good = files.rom_path("pong").read_bytes()
    monkeypatch.setenv("ALE_ROMS_DIR", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"pong\.bin"):
        batchenv.make("Pong-v5")
    for damaged in (b"", good[:-1], good[:100] + b"\x00" + good[101:], b"x" * 70000):
        (tmp_path / "pong.bin").write_bytes(damaged)
        with pytest.raises(ValueError, match="MD5"):
            batchenv.make("Pong-v5")
    (tmp_path / "pong.bin").write_bytes(good)
    batchenv.make("Pong-v5").reset(seed=1)


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="no memory that nobody can change here")
def test_a_rom_that_changes_after_its_check(tmp_path):
    """The emulator would end the process: it reads what was checked."""
    shutil.copy(files.rom_path("pong"), tmp_path / "pong.bin")
    code = """
import sys, batchenv
from batchenv.envs.atari import files
check = files._checked_rom
def checked_and_changed(game):
    path, content = check(game)
    path.write_bytes(b"no ROM")
    return path, content
files._checked_rom = checked_and_changed
observations, _ = batchenv.make("Pong-v5", 2).reset(seed=3)
print(observations.sum())
"""
    assert int(run_python(code, ALE_ROMS_DIR=str(tmp_path))) == batchenv.make("Pong-v5", 2).reset(seed=3)[0].sum()


@pytest.mark.parametrize("package", ["ale_py", "multi_agent_ale_py"])
def test_packages_that_are_missing(package, monkeypatch):
    found = files.importlib.util.find_spec
    monkeypatch.setattr(files.importlib.util, "find_spec", lambda name: None if name == package else found(name))
    with pytest.raises(DependencyNotInstalled, match=r"pip install 'batchenv\[atari\]'"):
        batchenv.make("Pong-v5")


def test_frame_skip_by_its_other_names():
    env = batchenv.make("Pong-v5", 1, frame_skip=2, reward_clip=True)
    assert env.get_params()["frameskip"] == 2
    assert env.get_attr("game") == ("pong",)
    assert env.get_attr("lives")
