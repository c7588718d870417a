"""ROS parameters of a frozen dataclass: YAML overrides, the dataclass keeps the defaults."""

from __future__ import annotations

import array
import dataclasses
import os
import types
import typing
from pathlib import Path
from typing import Any, TypeVar

import yaml
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter

T = TypeVar("T")

PARAMETERS_FOLDER = "SERL_PARAMETERS_FOLDER"
"""Environment variable: where `keep_parameters` writes."""


class ParameterError(ValueError):
    """A parameter with a wrong value or name; the message shows both and what is expected."""


def declare_from(
    node: Node,
    kind: type[T],
    prefix: str = "",
    *,
    defaults: T | None = None,
    read_only: bool = True,
) -> T:
    """Declares one parameter per field of a dataclass and builds it with the overrides.

    Fields are bool, int, float, str, tuples of one of these, Optional of any of these (no
    override leaves None: the parameter is declared, but not set), or dataclasses, whose fields
    get dotted names. An Optional dataclass that is None by default is built when an override
    names one of its fields. An int is taken where a float is declared.

    Args:
      node: gets the parameters.
      kind: frozen dataclass; its `__post_init__` validates.
      prefix: put before each name, with a dot.
      defaults: values to use in place of the dataclass's own defaults.
      read_only: a later change is refused, as it would not reach the dataclass.

    Raises:
      ParameterError: a value has the wrong type or is refused by the dataclass, or a field
        without default has no override.
    """
    hints = typing.get_type_hints(kind)
    values: dict[str, Any] = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        if not field.init:
            continue
        name = f"{prefix}.{field.name}" if prefix else field.name
        default = _default(field) if defaults is None else getattr(defaults, field.name)
        hint, optional = _strip_optional(hints[field.name])
        if not dataclasses.is_dataclass(hint):
            values[field.name] = _declare(node, name, hint, default, optional, read_only)
        elif default is None and not _is_overridden(node, name):
            values[field.name] = None
        else:
            nested = None if default is _MISSING else default
            values[field.name] = declare_from(
                node,
                hint,
                name,
                defaults=nested,
                read_only=read_only,  # type: ignore[arg-type]
            )
    try:
        return kind(**values)
    except ValueError as error:
        raise ParameterError(f"parameters {prefix or kind.__name__}: {error}") from error


def refuse_unknown(node: Node) -> None:
    """Refuses overrides given to the node that nothing has declared.

    Raises:
      ParameterError: names them all.
    """
    # rclpy has no public way to ask for the overrides that a node was given.
    unknown = sorted(n for n in node._parameter_overrides if not node.has_parameter(n))
    if unknown:
        known = ", ".join(sorted(node._parameters))
        raise ParameterError(
            f"node {node.get_name()} has no parameter {', '.join(unknown)}; known are: {known}"
        )


def keep_parameters(node: Node) -> None:
    """Writes all that the node goes by, defaults included, if the environment names a folder.

    The file, `<node>.yaml`, is a parameter file: the node does the same with it on another day.
    One that cannot be written is a warning.
    """
    folder = os.environ.get(PARAMETERS_FOLDER)
    if not folder:
        return
    values = {
        name: list(value) if isinstance(value, (tuple, array.array)) else value
        for name, parameter in sorted(node._parameters.items())
        if (value := parameter.value) is not None
    }
    path = Path(folder) / f"{node.get_name()}.yaml"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump({f"/**/{node.get_name()}": {"ros__parameters": values}}))
    except OSError as error:
        node.get_logger().warning(f"parameters are not kept: {error}")


_MISSING = dataclasses.MISSING


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not _MISSING:
        return field.default
    if field.default_factory is not _MISSING:
        return field.default_factory()
    return _MISSING


def _is_overridden(node: Node, prefix: str) -> bool:
    return any(name.startswith(prefix + ".") for name in node._parameter_overrides)


def _declare(
    node: Node, name: str, hint: Any, default: Any, optional: bool, read_only: bool
) -> Any:
    """Declares one leaf and returns its value."""
    # Dynamic typing lets an int through where a float is meant; _convert checks.
    descriptor = ParameterDescriptor(read_only=read_only, dynamic_typing=True)
    initial = None if default in (_MISSING, ()) else _to_ros(default)
    parameter = node.declare_parameter(name, initial, descriptor)
    if parameter.type_ != Parameter.Type.NOT_SET:
        return _convert(name, hint, parameter.value)
    if default is _MISSING:
        raise ParameterError(f"parameter {name} ({_text(hint)}) has no default and was not given")
    if default is None and not optional:
        raise ParameterError(f"parameter {name} is None, expected {_text(hint)}")
    return default


def _strip_optional(hint: Any) -> tuple[Any, bool]:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        inner = [a for a in typing.get_args(hint) if a is not type(None)]
        if len(inner) == 1:
            return inner[0], True
    return hint, False


def _to_ros(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _convert(name: str, hint: Any, value: Any) -> Any:
    """The value as the type of the field."""
    if typing.get_origin(hint) is tuple:
        return _convert_tuple(name, hint, value)
    if hint is float and type(value) is int:
        return float(value)
    if hint in (bool, int, float, str) and type(value) is hint:
        return value
    raise ParameterError(f"parameter {name} is {value!r}, expected {_text(hint)}")


def _convert_tuple(name: str, hint: Any, value: Any) -> tuple[Any, ...]:
    kinds = typing.get_args(hint)
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
        raise ParameterError(f"parameter {name} is {value!r}, expected {_text(hint)}")
    items = value.tolist() if hasattr(value, "tolist") else list(value)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(items)
    if len(items) != len(kinds):
        raise ParameterError(f"parameter {name} has {len(items)} values, expected {len(kinds)}")
    return tuple(_convert(f"{name}[{i}]", k, v) for i, (k, v) in enumerate(zip(kinds, items)))


def _text(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint)
