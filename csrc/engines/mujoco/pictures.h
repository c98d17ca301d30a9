/* Pictures of lanes as observations: MuJoCo's renderer draws them, which Python calls (batchenv/envs/mujoco/pixels.py).
 */
#ifndef BE_MUJOCO_PICTURES_H
#define BE_MUJOCO_PICTURES_H

#include "batchenv.h"

/* Rows of pixels from top to bottom, each of red, green and blue. To be called in prepare(). */
void be_mujoco_picture_space(const be_setup *setup, be_space *space);

/* Draws a lane as its state is now. May be called for several lanes at the same time. */
int be_mujoco_draw(const be_batch *batch, int64_t lane, unsigned char *picture, be_error *error);

#endif
