"""What draws is found by itself, and what to install is said when nothing does."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from serl_sim import gl_backend
from serl_sim.gl_backend import DEBIAN_PACKAGES, GLError, candidates, find_backend


def only(*working):
    """In place of a try: these work."""
    return lambda backend: "" if backend in working else "no library"


def test_a_window_system_is_the_last_resort_and_only_where_there_is_one():
    assert candidates({}) == ("egl", "osmesa")
    assert candidates({"DISPLAY": ":0"}) == ("egl", "osmesa", "glfw")
    assert candidates({"WAYLAND_DISPLAY": "wayland-0"}) == ("egl", "osmesa", "glfw")


def test_the_first_that_draws_is_taken():
    assert find_backend({}, only("egl", "osmesa")) == "egl"
    assert find_backend({}, only("osmesa")) == "osmesa"
    assert find_backend({"DISPLAY": ":0"}, only("glfw")) == "glfw"


def test_what_the_user_set_is_taken_or_refused_but_not_replaced():
    assert find_backend({"MUJOCO_GL": "OSMesa"}, only("egl", "osmesa")) == "osmesa"
    with pytest.raises(GLError, match="osmesa: no library"):
        find_backend({"MUJOCO_GL": "osmesa"}, only("egl"))
    with pytest.raises(GLError, match="MUJOCO_GL is 'off', expected egl, osmesa, glfw"):
        candidates({"MUJOCO_GL": "off"})


def test_without_any_the_error_says_what_was_tried_and_what_to_install():
    with pytest.raises(GLError) as error:
        find_backend({}, only())
    assert "egl: no library; osmesa: no library" in str(error.value)
    assert f"sudo apt-get install -y {DEBIAN_PACKAGES}" in str(error.value)


def test_a_try_that_fails_says_why_in_one_line(monkeypatch):
    monkeypatch.setenv("PYOPENGL_PLATFORM", "osmesa")  # egl refuses to start beside it
    assert "Cannot use EGL rendering platform" in gl_backend.probe("egl")


def test_a_try_that_hangs_is_given_up(monkeypatch):
    monkeypatch.setattr(gl_backend, "_PROBE", "import time; time.sleep(60)")
    monkeypatch.setattr(gl_backend, "PROBE_LIMIT", 0.2)
    assert gl_backend.probe("egl") == "drew nothing within 0.2 s"


def test_mujoco_is_not_needed_to_find_out():
    """The verbs and doctor ask before anything has chosen for MuJoCo."""
    code = "import sys, serl_sim.gl_backend; sys.exit('mujoco' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=os.environ).returncode == 0
