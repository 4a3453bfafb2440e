"""Attributes and methods of other libraries' estimators and boosters: errors that say what to use instead."""

from __future__ import annotations

# Names of LightGBM, XGBoost and CatBoost, and what to use instead on an estimator; a Model has no ``model_``.
_INSTEAD = {
    "save_model": "save(path)",
    "load_model": "SapwoodClassifier.load(path), SapwoodRegressor.load(path) or sapwood.load(path)",
    "booster_ get_booster": "model_",
    "Booster": "sapwood.load(path), or sapwood.train(params, X, y)",
    "dump_model get_dump model_to_string save_raw": "model_.to_text() or model_.trees",
    "export_text": "to_text() of a tree, model_.to_text() of other estimators",
    "trees_to_dataframe": "model_.trees, a dict of columns: pandas.DataFrame(model_.trees)",
    "feature_importance get_score get_fscore": "importance(kind)",
    "get_feature_importance": "importance(kind), shap_values(X) or shap_interaction_values(X)",
    "feature_name feature_name_ feature_names_": "feature_names_in_ of an estimator, feature_names of a Model",
    "get_evals_result evals_result": "evals_result_",
    "get_best_iteration best_iteration": "best_iteration_",
    "get_best_score best_score": "best_score_",
    "get_all_params": "params_",
    "tree_count_ num_trees num_boosted_rounds n_estimators_ current_iteration get_num_boosting_rounds": (
        "n_iter_ of an estimator, len(model)"
    ),
    "n_features_": "n_features_in_",
    "n_classes_": "len(classes_)",
    "objective_": "params_['objective']",
    "get_xgb_params": "get_params()",
    "inplace_predict": "predict(X)",
    "calc_leaf_indexes": "apply(X) of an estimator, leaf_indices(X) of a Model",
    "to_onnx save_onnx export_onnx to_pmml save_pmml to_treelite save_as_onnx convert_to_onnx": (
        "save(path): there is no ONNX, PMML or treelite yet; sapwood.load(path).predict(X) needs NumPy alone"
    ),
    "is_fitted fitted_": "sklearn.utils.validation.check_is_fitted(estimator)",
}
INSTEAD = {name: use for names, use in _INSTEAD.items() for name in names.split()}


def unknown_attribute(owner: str, name: str) -> AttributeError:
    """Return the error for an attribute that ``owner`` does not have."""
    hint = f"; use {INSTEAD[name]}" if name in INSTEAD else ""
    return AttributeError(f"{owner} has no attribute {name!r}{hint}")
