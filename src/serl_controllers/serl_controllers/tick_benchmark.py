"""What one tick of the controller costs: the law alone, and the plugin's whole update."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import subprocess
from collections.abc import Iterator
from typing import Any

from ament_index_python.packages import get_package_prefix

LAW_LIMIT = 5.0
"""That a tick of the law shall stay under [us]."""

TICK = 1000.0
"""Of the 1 kHz loop [us]."""


def run() -> Iterator[dict[str, Any]]:
    """Rows of the law, and of the plugin where it is built. Times and allocations per tick are
    measured in C++, in programs of this package."""
    yield from _rows("law", LAW_LIMIT, "law_benchmark")
    description = _fr3_urdf()
    if _program("plugin_benchmark").exists() and description is not None:
        yield from _rows("plugin", TICK, "plugin_benchmark", description)


def _rows(name: str, limit: float, program: str, *arguments: str) -> Iterator[dict[str, Any]]:
    command = [str(_program(program)), *arguments]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # The last line: what comes before is the node's log.
    measured = json.loads(output.strip().splitlines()[-1])
    for figure in ("median", "p999"):
        value = measured[f"{figure}_us"]
        yield _row(f"controller/{name}_{figure}", value, "us", limit)
    yield _row(f"controller/{name}_allocations", measured["allocations"], "", None)


def _row(name: str, value: float, unit: str, reference: float | None) -> dict[str, Any]:
    ratio = value / reference if reference else None
    return {"name": name, "value": value, "unit": unit, "reference": reference, "ratio": ratio}


def _program(name: str) -> pathlib.Path:
    return pathlib.Path(get_package_prefix("serl_controllers"), "lib", "serl_controllers", name)


def _fr3_urdf() -> str | None:
    """The description that the simulator's assets ship; None where they are not installed."""
    package = importlib.util.find_spec("franky_sim")
    if package is None or not package.submodule_search_locations:
        return None
    return str(pathlib.Path(package.submodule_search_locations[0], "assets", "fr3_clean.urdf"))
