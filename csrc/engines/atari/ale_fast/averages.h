/* A way around a table that no machine of ours reads. */
#ifndef BE_ALE_AVERAGES_H
#define BE_ALE_AVERAGES_H

/* Finds the entry of the library's linkage table through which it calls the function that fills the table. */
void be_ale_averages_find(void *handle);

/* 1: machines that are made from here on have an empty table; 0: the library is as it was. */
void be_ale_averages_skip(int skip);

#endif
