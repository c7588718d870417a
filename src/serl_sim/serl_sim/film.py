"""Films episodes of the simulation: one MP4 each, with what a person needs to know written in."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from serl_sim.config import FilmConfig, SceneError
from serl_sim.renderer import Renderer
from serl_sim.simulation import Simulation
from serl_sim.video_file import PART, VideoFile

MAIN, INSET = "spectator", "wrist"
"""The camera of the picture, and the one whose picture is put into its corner."""

_MARGIN = 6
_BAR = 48
_NUMBERED = re.compile(r"(\d+)[_.].*")


class Film:
    """Implements simulation.Watcher. One thread makes it, calls it and closes it.

    A file is named after its number, the caption and the outcome: `003_sampled_policy_success.mp4`.
    One that cannot be written is given up with one warning; the simulation never suffers.
    """

    def __init__(
        self, simulation: Simulation, config: FilmConfig, warn: Callable[[str], None]
    ) -> None:
        """Opens the renderer; numbers go on after those of the files in the directory.

        Raises:
          SceneError: fps does not fit the physics period.
          GLError: nothing here can draw.
          OSError: the directory cannot be made.
        """
        ticks = 1.0 / (config.fps * simulation.config.physics_period)
        if abs(ticks - round(ticks)) > 1e-6 or round(ticks) < 1:
            raise SceneError(
                f"fps is {config.fps}: one picture in {ticks:g} physics ticks, expected a whole "
                "number of them"
            )
        self.every = round(ticks)
        self._simulation, self._config, self._warn = simulation, config, warn
        self._folder = Path(config.directory).expanduser()
        self._number = _last_number(self._folder)
        inset = (config.width // 3, config.height // 3)
        views = {MAIN: (config.width, config.height), INSET: inset}
        self._renderer = Renderer(simulation.model, views, config.samples)
        self._font, self._large = (ImageFont.load_default(size) for size in (15, 40))
        self._file: VideoFile | None = None
        self._last: np.ndarray | None = None  # picture of the episode
        self._moved = False
        self._driver = self._note = self._outcome = self._drove = ""
        self._began_ns = 0
        self._finished = 0

    @property
    def backend(self) -> str:
        """What draws."""
        return self._renderer.backend

    @property
    def finished(self) -> int:
        """Files that are complete."""
        return self._finished

    def caption(self, driver: str, note: str = "") -> None:
        """What is written over the pictures from now on; the file is named after the driver."""
        self._driver, self._note = driver, note

    def outcome(self, text: str, stamp_ns: int) -> None:
        """How the episode went, seen at a state of this stamp; one of another episode is late."""
        if stamp_ns >= self._began_ns:
            self._outcome = text

    def begin(self) -> None:
        """An episode has begun: finishes the film of the one before and takes a first picture."""
        self.end()
        self._number += 1
        self._began_ns = self._simulation.state().stamp_ns
        self._outcome, self._last = "", None
        config = self._config
        try:
            name = f"{self._number:03d}"
            self._file = VideoFile(self._folder, name, config.width, config.height, config.fps)
        except OSError as error:
            self._complain(error)
        self.look()

    def look(self) -> None:
        """Takes a picture."""
        if self._file is None:
            return
        self._moved = self._last is not None
        self._last, self._drove = self.picture(), self._driver
        try:
            self._file.write(self._last)
        except OSError as error:
            self._file = None
            self._complain(error)

    def end(self) -> None:
        """Finishes the film of the episode: its last picture stands, with the outcome."""
        file, self._file = self._file, None
        if file is None or self._last is None:
            return
        if not self._moved:
            file.discard()
            return
        last = self._stamp(self._last)
        try:
            for _ in range(round(self._config.end_s * self._config.fps)):
                file.write(last)
            file.finish(self._name())
            self._finished += 1
        except OSError as error:
            self._complain(error)

    def close(self) -> None:
        """Finishes the film and frees the renderer."""
        self.end()
        self._renderer.close()

    def picture(self) -> np.ndarray:
        """The scene now, with the hand's view and the words: RGB, uint8 [H, W, 3]."""
        data = self._simulation.data
        pixels = self._renderer.render(data, MAIN)
        inset = self._renderer.render(data, INSET)
        height, width = inset.shape[:2]
        bottom, right = (side - _MARGIN for side in pixels.shape[:2])
        pixels[bottom - height : bottom, right - width : right] = inset
        image = Image.fromarray(pixels)
        draw = ImageDraw.Draw(image)
        draw.rectangle((right - width, bottom - height, right, bottom), outline="black", width=2)
        draw.rectangle((0, 0, image.width, _BAR), fill="black")
        words = f"episode {self._number}   {self._driver}   {self._note}"
        draw.text((_MARGIN, 4), words, "white", self._font)
        draw.text((_MARGIN, 24), self._progress(), "white", self._font)
        return np.asarray(image)

    def _stamp(self, picture: np.ndarray) -> np.ndarray:
        """The picture with the outcome in large letters."""
        image = Image.fromarray(picture)
        ImageDraw.Draw(image).text(
            (0.5 * image.width, _BAR + 40),
            self._outcome,
            "white",
            self._large,
            anchor="mm",
            stroke_width=3,
            stroke_fill="black",
        )
        return np.asarray(image)

    def _progress(self) -> str:
        simulation = self._simulation
        time = 1e-9 * (simulation.state().stamp_ns - self._began_ns)
        # The fixture's frame is the tip's when the plug is seated, with z down.
        tip = simulation.config.target.inverse() @ simulation.connector_pose()
        above = -1e3 * tip.position[2]
        return f"step {simulation.command_seq}   {time:.1f} s   connector {above:.1f} mm above seat"

    def _name(self) -> str:
        words = re.sub(r"[^a-z0-9]+", "_", f"{self._drove} {self._outcome}".lower()).strip("_")
        return f"{self._number:03d}_{words or 'episode'}.mp4"

    def _complain(self, error: OSError) -> None:
        self._warn(f"no film of episode {self._number}: {error}")


def _last_number(folder: Path) -> int:
    """The highest of the films in the folder; half ones of a killed process are removed.

    Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob(f"*{PART}"):
        path.unlink()
    numbers = (_NUMBERED.fullmatch(path.name) for path in folder.glob("*.mp4"))
    return max((int(match[1]) for match in numbers if match), default=0)
