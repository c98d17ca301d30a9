"""Procgen's environments: ids, options, seeds, episodes, snapshots, plans, pictures, errors (frames:
test_procgen_parity.py)."""

import importlib.util
import pickle
import shutil
import subprocess

import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled

import batchenv
from batchenv.envs.procgen import files
from batchenv.envs.procgen.games import MODES, ids
from helpers.processes import first_on_path, python, run_python
from helpers.procgen import Reference, need_library
from helpers.project import ROOT


@pytest.fixture(autouse=True)
def library():
    need_library()


def make(game="coinrun", lanes=3, **options):
    return batchenv.make(f"procgen-{game}-v0", lanes, **{"distribution_mode": "easy", **options})


def actions(steps, lanes, seed=0):
    return np.random.default_rng(seed).integers(0, 15, (steps, lanes))


def run(env, chosen):
    """What steps return."""
    results = []
    for row in chosen:
        observation, reward, terminated, truncated, infos = env.step(row)
        infos = {name: infos[name].copy() for name in ("prev_level_seed", "prev_level_complete", "level_seed")}
        results.append((observation.copy(), reward.copy(), terminated.copy(), truncated.copy(), infos))
    return results


def assert_same(results, others, lanes=slice(None), other_lanes=slice(None)):
    for ours, theirs in zip(results, others, strict=True):
        for a, b in zip(ours[:4], theirs[:4], strict=True):
            np.testing.assert_array_equal(a[lanes], b[other_lanes])
        for name in ours[4]:
            np.testing.assert_array_equal(ours[4][name][lanes], theirs[4][name][other_lanes])


# ---- ids and options -------------------------------------------------------------------------------------------------


def test_ids_are_those_of_procgen_and_envpool():
    ours = set(batchenv.list_envs("procgen"))
    assert ours == set(ids()) and len(ours) == 66
    assert {f"procgen-{game}-v0" for game in MODES} <= ours
    envpool = pytest.importorskip("envpool")
    theirs = {name for name in envpool.list_all_envs() if name.lower().startswith(tuple(MODES)) and name != "Maze-v0"}
    assert theirs == {name for name in ours if not name.startswith("procgen-")}


def test_envpool_ids_have_its_defaults():
    env = batchenv.make("CoinrunEasy-v0", 2, seed=3, use_easy_jump=False, env_name="coinrun")
    observation, _ = env.reset()
    assert env.single_observation_space.shape == (3, 64, 64)
    other, _ = make(lanes=2).reset(seed=3)
    np.testing.assert_array_equal(observation, other.transpose(0, 3, 1, 2))
    assert batchenv.make("CoinrunHard-v0", 1, distribution_mode=0).get_params()["distribution_mode"] == "easy"
    with pytest.raises(ValueError, match="use_easy_jump=True is not supported"):
        batchenv.make("CoinrunEasy-v0", 2, use_easy_jump=True)


@pytest.mark.parametrize("game", MODES)
def test_every_mode_of_every_game_is_there_or_refused(game):
    for mode in ("easy", "hard", "extreme", "memory", "exploration"):
        if mode in ("easy", "hard", *MODES[game]):
            env = make(game, 1, distribution_mode=mode)
            observation, infos = env.reset(seed=0)
            assert env.observation_space.contains(observation)
            assert (infos["level_seed"] != 0).all()
        else:
            with pytest.raises(ValueError, match=rf"distribution_mode='{mode}' is none of {game}'s: .*'easy', 'hard'"):
                make(game, 1, distribution_mode=mode)


@pytest.mark.parametrize(
    "options, problem",
    [
        ({"num_levels": -1}, "num_levels=-1"),
        ({"num_levels": 2**31}, "num_levels=2147483648"),
        ({"num_levels": 1.5}, "num_levels=1.5"),
        ({"num_levels": "ten"}, "num_levels='ten'"),
        ({"num_levels": None}, "num_levels=None"),
        ({"num_levels": float("nan")}, "num_levels"),
        ({"start_level": -5}, "start_level=-5"),
        ({"start_level": 2**31 - 1, "num_levels": 1}, "reach beyond level 2147483647"),
        ({"distribution_mode": "hardest"}, "distribution_mode='hardest'"),
        ({"distribution_mode": 7}, "distribution_mode=7"),
        ({"distribution_mode": "exploration", "num_levels": 5}, "leave them out"),
        ({"game": "coinrun_old"}, "game='coinrun_old'"),
        ({"game": "coinrun,maze"}, "game="),
        ({"use_backgrounds": 2}, "use_backgrounds=2"),
        ({"use_backgrounds": "yes"}, "use_backgrounds='yes'"),
        ({"debug_mode": -1}, "debug_mode=-1"),
        ({"rand_seed": 3}, "rand_seed"),
        ({"resource_root": "/"}, "resource_root"),
        ({"num_actions": 3}, "num_actions"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(options, problem):
    with pytest.raises((ValueError, TypeError), match=problem):
        batchenv.make("procgen-coinrun-v0", 1, **options)
    with pytest.raises((ValueError, TypeError), match=problem):
        make(lanes=2).set_params(**options)


def test_options_may_differ_from_lane_to_lane_and_change():
    env = make(lanes=2, start_level=np.array([10, 20]), num_levels=1)
    assert env.reset(seed=0)[1]["level_seed"].tolist() == [10, 20]
    run(env, actions(30, 2))
    env.set_params(start_level=[11, 20], game=["coinrun", "maze"])
    assert env.reset()[1]["level_seed"].tolist() == [11, 20]
    expected = Reference("maze", [0], distribution_mode="easy", start_level=20, num_levels=1).observe()[0]
    np.testing.assert_array_equal(env.state["frame"].reshape(2, 64, 64, 3)[1:], expected)


# ---- seeds and episodes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 5, 2**31 - 4, 2**31, 2**32 - 1, 2**40, 10**30])
def test_a_seed_says_all(seed):
    env, other = make(), make(lanes=1)
    env.reset(seed=seed)
    chosen = actions(60, 3)
    run(env, chosen)
    first = env.reset(seed=seed)[0].copy()
    results = run(env, chosen)
    again, _ = other.reset(seed=seed + 2)
    np.testing.assert_array_equal(first[2:], again)
    assert_same(results, run(other, chosen[:, 2:]), slice(2, 3))


def test_threads_and_order_change_nothing():
    chosen = actions(150, 16)
    results = []
    for threads in (1, 4):
        env = make("starpilot", 16, num_threads=threads)
        env.reset(seed=0)
        results.append(run(env, chosen))
    assert_same(*results)
    env = make("starpilot", 16, num_threads=2)
    env.reset(seed=list(range(15, -1, -1)))
    assert_same(results[0], run(env, chosen[:, ::-1]), other_lanes=slice(None, None, -1))
    env = batchenv.make("procgen-starpilot-v0", 16, distribution_mode="easy", batch_size=4, num_threads=3)
    env.reset(seed=0)
    steps, order = np.zeros(16, int), np.arange(16)
    env.send(chosen[0], order)
    while steps.min() < 150:
        observation, *_, infos = env.recv()
        for row, lane in enumerate(infos["env_id"]):
            if steps[lane] < 150:
                np.testing.assert_array_equal(observation[row], results[0][steps[lane]][0][lane])
        lanes = infos["env_id"].copy()
        steps[lanes] += 1
        env.send(chosen[np.minimum(steps[lanes], 149), lanes], lanes)


@pytest.mark.parametrize("game", ["bossfight", "bigfish"])
def test_autoreset_modes(game):
    """The same episodes in all modes; where one ends, its last frame is the one that was seen before."""
    same, masked, later = (
        make(game, 4, autoreset_mode=mode, num_levels=5) for mode in ("SameStep", "Disabled", "NextStep")
    )
    shown = [env.reset(seed=1)[0].copy() for env in (same, masked, later)]
    chosen, history = actions(400, 4), []
    for row in chosen:
        before = shown[0]
        observation, reward, terminated, _, infos = same.step(row)
        other, other_reward, other_terminated, _, other_infos = masked.step(row)
        np.testing.assert_array_equal(reward, other_reward)
        np.testing.assert_array_equal(terminated, other_terminated)
        final = other.copy()
        if terminated.any():
            np.testing.assert_array_equal(final[terminated], before[terminated])
            np.testing.assert_array_equal(np.stack(infos["final_obs"][terminated]), final[terminated])
            for name in ("prev_level_seed", "prev_level_complete", "level_seed"):
                np.testing.assert_array_equal(infos["final_info"][name][terminated], other_infos[name][terminated])
            other, _ = masked.reset(options={"reset_mask": terminated})
        np.testing.assert_array_equal(observation, other)
        history.append((final, reward.copy(), terminated.copy(), observation.copy()))
        shown[0] = observation.copy()
    lanes = np.arange(4)
    taken, waits = np.zeros(4, int), np.zeros(4, bool)
    while taken.max() < 400:
        observation, reward, terminated, truncated, _ = later.step(np.where(waits, 14, chosen[taken, lanes]))
        assert not truncated.any()
        for lane in lanes:
            final, rewards, ends, first = (values[lane] for values in history[taken[lane] - waits[lane]])
            expected = (first, 0, False) if waits[lane] else (final, rewards, ends)
            for ours, theirs in zip((observation, reward, terminated), expected, strict=True):
                np.testing.assert_array_equal(ours[lane], theirs)
        taken += ~waits
        waits = terminated.copy()
    assert sum(ends.sum() for _, _, ends, _ in history) > 1


def test_a_reset_ends_the_episode():
    """It is gym3's action -1: a step of doing nothing, and then the next level."""
    env, theirs = make(), Reference("coinrun", range(3), distribution_mode="easy")
    env.reset(seed=0)
    for row in actions(20, 3):
        env.step(row)
        theirs.act(row)
    observation, infos = env.reset()
    theirs.act([-1] * 3)
    frames, _, firsts, expected = theirs.observe()
    assert firsts.all()
    np.testing.assert_array_equal(observation, frames)
    np.testing.assert_array_equal(infos["level_seed"], expected["level_seed"])
    row = np.array([7, 7, 7])
    env.step(row)
    masked, _ = env.reset(options={"reset_mask": np.array([False, True, False])})
    theirs.act(row)
    theirs.act([7, -1, 7])
    np.testing.assert_array_equal(masked[1], theirs.observe()[0][1])


def test_time_limits():
    """The library's own ends an episode as death does; one of the env's truncates it."""
    env = batchenv.make("procgen-maze-v0", 1, num_levels=1, start_level=1, autoreset_mode="Disabled")
    env.reset(seed=0)
    for step in range(500):
        _, _, terminated, truncated, _ = env.step(np.array([4]))
        assert terminated[0] == (step == 499) and not truncated[0]
    env = batchenv.make("procgen-maze-v0", 1, max_episode_steps=7)
    env.reset(seed=0)
    assert [env.step(np.array([4]))[3][0] for _ in range(16)] == [k % 8 == 6 for k in range(16)]


# ---- snapshots and plans ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game, mode", [(game, mode) for game in MODES for mode in ("easy", "hard", *MODES[game])])
def test_snapshots_go_on_in_other_lanes(game, mode):
    env, other = make(game, 2, distribution_mode=mode), make(game, 2, distribution_mode=mode)
    env.reset(seed=3)
    other.reset(seed=70)
    run(env, actions(90, 2, seed=1))
    shown = env.state["frame"].copy()
    snapshot = batchenv.Snapshot(bytes(env.snapshot()))
    chosen = actions(150, 2)
    expected = run(env, chosen)
    run(other, actions(20, 2, seed=2))
    other.restore(snapshot)
    np.testing.assert_array_equal(other.state["frame"], shown)
    assert_same(expected, run(other, chosen))


def test_copies_and_pickles():
    env = make("heist")
    env.reset(seed=3)
    run(env, actions(50, 3))
    other = pickle.loads(pickle.dumps(env))
    chosen = actions(80, 3, seed=4)
    assert_same(run(env, chosen), run(other, chosen))


def test_snapshots_that_cannot_be():
    env = make(use_generated_assets=True)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"cannot save games with use_generated_assets=True"):
        env.snapshot()
    run(env, actions(5, 3))
    env = make()
    env.reset(seed=0)
    snapshot = bytearray(bytes(env.snapshot()))
    for place in range(100, len(snapshot), 9973):
        damaged = bytearray(snapshot)
        damaged[place] ^= 1
        with pytest.raises(ValueError, match="snapshot"):
            env.restore(batchenv.Snapshot(bytes(damaged)))
    run(env, actions(5, 3))


def test_snapshots_of_other_options_bring_them():
    env = make("dodgeball", 1, distribution_mode="memory")
    env.reset(seed=3)
    run(env, actions(40, 1))
    snapshot = env.snapshot()
    other = make("bigfish", 2)
    other.reset(seed=0)
    other.restore(snapshot, lanes=[1])
    chosen = actions(60, 1)
    assert_same(run(other, np.repeat(chosen, 2, axis=1)), run(env, chosen), slice(1, 2))
    assert other.get_params()["distribution_mode"].tolist() == ["easy", "memory"]


def test_plans_of_levels_and_seeds():
    env = make("maze", 2, autoreset_mode="SameStep", num_levels=1)
    env.plan(params={"start_level": [3, 8, 2]}, seeds=[0, 0, 0])
    levels = [env.reset()[1]["level_seed"].tolist()]
    for row in actions(3000, 2):
        *_, terminated, _, infos = env.step(row)
        if terminated.any():
            levels.append(infos["level_seed"].tolist())
    assert levels[0] == [3, 8] and {level for row in levels for level in row} == {2, 3, 8}
    env.plan(seeds=[5, 6])
    observation, _ = env.reset()
    np.testing.assert_array_equal(
        observation, make("maze", 2, num_levels=1, start_level=env.get_params()["start_level"]).reset(seed=5)[0]
    )


M64 = 2**64 - 1


def digest(data, fold=False):
    """What the C code makes of whole words, in a snapshot and in the state of a game."""
    value = 0xCBF29CE484222325
    for word in np.frombuffer(data, "<u8").tolist():
        value = (value ^ word) * 0x100000001B3 & M64
        value ^= value >> 29
    return (value ^ value >> 32 if fold else value).to_bytes(8, "little")


@pytest.mark.parametrize("damage", ["another game", "too short"])
def test_the_library_cannot_end_the_process(damage):
    """States that nobody has damaged by accident, since their digests are right: the library exits over them."""
    env, other = make("maze"), make("maze")
    for one in (env, other):
        one.reset(seed=0)
        run(one, actions(20, 3))
    data = bytearray(bytes(env.snapshot([1])))
    name = data.index(b"\x04\0\0\0maze")
    start = name - 4 - 40  # of the header, which comes before the library's bytes
    end = start + 40 + (128 << 10)
    if damage == "another game":
        data[name + 4] ^= 1
    else:
        data[start + 32 : start + 36] = (1000).to_bytes(4, "little")
    data[start : start + 8] = digest(data[start + 8 : end])
    data[-8:] = digest(data[:-8], fold=True)
    env.restore(batchenv.Snapshot(bytes(data)), lanes=[1])
    row = np.array([7, 7, 7])
    with pytest.raises(batchenv.LaneError, match="lane 1: the game's state cannot be restored") as caught:
        env.step(row)
    observation, _, terminated, truncated, _ = caught.value.result
    assert truncated.tolist() == [False, True, False] and not terminated.any()
    np.testing.assert_array_equal(observation[[0, 2]], other.step(row)[0][[0, 2]])
    run(env, actions(20, 3))


# ---- pictures --------------------------------------------------------------------------------------------------------


def test_pictures_are_observations():
    env = make(render_mode="rgb_array")
    observation, _ = env.reset(seed=0)
    np.testing.assert_array_equal(np.stack(env.render()), observation)


@pytest.mark.parametrize("game", ["coinrun", "ninja", "starpilot"])
def test_large_pictures_are_the_librarys_and_change_nothing(game):
    env, other = make(game, render_mode="rgb_array", render_human=True), make(game)
    theirs = Reference(game, range(3), distribution_mode="easy", render_mode="rgb_array")
    env.reset(seed=0)
    other.reset(seed=0)
    for row in actions(60, 3):
        observation, _, terminated, *_ = env.step(row)
        np.testing.assert_array_equal(observation, other.step(row)[0])
        theirs.act(row)
        if terminated.any():
            break
        frames, *_ = theirs.observe()
        np.testing.assert_array_equal(observation, frames)
        expected = np.stack([one.get_info()[0]["rgb"] for one in theirs.envs])
        np.testing.assert_array_equal(np.stack(env.render()), expected)


def test_the_large_picture_of_an_end_is_its_last_frame():
    env = batchenv.make("procgen-maze-v0", 1, render_mode="rgb_array", render_human=True, autoreset_mode="Disabled")
    env.reset(seed=0)
    terminated = [False]
    while not terminated[0]:
        observation, _, terminated, *_ = env.step(np.array([4]))
    np.testing.assert_array_equal(env.render()[0], observation[0].repeat(8, axis=0).repeat(8, axis=1))


# ---- the library -----------------------------------------------------------------------------------------------------


def test_games_of_others_are_as_before():
    """gym3 in the same process: what stands in place of exit() is for batchenv's calls alone."""
    code = """
import sys
import numpy as np
import batchenv
from helpers.procgen import Reference
batchenv.make("procgen-coinrun-v0", 1).reset(seed=0)
Reference("coinrun", [0]).observe()
Reference("coinrun", [0], distribution_mode="memory" if sys.argv[1] == "wrong" else "hard")
print("made")
"""
    path = first_on_path(ROOT / "tests")
    assert "made" in run_python(code, "right", PYTHONPATH=path)
    done = python("-c", code, "wrong", PYTHONPATH=path)
    assert done.returncode == 1 and "fassert failed" in done.stdout and "made" not in done.stdout


def test_more_lanes_than_memory():
    with pytest.raises(MemoryError, match=r"100000000 lanes of Procgen need at least .* GB of memory, and .* are free"):
        make(lanes=100_000_000)


def test_it_says_that_images_are_loaded():
    code = "import batchenv; batchenv.make('procgen-coinrun-v0', 1); batchenv.make('procgen-maze-v0', 1)"
    told = python("-c", code).stderr
    assert told.count("WARN: Procgen's library loads its images, once per process") == 1


def test_without_the_library(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DependencyNotInstalled, match=r"libenv.so of procgen2.*pip install --no-deps procgen2"):
        make()


def copied(folder, with_assets=True):
    """A copy of the package in a folder, which is put on the path."""
    source = files.library_path().parents[2]
    (folder / "procgen" / "data" / "prebuilt").mkdir(parents=True)
    if with_assets:
        (folder / "procgen" / "data" / "assets").symlink_to(source / "data" / "assets")
    (folder / "procgen2.libs").symlink_to(source.parent / "procgen2.libs")
    return folder / "procgen" / "data" / "prebuilt" / "libenv.so", source


MAKE = """
import sys
import batchenv.envs.procgen.files as files
from pathlib import Path
files.library_path = lambda: Path(sys.argv[1])
import batchenv
for _ in range(2):
    try:
        batchenv.make("procgen-coinrun-v0", 1).reset(seed=0)
        print("made")
    except Exception as error:
        print(type(error).__name__, error)
"""


def built(path, code, *flags):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    command = [compiler, "-shared", "-fPIC", "-o", path, "-x", "c", "-", "-x", "none", *flags]
    subprocess.run(command, input=code, text=True, check=True)


def test_a_library_that_is_not_procgens(tmp_path):
    library, _ = copied(tmp_path)
    library.write_bytes(b"no library")
    assert run_python(MAKE, library).count("cannot be opened") == 2
    built(library, "int libenv_version(void) { return 1; }")
    assert run_python(MAKE, library).count("has no function") == 2
    names = "libenv_get_tensortypes libenv_set_buffers libenv_act libenv_observe libenv_close get_state set_state"
    rest = "".join(f"void {name}(void) {{}}" for name in names.split()) + "void *libenv_make(void) { return 0; }"
    built(library, "int libenv_version(void) { return 2; }" + rest)
    assert run_python(MAKE, library).count("has version 2 of gym3's interface") == 2
    built(library, "int libenv_version(void) { return 1; }" + rest)
    assert "would end the process" in run_python(MAKE, library)


@pytest.mark.parametrize(
    "missing, package", [("libGL.so.1", "libgl1"), ("libgthread-2.0.so.0", "libglib2.0-0"), ("libother.so.3", None)]
)
def test_a_library_of_the_system_that_is_missing(tmp_path, missing, package):
    library, _ = copied(tmp_path)
    stub = tmp_path / missing
    built(stub, "int stub(void) { return 0; }", f"-Wl,-soname,{missing.replace('.so', '_absent.so')}")
    built(library, "int stub(void); int libenv_version(void) { return stub(); }", stub)
    told = run_python(MAKE, library)
    if package:
        assert f"apt-get install {package}" in told and missing.split(".")[0] in told
    else:
        assert "cannot be opened" in told and "libother" in told


def test_images_that_are_missing(tmp_path):
    library, source = copied(tmp_path, with_assets=False)
    library.symlink_to(source / "data" / "prebuilt" / "libenv.so")
    told = run_python(MAKE, library)
    assert told.count("FileNotFoundError Procgen's images are missing") == 2
    assets = tmp_path / "procgen" / "data" / "assets"
    assets.mkdir()
    done = python("-W", "ignore", "-c", MAKE, library)
    told = done.stdout
    assert "failed to load image" in told and "start a new process" in told and "made" not in told
    assert not done.stderr  # where the library would begin its own message


def test_fork_and_threads():
    code = """
import os
import numpy as np
import batchenv
env = batchenv.make("procgen-bigfish-v0", 4, num_threads=2)
env.reset(seed=0)
rows = np.random.default_rng(0).integers(0, 15, (40, 4))
child = os.fork()
total = 0
for row in rows:
    total += int(env.step(row)[0].sum())
os.write(1, b"%d " % total)
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
"""
    first, second = run_python(code).split()
    assert first == second
