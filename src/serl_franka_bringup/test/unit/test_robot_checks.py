"""What a real arm needs is looked for, and every finding that is not well says what to change."""

from __future__ import annotations

import resource
import socket
from pathlib import Path

import pytest

from serl_franka_bringup import robot_checks as checks
from serl_franka_bringup.checks import FAIL, OK, WARN

NOWHERE = Path("/nonexistent")
CAMERA = "serial: '{}'\n  width: 640\n  height: 480\n  fps: 15\n  crop: [0, 480, 80, 560]\n"


def level(findings) -> str:
    """The worst of them; whatever is not well has advice."""
    assert all(f.advice for f in findings if f.level != OK)
    levels = [f.level for f in findings]
    return next(worst for worst in (FAIL, WARN, OK) if worst in levels)


@pytest.fixture
def usb(tmp_path):
    """Adds devices to a USB tree."""
    root = tmp_path / "usb"

    def add(name: str, vendor: str, product: str, speed: int = 5000) -> Path:
        device = root / name
        device.mkdir(parents=True)
        content = {"idVendor": vendor, "product": product, "speed": str(speed)}
        for key, value in content.items():
            (device / key).write_text(value + "\n")
        return device

    root.mkdir()
    add.root = root
    return add


def cameras(tmp_path, *serials: str) -> Path:
    path = tmp_path / "cameras.yaml"
    path.write_text("".join(f"wrist_{i}:\n  {CAMERA.format(s)}" for i, s in enumerate(serials, 1)))
    return path


def test_kernels_are_told_apart(tmp_path):
    assert level(checks.check_kernel("6.8 SMP PREEMPT_RT", NOWHERE)) == OK
    assert level(checks.check_kernel("6.8 SMP PREEMPT_DYNAMIC", NOWHERE)) == FAIL
    told = tmp_path / "realtime"
    told.write_text("1\n")
    assert level(checks.check_kernel("5.15", told)) == OK


@pytest.mark.parametrize(
    ("priority", "memory", "worst"),
    [
        (99, resource.RLIM_INFINITY, OK),
        (0, resource.RLIM_INFINITY, FAIL),
        (99, 65536, FAIL),
    ],
)
def test_rights(priority, memory, worst):
    limits = {resource.RLIMIT_RTPRIO: priority, resource.RLIMIT_MEMLOCK: memory}
    assert level(checks.check_rights(lambda kind: (limits[kind], limits[kind]))) == worst


def test_a_governor_that_saves_power_is_warned_of(tmp_path):
    governor = tmp_path / "cpu0" / "cpufreq" / "scaling_governor"
    governor.parent.mkdir(parents=True)
    governor.write_text("powersave\n")
    assert level(checks.check_governor(tmp_path)) == WARN
    governor.write_text("performance\n")
    assert level(checks.check_governor(tmp_path)) == OK


def test_a_robot_that_answers_refuses_or_is_not_there():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        refused = checks.check_robot("127.0.0.1", port=port)
        assert level(refused) == FAIL
        assert "activate FCI" in refused[0].advice
        server.listen()
        assert level(checks.check_robot("127.0.0.1", port=port)) == OK
    assert level(checks.check_robot("no-such-robot.invalid")) == FAIL


def test_cameras_are_counted_by_usb(tmp_path, usb):
    path = cameras(tmp_path, "1", "2")
    usb("1-1", "8086", "Intel(R) RealSense(TM) Depth Camera 405")
    missing = checks.check_cameras(path, usb.root)
    assert "1 of 2 RealSense found" in missing[0].found
    assert level(missing) == FAIL
    usb("1-2", "8086", "Intel(R) RealSense(TM) Depth Camera 405", speed=480)
    assert level(checks.check_cameras(path, usb.root)) == WARN
    (usb.root / "1-2" / "speed").write_text("5000\n")
    assert level(checks.check_cameras(path, usb.root)) == OK


def test_cameras_without_a_serial_number_are_told(tmp_path, usb):
    findings = checks.check_cameras(cameras(tmp_path, "", "2"), usb.root)
    assert level(findings) == FAIL
    assert "wrist_1: no serial number" in findings[0].found


def test_a_spacemouse_that_may_not_be_read_is_told(tmp_path, usb):
    assert level(checks.check_spacemouse(usb.root, tmp_path)) == WARN
    mouse = usb("1-3", "256f", "SpaceMouse Compact")
    (mouse / "1-3:1.0" / "0003:256F" / "hidraw" / "hidraw7").mkdir(parents=True)
    assert level(checks.check_spacemouse(usb.root, tmp_path)) == FAIL
    (tmp_path / "hidraw7").write_text("")
    assert level(checks.check_spacemouse(usb.root, tmp_path)) == OK


def test_a_port_that_another_program_has_is_told():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(("", checks.DDS_PORT + checks.DDS_PORTS_PER_DOMAIN * 231))
        assert level(checks.check_ports(231)) == FAIL
    assert level(checks.check_ports(231)) == OK


def test_small_buffers_are_warned_of(tmp_path):
    size = tmp_path / "rmem_max"
    size.write_text("212992\n")
    assert level(checks.check_buffers(size)) == WARN
    size.write_text(f"{checks.RECEIVE_BUFFER}\n")
    assert level(checks.check_buffers(size)) == OK


def test_missing_drivers_are_named():
    findings = {finding.subject: finding for finding in checks.check_drivers()}
    assert {"controller_manager", "franka_hardware", "libfranka", "xacro"} <= set(findings)
    assert level(list(findings.values())) in (OK, FAIL)
