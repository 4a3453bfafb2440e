"""Estimators in notebooks: scikit-learn's diagram, and for a fitted estimator facts about its model."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr

from sapwood.model.html_summary import html_summary
from sapwood.model.model import Model


class NotebookDisplay(BaseEstimator):
    """Adds a summary of the fitted model to scikit-learn's diagram; pipelines show the diagram alone."""

    def _html_repr(self) -> str:
        diagram = estimator_html_repr(self)
        model = getattr(self, "model_", None)
        if not isinstance(model, Model):
            return diagram
        init = getattr(self, "init_", None)
        facts = {"init": None if init is None else type(init).__name__, "stopped by": getattr(self, "stopped_", None)}
        return diagram + html_summary(model, "Fitted model", facts)

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return bundle | ({"text/html": self._html_repr()} if "text/html" in bundle else {})
