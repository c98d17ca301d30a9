#include "engines/physics/physics.h"

#define NAME(name) #name,
#define ARRAY_NAME(name, count) #name,
const char *const be_physics_size_names[] = {BE_PHYSICS_SIZES(NAME)};
const char *const be_physics_int_names[] = {BE_PHYSICS_INTS(NAME)};
const char *const be_physics_float_names[] = {BE_PHYSICS_FLOATS(NAME)};
const char *const be_physics_array_names[] = {BE_PHYSICS_ARRAYS(ARRAY_NAME)};

int64_t be_physics_array_size(const be_physics_model *m, int array) {
#define SIZE(name, count) (count),
    const int64_t sizes[] = {BE_PHYSICS_ARRAYS(SIZE)};
#undef SIZE
    return sizes[array];
}
