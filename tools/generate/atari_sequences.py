"""Writes csrc/engines/atari/ale_fast/sequences.h: sequences of instructions that games execute often.

    python tools/generate/atari_sequences.py [--number 400] [--frames 1500]

Plays every game of ale_py with random actions (atari_runs.c counts), each with the same weight. A game's instructions
are then put together into sequences step by step: the two neighbours that stand next to each other most often become
one. It needs a C compiler, and the ROMs and the library that batchenv's Atari games need.
"""

import argparse
import collections
import itertools
import subprocess
import tempfile
from pathlib import Path

from batchenv.envs.atari import files, games

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "csrc/engines/atari/ale_fast"
MOST = 5  # instructions in a sequence


def build(folder):
    """Compiles atari_runs.c."""
    sources = [path for path in (ROOT / FOLDER).glob("*.c") if path.name not in ("attach.c", "program.c")]
    sources += [
        ROOT / "tools/generate/atari_runs.c",
        ROOT / "csrc/core/system/linkage.c",
        ROOT / "csrc/core/system/shared.c",
        ROOT / "csrc/core/error.c",
    ]
    sources += (ROOT / "csrc/engines/atari/ale").glob("*.c")
    program = Path(folder) / "runs"
    command = ["cc", "-std=gnu11", "-O2", "-w", "-D_GNU_SOURCE", f"-I{ROOT}/csrc", f"-I{ROOT}/csrc/include", *sources]
    subprocess.run([*command, "-o", program, "-ldl", "-lm", "-pthread"], check=True)
    return program


def count(program, game, frames):
    """A game's stretches of instructions with their shares."""
    command = [program, files.library_path(), files.rom_path(game), str(frames)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    stretches = [(int(times), tokens) for times, *tokens in map(str.split, lines)]
    total = sum(times * len(tokens) for times, tokens in stretches)
    return [(times / total, tokens) for times, tokens in stretches]


def all_stretches(frames):
    """Those of all games; equal ones are added up."""
    found = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder)
        for game in games.GAMES:
            for share, tokens in count(program, game, frames):
                found[tuple(tokens)] += share / len(games.GAMES)
    return found


def joined(parts, pair):
    """A stretch's parts, in which this pair of neighbours has become one."""
    done, k = [], 0
    while k < len(parts):
        if tuple(parts[k : k + 2]) == pair:
            done.append(parts[k] + parts[k + 1])
            k += 2
        else:
            done.append(parts[k])
            k += 1
    return done


def used(stretches, chosen):
    """How often each sequence is executed where at each place the longest that fits is taken."""
    uses = collections.Counter()
    for tokens, share in stretches.items():
        k = 0
        while k < len(tokens):
            size = next((n for n in range(MOST, 1, -1) if tokens[k : k + n] in chosen), 1)
            uses[tokens[k : k + size]] += share
            k += size
    return uses


def choose(stretches, number):
    """The sequences."""
    parts = {tokens: [(token,) for token in tokens] for tokens in stretches}
    pairs, places = collections.Counter(), collections.defaultdict(set)

    def enter(tokens, sign):
        for pair in itertools.pairwise(parts[tokens]):
            if len(pair[0]) + len(pair[1]) <= MOST:
                pairs[pair] += sign * stretches[tokens]
                places[pair].add(tokens)

    for tokens in stretches:
        enter(tokens, 1)
    chosen = set()
    while len(chosen) < number:
        for _ in range(number - len(chosen)):
            pair = max(pairs, key=lambda pair: (pairs[pair], pair))
            chosen.add(pair[0] + pair[1])
            for tokens in sorted(places.pop(pair)):
                enter(tokens, -1)
                parts[tokens] = joined(parts[tokens], pair)
                enter(tokens, 1)
            pairs.pop(pair, None)
        uses = used(stretches, chosen)
        chosen = {sequence for sequence in chosen if uses[sequence] > 1e-6}
    return sorted(chosen, key=lambda sequence: (len(sequence), sequence))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=400)
    parser.add_argument("--frames", type=int, default=1500)
    parser.add_argument("--to", type=Path, default=ROOT / FOLDER / "sequences.h")
    options = parser.parse_args()
    stretches = all_stretches(options.frames)
    chosen = choose(stretches, options.number)
    uses = used(stretches, set(chosen))
    print(f"{len(chosen)} sequences, {1 / sum(uses.values()):.2f} instructions at once")
    lines = [
        "/* Sequences of instructions that games execute often: for each instruction the opcode and the kind of its",
        " * operand (handlers.h). Made by tools/generate/atari_sequences.py. */",
        "#ifndef BE_ALE_SEQUENCES_H",
        "#define BE_ALE_SEQUENCES_H",
        "",
        "/* clang-format off */",
        "#define BE_ALE_SEQUENCES(TWO, THREE, FOUR, FIVE) \\",
    ]
    names = {2: "TWO", 3: "THREE", 4: "FOUR", 5: "FIVE"}
    rows = [
        f"    {names[len(sequence)]}({', '.join(', '.join(token.split(':')) for token in sequence)})"
        for sequence in chosen
    ]
    lines += [row + " \\" for row in rows[:-1]] + [rows[-1], "/* clang-format on */", "", "#endif"]
    options.to.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
