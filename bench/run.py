"""Run workloads: repetitions of all libraries are interleaved, so that a slow moment of the machine affects all alike.

The order differs in every repetition: threads of the library before may still be spinning.
"""

from __future__ import annotations

from dataclasses import asdict
from random import Random
from statistics import median
from typing import Any

from threadpoolctl import threadpool_limits

from bench import machine
from bench.contestant import Contestant
from bench.measures import MEASURES, Trial
from bench.workloads import Workload

Record = dict[str, Any]

PATIENCE = 20.0


def begin(contestants: list[type[Contestant]]) -> Record:
    """Start the record of a run: the machine and the versions."""
    return {"machine": machine.describe(), "versions": {c.package: c.version() for c in contestants}, "workloads": []}


def run(workload: Workload, contestants: list[type[Contestant]], repeat: int | None = None) -> Record:
    """Measure every library ``repeat`` times; return all values, the best, and its ratio to Sapwood's best."""
    measure = MEASURES[workload.measure]
    split = None if measure.fresh else workload.data.load()
    trials: dict[str, Trial] = {}
    errors: dict[str, str] = {}
    for contestant in contestants:
        if (
            workload.settings.growth in contestant.growths
            and workload.takes(contestant.name)
            and measure.takes(contestant)
        ):
            try:
                trials[contestant.name] = measure(contestant, workload, split)
            except Exception as error:
                errors[contestant.name] = f"{type(error).__name__}: {error}"
    values = take_turns(trials, errors, workload, repeat or workload.repeat)
    return {
        "name": workload.name,
        "measure": workload.measure,
        "unit": measure.unit,
        "task": workload.data.task,
        "data": repr(workload.data),
        "settings": asdict(workload.settings),
        "results": [summarise(name, trials[name], values) for name in values],
        "errors": errors,
    }


def take_turns(
    trials: dict[str, Trial], errors: dict[str, str], workload: Workload, rounds: int
) -> dict[str, list[float]]:
    """Measure each trial once per repetition; one that fails goes to ``errors`` and is not repeated.

    One that took longer than ``PATIENCE`` seconds is not measured again: long runs vary little and cost much.
    """
    values: dict[str, list[float]] = {name: [] for name in trials}
    # scikit-learn has no parameter for threads. The limit holds for OpenMP libraries that are loaded, as all are now.
    with threadpool_limits(limits=workload.settings.threads, user_api="openmp"):
        for round in range(rounds):
            for name in Random(round).sample(list(values), len(values)):
                if values[name] and trials[name].unit == "s" and values[name][0] > PATIENCE:
                    continue
                try:
                    values[name].append(trials[name].once())
                except Exception as error:
                    errors[name] = f"{type(error).__name__}: {error}"
                    del values[name]
    return values


def summarise(name: str, trial: Trial, values: dict[str, list[float]]) -> Record:
    """Summarise one library's values: best, spread (distance of the median from it), ratio, loss."""
    best = max(values[name]) if trial.more_is_better else min(values[name])
    reference = min(values["sapwood"]) if "sapwood" in values and trial.has_ratio else None
    return {
        "contestant": name,
        "family": trial.contestant.family,
        "values": values[name],
        "best": best,
        "spread": abs(median(values[name]) / best - 1) if best else 0.0,
        "ratio": best / reference if reference else None,
        "loss": trial.loss,
        **trial.details,
    }
