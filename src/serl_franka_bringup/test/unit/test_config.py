from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from serl_franka_bringup import config
from serl_franka_bringup.config import ConfigError


@dataclass(frozen=True)
class Inner:
    gain: float = 2.0
    limits: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        if self.gain < 0:
            raise ValueError(f"gain {self.gain} is below 0")


@dataclass(frozen=True)
class Outer:
    name: str
    count: int = 3
    enabled: bool = False
    hidden: tuple[int, ...] = (256, 256)
    seed: int | None = None
    inner: Inner = field(default_factory=Inner)


def test_absent_keys_keep_the_default_and_given_ones_are_converted():
    built = config.build(
        Outer, {"name": "a", "inner": {"gain": 3, "limits": [1, 2]}, "hidden": [64]}, "f"
    )
    assert built == Outer("a", inner=Inner(3.0, (1.0, 2.0)), hidden=(64,))
    assert isinstance(built.inner.gain, float)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"name": "a", "gian": 1}, "f.gian: unknown key"),
        ({"name": "a", "inner": {"gian": 1}}, "f.inner.gian: unknown key"),
        ({"name": "a", "count": 1.5}, "f.count: expected int, got 1.5"),
        ({"name": "a", "count": True}, "f.count: expected int, got True"),
        ({"name": "a", "enabled": 1}, "f.enabled: expected bool, got 1"),
        ({"name": "a", "inner": {"limits": [1, 2, 3]}}, "f.inner.limits: expected 2"),
        ({"name": "a", "inner": {"gain": -1}}, "f.inner: gain -1.0 is below 0"),
        ({"name": "a", "inner": 4}, "f.inner: expected a group"),
        ({}, "f: missing name"),
    ],
)
def test_errors_name_where_and_what(mapping, message):
    with pytest.raises(ConfigError) as error:
        config.build(Outer, mapping, "f")
    assert message in str(error.value)


def test_optional_accepts_nothing_and_a_value():
    assert config.build(Outer, {"name": "a", "seed": None}, "f").seed is None
    assert config.build(Outer, {"name": "a", "seed": 4}, "f").seed == 4


def test_numbers_without_a_dot_are_numbers(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("rate: 1e-3\nother: 3E4\nname: e5\n")
    assert config.read_yaml(path) == {"rate": 0.001, "other": 30000.0, "name": "e5"}


def test_a_key_given_twice_is_refused(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("a: 1\nb: 2\na: 3\n")
    with pytest.raises(ConfigError, match="'a' is given twice"):
        config.read_yaml(path)


def test_flatten_and_unflatten_are_inverse():
    tree = {"a": {"b": {"c": 1}, "d": [1, 2]}, "e": "x"}
    assert config.flatten(tree) == {"a.b.c": 1, "a.d": [1, 2], "e": "x"}
    assert config.unflatten(config.flatten(tree)) == tree
    with pytest.raises(ConfigError, match="'a' is a value"):
        config.unflatten({"a": 1, "a.b": 2})


def test_plain_makes_lists_of_one_type():
    assert config.plain({"a": (1, 2.5)}) == {"a": [1.0, 2.5]}
    assert config.plain(Inner()) == {"gain": 2.0, "limits": [0.0, 1.0]}
