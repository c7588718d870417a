"""Single parameters on a command line: `--set NODE.PARAMETER=VALUE ...`."""

from __future__ import annotations

import argparse


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Declares the option."""
    parser.add_argument("--set", nargs="*", default=[], metavar="NODE.PARAMETER=VALUE")


def assignments(given: argparse.Namespace) -> list[str]:
    """What was given with it, as graph.parse_arguments takes it: `node.parameter:=value`."""
    return [text.replace("=", ":=", 1) for text in given.set]
