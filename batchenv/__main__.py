"""`python -m batchenv`: lists and describes environments, measures them, checks vector envs, evaluates policies, and
compiles your own."""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from gymnasium.error import DependencyNotInstalled

import batchenv
from batchenv.catalog import lookup
from batchenv.cli.describe import families, info_lines, installed, list_lines, matching, typical
from batchenv.compiler.libraries import find
from batchenv.registry import TABLE, family_of


def compiler_flags(text: str) -> list[str]:
    """More flags for the compiler, as a shell divides them into words."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be divided into flags: {error}") from None


def keyword(text: str) -> tuple[str, Any]:
    """A keyword of `make` and its value: a number, a list and so on as Python writes them, everything else a text."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} must be a keyword of make and its value: xml_file=robot.xml")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def environment_id(text: str, cflags: Sequence[str] = ()) -> str:
    """The plain id that an argument means; a C file is compiled with these flags.

    Raises:
        ValueError, OSError: there is no such id or file, or it does not compile.
    """
    if not cflags:
        return lookup(text)[0]
    if not is_c_file(text):
        raise ValueError(f"--cflags is for C files, and {text} is none: leave it out")
    return find(text, cflags)[0]


def is_c_file(text: str) -> bool:
    """Whether an argument is a C file, or an id in one: "my_env.c:MyEnv-v0"."""
    return re.search(r"\.c(:|$)", text) is not None


def environments(text: str, cflags: Sequence[str]) -> list[str]:
    """The ids that an argument of `bench` means: one, or typical ones of a family or of all that are installed."""
    found = families()
    if text == "all":
        usable = (ids for ids in found.values() if installed(TABLE[ids[0]].family))
        return [name for ids in usable for name in typical(ids)]
    chosen = next((ids for family, ids in found.items() if family.lower() == text.lower()), None)
    return [environment_id(text, cflags)] if chosen is None else typical(chosen)


def positive_int(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 1 <= value < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} must be an integer from 1 to {2**31 - 1}")
    return value


def lane_counts(text: str) -> list[int]:
    return [positive_int(part.strip()) for part in text.split(",")]


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number of seconds, above 0 and at most 3600")
    return value


def confidence(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number between 0 and 1, such as 0.95")
    return value


def print_build() -> None:
    from batchenv.cli.bench import environment

    about = environment()
    lines = {
        **about["build_info"],
        **about["versions"],
        **{key: about[key] for key in ("platform", "cpu", "cpu_count")},
    }
    for key, value in lines.items():
        print(f"{key}: {'not installed' if value is None else value}")


def refuse_unwritable(parser: argparse.ArgumentParser, *paths: str | None) -> None:
    """Ends the program if one of these files could not be written: before minutes of work, not after."""
    for path in filter(None, paths):
        folder = os.path.dirname(os.path.abspath(path))
        if not os.path.isdir(folder):
            parser.error(f"cannot write {path}: there is no folder {folder}")
        if os.path.isdir(path):
            parser.error(f"cannot write {path}: it is a folder; name a file in it")


def bench(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    from batchenv.cli import bench, report

    ids = [env_id for text in options.ids for env_id in environments(text, options.cflags)]
    refuse_unwritable(parser, options.json, options.plot, options.report)
    if options.plot and (problem := bench.plot_problem(options.plot)):
        parser.error(problem)
    ids = ids or batchenv.list_envs(None)
    plan = []
    for env_id in dict.fromkeys(ids):
        entry = TABLE[env_id]
        default = (family_of(entry.family).bench_lanes,)
        if env_id == "CartPole-v1" and not options.ids:
            default = (1, 64, 4096, 65536)
        plan += [(env_id, lanes) for lanes in options.lanes or default]
    result = bench.run(plan, options.threads, options.seconds, options.compare, dict(options.keywords))
    print(bench.table(result["rows"]))
    print()
    for note in (bench.how(result), *dict.fromkeys(note for row in result["rows"] for note in row["notes"])):
        print(note)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
        print(f"wrote {options.json}")
    if options.plot:
        bench.plot(result["rows"], options.plot)
        print(f"wrote {options.plot}")
    if options.report:
        report.write(result, options.report)
        print(f"wrote {options.report}: one file, which you can send or attach")


def compile_file(options: argparse.Namespace) -> None:
    library = batchenv.compile(options.file, cflags=options.cflags, namespace=options.namespace)
    if options.output:
        shutil.copyfile(library.path, options.output)
        print(f"wrote {options.output}: batchenv.load({options.output!r}) loads it")
    for name in library.ids:
        print(f"{name}: batchenv.make({name!r}, num_envs) after batchenv.compile({options.file!r})")
    print(f"compiled for {', '.join(library.isas)}: {library.path}")


def new(options: argparse.Namespace) -> None:
    from batchenv.compiler.template import write

    path = write(options.name, xml=options.mujoco)
    print(f"wrote {path}: edit it, then")
    print(f"  python -m batchenv compile {path}")
    print(f"  python -m batchenv check {path}")


def check(options: argparse.Namespace) -> int:
    if is_c_file(options.target) and options.vectorization_mode is None:
        from batchenv.check.c_file import check_file

        reports, notes = check_file(
            options.target,
            options.num_envs,
            options.timeout,
            options.max_steps,
            tuple(options.skip),
            options.cflags,
            dict(options.keywords),
        )
        for report in reports:
            print(report.failures_only() if options.quiet else report)
        for note in notes:
            print(f"note: {note}")
        return 0 if all(report.passed for report in reports) else 1
    if options.cflags:
        raise ValueError(
            f"--cflags is for C files that are checked as they are, and not for {options.target}: leave it out"
            + (", or leave out --vectorization-mode" if is_c_file(options.target) else "")
        )
    report = batchenv.check_vector_env(
        options.target,
        num_envs=options.num_envs or 3,
        isolate=True,
        timeout=options.timeout,
        max_steps=options.max_steps,
        vectorization_mode=options.vectorization_mode,
        skip=options.skip,
        env_kwargs=dict(options.keywords),
    )
    print(report.failures_only() if options.quiet else report)
    return 0 if report.passed else 1


def evaluate(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    from batchenv.cli import evaluate

    refuse_unwritable(parser, options.json)
    result = evaluate.run(
        environment_id(options.id, options.cflags),
        options.policy,
        dict(options.keywords),
        episodes=options.episodes,
        seed=options.seed,
        num_envs=options.num_envs,
        infos=options.infos,
        progress=options.progress,
        video=options.video,
    )
    print("\n".join(evaluate.lines(result, options.confidence)))
    if options.json:
        evaluate.write(result, options.json)
        print(f"wrote {options.json}")


def replay(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    from batchenv.cli import replay
    from batchenv.recordings import RecordingError

    refuse_unwritable(parser, options.json)
    keywords = {"num_threads": options.threads, "trust": options.trust, "until_damage": options.until_damage}
    try:
        with batchenv.replay(options.file, ignore_versions=options.ignore_versions, **keywords) as recording:
            print("\n".join(replay.lines(recording)))
            if options.json:
                replay.write(recording, options.json)
                print(f"wrote {options.json}")
            if options.verify:
                print(f"verified: all {recording.verify()} steps are the recorded ones")
    except RecordingError as error:
        print(f"python -m batchenv: error: {error}", file=sys.stderr)
        return 1
    return 0


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m batchenv", description=(__doc__ or "").partition(": ")[2])
    parser.add_argument("--version", action="version", version=f"batchenv {batchenv.__version__}")
    commands = parser.add_subparsers(dest="command")
    command = commands.add_parser("list", help="the environments, by family")
    command.add_argument(
        "pattern",
        nargs="?",
        help="only these: a family (mujoco, 'toy text'), a pattern ('*Pong*') or a part of the id (Hopper)",
    )
    command.add_argument("--ids", action="store_true", help="only the ids, one per line")
    info = commands.add_parser("info", help="spaces, state, parameters and reset options of an environment")
    info.add_argument("id")
    _add_keywords(info)
    commands.add_parser(
        "build", aliases=["doctor"], help="how batchenv was built, and what it found here: put it into bug reports"
    )
    command = commands.add_parser("bench", help="environment steps per second")
    command.add_argument(
        "ids",
        nargs="*",
        metavar="ID",
        help="ids; or families (see `list`), of which some typical ids are measured; or all, for every family that is "
        "installed. Default: all kernels",
    )
    command.add_argument(
        "--compare", action="store_true", help="also EnvPool, ale-py's and Gymnasium's vector envs, if installed"
    )
    command.add_argument(
        "--lanes",
        type=lane_counts,
        help="numbers of lanes (copies of the env), with commas; default 4096 (Box2D, MuJoCo and Atari: 64), and "
        "1,64,4096,65536 for CartPole-v1 among all ids",
    )
    command.add_argument("--threads", type=positive_int, help="num_threads of batchenv; default: as make()")
    command.add_argument("--seconds", type=seconds, default=1.0, help="per program and row; default %(default)s")
    command.add_argument("--plot", metavar="FILE", help="draws the rates, with matplotlib")
    command.add_argument("--json", metavar="FILE", help="writes everything measured, and on what")
    command.add_argument("--report", metavar="FILE.html", help="writes table, plot and machine as one page")
    _add_keywords(command)
    command = commands.add_parser("new", help="writes NAME.c, the C file of an env to start from")
    command.add_argument("name", help="a word such as my_game: the id becomes MyGame-v0")
    command.add_argument("--mujoco", metavar="ROBOT.xml", help="a task for this MuJoCo model, with its names in it")
    command = commands.add_parser("compile", help="compiles the C file of an env, and says what its ids are")
    command.add_argument("file", help="the C file")
    _add_cflags(command)
    command.add_argument("--namespace", help="put before the ids")
    command.add_argument("-o", "--output", metavar="FILE.so", help="a copy of the library, for batchenv.load")
    command = commands.add_parser("check", help="does a vector env keep Gymnasium's contract? Exit code 1 if not")
    command.add_argument(
        "target",
        metavar="ID|FILE.c|MODULE:FACTORY",
        help="an id of batchenv or Gymnasium (gymnasium:CartPole-v1 is Gymnasium's own), the C file of an env (run "
        "under sanitizers), or what makes a vector env",
    )
    command.add_argument("-q", "--quiet", action="store_true", help="only what fails, and the line of counts")
    command.add_argument("--num-envs", type=positive_int, help="default 3; for a C file 3, and then 321")
    command.add_argument("--timeout", type=seconds, default=60.0, help="seconds a check may take; default %(default)s")
    command.add_argument("--max-steps", type=positive_int, default=1500, help="to wait for an end; default %(default)s")
    command.add_argument("--vectorization-mode", choices=["sync", "async", "vector_entry_point"], help="of make_vec")
    command.add_argument("--skip", action="append", default=[], metavar="CHECK", help="leave a check out; repeatable")
    _add_keywords(command)
    command = commands.add_parser("evaluate", help="plays episodes of a policy, and says what they gave")
    command.add_argument("id")
    command.add_argument(
        "--policy", required=True, metavar="MODULE:NAME", help="a function of observations, a model; or random"
    )
    command.add_argument("--episodes", type=positive_int, help="default 100")
    command.add_argument("--seed", type=int, default=0, help="of the first episode; default %(default)s")
    command.add_argument("--num-envs", type=positive_int, help="lanes; default: as many as episodes, at most 64")
    command.add_argument("--info", dest="infos", action="append", default=[], metavar="NAME", help="also in the table")
    command.add_argument("--confidence", type=confidence, default=0.95, help="of the intervals; default %(default)s")
    command.add_argument("--progress", action="store_true", help="shows a bar (tqdm)")
    command.add_argument("--video", metavar="FOLDER", help="a video of the first episode")
    command.add_argument("--json", metavar="FILE", help="writes the table of episodes")
    _add_keywords(command)
    command = commands.add_parser("replay", help="what a recording holds. Exit code 1 if it cannot be read or differs")
    command.add_argument("file", help="what batchenv.record has written")
    command.add_argument("--verify", action="store_true", help="replays everything, and compares all checksums")
    command.add_argument("--threads", type=positive_int, help="num_threads of the env that is stepped")
    command.add_argument(
        "--trust", action="store_true", help="load pickles of envs in Python, and libraries of C files"
    )
    command.add_argument("--ignore-versions", action="store_true", help="replay with other versions, too")
    command.add_argument("--until-damage", action="store_true", help="read what lies before the first damaged block")
    command.add_argument("--json", metavar="FILE", help="writes the header and the table of episodes")
    return parser


def _add_keywords(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--set",
        dest="keywords",
        action="append",
        type=keyword,
        default=[],
        metavar="NAME=VALUE",
        help="a keyword of make, such as xml_file=robot.xml; repeatable",
    )
    _add_cflags(command)


def _add_cflags(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--cflags",
        type=compiler_flags,
        default=(),
        metavar="FLAGS",
        help="more flags for the compiler of a C file, in quotes: --cflags '-DSIZE=9 -O1'",
    )


def _joined(arguments: list[str]) -> list[str]:
    """`--cflags -O0` as `--cflags=-O0`: argparse takes what starts with a - for another option."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] == "--cflags":
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser()
    options = parser.parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
    try:
        if options.command is None:
            parser.print_help()
        elif options.command == "list":
            lines = matching(options.pattern) if options.ids else list_lines(options.pattern)
            print("\n".join(lines).rstrip())
        elif options.command == "info":
            print("\n".join(info_lines(environment_id(options.id, options.cflags), dict(options.keywords))))
        elif options.command in ("build", "doctor"):
            print_build()
        elif options.command == "check":
            return check(options)
        elif options.command == "compile":
            compile_file(options)
        elif options.command == "new":
            new(options)
        elif options.command == "evaluate":
            evaluate(options, parser)
        elif options.command == "replay":
            return replay(options, parser)
        else:
            bench(options, parser)
    except (TypeError, ValueError, MemoryError, OSError, DependencyNotInstalled) as error:
        print(f"python -m batchenv: error: {error or 'out of memory'}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
