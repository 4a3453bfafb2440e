"""Train on Ray: every attempt has actors of its own, and begins with the rounds that earlier ones have finished."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import ray
from ray.exceptions import GetTimeoutError, ObjectLostError, RayActorError, RayTaskError

from sapwood.boost.eval_sets import read_eval_sets
from sapwood.distributed.checkpoint_files import CheckpointFiles
from sapwood.distributed.cost import log_attempt
from sapwood.distributed.inbox import WorkerLostError
from sapwood.distributed.journal import Journal
from sapwood.distributed.partitions import PartitionFacts, common_type
from sapwood.distributed.retries import fit_with_retries, read_retries
from sapwood.distributed.train import check_estimator, fixed_seed
from sapwood.distributed.worker_rows import StoredPartition, WorkerResult, number_rows
from sapwood.errors import InputError, InputTypeError, ParameterError, SapwoodError, TrainingError
from sapwood.estimators.base import SapwoodEstimator
from sapwood.params.aliases.alias import FIT
from sapwood.params.unknown_names import Call, unknown_argument
from sapwood.ray.parts import Part, describe_part, split_rows
from sapwood.ray.worker_actor import Task, WorkerActor, WorkerFailure

logger = logging.getLogger("sapwood.ray")
POLL_SECONDS = 1.0  # that workers are waited for before the checkpoint is written
START_SECONDS = 60.0  # for actors to start; a fit goes on with those that have
GRACE_SECONDS = 5.0  # for workers to end after one was lost, and hand over the rounds that they have finished
FIT_ARGUMENTS = ("sample_weight", "init_score", "groups", "eval_set", "eval_sample_weight", "init_model")
Estimator = TypeVar("Estimator", bound=SapwoodEstimator)


class StoredRows(NamedTuple):
    """The parts of training rows or of a validation set, numbered, with their facts."""

    stored: list[StoredPartition]
    parts: list[Part]

    def deal(self, n_workers: int) -> list[list[tuple[StoredPartition, Part]]]:
        """Return the parts of each worker, with about as many rows; parts without rows belong to none."""
        dealt: list[list[tuple[StoredPartition, Part]]] = [[] for _ in range(n_workers)]
        n_rows = [0] * n_workers
        for one in sorted(zip(self.stored, self.parts, strict=True), key=lambda one: -one[0].facts.n_rows):
            if one[0].facts.n_rows:
                rank = n_rows.index(min(n_rows))
                dealt[rank].append(one)
                n_rows[rank] += one[0].facts.n_rows
        return dealt


def fit(
    estimator: Estimator,
    X: Any,
    y: Any,
    *,
    n_workers: int | None = None,
    cpus_per_worker: int = 1,
    retries: int = 3,
    **more: Any,
) -> Estimator:
    """Fit an estimator on Ray actors; the model is the one that a single machine with all rows would train.

    Parameters
    ----------
    estimator : SapwoodClassifier or SapwoodRegressor
        Estimator to fit.
    X : ray.data.Dataset, or list of parts
        Rows. Parts are references of objects, arrays, data frames or sparse matrices.
    y : str, or list of parts
        Target of each row: the column of a dataset, or parts with as many rows as those of X.
    n_workers : int, optional
        Number of actors; by default as many as the CPUs of the cluster allow, but no more than parts with rows.
    cpus_per_worker : int, default=1
        CPUs and threads of each actor.
    retries : int, default=3
        Number of times that training is taken up again after an actor was lost.
    **more : dict
        ``sample_weight``, ``init_score``, ``groups`` (as y), ``eval_set`` (a pair (X, y), a list or a dict of pairs),
        ``eval_sample_weight``, ``init_model``: as in the estimator's ``fit``.

    Returns
    -------
    SapwoodClassifier or SapwoodRegressor
        The fitted estimator; ``fit_report_`` says what the workers exchanged.

    Examples
    --------
    >>> import ray, sapwood.ray  # doctest: +SKIP
    >>> from sapwood import SapwoodClassifier  # doctest: +SKIP
    >>> rows = ray.data.read_parquet("rows/")  # doctest: +SKIP
    >>> model = sapwood.ray.fit(SapwoodClassifier(), rows, "label", n_workers=4)  # doctest: +SKIP
    """
    retries = read_retries(retries)
    for name, value in {"n_workers": n_workers, "cpus_per_worker": cpus_per_worker}.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise ParameterError(f"{name} must be an integer of at least 1, got {value!r}")
    if unknown := sorted(set(more) - set(FIT_ARGUMENTS)):
        call = Call(FIT, "fit", ("estimator", "X", "y", *FIT_ARGUMENTS), type(estimator).__name__)
        raise InputTypeError(unknown_argument(call, unknown[0], more[unknown[0]]))
    if not isinstance(estimator, SapwoodEstimator):
        raise InputTypeError(f"estimator must be a Sapwood estimator, got {type(estimator).__name__}")
    params = check_estimator(estimator, has_groups=more.get("groups") is not None)
    rows, eval_sets, init_model = _store_rows(X, y, **more)
    n_filled = sum(one.facts.n_rows > 0 for one in rows.stored)
    n_workers = n_workers or max(1, int(ray.cluster_resources().get("CPU", 1)) // cpus_per_worker)
    copy = type(estimator)(**estimator.get_params(deep=False)).set_params(random_state=fixed_seed(estimator))
    dtype = common_type({one.facts.dtype for one in rows.stored})
    task = Task(0, copy, (), {}, dtype, init_model, cpus_per_worker, b"")
    with CheckpointFiles(params) as files:
        ray_fit = RayFit(task, rows, eval_sets, min(n_workers, n_filled), files)
        fitted, report = fit_with_retries(ray_fit.attempt, retries, logger)
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)
    attributes = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
    estimator.__dict__.update(attributes | {"fit_report_": report})
    return estimator


def _store_rows(
    X: Any, y: Any, *, sample_weight: Any = None, init_score: Any = None, groups: Any = None,
    eval_set: Any = None, eval_sample_weight: Any = None, init_model: Any = None,
) -> tuple[StoredRows, dict[str, StoredRows], Any]:  # fmt: skip
    """Split rows and validation sets into parts, and find the facts of these."""
    parts = {"": split_rows(X, y, sample_weight, init_score, groups)}
    for name, raw in read_eval_sets(eval_set, eval_sample_weight).items():
        parts[name] = split_rows(*raw, name=name)
    describe = ray.remote(num_cpus=1)(describe_part)
    facts = {name: [describe.remote(part) for part in own] for name, own in parts.items()}
    stored = {name: StoredRows(number_rows(_find_facts(refs)), parts[name]) for name, refs in facts.items()}
    if not any(one.facts.n_rows for one in stored[""].stored):
        raise InputError("X has no rows: all of its parts are empty")
    return stored.pop(""), stored, init_model


def _find_facts(refs: Sequence[Any]) -> list[PartitionFacts]:
    """Return the facts of parts; raise the error of the first that has none."""
    try:
        facts: list[PartitionFacts | SapwoodError] = ray.get(list(refs))
    except ObjectLostError as error:
        raise TrainingError(f"a part was lost, and Ray cannot compute it again: {error}") from error
    for one in facts:
        if isinstance(one, SapwoodError):
            raise one
    return [one for one in facts if isinstance(one, PartitionFacts)]


class RayFit:
    """A fit on Ray: what is trained, and the rounds that its attempts have finished."""

    def __init__(
        self,
        task: Task,
        rows: StoredRows,
        eval_sets: Mapping[str, StoredRows],
        n_workers: int,
        files: CheckpointFiles,
    ) -> None:
        self._task, self._rows, self._eval_sets, self._n_workers = task, rows, eval_sets, n_workers
        self._files = files
        self._journal = Journal()

    def attempt(self, number: int) -> tuple[SapwoodEstimator, dict[str, Any]]:
        """Train with new actors; raise WorkerLostError if one is lost on the way."""
        self._journal = _furthest(self._journal, self._files.journal())
        actors = _start_actors(self._n_workers, self._task.n_threads)
        try:
            tasks = self._tasks(number, len(actors))
            facts = [one.facts for one in self._rows.stored]
            log_attempt(logger, number, self._task.estimator, facts, len(tasks))
            actors = actors[: len(tasks)]
            running = {actor.train.remote(k, actors, tasks[k]): actor for k, actor in enumerate(actors)}
            results = self._collect(running)
        finally:
            self._write_checkpoint(actors)
            for actor in actors:
                ray.kill(actor)
        assert len({result.fingerprint for result in results}) == 1
        (fitted,) = [result.estimator for result in results if result.estimator is not None]
        return fitted, {"attempts": number + 1, "workers": [result.report for result in results]}

    def _tasks(self, number: int, n_workers: int) -> list[Task]:
        """Return what each worker trains in an attempt."""
        common = self._task._replace(attempt=number, journal=self._journal.to_bytes())
        dealt = {name: one.deal(n_workers) for name, one in self._eval_sets.items()}
        return [
            common._replace(
                parts=parts,
                eval_sets={name: (dealt[name][k], one.parts[0]) for name, one in self._eval_sets.items()},
            )
            for k, parts in enumerate(self._rows.deal(n_workers))
        ]

    def _collect(self, running: Mapping[Any, Any]) -> list[WorkerResult]:
        """Return the results of all workers by rank; stop the others if one fails."""
        outcomes: dict[Any, WorkerResult | Exception] = {}
        errors: list[Exception] = []
        pending = list(running)
        while pending:
            done, pending = ray.wait(pending, num_returns=1, timeout=GRACE_SECONDS if errors else POLL_SECONDS)
            if errors and not done:
                break
            if self._files.is_due:
                self._write_checkpoint(list(running.values()))
            outcomes |= {ref: self._outcome(ref) for ref in done}
            had_errors = bool(errors)
            errors = [one for one in outcomes.values() if isinstance(one, Exception)]
            if errors and not had_errors:
                for ref in pending:
                    running[ref].stop.remote(str(errors[0]))
        for error in errors:
            if not isinstance(error, WorkerLostError):
                raise error
        if errors:
            raise errors[0]
        return [one for one in (outcomes[ref] for ref in running) if isinstance(one, WorkerResult)]

    def _outcome(self, ref: Any) -> WorkerResult | Exception:
        """Return the result of a worker or its error; keep the journal of the one that came furthest."""
        try:
            result: WorkerResult | WorkerFailure = ray.get(ref)
        except RayActorError as error:
            return WorkerLostError(" ".join(str(error).split("\n")[:1]))
        except ObjectLostError as error:
            return TrainingError(f"a part was lost with its node, and Ray cannot compute it again: {error}")
        except RayTaskError as error:
            return error.cause
        if isinstance(result, WorkerResult):
            return result
        self._journal = _furthest(self._journal, Journal.from_bytes(result.journal))
        return result.error

    def _write_checkpoint(self, actors: Sequence[Any]) -> None:
        """Write the rounds that the first actor that answers has finished to the checkpoint."""
        if not self._files.is_open:
            return
        self._files.postpone()
        for actor in actors:
            try:
                self._files.write(ray.get(actor.segments_after.remote(self._files.counts), timeout=POLL_SECONDS))
                return
            except (RayActorError, GetTimeoutError) as error:
                logger.info("a worker does not give its rounds for the checkpoint: %s", type(error).__name__)


def _furthest(first: Journal, second: Journal) -> Journal:
    """Return the journal with more rounds, the first of equals."""
    return max(first, second, key=lambda one: one.n_segments)


def _start_actors(n_workers: int, n_cpus: int) -> list[Any]:
    """Return the actors that have started in time, of as many as there are workers."""
    actor_class = ray.remote(WorkerActor).options(num_cpus=n_cpus, max_concurrency=3, scheduling_strategy="SPREAD")
    starting = {}
    for _ in range(n_workers):
        actor = actor_class.remote()
        starting[actor.pid.remote()] = actor
    ready, late = ray.wait(list(starting), num_returns=n_workers, timeout=START_SECONDS)
    for ref in late:
        ray.kill(starting[ref])
    if not ready:
        n_free = ray.available_resources().get("CPU", 0)
        raise TrainingError(
            f"no worker has started in {START_SECONDS:.0f} s: the cluster has {n_free:.0f} free CPUs, a worker needs "
            f"{n_cpus}; lower cpus_per_worker, or wait for other work to end"
        )
    if late:
        logger.warning("%d of %d workers have not started; training goes on without them", len(late), n_workers)
    return [starting[ref] for ref in ready]
