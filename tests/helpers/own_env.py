"""C files of users' own envs."""

import pytest

import batchenv

QUICK = ["-w", "-O0"]  # flags of the compiler, for its least time

# The beginning of a file whose lanes have one number, which is what they observe, and 0 after a reset.
ONE_NUMBER = r"""
#include "batchenv.h"
enum { ACTION, OBSERVATION };
static const be_port ports[] = {{"", BE_ACTION, BE_DISCRETE(2)}, {"", BE_OBSERVATION, BE_DISCRETE(1)}, {0}};
static const be_field state[] = {{"cell", BE_I64, 1, "where the lane is"}, {0}};
static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    for (int64_t k = 0; k < count; k++) {
        *BE_ROW(int64_t, rows->port[OBSERVATION], rows, lanes[k], 1) = ((int64_t *)b->state[0])[lanes[k]];
    }
    return BE_OK;
}
static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    for (int64_t k = 0; k < count; k++) ((int64_t *)b->state[0])[lanes[k]] = 0;
    return observe(b, lanes, count, rows, error);
}
"""


def edit(path, old, new):
    """Replaces a text of a file, which must have it."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def made(path):
    """Two lanes of the file's env."""
    (name,) = batchenv.compile(path, cflags=QUICK).ids
    return batchenv.make(name, 2)


def refused(path, old, new, match):
    """Replaces a text of a file, of which no env can be made then."""
    edit(path, old, new)
    with pytest.raises(ValueError, match=match):
        made(path)
