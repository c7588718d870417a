"""Pictures of measurements: one look, whatever is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np


@contextmanager
def picture(out: Path, rows: int = 1, columns: int = 1, **options: Any) -> Iterator[Any]:
    """The axes to draw on, as pyplot.subplots gives them; a PNG at the end, with grids.

    `options` are those of subplots, e.g. figsize. Needs no display.
    """
    import matplotlib  # takes long: only if something is drawn

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(rows, columns, dpi=120, layout="constrained", **options)
    yield axes
    for one in np.atleast_1d(axes).flat:
        one.grid(alpha=0.3)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out)
    pyplot.close(figure)
