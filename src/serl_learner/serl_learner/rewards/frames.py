"""Labelled frames of logged episodes: checked, split by whole episodes, thinned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from serl_learner.episodes import Episode
from serl_learner.types import Record
from serl_learner.vision.cameras import IMAGE, cameras

SUCCESS = "label/success"
"""Key of a record's extras: bool, whether its observation shows the task solved."""

STAGE = "label/stage"
"""Key of a record's extras: int, the stage of the task that its observation shows, from 0."""

NEAR = 8
"""Frames between a solved one and another that still looks much like it."""

Sizes = Mapping[str, tuple[int, int]]
"""Height and width [pixels] by camera."""


class BadFrames(ValueError):
    """Frames that a classifier must not be trained on; the message says which and why."""


@dataclass(frozen=True, eq=False)
class LabelledFrame:
    """One record with nothing but its images, and the class that they show.

    `near`: it is not solved, but one of the NEAR frames before or after it is.
    """

    record: Record
    label: int
    near: bool = False

    @property
    def episode(self) -> tuple[bytes, int]:
        """Which episode it is of."""
        return self.record.session, self.record.episode


def labelled_frames(
    episode: Episode, where: str, sizes: Sizes, classes: int = 2
) -> list[LabelledFrame]:
    """The frames of an episode.

    Args:
      episode: its records have a label among their extras: `label/success` for two classes,
        `label/stage` for more.
      where: it comes from, for messages.
      sizes: of the cameras that the classifier looks through; others are left out.
      classes: how many there are.

    Raises:
      BadFrames: a label or a camera is missing, an image is of another size, a stage is none of
        the classes; names the record, what was found and what was expected.
    """
    frames: list[LabelledFrame] = []
    for record in episode.records:
        name = f"{where}: step {record.step} of episode {record.episode}"
        images = {IMAGE + c: _image(record, c, size, name) for c, size in sizes.items()}
        label = _label(record, classes, name)
        frames.append(LabelledFrame(replace(record, observation=images, extras={}), label))
    solved = np.flatnonzero([frame.label == classes - 1 for frame in frames])
    return [
        replace(frame, near=bool(np.any(np.abs(solved - i) <= NEAR)) and i not in solved)
        for i, frame in enumerate(frames)
    ]


def _image(record: Record, camera: str, size: tuple[int, int], name: str) -> np.ndarray:
    if IMAGE + camera not in record.observation:
        there = ", ".join(cameras(record.observation)) or "none"
        raise BadFrames(f"{name}: camera {camera!r} is missing; there are: {there}")
    image = record.observation[IMAGE + camera]
    if image.dtype != np.uint8 or image.shape != (*size, 3):
        raise BadFrames(
            f"{name}: camera {camera!r} has images {image.dtype} {list(image.shape)}, expected"
            f" uint8 {[*size, 3]}"
        )
    return image


def _label(record: Record, classes: int, name: str) -> int:
    key = SUCCESS if classes == 2 else STAGE
    if key not in record.extras:
        known = ", ".join(sorted(record.extras)) or "none"
        raise BadFrames(f"{name}: no {key} among its extras ({known}): it was not labelled")
    label = int(record.extras[key])
    if not 0 <= label < classes:
        raise BadFrames(f"{name}: {key} is {label}, expected 0 .. {classes - 1}")
    return label


def counts(frames: Iterable[LabelledFrame], classes: int) -> list[int]:
    """How many frames each class has."""
    return np.bincount([frame.label for frame in frames], minlength=classes).tolist()


def check_balance(frames: Sequence[LabelledFrame], classes: int, what: str) -> None:
    """Raises BadFrames if there is no frame of some class; `what` says where they were sought."""
    found = counts(frames, classes) if frames else [0] * classes
    if min(found) > 0:
        return
    names = ("negatives (not solved)", "positives (solved)")
    empty = [c for c, n in enumerate(found) if n == 0]
    lacking = " and ".join(names[c] if classes == 2 else f"frames of stage {c}" for c in empty)
    raise BadFrames(f"{what}: no {lacking} among {len(frames)} frames; both sides are needed")


def split(
    frames: Sequence[LabelledFrame], held_out: float, classes: int, rng: np.random.Generator
) -> tuple[list[LabelledFrame], list[LabelledFrame]]:
    """Frames to train on and frames that judge, by whole episodes.

    Of the episodes with the same highest label a share of `held_out` judges, at least one.

    Raises:
      BadFrames: a class has frames of one episode only, or of none.
    """
    check_balance(frames, classes, "the frames recorded")
    highest: dict[tuple[bytes, int], int] = {}
    for frame in frames:
        highest[frame.episode] = max(highest.get(frame.episode, 0), frame.label)
    apart = set()
    for label in range(classes):
        group = [episode for episode, top in highest.items() if top == label]
        count = min(len(group) - 1, max(1, round(held_out * len(group))))
        order = rng.permutation(len(group))[: max(count, 0)]
        apart |= {group[i] for i in order}
    train = [frame for frame in frames if frame.episode not in apart]
    judging = [frame for frame in frames if frame.episode in apart]
    for part, name in ((train, "the episodes to train on"), (judging, "the held-out episodes")):
        check_balance(part, classes, name)
    return train, judging


def thin(
    frames: Sequence[LabelledFrame], limits: Mapping[int, int], rng: np.random.Generator
) -> list[LabelledFrame]:
    """At most `limits` frames of each class, drawn at random; a class without limit keeps all.

    Up to half of them are near ones, if there are so many: chance would leave most of them out,
    and they are what is mistaken for solved.
    """
    kept: list[LabelledFrame] = []
    for label in sorted({frame.label for frame in frames}):
        group = [frame for frame in frames if frame.label == label]
        limit = limits.get(label, len(group))
        near = [i for i, frame in enumerate(group) if frame.near]
        first = rng.permutation(near)[: limit // 2].astype(int)
        others = rng.permutation(np.setdiff1d(np.arange(len(group)), first))
        kept += [group[i] for i in sorted([*first, *others[: limit - len(first)]])]
    return kept
