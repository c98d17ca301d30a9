"""Writes the list of the checker's rules into docs/reference/conformance.md, below its heading "The rules".

python tools/generate/list_rules.py           writes it
python tools/generate/list_rules.py --print   prints it
"""

import sys
from pathlib import Path

from write_benchmarks import wrapped

from batchenv.check.rules import ALL_MODES
from batchenv.check.run import CHECKS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "conformance.md"
HEADING = "## The rules\n"


def section() -> str:
    contract = sum(check.basis == "contract" for check in CHECKS)
    begin = f"{contract} of the {len(CHECKS)} rules are contract rules; the others are marked as practice."
    lines = [HEADING, wrapped(f"{begin} `--skip NAME` leaves a rule out.") + "\n"]
    theme = None
    for check in CHECKS:
        if check.theme != theme:
            theme = check.theme
            lines.append(f"{theme[0].upper()}{theme[1:]}:\n")
        practice = " (practice)" if check.basis == "practice" else ""
        named = [mode for mode in check.modes if f"{mode}:" not in check.rule]
        modes = f" (Only in {' and '.join(named)}.)" if named and set(check.modes) != set(ALL_MODES) else ""
        last = check is CHECKS[-1] or CHECKS[CHECKS.index(check) + 1].theme != theme
        lines.append(wrapped(f"- **{check.name}**{practice}: {check.rule}{modes}", "  ") + ("\n" if last else ""))
    return "\n".join(lines) + "\n"


def main() -> None:
    if "--print" in sys.argv:
        sys.stdout.write(section())
        return
    text = PAGE.read_text(encoding="utf-8")
    before, _, after = text.partition(HEADING)
    _, heading, rest = after.partition("\n## ")
    PAGE.write_text(f"{before}{section()}{heading[1:]}{rest}", encoding="utf-8")


if __name__ == "__main__":
    main()
