"""Checkpoints: finished rounds in a file, from which a killed fit resumes and ends with the same model, bit for bit.

The first segment of the checkpoint log describes parameters and data; each further one holds the trees, in bins, and
the metrics of the rounds since the previous one. Scores are not stored: adding the trees again in the same order gives
the same scores, and a checksum verifies it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import field
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.boost.checkpoint import REMEDY
from sapwood.boost.early_stopping import INTERRUPTED, TIME_LIMIT
from sapwood.boost.evaluation import Evaluation
from sapwood.boost.initial_scores import InitialScores
from sapwood.boost.target import Target
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.errors import CheckpointError, warn_user
from sapwood.grow.grown_tree import FittedTree, GrownTree
from sapwood.lazy_dataclass import dataclass
from sapwood.model.linear_leaves import LeafCoefficients
from sapwood.params.declaration import Params

if TYPE_CHECKING:  # what reads and writes files is imported for fits with a checkpoint only
    from sapwood.boost.checkpoint.log import CheckpointLog, Segment
    from sapwood.boost.checkpoint.memory_log import MemoryLog
    from sapwood.distributed.workers import Workers

# Names of the arrays of a segment.
HISTORY, TREES_PER_ROUND, OUTPUT, VALUE = "history", "trees_per_round", "output", "value"
LENGTHS = "lengths."
GROWN_FIELDS = ("integers", "numbers", "threshold", "sets")
COEFFICIENTS = "leaf_coefficients."
COEFFICIENT_FIELDS = tuple(LeafCoefficients.__annotations__)


@dataclass(eq=False)
class CheckpointState:
    """Contents of a checkpoint: trees by round, metrics (set and metric, round), and how far training came.

    ``elapsed`` is the training time in seconds, ``scores_checksum`` that of the training scores; ``stopped`` is the
    reason for which training ended, None if it can be resumed.
    """

    rounds: list[list[FittedTree]] = field(default_factory=list)
    history: list[np.ndarray] = field(default_factory=list)
    elapsed: float = 0.0
    scores_checksum: int | None = None
    stopped: str | None = None

    def reason_to_stop(self, time_limit: float | None) -> str | None:
        """Return why no further round is trained; None if training is resumed."""
        if self.rounds and time_limit is not None and self.elapsed >= time_limit:
            return self.stopped or TIME_LIMIT
        return self.stopped


class Checkpoint:
    """Writes finished rounds to the checkpoint log every ``interval`` seconds; without a log it does nothing.

    ``state`` is what the log held when it was opened.
    """

    def __init__(self, log: CheckpointLog | MemoryLog | None, interval: float) -> None:
        self.state = CheckpointState()
        self._log = log
        self._interval = interval
        self._current_round: list[FittedTree] = []
        self._pending_rounds: list[list[FittedTree]] = []
        self._n_written = 0
        self._written_at = time.monotonic()

    @classmethod
    def open(
        cls, dataset: BinnedDataset, target: Target, params: Params, initial: InitialScores, evaluation: Evaluation
    ) -> Checkpoint:  # fmt: skip
        """Open the checkpoint that the parameters name, and check that it belongs to this run."""
        workers = dataset.workers
        checkpoint = _open(params, workers)
        if checkpoint._log is None:
            return checkpoint
        from sapwood.boost.checkpoint import run_fingerprint

        # Between attempts of a distributed fit without a checkpoint, whoever starts them compares the data.
        has_path = params.run.checkpoint is not None
        digests = run_fingerprint.digest_data(dataset, target, initial, evaluation) if has_path else {}
        try:
            checkpoint._begin(run_fingerprint.describe_params(params), digests)
            checkpoint._check_trees(dataset, len(initial.base_scores))
        except BaseException:
            checkpoint._log.close()
            raise
        if workers.journal is None and not workers.is_first:
            checkpoint._log = None  # the first worker writes the file
        return checkpoint

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._log is not None:
            self._log.close()

    def add_tree(self, tree: FittedTree) -> None:
        """Add a tree to the current round."""
        if self._log is not None:
            self._current_round.append(tree.without_rows())

    def end_round(self, evaluation: Evaluation, scores: np.ndarray, elapsed: float, reason: str | None) -> None:
        """Finish the current round, the last one if there is a ``reason`` to stop; write if it is time to."""
        if self._log is None:
            return
        self._pending_rounds.append(self._current_round)
        self._current_round = []
        if reason is not None or time.monotonic() - self._written_at >= self._interval:
            self.write(evaluation, elapsed, scores, reason)

    def write(
        self, evaluation: Evaluation, elapsed: float, scores: np.ndarray | None = None, reason: str | None = None
    ) -> None:
        """Write the finished rounds; training that was interrupted or ran out of time can be resumed."""
        n_rounds = self._n_written + len(self._pending_rounds)
        if self._log is None or not self._pending_rounds:
            return
        header: dict[str, Any] = {"rounds": n_rounds, "elapsed": elapsed}
        if scores is not None and self._log.checks_scores:
            header["scores"] = _checksum(scores)
        if reason not in (None, INTERRUPTED, TIME_LIMIT):
            header["stopped"] = reason
        metrics = [
            values[self._n_written : n_rounds] for of_set in evaluation.history.values() for values in of_set.values()
        ]
        arrays = {
            HISTORY: np.array(metrics, dtype=np.float64).reshape(len(metrics), len(self._pending_rounds)),
            TREES_PER_ROUND: np.array([len(trees) for trees in self._pending_rounds], dtype=np.int64),
        }
        self._append(header, arrays | _join_trees([tree for trees in self._pending_rounds for tree in trees]))
        self._n_written, self._pending_rounds = n_rounds, []
        self._written_at = time.monotonic()

    def check_scores(self, scores: np.ndarray) -> None:
        """Raise CheckpointError if the trees of the checkpoint do not give the scores that it was written with."""
        if self._log is None or not self._log.checks_scores or self.state.scores_checksum is None:
            return
        if self.state.scores_checksum != _checksum(scores):
            raise CheckpointError(
                f"checkpoint {self._log.path!r}: its trees do not give the scores that it was written with, so "
                f"training cannot be resumed: {REMEDY}"
            )

    def _begin(self, parameters: dict[str, str], data: dict[str, str]) -> None:
        from sapwood.boost.checkpoint import run_fingerprint

        assert self._log is not None
        if not self._log.segments:
            self._append({"parameters": parameters, "data": data}, {})
            return
        first, *rest = self._log.segments
        header = first.parse()
        differ = run_fingerprint.differences(header["parameters"], parameters, with_values=True)
        differ += run_fingerprint.differences(header["data"], data, with_values=False)
        if differ:
            raise CheckpointError(
                f"checkpoint {self._log.path!r} belongs to another training run: {'; '.join(differ)}. Use the "
                f"parameters and data that it was begun with, or {REMEDY}"
            )
        self.state = read_state(rest)
        self._n_written = len(self.state.rounds)
        self._log.segments.clear()

    def _check_trees(self, dataset: BinnedDataset, n_outputs: int) -> None:
        """Raise a CheckpointError unless the trees can be added to scores safely."""
        from sapwood.boost.checkpoint.validation import tree_fault

        assert self._log is not None
        for tree in (tree for trees in self.state.rounds for tree in trees):
            if (fault := tree_fault(tree, dataset, n_outputs)) is not None:
                raise CheckpointError(f"checkpoint {self._log.path!r} is not valid, {fault}: {REMEDY}")

    def _append(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        if self._log is None:
            return
        import json

        try:
            self._log.append(json.dumps(header), arrays)
        except OSError as error:
            warn_user(
                f"checkpoint {self._log.path!r} can no longer be written ({error.strerror}): training continues "
                f"without it and could be resumed after round {self._n_written}",
                RuntimeWarning,
            )
            self._log.close()
            self._log = None


def _open(params: Params, workers: Workers) -> Checkpoint:
    """Return the checkpoint in the journal of workers, or in the file that the parameters name.

    What the journal holds of a fit with a checkpoint is written by the process that has started the workers.
    """
    if workers.journal is not None:
        from sapwood.boost.checkpoint.memory_log import MemoryLog

        path = params.run.checkpoint
        return Checkpoint(MemoryLog(workers.journal.open_stage(path), path or "in memory"), 0.0)
    if params.run.checkpoint is None:
        return Checkpoint(None, 0.0)
    if workers.is_local:
        from sapwood.boost.checkpoint.log import CheckpointLog

        return Checkpoint(CheckpointLog(params.run.checkpoint), params.run.checkpoint_every)
    from sapwood.boost.checkpoint.shared_log import open_shared_log

    return Checkpoint(open_shared_log(params.run.checkpoint, workers), params.run.checkpoint_every)


def read_state(segments: Sequence[Segment]) -> CheckpointState:
    """Return the rounds of all segments but the first one of a log."""
    state = CheckpointState()
    for segment in segments:
        header = segment.parse()
        trees = iter(_split_trees(segment.arrays))
        state.rounds += [[next(trees) for _ in range(count)] for count in segment.arrays[TREES_PER_ROUND].tolist()]
        state.history.append(segment.arrays[HISTORY])
        state.elapsed, state.stopped = header["elapsed"], header.get("stopped")
        state.scores_checksum = header.get("scores")
    return state


def _join_trees(trees: Sequence[FittedTree]) -> dict[str, np.ndarray]:
    """Return the arrays of all trees, concatenated, and the length of each tree's part."""
    arrays = {OUTPUT: np.array([tree.output for tree in trees], dtype=np.int64)}
    by_tree = [_arrays_of_tree(tree) for tree in trees]
    for name in by_tree[0] if by_tree else ():
        parts = [of_tree[name] for of_tree in by_tree]
        arrays[name] = np.concatenate(parts)
        arrays[LENGTHS + name] = np.array([len(part) for part in parts], dtype=np.int64)
    return arrays


def _arrays_of_tree(tree: FittedTree) -> dict[str, np.ndarray]:
    """Return the arrays of a tree; all trees of a run have the same ones."""
    arrays = {VALUE: tree.value} | {name: getattr(tree.grown, name) for name in GROWN_FIELDS}
    if tree.grown.leaf_coefficients is not None:
        arrays |= {COEFFICIENTS + name: getattr(tree.grown.leaf_coefficients, name) for name in COEFFICIENT_FIELDS}
    return {name: array for name, array in arrays.items() if array is not None}


def _split_trees(arrays: dict[str, np.ndarray]) -> list[FittedTree]:
    """Return the trees that ``_join_trees`` concatenated."""
    names = [name.removeprefix(LENGTHS) for name in arrays if name.startswith(LENGTHS)]
    parts = {name: np.split(arrays[name].copy(), np.cumsum(arrays[LENGTHS + name])[:-1]) for name in names}
    trees = []
    for k, output in enumerate(arrays[OUTPUT].tolist()):
        grown: dict[str, Any] = {name: parts[name][k] for name in GROWN_FIELDS if name in parts}
        if COEFFICIENTS + COEFFICIENT_FIELDS[0] in parts:
            fields = {name: parts[COEFFICIENTS + name][k] for name in COEFFICIENT_FIELDS}
            grown["leaf_coefficients"] = LeafCoefficients(**fields)
        trees.append(FittedTree(GrownTree(**grown), parts[VALUE][k], output))
    return trees


def _checksum(scores: np.ndarray) -> int:
    import zlib

    return zlib.crc32(np.ascontiguousarray(scores).data)
