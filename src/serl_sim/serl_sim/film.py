"""Films episodes of the simulation: one MP4 each, with what a person needs to know written in."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass
class _Take:
    """One episode that is being filmed, or that lacks only its outcome."""

    number: int
    began_ns: int  # stamp of its first state
    file: VideoFile
    last: np.ndarray  # picture
    driver: str = ""  # at the last picture
    outcome: str = ""
    moved: bool = False  # there is more than the first picture

    def name(self) -> str:
        words = re.sub(r"[^a-z0-9]+", "_", f"{self.driver} {self.outcome}".lower()).strip("_")
        return f"{self.number:03d}_{words or 'episode'}.mp4"


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
        self._take: _Take | None = None
        self._before: _Take | None = None  # its outcome may be on its way
        self._driver = self._note = ""
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
        """How an episode went, seen at a state of this stamp: of this episode or the one before."""
        if self._take is not None and stamp_ns >= self._take.began_ns:
            self._take.outcome = text
        elif self._before is not None and stamp_ns >= self._before.began_ns:
            self._before.outcome = text
            self._finish_before()

    def begin(self) -> None:
        """An episode has begun: takes a first picture.

        The film of the one before is finished, but for one that lacks its outcome: that waits for
        it, at the longest until this episode ends.
        """
        self._finish_before()
        self._before, self._take = self._take, None
        if self._before is not None and self._before.outcome:
            self._finish_before()
        self._number += 1
        self._began_ns = self._simulation.state().stamp_ns
        config, picture = self._config, self.picture()
        try:
            name = f"{self._number:03d}"
            file = VideoFile(self._folder, name, config.width, config.height, config.fps)
            file.write(picture)
        except OSError as error:
            self._complain(self._number, error)
        else:
            self._take = _Take(self._number, self._began_ns, file, picture)

    def look(self) -> None:
        """Takes a picture."""
        take = self._take
        if take is None:
            return
        take.last, take.driver, take.moved = self.picture(), self._driver, True
        try:
            take.file.write(take.last)
        except OSError as error:
            self._take = None
            self._complain(take.number, error)

    def end(self) -> None:
        """Finishes all films, with the outcomes that are known."""
        self._finish_before()
        self._before, self._take = self._take, None
        self._finish_before()

    def _finish_before(self) -> None:
        """Completes the film of the episode before: its last picture stands, with the outcome."""
        take, self._before = self._before, None
        if take is None:
            return
        if not take.moved:
            take.file.discard()
            return
        last = self._stamp(take.last, take.outcome)
        try:
            for _ in range(round(self._config.end_s * self._config.fps)):
                take.file.write(last)
            take.file.finish(take.name())
            self._finished += 1
        except OSError as error:
            self._complain(take.number, error)

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

    def _stamp(self, picture: np.ndarray, outcome: str) -> np.ndarray:
        """The picture with the outcome in large letters."""
        image = Image.fromarray(picture)
        ImageDraw.Draw(image).text(
            (0.5 * image.width, _BAR + 40),
            outcome,
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
        # The fixture's frame is that of the part in its place, with z down.
        part = simulation.fixture.inverse() @ simulation.connector_pose()
        height, kind = f"{-1e3 * part.position[2]:.1f} mm", simulation.kind
        done = f"step {simulation.command_seq}   {time:.1f} s"
        return f"{done}   {kind.part} {height} above {kind.place}"

    def _complain(self, number: int, error: OSError) -> None:
        self._warn(f"no film of episode {number}: {error}")


def _last_number(folder: Path) -> int:
    """The highest of the films in the folder; half ones of a killed process are removed.

    Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob(f"*{PART}"):
        path.unlink()
    numbers = (_NUMBERED.fullmatch(path.name) for path in folder.glob("*.mp4"))
    return max((int(match[1]) for match in numbers if match), default=0)
