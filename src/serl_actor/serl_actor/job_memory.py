"""Remembers a job in its run directory, so that running it again goes on with it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

from serl_actor.policy_source import PolicySource, Snapshot
from serl_actor.training import Training
from serl_learner.atomic_file import write_file
from serl_learner.params_codec import ParamsError, read_params, write_params

COUNTS = "actor.json"
BEST = "actor_best_policy.msgpack"
BEST_CONFIRMED = "actor_best_confirmed.json"

logger = logging.getLogger(__name__)


class JobMemory:
    """Files in a run directory: counts, the best policy so far, and what the learner has of it.

    What cannot be written is warned of, and the job goes on: the file of before stays.
    """

    def __init__(self, directory: Path | None, source: PolicySource) -> None:
        """Without a directory nothing is remembered; `source` knows the policy's layout."""
        self._directory = directory
        self._source = source

    def recall(self) -> Training:
        """What was kept last; a new Training, and a warning, if that is missing or damaged."""
        if self._directory is None or not (self._directory / COUNTS).exists():
            return Training()
        try:
            plain = json.loads((self._directory / COUNTS).read_text(encoding="utf-8"))
            return Training.from_plain(plain, self._recall_best())
        except ValueError as error:
            logger.warning("%s is not used: %s", self._directory / COUNTS, error)
            return Training()

    def keep(self, training: Training) -> None:
        """Keeps the counts; cheap, called after every episode."""
        if self._directory is not None:
            content = json.dumps(training.to_plain(), indent=2) + "\n"
            _try_to_write(self._directory / COUNTS, lambda path: write_file(path, content.encode()))

    def keep_best(self, snapshot: Snapshot) -> None:
        """Keeps the parameters to evaluate."""
        if self._directory is not None:
            path = self._directory / BEST
            _try_to_write(path, lambda path: write_params(path, snapshot.encoded))

    def confirm_best(self, version: int) -> None:
        """Keeps in mind that the learner need not be asked to keep this version again."""
        if self._directory is not None:
            content = json.dumps({"version": version}).encode()
            _try_to_write(self._directory / BEST_CONFIRMED, lambda path: write_file(path, content))

    def confirmed_best(self) -> int | None:
        """The version that was confirmed last; None if none was, or its file is damaged."""
        if self._directory is None or not (path := self._directory / BEST_CONFIRMED).exists():
            return None
        try:
            return int(json.loads(path.read_text(encoding="utf-8"))["version"])
        except (ValueError, KeyError, TypeError) as error:
            logger.warning("%s is not used: %r", path, error)
            return None

    def _recall_best(self) -> Snapshot | None:
        assert self._directory is not None
        path = self._directory / BEST
        if not path.exists():
            return None
        try:
            return self._source.decode(read_params(path))
        except ParamsError as error:
            logger.warning("%s is not used: %s", path, error)
            return None


def _try_to_write(path: Path, write: Callable[[Path], None]) -> None:
    try:
        write(path)
    except OSError as error:
        logger.warning("%s is not written: %s", path, error.strerror)
