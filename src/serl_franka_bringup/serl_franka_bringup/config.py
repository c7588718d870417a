"""Reads configuration: YAML to nested mappings, mappings to frozen dataclasses.

An unknown key, a wrong type and a refused value are errors that name the file and the key.
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml

T = TypeVar("T")


class ConfigError(ValueError):
    """A configuration that cannot be used: where, what was given, what is allowed."""


class _Loader(yaml.SafeLoader):
    """YAML 1.1 with two amendments: `1e-3` is a number, a key given twice is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=deep)
            if key in seen:
                raise ConfigError(f"line {key_node.start_mark.line + 1}: '{key}' is given twice")
            seen.add(key)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+0123456789."),
)


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; an empty file is an empty mapping."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (ConfigError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected a mapping, got {type(content).__name__}")
    return content


def parse_value(text: str) -> Any:
    """The value that `text` means in YAML: number, bool, list or string."""
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ConfigError(f"not a YAML value: {text!r}") from error


def flatten(mapping: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"a": {"b": 1}} -> {"a.b": 1}; keys that are dotted already stay so."""
    flat: dict[str, Any] = {}
    for key, value in mapping.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{name}."))
        else:
            flat[name] = value
    return flat


def unflatten(flat: Mapping[str, Any]) -> dict[str, Any]:
    """{"a.b": 1} -> {"a": {"b": 1}}; a name that is a value and a group is an error."""
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        *groups, leaf = name.split(".")
        branch = tree
        for group in groups:
            branch = branch.setdefault(group, {})
            if not isinstance(branch, dict):
                raise ConfigError(f"'{name}': '{group}' is a value, not a group")
        if isinstance(branch.get(leaf), dict):
            raise ConfigError(f"'{name}' is a group, not a value")
        branch[leaf] = value
    return tree


def build(cls: type[T], mapping: Mapping[str, Any], where: str) -> T:
    """An instance of the frozen dataclass `cls` from a nested mapping.

    Absent keys take the dataclass default. An int is accepted for a float, a list for a
    tuple. `where` begins every error message, e.g. "config/pcb.yaml: task".
    """
    hints = typing.get_type_hints(cls)
    known = {field.name: field for field in dataclasses.fields(cls) if field.init}  # type: ignore[arg-type]
    for key in mapping:
        if key not in known:
            raise ConfigError(f"{where}.{key}: unknown key; known: {', '.join(sorted(known))}")
    values = {k: _convert(hints[k], v, f"{where}.{k}") for k, v in mapping.items()}
    missing = [
        name
        for name, field in known.items()
        if name not in values
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ConfigError(f"{where}: missing {', '.join(missing)}")
    try:
        return cls(**values)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {error}") from error


def _convert(hint: Any, value: Any, where: str) -> Any:
    """`value` as the type `hint` asks for."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        options = [option for option in typing.get_args(hint) if option is not type(None)]
        if value is None and len(options) < len(typing.get_args(hint)):
            return None
        return _convert(options[0], value, where)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where}: expected a group of keys, got {value!r}")
        return build(hint, value, where)
    if origin is Mapping:
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where}: expected a group of keys, got {value!r}")
        return {k: _convert(typing.get_args(hint)[1], v, f"{where}.{k}") for k, v in value.items()}
    if hint is tuple or origin is tuple:
        return _convert_tuple(typing.get_args(hint), value, where)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(hint, type) and (
        not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool)
    ):
        raise ConfigError(f"{where}: expected {hint.__name__}, got {value!r}")
    return value


def _convert_tuple(elements: tuple, value: Any, where: str) -> tuple:
    """A tuple of converted elements; `elements` are the arguments of the tuple type."""
    if not isinstance(value, (list, tuple)):
        raise ConfigError(f"{where}: expected a list, got {value!r}")
    if not elements:
        return tuple(value)
    if len(elements) == 2 and elements[1] is Ellipsis:
        elements = (elements[0],) * len(value)
    if len(value) != len(elements):
        raise ConfigError(f"{where}: expected {len(elements)} numbers, got {len(value)}: {value!r}")
    return tuple(_convert(e, v, f"{where}[{i}]") for i, (e, v) in enumerate(zip(elements, value)))


def plain(value: Any) -> Any:
    """`value` as YAML and ROS parameters know it: no tuples, no mixed int/float lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [plain(item) for item in value]
        if any(isinstance(item, float) for item in items):
            return [float(item) if isinstance(item, int) else item for item in items]
        return items
    return value
