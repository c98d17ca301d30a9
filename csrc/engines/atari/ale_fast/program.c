/* Finds a machine's cartridge among the library's objects, and decodes it. */
#include "engines/atari/ale_fast/program.h"

#ifdef BE_HAVE_ALE_FAST
#include "engines/atari/ale_fast/cartridge.h"
#include "engines/atari/ale_fast/handlers.h"
#include "engines/atari/ale_fast/sequences.h"

#include <stdlib.h>
#include <string.h>

/* Other cartridges are left to the interpreter. */
static const ale_cartridge_kind cartridge_kinds[] = {
    {"11Cartridge2K", 56, 0x800, 0x800, 0, 0x800, 0x800, 0x1000, 0},
    {"11Cartridge4K", 56, 0x1000, 0x1000, 0, 0x1000, 0x1000, 0x1000, 0},
    {"11CartridgeF8", 60, 0x2000, 0x1000, 0, 0xff8, 0xff8, 0xff8, 0},
    {"11CartridgeF6", 58, 0x4000, 0x1000, 0, 0xff6, 0xff6, 0xff6, 0},
    {"13CartridgeF8SC", 58, 0x2000, 0x1000, 0x100, 0xff8, 0xff8, 0xef8, 0},
    {"13CartridgeF6SC", 58, 0x4000, 0x1000, 0x100, 0xff6, 0xff6, 0xef6, 0},
    {"11CartridgeE0", 64, 0x2000, 0x400, 0, 0x400, 0x3e0, 0, 0},
    {"11CartridgeFE", 56, 0x2000, 0x1000, 0, 0x1000, 0x1000, 0, 1},
};

/* ---- which handler ----------------------------------------------------------------------------------------- */

enum {
#define FORM_OF(FORM, ...) FORM_##FORM
    FORM_IMMEDIATE,
    FORM_READ,
    FORM_LOAD,
    FORM_WRITE,
    FORM_MODIFY,
    FORM_MODIFY_BOTH,
    FORM_REGISTER,
    FORM_SHIFT,
    FORM_BRANCH,
    FORM_JMP,
    FORM_JMP_INDIRECT,
    FORM_JSR,
    FORM_RTS,
    FORM_BRK,
    FORM_RTI,
    FORM_PHA,
    FORM_PHP,
    FORM_PLA,
    FORM_PLP,
    FORM_HANG
};
enum {
#define MODE_OF(FORM, MODE, ...) MODE_##MODE
    MODE_IMPLIED,
    MODE_IMMEDIATE,
    MODE_ZERO,
    MODE_ZERO_X,
    MODE_ZERO_Y,
    MODE_ABSOLUTE,
    MODE_ABSOLUTE_X,
    MODE_ABSOLUTE_Y,
    MODE_ABSOLUTE_X_READ,
    MODE_ABSOLUTE_Y_READ,
    MODE_INDIRECT_X,
    MODE_INDIRECT_Y,
    MODE_INDIRECT_Y_READ
};

#define EXPANDED(MACRO, ...) MACRO(__VA_ARGS__)
#define FORM(opcode, unused) EXPANDED(FORM_OF, OP_##opcode),
#define MODE(opcode, unused) EXPANDED(MODE_OF, OP_##opcode),
static const uint8_t form_of[256] = {BE_ALE_OPCODES(FORM, )}, mode_of[256] = {BE_ALE_OPCODES(MODE, )};

static unsigned bytes_of(unsigned opcode) {
    if (form_of[opcode] == FORM_JSR) return 3;
    return mode_of[opcode] == MODE_IMPLIED                                               ? 1
           : mode_of[opcode] >= MODE_ABSOLUTE && mode_of[opcode] <= MODE_ABSOLUTE_Y_READ ? 3
                                                                                         : 2;
}

/* A token is an opcode with a kind. */
#define TOKEN(opcode, kind) ((opcode) * NUM_KINDS + (kind))

enum { MOST = 5 }; /* instructions in a sequence */

typedef struct sequence {
    uint16_t tokens[MOST]; /* 0 behind the last one: nothing is decoded as such a token */
} sequence;

/* In the order of the labels in run.c, which begin with one for what is not decoded. */
#define NAMED(opcode, kind) TOKEN(0x##opcode, KIND_##kind)
#define SINGLE(o1, k1) {{NAMED(o1, k1)}},
#define TWO(o1, k1, o2, k2) {{NAMED(o1, k1), NAMED(o2, k2)}},
#define THREE(o1, k1, o2, k2, o3, k3) {{NAMED(o1, k1), NAMED(o2, k2), NAMED(o3, k3)}},
#define FIVE(o1, k1, o2, k2, o3, k3, o4, k4, o5, k5)                                                                   \
    {{NAMED(o1, k1), NAMED(o2, k2), NAMED(o3, k3), NAMED(o4, k4), NAMED(o5, k5)}},
#define FOUR(o1, k1, o2, k2, o3, k3, o4, k4) {{NAMED(o1, k1), NAMED(o2, k2), NAMED(o3, k3), NAMED(o4, k4)}},
static const sequence sequences[] = {{{0}}, BE_ALE_SINGLES(SINGLE) BE_ALE_SEQUENCES(TWO, THREE, FOUR, FIVE)};
#define NUM_SEQUENCES (sizeof sequences / sizeof *sequences)

/* All sequences as a tree: from a node and a token to a node. Node 0 is the root; the handler of a node is the sequence
 * that ends there, or 0. */
typedef struct branch {
    uint16_t node, token, to; /* `to` is 0 where there is no branch */
} branch;

enum { MAX_NODES = MOST * NUM_SEQUENCES, SLOTS = 8192 };
static_assert(MAX_NODES < SLOTS, "the table stays half empty");
static branch branches[SLOTS];
static uint16_t handler_of[MAX_NODES], num_nodes; /* 0: the tree has not been made */
static const int32_t *handlers;

static branch *branch_at(unsigned node, unsigned token) {
    uint32_t slot = (node * 0x9e3779b1u ^ token * 0x85ebca6bu) >> 12 & (SLOTS - 1);
    while (branches[slot].to && (branches[slot].node != node || branches[slot].token != token)) {
        slot = (slot + 1) & (SLOTS - 1);
    }
    return &branches[slot];
}

static void make_tree(void) {
    if (num_nodes) return;
    handlers = be_ale_run_handlers();
    num_nodes = 1;
    for (unsigned i = 1; i < NUM_SEQUENCES; i++) {
        unsigned node = 0;
        for (int k = 0; k < MOST && sequences[i].tokens[k]; k++) {
            branch *b = branch_at(node, sequences[i].tokens[k]);
            if (!b->to) *b = (branch){(uint16_t)node, sequences[i].tokens[k], num_nodes++};
            node = b->to;
        }
        handler_of[node] = (uint16_t)i;
    }
}

/* ---- decoding ---------------------------------------------------------------------------------------------- */

#define LAST_REGISTER 0x2c /* writes to higher ones have no effect */

static int is_ram(unsigned address) { return (address & 0x1280) == 0x80; }

static int is_plain(const ale_cartridge_kind *kind, unsigned offset) {
    const unsigned in_region = offset & (kind->region_bytes - 1);
    const int last = (offset | (kind->region_bytes - 1)) + 1 == kind->bytes;
    return in_region >= kind->first && in_region < (last ? kind->last_end : kind->end);
}

/* Whether the region of the code shows from an address on, for so many bytes. */
static int in_window(const ale_cartridge_kind *kind, unsigned address, unsigned bytes) {
    const unsigned first = 0x1000u + kind->first, from = address & 0x1fff;
    return from >= first && from + bytes <= first + kind->window;
}

/* The kind of the operand of the instruction at this offset; -1 if the interpreter is to execute it. */
static int kind_of(const ale_cartridge_kind *kind, const uint8_t *image, unsigned offset) {
    const uint8_t *code = image + offset;
    const unsigned byte = code[1], word = byte | (unsigned)code[2] << 8, form = form_of[*code];
    switch (mode_of[*code]) {
    case MODE_IMPLIED:
    case MODE_ZERO_X:
    case MODE_ZERO_Y:
    case MODE_INDIRECT_X:
        return KIND_NONE;
    case MODE_IMMEDIATE: {
        if (form != FORM_BRANCH) return KIND_NONE;
        const unsigned next = offset + 2, target = next + (unsigned)(int8_t)byte;
        if ((target ^ offset) & ~(kind->region_bytes - 1) || !is_plain(kind, target)) return -1;
        return (next ^ target) & 0xff00 ? KIND_FAR : KIND_NEAR;
    }
    case MODE_INDIRECT_Y:
    case MODE_INDIRECT_Y_READ:
        return byte >= 0x80 && byte < 0xff ? KIND_NONE : -1;
    case MODE_ZERO:
        if (byte >= 0x80) return KIND_RAM;
        if (form != FORM_WRITE) return KIND_TIA;
        return (byte & 0x3f) <= LAST_REGISTER ? (int)(byte & 0x3f) : KIND_ANY;
    case MODE_ABSOLUTE:
        if (form == FORM_JMP) return KIND_NONE;
        if (form == FORM_JMP_INDIRECT) return is_ram(word) && byte != 0xff ? KIND_RAM : -1;
        if (is_ram(word)) return KIND_RAM;
        if (form == FORM_LOAD && (word & 0x1280) == 0x280 && is_plain(kind, offset + 4) && code[3] == 0xd0 &&
            code[4] == 0xfb) {
            return KIND_IDLE;
        }
        return form != FORM_WRITE && in_window(kind, word, 1) ? KIND_ROM : KIND_ANY;
    default:
        if (form != FORM_READ) return KIND_ANY;
        return in_window(kind, word, 0x100) ? KIND_ROM : word < 0xf00 ? KIND_LOW : KIND_ANY;
    }
}

/* The token of the instruction at this offset, or 0. */
static unsigned token_of(const ale_cartridge_kind *kind, const uint8_t *image, unsigned offset) {
    const unsigned opcode = image[offset], bytes = bytes_of(opcode);
    /* The instruction behind it is decoded, too, and begins in the same region. */
    if (!is_plain(kind, offset) || !is_plain(kind, offset + bytes) ||
        (offset ^ (offset + bytes)) & ~(kind->region_bytes - 1)) {
        return 0;
    }
    const int operand = kind_of(kind, image, offset);
    if (operand < 0) return 0;
    const unsigned token = TOKEN(opcode, (unsigned)operand);
    return branch_at(0, token)->to ? token : 0;
}

static void decode(be_ale_program *program) {
    const ale_cartridge_kind *kind = program->kind;
    const uint8_t *image = program->image;
    for (unsigned offset = 0; offset < kind->bytes; offset++) {
        ale_entry *entry = &program->entries[offset];
        const unsigned word = image[offset + 1] | (unsigned)image[offset + 2] << 8;
        unsigned node = 0, handler = 0, at = offset;
        for (int k = 0; k < MOST; k++) {
            const unsigned token = token_of(kind, image, at);
            node = token ? branch_at(node, token)->to : 0;
            if (node == 0) break;
            if (handler_of[node]) handler = handler_of[node];
            at += bytes_of(image[at]);
        }
        entry->handler = handlers[handler];
        entry->operand = (uint16_t)word;
        entry->low = word & 0x7f;
        entry->opcode = image[offset];
        if (mode_of[image[offset]] == MODE_ABSOLUTE && in_window(kind, word, 1)) {
            entry->low = image[(offset & ~(kind->region_bytes - 1)) | (word & (kind->region_bytes - 1))];
        }
    }
}

/* ---- the cartridges of machines -------------------------------------------------------------------------- */

static be_ale_program *programs; /* all that are in use */

/* Whether the addresses below the cartridge lead where decoded code supposes. */
static int is_usual(const be_ale_console *console) {
    const ale_page *pages = console->system->pages;
    const uint8_t *ram = pages[2].poke;
    for (unsigned p = 0; p < ALE_NUM_PAGES / 2; p++) {
        const unsigned address = p << ALE_PAGE_SHIFT;
        const ale_page *page = &pages[p];
        if (is_ram(address)) {
            const uint8_t *memory = ram + (address & 0x7f);
            if (ram == NULL || page->peek != memory || page->poke != memory) return 0;
        } else if (page->peek || page->poke ||
                   page->device != (address & 0x80 ? pages[0x280 >> ALE_PAGE_SHIFT].device : console->system->tia)) {
            return 0;
        }
    }
    return 1;
}

/* Whether the pages of the cartridge lead into this memory, or nowhere. */
static int is_image(const be_ale_console *console, const ale_cartridge_kind *kind, const uint8_t *image) {
    const ale_page *pages = console->system->pages;
    unsigned inside = 0;
    for (unsigned p = ALE_NUM_PAGES / 2; p < ALE_NUM_PAGES; p++) {
        const uintptr_t offset = (uintptr_t)pages[p].peek - (uintptr_t)image;
        if (pages[p].peek == NULL || offset >= kind->bytes) continue;
        if ((offset ^ p << ALE_PAGE_SHIFT) & (kind->region_bytes - 1)) return 0;
        inside++;
    }
    return inside > 0 || kind->by_address;
}

static be_ale_program *make_program(const ale_cartridge_kind *kind, const uint8_t *image) {
    const size_t entries = (kind->bytes + 3) * sizeof(ale_entry);
    be_ale_program *program = calloc(1, sizeof *program + entries + kind->bytes + 8);
    if (program == NULL) return NULL;
    uint8_t *copy = (uint8_t *)program->entries + entries;
    memcpy(copy, image, kind->bytes);
    program->kind = kind;
    program->image = copy;
    make_tree();
    decode(program);
    program->next = programs;
    programs = program;
    return program;
}

int be_ale_program_attach(be_ale_console *console) {
    console->program = NULL;
    console->image = NULL;
    const ale_device *device = console->system->pages[ALE_NUM_PAGES - 1].device;
    if (console->picture == NULL || !is_usual(console)) return 0;
    for (size_t k = 0; k < sizeof cartridge_kinds / sizeof *cartridge_kinds; k++) {
        const ale_cartridge_kind *kind = &cartridge_kinds[k];
        const uint8_t *image = (const uint8_t *)device + kind->image;
        if (strcmp(kind->class_name, be_ale_class_of(device)) != 0 || !is_image(console, kind, image)) continue;
        be_ale_program *program = programs;
        while (program && (program->kind != kind || memcmp(program->image, image, kind->bytes) != 0)) {
            program = program->next;
        }
        if (program == NULL) program = make_program(kind, image);
        if (program == NULL) return 0; /* the machine works without it */
        program->users++;
        console->program = program;
        console->image = image;
        return 1;
    }
    return 0;
}

void be_ale_program_detach(be_ale_console *console) {
    be_ale_program **place = &programs;
    while (*place && *place != console->program) place = &(*place)->next;
    console->program = NULL;
    if (*place == NULL || --(*place)->users) return;
    be_ale_program *unused = *place;
    *place = unused->next;
    free(unused);
}

#endif
