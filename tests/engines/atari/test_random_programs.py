"""Programs that no game runs: random writes to the TIA at random clocks of each line, and waits for the timer, with our
6502 and TIA against the library's own. They come where games seldom or never do: objects placed while they are drawn,
moves in the middle of a line, stars (Cosmic Ark's trick)."""

import random

import pytest

from helpers import compiled
from helpers.atari import played

START, END = 0xF000, 0xFFFC
VSYNC, WSYNC, HMOVE = 0x00, 0x02, 0x2A
NUSIZ, COLOURS, PLAYFIELD, GRAPHICS = (0x04, 0x05), (0x06, 0x07, 0x08, 0x09), (0x0A, 0x0D, 0x0E, 0x0F), (0x1B, 0x1C)
PLACES, ENABLES, MOTIONS = range(0x10, 0x15), (0x1D, 0x1E, 0x1F), range(0x20, 0x25)  # of players, missiles, the ball
REFLECTIONS, DELAYS, LOCKS, CLEARS = (0x0B, 0x0C), (0x25, 0x26, 0x27), (0x28, 0x29), (0x2B, 0x2C)
OFTEN = (*PLACES, *MOTIONS, *GRAPHICS, *ENABLES, *NUSIZ)
ANY = (*OFTEN, *COLOURS, *PLAYFIELD, *REFLECTIONS, *DELAYS, *LOCKS, *CLEARS, HMOVE)
TIMER, SET_TIMER, STICKS = 0x284, (0x294, 0x295, 0x296), 0x280
COUNTER = 0x80  # in memory, counts frames


class Program:
    """Machine code of the 6502, written one instruction after the other."""

    def __init__(self, rng):
        self.rng, self.code = rng, bytearray()

    @property
    def here(self):
        return START + len(self.code)

    def store(self, value, register, varies=False):
        """Writes a number, in each frame another one if it `varies`."""
        self.code += bytes([0xA9, value])  # lda #value
        if varies:
            self.code += bytes([0x45, COUNTER])  # eor COUNTER
        self.code += bytes([0x8D, register & 0xFF, register >> 8] if register > 0xFF else [0x85, register])  # sta

    def delay(self, cycles):
        """Two cycles or more."""
        self.code += b"\x24\x81" if cycles % 2 else b""  # bit $81: three cycles
        self.code += b"\xea" * ((cycles - 3 * (cycles % 2)) // 2)  # nop: two

    def wait(self):
        """Sets the timer and waits until it is 0, as games do."""
        self.store(self.rng.randrange(1, 60), self.rng.choice(SET_TIMER))
        self.code += bytes([0xAD, TIMER & 0xFF, TIMER >> 8, 0xD0, 0xFB])  # lda TIMER; bne -5

    def line(self):
        """Waits for the next line, and writes to the TIA in the course of it."""
        rng = self.rng
        self.code += bytes([0x85, WSYNC])
        left = 70
        if rng.random() < 0.1:
            return self.stars()
        if rng.random() < 0.7:
            self.code += bytes([0x85, HMOVE])
            left -= 3
        while left > 8 and rng.random() < 0.85:
            if rng.random() < 0.4:  # the number that is written does not matter
                pause = rng.choice([2, 3, 4, 5, 6, *range(7, 18)])
                self.delay(pause)
                self.code += bytes([0x85, rng.choice(PLACES)])
                left -= pause + 3
                continue
            pause = rng.choice([0, 0, 2, 3, 4, 5, 6, 7, 9, 12, 17])
            self.delay(pause)
            varies = rng.random() < 0.5
            self.store(rng.randrange(256), rng.choice(OFTEN if rng.random() < 0.7 else ANY), varies)
            left -= pause + 5 + 3 * varies
        return None

    def stars(self):
        """Stops missile 0 in the midst of its move: it moves on in every line from now on, and looks like stars."""
        self.store(0x70, MOTIONS[2])
        self.store(2, ENABLES[0])
        self.code += bytes([0x85, WSYNC, 0x85, HMOVE])
        self.delay(self.rng.choice([16, 16, 15, 17]))
        self.store(0x60, MOTIONS[2])
        for _ in range(8):
            self.code += bytes([0x85, WSYNC])


def program(seed):
    """The 4 KiB of a cartridge."""
    rng = random.Random(seed)
    p = Program(rng)
    p.code += b"\x78\xd8\xa2\xff\x9a"  # sei; cld; ldx #255; txs
    for register in (*COLOURS, *ENABLES, *GRAPHICS):
        p.store(rng.randrange(256), register)
    frame = p.here
    p.store(2, VSYNC)
    p.code += bytes([0x85, WSYNC] * 3)
    p.store(0, VSYNC)
    p.store(0, 0x01)  # VBLANK
    p.wait()
    p.code += bytes([0xA2, 2])  # ldx #2
    again = p.here
    while len(p.code) < 3900:
        p.line()
    p.wait()
    p.code += bytes([0xCA, 0xF0, 0x03, 0x4C, again & 0xFF, again >> 8])  # dex; beq +3; jmp again
    p.code += bytes([0xE6, COUNTER, 0x4C, frame & 0xFF, frame >> 8])  # inc COUNTER; jmp frame
    assert p.here <= END
    return bytes(p.code).ljust(END - START, b"\xea") + bytes([START & 0xFF, START >> 8] * 2)


def polling(seed):
    """A program that waits until a stick is pushed everywhere, in the loop that others wait for the timer in."""
    p = Program(random.Random(seed))
    p.store(seed % 256, COLOURS[3])
    p.wait()
    p.code += bytes([0xAD, STICKS & 0xFF, STICKS >> 8, 0xD0, 0xFB])  # lda STICKS; bne -5
    return bytes(p.code).ljust(END - START, b"\xea") + bytes([START & 0xFF, START >> 8] * 2)


@pytest.fixture(scope="module")
def player(tmp_path_factory):
    """tests/c/play_ale.c, compiled."""
    sources = "tests/c/play_ale.c", "csrc/engines/atari/ale*/*.c", "csrc/core/system/shared.c"
    return compiled.program(tmp_path_factory.mktemp("player"), ["-O1"], *sources)


@pytest.mark.cases(1, per="make")
@pytest.mark.parametrize("make", [program, polling])
@pytest.mark.parametrize("seed", range(3))
def test_random_programs_equal_the_library(make, seed, player, tmp_path):
    rom = tmp_path / "enduro.bin"  # the library knows games by their files' names
    rom.write_bytes(make(seed))
    ours, theirs = (played(player, rom, fast) for fast in "10")
    assert ours == theirs
    assert ours.startswith("600 frames"), ours
