"""`data`: looks recorded episodes over, shows them, and brings them in and out.

A PATH is a bag (MCAP or sqlite3, by `ros2 bag record` or by `./serl record`), or a directory of
bags of any depth.
"""

from __future__ import annotations

import argparse

from serl_franka_bringup.data import bring_in, check, export, show
from serl_learner.data.bag_file import BagError

HELP = "check, show, export and import recorded episodes"
EXAMPLES = """examples:
  ./serl data check runs/pcb/demonstrations-image-720575ee --task pcb
  ./serl data show my_bag --episode 2 -o episode.png
  ./serl data export my_bag --format lerobot -o dataset --instruction "insert the connector"
  ./serl data import my_bag --task pcb -o taken
  ./serl data import demos.pkl --mapping serl.yaml --task pcb -o taken"""
_ACTIONS = {"check": check, "show": show, "export": export, "import": bring_in}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's actions, each with options of its own."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="action")
    for name, module in _ACTIONS.items():
        action = actions.add_parser(
            name,
            help=(module.__doc__ or "").splitlines()[0],
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(action)


def run(arguments: argparse.Namespace) -> int:
    """Does it; 2 if there is nothing to read."""
    try:
        return int(_ACTIONS[arguments.action].run(arguments))
    except BagError as error:
        print(f"serl data {arguments.action}: {error}")
        return 2
