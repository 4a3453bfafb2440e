"""Link functions from scores to predictions, which model files name."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from sapwood.errors import ModelFileError
from sapwood.kernels.numeric import elementwise
from sapwood.kernels.numeric.elementwise import apply_elementwise
from sapwood.kernels.predict import links as kernels
from sapwood.native.runtime.kernel import SERIAL_SYNC, Kernel, Run, run_serial


class Link:
    """A function from scores (n_outputs, n) to predictions: (n,) for one output, else (n, n_outputs)."""

    name: ClassVar[str]

    def predict(self, scores: np.ndarray, run: Run = run_serial) -> np.ndarray:
        """Return the predictions for these scores."""
        raise NotImplementedError

    def bind(self, scores: np.ndarray) -> Callable[[], float | np.ndarray]:
        """Return a function that computes the prediction of one row from the content of ``scores`` (n_outputs,)."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<link {self.name}>"


class Identity(Link):
    """The score is the prediction."""

    name = "identity"

    def predict(self, scores: np.ndarray, run: Run = run_serial) -> np.ndarray:
        """Return a copy of the scores."""
        return scores[0].copy() if len(scores) == 1 else np.ascontiguousarray(scores.T)

    def bind(self, scores: np.ndarray) -> Callable[[], float | np.ndarray]:
        """Return a function that copies the scores."""
        return _reader(scores)


class ElementwiseLink(Link):
    """A link that applies a function to each score."""

    kernel: ClassVar[Kernel]

    def predict(self, scores: np.ndarray, run: Run = run_serial) -> np.ndarray:
        """Apply the function to every score."""
        out = apply_elementwise(self.kernel, scores, run)
        return out[0] if len(scores) == 1 else np.ascontiguousarray(out.T)

    def bind(self, scores: np.ndarray) -> Callable[[], float | np.ndarray]:
        """Return a call that applies the function to every score."""
        out = np.empty_like(scores)
        call, read = self.kernel.bind(SERIAL_SYNC, scores, out), _reader(out)

        def predict_row() -> float | np.ndarray:
            call(0, 1)
            return read()

        return predict_row


class Log(ElementwiseLink):
    """The score is the logarithm of the prediction."""

    name = "log"
    kernel = elementwise.exp_values


class Log1p(ElementwiseLink):
    """The score is the logarithm of one plus the prediction."""

    name = "log1p"
    kernel = elementwise.expm1_values


class Logit(ElementwiseLink):
    """The score is the log-odds of the prediction."""

    name = "logit"
    kernel = elementwise.sigmoid_values


class HalfLogit(ElementwiseLink):
    """The score is half the log-odds of the prediction."""

    name = "half_logit"
    kernel = kernels.half_logit_values


class Margin(ElementwiseLink):
    """The prediction rises linearly from 0 at a score of -1 to 1 at a score of 1."""

    name = "margin"
    kernel = kernels.margin_values


class RowwiseLink(Link):
    """A link that applies a function to all scores of a row."""

    kernel: ClassVar[Kernel]

    def predict(self, scores: np.ndarray, run: Run = run_serial) -> np.ndarray:
        """Apply the function to every row."""
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        out = np.empty(scores.shape[::-1])
        run(self.kernel, scores, *self._workspace(scores), out)
        return out

    def bind(self, scores: np.ndarray) -> Callable[[], float | np.ndarray]:
        """Return a call that applies the function to the row."""
        out = np.empty((1, len(scores)))
        call = self.kernel.bind(SERIAL_SYNC, scores[:, None], *self._workspace(scores[:, None]), out)

        def predict_row() -> np.ndarray:
            call(0, 1)
            return out[0].copy()

        return predict_row

    def _workspace(self, scores: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the arrays that the kernel needs between the scores and the predictions."""
        return ()


class Softmax(RowwiseLink):
    """Probabilities proportional to e^score."""

    name = "softmax"
    kernel = kernels.softmax_values

    def _workspace(self, scores: np.ndarray) -> tuple[np.ndarray, ...]:
        n_outputs, n_rows = scores.shape
        return (np.empty((n_outputs + 2, n_rows)),)


class OneVsAll(RowwiseLink):
    """Each score is the log-odds of its class against the rest; the probabilities are scaled to sum to 1."""

    name = "one_vs_all"
    kernel = kernels.one_vs_all_values


class Frequencies(RowwiseLink):
    """The scores are frequencies of classes: negative ones become 0, and they are scaled to sum to 1."""

    name = "frequencies"
    kernel = kernels.frequency_values


class Sorted(RowwiseLink):
    """The scores of a row in ascending order, so that several quantiles do not cross."""

    name = "sorted"
    kernel = kernels.sorted_values


def _reader(values: np.ndarray) -> Callable[[], float | np.ndarray]:
    """Return a function that returns the only value of an array, or a copy of several."""
    return values.item if len(values) == 1 else values.copy


LINKS: dict[str, Link] = {
    link.name: link()
    for link in (Identity, Log, Log1p, Logit, HalfLogit, Margin, Softmax, OneVsAll, Frequencies, Sorted)
}  # fmt: skip


def link_from_name(name: str) -> Link:
    """Return a link function by name; raise a ModelFileError if there is none.

    Parameters
    ----------
    name : str
        Name of the link, as in ``Model.link``.

    Returns
    -------
    Link
        The function from scores to predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood.objectives import link_from_name
    >>> link_from_name("logit").predict(np.array([[0.0]]))
    array([0.5])
    """
    if name not in LINKS:
        raise ModelFileError(
            f"link {name!r} is not known; allowed are {', '.join(LINKS)}; use a later version of Sapwood"
        )
    return LINKS[name]
