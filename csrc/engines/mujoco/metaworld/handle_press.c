/* Meta-World's handle-press. */
#include "engines/mujoco/metaworld/handle.h"

SAWYER_TYPE(handle_press, "HandlePress", "handle-press");
