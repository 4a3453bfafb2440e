"""The journal of a distributed fit: finished rounds in memory, which another attempt does not train again."""

from __future__ import annotations

from collections.abc import Mapping

Stage = list[bytes]  # segments of a checkpoint log: the first describes the run, each other one holds a round
UNNAMED = "\0"  # begins the names of stages without a path; no path has this character


class Journal:
    """The rounds of the trainings of a fit: a fit that trains again on all rows has two stages.

    Stages have the path of the checkpoint that the user gave as their name, or a number if there is none. All workers
    grow the same trees, so that the journal of any of them serves all.
    """

    def __init__(self) -> None:
        self.stages: dict[str, Stage] = {}
        self._n_opened = 0

    @property
    def n_segments(self) -> int:
        """How far the fit came: the number of segments of all stages."""
        return sum(map(len, self.stages.values()))

    def rewind(self) -> None:
        """Begin another attempt, which opens the stages from the first one on."""
        self._n_opened = 0

    def open_stage(self, path: str | None = None) -> Stage:
        """Return the segments of the next stage, to which further ones are appended; a new stage has none."""
        self._n_opened += 1
        return self.stages.setdefault(path or f"{UNNAMED}{self._n_opened}", [])

    def segments_after(self, counts: Mapping[str, int]) -> dict[str, Stage]:
        """Return the segments of the stages with a path that come after so many of each."""
        after = {name: stage[counts.get(name, 0) :] for name, stage in list(self.stages.items())}
        return {name: segments for name, segments in after.items() if segments and not name.startswith(UNNAMED)}

    def to_bytes(self) -> bytes:
        """Return the journal as bytes: of each stage its name and segments, with their number and lengths."""
        parts = []
        for name, stage in self.stages.items():
            parts.append(_encode(1 + len(stage)))
            for part in (name.encode(), *stage):
                parts += [_encode(len(part)), part]
        return b"".join(parts)

    @classmethod
    def from_bytes(cls, data: bytes) -> Journal:
        """Return the journal that ``to_bytes`` wrote."""
        journal, at = cls(), 0
        while at < len(data):
            parts: list[bytes] = []
            n_parts, at = _decode(data, at)
            for _ in range(n_parts):
                length, at = _decode(data, at)
                parts.append(data[at : at + length])
                at += length
            journal.stages[parts[0].decode()] = parts[1:]
        return journal


NUMBER_BYTES = 8


def _encode(number: int) -> bytes:
    return number.to_bytes(NUMBER_BYTES, "little")


def _decode(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at a position, and the position after it."""
    return int.from_bytes(data[at : at + NUMBER_BYTES], "little"), at + NUMBER_BYTES
