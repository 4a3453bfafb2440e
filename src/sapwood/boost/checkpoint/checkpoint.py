"""Keep what training has done in a file, so that it goes on after the process was killed, to the same bits.

A checkpoint is a journal. Its first segment tells parameters and data; each of the others has the trees, in bins, and
the measures of the rounds since the one before. Scores are not kept: adding the trees again in the same order gives the
same scores, and a checksum tells that it did.
"""

from __future__ import annotations

import dataclasses
import json
import time
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import numpy as np

from sapwood.boost.checkpoint import run_fingerprint as identity
from sapwood.boost.checkpoint.log import REMEDY, CheckpointLog, Segment, described
from sapwood.boost.early_stopping import INTERRUPTED, TIME_LIMIT
from sapwood.boost.evaluation import Evaluation
from sapwood.boost.initial_scores import InitialScores
from sapwood.boost.target import Target
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.errors import CheckpointError
from sapwood.grow.grown_tree import FittedTree, GrownTree
from sapwood.model.linear_leaves import LeafCoefficients
from sapwood.params.declaration import Params

HISTORY, TREES_OF_ROUND = "history", "trees_of_round"
OUTPUT, VALUE, LENGTHS = "output", "added", "lengths."
# What is kept of a tree, as far as it has it.
TREE_FIELDS = ("integers", "numbers", "threshold", "sets")
TERMS = "terms"
TERM_FIELDS = [one.name for one in dataclasses.fields(LeafCoefficients)]


@dataclass(eq=False)
class CheckpointState:
    """The rounds of a checkpoint: trees, measures (set and metric, round), seconds, and why it ended if it did."""

    rounds: list[list[FittedTree]] = field(default_factory=list)
    history: list[np.ndarray] = field(default_factory=list)
    elapsed: float = 0.0
    scores: int | None = None
    stopped: str | None = None

    def reason_to_stop(self, time_limit: float | None) -> str | None:
        """Why no round should follow, if there is a reason."""
        if self.rounds and time_limit is not None and self.elapsed >= time_limit:
            return self.stopped or TIME_LIMIT
        return self.stopped


class Checkpoint:
    """What the loop tells of its rounds, written every so many seconds; without a path nothing is done."""

    def __init__(self, path: str | None, every: float) -> None:
        self.state = CheckpointState()
        self._journal = None if path is None else CheckpointLog(path)
        self._every = every
        self._round: list[FittedTree] = []
        self._rounds: list[list[FittedTree]] = []
        self._n_written = 0
        self._written_at = time.monotonic()

    @classmethod
    def open(
        cls, dataset: BinnedDataset, target: Target, params: Params, start: InitialScores, evaluation: Evaluation
    ) -> Checkpoint:  # fmt: skip
        """Open the checkpoint that the parameters name, and check that it is of this training."""
        made = cls(params.run.checkpoint, params.run.checkpoint_every)
        if made._journal is None:
            return made
        try:
            made._begin(identity.parameters(params), identity.data(dataset, target, start, evaluation))
        except BaseException:
            made._journal.close()
            raise
        return made

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._journal is not None:
            self._journal.close()

    def add_tree(self, tree: FittedTree) -> None:
        """Note a tree of the round at hand."""
        if self._journal is not None:
            self._round.append(FittedTree(tree.grown.without_rows(), tree.value, tree.output))

    def end_round(self, evaluation: Evaluation, scores: np.ndarray, elapsed: float, reason: str | None) -> None:
        """Note that a round is complete, and whether it is the last; write if it is time."""
        if self._journal is None:
            return
        self._rounds.append(self._round)
        self._round = []
        if reason is not None or time.monotonic() - self._written_at >= self._every:
            self.write(evaluation, elapsed, scores, reason)

    def write(
        self, evaluation: Evaluation, elapsed: float, scores: np.ndarray | None = None, reason: str | None = None
    ) -> None:
        """Write the rounds that are complete; one that was interrupted or ran out of time may go on later."""
        done = self._n_written + len(self._rounds)
        if self._journal is None or not self._rounds:
            return
        told: dict[str, Any] = {"rounds": done, "elapsed": elapsed}
        if scores is not None:
            told["scores"] = _checksum(scores)
        if reason not in (None, INTERRUPTED, TIME_LIMIT):
            told["stopped"] = reason
        lines = [line[self._n_written : done] for one in evaluation.history.values() for line in one.values()]
        arrays = {
            HISTORY: np.array(lines, dtype=np.float64).reshape(len(lines), len(self._rounds)),
            TREES_OF_ROUND: np.array([len(trees) for trees in self._rounds], dtype=np.int64),
        }
        self._append(told, arrays | _joined([tree for trees in self._rounds for tree in trees]))
        self._n_written, self._rounds = done, []
        self._written_at = time.monotonic()

    def check_scores(self, scores: np.ndarray) -> None:
        """Raise CheckpointError if these are not the scores that the trees of the past were trained to."""
        if self.state.scores is not None and self.state.scores != _checksum(scores):
            assert self._journal is not None
            raise CheckpointError(
                f"checkpoint {self._journal.path!r}: its trees do not give the scores that it was written with, so "
                f"that training cannot go on as it began: {REMEDY}"
            )

    def _begin(self, parameters: dict[str, str], data: dict[str, str]) -> None:
        assert self._journal is not None
        if not self._journal.segments:
            self._append({"parameters": parameters, "data": data}, {})
            return
        head, *rest = self._journal.segments
        kept = described(head)
        differ = identity.differences(kept["parameters"], parameters, with_values=True)
        differ += identity.differences(kept["data"], data, with_values=False)
        if differ:
            raise CheckpointError(
                f"checkpoint {self._journal.path!r} is of another training: {'; '.join(differ)}. Train with what it "
                f"was begun with, or {REMEDY}"
            )
        self.state = read_state(rest)
        self._n_written = len(self.state.rounds)
        self._journal.segments.clear()

    def _append(self, told: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        if self._journal is None:
            return
        try:
            self._journal.append(json.dumps(told), arrays)
        except OSError as error:
            warnings.warn(
                f"checkpoint {self._journal.path!r} can no longer be written ({error.strerror}): training goes on "
                f"without it, and could be continued after round {self._n_written}",
                RuntimeWarning,
                stacklevel=2,
            )
            self._journal.close()
            self._journal = None


def read_state(segments: Sequence[Segment]) -> CheckpointState:
    """The rounds that the segments behind the first tell of."""
    past = CheckpointState()
    for segment in segments:
        told = described(segment)
        trees = iter(_parted(segment.arrays))
        past.rounds += [[next(trees) for _ in range(count)] for count in segment.arrays[TREES_OF_ROUND].tolist()]
        past.history.append(segment.arrays[HISTORY])
        past.elapsed, past.scores, past.stopped = told["elapsed"], told.get("scores"), told.get("stopped")
    return past


def _joined(trees: Sequence[FittedTree]) -> dict[str, np.ndarray]:
    """The arrays of several trees, one behind the other, and how long each is."""
    arrays = {OUTPUT: np.array([tree.output for tree in trees], dtype=np.int64)}
    every = [_arrays(tree) for tree in trees]
    for name in every[0] if every else ():
        parts = [one[name] for one in every]
        arrays[name] = np.concatenate(parts)
        arrays[LENGTHS + name] = np.array([len(part) for part in parts], dtype=np.int64)
    return arrays


def _arrays(tree: FittedTree) -> dict[str, np.ndarray]:
    """The arrays that a tree has; all trees of a training have the same."""
    arrays = {VALUE: tree.value} | {name: getattr(tree.grown, name) for name in TREE_FIELDS}
    if tree.grown.leaf_coefficients is not None:
        arrays |= {f"{TERMS}.{name}": getattr(tree.grown.leaf_coefficients, name) for name in TERM_FIELDS}
    return {name: array for name, array in arrays.items() if array is not None}


def _parted(arrays: dict[str, np.ndarray]) -> list[FittedTree]:
    """The trees that were joined."""
    names = [name.removeprefix(LENGTHS) for name in arrays if name.startswith(LENGTHS)]
    parts = {name: np.split(arrays[name].copy(), np.cumsum(arrays[LENGTHS + name])[:-1]) for name in names}
    trees = []
    for k, output in enumerate(arrays[OUTPUT].tolist()):
        of_tree: dict[str, Any] = {name: parts[name][k] for name in TREE_FIELDS if name in parts}
        if f"{TERMS}.{TERM_FIELDS[0]}" in parts:
            fields = {name: parts[f"{TERMS}.{name}"][k] for name in TERM_FIELDS}
            of_tree["leaf_coefficients"] = LeafCoefficients(**fields)
        trees.append(FittedTree(GrownTree(**of_tree), parts[VALUE][k], output))
    return trees


def _checksum(scores: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(scores).data)
