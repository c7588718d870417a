"""Runs one node as a process: wrong parameters and signals end it with a plain exit."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from collections.abc import Callable

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from serl_controllers.ros_executor import make_executor

PATIENCE = 0.2
"""Of the fast executor: a signal is heeded after so long at the latest [s]."""


def run(name: str, make: Callable[[], Node], fast: bool = False) -> None:
    """Spins what `make` returns until SIGINT or SIGTERM; an error of `make` is exit code 1.

    `fast`: by the executor that costs least for each message.
    """
    stop = _stop_signal()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = make()
    except (ValueError, OSError) as error:
        rclpy.shutdown()
        sys.exit(f"{name}: {error}")
    executor = make_executor() if fast else SingleThreadedExecutor()
    executor.add_node(node)
    # Not spin_until_future_complete: it gives the future one more callback with each message.
    if not fast:  # it knows no guard conditions
        wake = node.create_guard_condition(lambda: None)
        stop.add_done_callback(lambda _: wake.trigger())
    try:
        while not stop.done():
            executor.spin_once(timeout_sec=PATIENCE if fast else None)
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown()


def _stop_signal() -> Future:
    """Done when a signal has come; its callbacks are called by the thread that waits for one.

    rclpy's own handlers shut the context down under a spinning executor, and a handler in Python
    would not run before the next message: so a thread waits for the byte that the interpreter's
    handler writes at once.
    """
    stop = Future()
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writer.fileno())

    def wait() -> None:
        reader.recv(1)
        stop.set_result(None)
        writer.fileno()  # keeps the writer open until then

    threading.Thread(target=wait, daemon=True).start()
    return stop
