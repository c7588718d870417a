"""Has the learner keep the best policy for evaluation, until it says that it did."""

from __future__ import annotations

import logging
from collections.abc import Callable

ANSWER_TIMEOUT = 5.0
"""A question without an answer for so long is asked again [s]: the learner went away."""

PAUSE = 2.0
"""Between a refusal and the next question [s]."""

NOT_KEPT = "is not kept"
"""In the learner's answer: it has the version no longer. Any other answer passes, as a full disk
does."""

REFUSALS = 3
"""Answers that the best is not kept after which a newer version is offered in place of the best."""

LOG_PERIOD = 10.0
"""Least time between two log lines about refusals [s]."""

Answer = Callable[[bool, str], None]
Ask = Callable[[int, Answer], bool]

logger = logging.getLogger(__name__)


class BestKeeper:
    """Asks for one version at a time; not thread-safe but for `want`.

    A learner keeps its last versions only, and none from before its own restart. If it has the
    best no longer, the newest version there is takes its place, and that is said: an older best is
    never left there in silence.

    Attributes:
      kept: version that the learner confirmed last; None: none yet.
    """

    def __init__(
        self,
        ask: Ask,
        newest: Callable[[], int],
        clock: Callable[[], float],
        confirmed: Callable[[int], None] = lambda version: None,
    ) -> None:
        """`ask` sends a question, if the learner is there, and has it answered some time later;
        `newest` is the newest version that was heard of; `confirmed` hears which version that was
        wanted is settled."""
        self._ask = ask
        self._newest = newest
        self._clock = clock
        self._confirmed = confirmed
        self._wanted: int | None = None
        self._asked: int | None = None
        self._question = 0
        self._next_at = 0.0
        self._refused_for: int | None = None
        self._refusals = 0
        self._logged: float | None = None
        self.kept: int | None = None

    @property
    def wanted(self) -> int | None:
        """The version that the learner has not confirmed yet; None: all is well."""
        return self._wanted

    def want(self, version: int) -> None:
        """This is the best now; from any thread."""
        self._wanted = version

    def poll(self) -> None:
        """Asks, if it is time; call a few times per second."""
        wanted = self._wanted
        if wanted is None or (self._clock() < self._next_at and self._asked == wanted):
            return
        if self._refused_for != wanted:
            self._refused_for, self._refusals = wanted, 0
        version = wanted if self._refusals < REFUSALS else max(wanted, self._newest())
        self._question += 1
        question = self._question
        if self._ask(version, lambda ok, why: self._answered(question, wanted, version, ok, why)):
            self._asked, self._next_at = wanted, self._clock() + ANSWER_TIMEOUT

    def _answered(
        self, question: int, wanted: int, version: int, success: bool, message: str
    ) -> None:
        if question != self._question:
            return  # asked again meanwhile
        if not success:
            self._refusals += NOT_KEPT in message
            self._next_at = self._clock() + PAUSE
            self._log_refusal(version, message)
            return
        self.kept = version
        if version != wanted:
            logger.warning(
                "the learner's best policy is version %d, not the best one, %d, which it no longer "
                "has; that one is in the actor's own file",
                version,
                wanted,
            )
        self._confirmed(wanted)
        if self._wanted == wanted:
            self._wanted = None

    def _log_refusal(self, version: int, message: str) -> None:
        if self._logged is None or self._clock() - self._logged >= LOG_PERIOD:
            self._logged = self._clock()
            logger.warning(
                "the learner refuses to keep version %d as the best: %s; it is asked again",
                version,
                message,
            )
