"""Our 6502 for libale_c against the library's own: machines side by side, and single instructions (tests/c)."""

import hashlib
import shutil
import subprocess

import numpy as np
import pytest

import batchenv
from batchenv.engines import atari, games
from helpers.project import ROOT

pytest.importorskip("ale_py", reason="needs the ROMs of ale-py: pip install 'batchenv[atari]'")
pytest.importorskip("multi_agent_ale_py", reason="needs libale_c: pip install 'batchenv[atari]'")

STEPS = 60
KNOWN_LIBRARY = "5dfd829dfbbccd7893c54dd4abde6578"  # of multi-agent-ale-py 0.1.12
PADDING = 0x1DFD9F  # a byte of its code that is never run


def make(game, monkeypatch, own, **options):
    """An env whose machines have our processor, or the library's."""
    monkeypatch.setenv("BATCHENV_ALE_CPU", "1" if own else "0")
    name = "".join(word.capitalize() for word in game.split("_"))
    return batchenv.make(f"{name}-v5", 1, autoreset_mode="NextStep", **options)


def assert_same(a, b, where):
    for one, other in zip(a[:4], b[:4], strict=True):
        np.testing.assert_array_equal(one, other, err_msg=where)
    np.testing.assert_array_equal(a[4]["lives"], b[4]["lives"], err_msg=where)


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


def build(folder, flags):
    """tests/c/test_ale_cpu.c, compiled."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    if hashlib.md5(atari.library_path().read_bytes()).hexdigest() != KNOWN_LIBRARY:
        pytest.skip("another build of libale_c, which keeps its own processor")
    program = folder / "test_ale_cpu"
    command = [compiler, "-std=gnu11", *flags, f"-I{ROOT / 'csrc'}", str(ROOT / "tests/c/test_ale_cpu.c")]
    built = subprocess.run([*command, "-o", str(program), "-ldl"], capture_output=True, text=True)
    if built.returncode and "-fsanitize" in " ".join(flags):
        pytest.skip("the compiler has no sanitizers here")
    assert built.returncode == 0, built.stderr
    return program


def run(program, library):
    command = [str(program), str(library), str(atari.rom_path("pong")), "1", "40000"]
    return subprocess.run(command, capture_output=True, text=True, env={"ASAN_OPTIONS": "detect_leaks=0"}, timeout=240)


@pytest.mark.parametrize("flags", [["-O2"], ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover"]], ids=str)
def test_single_instructions_and_lines_equal_the_library(flags, tmp_path):
    ran = run(build(tmp_path, flags), atari.library_path())
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_another_build_of_the_library_keeps_its_own(tmp_path):
    program = build(tmp_path, ["-O2"])
    code = bytearray(atari.library_path().read_bytes())
    assert code[PADDING] == 0x90  # nop
    code[PADDING] = 0xCC
    other = tmp_path / "libale_c.so"
    other.write_bytes(code)
    ran = run(program, other)
    assert ran.returncode == 1 and "does not get our processor" in ran.stdout, ran.stdout + ran.stderr
