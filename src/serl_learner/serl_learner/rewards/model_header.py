"""What a reward classifier's file begins with: all that is said of it beside its weights."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

MAGIC = b"serl-reward-1\n"
VICE_MODEL = "vice.model"
"""Beside a run's best policy, with VICE: the classifier, as a reward classifier's file."""


class ModelError(ValueError):
    """A file that is no usable reward classifier; the message names it and what is wrong."""


def read_header(path: Path) -> dict[str, Any]:
    """All that is said of a model beside its weights; these are not read.

    Raises:
      ModelError: the file cannot be read or is none of a model.
    """
    with open_model(path) as (header, _):
        return header


@contextmanager
def open_model(path: Path) -> Iterator[tuple[dict[str, Any], BinaryIO]]:
    """The header of a model's file, and the file itself at the first byte of the weights.

    Raises:
      ModelError: the file cannot be read, also later, or is none of a model.
    """
    try:
        with path.open("rb") as file:
            yield parse_header(str(path), file), file
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error


def parse_header(where: str, file: BinaryIO) -> dict[str, Any]:
    """Reads up to the first byte of the weights; `where` the bytes are from is for messages.

    Raises:
      ModelError: they are none of a model.
    """
    begin = file.read(16)
    if not begin.startswith(MAGIC):
        raise ModelError(f"{where} is no reward classifier: begins {begin!r}")
    file.seek(len(MAGIC))
    try:
        header = json.loads(file.readline().removesuffix(b"\n"))
    except ValueError as error:
        raise ModelError(f"{where} has a damaged header: {error}") from error
    if not isinstance(header, dict) or "model_id" not in header:
        raise ModelError(f"{where} has a damaged header: no model_id")
    return header
