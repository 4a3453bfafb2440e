"""Progress of a fit on a cluster: the first worker logs an event after each round, the client displays it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Client, get_worker

from sapwood.boost.progress import Progress
from sapwood.boost.progress_display import make_display


class LogProgress:
    """A callback that logs the progress of training, with the last value of each metric, as an event of Dask."""

    def __init__(self, topic: str) -> None:
        self._topic = topic

    def __call__(self, progress: Progress) -> None:
        """Log the progress after a round."""
        evals = {name: {metric: values[-1:] for metric, values in one.items()} for name, one in progress.evals.items()}
        event = {"round": progress.round, "n_rounds": progress.n_rounds, "evals": evals, "elapsed": progress.elapsed}
        get_worker().log_event(self._topic, {"progress": event})  # Dask adds the worker to the outer dict


@contextmanager
def displayed_progress(client: Client, topic: str, verbose: int) -> Iterator[None]:
    """Display the events of a topic, as ``verbose`` says, while the block runs."""
    if not verbose:
        yield
        return
    with make_display(verbose) as display:
        n_shown = 0

        def show(event: tuple[float, dict[str, Any]]) -> None:
            nonlocal n_shown
            n_shown += 1
            display.show(Progress(**event[1]["progress"]))

        client.subscribe_topic(topic, show)
        try:
            yield
        finally:
            client.unsubscribe_topic(topic)
            for event in client.get_events(topic)[n_shown:]:  # those of a fit that ended before they arrived
                show(event)
