"""The robot's cameras in the simulated scene."""

from __future__ import annotations

import os

import mujoco
import numpy as np

from serl_sim.appearance import Appearance
from serl_sim.config import CamerasConfig, SceneError
from serl_sim.renderer import COARSE, Renderer


class CameraRig:
    """Cameras of one scene; the thread that makes it is the one that draws.

    Light and colours are the model's own and change nothing of the physics. A picture that is being
    drawn in another thread while an episode begins may have some of both episodes.
    """

    def __init__(self, model: mujoco.MjModel, config: CamerasConfig) -> None:
        """Opens the renderer.

        Raises:
          GLError: nothing here can draw.
          SceneError: no cameras are named.
          ValueError: the scene has no camera of that name.
        """
        if not config.names:
            raise SceneError("cameras.names is empty, expected the names of cameras of the scene")
        # Mesa without a graphics card: threads of its own gain nothing for small pictures, and
        # wait for each other where a learner has the other cores.
        os.environ.setdefault("LP_NUM_THREADS", "0")
        self._config = config
        size = (config.width, config.height)
        self._renderer = Renderer(model, dict.fromkeys(config.names, size), facets=COARSE)
        self._appearance = Appearance(model)
        self._model = model
        self._view = mujoco.MjData(model)

    @property
    def backend(self) -> str:
        """What draws."""
        return self._renderer.backend

    def begin(self, seed: int, randomise: bool = True) -> None:
        """Light and colours of an episode: the same seed, the same ones; or those of the scene."""
        if self._config.randomise and randomise:
            self._appearance.draw(seed)
        else:
            self._appearance.restore()

    def render(self, data: mujoco.MjData) -> dict[str, np.ndarray]:
        """What each camera sees of `data`: RGB, uint8 [H, W, 3], first row on top.

        Only the joint positions of `data` are looked at: the bodies' poses in it lag behind by
        one tick, and the model's light and fixture may have changed since.
        """
        self._view.qpos[:] = data.qpos
        mujoco.mj_kinematics(self._model, self._view)
        mujoco.mj_camlight(self._model, self._view)
        return {name: self._renderer.render(self._view, name) for name in self._config.names}

    def close(self) -> None:
        """Frees the renderer."""
        self._renderer.close()


def intrinsics(model: mujoco.MjModel, camera: str, width: int, height: int) -> np.ndarray:
    """Camera matrix K [3, 3] of an image of this size: focal lengths and principal point [pixels].

    The pixel at column u and row v has its middle at (u, v): the image's is at half the size less
    half a pixel. An optical frame looks along z, with x to the right and y down.
    """
    focal = 0.5 * height / np.tan(0.5 * np.radians(model.cam(camera).fovy[0]))
    return np.array(
        ((focal, 0.0, 0.5 * (width - 1)), (0.0, focal, 0.5 * (height - 1)), (0.0, 0.0, 1.0))
    )
