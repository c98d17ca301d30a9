"""Prints the verdicts on attacks: python tests/hostile/run.py [PATTERN] [-v]. Status 1 if one is not as expected."""

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import harness


def main() -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="", help="only attacks whose name contains this")
    parser.add_argument("-v", "--verbose", action="store_true", help="all that is known of the unexpected")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="how many at a time")
    arguments = parser.parse_args()

    def timed(found):
        if missing := found.missing():
            return harness.Verdict(f"(no {missing})"), 0.0
        start = time.monotonic()
        return harness.run(found), time.monotonic() - start

    unexpected = 0
    attacks = harness.load(arguments.pattern)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for found, (verdict, seconds) in zip(attacks, pool.map(timed, attacks), strict=True):
            good = verdict.verdict == found.expected or verdict.verdict.startswith("(")
            unexpected += not good
            print(f"{'  ' if good else '! '}{found.name:60} {seconds:5.1f} s  {verdict.verdict}", flush=True)
            if not good:
                lines = verdict.details.strip().splitlines()
                summary = lines[:2] if verdict.verdict in ("killed", "hangs") else lines[-3:]
                for line in lines if arguments.verbose else summary:
                    print(f"      {line}", flush=True)
    print(f"{len(attacks)} attacks, {unexpected} of them not as expected")
    return unexpected > 0


if __name__ == "__main__":
    sys.exit(main())
