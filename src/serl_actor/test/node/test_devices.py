"""Devices of persons on their topic, and the actor that they drive, pause and stop."""

from __future__ import annotations

import itertools
import os
import struct
import termios
import time
from pathlib import Path

import numpy as np
import pytest
from fakes import PERIOD_NS
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Joy
from std_srvs.srv import SetBool

from serl_actor.devices.hid_port import HidDevice
from serl_actor.devices.spacemouse import SpaceMouse
from serl_actor.gamepad_node import GamepadNode
from serl_actor.keyboard_node import KeyboardNode
from serl_actor.spacemouse_node import SpacemouseNode
from serl_controllers.ros_parameters import ParameterError
from serl_controllers.ros_qos import INTERVENTION, STATUS
from serl_interfaces.msg import Intervention, NodeStatus
from serl_learner.types import Record, Source


class Cap:
    """A SpaceMouse Compact: repeats its last report of the cap while `moved`; stalls if told so."""

    def __init__(self) -> None:
        self.report, self.moved, self.gone = b"", False, False
        self.waiting: list[bytes] = []
        found = [HidDevice(0x256F, 0xC635, Path("/dev/hidraw0"), True)]
        self.device = SpaceMouse(time.monotonic, lambda: [] if self.gone else found, lambda _: self)

    def push(self, *counts: int) -> None:
        """Right, towards the operator, down; 350 is the stop."""
        self.report = b"\x01" + struct.pack("<3h", *counts)
        self.moved = any(counts)
        self.waiting.append(self.report)

    def press(self, bits: int) -> None:
        self.waiting.append(bytes((3, bits)))

    def read(self) -> bytes | None:
        if self.gone:
            raise OSError(19, "No such device")
        if self.waiting:
            return self.waiting.pop(0) or None
        if self.moved and self.report:
            self.waiting.append(b"")  # once for each reading
            return self.report
        return None

    def close(self) -> None: ...


class Ear(Node):
    """Hears what devices say, and plays a joy node."""

    def __init__(self, **kwargs) -> None:
        super().__init__("ear", **kwargs)
        self.said: list[Intervention] = []
        self.create_subscription(Intervention, "intervention", self.said.append, INTERVENTION)
        self.statuses: list[str] = []
        self.create_subscription(
            NodeStatus, "status", lambda m: self.statuses.append(m.waiting_for), STATUS
        )
        self.joy = self.create_publisher(Joy, "joy", qos_profile_sensor_data)

    def last(self) -> Intervention | None:
        return self.said[-1] if self.said else None

    def twist(self) -> list[float]:
        return np.round(np.float64(self.said[-1].twist), 3).tolist() if self.said else []


def driver(learner) -> str:
    """Who drives the arm, as the actor's status says."""
    return learner.statuses[-1].driver if learner.statuses else ""


def gaps(records: list[Record]) -> list[int]:
    """Times between the end of a segment and the beginning of the next [ns]."""
    pairs = itertools.pairwise(records)
    return [after.stamp_ns - before.stamp_ns for before, after in pairs if before.last]


@pytest.fixture
def cap() -> Cap:
    return Cap()


@pytest.fixture
def ear(bench) -> Ear:
    return bench.add(Ear)


def test_a_trace_moves_the_arm_and_it_stays_when_the_device_stalls(bench, cap, ear):
    learner = bench.learner(held=0)
    sim = bench.sim(realtime=True)
    bench.add(SpacemouseNode, cap.device)
    bench.actor(
        lockstep=False,
        job__demonstrations=1,
        robot__state_age=1.0,
        task__control_period=0.02,
        task__episode_steps=20_000,
        task__start_height=0.01,
    )
    bench.wait(lambda: len(sim.commands) > 3, "the arm to be held", learner)
    start = sim.commands[-1][1].position
    cap.push(0, 0, -60)  # a little up
    bench.wait(lambda: sim.commands[-1][1].position[2] > start[2] + 5e-4, "the arm to rise")
    assert ear.last().header.frame_id == "fr3_link0"
    assert ear.last().state_stamp.nanosec > 0
    bench.wait(lambda: driver(learner) == "spacemouse", "the status to say who drives", learner)
    cap.moved = False  # and no report that it is at rest: it stalled
    bench.wait(lambda: not ear.last().active, "the intervention to close")
    count = len(sim.commands) + 2
    bench.wait(lambda: len(sim.commands) > count + 20, "further commands")
    heights = np.array([pose.position[2] for _, pose in sim.commands])
    assert heights[count:].max() <= heights[:count].max() + 1e-9
    assert heights.max() < start[2] + 0.035  # it was not the box
    cap.gone = True
    bench.wait(lambda: any("unplugged" in text for text in ear.statuses), "the device's status")


def test_in_lockstep_a_person_is_not_waited_for_and_may_take_over_pause_and_stop(bench, cap, ear):
    learner = bench.learner()
    sim = bench.sim()
    bench.add(SpacemouseNode, cap.device)
    bench.wait(lambda: ear.said, "the device")
    bench.actor(
        job__interventions=True,
        job__max_env_steps=1_000_000,
        task__episode_steps=20_000,
        task__threshold=[1e-9] * 6,
        robot__operator_timeout=1000.0,
    )
    bench.wait(lambda: len(learner.of(Source.POLICY)) > 20, "the policy's steps", learner)
    cap.push(0, -350, 0)
    bench.wait(lambda: len(learner.of(Source.INTERVENTION)) > 2, "the person's steps", learner)
    cap.push(0, 0, 0)
    bench.wait(lambda: driver(learner) == "policy", "the policy to go on", learner)

    cap.press(3)  # both buttons: pause
    bench.wait(lambda: learner.said("paused by spacemouse"), "the pause", learner)
    cap.press(0)
    bench.wait(lambda: not ear.last().buttons, "the buttons to be let go")
    held, steps = sim.commands[-1][1], len(sim.commands)
    bench.wait(lambda: len(sim.commands) > steps + 3, "commands that hold")
    assert all(pose.distance(held)[0] < 1e-9 for _, pose in sim.commands[steps:])
    cap.press(3)
    bench.wait(lambda: len(gaps(learner.records)) == 1, "the actor to go on", learner)
    assert gaps(learner.records)[0] >= 3 * PERIOD_NS  # what held the arm was no step
    cap.press(0)

    hold = ear.create_client(SetBool, "hold")
    bench.wait(hold.service_is_ready, "the service")
    paused = hold.call_async(SetBool.Request(data=True))
    bench.wait(lambda: learner.said("paused by service hold"), "the pause", learner)
    assert paused.result().success
    assert paused.result().message == "paused by service hold"


def test_a_gamepad_over_joy(bench, ear):
    bench.add(GamepadNode)

    def play(*axes: float, buttons=(0, 0)) -> bool:
        ear.joy.publish(Joy(axes=axes, buttons=buttons))
        return bool(ear.said)

    pulled = (0.0, 0.0, 1.0, 0.0, 0.0, -1.0)
    bench.wait(lambda: play(*pulled) and ear.twist() == [0, 0, 1, 0, 0, 0], "the trigger")
    assert ear.last().active
    assert ear.last().device == "gamepad"
    bench.wait(
        lambda: play(0.0, 1.0, buttons=(1, 0)) and list(ear.last().buttons) == ["a", "success"],
        "the button",
    )
    bench.wait(lambda: not ear.last().active, "a silent joy node to count for nothing")
    assert list(ear.last().buttons) == []


def test_a_keyboard_on_a_pty_is_given_back(bench, ear):
    master, slave = os.openpty()
    before = termios.tcgetattr(slave)
    node = bench.add(KeyboardNode, parameters={"terminal": os.ttyname(slave)})
    bench.wait(lambda: os.write(master, b"1d") and ear.twist() == [0, -0.1, 0, 0, 0, 0], "the key")
    bench.wait(lambda: not ear.last().active, "the key to be over")
    os.write(master, b" ")
    bench.wait(lambda: list(ear.last().buttons) == ["space", "pause"], "the pause")
    bench.remove(node)
    assert termios.tcgetattr(slave) == before
    for file in (master, slave):
        os.close(file)


def test_wrong_parameters_are_named(bench):
    for name, value in (("teleoperation.axes", ["x", "y", "y"]), ("rate", 5.0)):
        with pytest.raises(ParameterError, match=name.rpartition(".")[2]):
            bench.add(SpacemouseNode, parameters={name: value})
