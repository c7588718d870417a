"""How the scene looks: light and colours, drawn anew for an episode."""

from __future__ import annotations

import mujoco
import numpy as np

_STREAM = 4
"""Keeps these draws apart from what others draw with the same seed."""

LIGHT_SCALE = (0.65, 1.1)
"""Of the strength of each light, against that of the scene."""

TILT = 0.5
"""The directional light's direction is moved by this much at most across its axis."""

COLOUR_SCALE = (0.8, 1.2)
"""Of a surface's brightness."""

COLOUR_SHIFT = 0.06
"""Of each channel of a surface, at most."""


class Appearance:
    """Light and colours of a model, which the physics does not look at."""

    def __init__(self, model: mujoco.MjModel) -> None:
        """Takes what the model has as the middle of what is drawn."""
        self._model = model
        self._rgba = model.geom_rgba.copy()
        self._ambient = model.vis.headlight.ambient.copy()
        self._headlight = model.vis.headlight.diffuse.copy()
        self._diffuse = model.light_diffuse.copy()
        self._direction = model.light_dir.copy()
        # What is one thing keeps one colour.
        self._surfaces, self._surface = np.unique(
            np.round(self._rgba, 6), axis=0, return_inverse=True
        )

    def draw(self, seed: int) -> None:
        """Sets light and colours of the model; the same seed gives the same ones."""
        rng = np.random.default_rng((seed, _STREAM))
        self._draw_light(rng)
        self._draw_colours(rng)

    def restore(self) -> None:
        """Light and colours as they were."""
        self._model.vis.headlight.ambient[:] = self._ambient
        self._model.vis.headlight.diffuse[:] = self._headlight
        self._model.light_diffuse[:] = self._diffuse
        self._model.light_dir[:] = self._direction
        self._model.geom_rgba[:] = self._rgba

    def _draw_light(self, rng: np.random.Generator) -> None:
        headlight, light = rng.uniform(*LIGHT_SCALE, 2)
        self._model.vis.headlight.ambient[:] = headlight * self._ambient
        self._model.vis.headlight.diffuse[:] = headlight * self._headlight
        self._model.light_diffuse[:] = light * self._diffuse
        tilt = rng.uniform(-TILT, TILT, 2)
        direction = self._direction.copy()
        direction[:, :2] += tilt
        self._model.light_dir[:] = direction / np.linalg.norm(direction, axis=1, keepdims=True)

    def _draw_colours(self, rng: np.random.Generator) -> None:
        count = len(self._surfaces)
        scale = rng.uniform(*COLOUR_SCALE, (count, 1))
        shift = rng.uniform(-COLOUR_SHIFT, COLOUR_SHIFT, (count, 3))
        rgb = np.clip(self._surfaces[:, :3] * scale + shift, 0.0, 1.0)
        self._model.geom_rgba[:, :3] = rgb[self._surface.reshape(-1)]
