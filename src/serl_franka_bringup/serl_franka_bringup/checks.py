"""Looks at the machine: what is there, what is missing, what to do about it. No ROS.

Every check returns findings instead of raising, so that one broken part hides no other.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

OK, WARN, FAIL = "ok", "warn", "fail"
GIB = 1024**3
PACKAGES = ("serl_interfaces", "serl_controllers", "serl_sim", "serl_learner", "serl_actor")
LIBRARIES = (
    *("jax", "flax", "optax", "orbax-checkpoint", "mujoco", "gymnasium", "numpy"),
    *("rich", "tensorboard", "av"),
)


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    subject: str
    level: str  # OK, WARN or FAIL
    found: str
    advice: str = ""


def check_python() -> list[Finding]:
    """Interpreter and libraries."""
    version = platform.python_version()
    supported = (3, 11) <= sys.version_info[:2] <= (3, 14)
    findings = [
        Finding("python", OK if supported else FAIL, version, "" if supported else "use 3.11-3.14")
    ]
    versions, missing = [], []
    for name in LIBRARIES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    findings.append(Finding("libraries", OK, ", ".join(versions)))
    if missing:
        advice = "run `./serl setup`"
        findings.append(Finding("libraries", FAIL, f"missing: {', '.join(missing)}", advice))
    return findings


def check_workspace() -> list[Finding]:
    """Whether the packages are built and found through the ament index."""
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix

    missing = []
    for name in PACKAGES:
        try:
            get_package_prefix(name)
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        return [Finding("workspace", FAIL, f"not built: {', '.join(missing)}", "`./serl build`")]
    return [Finding("workspace", OK, f"{len(PACKAGES)} packages built")]


def check_processor() -> list[Finding]:
    """Cores that may be used and how busy they are."""
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    busy = load > 0.5 * cores
    advice = "other programs compete: training takes longer" if busy else ""
    return [Finding("processor", WARN if busy else OK, f"{cores} cores, load {load:.1f}", advice)]


def check_memory() -> list[Finding]:
    """Memory that can be had without swapping, and shared memory for DDS."""
    lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    available = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}["MemAvailable"]
    low = available < 3 * GIB
    findings = [
        Finding(
            "memory",
            WARN if low else OK,
            f"{available / GIB:.1f} GiB available",
            "state-based training takes about 2 GiB: close other programs" if low else "",
        )
    ]
    shared = shutil.disk_usage("/dev/shm").free
    low = shared < 64 * 1024**2
    advice = "DDS falls back to sockets; in a container: --shm-size 256m" if low else ""
    found = f"{shared / GIB:.2f} GiB free in /dev/shm"
    return [*findings, Finding("shared memory", WARN if low else OK, found, advice)]


def check_disk(directory: Path) -> list[Finding]:
    """Space and permission where runs are kept."""
    existing = directory.resolve()
    while not existing.exists():
        existing = existing.parent
    free = shutil.disk_usage(existing).free
    if not os.access(existing, os.W_OK):
        return [Finding("disk", FAIL, f"{existing} is not writable", "run elsewhere: --runs DIR")]
    low = free < 2 * GIB
    advice = "a run keeps logs and checkpoints: free some space" if low else ""
    found = f"{free / GIB:.0f} GiB free for {directory}"
    return [Finding("disk", WARN if low else OK, found, advice)]


def check_devices() -> list[Finding]:
    """Where JAX computes."""
    code = "import jax; print(*[f'{d.platform}:{d.device_kind}' for d in jax.devices()], sep=', ')"
    result = _python(code)
    if result.returncode:
        return [Finding("devices", FAIL, _last_line(result), "`./serl setup --fresh`")]
    found = result.stdout.strip().splitlines()[-1]
    if "cpu" in found and shutil.which("nvidia-smi"):
        return [Finding("devices", WARN, f"JAX: {found}", "`./serl setup --cuda` uses the GPU")]
    return [Finding("devices", OK, f"JAX: {found}")]


def check_gl() -> list[Finding]:
    """Which OpenGL draws a picture without a window."""
    from serl_sim.gl_backend import GLError, find_backend

    try:
        return [Finding("gl", OK, f"{find_backend()} draws without a window")]
    except GLError as error:
        return [Finding("gl", WARN, f"no films: {error}")]


def check_clock() -> list[Finding]:
    """Whether the kernel's clock is disciplined; two machines need that."""
    buffer = ctypes.create_string_buffer(512)  # struct timex, modes = 0: read only
    state = ctypes.CDLL(None).adjtimex(buffer)
    if state == 5:  # TIME_ERROR: not synchronised
        advice = "matters with robot PC and GPU box apart: install chrony on both"
        return [Finding("clock", WARN, "not synchronised", advice)]
    return [Finding("clock", OK, "synchronised" if state >= 0 else "unknown")]


def run_checks(checks: Sequence[Callable[[], list[Finding]]]) -> list[Finding]:
    """All findings; a check that raises becomes a failure of its own."""
    findings = []
    for check in checks:
        try:
            findings += check()
        except Exception as error:
            name = getattr(check, "__name__", "check").removeprefix("check_")
            findings.append(Finding(name, FAIL, f"{type(error).__name__}: {error}"))
    return findings


def _python(code: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a process of its own: what it loads or breaks stays there."""
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
    )


def _last_line(result: subprocess.CompletedProcess[str]) -> str:
    return (result.stderr.strip().splitlines() or ["no output"])[-1]
