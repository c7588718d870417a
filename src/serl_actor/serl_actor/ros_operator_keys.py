"""Keys of an operator: buttons of their device, or services for a person without one."""

from __future__ import annotations

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from serl_actor.episode_index import UnknownSteps
from serl_actor.intervention import PAUSE, STOP, SUCCESS, VETO
from serl_actor.operator_keys import OperatorKeys
from serl_actor.recorder import Recorder
from serl_actor.transition_sender import SenderError
from serl_controllers.ros_qos import INTERVENTION
from serl_interfaces.msg import Intervention


class RosOperatorKeys:
    """`success` marks what is seen from now on; `veto` overrules the last success; `pause` holds
    the arm, or lets it go on; `stop` holds it and ends the episode.

    All are names of buttons in `intervention`: what counts there is that a button goes down. For
    who has no device there are services of the actor: mark_success, veto_success, stop, and hold,
    which pauses or releases.

    Attributes:
      overruled: successes that were taken back after they had been recorded.
    """

    def __init__(self, node: Node, keys: OperatorKeys, recorder: Recorder) -> None:
        self._node = node
        self._keys = keys
        self._recorder = recorder
        self._down: dict[str, frozenset[str]] = {}  # by device
        self.overruled = 0
        node.create_service(Trigger, "mark_success", self._on_success)
        node.create_service(Trigger, "veto_success", self._on_veto)
        node.create_service(SetBool, "hold", self._on_hold)
        node.create_service(Trigger, "stop", self._on_stop)
        node.create_subscription(Intervention, "intervention", self._on_buttons, INTERVENTION)

    @property
    def holds(self) -> int:
        """So often the arm was paused or stopped."""
        return self._keys.hold.uses

    def _on_success(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._keys.press(SUCCESS)
        response.success, response.message = True, "frames from now on are marked"
        return response

    def _on_veto(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = self._veto()
        return response

    def _on_hold(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if request.data:
            self._keys.hold.pause("service hold")
        else:
            self._keys.hold.release()
        response.success, response.message = True, self._keys.hold.why or "released"
        return response

    def _on_stop(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._keys.hold.stop("service stop")
        response.success, response.message = True, self._keys.hold.why
        return response

    def _on_buttons(self, message: Intervention) -> None:
        buttons = frozenset(message.buttons)
        pressed = buttons - self._down.get(message.device, frozenset())
        self._down[message.device] = buttons
        if PAUSE in pressed:
            self._keys.hold.toggle(message.device)
        if STOP in pressed:
            self._keys.hold.stop(message.device)
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
