"""Our 6502 and TIA for libale_c against the library's own: machines side by side, single instructions (tests/c), and
the two switches that leave ours out."""

import functools
import hashlib
import subprocess

import numpy as np
import pytest

import batchenv
from batchenv.envs.atari import files, games
from helpers.atari import id_of, played
from helpers.compiled import program

STEPS = 60
SANITIZED = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
KNOWN_LIBRARY = "5dfd829dfbbccd7893c54dd4abde6578"  # of multi-agent-ale-py 0.1.12
PADDING = 0x1DFD9F  # a byte of its code that is never run


def make(game, monkeypatch, own, **options):
    """An env whose machines have our processor, or the library's."""
    monkeypatch.setenv("BATCHENV_ALE_FAST", "1" if own else "0")
    return batchenv.make(id_of(game), 1, autoreset_mode="NextStep", **options)


def assert_same(a, b, where):
    for one, other in zip(a[:4], b[:4], strict=True):
        np.testing.assert_array_equal(one, other, err_msg=where)
    np.testing.assert_array_equal(a[4]["lives"], b[4]["lives"], err_msg=where)


@pytest.mark.cases(8)
@pytest.mark.parametrize("game", games.GAMES)
def test_every_game_equals_the_library(game, monkeypatch):
    options = {"obs_type": "rgb", "img_height": None, "img_width": None, "stack_num": None, "maxpool": False}
    ours, theirs = (make(game, monkeypatch, own, **options) for own in (True, False))
    np.testing.assert_array_equal(ours.reset(seed=5)[0], theirs.reset(seed=5)[0])
    rng = np.random.default_rng(5)
    for step in range(STEPS):
        action = rng.integers(ours.single_action_space.n, size=1)
        assert_same(ours.step(action), theirs.step(action), f"{game}, step {step}")
        for key in ("ram", "screen"):
            np.testing.assert_array_equal(ours.state[key], theirs.state[key], err_msg=f"{key} of {game}, step {step}")
        assert step % 10 or ours.snapshot() == theirs.snapshot(), f"state of {game}, step {step}"


@pytest.mark.parametrize("own", [True, False])
def test_either_goes_on_from_a_snapshot_of_the_other(own, monkeypatch):
    first, second = make("seaquest", monkeypatch, own), make("seaquest", monkeypatch, not own)
    first.reset(seed=1)
    second.reset(seed=2)
    actions = np.random.default_rng(0).integers(first.single_action_space.n, size=(100, 1))
    for action in actions[:50]:
        first.step(action)
    second.restore(first.snapshot())
    for t, action in enumerate(actions[50:]):
        assert_same(first.step(action), second.step(action), f"step {t}")
    assert first.snapshot() == second.snapshot()


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """A program of tests/c with ale_fast in it, compiled once with these flags."""
    if hashlib.md5(files.library_path().read_bytes()).hexdigest() != KNOWN_LIBRARY:
        pytest.skip("another build of libale_c, which keeps its own processor")

    @functools.cache
    def build(name, *flags):
        own = "csrc/engines/atari/ale_fast"
        # The other program has drawing.c in it.
        sources = [f"{own}/*.c"] if name == "test_ale_cpu" else [f"{own}/[!d]*.c", f"{own}/drawing_bits.c"]
        sources.append("csrc/core/system/linkage.c")
        return program(tmp_path_factory.mktemp("build"), flags, f"tests/c/{name}.c", *sources)

    return build


def run(tester, library):
    command = [str(tester), str(library), str(files.rom_path("pong")), "1", "40000"]
    return subprocess.run(command, capture_output=True, text=True, env={"ASAN_OPTIONS": "detect_leaks=0"}, timeout=240)


@pytest.mark.parametrize("name", ["test_ale_cpu", "test_ale_lines"])
@pytest.mark.parametrize("flags", [["-O2"], pytest.param(SANITIZED, marks=pytest.mark.long)], ids=str)
def test_single_instructions_and_lines_equal_the_library(name, flags, build):
    ran = run(build(name, *flags), files.library_path())
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_another_build_of_the_library_keeps_its_own(build, tmp_path):
    tester = build("test_ale_cpu", "-O2")
    code = bytearray(files.library_path().read_bytes())
    assert code[PADDING] == 0x90  # nop
    code[PADDING] = 0xCC
    other = tmp_path / "libale_c.so"
    other.write_bytes(code)
    ran = run(tester, other)
    assert ran.returncode == 1 and "does not get our processor" in ran.stdout, ran.stdout + ran.stderr


def test_a_build_without_ours_plays_the_same(tmp_path):
    """BATCHENV_NO_ALE_FAST=1, and be_cartridge.fast=0 of a build with it."""
    told = {}
    for name, flags, folder in (("with", [], "ale*"), ("without", ["-DBE_ALE_FAST=0"], "ale")):
        (tmp_path / name).mkdir()
        sources = (
            "tests/c/play_ale.c",
            f"csrc/engines/atari/{folder}/*.c",
            "csrc/core/system/linkage.c",
            "csrc/core/system/shared.c",
            "csrc/core/error.c",
        )
        player = program(tmp_path / name, ["-O0", *flags], *sources)
        assert (b"be_ale_cpu_execute" in player.read_bytes()) == (name == "with")
        for fast in "01":
            told[name, fast] = played(player, files.rom_path("seaquest"), fast)
    assert len(set(told.values())) == 1, told


def test_a_build_can_leave_ours_out(monkeypatch):
    import importlib

    import build_config

    assert any("/ale_fast/" in path for path in build_config.COMMON_SOURCES)
    monkeypatch.setenv("BATCHENV_NO_ALE_FAST", "1")
    try:
        importlib.reload(build_config)
        assert not any("/ale_fast/" in path for path in build_config.COMMON_SOURCES)
        assert "-DBE_ALE_FAST=0" in build_config.COMMON_FLAGS
    finally:
        monkeypatch.delenv("BATCHENV_NO_ALE_FAST")
        importlib.reload(build_config)


@pytest.mark.parametrize("name", ["BATCHENV_ALE_FAST", "BATCHENV_ALE_CPU"])
def test_both_names_of_the_switch_work(name, monkeypatch):
    from batchenv.envs.atari import translator

    assert translator._may_be_fast()
    monkeypatch.setenv(name, "0")
    assert not translator._may_be_fast()
