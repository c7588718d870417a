"""Whoever stops commanding an arm that does not wait: it holds within one command timeout."""

from __future__ import annotations

import os
import signal
import threading

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from serl_command import node_processes, wait_for

from serl_controllers.arm import ArmMode
from serl_controllers.domain import Domain
from serl_controllers.ros_arm import ns_from_time
from serl_controllers.ros_qos import STATE
from serl_interfaces.msg import RobotState

TIMEOUT = 0.5
"""Of a command [s], and what the test allows beyond: a late look at the clock."""
SLACK = 0.1

REALTIME = (
    "sim.realtime:=true",
    f"sim.compliance.command_timeout:={TIMEOUT}",
    "actor.lockstep:=false",
    "actor.robot.state_age:=1.0",  # a busy machine is no reason to break off
)


class Listener:
    """All states of the arm: time of the simulation [s], command number, mode."""

    def __init__(self, domain: int) -> None:
        self.states: list[tuple[float, int, ArmMode]] = []
        self._context = rclpy.Context()
        rclpy.init(context=self._context, domain_id=domain)
        node = rclpy.create_node("witness", context=self._context)
        node.create_subscription(RobotState, "arm/state", self._hear, STATE)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(node)
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)
        self._thread.start()

    def _hear(self, message: RobotState) -> None:
        stamp = 1e-9 * ns_from_time(message.header.stamp)
        self.states.append((stamp, int(message.command_seq), ArmMode(message.mode)))

    def is_commanded(self) -> bool:
        """Commands came one after the other just now, and the arm follows."""
        last = self.states[-30:]
        follows = all(mode is ArmMode.IMPEDANCE for _, _, mode in last)
        return follows and len({seq for _, seq, _ in last}) >= 2

    def close(self) -> None:
        self._executor.shutdown()
        rclpy.shutdown(context=self._context)
        self._thread.join()


@pytest.fixture
def arm(start, tmp_path):
    domain = Domain(tmp_path, environment={})
    words = ("run", "tiny.yaml", "--max-steps", "100000", *REALTIME)
    run = start(*words, ROS_DOMAIN_ID=str(domain.id))
    listener = Listener(domain.id)
    run.wait_until_said("training, policy drives")
    wait_for(listener.is_commanded, "the policy to drive")
    yield listener
    listener.close()
    domain.close()


def holds_after(listener: Listener, number: int, pid: int) -> float:
    """Sends a signal; time from the last command carried out to HOLD [s]."""
    first = len(listener.states)
    os.kill(pid, number)
    wait_for(lambda: listener.states[-1][2] is ArmMode.HOLD, "the arm to hold")
    states = listener.states[first - 50 :]
    held = next(i for i, state in enumerate(states) if i >= 50 and state[2] is ArmMode.HOLD)
    seq = states[held][1]
    commanded = next(stamp for stamp, number, _ in states if number == seq)
    return states[held][0] - commanded


def test_the_arm_holds_when_the_policy_stream_stalls_the_actor_dies_or_the_learner_dies(
    arm, tmp_path
):
    actor = node_processes(tmp_path)["actor"]
    assert holds_after(arm, signal.SIGSTOP, actor) <= TIMEOUT + SLACK
    held = len(arm.states)
    wait_for(lambda: len(arm.states) > held + 50, "further states")
    assert {mode for _, _, mode in arm.states[held:]} == {ArmMode.HOLD}
    os.kill(actor, signal.SIGCONT)
    wait_for(arm.is_commanded, "the policy to drive again")

    first = len(arm.states)
    os.kill(node_processes(tmp_path)["learner"], signal.SIGKILL)
    wait_for(lambda: arm.states[-1][0] > arm.states[first - 1][0] + 5 * TIMEOUT, "some seconds")
    assert never_uncommanded(arm.states[first:])
    wait_for(arm.is_commanded, "the policy to drive on")

    assert holds_after(arm, signal.SIGKILL, node_processes(tmp_path)["actor"]) <= TIMEOUT + SLACK


def never_uncommanded(states: list[tuple[float, int, ArmMode]]) -> bool:
    """No state in which the last command is older than its timeout and the arm does not hold.

    A reset of the scene, number 0, starts anew.
    """
    since, last = states[0][0], states[0][1]
    for stamp, seq, mode in states:
        if seq != last or seq == 0:
            since, last = stamp, seq
        if stamp - since > TIMEOUT + SLACK and mode is not ArmMode.HOLD:
            return False
    return True
