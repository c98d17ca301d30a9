/* Meta-World's handle-press-side, where the handle is beside the arm. */
#include "engines/mujoco/metaworld/handle_press.h"

SAWYER_TYPE(handle_press_side, "HandlePressSide", "handle-press-side");
