"""Track a fit with mlflow: parameters, metrics of every round, and the model without pickle (mlflow, skops, pandas)."""

from __future__ import annotations

import tempfile

import mlflow
import numpy as np

from sapwood import SapwoodClassifier
from sapwood.datasets import load_adult

SAPWOOD_TYPES = [
    "sapwood.data.categories.derived_feature.DerivedFeature",
    "sapwood.data.categories.transformer.FeatureTransformer",
    "sapwood.data.categories.vocabulary.Vocabulary",
    "sapwood.data.tables.schema.Schema",
    "sapwood.estimators.classifier.SapwoodClassifier",
    "sapwood.model.ensemble.Ensemble",
    "sapwood.model.model.Model",
]

adult = load_adult("pandas")
X, y = adult.train
X_test, y_test = adult.test
model = SapwoodClassifier(n_estimators=50, eval_metric=["log_loss", "auc"]).fit(
    X, y, eval_set={"test": (X_test, y_test)}
)

with tempfile.TemporaryDirectory() as folder:
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    experiment = mlflow.create_experiment("census", artifact_location=f"file://{folder}/files")
    with mlflow.start_run(experiment_id=experiment) as run:
        mlflow.log_params({name: value for name, value in model.params_.items() if value is not None})
        for row in model.evals_frame("pandas").itertuples():
            mlflow.log_metric(f"{row.set} {row.metric}", row.value, step=row.round)
        logged = mlflow.sklearn.log_model(
            model, name="model", serialization_format="skops", skops_trusted_types=SAPWOOD_TYPES
        )
    loaded = mlflow.sklearn.load_model(logged.model_uri)
    assert np.array_equal(loaded.predict_proba(X_test), model.predict_proba(X_test))
    found = mlflow.get_run(run.info.run_id).data.metrics
    print(f"run {run.info.run_id[:8]}: test AUC {found['test auc']:.4f}, the loaded model predicts the same")
