"""No module of batchenv needs one that needs it: read from the source, imports inside of functions too."""

import ast
import re
from pathlib import Path

from helpers.project import ROOT

FOLDER = ROOT / "batchenv"
COMPILED = "batchenv._core"
# Every .py file but those of batchenv/_moved, which stand for modules elsewhere.
FILES = {
    ".".join(["batchenv", *path.relative_to(FOLDER).with_suffix("").parts]).removesuffix(".__init__"): path
    for path in sorted(FOLDER.rglob("*.py"))
    if path.relative_to(FOLDER).parts[0] != "_moved" or (path.parent.name == "_moved" and path.stem == "__init__")
}
FILES[COMPILED] = FOLDER


def imports(module: str, files: dict[str, Path]) -> set[str]:
    """The modules of `files` that the source of `module` imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(source(files[module]))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            # "from package import name": the module of that name, or else the package's own contents.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in files else node.module for name in names]
        else:
            continue
        found.update(name for name in names if name in files)
    return found - {module}


def source(path: Path) -> str:
    """Python's source; of a folder, the imports of the Cython files in it."""
    if not path.is_dir():
        return path.read_text()
    files = [
        file for pattern in ("_core*.p[xy]*", "_core/*.p[xy]*") for file in path.glob(pattern) if file.suffix != ".pyi"
    ]
    lines = [line.strip() for file in files for line in file.read_text().splitlines()]
    return "\n".join(line for line in lines if re.fullmatch(r"(from batchenv[\w.]* )?import [\w., ]+", line))


def cycle(files: dict[str, Path]) -> list[str]:
    """A circle of modules, each of which imports the next; [] where there is none."""
    graph, done = {module: imports(module, files) for module in files}, set()

    def visit(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return []
        for other in sorted(graph[module]):
            if found := visit(other, [*path, module]):
                return found
        done.add(module)
        return []

    return next(filter(None, (visit(module, []) for module in graph)), [])


def test_imports_go_one_way():
    assert {"batchenv.registry"} <= imports("batchenv.make", FILES), "the test reads no Python"
    assert {"batchenv.values"} <= imports(COMPILED, FILES), "the test reads no Cython"
    assert cycle(FILES) == []


def test_a_circle_is_found(tmp_path):
    sources = {"a": "import b", "b": "def late():\n    from c import x", "c": "from a import y", "d": "import a"}
    for name, source in sources.items():
        (tmp_path / f"{name}.py").write_text(source)
    assert cycle({name: tmp_path / f"{name}.py" for name in sources}) == ["a", "b", "c", "a"]


def test_only_make_brings_ids_envs_and_other_apis_together():
    """Ids know no envs, and envs know no other API; what else brought all three together would be a second `make`."""
    outside = {module for module in FILES if not module.startswith("batchenv.integrations")}
    knows = {module: imports(module, FILES) for module in outside}
    users = {module for module in outside if knows[module] - outside}
    assert "batchenv.env" not in knows["batchenv.registry"] and "batchenv.registry" in knows["batchenv.origins"]
    assert {module for module in users if {"batchenv.env", "batchenv.registry"} <= knows[module]} == {
        "batchenv",  # whose names are theirs
        "batchenv.make",
    }
    assert "batchenv.env" not in users and "batchenv.registry" not in users
