"""The command line: `python -m serl_franka_bringup.cli VERB ...`, which `./serl VERB` calls."""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from pathlib import Path

from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.executable import ExecutableError
from serl_franka_bringup.run_directory import RunDirectoryBusy

ASSIGNMENT = re.compile(r"[A-Za-z_][\w.]*:=")
VERBS = ("run", "record", "train-reward", "eval", "data", "bench", "doctor", "results")


def build_parser(verbs: tuple[str, ...] = VERBS) -> argparse.ArgumentParser:
    """The parser with one sub-command per verb; each verb's module declares its own options."""
    parser = argparse.ArgumentParser(prog="serl", description="SERL on ROS 2.")
    commands = parser.add_subparsers(dest="verb", required=True, metavar="verb")
    for verb in verbs:
        module = importlib.import_module(f"serl_franka_bringup.verbs.{verb.replace('-', '_')}")
        command = commands.add_parser(
            verb,
            help=module.HELP,
            description=module.__doc__,
            epilog=module.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.add_argument("--json", type=Path, metavar="FILE", help="write the result here")
        command.set_defaults(execute=module.run, command=command)
    return parser


def parse(argv: list[str]) -> argparse.Namespace:
    """Parsed arguments.

    `assignments` holds the `name:=value` ones, wherever they stood, `options` what the verb does
    not know itself but passes on.
    """
    assignments = [word for word in argv if ASSIGNMENT.match(word)]
    words = [word for word in argv if word not in assignments]
    arguments, options = build_parser().parse_known_args(words)
    unknown = [] if getattr(arguments, "takes_assignments", False) else assignments
    unknown = unknown + ([] if getattr(arguments, "takes_options", False) else options)
    if unknown:
        arguments.command.error(f"unrecognized arguments: {' '.join(unknown)}")
    arguments.assignments, arguments.options = assignments, options
    return arguments


def main(argv: list[str] | None = None) -> int:
    """Runs one verb and returns the exit code; known errors are one line, not a traceback."""
    arguments = parse(sys.argv[1:] if argv is None else argv)
    try:
        return arguments.execute(arguments)
    except (ConfigError, ExecutableError, RunDirectoryBusy) as error:
        print(f"serl {arguments.verb}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
