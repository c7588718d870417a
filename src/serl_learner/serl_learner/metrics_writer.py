"""Keeps the metrics of every node as TensorBoard scalars, whatever the disk does."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from serl_learner.event_file import EventFile

MAX_NODES = 64
"""More are refused: each takes a directory and an open file."""

MAX_NAMES = 1000
"""Numbers in one message."""

MAX_STEP = 2**63 - 1
"""What an event file can hold."""

_NODE_NAME = re.compile(r"[A-Za-z0-9_]+")


@dataclass(frozen=True)
class MetricsWriterConfig:
    """Where the numbers go.

    Attributes:
      directory: a folder per node is made in it.
      clock_node: the node whose step, in environment steps, is the time of all that count none.
      counting_nodes: nodes whose own step goes on where it was when they are started again.
    """

    directory: str = ""
    clock_node: str = "actor"
    counting_nodes: tuple[str, ...] = ("actor", "learner")

    def __post_init__(self) -> None:
        if not self.directory:
            raise ValueError("directory is empty: where shall the metrics go?")
        if self.clock_node not in self.counting_nodes:
            raise ValueError(f"clock_node '{self.clock_node}' is none of {self.counting_nodes}")


class BadMetrics(ValueError):
    """A message that cannot be written; says which and why."""


@dataclass
class _Series:
    """What is written of one node."""

    file: EventFile
    step: int  # of the last event


class MetricsWriter:
    """One run of TensorBoard per node; memory does not grow with what is written.

    The first step after a start, and any step that goes back, begins a new session there: what
    an earlier process wrote from that step on is superseded, and readers drop it.

    While nothing can be written, numbers are lost; one warning says so, and one message when it
    goes on.
    """

    def __init__(self, config: MetricsWriterConfig, warn: Callable[[str], None]) -> None:
        self._config = config
        self._directory = Path(config.directory).expanduser()
        self._warn = warn
        self._series: dict[str, _Series] = {}
        self._clock_step: int | None = None
        self._lost = 0
        self._trouble = ""

    @property
    def trouble(self) -> str:
        """Why nothing can be written now; empty: all is well."""
        return self._trouble

    @property
    def lost(self) -> int:
        """Messages that were not written in the present trouble."""
        return self._lost

    def write(
        self,
        node: str,
        step: int,
        wall_time: float,
        names: Sequence[str],
        values: Sequence[float],
    ) -> bool:
        """Writes one message; whether it was written.

        Numbers of a node that counts no steps of its own wait for the first of the clock node.

        Args:
          node: its name; names its folder.
          step: of the node.
          wall_time: when the numbers were true, since the epoch [s].
          names, values: as many of one as of the other.

        Raises:
          BadMetrics.
        """
        if not _NODE_NAME.fullmatch(node):
            raise BadMetrics(f"metrics of {node!r}: expected a node name of letters, digits and _")
        if len(names) != len(values) or len(names) > MAX_NAMES:
            raise BadMetrics(
                f"metrics of {node}: {len(names)} names and {len(values)} values, expected as "
                f"many, at most {MAX_NAMES}"
            )
        if step > MAX_STEP:
            raise BadMetrics(f"metrics of {node}: step {step}, expected at most {MAX_STEP}")
        if node not in self._series and len(self._series) >= MAX_NODES:
            raise BadMetrics(f"metrics of {node}: more than {MAX_NODES} nodes")
        if node == self._config.clock_node:
            self._clock_step = step
        placed = step if node in self._config.counting_nodes else self._clock_step
        if placed is None:
            return False
        return self._try(node, placed, wall_time, dict(zip(names, values, strict=True)))

    def close(self) -> None:
        """Closes all files."""
        for series in self._series.values():
            series.file.close()
        self._series.clear()

    def _try(self, node: str, step: int, wall_time: float, values: Mapping[str, float]) -> bool:
        try:
            self._append(node, step, wall_time, values)
        except OSError as error:
            self._lost += 1
            if not self._trouble:
                self._warn(f"metrics are lost until {self._directory} can be written: {error}")
            self._trouble = str(error)
            return False
        if self._trouble:
            self._warn(f"metrics are written again; {self._lost} messages were lost")
            self._trouble, self._lost = "", 0
        return True

    def _append(self, node: str, step: int, wall_time: float, values: Mapping[str, float]) -> None:
        series = self._series.get(node)
        if series is None:
            file = EventFile(self._directory / node, wall_time, step)
            series = self._series[node] = _Series(file, step)
        elif step < series.step:
            series.file.restart(wall_time, step)
        series.step = step
        series.file.scalars(wall_time, step, values)
