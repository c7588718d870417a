"""Keys of an operator: buttons of their device, or services for a person without one."""

from __future__ import annotations

from contextlib import suppress

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from serl_actor.episode_index import UnknownSteps
from serl_actor.intervention import PAUSE, STOP, SUCCESS, VETO
from serl_actor.operator_keys import OperatorKeys
from serl_actor.recorder import Recorder
from serl_actor.transition_sender import SenderError
from serl_controllers.ros_qos import INTERVENTION
from serl_interfaces.msg import Intervention
from serl_learner.types import Relabel


class RosOperatorKeys:
    """`success` marks what is seen from now on; `veto` is against a success, see VetoKey; `pause`
    holds the arm, or lets it go on; `stop` holds it and ends the episode.

    All are names of buttons in `intervention`: what counts there is that a button goes down. For
    who has no device there are services of the actor: mark_success, veto_success, stop, and hold,
    which pauses or releases.
    """

    def __init__(self, node: Node, keys: OperatorKeys, recorder: Recorder) -> None:
        self._node = node
        self._keys = keys
        self._recorder = recorder
        self._down: dict[str, frozenset[str]] = {}  # by device
        node.create_service(Trigger, "mark_success", self._on_success)
        node.create_service(Trigger, "veto_success", self._on_veto)
        node.create_service(SetBool, "hold", self._on_hold)
        node.create_service(Trigger, "stop", self._on_stop)
        node.create_subscription(Intervention, "intervention", self._on_buttons, INTERVENTION)

    @property
    def holds(self) -> int:
        """So often the arm was paused or stopped."""
        return self._keys.hold.uses

    @property
    def vetoes(self) -> int:
        """Successes that an operator overruled."""
        return self._keys.veto.uses

    def settle(self) -> None:
        """After an episode: a press that came while it ended takes back its success."""
        with suppress(UnknownSteps, SenderError):
            self._take_back()

    def _on_success(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._keys.press(SUCCESS)
        response.success, response.message = True, "frames from now on are marked"
        return response

    def _on_veto(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            relabel = self._overrule()
        except (UnknownSteps, SenderError) as error:
            response.message = str(error)
            return response
        self._keys.veto.count()
        response.success, response.message = True, _said(relabel)
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
        if self._keys.veto.hear(message.device, VETO in buttons):
            self._on_press()

    def _on_press(self) -> None:
        try:
            self._take_back()
        except (UnknownSteps, SenderError) as error:
            self._node.get_logger().warning(
                f"veto: {error}; while the button is held nothing is called a success"
            )

    def _take_back(self) -> None:
        """If there is a press for that; raises as Recorder.overrule."""
        relabel = self._keys.veto.take_back(self._overrule)
        if relabel is not None:
            self._node.get_logger().info(f"veto: {_said(relabel)}")

    def _overrule(self) -> Relabel:
        return self._recorder.overrule(self._node.get_clock().now().nanoseconds)


def _said(relabel: Relabel) -> str:
    return f"relabel {relabel.seq}: record {relabel.last_seq} is no success"
