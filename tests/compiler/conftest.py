"""What tests of users' own envs share."""

import re

import pytest

from batchenv.compiler import CompileError, template


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BATCHENV_CACHE", str(folder))
        yield folder


@pytest.fixture
def walk(tmp_path):
    """The C file that `new` writes, of an id that no other test has."""
    name = re.sub(r"\W", "_", tmp_path.name)
    return template.write(f"walk_{name}"[:41], tmp_path)


@pytest.fixture
def baseline(monkeypatch):
    """For what does not depend on the instruction set: the headers of wide vectors take most of a compiler's time."""
    monkeypatch.setenv("BATCHENV_ISA", "baseline")


@pytest.fixture
def sanitizers():
    from batchenv.check.c_file import sanitizer_runtime

    try:
        return sanitizer_runtime()
    except CompileError:
        pytest.skip("the compiler has no sanitizers")
