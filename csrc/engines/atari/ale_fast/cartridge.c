/* The library describes all pages of the address space anew when a game changes the bank, one call for each page. Here
 * only what differs is changed: where the pages are read from.
 */
#include "engines/atari/ale_fast/cartridge.h"

#ifdef BE_HAVE_ALE_FAST

#include <string.h>

#define BANK_BYTES 4096
#define FIRST_PAGE (ALE_NUM_PAGES / 2)
#define NUM_PAGES (BANK_BYTES / ALE_PAGE_BYTES - 1) /* the last page has the addresses that change the bank */

typedef struct ale_cartridge {
    ale_device device;
    ale_system *system;
    uint8_t locked, others[0x38 - 0x11];
    uint16_t bank;
} ale_cartridge;

static_assert(offsetof(ale_cartridge, locked) == 0x10 && offsetof(ale_cartridge, bank) == 0x38, "the library's layout");

static const struct ale_bank_kind {
    const char *name;
    size_t image;           /* where the banks begin in the object */
    unsigned first, number; /* the address that selects bank 0, those of the others follow; how many banks there are */
} kinds[] = {{"11CartridgeF8", 0x3c, 0xff8, 2}, {"11CartridgeF6", 0x3a, 0xff6, 4}};

static be_ale_console *console_of(const ale_device *device) {
    return (be_ale_console *)((char *)device->functions - ALE_TABLE_FRONT * sizeof(void *) -
                              offsetof(be_ale_console, cartridge_table));
}

static void select_bank(ale_cartridge *cartridge, const struct ale_bank_kind *kind, unsigned bank) {
    if (bank >= kind->number || cartridge->locked || bank == cartridge->bank) return;
    const uint8_t *image = (const uint8_t *)cartridge + kind->image + bank * BANK_BYTES;
    ale_page *pages = cartridge->system->pages + FIRST_PAGE;
    cartridge->bank = (uint16_t)bank;
    for (unsigned k = 0; k < NUM_PAGES; k++) pages[k].peek = image + k * ALE_PAGE_BYTES;
}

static uint8_t peek(ale_device *device, uint16_t address) {
    ale_cartridge *cartridge = (ale_cartridge *)device;
    const struct ale_bank_kind *kind = console_of(device)->cartridge_kind;
    address &= BANK_BYTES - 1;
    select_bank(cartridge, kind, address - kind->first);
    return ((const uint8_t *)cartridge + kind->image)[cartridge->bank * BANK_BYTES + address];
}

static void poke(ale_device *device, uint16_t address, uint8_t value) {
    const struct ale_bank_kind *kind = console_of(device)->cartridge_kind;
    (void)value;
    select_bank((ale_cartridge *)device, kind, (address & (BANK_BYTES - 1)) - kind->first);
}

void be_ale_cartridge_attach(be_ale_console *c) {
    ale_device *device = c->system->pages[ALE_NUM_PAGES - 1].device;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(be_ale_class_of(device), kinds[k].name) != 0) continue;
        uint8_t (*const own_peek)(ale_device *, uint16_t) = peek;
        void (*const own_poke)(ale_device *, uint16_t, uint8_t) = poke;
        c->cartridge_kind = &kinds[k];
        memcpy(c->cartridge_table, (void *const *)device->functions - ALE_TABLE_FRONT, sizeof c->cartridge_table);
        memcpy(&c->cartridge_table[ALE_PEEK], &own_peek, sizeof own_peek);
        memcpy(&c->cartridge_table[ALE_POKE], &own_poke, sizeof own_poke);
        device->functions = (const ale_device_functions *)(c->cartridge_table + ALE_TABLE_FRONT);
    }
}

#endif
