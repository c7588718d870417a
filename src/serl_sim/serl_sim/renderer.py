"""Pictures of the scene's cameras."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np

from serl_sim.gl_backend import GLError, use_backend

Size = tuple[int, int]
"""Width and height of a picture [pixels]."""

FINE, COARSE = (4, 28, 16), (1, 12, 6)
"""Facets of a box's face along each side, around a round shape, and along it: MuJoCo's own for
pictures that people look at, and those that take half the time."""

MAX_GEOMS = 1000
LARGEST = 4096
"""Side of a picture at most [pixels]."""


class Renderer:
    """Draws what cameras see, in one OpenGL context, which belongs to the thread that made it.

    Nothing casts shadows: without a graphics card those cost more than all the rest.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        views: Mapping[str, Size],
        samples: int = 0,
        facets: tuple[int, int, int] = FINE,
    ) -> None:
        """Opens the context.

        Args:
          model: the scene.
          views: size by the name of the camera.
          samples: per pixel, to smooth edges; 0 is fastest.
          facets: FINE or COARSE.

        Raises:
          GLError: nothing here can draw; says what to install.
          ValueError: there is no such camera, or a size out of range.
        """
        for camera, size in views.items():
            if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, camera) < 0:
                known = ", ".join(model.cam(i).name for i in range(model.ncam))
                raise ValueError(f"the scene has no camera '{camera}'; known: {known}")
            if not all(1 <= side <= LARGEST for side in size):
                raise ValueError(f"camera {camera}: size {size}, expected 1 .. {LARGEST} pixels")
        self.backend = use_backend()
        self._model = model
        self._views = dict(views)
        self._thread = threading.get_ident()
        self._option = mujoco.MjvOption()
        self._scene = mujoco.MjvScene(model, MAX_GEOMS)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False
        self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False
        width, height = (max(size[i] for size in views.values()) for i in (0, 1))
        self._window = _open_window(self.backend, width, height)
        self._context = _make_context(model, (width, height), samples, facets)

    def render(self, data: mujoco.MjData, camera: str) -> np.ndarray:
        """What `camera` sees of `data`: RGB, uint8 [H, W, 3], first row on top.

        Raises:
          KeyError: not one of the views.
          GLError: called from another thread than the one that made the renderer.
        """
        if threading.get_ident() != self._thread:
            raise GLError("a renderer draws only in the thread that made it")
        width, height = self._views[camera]
        view = mujoco.MjvCamera()
        view.type = mujoco.mjtCamera.mjCAMERA_FIXED
        view.fixedcamid = self._model.cam(camera).id
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(self._model, data, self._option, None, view, everything, self._scene)
        self._window.make_current()
        viewport = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(viewport, self._scene, self._context)
        pixels = np.empty((height, width, 3), np.uint8)
        mujoco.mjr_readPixels(pixels, None, viewport, self._context)
        return np.ascontiguousarray(pixels[::-1])

    def close(self) -> None:
        """Frees the context; call it in the thread that made the renderer."""
        if self._window is not None:
            self._window.make_current()
            self._context.free()
            self._window.free()
            self._window = None


def _open_window(backend: str, width: int, height: int) -> Any:
    """MuJoCo's context of this backend, current in this thread."""
    try:
        window = importlib.import_module(f"mujoco.{backend}").GLContext(width, height)
        window.make_current()
    except (AttributeError, ImportError, RuntimeError, TypeError) as error:
        raise GLError(f"{backend} drew a first picture, but gives no context: {error}") from error
    return window


def _make_context(
    model: mujoco.MjModel, size: Size, samples: int, facets: tuple[int, int, int]
) -> mujoco.MjrContext:
    """A context that draws into memory of this size; the model stays as it is."""
    before = _draw_with(model, size, samples, facets)
    context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
    _draw_with(model, *before)
    mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, context)
    return context


def _draw_with(
    model: mujoco.MjModel, size: Size, samples: int, facets: tuple[int, int, int]
) -> tuple[Size, int, tuple[int, int, int]]:
    """Sets what a context takes from the model; returns what was set before."""
    quality, frame = model.vis.quality, model.vis.global_
    before = (
        (frame.offwidth, frame.offheight),
        quality.offsamples,
        (quality.numquads, quality.numslices, quality.numstacks),
    )
    frame.offwidth, frame.offheight = size
    quality.offsamples = samples
    quality.numquads, quality.numslices, quality.numstacks = facets
    return before
