"""Dataclasses as ROS parameters of a real node."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import rclpy
import yaml
from rclpy.parameter import Parameter

from serl_controllers import LawParameters
from serl_controllers.ros_parameters import (
    PARAMETERS_FOLDER,
    ParameterError,
    declare_from,
    keep_parameters,
    refuse_unknown,
)


@dataclass(frozen=True)
class Gripper:
    width: float = 0.08
    force: float = 20.0

    def __post_init__(self) -> None:
        if self.force < 0:
            raise ValueError(f"force is {self.force}, expected >= 0")


@dataclass(frozen=True)
class Config:
    task: str
    steps: int = 100
    scale: tuple[float, float] = (0.01, 0.06)
    cameras: tuple[str, ...] = ()
    paced: bool = False
    seed: int | None = None
    gripper: Gripper = Gripper(force=30.0)
    spare: Gripper | None = None
    law: LawParameters = field(default_factory=LawParameters)


@pytest.fixture
def make_node():
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=77)
    nodes = []

    def make(**overrides):
        parameters = [Parameter(n.replace("__", "."), value=v) for n, v in overrides.items()]
        nodes.append(rclpy.create_node("node", context=context, parameter_overrides=parameters))
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()
    rclpy.shutdown(context=context)


def test_defaults_are_the_dataclass_s(make_node):
    node = make_node(task="pcb")
    assert declare_from(node, Config) == Config("pcb")
    assert node.get_parameter("gripper.force").value == 30.0
    assert list(node.get_parameter("law.stiffness").value) == [2000.0] * 3 + [75.0] * 3


def test_overrides_reach_every_kind_of_field(make_node):
    node = make_node(
        task="peg", steps=5, scale=[1, 2], cameras=["a", "b"], paced=True, seed=3,
        gripper__width=1, spare__width=0.1, law__torque_rate_limit=0.5,
    )  # fmt: skip
    assert declare_from(node, Config) == Config(
        "peg", 5, (1.0, 2.0), ("a", "b"), True, 3, Gripper(1.0, 30.0), Gripper(0.1, 20.0),
        LawParameters(torque_rate_limit=0.5),
    )  # fmt: skip
    refuse_unknown(node)


def test_prefix_comes_before_every_name(make_node):
    node = make_node(**{"left.width": 0.5})
    assert declare_from(node, Gripper, "left") == Gripper(width=0.5)


@pytest.mark.parametrize(
    ("overrides", "text"),
    [
        ({}, r"parameter task \(str\) has no default"),
        ({"task": "pcb", "steps": 1.5}, "parameter steps is 1.5, expected int"),
        ({"task": "pcb", "steps": True}, "parameter steps is True, expected int"),
        ({"task": "pcb", "scale": [1.0]}, "parameter scale has 1 values, expected 2"),
        ({"task": "pcb", "scale": "big"}, "parameter scale is 'big', expected tuple"),
        (
            {"task": "pcb", "gripper.force": -1.0},
            "parameters gripper: force is -1.0, expected >= 0",
        ),
        ({"task": "pcb", "law.stiffness": [1.0]}, "parameters law: stiffness is"),
    ],
)
def test_wrong_values_are_refused_by_name(make_node, overrides, text):
    with pytest.raises(ParameterError, match=text):
        declare_from(make_node(**overrides), Config)


def test_unknown_overrides_are_refused_by_name(make_node):
    node = make_node(task="pcb", **{"gripper.fource": 1.0, "stepps": 1})
    declare_from(node, Config)
    with pytest.raises(ParameterError, match=r"no parameter gripper\.fource, stepps; known are:"):
        refuse_unknown(node)


def test_a_later_change_is_refused(make_node):
    node = make_node(task="pcb")
    declare_from(node, Config)
    assert not node.set_parameters([Parameter("steps", value=7)])[0].successful


def test_what_a_node_goes_by_is_kept_whole_and_can_be_given_again(make_node, tmp_path, monkeypatch):
    monkeypatch.setenv(PARAMETERS_FOLDER, str(tmp_path / "kept"))
    node = make_node(task="pcb", scale=[0.1, 0.2], gripper__width=0.05)
    config = declare_from(node, Config)
    keep_parameters(node)
    kept = yaml.safe_load((tmp_path / "kept" / "node.yaml").read_text())
    values = kept["/**/node"]["ros__parameters"]
    assert values["scale"] == [0.1, 0.2]
    assert values["gripper.force"] == 30.0  # a default
    assert "seed" not in values  # not set
    again = make_node(**{name: value for name, value in values.items() if name != "use_sim_time"})
    assert declare_from(again, Config) == config


def test_parameters_that_cannot_be_kept_do_not_stop_a_node(make_node, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv(PARAMETERS_FOLDER, str(tmp_path / "file"))
    keep_parameters(make_node())
    monkeypatch.delenv(PARAMETERS_FOLDER)
    keep_parameters(make_node())
    assert (tmp_path / "file").read_bytes() == b""
