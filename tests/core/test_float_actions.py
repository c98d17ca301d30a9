"""Actions of float32 and float64, given in either precision: what the env gets, and what is refused."""

import shutil

import numpy as np
import pytest

import batchenv
from batchenv.compiler import build

pytestmark = pytest.mark.skipif(not any(map(shutil.which, build.COMPILERS)), reason="needs a C compiler")

ECHO = """
#include <string.h>
#include "batchenv.h"

enum { ACTION, OBSERVATION };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_BOX(BE_F32, 0, 0, 1)},
    [OBSERVATION] = {"", BE_OBSERVATION, BE_BOX(BE_F32, 0, 0, 1)},
    {0},
};
enum { BYTES, SIZE };
static const be_param params[] = {
    [BYTES] = {"bytes", BE_PARAM_INT, 4, 4, 8, NULL, "per number: 4 or 8"},
    [SIZE] = {"size", BE_PARAM_INT, 1, 1, 3, NULL, "numbers in an action"},
    {0},
};
static const be_field state[] = {{"kept", BE_F64, 3, "the bytes of the last action"}, {0}};

static int prepare(be_setup *setup, be_error *error) {
    const be_dtype dtype = setup->params[BYTES] == 4 ? BE_F32 : BE_F64;
    const int64_t size = (int64_t)setup->params[SIZE];
    be_space_box(&setup->space[ACTION], dtype, 1, &size, -2, 2);
    be_space_box(&setup->space[OBSERVATION], dtype, 1, &size, -INFINITY, INFINITY);
    return BE_OK;
}

static size_t row_bytes(const be_batch *batch) { return (size_t)(batch->params[BYTES] * batch->params[SIZE]); }

static int observe(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    const size_t bytes = row_bytes(batch);
    for (int64_t k = 0; k < count; k++) {
        char *row = (char *)rows->port[OBSERVATION] + (size_t)(lanes[k] - rows->first) * bytes;
        memcpy(row, (double *)batch->state[0] + 3 * lanes[k], bytes);
    }
    return BE_OK;
}

static int step(be_batch *batch, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    const size_t bytes = row_bytes(batch);
    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        rows->terminated[k] = 0;
        if (rows->skip[k]) continue;
        rows->reward[k] = 0;
        memcpy((double *)batch->state[0] + 3 * i, (char *)rows->port[ACTION] + (size_t)k * bytes, bytes);
        observe(batch, &i, 1, rows, error);
    }
    return BE_OK;
}

static const be_id ids[] = {{"EchoOfActions-v0"}, {0}};
BE_ENV(echo) = {.abi = BE_ABI, .name = "EchoOfActions", .ids = ids, .ports = ports, .state = state, .params = params,
                .prepare = prepare, .reset = observe, .observe = observe, .step = step};
"""


@pytest.fixture(scope="module")
def name(tmp_path_factory):
    folder = tmp_path_factory.mktemp("echo")
    (folder / "echo.c").write_text(ECHO)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BATCHENV_CACHE", str(folder))
        return batchenv.compile(folder / "echo.c", cflags="-w").ids[0]


@pytest.fixture(params=[(4, 1), (4, 3), (8, 1), (8, 3)], ids="{0[0]} bytes x {0[1]}".format)
def echo(request, name):
    """An env whose observation is the last action."""
    own, size = request.param
    return batchenv.make(name, 3, bytes=own, size=size)


@pytest.mark.parametrize("given", ["float32", "float64"])
def test_actions_reach_the_env_in_its_own_precision(echo, given):
    actions = np.linspace(-2, 2, 3 * echo.single_action_space.shape[0]).reshape(3, -1) ** 3 / 4
    echo.reset(seed=0)
    expected = actions.astype(given).astype(echo.single_action_space.dtype)
    np.testing.assert_array_equal(echo.step(actions.astype(given))[0], expected)
    np.testing.assert_array_equal(echo.rollout(actions[None].astype(given))[0][0], expected)


@pytest.mark.parametrize("given", ["float32", "float64"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, -2.5, 2.5])
def test_a_component_beyond_the_bounds_is_named(echo, given, wrong):
    echo.reset(seed=0)
    actions = np.zeros((3, *echo.single_action_space.shape), given)
    actions[1, -1] = wrong
    with pytest.raises(ValueError, match=rf"action .* of lane 1 .*component {actions.shape[1] - 1}"):
        echo.step(actions)


def test_bounds_hold_for_the_value_that_the_env_gets(echo):
    """2 + 1e-9 is 2 as float32."""
    echo.reset(seed=0)
    actions = np.full((3, *echo.single_action_space.shape), 2 + 1e-9)
    if echo.single_action_space.dtype == np.float32:
        assert (echo.step(actions)[0] == 2).all()
    else:
        with pytest.raises(ValueError, match="is not between -2 and 2"):
            echo.step(actions)
