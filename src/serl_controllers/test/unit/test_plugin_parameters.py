"""The plugin's YAML says what the C++ struct says: names, defaults, bounds."""

from __future__ import annotations

import dataclasses
import math
import pathlib
from typing import Any

import pytest
import yaml

from serl_controllers import LawParameters

FILE = pathlib.Path(__file__).parents[2] / "plugin" / "parameters.yaml"
ROOT = yaml.safe_load(FILE.read_text())["cartesian_impedance_controller"]
LEAVES: dict[str, dict[str, Any]] = {
    **ROOT["compliance"]["__map_compliance_sets"],
    **{name: ROOT[name] for name in ROOT if name != "box" and hasattr(LawParameters, name)},
}
SCALARS = [n for n, leaf in LEAVES.items() if leaf["type"] == "double"]
VECTORS = [n for n, leaf in LEAVES.items() if leaf["type"] == "double_array"]


def bounds(leaf: dict[str, Any], index: int) -> tuple[float, float]:
    """Of one element, as the YAML has them."""
    checks = leaf["validation"]
    if "serl_controllers::axes_at_most" in checks:
        return 0.0, checks["serl_controllers::axes_at_most"][index >= 3]
    return tuple(checks.get("element_bounds<>") or checks["bounds<>"])


def takes(name: str, value: float, index: int | None) -> bool:
    """Whether the law takes the value, all else being default."""
    changed: Any = value
    if index is not None:
        changed = list(getattr(LawParameters, name))
        changed[index] = value
    try:
        LawParameters(**{name: changed})
    except ValueError:
        return False
    return True


def test_every_figure_of_the_law_is_a_parameter():
    fields = {field.name for field in dataclasses.fields(LawParameters)}
    assert set(LEAVES) == fields - {"box"}
    assert {"enabled", "position", "quaternion", "lower", "upper"} == set(ROOT["box"])


@pytest.mark.parametrize("name", SCALARS)
def test_scalars_have_the_default_and_bounds_of_the_law(name):
    leaf = LEAVES[name]
    assert leaf["default_value"] == getattr(LawParameters, name)
    low, high = bounds(leaf, 0)
    assert takes(name, low, None)
    assert takes(name, high, None)
    assert not takes(name, low - 1e-6, None)
    assert not takes(name, math.nextafter(high, math.inf), None)


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_have_the_defaults_and_bounds_of_the_law(name):
    leaf = LEAVES[name]
    default = getattr(LawParameters, name)
    assert tuple(leaf["default_value"]) == default
    assert leaf["validation"]["fixed_size<>"] == [len(default)]
    for index in range(len(default)):
        low, high = bounds(leaf, index)
        assert takes(name, low, index)
        assert takes(name, high, index)
        assert not takes(name, low - 1e-6, index)
        assert not takes(name, math.nextafter(high, math.inf), index)


def leaves(tree: dict[str, Any], path: str = "") -> dict[str, dict[str, Any]]:
    if "type" in tree:
        return {path: tree}
    found = {}
    for name, branch in tree.items():
        found |= leaves(branch, f"{path}.{name}" if path else name)
    return found


def test_every_parameter_is_described_with_its_unit():
    for path, leaf in leaves(ROOT).items():
        assert leaf["description"], path
        if leaf["type"].startswith("double") and "joint1_nullspace" not in path:
            assert "[" in leaf["description"] or "quaternion" in path, path
