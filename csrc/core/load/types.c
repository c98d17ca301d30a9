/* The env types of this build: those compiled for an instruction set, then those compiled once for all. */
#include <string.h>

#include "core/load/types.h"

const be_env_type *be_type_at(const be_isa *isa, int64_t index) {
    const be_library *const libraries[] = {isa->types, &be_library_any};
    for (int k = 0; k < 2; k++) {
        const int64_t count = libraries[k]->end - libraries[k]->begin;
        if (index < count) return libraries[k]->begin[index];
        index -= count;
    }
    return NULL;
}

const be_env_type *be_type_named(const be_isa *isa, const char *name) {
    const be_env_type *type;
    for (int64_t k = 0; (type = be_type_at(isa, k)) && strcmp(type->name, name) != 0; k++) {
    }
    return type;
}
