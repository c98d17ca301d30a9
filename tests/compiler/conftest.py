"""What tests of users' own envs share."""

import re
import shutil

import pytest

from batchenv.compiler import CompileError, build, template


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """Little depends on the instruction set, and the headers of wide vectors take most of a compiler's time. Tests of
    what does depend on it ask for `every_isa`."""
    if not any(map(shutil.which, build.COMPILERS)):
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BATCHENV_CACHE", str(folder))
        patch.setenv("BATCHENV_ISA", "baseline")
        yield folder


@pytest.fixture
def every_isa(monkeypatch):
    monkeypatch.delenv("BATCHENV_ISA")


@pytest.fixture
def walk(tmp_path):
    """The C file that `new` writes, of an id that no other test has."""
    name = re.sub(r"\W", "_", tmp_path.name)
    return template.write(f"walk_{name}"[:41], tmp_path)


@pytest.fixture
def sanitizers():
    from batchenv.check.c_file import sanitizer_runtime

    try:
        return sanitizer_runtime()
    except CompileError:
        pytest.skip("the compiler has no sanitizers")
