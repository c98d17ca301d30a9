/* Meta-World's handle-press. */
#include "engines/mujoco/metaworld/handle_press.h"

SAWYER_TYPE(handle_press, "HandlePress", "handle-press");
