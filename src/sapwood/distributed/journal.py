"""The journal of a distributed fit: finished rounds in memory, which another attempt does not train again."""

from __future__ import annotations

Stage = list[bytes]  # segments of a checkpoint log: the first describes the run, each other one holds a round


class Journal:
    """The rounds of the trainings of a fit, in their order: a fit that trains again on all rows has two stages.

    All workers grow the same trees, so that the journal of any of them serves all.
    """

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._n_opened = 0

    @property
    def progress(self) -> tuple[int, int]:
        """How far the fit came: the number of stages, and of segments in the last one."""
        return len(self.stages), len(self.stages[-1]) if self.stages else 0

    @property
    def n_rounds(self) -> int:
        """Number of finished rounds of all stages."""
        return sum(max(0, len(stage) - 1) for stage in self.stages)

    def rewind(self) -> None:
        """Begin another attempt, which opens the stages from the first one on."""
        self._n_opened = 0

    def open_stage(self) -> Stage:
        """Return the segments of the next stage, to which further ones are appended; a new stage has none."""
        if self._n_opened == len(self.stages):
            self.stages.append([])
        self._n_opened += 1
        return self.stages[self._n_opened - 1]

    def to_bytes(self) -> bytes:
        """Return the journal as bytes: of each stage the number of segments, of each segment its length and bytes."""
        parts = []
        for stage in self.stages:
            parts.append(_encode(len(stage)))
            for segment in stage:
                parts += [_encode(len(segment)), segment]
        return b"".join(parts)

    @classmethod
    def from_bytes(cls, data: bytes) -> Journal:
        """Return the journal that ``to_bytes`` wrote."""
        journal, at = cls(), 0
        while at < len(data):
            stage: Stage = []
            n_segments, at = _decode(data, at)
            for _ in range(n_segments):
                length, at = _decode(data, at)
                stage.append(data[at : at + length])
                at += length
            journal.stages.append(stage)
        return journal


NUMBER_BYTES = 8


def _encode(number: int) -> bytes:
    return number.to_bytes(NUMBER_BYTES, "little")


def _decode(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at a position, and the position after it."""
    return int.from_bytes(data[at : at + NUMBER_BYTES], "little"), at + NUMBER_BYTES
