"""Random programs for the console, with which our 6502 and TIA are compared with the library's. They come where games
seldom or never do. KINDS has a function for each kind, from a seed to the bytes of a cartridge."""

import random

from helpers.atari_instructions import ANY, COUNTER, ENABLES, GRAPHICS, VSYNC, WSYNC, Instructions, Lines

START, BANK = 0xF000, 0x1000
COLOURS = (0x06, 0x07, 0x08, 0x09)
STICKS = 0x280
# The library ends enduro when this byte of memory is 255: then too little would be compared.
FLAG_OF_THE_END = 0xAF
STUBS, ENTRIES, NUM_ENTRIES = 0xFD80, 0xFF00, 16  # of programs with banks: at the same places in each bank


# ---- writes to the TIA --------------------------------------------------------------------------------------------


def writes(seed):
    """Random writes to the TIA at random clocks of each line, and waits for the timer: objects placed while they are
    drawn, moves in the middle of a line, stars (Cosmic Ark's trick)."""
    rng = random.Random(seed)
    p = Lines(rng, START)
    p.put(0x78, 0xD8, 0xA2, 0xFF, 0x9A)  # sei; cld; ldx #255; txs
    for register in (*COLOURS, *ENABLES, *GRAPHICS):
        p.store(rng.randrange(256), register)
    frame = p.here
    p.store(2, VSYNC)
    p.put(*[0x85, WSYNC] * 3)
    p.store(0, VSYNC)
    p.store(0, 0x01)  # VBLANK
    p.wait()
    p.put(0xA2, 2)  # ldx #2
    again = p.here
    while len(p.code) < 3900:
        p.line()
    p.wait()
    p.put(0xCA, 0xF0, 0x03, 0x4C, *word(again))  # dex; beq +3; jmp again
    p.put(0xE6, COUNTER, 0x4C, *word(frame))  # inc COUNTER; jmp frame
    return image(p, START)


def dense(seed):
    """More writes to the TIA than can be recorded of frames that are not drawn."""
    rng = random.Random(seed)
    p = Lines(rng, START)
    p.put(0x78, 0xD8, 0xA2, 0xFF, 0x9A)  # sei; cld; ldx #255; txs
    frame = p.here
    p.store(2, VSYNC)
    p.put(*[0x85, WSYNC] * 3)
    p.store(0, VSYNC)
    p.put(0xA0, rng.randrange(1, 8))  # ldy #...
    again, length = p.here, rng.randrange(500, 3800)
    while p.here < again + length:
        p.put(*rng.choice([[0xA9, rng.randrange(256)], [0xA5, COUNTER], [0xE8], [0xC8, 0x88], [0x0A]]))
        for _ in range(rng.randrange(1, 5)):
            p.put(rng.choice([0x85, 0x86, 0x84]), rng.choice(ANY))  # sta, stx or sty
    p.put(0x88, 0xF0, 0x03, 0x4C, *word(again))  # dey; beq +3; jmp again
    p.put(*[0x85, WSYNC] * rng.choice([0, 0, 30]))
    p.put(0xE6, COUNTER, 0x4C, *word(frame))  # inc COUNTER; jmp frame
    return image(p, START)


def polling(seed):
    """A program that waits until a stick is pushed everywhere, in the loop that others wait for the timer in."""
    p = Lines(random.Random(seed), START)
    p.store(seed % 256, COLOURS[3])
    p.wait()
    p.put(0xAD, *word(STICKS), 0xD0, 0xFB)  # lda STICKS; bne -5
    return image(p, START)


# ---- cartridges ---------------------------------------------------------------------------------------------------


def word(address):
    return address & 0xFF, address >> 8 & 0xFF


def image(program, restart, size=BANK, interrupt=None):
    """A program with NOPs behind it, and the three vectors at the end."""
    code = bytes(program.code)
    assert len(code) <= size - 6, len(code)
    return code.ljust(size - 6, b"\xea") + bytes(
        [*word(restart) * 2, *word(restart if interrupt is None else interrupt)]
    )


def whole(rng, size=BANK, usual=True, **options):
    """A cartridge without banks that makes frames of random instructions."""
    p = Instructions(rng, START, **options)
    restart = begin(p)
    interrupt = p.here
    p.put(0x40)  # rti
    p.subroutines(rng.randrange(1, 6))
    p.put(0xEA)
    first = p.here
    frame(p, START + size - 100, usual)
    p.code[restart.at : restart.at + 2] = bytes(word(first))
    return image(p, START, size, rng.choice([START, interrupt]))


class begin:
    """What a program begins with. `at` is where the address to go on at is to be written."""

    def __init__(self, p):
        p.put(0x78, 0xD8)  # sei; cld
        p.reset_stack()
        p.put(0x4C, 0, 0)  # jmp
        self.at = len(p.code) - 2


def synchronize(p):
    p.store(2, VSYNC)
    p.put(*[0x85, WSYNC] * p.rng.choice([3, 3, 3, 1, 2, 4]))
    p.store(p.rng.choice([0, 0, 0, 1, 0xFD]), VSYNC)


def frame(p, until, usual=True, lines=None):
    """Makes frames forever, of random instructions up to an address, and blank lines up to a number of `lines`. If the
    program is not `usual`, few frames or none begin with a VSYNC, so that the library ends them."""
    rng = p.rng
    again = p.here
    p.put(0xD8)  # cld
    if usual:
        synchronize(p)
    elif rng.random() < 0.5:
        p.put(0xA5, COUNTER, 0x29, rng.choice([1, 3, 7, 31]), 0xD0)  # lda COUNTER; and #...; bne behind the VSYNC
        at = len(p.code)
        p.put(0)
        synchronize(p)
        p.code[at] = len(p.code) - at - 1
    p.store(0, FLAG_OF_THE_END)
    p.store(rng.choice([0, 0, 0, 0, 0x80, 0x40, 2]), 0x01)  # VBLANK
    for register in (*COLOURS, *ENABLES, *GRAPHICS):
        if rng.random() < 0.5:
            p.store(p.byte(), register, varies=rng.random() < 0.3)
    most = rng.choice([p.here + 100, p.here + 400, until, until])
    pause_at = p.here + rng.randrange(100) if not usual and rng.random() < 0.5 else until
    while p.here < min(most, until - 60):
        p.block()
        if p.here > pause_at:
            pause(p)
            pause_at = until
    blank_lines(p, lines or [rng.choice([rng.randrange(1, 256), rng.randrange(100, 250)])])
    p.reset_stack()
    p.put(0xE6, COUNTER, 0x4C, *word(again))  # inc COUNTER; jmp again


def pause(p):
    """In some frames, does nothing for about as many instructions as the library executes before it interrupts a
    frame."""
    p.put(0xA5, COUNTER, 0x29, p.rng.choice([1, 3, 3, 7]), 0xD0, 10)  # lda COUNTER; and #...; bne behind the loop
    p.put(0xA2, 0, 0xA0, p.rng.randrange(30, 150), 0xCA, 0xD0, 0xFD, 0x88, 0xD0, 0xFA)  # dex; bne -3; dey; bne -6


def blank_lines(p, lines):
    """So many lines. A number below 0: random ones, others in each frame."""
    for number in lines:
        if number < 0:
            p.put(0xA5, COUNTER, 0x0A, 0x0A, 0x65, COUNTER, 0x69, 0x11, 0x49, -number & 0xFF, 0xAA)  # tax
        else:
            p.put(0xA2, number)  # ldx #number
        p.put(0x85, WSYNC, 0xCA, 0xD0, 0xFB)  # sta WSYNC; dex; bne -5


# ---- kinds of programs --------------------------------------------------------------------------------------------


def instructions(seed):
    """Random instructions, with sequences of them that are executed in one go, and operands everywhere."""
    return whole(random.Random(seed))


def endless(seed):
    """Programs that make frames seldom or never: the library interrupts them after a number of instructions."""
    return whole(random.Random(seed), usual=False)


def small(seed):
    """Two kilobytes, which are seen twice."""
    return whole(random.Random(seed), size=0x800)


def memory(seed):
    """Code that is copied to the console's memory and executed there. Much of it changes itself."""
    return whole(random.Random(seed), in_memory=0.5)


def lines(seed):
    """Frames with 312 lines, as on a PAL console, and with numbers of lines that vary or that the library does not
    allow."""
    rng = random.Random(seed)
    p = Instructions(rng, START)
    restart = begin(p)
    p.subroutines(1)
    first = p.here
    kinds = ([255, 56], [255, 51], [-rng.randrange(1, 256)], [-rng.randrange(1, 256)] * 2, [255, 255], [250, -7], [1])
    frame(p, p.here + rng.randrange(60, 300), usual=rng.random() < 0.9, lines=rng.choice(kinds))
    p.code[restart.at : restart.at + 2] = bytes(word(first))
    return image(p, START)


def noise(seed):
    """Nothing but random bytes, mostly with a beginning and vectors that make sense."""
    rng = random.Random(seed)
    size = rng.choice([0x800, 0x1000, 0x1000, 0x2000, 0x4000])
    p = Instructions(rng, START)
    tame = rng.random() < 0.7
    code = bytearray(p.byte() if tame else rng.randrange(256) for _ in range(size))
    if rng.random() < 0.8:
        for bank in range(0, size, BANK):
            end = min(bank + BANK, size)
            code[bank : bank + 7] = bytes([0x78, 0xA2, 0xFF, 0x9A, 0xA9, 0x00, 0x85])
            for vector in (4, 2):
                code[end - vector : end - vector + 2] = bytes([p.byte(), 0xF0 | rng.randrange(16)])
            code[end - 4 : end - 2] = bytes(word(START))
    return bytes(code)


def banked(rng, banks, hot, first=START, names=(0,)):
    """Banks of four kilobytes, which are selected by the `hot` addresses. Code jumps from bank to bank through stubs
    that are the same in all banks. `names` are differences between the addresses that lead to the same place."""
    stubs = Instructions(rng, STUBS, hot=hot)
    stubs.put(0x78, 0xD8, 0xA2, 0xFF, 0x9A)  # sei; cld; ldx #255; txs
    stubs.switch(rng.choice(hot))
    stubs.put(0x4C, *word(ENTRIES))
    starts = []
    while stubs.here < ENTRIES - 30:
        starts.append(stubs.here - rng.choice(names))
        stubs.switch(rng.choice(hot))
        stubs.put(0x4C, *word(ENTRIES + 3 * rng.randrange(NUM_ENTRIES) - rng.choice(names)))
    filler = rng.choice([0xFF, 0, 0xEA, rng.randrange(256)])
    whole_image = bytearray()
    for _ in range(banks):
        p = Instructions(rng, first, hot=hot, calls=starts, jumps=starts if rng.random() < 0.5 else ())
        entries = p.subroutines(rng.randrange(2, 6))
        p.put(0xEA)
        main = p.here
        frame(p, STUBS - rng.choice([200, 1000, 2000]))
        entries.append(main)
        if rng.random() < 0.2:
            entries.append(0xFFF0 - rng.randrange(60))
        table = [main, *(rng.choice(entries) for _ in range(NUM_ENTRIES - 1))]
        bank = bytearray([filler] * (first - START)) + bytes(p.code).ljust(STUBS - first, b"\xea") + stubs.code
        bank = bank.ljust(ENTRIES - START, b"\xea")
        bank += bytes(byte for entry in table for byte in (0x4C, *word(entry)))
        # From here on, code runs into the addresses that select banks, and into the vectors.
        end = bytes(rng.choice([0xEA, 0xEA, 0xEA, 0xC8, 0x0C, p.byte()]) for _ in range(0xFFFA - START - len(bank)))
        whole_image += bank + end + bytes([*word(STUBS), *word(STUBS), *word(rng.choice([STUBS, main]))])
    return bytes(whole_image)


def banks_2(seed):
    return banked(random.Random(seed), 2, range(0xFFF8, 0xFFFA))


def banks_4(seed):
    return banked(random.Random(seed), 4, range(0xFFF6, 0xFFFA))


def banks_2_with_memory(seed):
    """128 bytes of memory at the beginning of each bank: the library expects them if all bytes there are the same."""
    return banked(random.Random(seed), 2, range(0xFFF8, 0xFFFA), START + 0x100)


def banks_4_with_memory(seed):
    return banked(random.Random(seed), 4, range(0xFFF6, 0xFFFA), START + 0x100)


def slices(seed):
    """Eight banks of a kilobyte, three of which are seen: the library knows these cartridges by an instruction."""
    code = bytearray(banked(random.Random(seed), 2, range(0xFFE0, 0xFFF8)))
    code[0xD70:0xD73] = b"\x8d\xe0\x1f"  # sta $1FE0
    return bytes(code)


def by_address(seed):
    """Two banks, of which bit 13 of the address selects one: the library knows these cartridges by their calls."""
    code = bytearray(banked(random.Random(seed), 2, range(0xFFF8, 0xFFFA), names=(0, 0x2000)))
    code[0xD70:0xD75] = b"\x20\x00\xd0\xc6\xc5"  # jsr $D000; dec $C5
    return bytes(code)


# ---- programs that were not executed like the library's once -----------------------------------------------------


def unfinished(seed):
    """Never finishes its first frame, and changes what is drawn above the first visible line."""
    p = Lines(random.Random(seed), START)
    for colour in (0x20, 0x40):
        p.store(colour, COLOURS[3])
        p.put(*[0x85, WSYNC] * 3)
    p.put(0x4C, *word(p.here))  # jmp to itself
    return image(p, START)


def moving_missile(seed):
    """Repeats writes to NUSIZ0, or places missile 0, while that moves in every line."""
    p = Lines(random.Random(seed), START)
    p.put(0x78, 0xD8, 0xA2, 0xFF, 0x9A)  # sei; cld; ldx #255; txs
    for colour, register in enumerate(COLOURS):
        p.store(0x22 * colour + 2, register)
    frame = p.here
    p.store(2, VSYNC)
    p.put(*[0x85, WSYNC] * 3)
    p.store(0, VSYNC)
    p.put(*[0x85, WSYNC] * 60)
    p.stars(16)
    for line in range(100):
        p.put(0x85, WSYNC)
        p.delay(20 + line % 7)
        p.put(0xA9, 0, 0x85, 0x12 if line % 20 == 19 else 0x04)  # lda #0; sta RESM0 or NUSIZ0
    p.put(0xE6, COUNTER, 0x4C, *word(frame))  # inc COUNTER; jmp frame
    return image(p, START)


FOUND = (unfinished, moving_missile)
KINDS = (
    writes,
    dense,
    polling,
    instructions,
    endless,
    small,
    memory,
    lines,
    noise,
    banks_2,
    banks_4,
    banks_2_with_memory,
    banks_4_with_memory,
    slices,
    by_address,
)
