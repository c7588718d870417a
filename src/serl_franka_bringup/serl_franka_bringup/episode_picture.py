"""Draws one episode of the scripted expert as a strip: each camera in a row, the scene below.

`python -m serl_franka_bringup.episode_picture --out docs/images/episode.png`
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from serl_actor.drivers import OperatorDriver
from serl_actor.environment import Environment
from serl_controllers.arm import ArmState
from serl_franka_bringup import graph
from serl_franka_bringup.simulation_client import Setup, load_setup
from serl_learner.types import Observation
from serl_learner.vision.cameras import IMAGE

SCENE = "spectator"
"""The camera that shows the scene from outside; no policy sees it."""

SIZE = 128
"""Of each picture in the strip, height and width [pixels]."""

FINER = 3
"""The scene is drawn so many times larger and made small."""

GAP = 3
"""Between pictures [pixels]."""

_HEAD = 18
_COLOURS = 256

Pictures = Mapping[str, np.ndarray]
"""By camera: RGB, uint8 [H, W, 3]."""

Act = Callable[[Observation, ArmState], np.ndarray]


def film_episode(task: str, seed: int) -> tuple[list[Pictures], float]:
    """What the policy's cameras and SCENE show of the expert's episode, state by state.

    Returns also the time between two states [s].

    Raises:
      GLError: nothing here can draw.
      ConfigError: the task has no cameras.
    """
    arguments = graph.Arguments(seed=seed, observation="image")
    setup = load_setup(task, arguments)
    driver = OperatorDriver(setup.client, setup.task.action_dim)
    actions: list[np.ndarray] = []

    def act(observation: Observation, state: ArmState) -> np.ndarray:
        said = driver.choose(observation, state).intervention
        assert said is not None
        actions.append(said.whole_action(state.tcp_pose, setup.task.action_dim))
        return actions[-1]

    seen = _film(setup, seed, act)
    again = iter(actions)
    side = FINER * SIZE
    drawn = {"cameras.names": (SCENE,), "cameras.width": side, "cameras.height": side}
    drawn |= {"cameras.randomise": False, "scene.mesh_visuals": True}
    viewed = {"cameras.names": (SCENE,), "cameras.image_size": side}
    finer = load_setup(task, arguments, {"sim": drawn, "actor": viewed})
    scene = _film(finer, seed, lambda observation, state: next(again))
    both: list[Pictures] = [{**a, **b} for a, b in zip(seen, scene, strict=True)]
    return both, setup.task.control_period


def _film(setup: Setup, seed: int, act: Act) -> list[Pictures]:
    """The pictures in every observation of one episode."""
    environment = Environment(setup.client, setup.task, cameras=setup.cameras)
    observation, _ = environment.reset(seed=seed)
    pictures, ended = [_pictures(observation)], False
    while not ended:
        action = act(observation, environment.state)
        observation, _, terminated, truncated, _ = environment.step(action)
        pictures.append(_pictures(observation))
        ended = terminated or truncated
    setup.client.close()
    return pictures


def _pictures(observation: Observation) -> Pictures:
    return {
        key.removeprefix(IMAGE): value
        for key, value in observation.items()
        if key.startswith(IMAGE)
    }


def choose_moments(count: int, columns: int) -> list[int]:
    """Indices of `columns` of `count` states, first and last among them, evenly apart."""
    if not 2 <= columns <= count:
        raise ValueError(f"columns is {columns}, expected 2 .. {count}: the episode's states")
    return [int(i) for i in np.linspace(0, count - 1, columns).round()]


def make_strip(pictures: Sequence[Pictures], times: Sequence[float]) -> Image.Image:
    """A column for each of some moments, a row for each camera; above, the time [s]."""
    rows = list(pictures[0])
    width = len(pictures) * (SIZE + GAP) - GAP
    strip = Image.new("RGB", (width, _HEAD + len(rows) * (SIZE + GAP) - GAP), "white")
    draw, font = ImageDraw.Draw(strip), ImageFont.load_default(13)
    for column, (shown, time) in enumerate(zip(pictures, times, strict=True)):
        left = column * (SIZE + GAP)
        draw.text((left + SIZE / 2, _HEAD / 2), f"{time:.1f} s", "black", font, anchor="mm")
        for row, camera in enumerate(rows):
            tile = Image.fromarray(shown[camera]).resize((SIZE, SIZE), Image.Resampling.BOX)
            strip.paste(tile, (left, _HEAD + row * (SIZE + GAP)))
    for row, camera in enumerate(rows):
        place = (GAP + 1, _HEAD + row * (SIZE + GAP) + GAP)
        draw.text(place, camera, "white", font, stroke_width=2, stroke_fill="black")
    return strip


def main() -> None:
    """Draws as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="pcb", help="name or YAML file")
    parser.add_argument("--seed", type=int, default=0, help="of the episode")
    parser.add_argument("--columns", type=int, default=8, help="moments (default 8)")
    parser.add_argument("--out", type=Path, required=True, help="PNG to write")
    given = parser.parse_args()
    pictures, period = film_episode(given.task, given.seed)
    moments = choose_moments(len(pictures), given.columns)
    strip = make_strip([pictures[i] for i in moments], [period * i for i in moments])
    given.out.parent.mkdir(parents=True, exist_ok=True)
    strip.quantize(_COLOURS, dither=Image.Dither.NONE).save(given.out, optimize=True)
    print(f"{given.out}: {len(pictures)} states, {given.out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
