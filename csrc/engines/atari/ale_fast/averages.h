/* Leaves out a table that no machine of batchenv's reads. */
#ifndef BE_ALE_AVERAGES_H
#define BE_ALE_AVERAGES_H

/* Finds the entry of the library's linkage table through which it calls the function that fills the table. */
void be_ale_averages_find(void *handle);

/* With skip 1, machines that are made from now on have an empty table; with 0, the library is as it was before. */
void be_ale_averages_skip(int skip);

#endif
