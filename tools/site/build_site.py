"""Builds the documentation as a site by Sphinx: docs/, docstrings, and pages of environments with pictures.

python tools/site/build_site.py site            # into the folder site/; needs pip install -e ".[site]"

Warnings are errors. Pictures are drawn once and kept in build/site, which makes a second build quick.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS, SOURCE = ROOT / "docs", ROOT / "build" / "site"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="the folder to write; open its index.html")
    parser.add_argument("--builder", default="html", help="html, or linkcheck for links to other sites")
    parser.add_argument("--no-pictures", action="store_true", help="draw none, which takes minutes the first time")
    args = parser.parse_args()
    try:
        from sphinx.cmd.build import main as sphinx
    except ImportError:
        parser.error("Sphinx is missing: pip install -e '.[site]'")

    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # Gymnasium draws with pygame; no window is opened
    os.environ.setdefault("MUJOCO_GL", "egl")
    sys.path.insert(0, str(DOCS / "_site"))
    import catalogue
    import files
    import history

    files.copy(DOCS, SOURCE)
    rates = catalogue.load_rates(DOCS / "benchmarks" / "results.json")
    undrawn = catalogue.write(SOURCE, rates, pictures=not args.no_pictures)
    history.write(SOURCE, ROOT / "asv_bench" / "results")
    if undrawn:
        print(f"{len(undrawn)} environments have no picture")
    shutil.copytree(DOCS / "_site" / "static", SOURCE / "_site" / "static", dirs_exist_ok=True)
    failed = sphinx(["-c", str(DOCS), "-b", args.builder, "-W", "--keep-going", "-q", str(SOURCE), str(args.output)])
    if not failed and args.builder == "html":
        history.publish(args.output / "asv", ROOT / "asv_bench")
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
