"""Facts about a model and its training, as a plain dictionary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sapwood.model.tree import LEAF

if TYPE_CHECKING:
    from sapwood.model.model import Model

# Keys of ``metadata``.
PARAMS, CATEGORIES, TRAINING, N_ROWS, DECISIONS = "params", "categories", "training", "n_rows", "decisions"
NUMERIC_CROSSES, OOB_SCORE = "numeric_crosses", "oob_score"


def model_info(model: Model) -> dict[str, Any]:
    """Return what the model is and how it was trained; None for what files of earlier versions do not hold."""
    training = model.metadata.get(TRAINING, {})
    names = model.feature_names
    return {
        "objective": model.objective.get("name"),
        "objective_settings": dict(model.objective.get("settings", {})),
        "link": model.link,
        "classes": None if model.classes is None else model.classes.tolist(),
        "n_rows": model.metadata.get(N_ROWS),
        "n_features": model.n_features,
        "feature_names": names,
        "categorical_features": [names[f] for f in model.schema.categorical_columns],
        "encodings": dict(model.encodings),
        "decisions": list(model.decisions),
        "n_outputs": model.n_outputs,
        "n_iterations": model.n_iterations,
        "n_trees": model.ensemble.n_trees,
        "n_leaves": int((model.ensemble.feature == LEAF).sum()),
        "base_scores": model.base_scores.tolist(),
        "stopped": training.get("stopped"),
        "best_iteration": training.get("best_iteration"),
        "best_score": training.get("best_score"),
        "oob_score": model.metadata.get(OOB_SCORE),
        "monitored": training.get("monitored"),
        "eval_sets": training.get("eval_sets"),
        "params": dict(model.metadata.get(PARAMS, {})),
        "fingerprint": model.fingerprint(),
        "trained_with": training.get("trained_with"),
    }
