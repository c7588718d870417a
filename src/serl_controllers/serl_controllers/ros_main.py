"""Runs one node as a process: wrong parameters and signals end it with a plain exit."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from serl_controllers.ros_executor import make_executor

PATIENCE = 0.2
"""A signal is heeded after so long at the latest, also if no message comes [s]."""


def run(name: str, make: Callable[[], Node], fast: bool = False) -> None:
    """Spins what `make` returns until SIGINT or SIGTERM; an error of `make` is exit code 1.

    `fast`: by the executor that costs least for each message.
    """
    stop = begin()
    try:
        node = make()
    except (ValueError, OSError) as error:
        rclpy.shutdown()
        sys.exit(f"{name}: {error}")
    executor = make_executor() if fast else SingleThreadedExecutor()
    executor.add_node(node)
    try:
        while not stop.is_set():
            executor.spin_once(timeout_sec=PATIENCE)
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown()


def begin() -> threading.Event:
    """Initialises rclpy; the event is set by SIGINT and SIGTERM.

    rclpy's own handlers end the context at once, under a spinning executor and before the last
    words of a node are published.
    """
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    return stop
