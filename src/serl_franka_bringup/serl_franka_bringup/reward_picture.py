"""A classifier's ROC and its rates over the threshold, as a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from serl_franka_bringup.picture import picture
from serl_learner.rewards.scores import roc, sweep
from serl_learner.rewards.study import Study


def draw(study: Study, out: Path) -> None:
    """Writes a PNG: the ROC on the left, precision, recall and false positives on the right."""
    with picture(out, columns=2, figsize=(10, 4)) as (left, right):
        false, true = roc(study.probability, study.solved)
        chosen, report = study.chosen, study.model.report
        left.plot(100 * false, 100 * true, label=f"area {report['area_under_roc']:.4f}")
        left.plot(
            100 * (chosen.false_positive_rate or 0.0), 100 * (chosen.recall or 0.0), "o", color="C3"
        )
        left.set(xlabel="false-positive rate [%]", ylabel="recall [%]", title="held-out episodes")
        left.set_xscale("symlog", linthresh=1.0)
        left.legend()
        rows = sweep(study.probability, study.solved, np.linspace(0.01, 0.99, 99))
        for name in ("precision", "recall", "false_positive_rate"):
            values = [getattr(row, name) for row in rows]
            drawn = [np.nan if value is None else 100 * value for value in values]
            right.plot([row.threshold for row in rows], drawn, label=name.replace("_", " "))
        right.axvline(chosen.threshold, color="grey", linestyle="--", label="chosen threshold")
        right.set(xlabel="threshold", ylabel="[%]")
        right.legend()
