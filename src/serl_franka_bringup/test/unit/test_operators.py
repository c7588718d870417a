"""Which operators a graph has, and the wiggle test of a person's SpaceMouse."""

from __future__ import annotations

import os
import struct
import sys
import termios
from pathlib import Path

import pytest

from serl_actor.devices.hid_port import HidDevice
from serl_actor.devices.spacemouse import SpaceMouse
from serl_franka_bringup import graph, plan
from serl_franka_bringup.arguments import LEARN
from serl_franka_bringup.checks import FAIL, OK, WARN
from serl_franka_bringup.config import ConfigError
from serl_franka_bringup.plan import make_plan
from serl_franka_bringup.task import load_task
from serl_franka_bringup.terminal import kept_terminal, terminal_name
from serl_franka_bringup.wiggle import SECONDS, check_wiggle
from serl_learner.learner import RULES

PCB = Path(__file__).resolve().parents[2] / "config" / "pcb.yaml"
FOUND = [HidDevice(0x256F, 0xC635, Path("/dev/hidraw0"), True)]


def make(*pairs: str) -> dict[str, graph.Node]:
    arguments, overrides = graph.parse_arguments(pairs)
    nodes = graph.make_graph(load_task(PCB, graph.NODES), arguments, overrides)
    return {node.name: node for node in nodes}


def operators(*pairs: str) -> set[str]:
    return make(*pairs).keys() & {"expert", "spacemouse", "gamepad", "keyboard"}


def test_a_device_takes_the_experts_place_unless_both_are_wanted():
    assert operators() == {"expert"}
    assert operators("device:=spacemouse") == {"spacemouse"}
    assert operators("device:=gamepad", "expert:=true") == {"gamepad", "expert"}
    assert operators("expert:=false") == set()
    assert operators("device:=spacemouse", "roles:=learner") == set()


def test_with_a_device_the_policy_may_be_corrected_and_a_run_goes_on_without_it():
    nodes = make("device:=spacemouse", "spacemouse.teleoperation.mode:=hold")
    assert nodes["actor"].parameters["job.interventions"] is True
    assert "job.interventions" not in make()["actor"].parameters
    assert nodes["spacemouse"].parameters == {"teleoperation.mode": "hold"}
    assert not nodes["spacemouse"].vital


def test_the_run_is_the_same_with_and_without_a_device(tmp_path):
    paths = {
        plan.make_plan(str(PCB), pairs, tmp_path).directory
        for pairs in ((), ("device:=spacemouse",), ("device:=gamepad", "expert:=true"))
    }
    assert len(paths) == 1


def test_the_scripted_expert_corrects_beside_a_device_as_well():
    assert operators("interventions:=scripted", "device:=gamepad") == {"gamepad", "expert"}
    nodes = make("interventions:=scripted", "expert.person.memory:=5")
    assert nodes["actor"].parameters["job.interventions"] is True
    assert nodes["expert"].parameters["intervene"] == "when_drifting"
    assert nodes["expert"].parameters["person.memory"] == 5
    assert "intervene" not in make()["expert"].parameters


@pytest.mark.parametrize(
    "pairs",
    [
        ("interventions:=scripted", "expert:=false"),
        ("interventions:=scripted", "robot:=fr3", "robot_ip:=172.16.0.2"),
    ],
)
def test_the_scripted_expert_corrects_where_it_is(pairs):
    with pytest.raises(ConfigError, match="interventions 'scripted' needs robot:=sim"):
        graph.parse_arguments(pairs)


LEARNING = ("learn", "warm_start.", "agent.imitation.")


def learning(*pairs: str) -> dict[str, object]:
    """What the learner is told of rule and warm start."""
    parameters = make(*pairs)["learner"].parameters
    return {k: v for k, v in parameters.items() if k.startswith(LEARNING)}


def test_what_is_learned_and_from_where_it_starts():
    assert learning() == {}
    begins = {"warm_start.enabled": True, "warm_start.demonstrations": 20}
    draws = {"agent.imitation.enabled": True}
    assert learning("warm_start:=true") == {**begins, **draws}
    assert learning("warm_start:=true", "imitate:=false") == begins
    assert learning("imitate:=true") == draws
    assert learning("learn:=hg_dagger") == {"learn": "hg_dagger", **begins}
    fewer = learning("warm_start:=true", "demos:=5", "learner.warm_start.updates:=100")
    assert fewer["warm_start.demonstrations"] == 5
    assert fewer["warm_start.updates"] == 100
    assert learning("learn:=hg_dagger", "demos:=0") == {"learn": "hg_dagger"}
    said = learning("warm_start:=true", "actor.job.demonstrations:=7")
    assert said["warm_start.demonstrations"] == 7, "the clone waits for what the job makes"
    brought = ("demonstrations:=/some/where", "warm_start:=true")
    with pytest.raises(ConfigError, match=r"'/some/where': to begin .* demos:=N"):
        learning(*brought)
    assert learning(*brought, "demos:=3")["warm_start.demonstrations"] == 3
    with pytest.raises(ConfigError, match="warm_start needs demonstrations"):
        graph.parse_arguments(["warm_start:=true", "demos:=0"])
    assert [*RULES] == [*LEARN]


def test_an_unknown_device_is_refused():
    with pytest.raises(ConfigError, match="device 'mouse' is not none or spacemouse or gamepad"):
        graph.parse_arguments(["device:=mouse"])


@pytest.fixture
def pty(monkeypatch):
    master, slave = os.openpty()
    with os.fdopen(slave) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        yield terminal
    os.close(master)


def test_a_keyboard_is_that_of_the_terminal(pty):
    name = os.ttyname(pty.fileno())
    assert terminal_name() == name
    assert make("device:=keyboard")["keyboard"].parameters == {"terminal": name}


def test_a_terminal_is_put_back_whatever_a_node_left(pty):
    before = termios.tcgetattr(pty)
    with kept_terminal():
        raw = termios.tcgetattr(pty)
        raw[3] &= ~termios.ECHO
        termios.tcsetattr(pty, termios.TCSANOW, raw)
    assert termios.tcgetattr(pty) == before


def test_without_a_terminal_there_is_nothing_to_put_back(monkeypatch):
    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert terminal_name() == ""
        with kept_terminal():
            pass


class Hand:
    """Moves the cap one way after the other; `dead`: an axis that does not come in."""

    def __init__(self, dead: int | None = None) -> None:
        self.now, self.step, self.dead = 0.0, 0, dead
        self.says: list[str] = []
        self.mouse = SpaceMouse(lambda: self.now, lambda: FOUND, lambda node: self)
        self._sent = False

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.step += 1
        self._sent = False

    def read(self) -> bytes | None:
        if self._sent:
            return None
        self._sent = True
        axis, sign = self.step % 6, 1 - 2 * (self.step // 6 % 2)
        counts = [0] * 6
        counts[axis] = 0 if axis == self.dead else 300 * sign
        return b"\x01" + struct.pack("<6h", *counts)

    def close(self) -> None: ...

    def check(self):
        return check_wiggle(self.says.append, self.mouse, lambda: self.now, self.sleep)[0]


def test_a_wiggle_of_all_axes_passes_and_says_what_is_left():
    hand = Hand()
    found = hand.check()
    assert (found.level, found.found) == (OK, "SpaceMouse Compact: all six axes, both ways")
    assert hand.says[0].startswith("move the cap: away, left, up")
    assert hand.says[-1] == "done"
    assert hand.now < 1.0


def test_a_dead_axis_is_named():
    hand = Hand(dead=2)
    found = hand.check()
    assert found.level == WARN
    assert "no up, down" in found.found
    assert hand.now >= SECONDS


def test_a_wiggle_without_a_device_ends_at_once():
    mouse = SpaceMouse(lambda: 0.0, list)
    found = check_wiggle(print, mouse, lambda: 0.0, lambda seconds: pytest.fail("waited"))[0]
    assert (found.level, found.advice) == (WARN, "plug it in")

    def refuse(node: Path):
        raise PermissionError(13, "Permission denied")

    mouse = SpaceMouse(lambda: 0.0, lambda: FOUND, refuse)
    found = check_wiggle(print, mouse, lambda: 0.0, lambda seconds: pytest.fail("waited"))[0]
    assert found.level == FAIL
    assert "udev rule" in found.found


def test_another_way_to_learn_is_another_run(tmp_path):
    ways = ((), ("learn:=hg_dagger",), ("warm_start:=true",), ("interventions:=scripted",))
    directories = [make_plan("pcb", way, tmp_path).directory for way in ways]
    assert len(set(directories[:3])) == 3
    assert directories[3] == directories[0], "who helps may come and go"
