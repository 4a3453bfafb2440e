"""scikit-learn: ``HistGradientBoosting*`` and ``GradientBoosting*``."""

from __future__ import annotations

from sapwood.params.aliases.alias import FIT, METRIC, OBJECTIVE, PARAMETER, PREDICT, Alias, read_table

PARAMETERS = """
loss | objective | the names of objectives are below
quantile | objective=Quantile({}) |
alpha | objective=Quantile({}) | with the quantile loss; the default there is 0.9, here 0.5
alpha | objective=Huber(delta) | with the Huber loss; there a quantile of the absolute residuals, here a residual
n_estimators max_iter | n_estimators |
learning_rate | learning_rate |
max_leaf_nodes | max_leaves | None is without limit in both
max_depth | max_depth | the default of GradientBoostingClassifier is 3, as with `preset="gbdt"`
min_samples_leaf | min_child_samples | the default of GradientBoostingClassifier is 1, as with `preset="gbdt"`
min_samples_split | - | leaves have a minimum of rows, nodes have not; raise `min_child_samples`
min_weight_fraction_leaf | - | leaves have a minimum sum of hessians; use `min_child_weight`
min_impurity_decrease | min_split_gain | for squared error, times half the number of rows
ccp_alpha | - | trees are not pruned after they are grown; use `min_split_gain`
criterion | - | splits maximise the gain of the objective; leave it out
l2_regularization | reg_lambda | the default there is 0
max_features | colsample_bynode | a fraction; "sqrt" is `n_features ** -0.5`
subsample | subsample |
max_bins | max_bins |
categorical_features | categorical_features | "from_dtype" is "auto"
monotonic_cst | monotone_constraints |
interaction_cst | interaction_constraints | a list of groups; "no_interactions" is `[[0], [1], ...]`
class_weight | class_weight |
init | init | "zero" is 0; an estimator predicts the initial scores
warm_start | warm_start |
early_stopping | early_stopping_rounds | True is `early_stopping_rounds=10`; here True chooses a number
n_iter_no_change | early_stopping_rounds |
validation_fraction | validation_fraction | here rows are set aside even without early stopping
scoring | eval_metric | the names of metrics are below; "loss" is None
tol | early_stopping_rounds=EarlyStopping(rounds, min_delta={}) |
random_state | random_state | unset is 0 here, None a fresh seed in both
verbose | verbose |
"""

FIT_ARGUMENTS = """
X y sample_weight | = |
X_val y_val | eval_set=(X_val, y_val) |
sample_weight_val | eval_sample_weight |
monitor | callbacks | a function of a `Progress` instead of (round, estimator, locals)
"""

PREDICT_ARGUMENTS = """
X | = |
"""

OBJECTIVES = """
squared_error ls least_squares | squared |
absolute_error lad least_absolute_deviation | absolute |
huber | objective=Huber(1.0) | with a fixed residual in place of a quantile of the residuals
quantile | objective=Quantile(0.9) | "quantile" alone means 0.9 in GradientBoostingRegressor, 0.5 (the median) here
poisson | poisson |
gamma | gamma |
log_loss deviance binary_crossentropy | logistic | for more than two classes, "softmax"
categorical_crossentropy | softmax |
exponential | exponential |
"""

METRICS = """
accuracy | accuracy |
roc_auc | auc |
average_precision | average_precision |
r2 | r2 |
neg_log_loss neg_brier_score neg_mean_squared_error neg_root_mean_squared_error neg_mean_absolute_error
    neg_mean_absolute_percentage_error neg_mean_squared_log_error neg_root_mean_squared_log_error
    neg_mean_poisson_deviance neg_mean_gamma_deviance neg_max_error neg_median_absolute_error | = | the negative
    metric, of which more is better
explained_variance | explained_variance |
balanced_accuracy | balanced_accuracy |
matthews_corrcoef | matthews |
f1 f1_macro f1_micro f1_weighted jaccard jaccard_macro jaccard_micro jaccard_weighted precision precision_macro
    precision_micro precision_weighted recall recall_macro recall_micro recall_weighted | = |
roc_auc_ovr | auc_ovr |
roc_auc_ovr_weighted | auc_ovr_weighted |
roc_auc_ovo | auc_ovo |
roc_auc_ovo_weighted | auc_ovo_weighted |
top_k_accuracy | top_k_accuracy | `"top_k_accuracy@5"` for k = 5; the default is 2 in both
d2_log_loss_score | eval_metric="log_loss" | less is better
d2_brier_score | eval_metric="brier" | less is better
d2_absolute_error_score | eval_metric="mae" | less is better
f1_samples jaccard_samples precision_samples recall_samples | - | it is of several labels per row, and a model has one
    target; use "f1_macro" or the like
positive_likelihood_ratio neg_negative_likelihood_ratio | - | there is no such metric; use a function of (y,
    prediction, weight)
adjusted_mutual_info_score adjusted_rand_score completeness_score fowlkes_mallows_score homogeneity_score
    mutual_info_score normalized_mutual_info_score rand_score v_measure_score | - | it compares clusterings; use a
    metric of predictions
"""

ALIASES: list[Alias] = [
    *read_table("scikit-learn", PARAMETER, PARAMETERS),
    *read_table("scikit-learn", FIT, FIT_ARGUMENTS),
    *read_table("scikit-learn", PREDICT, PREDICT_ARGUMENTS),
    *read_table("scikit-learn", OBJECTIVE, OBJECTIVES),
    *read_table("scikit-learn", METRIC, METRICS),
]
