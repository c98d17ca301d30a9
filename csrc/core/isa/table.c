/* What core/ calls in this instruction set: its functions and its env types. */
#include "core/isa/isa.h"
#include "engines/list.h"
#include "envs/list.h"

#define DECLARE(name) extern const be_env_type BE_ENV(name);
BE_ENV_LIST(DECLARE)
#define POINTER(name) &BE_ENV(name),
#define DECLARE_ENGINE(name) extern const be_env_type be_env_##name;
BE_ENGINE_LIST(DECLARE_ENGINE)
#define ENGINE_POINTER(name) &be_env_##name,
static const be_env_type *const types[] = {BE_ENV_LIST(POINTER) BE_ENGINE_LIST(ENGINE_POINTER) NULL};

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
const be_isa BE_ISA_NAME(be_isa) = {
    .name = TEXT(BE_ISA_SUFFIX),
    .types = types,
    .step = be_isa_step,
    .step_rows = be_isa_step_rows,
    .rollout = be_isa_rollout,
    .check_actions = be_isa_check_actions,
    .probe = be_isa_probe,
};
