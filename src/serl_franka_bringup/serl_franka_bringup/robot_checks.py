"""Looks at what only a real arm needs of a machine: kernel, rights, drivers, network, USB. No ROS.

Paths are arguments, so that tests can show another machine.
"""

from __future__ import annotations

import os
import platform
import resource
import socket
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from serl_franka_bringup import graph
from serl_franka_bringup.cameras import load_cameras
from serl_franka_bringup.checks import FAIL, OK, WARN, Finding
from serl_franka_bringup.config import ConfigError

FCI_PORT = 1337  # of libfranka's first connection
THREAD_PRIORITY = 98  # of controllers.yaml
RECEIVE_BUFFER = 2**21  # [bytes]; two cameras' pictures fit
DDS_PORT = 7400  # first of domain 0
DDS_PORTS_PER_DOMAIN = 250
INTEL, CONNEXION = "8086", ("256f", "046d")  # USB vendors of RealSense; SpaceMouse, new and old
_LOADED = (  # by controller_manager, or used by what it loads
    "joint_state_broadcaster",
    "franka_hardware",
    "franka_robot_state_broadcaster",
    "franka_msgs",
    "libfranka",
)
LEAST = {"libfranka": (0, 20, 4), "franka_description": (2, 8, 0), "franka_hardware": (3, 3, 0)}


def check_kernel(release: str = "", realtime: Path = Path("/sys/kernel/realtime")) -> list[Finding]:
    """Whether the kernel is a real-time one, which libfranka asks for."""
    version = release or f"{platform.release()} {platform.version()}"
    told = realtime.exists() and realtime.read_text(encoding="utf-8").strip() == "1"
    if told or "PREEMPT_RT" in version:
        return [Finding("kernel", OK, f"{platform.release()}, real-time")]
    advice = "Ubuntu: `pro attach`, `pro enable realtime-kernel`, reboot; see docs/hardware.md"
    return [Finding("kernel", FAIL, f"{platform.release()}, without PREEMPT_RT", advice)]


def check_rights(limit: Callable[[int], tuple[int, int]] = resource.getrlimit) -> list[Finding]:
    """Whether this user may run the control loop at its priority and lock its memory."""
    findings = []
    advice = "put the user into group realtime, add its limits.d file, log in anew"
    needs = (
        ("rtprio", resource.RLIMIT_RTPRIO, THREAD_PRIORITY),
        ("memlock", resource.RLIMIT_MEMLOCK, 2**29),
    )
    for name, kind, least in needs:
        soft = limit(kind)[0]
        enough = soft == resource.RLIM_INFINITY or soft >= least
        found = "unlimited" if soft == resource.RLIM_INFINITY else str(soft)
        findings.append(
            Finding(name, OK, found)
            if enough
            else Finding(name, FAIL, f"{found}, at least {least} is needed", advice)
        )
    return findings


def check_governor(root: Path = Path("/sys/devices/system/cpu")) -> list[Finding]:
    """Whether cores change their frequency under the control loop."""
    files = sorted(root.glob("cpu[0-9]*/cpufreq/scaling_governor"))
    slow = [f for f in files if f.read_text(encoding="utf-8").strip() != "performance"]
    if slow:
        advice = "`cpupower frequency-set -g performance`"
        return [Finding("governor", WARN, f"{len(slow)} cores are not at performance", advice)]
    return [Finding("governor", OK, "performance" if files else "frequency is not scaled")]


def check_drivers(robot: str = "fr3", hardware: str = "franka") -> list[Finding]:
    """The packages that the nodes of this robot come from, with their versions."""
    arguments = graph.Arguments(robot=robot, robot_ip="-", hardware=hardware)
    needed: dict[str, None] = {}
    for kind in graph.KINDS.values():
        if arguments.robot in kind.robots and arguments.robot not in kind.optional_for:
            needed |= dict.fromkeys((kind.package, *kind.needs))
    needed |= dict.fromkeys(_LOADED)
    needed.pop("rviz2")
    return [_check_package(name) for name in needed if not name.startswith("serl_")]


def check_plugin() -> list[Finding]:
    """Whether the controller was built with the workspace."""
    from ament_index_python.resources import has_resource

    if has_resource("controller_interface__pluginlib__plugin", "serl_controllers"):
        return [Finding("controller", OK, "the ros2_control plugin is built")]
    advice = "source ROS with ros2_control and Pinocchio, and build serl_controllers again"
    return [Finding("controller", FAIL, "the ros2_control plugin is not built", advice)]


def check_robot(address: str, timeout: float = 1.0, port: int = FCI_PORT) -> list[Finding]:
    """Whether the robot's control interface answers at `address`."""
    try:
        with socket.create_connection((address, port), timeout):
            return [Finding("robot", OK, f"{address} answers on port {port}")]
    except ConnectionRefusedError:
        advice = "activate FCI in Desk, and leave programming mode"
        return [Finding("robot", FAIL, f"{address} refuses port {port}", advice)]
    except OSError as error:
        advice = "cable to the control's LAN port, static address in its network; `ping` it"
        return [Finding("robot", FAIL, f"{address}: {error}", advice)]


def check_cameras(path: Path, usb: Path = Path("/sys/bus/usb/devices")) -> list[Finding]:
    """Whether the cameras of cameras.yaml are told, and as many are plugged into fast ports."""
    try:
        wanted = len(load_cameras(path))
    except ConfigError as error:
        return [Finding("cameras", FAIL, str(error), "or start with cameras:=false")]
    found = [d for d in _usb(usb, (INTEL,)) if "RealSense" in _read(d / "product")]
    slow = [d for d in found if float(_read(d / "speed") or 0) < 5000]
    if len(found) < wanted:
        advice = "plug them in; `rs-enumerate-devices -s`; udev rules in docs/hardware.md"
        return [Finding("cameras", FAIL, f"{len(found)} of {wanted} RealSense found", advice)]
    if slow:
        advice = "use USB 3 ports and cables"
        return [Finding("cameras", WARN, f"{len(slow)} RealSense on USB 2", advice)]
    return [Finding("cameras", OK, f"{len(found)} RealSense on USB 3")]


def check_spacemouse(
    usb: Path = Path("/sys/bus/usb/devices"), devices: Path = Path("/dev")
) -> list[Finding]:
    """Whether a SpaceMouse is plugged in and may be read."""
    mice = [d for d in _usb(usb, CONNEXION) if "space" in _read(d / "product").lower()]
    if not mice:
        advice = "plug it in; without it nobody corrects the policy"
        return [Finding("spacemouse", WARN, "none found", advice)]
    nodes = [devices / node.name for mouse in mice for node in mouse.glob("*/*/hidraw/hidraw*")]
    if not any(os.access(node, os.R_OK | os.W_OK) for node in nodes):
        advice = "udev rule 99-spacemouse.rules of docs/hardware.md, then plug it in anew"
        return [Finding("spacemouse", FAIL, f"{_read(mice[0] / 'product')} not readable", advice)]
    return [Finding("spacemouse", OK, _read(mice[0] / "product"))]


def check_ports(domain: int = 0) -> list[Finding]:
    """Whether DDS can have its ports."""
    port = DDS_PORT + DDS_PORTS_PER_DOMAIN * domain
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            advice = "another program has it: choose another ROS_DOMAIN_ID"
            return [Finding("ports", FAIL, f"UDP {port}: {error.strerror}", advice)]
    return [Finding("ports", OK, f"UDP {port} (domain {domain}) can be had")]


def check_buffers(path: Path = Path("/proc/sys/net/core/rmem_max")) -> list[Finding]:
    """Whether a picture fits into a socket's buffer."""
    size = int(path.read_text(encoding="utf-8"))
    if size < RECEIVE_BUFFER:
        advice = f"`sysctl -w net.core.rmem_max={RECEIVE_BUFFER}`, and in /etc/sysctl.d"
        return [Finding("buffers", WARN, f"net.core.rmem_max is {size}", advice)]
    return [Finding("buffers", OK, f"net.core.rmem_max is {size}")]


def _check_package(name: str) -> Finding:
    from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

    try:
        text = (Path(get_package_share_directory(name)) / "package.xml").read_text("utf-8")
    except (PackageNotFoundError, OSError):
        return Finding(name, FAIL, "not installed", "docs/hardware.md says where it comes from")
    version = ElementTree.fromstring(text).findtext("version", "unknown")
    least = LEAST.get(name)
    digits = tuple(int(part) for part in version.split(".") if part.isdigit())
    if least is not None and digits < least:
        wanted = ".".join(map(str, least))
        return Finding(name, FAIL, version, f"at least {wanted}; see docs/hardware.md, versions")
    return Finding(name, OK, version)


def _usb(root: Path, vendors: tuple[str, ...]) -> list[Path]:
    return [d for d in sorted(root.glob("*")) if _read(d / "idVendor") in vendors]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
