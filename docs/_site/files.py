"""Links from pages to files outside docs/ stay links on the site: to the file's own page there.

A page may link to [ppo.py](../examples/ppo.py), as GitHub needs it. On the site, CONTRIBUTING.md and CHANGELOG.md are
pages, README.md is the first page, a file of code gets a page that shows it, and a folder one that lists its files."""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = {"README.md": "index", "CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changes"}
LANGUAGES = {".py": "python", ".c": "c", ".h": "c", ".pyx": "cython", ".toml": "toml", ".sh": "bash"}
LINK = re.compile(r"\]\((?P<path>\.\.?/[^)\s#]*|[A-Za-z_.][^)\s#:]*)?(?P<anchor>#[^)\s]*)?\)")


class Rewriter:
    """Rewrites the links of one build, and remembers for which files pages are needed."""

    def __init__(self, docs: Path) -> None:
        self.docs = docs
        self.shown: dict[str, Path] = {}

    def rewrite(self, text: str, page: str, folder: Path) -> str:
        """`text`, of the page `page`, whose links are relative to `folder`."""
        here = Path(page).parent

        def link(found: re.Match[str]) -> str:
            path, anchor = found["path"], found["anchor"] or ""
            if not path or "://" in path:
                return found[0]
            target = (folder / path).resolve()
            if not target.exists() or not target.is_relative_to(ROOT):
                return found[0]
            name = self._page(target)
            if name is None:
                relative = os.path.relpath(target, self.docs / here)
                return f"]({relative}{anchor})"
            if name == "index" and anchor:
                name = "readme"
            return f"]({os.path.relpath(name, here)}.md{anchor})"

        parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
        return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)

    def _page(self, target: Path) -> str | None:
        """The page that shows a file or folder outside of docs/; None for pictures."""
        relative = target.relative_to(ROOT).as_posix()
        if relative == "docs/README.md":
            return "index"
        if relative.startswith("docs/") and target.suffix == ".md":
            return relative.removeprefix("docs/").removesuffix(".md")
        if relative in PAGES:
            return PAGES[relative]
        if target.suffix in (".png", ".webp", ".svg"):
            return None
        name = f"files/{relative.replace('/', '--').rstrip('-')}"
        self.shown[name] = target
        return name


def page_of(target: Path) -> str:
    """The page of a file of code, or of a folder."""
    title = target.relative_to(ROOT).as_posix()
    if target.is_dir():
        names = "\n".join(f"- `{path.relative_to(ROOT)}`" for path in sorted(target.rglob("*")) if path.is_file())
        return f"---\norphan: true\n---\n\n# {title}/\n\n{names}\n"
    language = LANGUAGES.get(target.suffix, "text")
    fence = "`" * 6
    return f"---\norphan: true\n---\n\n# {title}\n\n{fence}{language}\n{target.read_text(encoding='utf-8')}\n{fence}\n"


def write_if_new(path: Path, text: str) -> None:
    """Leaves a file alone that has this text already, so that Sphinx does not build its page again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def copy(docs: Path, build: Path) -> None:
    """Copies all pages to `build`, the folder that Sphinx reads, with their links rewritten."""
    rewriter = Rewriter(build)
    pages = {path.relative_to(docs).as_posix().removesuffix(".md"): path for path in docs.rglob("*.md")}
    pages.pop("README", None)
    pages |= {PAGES[name]: ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md")}
    pages["readme"] = ROOT / "README.md"
    for name, path in sorted(pages.items()):
        text = rewriter.rewrite(path.read_text(encoding="utf-8"), name, path.parent)
        write_if_new(build / f"{name}.md", ("---\norphan: true\n---\n\n" if name == "readme" else "") + text)
    for name, target in rewriter.shown.items():
        write_if_new(build / f"{name}.md", page_of(target))
    for path in docs.glob("*.png"):
        (build / path.name).write_bytes(path.read_bytes())
