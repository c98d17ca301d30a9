/* The instruction sets that the stages have been compiled for. The build sets BE_HAVE_X86_VECTORS if AVX2 and AVX-512
 * are among them. */

#include <string.h>

#include "engines/physics/physics.h"

extern const be_physics_isa be_physics_isa_baseline;
#ifdef BE_HAVE_X86_VECTORS
extern const be_physics_isa be_physics_isa_avx2, be_physics_isa_avx512;
#endif

const be_physics_isa *be_physics_named(const char *name) {
#ifdef BE_HAVE_X86_VECTORS
    if (strcmp(name, be_physics_isa_avx512.name) == 0) return &be_physics_isa_avx512;
    if (strcmp(name, be_physics_isa_avx2.name) == 0) return &be_physics_isa_avx2;
#endif
    return strcmp(name, be_physics_isa_baseline.name) == 0 ? &be_physics_isa_baseline : NULL;
}
