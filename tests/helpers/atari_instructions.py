"""Machine code of the 6502, written one random instruction after the other: see atari_programs.py."""

import re

from helpers.project import ROOT

VSYNC, WSYNC, HMOVE = 0x00, 0x02, 0x2A
NUSIZ, COLOURS, PLAYFIELD, GRAPHICS = (0x04, 0x05), (0x06, 0x07, 0x08, 0x09), (0x0A, 0x0D, 0x0E, 0x0F), (0x1B, 0x1C)
PLACES, ENABLES, MOTIONS = range(0x10, 0x15), (0x1D, 0x1E, 0x1F), range(0x20, 0x25)  # of players, missiles, the ball
REFLECTIONS, DELAYS, LOCKS, CLEARS = (0x0B, 0x0C), (0x25, 0x26, 0x27), (0x28, 0x29), (0x2B, 0x2C)
OFTEN = (*PLACES, *MOTIONS, *GRAPHICS, *ENABLES, *NUSIZ)
ANY = (*OFTEN, *COLOURS, *PLAYFIELD, *REFLECTIONS, *DELAYS, *LOCKS, *CLEARS, HMOVE)
TIMER, SET_TIMER = 0x284, (0x294, 0x295, 0x296)
COUNTER = 0x80  # in memory, counts frames

# Of each opcode the form and the mode; and sequences that are executed in one go, as opcodes and kinds of operands.
_FOLDER = ROOT / "csrc/engines/atari/ale_fast"
OPCODES = {
    int(number, 16): (form, mode)
    for number, form, mode in re.findall(r"#define OP_(\w\w) (\w+), (\w+)", (_FOLDER / "opcodes.h").read_text())
}
SEQUENCES = [
    [(int(opcode, 16), kind) for opcode, kind in re.findall(r"(\w\w), (\w+)", line)]
    for line in re.findall(r"^    (?:TWO|THREE|FOUR|FIVE)\((.*)\)", (_FOLDER / "sequences.h").read_text(), re.MULTILINE)
]
HANGING = {opcode for opcode, (form, _) in OPCODES.items() if form == "HANG"}
STRAYING = {"BRK", "RTI", "RTS", "JMP", "JMP_INDIRECT", "JSR"}  # forms, after which the program may be anywhere
STACK = {"PHA", "PHP", "PLA", "PLP"}
MOVING = {0x9A, 0x9B, 0xBB}  # txs and undocumented ones: they move the stack
SEDATE = [op for op, (form, _) in OPCODES.items() if form not in STRAYING | STACK and op not in HANGING | MOVING]
UNWANTED = HANGING | {opcode for opcode, (form, _) in OPCODES.items() if form in STRAYING}
WILD = [opcode for opcode in OPCODES if opcode not in HANGING]
LOADS = [opcode for opcode, (form, mode) in OPCODES.items() if form in ("LOAD", "READ") and mode == "ABSOLUTE"]
LOADS += [opcode for opcode, (form, mode) in OPCODES.items() if form in ("WRITE", "MODIFY") and mode == "ABSOLUTE"]
assert len(OPCODES) == 256 and len(SEQUENCES) > 100


class Lines:
    """Code that writes to the TIA, line for line."""

    def __init__(self, rng, start):
        self.rng, self.start, self.code = rng, start, bytearray()

    @property
    def here(self):
        return self.start + len(self.code)

    def put(self, *code):
        self.code += bytes(code)

    def store(self, value, register, varies=False):
        """Writes a number, in each frame another one if it `varies`."""
        self.put(0xA9, value)  # lda #value
        if varies:
            self.put(0x45, COUNTER)  # eor COUNTER
        self.put(*[0x8D, register & 0xFF, register >> 8] if register > 0xFF else [0x85, register])  # sta

    def delay(self, cycles):
        """Two cycles or more."""
        self.code += b"\x24\x81" if cycles % 2 else b""  # bit $81: three cycles
        self.code += b"\xea" * ((cycles - 3 * (cycles % 2)) // 2)  # nop: two

    def wait(self):
        """Sets the timer and waits until it is 0, as games do."""
        self.store(self.rng.randrange(1, 60), self.rng.choice(SET_TIMER))
        self.put(0xAD, TIMER & 0xFF, TIMER >> 8, 0xD0, 0xFB)  # lda TIMER; bne -5

    def line(self):
        """Waits for the next line, and writes to the TIA in the course of it."""
        rng = self.rng
        self.put(0x85, WSYNC)
        left = 70
        if rng.random() < 0.1:
            return self.stars()
        if rng.random() < 0.7:
            self.put(0x85, HMOVE)
            left -= 3 + self.access_at_once()
        while left > 8 and rng.random() < 0.85:
            if rng.random() < 0.4:  # the number that is written does not matter
                pause = rng.choice([2, 3, 4, 5, 6, *range(7, 18)])
                self.delay(pause)
                self.put(0x85, rng.choice(PLACES))
                left -= pause + 3
                continue
            pause = rng.choice([0, 0, 2, 3, 4, 5, 6, 7, 9, 12, 17])
            self.delay(pause)
            varies = rng.random() < 0.5
            self.store(rng.randrange(256), rng.choice(OFTEN if rng.random() < 0.7 else ANY), varies)
            left -= pause + 5 + 3 * varies
        return None

    def access_at_once(self):
        """Now and then an access to the TIA that pixels do not depend on. Returns how many cycles it takes."""
        rng = self.rng
        if rng.random() < 0.7:
            return 0
        read = rng.random() < 0.5
        self.put(*[0x24, rng.randrange(0x30, 0x3E)] if read else [0x85, rng.choice([0x15, 0x1A, 0x2C, 0x2D, 0x03])])
        return 3

    def stars(self, delay=None):
        """Stops missile 0 in the midst of its move: it moves on in every line from now on, and looks like stars."""
        self.store(0x70, MOTIONS[2])
        self.store(2, ENABLES[0])
        self.put(0x85, WSYNC, 0x85, HMOVE)
        self.delay(delay or self.rng.choice([16, 16, 15, 17]))
        self.store(0x60, MOTIONS[2])
        for _ in range(8):
            self.put(0x85, WSYNC)


class Instructions(Lines):
    """Random instructions. `hot` are addresses that select banks, `calls` and `jumps` where code may go besides its own
    subroutines; a part of the code is executed `in_memory`."""

    def __init__(self, rng, start, hot=(), calls=(), jumps=(), in_memory=0.05):
        super().__init__(rng, start)
        self.hot, self.calls, self.jumps, self.in_memory = list(hot), list(calls), list(jumps), in_memory
        self.own_calls, self.branches = [], []
        self.wildness = rng.choice([0, 0.001, 0.01])

    def byte(self):
        """A byte, seldom one that hangs the processor or leads it astray if it is executed."""
        byte = self.rng.choice([self.rng.randrange(256)] * 8 + [0, 0xFF, 0x80, 0x7F, 0x99, 0x02])
        return byte if byte not in UNWANTED or self.rng.random() < 0.03 else byte | 1

    def address(self):
        """An address of a device or memory, often one of its many names."""
        rng, draw = self.rng, self.rng.random()
        if self.hot and draw < 0.02:
            return rng.choice(self.hot)
        other = rng.random() < 0.3
        if draw < 0.4:  # memory
            return 0x80 | rng.randrange(128) | (rng.randrange(0x10000) & 0xED00 if other else 0)
        if draw < 0.6:  # the TIA
            return (rng.choice(ANY) if rng.random() < 0.9 else self.byte() & 0x7F) | (
                rng.randrange(0x10000) & 0xEF40 if other else 0
            )
        if draw < 0.7:  # the timer and the sticks
            return 0x280 | rng.randrange(32) | (rng.randrange(0x10000) & 0xED60 if other else 0)
        if draw < 0.95:  # the cartridge
            page = rng.randrange(0x10000) & 0xE000 | 0x1000 if other else 0xF000
            return page | rng.choice([rng.randrange(0x1000), rng.randrange(0x1000), rng.randrange(0x100)])
        return rng.randrange(0x10000)

    def zero(self, form, kind=None):
        rng = self.rng
        if kind == "RAM" or (kind is None and rng.random() < 0.6):
            return rng.randrange(0x81, 0x100)
        if kind not in (None, "TIA", "ANY"):
            return int(kind, 16)
        if form == "WRITE" and rng.random() < 0.9:
            return rng.choice(ANY)
        return rng.randrange(1, 0x80) if rng.random() < 0.98 else rng.choice([0x00, 0x40])

    def absolute(self, kind):
        rng = self.rng
        if kind == "RAM":
            return rng.randrange(0x80, 0x100)
        if kind == "ROM":
            return self.start & 0xF000 | rng.randrange(0x200, 0xF00)
        if kind == "LOW":
            return rng.choice([rng.randrange(0xF00), rng.randrange(0x30, 0x100)])
        return self.address()

    def instruction(self, opcode, kind=None):
        form, mode = OPCODES[opcode]
        self.put(opcode)
        if form == "JSR" or form.startswith("JMP"):
            target = self.here + 2 + self.rng.choice([0, 1, 2, 3]) if form == "JMP" else self.address()
            if form == "JSR" and (self.own_calls or self.calls):
                target = self.rng.choice(self.own_calls + self.calls)
            if form == "JMP" and self.jumps and self.rng.random() < 0.3:
                target = self.rng.choice(self.jumps)
            self.put(target & 0xFF, target >> 8 & 0xFF)
        elif form == "BRANCH":
            self.put(self.rng.choice([0, 1, self.rng.randrange(30)]))
            if self.rng.random() < 0.95:
                self.branches.append([len(self.code), self.rng.randrange(6)])
        elif mode.startswith("ABSOLUTE"):
            address = self.absolute(kind)
            self.put(address & 0xFF, address >> 8)
        elif mode in ("INDIRECT_Y", "INDIRECT_Y_READ"):
            self.put(self.rng.randrange(0x81, 0xFF) if self.rng.random() < 0.9 else self.byte())
        elif mode == "ZERO":
            self.put(self.zero(form, kind))
        elif mode != "IMPLIED":
            self.put(self.byte())
        self.land()

    def land(self):
        """Makes branches lead here that were to skip so many instructions."""
        for branch in self.branches:
            at, left = branch
            branch[1] -= 1
            if left == 0 and len(self.code) - at < 128:
                self.code[at - 1] = len(self.code) - at
        self.branches = [branch for branch in self.branches if branch[1] >= 0]

    def any_instruction(self):
        self.instruction(self.rng.choice(WILD if self.rng.random() < self.wildness else SEDATE))

    def reset_stack(self):
        self.put(0xA2, 0xFF if self.rng.random() < 0.98 else self.byte(), 0x9A)  # ldx #255; txs

    def subroutines(self, number):
        """Some that can be called from here on. Returns where they are."""
        found = []
        for _ in range(number):
            found.append(self.here)
            for _ in range(self.rng.randrange(8)):
                self.any_instruction()
            self.branches.clear()
            self.put(0x60)  # rts
        self.own_calls = self.own_calls + found
        return found

    def point(self, pointer, address):
        """Makes a pointer in memory."""
        for k, byte in enumerate((address & 0xFF, address >> 8)):
            self.store(byte, (pointer + k) & 0xFF)

    def switch(self, hot):
        """Reads or writes an address, with any instruction that can."""
        rng, index = self.rng, self.rng.randrange(256)
        way = rng.randrange(4)
        if way == 0:
            self.put(0xA2, index, 0xA0, index)  # ldx #index; ldy #index
            self.put(rng.choice([0xBD, 0xB9, 0x9D, 0x99, 0xDD, 0x1D, 0xFE, 0xBE if rng.random() < 0.5 else 0xBC]))
            self.put((hot - index) & 0xFF, (hot - index) >> 8)
        elif way == 1:
            self.point(0x90, hot - index)
            self.put(0xA0, index, rng.choice([0xB1, 0x91, 0x51, 0xD1, 0xB3]), 0x90)  # ldy #index; lda ($90),y
        elif way == 2:
            self.point(0x90, hot)
            self.put(0xA2, (0x90 - index) & 0xFF, rng.choice([0xA1, 0x81, 0x41, 0xC1, 0xA3, 0x83]), index)
        else:
            self.put(rng.choice(LOADS), hot & 0xFF, hot >> 8)

    def code_in_memory(self):
        """Copies code to the console's memory and calls it there; it may change itself."""
        rng, first = self.rng, self.rng.randrange(0x84, 0xE8)
        p = Instructions(rng, first)
        p.own_calls = self.own_calls
        while len(p.code) < rng.randrange(4, 24):
            if rng.random() < 0.3:
                p.put(rng.choice([0x85, 0xE6, 0xC6, 0x86, 0x46, 0x26]), first + rng.randrange(len(p.code) + 8))
            else:
                p.any_instruction()
        p.put(rng.choice([0x60] * 20 + [0x40, 0xEA]))  # rts
        if rng.random() < 0.5:
            for k, byte in enumerate(p.code):
                self.store(byte, (first + k) & 0xFF)
        else:
            table, number = self.here + 3, len(p.code)
            self.put(0x4C, table + number & 0xFF, table + number >> 8, *p.code)  # jmp behind the table
            self.put(0xA2, number - 1, 0xBD, table & 0xFF, table >> 8, 0x95, first)  # ldx; lda table,x; sta first,x
            self.put(0xCA, 0x10, 0xF8)  # dex; bpl -8
        address = first | rng.choice([0, 0, 0x100, 0x400, 0x2000, 0xE900])
        self.put(rng.choice([0x20, 0x20, 0x20, 0x4C]), address & 0xFF, address >> 8)  # jsr

    def wait_somehow(self):
        """Waits for the timer as `wait` does, with any of its addresses, and now and then in a way that never ends."""
        rng, usual = self.rng, self.rng.random() < 0.97
        self.store(self.byte(), 0x294 | rng.randrange(2 if usual else 4) | rng.choice([0, 8, 0x20, 0x2000]))
        address = 0x280 | rng.choice([4, 4, 6, 0x14] if usual else [5, 0]) | rng.choice([0, 0, 8, 0x20, 0xC00])
        self.put(rng.choice([0xAD, 0xAE, 0xAC] if usual else [0x0D, 0xCD, 0x2C]), address & 0xFF, address >> 8)
        self.put(0xD0, rng.choice([0xFB, 0xFB, 0xFB, 0xFB if usual else 0xFC]))  # bne -5

    def block(self):
        """Some instructions that belong together, up to about fifty bytes."""
        rng, draw = self.rng, self.rng.random()
        if draw < 0.3:
            self.any_instruction()
        elif draw < 0.6:
            sequence = rng.choice(SEQUENCES)
            for opcode, kind in sequence:
                self.instruction(opcode, kind)
            if any(OPCODES[opcode][0] in STACK or opcode in MOVING for opcode, _ in sequence):
                self.reset_stack()
        elif draw < 0.7:
            self.line()
        elif draw < 0.73:
            self.wait_somehow()
        elif draw < 0.78:
            self.put(0x85, WSYNC)
        elif draw < 0.81:  # a jump through a pointer
            pointer = rng.randrange(0x81, 0xFF) if rng.random() < 0.97 else 0xFF
            self.point(pointer, self.here + 11)  # behind the jump
            self.put(0x6C, pointer, rng.choice([0, 0, 1]))
        elif draw < 0.84:
            self.point(rng.randrange(0x81, 0xFF), self.address())
        elif draw < 0.87 and self.own_calls + self.calls:
            self.instruction(0x20)
        elif draw < 0.89 and self.hot:
            self.switch(rng.choice(self.hot))
        elif draw < 0.9 and rng.random() < 20 * self.wildness:  # the stack is anywhere
            self.put(0xA2, self.byte(), 0x9A, *[rng.choice([0x48, 0x08, 0x68, 0x28]) for _ in range(rng.randrange(8))])
            self.reset_stack()
        elif draw < 0.92:
            self.put(rng.choice([0xF8, 0xF8, 0xD8]))  # sed
        elif draw < 0.94:
            self.put(rng.choice([0x48, 0x08]))  # pha
            self.any_instruction()
            self.put(rng.choice([0x68, 0x28]))  # pla
        elif draw < 0.945:
            self.reset_stack()
        elif draw < 0.955:  # pointers at the end of memory
            index = rng.randrange(256)
            self.put(0xA2, index, 0xA0, index)  # ldx #index; ldy #index
            self.put(rng.choice([0xA1, 0x81, 0xC1, 0xA3, 0xB5, 0x95]), (rng.choice([0xFF, 0xFE, 0x7F]) - index) & 0xFF)
        elif draw < 0.965:  # decimal numbers
            value = self.byte()
            self.put(rng.choice([0xF8, 0xF8, 0xD8]), rng.choice([0x18, 0x38]), 0xA9, value)  # sed; clc; lda #value
            self.put(rng.choice([0xE9, 0x69]), rng.choice([value, value, self.byte()]), 0x08, 0x68)  # sbc; php; pla
            self.put(0x85, rng.randrange(0x81, 0x100), 0xD8)  # sta; cld
        elif draw < 0.975:
            self.store(self.byte() & 0xFD, 0x01)  # VBLANK
        elif rng.random() < self.in_memory:
            self.code_in_memory()
        else:
            self.put(0xA9, self.byte(), 0xA2, self.byte(), 0xA0, self.byte())  # lda; ldx; ldy
