"""Finds an OpenGL that draws without a window, before MuJoCo is told to use it."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping

BACKENDS = ("egl", "osmesa", "glfw")
"""What MuJoCo can draw with: a graphics card or Mesa, Mesa in memory, a window system."""

DEBIAN_PACKAGES = "libegl1 libopengl0 libgl1-mesa-dri"
"""With them egl draws on any machine, also on one without a graphics card."""

VARIABLE = "MUJOCO_GL"
"""The environment variable by which MuJoCo is told."""

PROBE_LIMIT = 60.0
"""For one try of one backend [s]."""

# A process of its own: a backend that fails may not come back, and leaves PyOpenGL bound to it.
_PROBE = """
import mujoco
model = mujoco.MjModel.from_xml_string(
    '<mujoco><worldbody><light pos="0 0 9"/><geom size="1"/></worldbody></mujoco>')
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
renderer = mujoco.Renderer(model, 32, 32)
renderer.update_scene(data)
assert renderer.render().any(), "it draws nothing"
renderer.close()
"""


class GLError(ValueError):
    """Nothing here can draw; says what was tried and what to install."""


def candidates(environment: Mapping[str, str]) -> tuple[str, ...]:
    """What to try, best first: what the user set, else all that could work here.

    Raises:
      GLError: the user set something else.
    """
    chosen = environment.get(VARIABLE, "").strip().lower()
    if chosen and chosen not in BACKENDS:
        raise GLError(f"{VARIABLE} is '{chosen}', expected {', '.join(BACKENDS)} or nothing")
    if chosen:
        return (chosen,)
    display = environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")
    return BACKENDS if display else BACKENDS[:2]


def probe(backend: str) -> str:
    """Why `backend` draws no picture here; empty: it does."""
    environment = {**os.environ, VARIABLE: backend}
    try:
        result = subprocess.run(
            [sys.executable, "-c", _PROBE],
            env=environment,
            capture_output=True,
            text=True,
            timeout=PROBE_LIMIT,
        )
    except subprocess.TimeoutExpired:
        return f"drew nothing within {PROBE_LIMIT} s"
    if result.returncode == 0:
        return ""
    # After the traceback come errors of objects that are cleared away.
    told = result.stderr.split("Exception ignored")[0]
    errors = re.findall(r"^[\w.]*Error\b.*", told, re.MULTILINE)
    return errors[-1] if errors else f"exit code {result.returncode}"


def find_backend(
    environment: Mapping[str, str] = os.environ, try_out: Callable[[str], str] = probe
) -> str:
    """The first of the candidates that draws.

    Raises:
      GLError: none does.
    """
    reasons = []
    for backend in candidates(environment):
        reason = try_out(backend)
        if not reason:
            return backend
        reasons.append(f"{backend}: {reason}")
    raise GLError(
        f"no OpenGL draws without a window here ({'; '.join(reasons)}). On Debian and Ubuntu: "
        f"sudo apt-get install -y {DEBIAN_PACKAGES}"
    )


@functools.cache
def use_backend() -> str:
    """Finds a backend, once, and has MuJoCo and all child processes use it.

    Raises:
      GLError: there is none.
    """
    backend = find_backend()
    os.environ[VARIABLE] = backend
    return backend
