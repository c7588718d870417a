"""Which nodes of a graph this machine can run: optional ones are left out, others are an error."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable

from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.graph import Node


def usable(
    nodes: Iterable[Node], is_installed: Callable[[str], bool] | None = None
) -> tuple[Node, ...]:
    """The nodes without the optional ones that lack something.

    Raises:
      ConfigError: a node that is not optional lacks packages; names all of them.
    """
    installed = _is_installed if is_installed is None else is_installed
    kept = []
    missing: dict[str, list[str]] = {}
    for node in nodes:
        lacks = [name for name in (node.package, *node.needs) if not installed(name)]
        if not lacks:
            kept.append(node)
        elif not node.optional:
            for name in lacks:
                missing.setdefault(name, []).append(node.name)
    if missing:
        text = "; ".join(f"{name} (for {', '.join(who)})" for name, who in missing.items())
        names = " ".join(f"ros-jazzy-{name.replace('_', '-')}" for name in missing)
        raise ConfigError(
            f"not installed: {text}. Those that ROS ships: apt install {names}; where the others "
            "come from is in docs/hardware.md"
        )
    return tuple(kept)


def _is_installed(name: str) -> bool:
    """A package of the ament index, or a Python module (xacro comes as either)."""
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix

    try:
        get_package_prefix(name)
    except (PackageNotFoundError, ValueError):
        return importlib.util.find_spec(name) is not None
    return True
