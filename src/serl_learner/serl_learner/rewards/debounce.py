"""A success is believed after some frames in a row, not after one."""

from __future__ import annotations


class Debounce:
    """Counts consecutive frames over the threshold; a frame that is missing begins anew.

    Attributes:
      run: of these, up to the frame that was judged last; 0 if that was not over.
    """

    def __init__(self, frames: int) -> None:
        """`frames`: so many in a row make a success. Raises ValueError if that is below 1."""
        if frames < 1:
            raise ValueError(f"frames {frames} is below 1")
        self._frames = frames
        self._step: int | None = None
        self._before = self.run = 0

    def judge(self, step: int, over: bool) -> bool:
        """Whether the frame of this step completes a run; the same step again replaces itself."""
        if step != self._step:
            self._before = self.run if self._step is not None and step == self._step + 1 else 0
            self._step = step
        self.run = self._before + 1 if over else 0
        return self.run >= self._frames
