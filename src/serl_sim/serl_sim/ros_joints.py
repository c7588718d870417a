"""The simulated arm's joints on their topics: `joint_states`, and the action `arm/joint_reset`."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from sensor_msgs.msg import JointState

from serl_controllers.arm import ArmMode, ArmState
from serl_controllers.joint_limits import JointLimits
from serl_controllers.ros_joint_reset import JointResetServer
from serl_controllers.ros_qos import STATE
from serl_sim.scene import JOINTS
from serl_sim.simulation import Simulation

FINGERS = ("fr3_finger_joint1", "fr3_finger_joint2")
FINGER_TRAVEL = 0.04  # of each, with the hand open [m]


class SimulatedJoints:
    """Moves the joints when asked, and says where they are.

    In lockstep time stands still without commands: a joint move then takes simulated time by
    itself, one control period per look at it.
    """

    def __init__(
        self,
        node: Node,
        simulation: Simulation,
        velocity_limit: float,
        advance: Callable[[], ArmState] | None,
    ) -> None:
        """`velocity_limit` [rad/s]; `advance` one control period; None: the clock does."""
        self._node = node
        self._simulation = simulation
        self._advance = advance
        self._limits = simulation.joint_limits(velocity_limit)
        self._moving = False
        self._states = node.create_publisher(JointState, "joint_states", STATE)
        self._server = JointResetServer(node, self)

    def publish(self, state: ArmState) -> None:
        """For TF and rviz: stamped by the clock, as simulated time repeats with every run."""
        if not self._states.get_subscription_count():
            return
        message = JointState(name=[*JOINTS, *FINGERS])
        message.header.stamp = self._node.get_clock().now().to_msg()
        finger = FINGER_TRAVEL * state.gripper
        message.position = [*state.q.tolist(), finger, finger]
        message.velocity = [*state.dq.tolist(), 0.0, 0.0]
        self._states.publish(message)

    def start(self, q: list[float], max_velocity: float) -> None:
        """Begins a joint move; refused in FAULT, which the state then shows."""
        self._moving = self._simulation.start_joint_move(q, max_velocity)

    def cancel(self) -> None:
        """Brakes and holds."""
        self._simulation.cancel_joint_move()

    def state(self) -> ArmState:
        """The arm now, one control period later if it moves in lockstep."""
        if self._moving and self._advance is not None:
            state = self._advance()
            self._moving = state.mode is ArmMode.JOINT_MOVE
            return state
        return self._simulation.state()

    def limits(self) -> JointLimits:
        """Of the model."""
        return self._limits
