"""Writes the pages of docs/benchmarks/ from the measurements in docs/benchmarks/results.json.

python tools/generate/write_benchmarks.py               # writes all pages
python tools/generate/write_benchmarks.py --bench FILE  # first stores what `batchenv bench all --json FILE` wrote

A test fails if a page is not what this writes. results.json has

    machines    {key: what the machine is}
    pages       {name: {title, text, tables}}; a table is one measurement, with its machine, versions, command and day
    bench       what `python -m batchenv bench all --json FILE` has written; the site's pages of environments show it

A row of a table is a list with a cell per column: a number, a list of numbers, a text, or null where nothing was
measured. Numbers are shown with the digits that they have in the file.
"""

import argparse
import json
import re
import textwrap
from decimal import Decimal
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"
RESULTS = FOLDER / "results.json"
WIDTH = 100
GENERATED = "<!-- Written by tools/generate/write_benchmarks.py from results.json. Change that file, not this page. -->"


def load() -> dict[str, Any]:
    return json.loads(RESULTS.read_text(encoding="utf-8"), parse_float=Decimal)


def pages(results: dict[str, Any]) -> dict[str, str]:
    """{file name: contents} of everything in docs/benchmarks/ but the results themselves."""
    machines = results["machines"]
    written = {f"{name}.md": page_text(page, machines) for name, page in results["pages"].items()}
    rows = [
        f"| [{page['title']}]({name}.md) | {'; '.join(table['title'] for table in page['tables'])} |"
        for name, page in results["pages"].items()
    ]
    index = [*paragraphs(results["text"]), "| page | what was measured |", "|---|---|", *rows]
    return {"README.md": "\n".join([GENERATED, "", "# Measurements", "", *index, ""]), **written}


def page_text(page: dict[str, Any], machines: dict[str, str]) -> str:
    lines = [GENERATED, "", f"# {page['title']}", "", *paragraphs(page["text"])]
    for table in page["tables"]:
        lines += [f"## {table['title']}", "", *paragraphs(table["text"])]
        lines += [*paragraphs([context(table, machines)]), *table_lines(table["columns"], table["rows"])]
        lines += paragraphs(table.get("notes", []))
    return "\n".join(lines).rstrip("\n") + "\n"


def context(table: dict[str, Any], machines: dict[str, str]) -> str:
    """Where, with what and when a table was measured, in one line."""
    versions = ", ".join(f"{name} {version}" for name, version in table["versions"].items())
    parts = [
        f"Machine: {machines[table['machine']]}.",
        f"Versions: {versions}." if versions else "",
        f"Command: `{table['command']}`." if table["command"] else "",
        f"In this repository since {table['recorded']}.",
    ]
    return f"*{' '.join(filter(None, parts))}*"


def table_lines(columns: list[dict[str, str]], rows: list[list[Any]]) -> list[str]:
    """A Markdown table; nothing where a measurement is told in sentences alone."""
    if not columns:
        return []
    numeric = [all(not isinstance(row[place], str) for row in rows) for place in range(len(columns))]
    lines = [
        f"| {' | '.join(column['name'] for column in columns)} |",
        f"|{'|'.join('---:' if right else '---' for right in numeric)}|",
    ]
    for row in rows:
        shown = [cell(value, column.get("unit", "")) for value, column in zip(row, columns, strict=True)]
        lines.append(f"| {' | '.join(shown)} |")
    return [*lines, ""]


def cell(value: Any, unit: str) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return ", ".join(cell(item, unit) for item in value)
    return value if isinstance(value, str) else f"{value:,}{unit}"


def paragraphs(texts: list[str]) -> list[str]:
    """Paragraphs and items of lists, wrapped, each with an empty line after it."""
    lines = []
    for place, text in enumerate(texts):
        item = text.startswith("- ")
        lines.append(wrapped(text, "  " if item else ""))
        if not (item and place + 1 < len(texts) and texts[place + 1].startswith("- ")):
            lines.append("")
    return lines


def wrapped(text: str, indent: str = "") -> str:
    """The text in lines, the second and all further ones indented. Code that is short enough stays in one line."""
    whole = re.sub("`[^`]+`", lambda code: code[0].replace(" ", "\0") if len(code[0]) <= 80 else code[0], text)
    lines = textwrap.fill(whole, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return lines.replace("\0", " ")


def dump(value: Any, indent: str = "") -> str:
    """JSON in which whatever fits into a line is in one, and numbers keep their digits."""
    flat = encode(value)
    if len(indent) + len(flat) <= 118 or not isinstance(value, dict | list):
        return flat
    inner = indent + " "
    if isinstance(value, list) and not any(isinstance(item, str | list | dict) for item in value):
        return textwrap.fill(flat, 118, subsequent_indent=inner)
    if isinstance(value, list):
        items = [f"{inner}{dump(item, inner)}" for item in value]
        return "[\n" + ",\n".join(items) + f"\n{indent}]"
    items = [f"{inner}{json.dumps(key)}: {dump(item, inner)}" for key, item in value.items()]
    return "{\n" + ",\n".join(items) + f"\n{indent}}}"


def encode(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {encode(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(encode, value)) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--bench", type=Path, metavar="FILE", help="what `python -m batchenv bench all --json FILE` wrote"
    )
    args = parser.parse_args()
    results = load()
    if args.bench:
        results["bench"] = json.loads(args.bench.read_text(encoding="utf-8"), parse_float=Decimal)
        RESULTS.write_text(dump(results) + "\n", encoding="utf-8")
    for name, text in pages(results).items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
