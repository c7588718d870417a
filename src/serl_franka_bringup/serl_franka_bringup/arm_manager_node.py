"""The arm manager: keeps `arm/*` alive whatever happens to the controller's node."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.task import Future
from std_msgs.msg import Float32, String
from std_srvs.srv import Trigger

from serl_controllers.arm import ArmState
from serl_controllers.joint_limits import JointLimitError, JointLimits
from serl_controllers.ros_arm import state_from_msg, state_to_msg
from serl_controllers.ros_joint_reset import JointResetServer
from serl_controllers.ros_main import run
from serl_controllers.ros_parameters import declare_from, refuse_unknown
from serl_controllers.ros_qos import COMMAND, STATE
from serl_controllers.ros_status import StatusPublisher
from serl_franka_bringup.arm_steps import Action, Step, SupervisionConfig
from serl_franka_bringup.arm_supervision import ArmSupervision
from serl_franka_bringup.gripper import GripperConfig, GripperOrders
from serl_franka_bringup.ros_calls import Calls
from serl_franka_bringup.ros_controller_manager import ControllerManager
from serl_franka_bringup.ros_franka import FrankaLook, FrankaRobot
from serl_franka_bringup.ros_gripper import make_gripper
from serl_interfaces.msg import ArmCommand, JointCommand, RobotState

LOOK_PERIOD = 0.05
"""Between two looks at everything [s]."""

LIST_PERIOD = 0.2
"""Between two questions for the controllers [s]."""

LEAVE_FAULT_TIMEOUT = 2.0  # [s]
OWN_STATES = 256


@dataclass(frozen=True)
class ArmManagerConfig:
    """Parameters of the node.

    Attributes:
      frame_id: the arm's base frame.
      joints: names of the arm's joints in `robot_description`, base to tool.
      state_rate: of arm/state while the controller does not publish it [Hz].
    """

    frame_id: str = "fr3_link0"
    joints: tuple[str, ...] = tuple(f"fr3_joint{i}" for i in range(1, 8))
    state_rate: float = 100.0
    supervision: SupervisionConfig = field(default_factory=SupervisionConfig)
    gripper: GripperConfig = field(default_factory=GripperConfig)

    def __post_init__(self) -> None:
        if len(self.joints) != 7:
            raise ValueError(f"joints has {len(self.joints)} names, expected 7: {self.joints}")
        if not 1.0 <= self.state_rate <= 1000.0:
            raise ValueError(f"state_rate is {self.state_rate} Hz, expected 1 .. 1000")


class ArmManagerNode(Node):
    """Wires the supervision to controller_manager, the robot, the gripper and the topics."""

    def __init__(self, **kwargs: object) -> None:
        """`kwargs` go to rclpy's Node.

        Raises:
          ParameterError, MissingPackage, ValueError: names the parameter or package.
        """
        super().__init__("arm_manager", **kwargs)
        config = self._config = declare_from(self, ArmManagerConfig)
        refuse_unknown(self)
        self._calls = Calls()
        self._supervision = ArmSupervision(config.supervision)
        self._controllers = ControllerManager(self, self._calls)
        reports = config.supervision.robot_reports
        self._robot = FrankaRobot(self, self._calls) if reports else None
        self._gripper = make_gripper(self, self._calls, config.gripper)
        self._orders = GripperOrders(config.gripper)
        self._gripper_error = ""
        self._state: ArmState | None = None
        self._own_stamps: deque[int] = deque(maxlen=OWN_STATES)
        self._recovery: Future | None = None
        self._description = ""
        self._joint_commands = 0
        self._make_interface()

    def _make_interface(self) -> None:
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._states = self.create_publisher(RobotState, "arm/state", STATE)
        self._openings = self.create_publisher(Float32, "arm/gripper", COMMAND)
        self._joint_command = self.create_publisher(JointCommand, "arm/joint_command", COMMAND)
        self._status = StatusPublisher(self)
        self.create_subscription(RobotState, "arm/state", self._on_state, STATE)
        self.create_subscription(ArmCommand, "arm/command", self._on_command, COMMAND)
        self.create_subscription(String, "robot_description", self._on_description, latched)
        # A group of its own: while a recovery is awaited, the timers that carry it out go on.
        group = MutuallyExclusiveCallbackGroup()
        self.create_service(Trigger, "arm/recover", self._on_recover, callback_group=group)
        name = self._config.supervision.controller
        self._leave_fault = self.create_client(Trigger, f"{name}/recover")
        self._resets = JointResetServer(self, self)
        self.create_timer(LIST_PERIOD, self._controllers.poll, clock=steady)
        self.create_timer(LOOK_PERIOD, self._look, clock=steady)
        self.create_timer(1.0 / self._config.state_rate, self._stand_in, clock=steady)

    # Callbacks store.

    def _on_state(self, message: RobotState) -> None:
        """The controller's: what this node publishes itself is known by its stamp."""
        stamp = message.header.stamp
        if stamp.sec * 10**9 + stamp.nanosec in self._own_stamps:
            return
        try:
            self._state = state_from_msg(message)
        except ValueError as error:
            self.get_logger().warning(f"state dropped: {error}", throttle_duration_sec=5.0)
            return
        self._supervision.see_law(self._state.mode, time.monotonic())

    def _on_command(self, message: ArmCommand) -> None:
        if message.has_gripper:
            self._orders.want(float(message.gripper))

    def _on_description(self, message: String) -> None:
        self._description = message.data

    async def _on_recover(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        refusal = self._supervision.ask_recovery(time.monotonic())
        if refusal:
            response.success, response.message = refusal.startswith("nothing"), refusal
            return response
        self.get_logger().info("recovery: asked for by arm/recover")
        self._recovery = Future()
        response.success, response.message = await self._recovery
        self.get_logger().info(f"recovery: {response.message}")
        return response

    # Timers work.

    def _look(self) -> None:
        now = time.monotonic()
        self._calls.look()
        self._supervision.see_hardware(self._controllers.hardware, now)
        self._supervision.see_controllers(self._controllers.states, now)
        look = self._robot.look() if self._robot is not None else None
        if look is not None:
            self._take_in(look, now)
        step = self._supervision.next_step(now)
        if step is not None:
            self._carry_out(step)
        outcome = self._supervision.recovered(now)
        if outcome is not None and self._recovery is not None:
            self._recovery.set_result(outcome)
            self._recovery = None
        self._serve_gripper()
        self._say(now)

    def _take_in(self, look: FrankaLook, now: float) -> None:
        self._supervision.see_robot(look.report, now)
        if self._state is not None and not self._supervision.controls(now):
            self._state = look.update(self._state)

    def _carry_out(self, step: Step) -> None:
        self.get_logger().info(f"{step}")

        def done(ok: bool, message: str) -> None:
            if not ok:
                self.get_logger().warning(f"{step}: {message}")
            self._supervision.finish(step, ok, message, time.monotonic())

        if step.action is Action.CLEAR_ERRORS:
            assert self._robot is not None
            self._robot.clear_errors(done)
        elif step.action is Action.LEAVE_FAULT:
            self._ask_law(done)
        else:
            self._controllers.carry_out(step, done)

    def _ask_law(self, done: Callable[[bool, str], None]) -> None:
        self._calls.call(
            self._leave_fault,
            Trigger.Request(),
            LEAVE_FAULT_TIMEOUT,
            lambda answer, why: done(answer is not None and answer.success, why),
        )

    def _serve_gripper(self) -> None:
        if self._gripper is None:
            return
        if self._gripper.opening is not None:
            self._openings.publish(Float32(data=self._gripper.opening))
        order = self._orders.next_order()
        if order is not None:
            self._gripper.carry_out(order, self._gripper_done)

    def _gripper_done(self, error: str) -> None:
        self._gripper_error = error
        self._orders.finish()

    def _stand_in(self) -> None:
        """Publishes the state while the controller does not; what is not measured is the last
        known, the stamp is fresh."""
        now = time.monotonic()
        if self._state is None or self._supervision.controls(now):
            return
        stamp = self.get_clock().now().nanoseconds
        gripper = self._gripper.opening if self._gripper is not None else None
        self._state = replace(
            self._state,
            stamp_ns=stamp,
            mode=self._supervision.mode(now),
            gripper=self._state.gripper if gripper is None else gripper,
        )
        self._own_stamps.append(stamp)
        self._states.publish(state_to_msg(self._state, self._config.frame_id))

    def _say(self, now: float) -> None:
        detail = self._supervision.detail(now)
        if self._gripper_error:
            detail = f"{detail}; gripper: {self._gripper_error}".lstrip("; ")
        mode = self._supervision.mode(now).name.lower()
        self._status.say(mode, self._supervision.waiting_for(now), detail)

    # What JointResetServer moves: the controller, through arm/joint_command.

    def start(self, q: list[float], max_velocity: float) -> None:
        """Orders a joint move."""
        self._order(q=q, max_velocity=max_velocity)

    def cancel(self) -> None:
        """Orders it to brake."""
        self._order(cancel=True)

    def state(self) -> ArmState | None:
        """The newest state, whoever published it."""
        return self._state

    def limits(self) -> JointLimits:
        """Of the robot description. JointLimitError: there is none yet."""
        if not self._description:
            raise JointLimitError("no robot_description has arrived yet: limits are not known")
        return JointLimits.from_urdf(self._description, self._config.joints)

    def _order(self, **fields: object) -> None:
        self._joint_commands += 1
        message = JointCommand(command_seq=self._joint_commands, **fields)
        message.header.stamp = self.get_clock().now().to_msg()
        message.header.frame_id = self._config.frame_id
        self._joint_command.publish(message)


def main() -> None:
    """Runs the node until it is interrupted."""
    run("arm_manager", ArmManagerNode)


if __name__ == "__main__":
    main()
