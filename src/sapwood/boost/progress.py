"""Progress of training: the argument of callbacks, and its description in one line."""

from __future__ import annotations

from collections.abc import Mapping

from sapwood.lazy_dataclass import dataclass

History = Mapping[str, Mapping[str, list[float]]]


@dataclass(frozen=True, eq=False)
class Progress:
    """Progress of training after a round, passed to callbacks.

    Attributes
    ----------
    round : int
        Number of finished rounds.
    n_rounds : int
        Number of all rounds.
    evals : dict
        Metrics so far as ``{set: {metric: [one value per round]}}``, a copy.
    elapsed : float
        Number of seconds since training began.

    Examples
    --------
    A callback that returns True stops training:

    >>> import sapwood
    >>> params = {"callbacks": lambda progress: progress.round == 3}
    >>> len(sapwood.train(params, [[float(i)] for i in range(50)], list(range(50))))
    3
    """

    round: int
    n_rounds: int
    evals: History
    elapsed: float

    @property
    def left(self) -> float:
        """Estimated number of seconds until the last round, from the mean time per round so far."""
        return self.elapsed / self.round * (self.n_rounds - self.round)


def describe(progress: Progress) -> str:
    """Return rounds, the first metric of each validation set, time spent and time left."""
    parts = [f"{progress.round}/{progress.n_rounds}"]
    for name, metrics in progress.evals.items():
        for metric, values in list(metrics.items())[:1]:
            parts.append(f"{name} {metric} {values[-1]:.5g}")
    parts.append(f"{_clock(progress.elapsed)} spent, {_clock(progress.left)} left")
    return "  ".join(parts)


def describe_metrics(progress: Progress) -> str:
    """Return the round and every metric of every validation set."""
    parts = [f"[{progress.round}]"]
    for name, metrics in progress.evals.items():
        parts += [f"{name} {metric}: {values[-1]:.6g}" for metric, values in metrics.items()]
    if len(parts) == 1:
        parts.append(f"{_clock(progress.elapsed)} spent")
    return "  ".join(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
