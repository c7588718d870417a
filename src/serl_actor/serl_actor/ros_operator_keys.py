"""Keys of an operator: buttons of their device, or services for a person without one."""

from __future__ import annotations

from rclpy.node import Node
from std_srvs.srv import Trigger

from serl_actor.episode_index import UnknownSteps
from serl_actor.operator_keys import SUCCESS, OperatorKeys
from serl_actor.recorder import Recorder
from serl_actor.reward_judge import VETO
from serl_actor.transition_sender import SenderError
from serl_controllers.ros_qos import INTERVENTION
from serl_interfaces.msg import Intervention


class RosOperatorKeys:
    """`success` marks what is seen from now on; `veto` overrules the last success.

    Both are services of the actor, and names of buttons in `intervention`: what counts there is
    that a button goes down.

    Attributes:
      overruled: successes that were taken back after they had been recorded.
    """

    def __init__(self, node: Node, keys: OperatorKeys, recorder: Recorder) -> None:
        self._node = node
        self._keys = keys
        self._recorder = recorder
        self._down: frozenset[str] = frozenset()
        self.overruled = 0
        node.create_service(Trigger, "mark_success", self._on_success)
        node.create_service(Trigger, "veto_success", self._on_veto)
        node.create_subscription(Intervention, "intervention", self._on_buttons, INTERVENTION)

    def _on_success(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._keys.press(SUCCESS)
        response.success, response.message = True, "frames from now on are marked"
        return response

    def _on_veto(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = self._veto()
        return response

    def _on_buttons(self, message: Intervention) -> None:
        pressed = frozenset(message.buttons) - self._down
        self._down = frozenset(message.buttons)
        if SUCCESS in pressed:
            self._keys.press(SUCCESS)
        if VETO in pressed:
            done, said = self._veto()
            log = self._node.get_logger()
            log.info(f"veto: {said}") if done else log.warning(f"veto: {said}")

    def _veto(self) -> tuple[bool, str]:
        try:
            relabel = self._recorder.overrule(self._node.get_clock().now().nanoseconds)
        except (UnknownSteps, SenderError) as error:
            return False, str(error)
        self.overruled += 1
        return True, f"relabel {relabel.seq}: record {relabel.last_seq} is no success"
