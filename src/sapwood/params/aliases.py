"""Names of parameters in XGBoost, LightGBM and CatBoost: for error messages and for ``docs/peers.md``."""

from __future__ import annotations

from dataclasses import dataclass

XGBOOST, LIGHTGBM, CATBOOST = "XGBoost", "LightGBM", "CatBoost"


@dataclass(frozen=True)
class Alias:
    """A parameter of another library: its names there, ours if there is one, and how values translate."""

    library: str
    names: tuple[str, ...]
    ours: str | None
    note: str = ""


def _rows(library: str, *rows: tuple[str, str | None, str]) -> list[Alias]:
    return [Alias(library, tuple(names.split()), ours, note) for names, ours, note in rows]


_HALF = "Use half of the value: our gains include the factor ½."

ALIASES: list[Alias] = [
    *_rows(
        XGBOOST,
        ("n_estimators num_boost_round num_round num_boost_rounds num_rounds", "n_estimators", ""),
        ("learning_rate eta", "learning_rate", "The default there is 0.3, as with preset='xgboost'."),
        ("objective", "objective", "objectives.md lists the names."),
        ("max_depth", "max_depth", "0 there is None here."),
        ("max_leaves", "max_leaves", "0 there is None here."),
        ("grow_policy", "growth", "depthwise is 'levelwise', lossguide is 'leafwise'."),
        ("tree_method", "split_search", "hist is 'histogram', exact is 'exact'."),
        ("max_bin", "max_bins", "The default there is 256."),
        ("min_child_weight", "min_child_weight", ""),
        ("gamma min_split_loss", "min_split_gain", _HALF),
        ("reg_lambda lambda", "reg_lambda", ""),
        ("reg_alpha alpha", "reg_alpha", ""),
        ("max_delta_step", "max_delta_step", ""),
        ("subsample", "subsample", ""),
        ("sampling_method", "sampling", ""),
        ("colsample_bytree", "colsample_bytree", ""),
        ("colsample_bylevel", "colsample_bylevel", ""),
        ("colsample_bynode", "colsample_bynode", ""),
        ("num_parallel_tree", "boosting", ""),
        ("booster", "boosting", "gbtree is 'plain', dart is 'dart'."),
        ("rate_drop", "boosting", "boosting=Dart(drop=...)"),
        ("scale_pos_weight", "class_weight", "class_weight={0: 1, 1: value}"),
        ("base_score", "init", "A prediction there, a score (before the link) here."),
        ("enable_categorical", "categorical_features", ""),
        ("max_cat_to_onehot", "one_hot_max", ""),
        ("monotone_constraints", "monotone_constraints", ""),
        ("interaction_constraints", "interaction_constraints", ""),
        ("eval_metric", "eval_metric", ""),
        ("early_stopping_rounds", "early_stopping_rounds", ""),
        ("callbacks", "callbacks", ""),
        ("multi_strategy", None, ""),
        ("missing", "zero_as_missing", "missing=0 is zero_as_missing=True; replace other values by NaN."),
        ("importance_type", None, "Call importance(kind)."),
        ("device gpu_id", None, "CPU only."),
        ("validate_parameters", None, "Always on."),
        ("seed random_state", "random_state", ""),
        ("nthread n_jobs", "n_jobs", "The model does not depend on it."),
        ("verbosity verbose_eval", "verbose", ""),
    ),
    *_rows(
        LIGHTGBM,
        (
            "n_estimators num_iterations num_iteration n_iter num_tree num_trees num_round num_rounds nrounds max_iter",
            "n_estimators",
            "",
        ),
        ("learning_rate shrinkage_rate eta", "learning_rate", ""),
        ("objective objective_type app application loss", "objective", "objectives.md lists the names."),
        ("num_leaves num_leaf max_leaves max_leaf max_leaf_nodes", "max_leaves", ""),
        ("max_depth", "max_depth", "-1 there is None here."),
        ("max_bin max_bins", "max_bins", ""),
        (
            "min_data_in_leaf min_data_per_leaf min_data min_child_samples min_samples_leaf",
            "min_child_samples",
            "Rows are counted here, estimated from hessians in LightGBM; small leaves may differ.",
        ),
        ("min_sum_hessian_in_leaf min_sum_hessian min_hessian min_child_weight", "min_child_weight", ""),
        ("min_gain_to_split min_split_gain", "min_split_gain", _HALF),
        (
            "lambda_l2 reg_lambda lambda l2_regularization",
            "reg_lambda",
            "The default there is 0, as with preset='lightgbm'.",
        ),
        ("lambda_l1 reg_alpha l1_regularization", "reg_alpha", ""),
        ("max_delta_step max_tree_output max_leaf_output", "max_delta_step", ""),
        ("boosting boosting_type boost", "boosting", "gbdt is 'plain'; dart and rf are 'dart' and 'forest'."),
        ("data_sample_strategy", "sampling", "goss is 'goss'."),
        ("top_rate", "sampling", "sampling=Goss(top=...)"),
        ("other_rate", "sampling", "sampling=Goss(other=...)"),
        ("bagging_fraction sub_row subsample bagging", "subsample", "With sampling='uniform'."),
        ("bagging_freq subsample_freq", "subsample", "Rows are sampled in every round."),
        ("bagging_seed feature_fraction_seed data_random_seed", "random_state", "There is a single seed."),
        ("feature_fraction sub_feature colsample_bytree", "colsample_bytree", ""),
        ("feature_fraction_bynode sub_feature_bynode colsample_bynode", "colsample_bynode", ""),
        ("use_quantized_grad", "precision", "precision='packed' rounds gradients and hessians."),
        ("linear_tree linear_trees", "leaf_model", "leaf_model='linear'"),
        ("linear_lambda", "leaf_model", "leaf_model=Linear(penalty=...), per standard deviation of the feature."),
        ("scale_pos_weight", "class_weight", "class_weight={0: 1, 1: value}"),
        ("is_unbalance unbalance unbalanced_sets", "class_weight", "class_weight='balanced'"),
        ("class_weight", "class_weight", ""),
        ("categorical_feature cat_feature categorical_column cat_column", "categorical_features", ""),
        (
            "max_cat_to_onehot",
            "one_hot_max",
            "The default there is 4, as with preset='lightgbm'; Partition(max_single=...) for its own splits.",
        ),
        ("max_cat_threshold", "category_encoding", "category_encoding=Partition(max_levels=...)"),
        ("cat_l2", "category_encoding", "category_encoding=Partition(penalty=...)"),
        ("cat_smooth", "category_encoding", "category_encoding=Partition(smoothing=...)"),
        ("drop_rate rate_drop", "boosting", "boosting=Dart(drop=...)"),
        ("skip_drop", "boosting", "boosting=Dart(skip=...)"),
        ("max_drop", "boosting", "boosting=Dart(max_drop=...)"),
        ("uniform_drop", "boosting", "boosting=Dart(weighted=False)"),
        (
            "min_data_in_bin",
            None,
            "Columns with few values have a bin for each.",
        ),
        ("enable_bundle is_enable_bundle bundle", "bundle", "The model is the same with and without bundles."),
        ("max_conflict_rate", "bundle", "bundle=Bundle(conflicts=...)"),
        ("monotone_constraints mc monotone_constraint", "monotone_constraints", ""),
        ("interaction_constraints", "interaction_constraints", ""),
        ("metric metrics metric_types", "eval_metric", ""),
        ("early_stopping_round early_stopping_rounds early_stopping n_iter_no_change", "early_stopping_rounds", ""),
        ("boost_from_average", "init", ""),
        ("use_missing", None, "Always on: splits learn a default direction."),
        ("zero_as_missing", "zero_as_missing", "Also False and the entries that a sparse table does not store."),
        ("importance_type", None, "Call importance(kind)."),
        ("deterministic force_col_wise force_row_wise", None, "Fits are always deterministic."),
        ("device_type device", None, "CPU only."),
        ("seed random_seed random_state", "random_state", ""),
        ("num_threads num_thread nthread nthreads n_jobs", "n_jobs", "The model does not depend on it."),
        ("verbosity verbose", "verbose", ""),
    ),
    *_rows(
        CATBOOST,
        (
            "iterations num_boost_round n_estimators num_trees",
            "n_estimators",
            "The default there is 1000.",
        ),
        ("learning_rate eta", "learning_rate", "The default there depends on the data, as with preset='catboost'."),
        ("loss_function objective", "objective", "objectives.md lists the names."),
        ("depth max_depth", "max_depth", ""),
        ("max_leaves num_leaves", "max_leaves", ""),
        ("grow_policy", "growth", "SymmetricTree, Depthwise, Lossguide: 'symmetric', 'levelwise', 'leafwise'."),
        ("border_count max_bin", "max_bins", "254 borders are 255 bins."),
        ("min_data_in_leaf min_child_samples", "min_child_samples", ""),
        ("l2_leaf_reg reg_lambda", "reg_lambda", "The default there is 3, times the mean sample weight."),
        ("boosting_type", "boosting", "Plain is 'plain', Ordered is 'ordered'."),
        ("bootstrap_type", "sampling", "Bernoulli, Bayesian, MVS, No: 'uniform', 'bayesian', 'mvs', 'none'."),
        ("bagging_temperature", "sampling", "sampling=Bayesian(...)"),
        ("subsample", "subsample", ""),
        ("rsm colsample_bylevel", "colsample_bylevel", ""),
        ("score_function", None, ""),
        ("random_strength", "random_strength", "The default there is 1."),
        ("leaf_estimation_iterations", "leaf_steps", "The default there is 10 for two classes."),
        ("leaf_estimation_method", None, "Newton steps, or the exact optimum where the loss has a closed form."),
        ("cat_features", "categorical_features", ""),
        ("one_hot_max_size", "one_hot_max", ""),
        ("max_ctr_complexity", "max_combination", ""),
        ("simple_ctr combinations_ctr", "category_encoding", ""),
        ("fold_permutation_block fold_len_multiplier", None, ""),
        ("nan_mode", None, "Splits learn a default direction for missing values."),
        ("monotone_constraints", "monotone_constraints", ""),
        ("class_weights", "class_weight", "A dict from class to weight."),
        ("auto_class_weights", "class_weight", "Balanced is 'balanced'."),
        ("scale_pos_weight", "class_weight", "class_weight={0: 1, 1: value}"),
        ("eval_metric custom_metric", "eval_metric", ""),
        ("early_stopping_rounds od_wait", "early_stopping_rounds", ""),
        ("od_type od_pval", None, ""),
        ("use_best_model", "early_stopping_rounds", "After early stopping the model is always that of the best round."),
        ("boost_from_average", "init", ""),
        ("task_type devices", None, "CPU only."),
        ("random_seed random_state", "random_state", ""),
        ("thread_count n_jobs", "n_jobs", "The model does not depend on it."),
        ("logging_level verbose silent", "verbose", ""),
    ),
]


def alias_of(name: str) -> Alias | None:
    """Return the parameter of another library that has this name, None if there is none."""
    key = name.lower().rstrip("_")
    return next((alias for alias in ALIASES if key in alias.names), None)
