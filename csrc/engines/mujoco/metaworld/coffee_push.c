/* Meta-World's coffee-push: the hand is to push a mug under the spout of a coffee machine. */
#include "engines/mujoco/metaworld/coffee.h"

static const sawyer_task task = {.hand = {0, 0.4, 0.2},
                                 SAWYER_USUAL_BOUNDS,
                                 .placed = 1,
                                 .place_at = 3,
                                 .place_by = {0, 0.22, 0},
                                 .squeezed = MUG_GEOM,
                                 .begin = coffee_begin,
                                 .object = coffee_object,
                                 .judge = coffee_judge};
SAWYER_TYPE(coffee_push, "CoffeePush", "coffee-push");
