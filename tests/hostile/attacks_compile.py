"""C files and libraries of users: broken, hostile, changed meanwhile, compiled by several processes at once."""

import os
import shlex
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
from harness import EFFORT, attack, note

import batchenv
from batchenv.compiler import CompileError, build, template
from helpers.begun import begun
from helpers.hostile import clear


def start(name="walk"):
    """A C file that compiles, and a cache of its own."""
    os.environ["BATCHENV_CACHE"] = str(Path("cache").absolute())
    return template.write(name, ".")


def clean_up():
    for path in Path(".").iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def edited(path, *changes):
    text = path.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path.write_text(text)
    return path


def shared(path, *flags):
    """A library made without batchenv's help."""
    target = path.with_suffix(".so")
    own = ["-shared", "-fPIC", f"-I{build.include_folder()}", *flags, str(path), "-o", str(target)]
    subprocess.run([*build.find_compiler(), *own], check=True)
    return target


@attack(needs=("cc",))
def wrong_versions():
    """Of the contract: the whole library, and one type of it."""
    path = start()
    clear(lambda: batchenv.compile(edited(path, (".abi = BE_ABI", ".abi = 9999"))), ValueError, "must be BE_ABI")
    headers = Path("old").absolute()
    shutil.copytree(build.include_folder(), headers)
    edited(headers / "batchenv.h", ("#define BE_ABI 7u", "#define BE_ABI 9u"))
    library = path.with_suffix(".so")
    command = [*build.find_compiler(), "-shared", "-fPIC", f"-I{headers}", str(path), "-o", str(library)]
    subprocess.run(command, check=True)
    clear(lambda: batchenv.load(library), ValueError, "compiled with version 9 of batchenv.h")
    clean_up()


@attack(needs=("cc",))
def tables_without_an_end():
    for k, (old, new) in enumerate(
        (
            ("0, LENGTH - 1},\n    {0},", "0, LENGTH - 1},"),
            ('of each step"},\n    {0},', 'of each step"},'),
            ('-v0", 200},\n    {0},', '-v0", 200},'),
        )
    ):
        path = edited(start(f"walk{k}"), (old, new))
        clear(lambda path=path: batchenv.compile(path), ValueError, "is the last")
        # Where the compiler does not tell a table's size, what comes after it may end it by luck.
        try:
            (name,) = batchenv.compile(path, cflags=["-O0"]).ids
            batchenv.make(name, 3).reset(seed=0)
        except ValueError as error:
            assert "type Walk" in str(error), error
    clean_up()


@attack(needs=("cc",))
def libraries_that_are_no_envs():
    path = start()
    Path("plain.c").write_text("int x;\n")
    clear(lambda: batchenv.load(shared(Path("plain.c"))), ValueError, "it holds no env")
    Path("needy.c").write_text("int missing_function(void); int y(void) { return missing_function(); }\n")
    clear(lambda: batchenv.load(shared(Path("needy.c"))), ValueError, "undefined symbol: missing_function")
    Path("empty.so").touch()
    clear(lambda: batchenv.load("empty.so"), ValueError, "file too short")
    Path("text.so").write_text("no library " * 100)
    clear(lambda: batchenv.load("text.so"), ValueError, "invalid ELF header")
    clear(lambda: batchenv.load("."), OSError, "")
    clear(lambda: batchenv.load("none.so"), OSError, "none.so")
    Path("x.c").write_text("int main(")
    clear(lambda: batchenv.compile("x.c"), CompileError, "x.c:1:")
    Path("zeros.c").write_bytes(b"\0" * 100)
    clear(lambda: batchenv.compile("zeros.c", cflags=["-w"]), ValueError, "it holds no env")
    assert batchenv.compile(path).ids == ("Walk-v0",)
    clean_up()


@attack(needs=("cc",))
def compilers_that_hang_or_lie():
    path = start()
    hanging = Path("hanging").absolute()
    hanging.write_text('#!/bin/sh\n[ "$1" = --version ] && exit 0\nsleep 1000\n')
    hanging.chmod(0o755)
    clear(lambda: batchenv.compile(path, compiler=str(hanging), timeout=1), CompileError, "still running after 1 s")
    hanging.write_text("#!/bin/sh\nexit 0\n")  # says that all went well, and writes nothing
    clear(lambda: batchenv.compile(path, compiler=str(hanging)), CompileError, "wrote no library")
    hanging.write_text("#!/bin/sh\nkill -9 $$\n")
    clear(lambda: batchenv.compile(path, compiler=str(hanging)), CompileError, "C compiler failed")
    plain = {**os.environ, "LD_PRELOAD": ""}  # pgrep under a sanitizer does not end
    assert not subprocess.run(["pgrep", "-f", str(hanging)], capture_output=True, env=plain).stdout
    clean_up()


@attack(needs=("cc",))
def a_cache_that_cannot_be_written():
    import warnings

    path = start()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", RuntimeWarning)
        for folder in ("/proc/none", str(path), "/dev/null/x"):
            os.environ["BATCHENV_CACHE"] = folder
            (name,) = batchenv.compile(path).ids
            assert batchenv.make(name, 2).reset(seed=0)[0].shape == (2,)
        full = Path("full").absolute()
        full.write_text(
            f'#!/bin/sh\ncase "$*" in *{Path("cache").absolute()}*) echo "No space left on device" >&2; exit 1;; esac\n'
            f'exec {shlex.join(build.find_compiler())} "$@"\n'
        )
        full.chmod(0o755)
        os.environ["BATCHENV_CACHE"] = str(Path("cache").absolute())
        assert batchenv.compile(path, compiler=str(full)).ids == ("Walk-v0",)
    assert all("let BATCHENV_CACHE name a folder" in str(warning.message) for warning in seen) and len(seen) == 4
    clean_up()


@attack(needs=("cc",))
def a_file_that_changes_while_it_is_compiled():
    """Whatever was read, the library is that of one version of the file, and the next call has the last one."""
    path, stop = start(), threading.Event()
    versions = [path.read_text().replace("LENGTH = 21", f"LENGTH = {size}") for size in (21, 31, 41)]

    def scribble():
        while not stop.wait(0.01):
            for text in versions:
                Path("next").write_text(text)
                os.replace("next", path)

    writer = threading.Thread(target=scribble)
    writer.start()
    try:
        for _ in range(4):
            (name,) = batchenv.compile(path).ids
            assert batchenv.make(name).single_observation_space.n in (21, 31, 41)
    finally:
        stop.set()
        writer.join()
    path.write_text(versions[1])
    assert batchenv.make(batchenv.compile(path).ids[0]).single_observation_space.n == 31
    clean_up()


@attack(needs=("cc",))
def several_processes_at_once():
    path = start()
    code = f"import batchenv; print(batchenv.make({str(path)!r}, 3).reset(seed=0)[0].tolist())"
    command = [sys.executable, "-c", code]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    results = [process.communicate(timeout=100) for process in running]
    assert len({out for out, _ in results}) == 1 and results[0][0].startswith(b"["), results
    assert len(list(Path("cache").glob("*.so"))) == 1 and not list(Path("cache").glob(".*"))
    clean_up()


@attack(needs=("cc",))
def threads_that_compile_and_step():
    path, problems = start(), []

    def work(k):
        try:
            for _ in range(3):
                (name,) = batchenv.compile(path, namespace=f"n{k % 3}").ids
                env = begun(batchenv.make(name, 70), seed=k)
                env.step(np.ones(70, np.int64))
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems
    clean_up()


@attack(needs=("cc",), error=ValueError, words=("CartPole-v1", "batchenv's own"))
def an_id_that_exists_already():
    path = edited(start(), ("Walk-v0", "CartPole-v1"))
    try:
        batchenv.compile(path)
    finally:
        assert batchenv.make("CartPole-v1", 2).single_observation_space.shape == (4,)
        clean_up()


PORT = '{"", BE_OBSERVATION, BE_DISCRETE(LENGTH)},'
PARAM = '{"step_cost", BE_PARAM_FLOAT, 0.01, 0, 1e6, NULL, "taken from the reward of each step"}'
NUMBERS = (
    "0.0 / 0.0", "1 / 0.0", "-1 / 0.0", "1e300", "-1e300", "0.5", "-1", "0", "300", "1ll << 62", "INT64_MIN",
    "INT64_MAX",
)  # fmt: skip
TEXTS = (
    "NULL", "(const char *)8", '""', '"a\\0b"', '"\\377"', '"\\355\\240\\200"', f'"{"x" * 999}"', f'"{"x" * 5000}"',
    '"ü"', '"/"', '"a//b"', '"0"', '"lanes"', '"episode"', '"final_obs"', '"elapsed_steps"', '"class"',
    '"%s%n%d"', '"\\n"',
)  # fmt: skip


def odd_files():
    """(what is odd, the text of the template that it takes the place of, what is put there)."""
    dtypes = ("BE_BOOL", "BE_U8", "BE_I8", "BE_I32", "BE_I64", "BE_F32", "BE_F64", "77")
    for k, low in enumerate(NUMBERS):
        for high in NUMBERS[k % 3 :: 3]:
            box = f'{{"", BE_OBSERVATION, BE_BOX({dtypes[(k + len(high)) % len(dtypes)]}, {low}, {high}, 2)}},'
            yield f"{low} to {high}", PORT, box
    for number in ("-3", "0", "33", "1 << 30", "1ll << 40", "INT64_MAX"):
        for space in (f"BE_BOX(BE_U8, 0, 1, 2, {number})", f"BE_DISCRETE({number})", f"BE_TUPLE(2, {number})"):
            yield space, PORT, f'{{"", BE_OBSERVATION, {space}}},'
    for text in TEXTS:
        yield f"port {text}", PORT, f"{{{text}, BE_OBSERVATION, BE_DISCRETE(LENGTH)}},"
        yield f"info {text}", PORT, f'{PORT} {{{text}, BE_INFO, .doc = "x"}},'
        yield f"doc {text}", PORT, f'{PORT} {{"x", BE_INFO, .doc = {text}}},'
        yield f"param {text}", PARAM, f'{{{text}, BE_PARAM_FLOAT, 0, 0, 1, NULL, "x"}}'
        choices = f"(const char *const[]){{{text}, NULL}}"
        yield f"choice {text}", PARAM, f'{{"x", BE_PARAM_CHOICE, 0, 0, 0, {choices}, "x"}}'
        yield f"text {text}", PORT, f'{{"", BE_OBSERVATION, BE_TEXTS("x", {text})}},'
        yield f"id {text}", '{"Walk-v0", 200}', f"{{{text}, 200}}"
        yield f"name {text}", '.name = "Walk"', f".name = {text}"
        yield f"family {text}", '.name = "Walk"', f'.family = {text}, .name = "Walk"'
        yield f"state {text}", '"cell", BE_I64', f"{text}, BE_I64"
    for abi in ("0", "2", "-1"):
        yield f"abi {abi}", ".abi = BE_ABI", f".abi = {abi}"
    for table in ("ports", "state", "params", "ids"):
        yield f"no row of {table}", f".{table} = {table}", f".{table} = (const void *)(const char[999]){{0}}"


@attack(needs=("cc", "no sanitizer"), env={"BATCHENV_ISA": "baseline"}, limit=400)
def files_with_odd_tables():
    """Each is taken, or told by the names of its file or type and of its row; which ones, is for tests/compiler."""
    import warnings

    warnings.simplefilter("ignore")
    refused = 0
    cases = list(odd_files())
    random = np.random.default_rng(0)
    chosen = random.permutation(len(cases))[: int(40 * EFFORT)]
    for k in chosen.tolist():
        what, old, new = cases[k]
        note(what)
        path = edited(start(f"walk{k}"), (f"Walk{k}", "Walk"), (old, new), ('"Walk', f'"Walk{k}'))
        try:
            library = batchenv.compile(path, cflags=["-O0", "-w"])
            for name in library.ids:
                env = batchenv.make(name, 3, record_episode_statistics=bool(k % 2))
                repr(env.metadata), repr(env.get_params())
        except CompileError as error:
            assert "text" in what or "abi" in what, error  # not C
        except (ValueError, MemoryError) as error:
            refused += 1
            assert type(error) in (ValueError, MemoryError), f"{type(error)}: {error}"  # not UnicodeDecodeError
            assert f"walk{k}.c" in str(error) or f"type Walk{k}" in str(error), error
    assert refused > len(chosen) / 4
    clean_up()


@attack(needs=("cc",), env={"BATCHENV_ISA": "baseline"}, limit=400)
def files_that_end_the_process_when_they_are_loaded():
    """`check` lives on, whatever a constructor does."""
    from batchenv.check.c_file import check_file

    for k, body in enumerate(("_Exit(0);", "abort();")):
        constructor = f"#include <stdlib.h>\n__attribute__((constructor)) static void at_load(void) {{ {body} }}\n/* 4."
        path = edited(start(f"walk{k}"), ("/* 4.", constructor))
        (report,), notes = check_file(str(path), None, 10, 100)
        assert report.failures and "could not be asked for its ids" in notes[-1], (report, notes)
    clean_up()


@attack(needs=("cc",), env={"BATCHENV_ISA": "baseline"})
def pictures_without_a_size():
    picture = "static void picture(const be_batch *b, int64_t i, int *rows, int *columns, uint8_t *rgb) {{ {} }}\n/* 4."
    for k, body in enumerate(("", "*rows = *columns = -1;", "*rows = 1 << 30, *columns = 1 << 30;", "*rows = 9;")):
        path = edited(start(f"walk{k}"), ("/* 4.", picture.format(body)), (".step = ", ".picture = picture, .step = "))
        env = begun(batchenv.make(batchenv.compile(path, cflags=["-w"]).ids[0], 2, render_mode="rgb_array"))
        clear(env.render, ValueError, "each must be from 1 to 16384")
    clean_up()
