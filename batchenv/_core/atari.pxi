# The Atari emulator: csrc/engines/atari/atari.h says what each number is for.

cdef extern from "engines/atari/atari.h" nogil:
    enum:
        BE_ATARI_GRAYSCALE, BE_ATARI_RGB, BE_ATARI_RAM
        BE_PALETTE_NTSC, BE_PALETTE_PAL, BE_PALETTE_SECAM
        BE_NUM_ACTIONS, BE_SCREEN_WIDTH
    ctypedef struct be_cartridge:
        const char *library
        const char *rom
        const char *name
        int32_t mode, difficulty, players, palette, fast, lives, ends_without_lives, settle
    ctypedef struct be_atari_setup:
        be_cartridge cartridge
        int32_t observation, height, width, stack, num_actions
        int32_t *actions
        uint64_t layout

ATARI_SCREEN_WIDTH = BE_SCREEN_WIDTH
ATARI_OBSERVATIONS = {"grayscale": BE_ATARI_GRAYSCALE, "rgb": BE_ATARI_RGB, "ram": BE_ATARI_RAM}
cdef dict _palettes = {"NTSC": BE_PALETTE_NTSC, "PAL": BE_PALETTE_PAL, "SECAM": BE_PALETTE_SECAM}


cdef class AtariSetup(Engine):
    """`be_atari_setup`.

    Args:
        library: its path, bytes. rom: an `atari.files.Rom`. mode, difficulty: None: the game's own.
        palette: "NTSC", "PAL" or "SECAM". fast, lives, ends_without_lives, settle: see `be_cartridge`.
        observation: one of ATARI_OBSERVATIONS. height, width, stack: None: see `be_atari_setup`.
        actions: what the agent may do; empty: the emulator's minimal actions. layout: 64 bits.
    """

    cdef be_atari_setup setup

    def __cinit__(self, bytes library, rom, *, mode, difficulty, int players, str palette, bint fast, int lives,
                  bint ends_without_lives, int settle, str observation, height, width, stack, actions, uint64_t layout):
        cdef be_atari_setup *setup = &self.setup
        self.given = setup
        cdef bytes path = rom.path, name = rom.name
        self.kept += [library, rom, path, name]
        setup.cartridge.library, setup.cartridge.rom, setup.cartridge.name = library, path, name
        setup.cartridge.mode = -1 if mode is None else mode
        setup.cartridge.difficulty = -1 if difficulty is None else difficulty
        setup.cartridge.players = players
        setup.cartridge.palette = _palettes[palette]
        setup.cartridge.fast = fast
        setup.cartridge.lives = lives
        setup.cartridge.ends_without_lives = ends_without_lives
        setup.cartridge.settle = settle
        setup.observation = ATARI_OBSERVATIONS[observation]
        setup.height, setup.width, setup.stack = height or 0, width or 0, stack or 0
        if len(actions) > BE_NUM_ACTIONS:
            raise ValueError(f"{len(actions)} actions, but a joystick has {BE_NUM_ACTIONS}")
        setup.num_actions = len(actions)
        for i, action in enumerate(actions):
            setup.actions[i] = action
        setup.layout = layout
