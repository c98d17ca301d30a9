/* Params and options: what they may be, and what prepare() makes of them. */
#ifndef BE_PARAMS_H
#define BE_PARAMS_H

#include "batchenv.h"

enum { BE_MAX_OPTIONS = 128 }; /* of a type's resets */

/* Makes room for the batch's spaces, and copies the map and the texts of be_batch_options. To be called once, before
 * the type's open(). */
int be_params_open(be_batch *batch, const be_grid *grid, const char *const *texts, be_error *error);
void be_params_close(be_batch *batch);

/* Whether it is a value of the param: in its range, whole, an index, as its kind demands. */
int be_param_holds(const be_param *param, double value);

/* Sets all params. Param j is params[j] (`params` NULL: the type's default) in all lanes, or columns[j][i] in lane i if
 * `columns` and columns[j] are not NULL. Params that the batch's agenda sets have a value per lane in any case, and
 * spaces hold what its entries give. Params are checked one by one and by prepare(); on failure the old ones stay.
 */
int be_batch_configure(be_batch *batch, const double *params, const double *const *columns, be_error *error);

/* Sets params number which[k] of one lane to values[k]. To be called for params that the batch's agenda sets, whose
 * entries be_batch_configure has checked. */
int be_lane_configure(be_batch *batch, int64_t lane, const int *which, const double *values, int count,
                      be_error *error);

/* Checks a reset's options. */
int be_batch_check_options(const be_batch *batch, const double *options, be_error *error);

#endif
