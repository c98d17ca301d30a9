"""batchenv.compile and batchenv.load: envs from C files that the repository has never seen."""

import functools
import importlib.metadata
import os
import pickle
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import batchenv
from batchenv import _core
from batchenv.compiler import CompileError, build, libraries, template
from batchenv.registry import TABLE
from helpers.begun import begun
from helpers.own_env import edit, refused
from helpers.processes import command_line as run
from helpers.processes import python, run_python, succeeded
from helpers.project import ROOT

ENVS = ROOT / "csrc/envs"


def trajectory(env, steps=60, seed=3):
    """All that the env gives, as bytes."""
    rng, rows = np.random.default_rng(seed), [env.reset(seed=seed)[0].tobytes()]
    for _ in range(steps):
        actions = rng.integers(2, size=env.num_envs)
        rows += [part.tobytes() for part in env.step(actions)[:4]]
    return rows


def length(library):
    """How many cells the walk of a library has."""
    return batchenv.make(library.ids[0]).single_observation_space.n


# ---- what is compiled is as good as what is built in


@pytest.mark.parametrize("isa", ["in use", "baseline"])
def test_a_built_in_env_compiled_as_a_users_gives_the_same_bits(isa, monkeypatch, every_isa):
    batchenv.compile(ENVS / "classic/cartpole.c", namespace="again")
    if isa == "baseline":
        monkeypatch.setenv("BATCHENV_ISA", "baseline")
    lengths = np.linspace(0.3, 0.9, 67)
    for options in ({}, {"autoreset_mode": "SameStep"}, {"length": lengths}, {"max_episode_steps": 7}):
        ours, theirs = batchenv.make("CartPole-v1", 67, **options), batchenv.make("again/CartPole-v1", 67, **options)
        assert trajectory(ours) == trajectory(theirs)


def test_every_env_file_compiles_as_a_users():
    flags = [f"-I{ROOT / 'csrc'}", "-O0"]
    for source in sorted(ENVS.glob("*/*.c")):
        if "be_id " not in source.read_text():
            continue  # a part of other files
        if ".grid" in source.read_text():
            words = r"has a \.grid, which only built-in types|sets something that is not in \.params"
            with pytest.raises(ValueError, match=words):
                batchenv.compile(source, namespace="theirs", cflags=flags)
            continue
        library = batchenv.compile(source, namespace="theirs", cflags=flags)
        for name in library.ids:
            env, ours = batchenv.make(name, 3), batchenv.make(name.removeprefix("theirs/"), 3)
            assert env.observation_space == ours.observation_space and env.action_space == ours.action_space
            modes = ours.metadata["render_modes"] if source.parent.name == "minigrid" else []  # drawn in C
            assert env.metadata == {**ours.metadata, "render_modes": modes}


def test_ids_are_known_everywhere(walk):
    (name,) = batchenv.compile(walk).ids
    assert name in batchenv.list_envs() and name in batchenv.list_envs(None)
    env = gymnasium.make_vec(f"batchenv/{name}", num_envs=5)
    assert isinstance(env, batchenv.BatchEnv) and env.spec.max_episode_steps == 200
    assert gymnasium.make_vec(env.spec).num_envs == 5
    assert trajectory(env) == trajectory(batchenv.make(str(walk), 5)) == trajectory(batchenv.make(f"{walk}:{name}", 5))
    assert gymnasium.make(f"batchenv/{name}").reset(seed=3)[0] == env.reset(seed=3)[0][0]
    namespaced = batchenv.compile(walk, namespace="mine")
    assert namespaced.ids == (f"mine/{name}",)
    assert gymnasium.make_vec(f"batchenv/mine-{name}", num_envs=5).reset(seed=3)[0].shape == (5,)
    assert batchenv.spec(f"batchenv/mine-{name}").id == f"batchenv/mine-{name}"


def test_snapshots_rollouts_async_params_and_transforms(walk, every_isa):
    (name,) = batchenv.compile(walk).ids
    lanes = 70
    slips = np.linspace(0, 0.5, lanes)
    env = begun(batchenv.make(name, lanes, slip=slips, record_episode_statistics=True, frame_stack=2), seed=1)
    snapshot = env.snapshot()
    first = env.rollout(50, policy="random", seed=1)
    env.restore(snapshot)
    second = env.rollout(first.actions)
    np.testing.assert_array_equal(first.observations, second.observations)
    assert first.observations.shape == (50, lanes, 2)
    np.testing.assert_array_equal(env.get_attr("slip"), slips)

    sync, queued = begun(batchenv.make(name, lanes), seed=5), begun(batchenv.make(name, lanes, batch_size=35), seed=5)
    actions = np.random.default_rng(0).integers(2, size=lanes)
    expected = sync.step(actions)
    queued.send(actions, np.arange(lanes))
    seen = np.zeros(lanes, bool)
    while not seen.all():
        observations, *_, infos = queued.recv()
        np.testing.assert_array_equal(observations, expected[0][infos["env_id"]])
        seen[infos["env_id"]] = True


def test_an_env_of_the_template_passes_the_checker(walk, every_isa):
    (name,) = batchenv.compile(walk).ids
    report = batchenv.check_vector_env(lambda autoreset_mode: batchenv.make(name, 3, autoreset_mode=autoreset_mode))
    assert report.passed, report.failures_only()


# ---- compiling again


def test_an_edited_file_replaces_its_ids_and_leaves_old_envs_alone(walk):
    (name,) = batchenv.compile(walk).ids
    twin, old = batchenv.make(name, 9), batchenv.make(name, 9)
    trajectory(twin), trajectory(old)
    edit(walk, '{"slip", BE_PARAM_FLOAT, 0.1', '{"slip", BE_PARAM_FLOAT, 0.7')
    edit(walk, "-v0", "-v1")
    (new,) = batchenv.compile(walk).ids
    assert new == name.replace("-v0", "-v1")
    assert name not in TABLE and f"batchenv/{name}" not in gymnasium.registry
    assert batchenv.make(new, 1).get_attr("slip") == (0.7,) and old.get_attr("slip") == (0.1,) * 9
    assert trajectory(old) == trajectory(twin)
    made_again = pickle.loads(pickle.dumps(old))
    assert made_again.get_attr("slip") == (0.1,) * 9 and trajectory(made_again) == trajectory(twin)


def test_a_header_beside_the_file_counts(walk):
    (walk.parent / "length.h").write_text("enum { LENGTH = 21 };\n")
    edit(walk, "enum { LENGTH = 21 };", '#include "length.h"')
    before = batchenv.compile(walk)
    assert batchenv.compile(walk) is before
    (walk.parent / "length.h").write_text("enum { LENGTH = 31 };\n")
    (name,) = batchenv.compile(walk).ids
    assert batchenv.make(name).single_observation_space.n == 31
    (walk.parent / "length.h").write_text("enum { LENGTH = 21 };\n")
    assert batchenv.compile(walk).path == before.path


@pytest.mark.parametrize("name", ["a$b", "it's", 'a"b c'])
def test_a_header_counts_in_a_folder_of_any_name(tmp_path, monkeypatch, name):
    folder = tmp_path / name
    folder.mkdir()
    walk = template.write(re.sub(r"\W", "_", tmp_path.name)[-40:], folder)
    edit(walk, "enum { LENGTH = 21 };", '#include "own.h"')
    for cells in (9, 15):
        (folder / "own.h").write_text(f"enum {{ LENGTH = {cells} }};\n")
        before = batchenv.compile(walk)
        assert length(before) == cells
    monkeypatch.delattr(build, "_build")  # the compiler is not called again
    assert batchenv.compile(walk) is before


@pytest.mark.skipif(not shutil.which("gcc"), reason="clang does not escape all that gcc does")
def test_depfiles_are_read_as_gcc_writes_them(tmp_path):
    names = ["$", "$$(x)", "\\", "'", '"', " ", "\t", "#", ":", "\\ ", "\\\\ ", "\\#", "\\b c", "% *", "ü", "x" * 200]
    folders = [tmp_path / f"a{name}b" for name in names]
    for k, folder in enumerate(folders):
        folder.mkdir()
        (folder / f"{k}.h").touch()
    text = "".join(f'#include "{k}.h"\n' for k in range(len(names)))
    paths = [word for folder in folders for word in ("-iquote", str(folder))]
    told = build.run(["gcc", *paths, "-MM", "-MT", "object", "-x", "c", "-"], text.encode(), 60)
    read = [name for name in build._depends(told) if name != "-"]
    assert read == [str(folder / f"{k}.h") for k, folder in enumerate(folders)]


def test_a_header_that_is_not_found_is_taken_as_changed(walk):
    """No depfile tells a name that ends with a backslash from one with a space."""
    edit(walk, "enum { LENGTH = 21 };", '#include "own\\"')
    for cells in (9, 15):
        (walk.parent / "own\\").write_text(f"enum {{ LENGTH = {cells} }};\n")
        assert length(batchenv.compile(walk)) == cells


def test_the_cache_spares_the_compiler(walk, monkeypatch):
    path = batchenv.compile(walk).path

    def refuse(*_):
        raise AssertionError("the compiler was called")

    monkeypatch.setattr(build, "_build", refuse)
    assert batchenv.compile(walk).path == path
    with pytest.raises(AssertionError):
        batchenv.compile(walk, cflags=["-DX"])
    monkeypatch.undo()
    for record in Path(path).parent.glob(f"{walk.stem}-*.json"):
        record.write_text("{]")
    assert batchenv.compile(walk).path == path  # made again from what a damaged record no longer tells


@pytest.mark.parametrize("by", ["compiler", "CC"])
def test_flags_in_the_compilers_command_count(walk, monkeypatch, by):
    edit(walk, "enum { LENGTH = 21 };", "enum { LENGTH = CELLS };")
    plain = build.find_compiler()
    for cells in (9, 15, 9):
        command = shlex.join([*plain, f"-DCELLS={cells}"])
        if by == "CC":
            monkeypatch.setenv("CC", command)
        assert length(batchenv.compile(walk, compiler=command if by == "compiler" else None)) == cells


def test_a_pickle_is_not_compiled_with_other_flags(walk):
    edit(walk, "enum { LENGTH = 21 };", "#ifndef CELLS\n#define CELLS 21\n#endif\nenum { LENGTH = CELLS };")
    library = batchenv.compile(walk, compiler=[*build.find_compiler(), "-DCELLS=9"])
    kept = {**library.reference, "path": f"{library.path}.gone"}
    with pytest.raises(ValueError, match="or other flags were in CC or compiler=: make the env anew"):
        libraries.again(kept, library.ids[0])


@pytest.mark.cases(1, per="how")
@pytest.mark.parametrize("size", [0, 100, "a third"])
@pytest.mark.parametrize("how", ["compile", "load", "pickle"])
def test_a_damaged_library_in_the_cache_is_made_again(walk, tmp_path, size, how):
    """Those that are cut short end the process that loads them: this is tried in another one."""
    library, target = batchenv.compile(walk), tmp_path / "copy.so"
    shutil.copy(library.path, target)
    if how == "load":
        library = batchenv.load(target, namespace="copied")
    (tmp_path / "env.pickle").write_bytes(pickle.dumps(batchenv.make(library.ids[0], 3)))
    content = Path(library.path).read_bytes()
    Path(library.path).unlink()  # this process may go on reading what it has loaded
    Path(library.path).write_bytes(content[: len(content) // 3 if size == "a third" else size])
    code = """
import pickle, sys, batchenv
how, source, target, pickled = sys.argv[1:]
if how == "pickle":
    env = pickle.load(open(pickled, "rb"))
else:
    env = batchenv.make(batchenv.load(target).ids[0] if how == "load" else source, 3)
print(env.reset(seed=0)[0].tolist())
"""
    done = run_python(code, how, walk, target, tmp_path / "env.pickle")
    assert done == f"{batchenv.make(library.ids[0], 3).reset(seed=0)[0].tolist()}\n"
    assert Path(library.path).read_bytes() == content


def test_a_user_without_a_home_has_a_temporary_folder(walk, monkeypatch):
    def nobody(_):
        raise KeyError("no such user")

    for name in ("BATCHENV_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    with pytest.warns(RuntimeWarning, match=r"cannot be kept \(HOME is not set, .*let BATCHENV_CACHE name"):
        library = batchenv.compile(walk)
    assert Path(library.path).is_relative_to(build.temporary_folder()) and length(library) == 21


def test_load_what_was_built_elsewhere(walk, tmp_path, every_isa):
    target = tmp_path / "env.so"
    made = run("compile", walk, "-o", target)
    assert made.returncode == 0, made.stderr
    assert f"wrote {target}" in made.stdout
    library = batchenv.load(target)
    assert library.source is None and {"baseline"} < {*library.isas, "any"}
    env = batchenv.make(library.ids[0], 6)
    before = trajectory(env)
    target.unlink()  # a copy is what is used
    assert trajectory(pickle.loads(pickle.dumps(env))) == before


def test_a_file_compiled_by_hand_without_an_instruction_set_is_loaded(walk, tmp_path):
    compiler = build.find_compiler()
    flags = ["-O2", "-shared", "-fPIC", f"-I{build.include_folder()}"]
    subprocess.run([*compiler, *flags, str(walk), "-o", str(tmp_path / "hand.so")], check=True)
    library = batchenv.load(tmp_path / "hand.so", namespace="hand")
    assert library.isas == ("any",)
    assert trajectory(batchenv.make(library.ids[0], 6)) == trajectory(batchenv.make(str(walk), 6))


@pytest.mark.parametrize("gone", ["nothing", "library", "library and edited", "library and source"])
def test_a_pickle_finds_its_code_in_another_process(walk, tmp_path, gone):
    library = batchenv.compile(walk)
    env = begun(batchenv.make(library.ids[0], 6, slip=0.3), seed=1)
    (tmp_path / "env.pickle").write_bytes(pickle.dumps(env))
    if gone != "nothing":
        os.unlink(library.path)
    if gone == "library and edited":
        edit(walk, "arrived - be", "2 * arrived - be")
    if gone == "library and source":
        walk.unlink()
    code = """
import pickle, sys
env = pickle.load(open(sys.argv[1], "rb"))
print(env.step([1] * 6)[0].tolist(), env.get_attr("slip")[0], env.spec.id)
"""
    done = python("-c", code, tmp_path / "env.pickle")
    if gone in ("nothing", "library"):
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"{env.step([1] * 6)[0].tolist()} 0.3 batchenv/{library.ids[0]}\n"
    else:
        words = "has changed since" if gone.endswith("edited") else "is not here either"
        assert words in done.stderr.splitlines()[-1]


def test_packages_of_others_are_found_when_asked_for(walk, monkeypatch):
    broken = importlib.metadata.EntryPoint("games", "no.such:module", "batchenv.envs")
    good = importlib.metadata.EntryPoint("walk", "tests_compile_walk:register", "batchenv.envs")
    monkeypatch.setitem(sys.modules, "tests_compile_walk", type(sys)("tests_compile_walk"))
    sys.modules["tests_compile_walk"].register = lambda: batchenv.compile(walk, namespace="package")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [broken, good])
    monkeypatch.setattr(libraries, "_packages_loaded", False)
    batchenv.make("CartPole-v1").close()  # which needs no package
    with pytest.warns(RuntimeWarning, match=r"the package \?.*entry point games = no\.such:module raised Module"):
        names = [name for name in batchenv.list_envs() if name.startswith("package/")]
    assert len(names) == 1 and batchenv.make(names[0], 2).num_envs == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batchenv.list_envs()  # once is enough


# ---- what goes wrong is told

ROW, CELL, SLIP = "LENGTH)},", '"cell", BE_I64, 1,', "BE_PARAM_FLOAT, 0.1, 0, 1"


def test_compile_errors_point_at_the_users_file(walk):
    line = walk.read_text().splitlines().index("    int64_t *cell = batch->state[CELL];") + 1
    edit(walk, "    int64_t *cell = batch->state[CELL];", "    int64_t *cell = batch->sttate[CELL];")
    words = rf"(?s){re.escape(str(walk))} does not compile:.*walk\w*\.c:{line}:\d+: error"
    with pytest.raises(CompileError, match=words):
        batchenv.compile(walk)
    assert TABLE.keys().isdisjoint([f"{walk.stem}-v0"])


@pytest.mark.parametrize(("text", "name"), [("int clampi(int x) { return x; }", "clampi"), ("int table[3];", "table")])
def test_what_is_not_static_is_told(walk, text, name, every_isa):
    if len(libraries.isas()) == 1:
        pytest.skip("the file is compiled once here")
    edit(walk, "/* 4.", f"{text}\n/* 4.")
    with pytest.raises(CompileError, match=rf"(?s){name}.*\n{name} must be static: .* once per instruction set"):
        batchenv.compile(walk, cflags="-w")


@pytest.mark.parametrize(
    ("statement", "warning"),
    [
        ("int unused;", "unused variable .unused."),
        ('if (begin < 0) return be_fail(error, BE_ERROR_VALUE, -1, "%s", LENGTH);', "format .%s. expects"),
    ],
)
def test_warnings_are_warnings(walk, statement, warning):
    row = "    int64_t *observation = rows->port[OBSERVATION];"
    edit(walk, row, f"{row}\n    {statement}")
    with pytest.warns(UserWarning, match=rf"walk\w*\.c:\d+:\d+: warning: {warning}"):
        batchenv.compile(walk)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        (".abi = BE_ABI,", ".abi = 99,", r"type \?: \.abi must be BE_ABI"),
        (".abi = BE_ABI,", "", r"type \?: \.abi must be BE_ABI"),
        ('.name = "', '.name = "no word ', r"type \?: \.name must be a text of letters, digits and _"),
        (".state = state,", "", r"\.state is missing"),
        (".ports = ports,", "", r"\.ports is missing"),
        ('{"", BE_OBSERVATION,', "{(const char *)8, BE_OBSERVATION,", r"1 of \.ports has a name that is not a text"),
        ('{"", BE_OBSERVATION,', '{"", 9,', r'row 1 of \.ports \(""\) has a role'),
        (ROW, f'{ROW} {{"a//b", BE_INFO, .doc = "x"}},', r'row 2 of \.ports \("a//b"\) has no good name.* with / betw'),
        (ROW, f'{ROW} {{"a/b", BE_REWARD}},', r'row 2 of \.ports \("a/b"\) has no \.doc'),
        (".ids = ids,", "", r"\.ids is missing"),
        (".step = step,", "", r"\.step is missing"),
        (CELL, '"cell", BE_I64, 0,', r'row 0 of \.state \("cell"\) needs a size from 1'),
        (CELL, '"my cell", BE_I64, 1,', r'row 0 of \.state \("my cell"\) has no good name'),
        (CELL, '"cell", 77, 1,', r'row 0 of \.state \("cell"\) has a dtype'),
        (CELL, f'{CELL} (const char *)8, 0, 0}}, {{"x", BE_I64, 1,', "has no doc"),
        ("LENGTH - 1},", "-5},", r'row 0 of \.state \("cell"\) has a low above its high'),
        (SLIP, "BE_PARAM_FLOAT, 1.1, 0, 1", r'row 0 of \.params \("slip"\) sets a value outside'),
        (SLIP, "BE_PARAM_BOOL, 0.1, 0, 1", r'row 0 of \.params \("slip"\) sets a BOOL'),
        (SLIP, "BE_PARAM_CHOICE, 0.1, 0, 1", r'row 0 of \.params \("slip"\) sets a CHOICE'),
        ('"step_cost"', '"slip"', r'row 1 of \.params \("slip"\) has the name of a row before it'),
        ("-v0", "", r'row 0 of \.ids \("Walk\w+"\) needs a name and a version, such as "MyGame-v0"'),
        ('-v0", 200', '-v0", -1', r"max_episode_steps below 0"),
        ('-v0", 200', '-v0", 200, BE_THRESHOLD(__builtin_nan(""))', "reward_threshold that is not"),
        ('-v0", 200', '-v0", 200, .settings = {{"slop", 1}}', r"sets something that is not in \.params"),
        ('-v0", 200', '-v0", 200, .settings = {{"slip", 3}}', r"sets a value outside of low\.\.high"),
        ('-v0", 200', '-v0", 200, .settings = {[1] = {"slip", 0.3}}', "has a setting after an empty one"),
        (".state = state,", ".state = state, .flags = 64,", r"\.flags has bits without a meaning"),
        (".state = state,", '.state = state, .grid = "map",', r"has a \.grid"),
        ("    {0},\n};\n\n/* 3", "    [15] = {0}, {0}, {0},\n};\n\n/* 3", None),
    ],
)
def test_a_bad_table_is_told(walk, old, new, match):
    if match is None:  # rows after the end are not looked at
        edit(walk, old, new)
        batchenv.compile(walk)
    else:
        refused(walk, old, new, match)


@pytest.mark.parametrize(
    "name", ["num_envs", "id", "env_id", "env_type", "seed", "copy", "self", "wrappers", "max_num_players"]
)
def test_a_param_that_no_call_could_set_is_told(walk, name):
    refused(walk, '"step_cost"', f'"{name}"', rf'row 1 of \.params \("{name}"\) has the name of a keyword that make')


def test_types_may_have_128_options(walk):
    rows = [f'    {{"o{k}", BE_PARAM_FLOAT, 0, 0, 1, NULL, "x"}},\n' for k in range(129)]
    edit(walk, "/* 4.", f"static const be_param options[] = {{\n{''.join(rows[:128])}    {{0}},\n}};\n\n/* 4.")
    edit(walk, ".params = params,", ".params = params, .options = options,")
    env = batchenv.make(batchenv.compile(walk).ids[0], 2)
    env.reset(options={"o0": 1, "o127": np.array([0.5, 1.0])})
    with pytest.raises(ValueError, match="reset option o127=2"):
        env.reset(options={"o127": 2})
    refused(walk, rows[127], rows[127] + rows[128], r"row 128 of \.options .* has to end the table")


@pytest.mark.parametrize(
    ("table", "index"), [("ports", 2), ("state", 1), ("params", 2), ("ids", 1), ("options", 0)], ids=lambda case: case
)
def test_a_row_that_is_left_out_is_told(walk, table, index):
    """It is all zeros, as the end of a table is: what comes after it would not be there."""
    if table == "options":
        edit(walk, "/* 4.", "static const be_param options[] = {\n    {0},\n};\n\n/* 4.")
        edit(walk, ".params = params,", ".params = params, .options = options,")
    more = {
        "ports": '{"more", BE_INFO, BE_VALUE(BE_I32), .doc = "x"}',
        "state": '{"more", BE_I64, 1, "x"}',
        "params": '{"more", BE_PARAM_FLOAT, 1, 0, 2, NULL, "x"}',
        "options": '{"more", BE_PARAM_FLOAT, 1, 0, 2, NULL, "x"}',
        "ids": '{"More-v0", 9}',
    }[table]
    before, start, after = walk.read_text().partition(f" {table}[] = {{\n")
    empty = "{.unlisted = 1}" if table == "ids" else '{.doc = "x"}'
    row, following = rf"row {index} of \.{table}", f"[{index + 1}] = {more},\n    {{0}},"
    cases = [
        (following, rf'{row} .* row {index + 1} \("[Mm]ore.* follows'),
        (f"{more},", rf'{row} \("[Mm]ore.*"\) is the last: write .0. after it'),
        (f"{empty},", f"{row} has no name: give"),
    ]
    for k, (end, match) in enumerate(cases):
        changed = walk.with_name(f"{walk.stem[:30]}_{k}.c")
        changed.write_text(before + start + after.replace("{0},", end, 1))
        with pytest.raises(ValueError, match=match):
            batchenv.compile(changed, cflags="-w")


def test_tables_that_cannot_be_measured_are_looked_at_row_by_row(walk):
    """Without optimisation the compiler does not say how large they are."""
    assert batchenv.compile(walk, cflags="-O0").ids
    edit(walk, "[CELL] = {", "[CELL + 1] = {")
    walk_c = re.escape(str(walk))
    with pytest.raises(ValueError, match=rf'^{walk_c}: .*row 0 of \.state has no name, but row 1 \("cell"\) follows'):
        batchenv.compile(walk, cflags="-w")


@pytest.mark.parametrize(
    ("ports", "match"),
    [
        ('{"a", BE_OBSERVATION, BE_DISCRETE(3)}', "cannot be ports named '' and 'a' of one role: one port's name is"),
        ('{"a", BE_INFO, .doc = "x"}, {"a", BE_REWARD, BE_VALUE(BE_F64), .doc = "x"}', "two ports .* of the name 'a'"),
        ('{"a", BE_INFO, .doc = "x"}, {"a/b/c", BE_INFO, .doc = "x"}', "'a' is an array, so there can be no 'a/b/c'"),
        ('{"a", BE_REWARD, BE_VALUE(BE_F32), .doc = "x"}', r'2 of \.ports \("a"\) has further rewards, .* be BE_VALUE'),
    ],
)
def test_ports_that_make_no_infos_are_told(walk, ports, match):
    edit(walk, "LENGTH)},", f"LENGTH)}}, {ports},")
    (name,) = batchenv.compile(walk).ids
    with pytest.raises(ValueError, match=match):
        batchenv.make(name, 2)


def test_an_id_of_another_is_refused(walk, tmp_path):
    (name,) = batchenv.compile(walk).ids
    other = tmp_path / "other.c"
    other.write_text(walk.read_text())
    with pytest.raises(ValueError, match=rf"the id {name} is that of {walk} already: .*namespace='mine'"):
        batchenv.compile(other)
    with pytest.raises(ValueError, match="the id CartPole-v0 is one of batchenv's own already"):
        batchenv.compile(ENVS / "classic/cartpole.c")
    assert TABLE["CartPole-v0"].library is None and str(walk) in TABLE[name].library.source
    for namespace in ("", "a/b", "batchenv", 3, "ALE"):
        with pytest.raises(ValueError, match="namespace="):
            batchenv.compile(other, namespace=namespace)


def test_files_that_are_no_envs(tmp_path, walk):
    empty = tmp_path / "empty.c"
    empty.write_text('#include "batchenv.h"\n')
    with pytest.raises(ValueError, match=r"it holds no env: a C file .* includes batchenv\.h and defines BE_ENV"):
        batchenv.compile(empty)
    with pytest.raises(FileNotFoundError):
        batchenv.compile(tmp_path / "missing.c")
    with pytest.raises(ValueError, match=r"it cannot be loaded: .*invalid ELF header"):
        batchenv.load(walk)
    (tmp_path / "plain.c").write_text("int x;\n")
    subprocess.run([*build.find_compiler(), "-shared", "-fPIC", tmp_path / "plain.c", "-o", tmp_path / "plain.so"])
    with pytest.raises(ValueError, match="it holds no env"):
        batchenv.load(tmp_path / "plain.so")
    whole = (tmp_path / "plain.so").read_bytes()
    for size in (len(whole) - 1, len(whole) // 3, 64):
        (tmp_path / "cut.so").write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"cut\.so: it cannot be loaded: its end is missing"):
            batchenv.load(tmp_path / "cut.so")
    with pytest.raises(ValueError, match=r"has the ids Walk.*: name one, as in"):
        batchenv.make(f"{walk}:Other-v0")


def test_without_a_compiler(walk, monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    with pytest.raises(CompileError, match=r"there is no C compiler here \(cc, gcc, clang .*apt install gcc"):
        batchenv.compile(walk)
    monkeypatch.setenv("CC", "no-such-cc -O2")
    with pytest.raises(CompileError, match="there is no C compiler CC='no-such-cc -O2' here"):
        batchenv.compile(walk)
    with pytest.raises(CompileError, match="there is no C compiler compiler='tcc' here"):
        batchenv.compile(walk, compiler="tcc")


# ---- the command line


def test_new_compile_and_check(tmp_path, cache, every_isa):
    succeeded(run("new", "my_game", cwd=tmp_path))
    again = run("new", "my_game", cwd=tmp_path)
    assert again.returncode == 2 and "my_game.c is there already, and is left as it is" in again.stderr
    made = run("compile", "my_game.c", cwd=tmp_path)
    assert made.returncode == 0 and made.stdout.startswith("MyGame-v0: batchenv.make('MyGame-v0', num_envs)")
    assert made.stderr == ""  # no warnings
    checked = run("check", "my_game.c", "-q", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert checked.stdout.startswith("MyGame-v0 of my_game.c: 3 lanes") and " 0 fail" in checked.stdout
    told = run("info", "my_game.c", cwd=tmp_path)
    assert "slip = 0.1 (0 to 1): probability that a step goes the other way" in told.stdout
    for name in ("my game", "", "7up", "x" * 60, "../up"):
        assert run("new", name, cwd=tmp_path).returncode == 2


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        ("*(volatile int *)0 = 1;", r"the C code broke: .*null pointer.*in step \S*\.c:\d+"),
        ("int a[2]; ((volatile int *)a)[action[k] + 2 * cell[i]] = 1;", r"the C code broke: .*in step \S*\.c:\d+"),
        ('for (;;) __asm__ volatile("" ::: "memory");', r"hung: .*; it was in step \S*\.c:\d+"),
        ("while (be_rng_integers(&batch->rng[i], 0, 9) < 9);", r"hung: .*; it was in step \S*\.c:\d+"),
        ("cell[i] += be_rng_double((be_rng *)8) > 2;", r"the C code broke: .*in step \S*\.c:\d+"),
        ("cell[i] += be_rng_standard_normal((be_rng *)8) > 2;", r"the C code broke: .*in step \S*\.c:\d+"),
    ],
    ids=["null pointer", "out of bounds", "endless loop", "loop in a header", "bad in a header", "bad in the core"],
)
def test_check_says_where_the_c_code_breaks(walk, sanitizers, mistake, words):
    edit(walk, "        const int slips", f"        {mistake}\n        const int slips")
    line = walk.read_text().splitlines().index(f"        {mistake}") + 1
    result = run("check", walk, "-q", "--timeout", "1" if "hung" in words else "5")  # a loop runs for all of it
    assert result.returncode == 1, result.stderr
    assert re.search(words, result.stdout), result.stdout
    assert f"{walk.name}:{line}" in result.stdout and "FAIL  makes_resets_and_steps" in result.stdout
    assert "Traceback" not in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("rows->reward[k] =", "const double lost = ", r'step\(\) .* has not written "rows->reward" of lane 0'),
        ("rows->reward[k] =", "rows->reward[i - i % 8] =", r'"rows->reward" of lane 1'),
        ("    observation[k] =", "    if (k) observation[k] =", r'step\(\) .* written observation "" of lane 0'),
        ("return observe(batch, lanes, count,", "return observe(batch, lanes, count / 2,", r"reset\(\) .* of lane 2"),
        ("if (rows->skip[k]) continue;", "be_rng_double(&batch->rng[i]);", "drawn random numbers for lane"),
        ("= (uint8_t)arrived;", "= 2;", r"set rows->terminated of lane 0 to 2: it must be 0 or 1"),
        ("= arrived - be_param_of", "= 0.0 / 0.0 - be_param_of", r"set rows->reward of lane 0 to NaN"),
        ('[STEP_COST] = {"step_cost"', '// {"step_cost"', r"rows->reward of lane 0 to NaN \(as comes of a param"),
    ],
)
def test_the_check_sees_what_is_not_written(walk, monkeypatch, right, wrong, words):
    """Memory that is not written often holds what it should by accident: the rules of the contract do not see it."""
    edit(walk, right, wrong)
    (name,) = batchenv.compile(walk, cflags="-w").ids
    monkeypatch.setenv("BATCHENV_CHECK_WRITES", "1")
    env = batchenv.make(name, 5, max_episode_steps=3)
    with pytest.raises(ValueError, match=words):
        env.reset(seed=0)
        for _ in range(4):
            env.step(np.ones(5, int))


def test_the_check_sees_rows_of_bytes_that_are_not_written(walk, monkeypatch):
    """A byte may have any value, the pattern's too: only a whole row of it was not written."""
    edit(walk, "BE_DISCRETE(LENGTH)}", "BE_BOX(BE_U8, 0, 255, 5)}")
    edit(walk, "*BE_ROW(int64_t, rows->port[OBSERVATION], rows, lanes[k], 1) =", "for (int j = 0; j < 5; j++)\n")
    edit(walk, " cell[lanes[k]];", "BE_ROW(uint8_t, rows->port[OBSERVATION], rows, lanes[k], 5)[j] = 0;")
    edit(walk, "int64_t *observation", "uint8_t *observation")
    edit(walk, "observation[k] =", "if (be_param_of(batch, STEP_COST, i) > 0) observation[5 * k + 2] = (uint8_t)")
    (name,) = batchenv.compile(walk, cflags="-w").ids
    monkeypatch.setenv("BATCHENV_CHECK_WRITES", "1")
    for cost in (1.0, 0.0):
        env = begun(batchenv.make(name, 5, step_cost=cost))
        if cost:
            assert (env.step(np.ones(5, int))[0] == 0xA5).sum(axis=1).tolist() == [4] * 5
        else:
            with pytest.raises(ValueError, match=r'not written observation "" of lane 0 \(value 0 of its row\)'):
                env.step(np.ones(5, int))


def test_the_check_looks_at_the_lanes_of_each_range(monkeypatch):
    """The second thread's do not begin with lane 0; some have ended, and the last ones are padding."""
    envs = []
    for checked in ("1", "0"):
        monkeypatch.setenv("BATCHENV_CHECK_WRITES", checked)
        envs.append(batchenv.make("FrozenLake-v1", 203, max_episode_steps=3, num_threads=2))
        envs[-1]._backend.core.force_parallel(True)
        envs[-1].reset(seed=0)
    for action in np.random.default_rng(0).integers(4, size=(9, 203)):
        for ours, theirs in zip(*(env.step(action)[:4] for env in envs), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """The id of an env, of which this function fails without a message."""

    @functools.cache
    def compiled(function, flags):
        walk = template.write(f"fails_{function}_{flags}".lower(), tmp_path_factory.mktemp("failing"))
        edit(walk, "/* 4.", "static int prepare(be_setup *setup, be_error *error) {\n    return BE_OK;\n}\n\n/* 4.")
        edit(walk, "    .abi = BE_ABI,", f"    .abi = BE_ABI, .prepare = prepare, .flags = {flags},")
        text = walk.read_text()
        walk.write_text(re.sub(rf"(static int {function}\(.*\n)", r"\1    return -1;\n", text))
        assert walk.read_text() != text
        (name,) = batchenv.compile(walk, cflags="-w").ids
        return name

    return compiled


@pytest.mark.cases(4)
@pytest.mark.parametrize("function", ["step", "reset", "prepare"])
@pytest.mark.parametrize("flags", ["0", "BE_LANE_BY_LANE"])
@pytest.mark.parametrize("lanes", [1, 5000])
def test_a_failure_without_a_message_is_one(failing, function, flags, lanes):
    """A step that returned -1, and had not called be_fail, left the rows of the step before."""
    name = failing(function, flags)
    with pytest.raises((ValueError, RuntimeError), match="has failed without a message: each must return BE_OK"):
        env = begun(batchenv.make(name, lanes))
        env.step(np.ones(lanes, int))


UNTIL_ONE_FITS = """        double draw;
        do draw = be_rng_double(&batch->rng[i]);
        while (draw < 0.5);
"""


def test_a_loop_that_draws_for_padding_ends_and_is_told(walk):
    """Streams of zeros would draw zeros for ever."""
    edit(walk, "        if (rows->skip[k]) continue;\n", UNTIL_ONE_FITS)
    edit(walk, "be_rng_double(&batch->rng[i]) < be_param_of(batch, SLIP, i)", "draw < be_param_of(batch, SLIP, i)")
    code = """
import batchenv, numpy as np, sys
for lanes in (1, 3, 21):
    env = batchenv.make(sys.argv[1], lanes)
    kept = env.reset(seed=0) and env.snapshot()
    env.step(np.ones(lanes, int))
    fresh = batchenv.make(sys.argv[1], lanes)
    fresh.restore(kept)
    fresh.step(np.ones(lanes, int))
    fresh.step([1], env_id=[0])
    env = batchenv.make(sys.argv[1], lanes, batch_size=1)
    env.async_reset(seed=0)
    for _ in range(9):
        env.send([1], env.recv()[4]["env_id"])
"""
    run_python(code, walk)
    told = python("-c", code, walk, BATCHENV_CHECK_WRITES=1)
    assert re.search(r"drawn random numbers for lane 1 of 1, which only fills up a block of 8", told.stderr)


def test_a_port_at_the_end_of_the_enum_without_a_row_breaks_the_check(walk, sanitizers):
    """The table's size cannot tell that it is missing, and a step would write anywhere."""
    edit(walk, "enum { ACTION, OBSERVATION };", "enum { ACTION, OBSERVATION, CELLS };")
    row = "        observation[k] = cell[i];\n"
    edit(walk, row, f"{row}        ((int *)rows->port[CELLS])[k] = 1;\n")
    line = 1 + next(k for k, text in enumerate(walk.read_text().splitlines()) if "port[CELLS]" in text)
    result = run("check", walk, "-q", "--timeout", "5")
    assert result.returncode == 1, result.stderr
    assert f"{walk.name}:{line}" in result.stdout, result.stdout


@pytest.mark.parametrize("every_mode", [False, pytest.param(True, marks=pytest.mark.long)])
def test_all_envs_write_all_outputs(every_mode, monkeypatch):
    monkeypatch.setenv("BATCHENV_CHECK_WRITES", "1")
    names = [name for name in batchenv.list_envs(None) if TABLE[name].library is None]
    modes = ("NextStep", "SameStep", "Disabled")
    for k, name in enumerate([*names, "Synthetic-v0", "SyntheticDict-v0", "SyntheticNested-v0"]):
        for mode in modes if every_mode else [modes[k % 3]]:
            env = batchenv.make(name, 70, autoreset_mode=mode, max_episode_steps=3)
            env.reset(seed=100)  # with which the reference, too, finds every level of BabyAI-SynthS5R2
            for _ in range(7):
                ended = np.logical_or(*env.step(env.action_space.sample())[2:4])
                if mode == "Disabled" and ended.any():
                    env.reset(options={"reset_mask": ended})
            if mode == "NextStep":
                env.rollout(7, policy="random")
                env.restore(env.snapshot())


@pytest.mark.parametrize("role", ["ACTION", "OBSERVATION"])
def test_a_port_that_is_missing_is_named(walk, role):
    text = walk.read_text()
    (row,) = re.findall(rf"^    \[{role}\] = .*\n", text, re.MULTILINE)
    walk.write_text(text.replace(row, ""))
    (name,) = batchenv.compile(walk, cflags=["-w", "-O0"]).ids  # else its size tells that the first row is missing
    with pytest.raises(ValueError, match=f"no port with the role BE_{role}"):
        batchenv.make(name, 2)


TRAIL = {
    '#include "batchenv.h"': """#include "batchenv.h"
#include <string.h>
#define SOMETIMES .when = BE_WHERE_NOT_0, .doc = "."
#define WIDTH batch->space[TRAIL].shape[0]
#define TRAIL_OF(i) BE_ROW(int64_t, rows->port[TRAIL], rows, i, WIDTH)
""",
    "enum { ACTION, OBSERVATION };": "enum { ACTION, OBSERVATION, TRAIL };",
    "BE_DISCRETE(LENGTH)},": """BE_DISCRETE(LENGTH)},
    [TRAIL] = {"trail", BE_INFO, BE_VALUES(BE_I64, 4), SOMETIMES},""",
    "/* 4.": """static int prepare(be_setup *setup, be_error *error) {
    (void)error;
    setup->space[TRAIL].shape[0] = setup->params[STEP_COST] > 1 ? 2 : 4;
    return BE_OK;
}
/* 4.""",
    "        cell[i] = be_rng": """        memset(TRAIL_OF(i), 0, sizeof(int64_t) * (size_t)WIDTH);
        cell[i] = be_rng""",
    "        observation[k] =": """        for (int j = 0; j < WIDTH; j++) TRAIL_OF(i)[j] = right && j ? cell[i] : 0;
        observation[k] =""",
    "    .reset = reset": """    .prepare = prepare,
    .reset = reset""",
}


@pytest.fixture
def trail(walk):
    """The walk with an info of several values, whose number a param decides about."""
    for old, new in TRAIL.items():
        edit(walk, old, new)
    return batchenv.compile(walk).ids[0]


def test_infos_of_several_values_that_are_there_where_one_is_not_0(trail):
    for mode in ("NextStep", "SameStep"):
        env = begun(batchenv.make(trail, 3, slip=0.0, autoreset_mode=mode, max_episode_steps=2))
        infos = env.step([0, 1, 1])[4]
        assert infos["trail"].shape == (3, 4) and infos["_trail"].tolist() == [False, True, True]
        assert infos["trail"][1, 0] == 0 < infos["trail"][1, 1]
        infos = env.step([1, 0, 1])[4]
        infos = infos["final_info"] if mode == "SameStep" else infos
        assert infos["_trail"].tolist() == [True, False, True] and infos["trail"].shape == (3, 4)
        assert "trail" not in env.step([0, 0, 0])[4]


def test_lanes_cannot_have_shapes_of_their_own(trail):
    narrow = begun(batchenv.make(trail, 2, step_cost=2.0))
    assert narrow.rollout([[1, 1]]).infos["trail"].shape == (1, 2, 2)
    with pytest.raises(ValueError, match=r'lane 1 give "trail" another shape or dtype than those of lane 0'):
        batchenv.make(trail, 3, step_cost=[0.0, 2.0, 0.0])
    env = batchenv.make(trail, 3, step_cost=[0.0, 0.5, 0.0])
    with pytest.raises(ValueError, match="lane 2 give"):
        env.set_params(step_cost=[0.0, 0.5, 3.0])
    with pytest.raises(ValueError, match="make a new env"):
        env.set_params(step_cost=3.0)
    env.reset(seed=0)
    assert env.step([1, 1, 1])[4]["trail"].shape == (3, 4)


def test_types_have_one_name_each(walk):
    (name,) = batchenv.compile(walk).ids
    batchenv.compile(walk, namespace="second")
    first, second = TABLE[name].type_name, TABLE[f"second/{name}"].type_name
    assert first != second and second.startswith(first.partition("#")[0])
    assert _core.type_info(first) == _core.type_info(second)
