"""Texts and paths as parameters of a C file."""

import pickle
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import batchenv
from helpers.begun import begun
from helpers.own_env import ONE_NUMBER
from helpers.processes import command_line, succeeded
from helpers.project import ROOT

# A walker on a line, `level`, whose letters are the rewards of its cells; `extra` names a file with one more letter.
LINE = (
    ONE_NUMBER
    + r"""
#include <stdio.h>
#include <string.h>
enum { GAIN, LEVEL, EXTRA };
static const be_param params[] = {
    [GAIN] = {"gain", BE_PARAM_FLOAT, 1, 0, 10, NULL, "scales rewards"},
    [LEVEL] = {"level", BE_PARAM_TEXT, .text = "abc", .doc = "the cells"},
    [EXTRA] = {"extra", BE_PARAM_TEXT, .doc = "path of a file with one more cell"},
    {0},
};
static int prepare(be_setup *setup, be_error *error) {
    const char *level = setup->texts[LEVEL], *path = setup->texts[EXTRA];
    if (setup->texts[GAIN] != NULL) return be_fail(error, BE_ERROR_VALUE, -1, "a number has a text");
    if (*level == 0) return be_fail(error, BE_ERROR_VALUE, -1, "level='' has no cells: give one letter per cell");
    if (*path) {
        FILE *file = fopen(path, "r");
        if (file == NULL) return be_fail(error, BE_ERROR_VALUE, -1, "extra='%s' cannot be opened", path);
        setup->constants[0] = fgetc(file);
        fclose(file);
    }
    setup->constants[1] = (double)strlen(level);
    be_space_discrete(&setup->space[OBSERVATION], (int64_t)strlen(level));
    return BE_OK;
}
static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        if (rows->skip[k]) continue;
        int64_t *cell = (int64_t *)b->state[0] + i;
        *cell = (*cell + 1) % (int64_t)be_constant_of(b, 1, i);
        rows->reward[k] = (unsigned char)b->texts[LEVEL][*cell] * be_param_of(b, GAIN, i) + be_constant_of(b, 0, i);
        rows->terminated[k] = 0;
        observe(b, &i, 1, rows, error);
    }
    return BE_OK;
}
static const be_id ids[] = {{"Line-v0", 50}, {"LineLong-v0", 50, .settings = {{"level", .text = "abcdef"}}}, {0}};
BE_ENV(line) = {.abi = BE_ABI, .name = "Line", .ids = ids, .ports = ports, .state = state, .params = params,
                .prepare = prepare, .reset = reset, .observe = observe, .step = step};
"""
)


@pytest.fixture(scope="module")
def source(cache):
    (cache / "line.c").write_text(LINE)
    batchenv.compile(cache / "line.c")
    return cache / "line.c"


def rewards(env, steps=4):
    env.reset(seed=0)
    return [env.step(np.zeros(env.num_envs, np.int64))[1].tolist() for _ in range(steps)]


def letters(text, lanes=1, gain=1):
    return [[gain * byte] * lanes for byte in text.encode()]


def test_a_level(source):
    assert rewards(batchenv.make("Line-v0", 3)) == letters("bcab", 3)
    assert rewards(batchenv.make("LineLong-v0", 3)) == letters("bcde", 3)
    env = batchenv.make("Line-v0", 3, level="xyz", gain=[1.0, 2.0, 3.0])
    assert rewards(env, 1) == [[ord("y"), 2 * ord("y"), 3 * ord("y")]]
    assert env.get_params()["level"] == "xyz" and env.get_attr("level") == ("xyz",) * 3 and env.config["level"] == "xyz"
    assert batchenv.make("Line-v0", level="wide" * 50).single_observation_space.n == 200
    assert rewards(batchenv.make("Line-v0", level="aß")) == [[0xC3], [0x9F], [97], [0xC3]]  # UTF-8
    long = "a" * 2**20
    assert batchenv.make("Line-v0", level=long).get_params()["level"] == long


def test_some_lanes_at_a_time(source):
    env = begun(batchenv.make("Line-v0", 40, level="xyz"))
    lanes = np.array([3, 17, 38])
    assert env.step(np.zeros(3, np.int64), lanes)[1].tolist() == [ord("y")] * 3
    sent = batchenv.make("Line-v0", 40, batch_size=8, level="xyz")
    sent.async_reset(seed=0)
    _, _, _, _, infos = sent.recv()
    sent.send(np.zeros(8, np.int64), infos["env_id"])
    assert len(sent.recv()[1]) == 8


def test_a_path(source, tmp_path):
    (tmp_path / "more ß.txt").write_text("Q")
    env = batchenv.make("Line-v0", 2, extra=tmp_path / "more ß.txt", level="aa")
    assert rewards(env, 1) == [[ord("a") + ord("Q")] * 2]
    assert env.get_params()["extra"] == str(tmp_path / "more ß.txt")
    env.set_params(gain=[1.0, 2.0])  # prepare reads it again, for each lane
    assert rewards(env, 1) == [[ord("a") + ord("Q"), 2 * ord("a") + ord("Q")]]
    with pytest.raises(ValueError, match="extra='/nowhere' cannot be opened"):
        batchenv.make("Line-v0", extra=Path("/nowhere"))


def test_pickles_snapshots_and_specs_hold_it(source):
    env = begun(batchenv.make("Line-v0", 2, level="xyz"))
    env.step(np.zeros(2, np.int64))
    copy = pickle.loads(pickle.dumps(env))
    saved = env.snapshot()
    for other in (copy, batchenv.make("Line-v0", 2, level="xyz"), gymnasium.make_vec(env.spec)):
        other.reset(seed=3)
        other.restore(saved)
        assert other.step(np.zeros(2, np.int64))[1].tolist() == [ord("z")] * 2
    with pytest.raises(ValueError, match="not a snapshot for this environment: another text as a parameter"):
        batchenv.make("Line-v0", 2, level="xyq").restore(saved)
    spec = batchenv.make("Line-v0", extra=ROOT / "README.md").spec
    assert gymnasium.envs.registration.EnvSpec.from_json(spec.to_json()).kwargs["extra"] == str(ROOT / "README.md")


@pytest.mark.parametrize(
    "keywords, error, text",
    [
        ({"level": 3}, TypeError, "level=3 must be a str or a path, not int"),
        ({"level": b"abc"}, TypeError, "level=.* must be a str or a path, not bytes"),
        ({"level": None}, TypeError, "must be a str or a path, not NoneType"),
        ({"level": ["abc", "abc"]}, TypeError, "must be a str or a path, not list"),
        ({"level": "a\0b"}, ValueError, r"level has the character \\0 at 1"),
        ({"level": "\ud800"}, ValueError, "level cannot be written as UTF-8"),
        ({"level": "a" * (2**20 + 1)}, ValueError, "level has 1048577 bytes, but a text may have 1048576"),
        ({"level": ""}, ValueError, "level='' has no cells: give one letter per cell"),
    ],
    ids=lambda value: repr(value)[:50],  # the compiler gets it in its environment, which has a limit
)
def test_wrong_texts(source, keywords, error, text):
    with pytest.raises(error, match=text):
        batchenv.make("Line-v0", 2, **keywords)


def test_a_text_is_fixed(source):
    env = batchenv.make("Line-v0", 2, level="xyz")
    before = env.get_params()
    for change in ({"level": "abc"}, {"level": "abc", "gain": 3.0}):
        with pytest.raises(ValueError, match="level cannot be changed once the env is made: make a new one with it"):
            env.set_params(**change)
    assert env.get_params() == before
    env.set_params(**before)


@pytest.mark.parametrize(
    "old, new, text",
    [
        ('"the cells"}', '"the cells", .per_lane = 1}', "is a TEXT, which is set"),
        ('BE_PARAM_TEXT, .text = "abc"', 'BE_PARAM_TEXT, 3, .text = "abc"', "sets a TEXT to a number"),
        ('"scales rewards"}', '"scales rewards", .text = "a"}', r"has a \.text that is not the default of a TEXT"),
        ('{{"level", .text = "abcdef"}}', '{{"level", 3}}', "sets a TEXT to a number"),
        (".params = params,", ".params = params, .options = params + 1,", "can be neither an option"),
    ],
)
def test_tables_that_are_wrong(source, old, new, text, tmp_path):
    assert old in LINE
    (tmp_path / "wrong.c").write_text(LINE.replace(old, new))
    with pytest.raises(ValueError, match=text):
        batchenv.compile(tmp_path / "wrong.c", namespace="wrong")


def test_info_names_them(source):
    shown = succeeded(command_line("info", f"{source}:Line-v0"))
    assert "level = 'abc' (a text or a path): the cells" in shown
