"""Programs that no game runs, with our 6502 and TIA against the library's own. BATCHENV_ATARI_PROGRAMS sets how many of
each kind are compared; the default keeps the suite short."""

import pytest

from helpers import atari_programs, compiled
from helpers.atari import played, programs, run_player

FRAMES = 150


@pytest.fixture(scope="module")
def player(tmp_path_factory):
    """tests/c/play_ale.c, compiled."""
    sources = (
        "tests/c/play_ale.c",
        "csrc/engines/atari/ale*/*.c",
        "csrc/core/system/linkage.c",
        "csrc/core/system/shared.c",
        "csrc/core/error.c",
    )
    return compiled.program(tmp_path_factory.mktemp("player"), ["-O1"], *sources)


def assert_plays_the_same(player, folder, cartridge):
    """With all frames drawn, and with frames left undrawn that may be drawn later. Returns what the player tells."""
    rom = folder / "enduro.bin"  # the library knows games by their files' names
    rom.write_bytes(cartridge)
    for skip in (1, 4, 7):
        theirs = run_player(player, rom, "0", skip, FRAMES)
        if theirs.returncode < 0:
            pytest.skip("the library crashes: it cannot restore every state that it saves")
        ours = played(player, rom, "1", skip, FRAMES)
        assert ours == theirs.stdout, f"in steps of {skip}"
    return ours


@pytest.mark.parametrize("seed", range(programs(1)))
@pytest.mark.parametrize("kind", atari_programs.KINDS, ids=lambda kind: kind.__name__)
def test_random_programs_equal_the_library(kind, seed, player, tmp_path):
    assert_plays_the_same(player, tmp_path, kind(seed))


@pytest.mark.parametrize("kind", atari_programs.FOUND, ids=lambda kind: kind.__name__)
def test_programs_that_were_not_like_the_library_once(kind, player, tmp_path):
    assert assert_plays_the_same(player, tmp_path, kind(0)).startswith(f"{FRAMES} frames")


@pytest.mark.parametrize("kind", [atari_programs.writes, atari_programs.lines, atari_programs.banks_4])
def test_other_programs_show_other_frames(kind, player, tmp_path):
    """Otherwise nothing would be compared."""
    told = set()
    for seed in range(4):
        rom = tmp_path / "enduro.bin"
        rom.write_bytes(kind(seed))
        told.add(played(player, rom, "1", 1, FRAMES))
    assert len(told) == 4
