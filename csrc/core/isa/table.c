/* What core/ calls in this instruction set: its functions and its env types. */
#include "core/isa/isa.h"

const be_isa BE_ISA_NAME(be_isa) = {
    .name = BE_TEXT(BE_ISA_SUFFIX),
    .types = &BE_ISA_NAME(be_library),
    .step = be_isa_step,
    .rollout = be_isa_rollout,
    .check_actions = be_isa_check_actions,
    .probe = be_isa_probe,
};
