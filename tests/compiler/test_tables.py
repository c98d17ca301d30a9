"""Tables of users' C files that cannot be what they mean: each is told, with the row and its name."""

import codecs

import numpy as np
import pytest

import batchenv
from batchenv.compiler import CompileError
from helpers.begun import begun
from helpers.own_env import QUICK, edit, made, refused

OBSERVATION = '{"", BE_OBSERVATION, BE_DISCRETE(LENGTH)}'
ACTION = '{"", BE_ACTION, BE_DISCRETE(2)}'
PARAM = '"step_cost", BE_PARAM_FLOAT, 0.01, 0, 1e6, NULL, "taken from the reward of each step"'
COUNTED = ", ".join(str(count) for count in range(1, 34))


@pytest.mark.parametrize(
    ("space", "match"),
    [
        ("BE_BOX(BE_U8, 0, 1000, 3)", "has the bound 1000, which its dtype BE_U8 cannot hold: it goes from 0 to 255"),
        ("BE_BOX(BE_U8, -1, 255, 3)", "has the bound -1, which its dtype BE_U8"),
        ("BE_BOX(BE_U8, 0, 1 / 0.0, 3)", "has the bound inf, which its dtype BE_U8"),
        ("BE_BOX(BE_I8, -129, 0)", "has the bound -129, which its dtype BE_I8 cannot hold: it goes from -128 to 127"),
        ("BE_BOX(BE_BOOL, 0, 2, 3)", "has the bound 2, which its dtype BE_BOOL"),
        ("BE_BOX(BE_I32, -3e9, 0, 3)", r"has the bound -3e\+09, which its dtype BE_I32"),
        ("BE_BOX(BE_I64, 0, 1e19, 3)", r"has the bound 1e\+19, which its dtype BE_I64"),
        ("BE_BOX(BE_F32, -1e300, 0, 3)", r"has the bound -1e\+300, which its dtype BE_F32 .*INFINITY means no bound"),
        ("BE_BOX(BE_I32, 0.5, 2, 3)", "has the bound 0.5, but its dtype BE_I32 has whole numbers only"),
        ("BE_BOX(BE_F32, 0 / 0.0, 1, 3)", "has a bound that is NaN"),
        ("BE_BOX(BE_F32, 1, 0, 3)", "has a low, 1, above its high, 0: exchange them"),
        ("BE_BOX(BE_F32, 0, 1, -3)", "has a number below 0 in its shape"),
        ("BE_BOX(BE_F32, 0, 1, 2, 0, 3)", r"has a 0 in its shape, which only prepare\(\) may set"),
        ("BE_BOX(BE_F32, 0, 1, 1ll << 40, 1ll << 40)", "is too large: the rows of all ports of a lane may have 1 GiB"),
        ("BE_DISCRETE(0)", "has a value with 0 choices: there must be at least 1"),
        ("BE_DISCRETE(-4)", "has a value with -4 choices"),
        ("BE_DISCRETE_FROM(1ll << 62, 3)", r"has values beyond 2\*\*53"),
        ("BE_MULTI_DISCRETE(3, 0)", "has a value with 0 choices"),
        (f"BE_MULTI_DISCRETE({COUNTED})", "has more than 32 values with choices that differ"),
        (".kind = BE_SPACE_MULTI_BINARY, .dtype = BE_F64, .shape = {3}, .high = 1", "has the dtype BE_F64, but a "),
        (".kind = BE_SPACE_DISCRETE, .dtype = BE_F32, .high = 1", "has the dtype BE_F32, but a space of this kind"),
    ],
)
def test_a_space_that_cannot_be_is_told_with_its_port(walk, space, match):
    refused(walk, OBSERVATION, f'{{"", BE_OBSERVATION, {space}}}', rf'row 1 of \.ports \(""\) {match}')


def test_actions_are_told_too(walk):
    edit(walk, ACTION, '{"0", BE_ACTION, BE_DISCRETE(2)}, {"1", BE_ACTION, BE_BOX(BE_F32, 2, 1)}')
    refused(walk, "[OBSERVATION] = {", "{", r'row 1 of \.ports \("1"\) has a low, 2, above its high, 1')


def test_spaces_at_the_limits_of_their_dtypes(walk):
    rows = {
        "bytes": ("BE_U8, 0, 255, 2", 0, 255, np.uint8),
        "flags": ("BE_BOOL, 0, 1, 2", False, True, np.bool_),
        "small": ("BE_I8, -128, 127, 2", -128, 127, np.int8),
        "numbers": ("BE_I64, INT64_MIN, INT64_MAX, 2", -(2**63), 2**63 - 1, np.int64),
        "floats": ("BE_F32, -1 / 0.0, 1 / 0.0, 2", -np.inf, np.inf, np.float32),
    }
    ports = [f'{{"{name}", BE_OBSERVATION, BE_BOX({box})}}' for name, (box, *_) in rows.items()]
    same = f'{{"same", BE_OBSERVATION, BE_MULTI_DISCRETE({"5, " * 39}5)}}'
    edit(walk, OBSERVATION, ", ".join([*ports, same]))
    space = made(walk).single_observation_space
    for name, (_, low, high, dtype) in rows.items():
        part = space[name]
        assert part.dtype == dtype and (part.low == low).all() and (part.high == high).all()
    assert space["same"].nvec.tolist() == [5] * 40


def test_columns_of_the_state_are_aligned(walk):
    """As batchenv.h promises: a type may use vectors on them."""
    fields = (("seen", "BE_BOOL", 1), ("cell", "BE_I64", 1), ("marks", "BE_U8", 5), ("place", "BE_F64", 3))
    rows = ", ".join(f'{{"{name}", {dtype}, {size}, "a field"}}' for name, dtype, size in fields)
    edit(walk, "enum { CELL };", "enum { SEEN, CELL };")
    edit(walk, '[CELL] = {"cell", BE_I64, 1, "where the walker is", 0, LENGTH - 1}', rows)
    last = "    return observe(batch, lanes, count, rows, error);"
    check = """    for (int j = 0; batch->type->state[j].name; j++) {
        if ((uintptr_t)batch->state[j] % 64) return be_fail(error, BE_ERROR_ENGINE, -1, "field %d is not aligned", j);
    }\n"""
    edit(walk, last, check + last)
    (name,) = batchenv.compile(walk, cflags=QUICK).ids
    for lanes in (1, 65, 700):
        begun(batchenv.make(name, lanes))


def test_a_tuple_of_actions_has_ports_of_its_own(walk):
    """One array of a row per lane, and a tuple of a part's values per lane, are of one shape with as many lanes."""
    tuples = '{"", BE_ACTION, BE_TUPLE(2, 3)}'
    refused(walk, ACTION, tuples, r'row 0 of \.ports \(""\) has BE_TUPLE, which is only for a whole observation')
    edit(walk, tuples, '{"0", BE_ACTION, BE_DISCRETE(2)}')
    assert made(walk).single_action_space.spaces


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ('{"a//b", BE_OBSERVATION, BE_DISCRETE(3)}', r'row 2 of \.ports \("a//b"\) has a name with an empty part'),
        ('{"x", BE_INFO, BE_VALUES(BE_F64, -2), .doc = "x"}', r'row 2 of \.ports \("x"\) has a number below 0'),
        ('{"", BE_ACTION, BE_DISCRETE(3)}', "there cannot be ports named '' and '' of one role"),
        (
            '{"x", BE_INFO, .doc = "x"}, {"_x", BE_INFO, .doc = "x"}',
            "'_x' is the mask of the info 'x', .* that have it",
        ),
        ('{"x/y", BE_INFO, .doc = "x"}, {"_x/z", BE_INFO, .doc = "x"}', "'_x' is the mask of the info 'x'"),
        ('{"env_id", BE_INFO, .doc = "x"}', r'row 2 of \.ports \("env_id"\) has the name of what batchenv itself puts'),
        ('{"_final_obs", BE_INFO, .doc = "x"}', r'row 2 of \.ports \("_final_obs"\) has the name of what batchenv'),
        ('{"final_info/x", BE_INFO, .doc = "x"}', r'row 2 of \.ports \("final_info/x"\) has the name of what'),
    ],
)
def test_a_name_of_a_port_that_cannot_be_is_told(walk, more, match):
    refused(walk, f"{OBSERVATION},", f"{OBSERVATION}, {more},", match)


@pytest.mark.parametrize("name", ["episode", "_episode", "episode/r"])
def test_an_info_in_the_place_of_the_statistics_is_told(walk, name):
    """As Gymnasium's RecordEpisodeStatistics does, but before an episode has ended."""
    edit(walk, f"{OBSERVATION},", f'{OBSERVATION}, {{"{name}", BE_INFO, .doc = "x"}},')
    (made_id,) = batchenv.compile(walk, cflags=QUICK).ids
    match = rf"into infos\['episode'\], and type Walk\w+ has the info '{name}' of its own \(row 2 of \.ports\): give"
    with pytest.raises(ValueError, match=match):
        batchenv.make(made_id, 2, record_episode_statistics=True)
    env = begun(batchenv.make(made_id, 2))
    assert name.partition("/")[0] in env.step([0, 1])[4]


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ('"step_cost"', '"lanes"', r"row 1 of \.params \(\"lanes\"\) has the name of a keyword .* set_params takes"),
        ('"step_cost"', '"spec"', r"row 1 of \.params \(\"spec\"\) has the name of an attribute that lanes"),
        ('"cell", BE', '"elapsed_steps", BE', r"row 0 of \.state \(\"elapsed_steps\"\) has the name of an attribute"),
        ('"cell", BE', '"np_random", BE', r"row 0 of \.state \(\"np_random\"\) has the name of an attribute"),
        (
            ".params = params,",
            '.params = params, .options = (const be_param[]){{"reset_mask", BE_PARAM_INT, 0, 0, 1, NULL, "x"}, {0}},',
            r"row 0 of \.options \(\"reset_mask\"\) has the name of the option that chooses lanes",
        ),
        (".state = state,", ".state = state, .frames_per_second = -1,", r"\.frames_per_second must not be below 0"),
    ],
)
def test_a_name_that_batchenv_needs_itself_is_told(walk, old, new, match):
    refused(walk, old, new, match)


CHOICES = '"step_cost", BE_PARAM_CHOICE, 0, 0, 1, (const char *const[]){"a", "%s", NULL}, "which"'


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("bility that", r"bilit\351 that", r'row 0 of \.params \("slip"\) has a doc .* byte 10 is 0xe9, in "prob'),
        ("where the walker is", r"o\370 the walker is", r'row 0 of \.state \("cell"\) has a doc that is not UTF-8'),
        (PARAM, CHOICES % r"\351", r'row 1 of \.params \("step_cost"\) has a choice that is not UTF-8: its byte 0'),
        (PARAM, CHOICES % "a", r'row 1 of \.params \("step_cost"\) has a choice twice'),
        (OBSERVATION, r'{"\351", BE_OBSERVATION, BE_DISCRETE(3)}', r"row 1 of \.ports .* has a name that is not UTF-8"),
        (
            OBSERVATION,
            r'{"", BE_OBSERVATION, BE_TEXTS("a", "\355\240\200")}',
            r"row 1 of \.ports .* has a text that is not UTF-8: its byte 0 is 0xed",
        ),
        (OBSERVATION, rf'{OBSERVATION}, {{"x", BE_INFO, .doc = "\300\200"}}', r"row 2 of \.ports .* a \.doc that is"),
        (".state = state,", r'.state = state, .family = "\377",', r"\.family has a text that is not UTF-8"),
        ("probability that", "p" * 1200, r'row 0 of \.params \("slip"\) has a doc that does not end within 1000 bytes'),
    ],
)
def test_texts_that_are_no_utf8_or_too_long_are_told(walk, old, new, match):
    refused(walk, old, new, match)


def test_texts_of_all_letters(walk):
    doc = "Größe (m), 大きさ, 🎲"
    edit(walk, "probability that", f"{doc}: probability that")
    (name,) = batchenv.compile(walk, cflags=QUICK).ids
    assert batchenv._core.type_info(batchenv.registry.TABLE[name].type_name)["params"][0]["doc"].startswith(doc)


def test_a_file_that_an_editor_has_marked(walk):
    text = walk.read_text(encoding="utf-8")
    walk.write_bytes(codecs.BOM_UTF8 + text.encode())
    (walk.parent / "own.h").write_bytes(codecs.BOM_UTF8 + b"enum { MORE = 1 };\n")
    edit(walk, '#include "batchenv.h"', '#include "own.h"\n#include "batchenv.h"')
    assert made(walk).num_envs == 2
    walk.write_bytes(codecs.BOM_UTF8 + b"int x\n")
    with pytest.raises(CompileError, match=r"\.c:1:\d+: error"):
        batchenv.compile(walk)
    for encoding in ("utf-16", "utf-32", "utf-32-be"):
        mark = codecs.BOM_UTF32_BE if encoding == "utf-32-be" else b""
        walk.write_bytes(mark + text.encode(encoding))
        with pytest.raises(CompileError, match=r"is not UTF-8 but UTF-16 or UTF-32, .*: save it as UTF-8"):
            batchenv.compile(walk)


def test_a_folder_whose_name_is_no_text(walk):
    """Names of files are bytes."""
    folder = walk.parent / "\udcff"
    folder.mkdir()
    moved = walk.rename(folder / walk.name)
    assert made(moved).num_envs == 2


def test_set_attr_says_that_there_is_no_parameter(walk):
    edit(walk, ".params = params,", "")
    edit(walk, "be_param_of(batch, SLIP, i)", "0")
    edit(walk, "be_param_of(batch, STEP_COST, i)", "0")
    env = made(walk)
    with pytest.raises(AttributeError, match=r"Walk\w+-v0 has no parameter 'slip'; it has: none"):
        env.set_attr("slip", 1)
    with pytest.raises(AttributeError, match=r"CartPole-v1 has no parameter 'gravty': did you mean gravity\?"):
        batchenv.make("CartPole-v1").set_attr("gravty", 1.0)


@pytest.mark.parametrize(
    "family, kind", [("MuJoCo", "Runner"), ("Atari", "Atari"), ("Box2D", "Box2D"), ("MiniGrid", "X")]
)
def test_a_family_that_is_built_in_is_a_heading(walk, family, kind):
    """The type needs nothing that batchenv's own types of this family need, and is none of them."""
    name = walk.stem.title().replace("_", "")
    edit(walk, ".state = state,", f'.state = state, .family = "{family}",')
    edit(walk, f'.name = "{name}"', f'.name = "{kind}"')
    (env_id,) = batchenv.compile(walk, cflags=QUICK).ids
    assert env_id in batchenv.list_envs(None)
    plain = begun(batchenv.make(env_id, 2))
    assert plain.step(np.zeros(2, np.int64))[1].shape == (2,)
