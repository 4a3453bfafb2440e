"""XGBoost: parameters and their synonyms, arguments, objectives and metrics."""

from __future__ import annotations

from sapwood.params.aliases.alias import FIT, METRIC, OBJECTIVE, PARAMETER, PREDICT, Alias, read_table

PARAMETERS = """
objective | objective | the names of objectives are below
booster | boosting | "gbtree" is "plain", "dart" is "dart"; there is no "gblinear"
n_estimators num_boost_round num_round num_boost_rounds num_rounds | n_estimators |
learning_rate eta | learning_rate | the default there is 0.3, as with `preset="xgboost"`
max_depth | max_depth | 0 there is None here; the default there is 6, as with `preset="xgboost"`
max_leaves | max_leaves | 0 there is None here
grow_policy | growth | "depthwise" is "levelwise", "lossguide" is "leafwise"
tree_method | split_search | "hist" and "approx" are "histogram", "exact" is "exact"
max_bin | max_bins | the default there is 256
min_child_weight | min_child_weight |
gamma min_split_loss | min_split_gain | use half of the value, because gains include the factor ½ here
reg_lambda lambda | reg_lambda |
reg_alpha alpha | reg_alpha |
max_delta_step | max_delta_step | the default with "count:poisson" is 0.7 there, 0 here
subsample | subsample |
sampling_method | sampling | "uniform" is "uniform", "gradient_based" is "mvs"
colsample_bytree | colsample_bytree |
colsample_bylevel | colsample_bylevel |
colsample_bynode | colsample_bynode |
feature_weights | feature_weights |
num_parallel_tree | parallel_trees | the trees of a round are averaged, as there; `boosting="forest"` is a forest
    without boosting
multi_strategy | objective=Softmax(vector_leaves=True) | for "multi_output_tree"; "one_output_per_tree" is the default
rate_drop | boosting=Dart(drop={}) | the default there is 0, here 0.1
skip_drop | boosting=Dart(skip={}) | the default there is 0, here 0.5
one_drop | - | no round is dropped for certain; raise `Dart(drop=...)`
sample_type | boosting=Dart(weighted=True) | for "weighted"; "uniform" is `weighted=False`
normalize_type | boosting=Dart(normalise={}) |
quantile_alpha | objective=Quantile({}) |
expectile_alpha | objective=Expectile({}) |
huber_slope | objective=Huber({}) | the Huber loss, not the pseudo-Huber loss
tweedie_variance_power | objective=Tweedie({}) |
aft_loss_distribution aft_loss_distribution_scale | - | there is no survival objective; leave it out
lambdarank_pair_method lambdarank_num_pair_per_sample lambdarank_normalization lambdarank_score_normalization
    lambdarank_unbiased lambdarank_bias_norm ndcg_exp_gain | - | there is no ranking objective; leave it out
scale_pos_weight | class_weight={0: 1, 1: {}} | with the labels of your classes
num_class num_target num_feature use_label_encoder | - | the columns and classes are those of X and y; leave it out, or
    name all classes in `classes`
base_score | init | a prediction there, a score here: with log loss, `log(p / (1 - p))`
boost_from_average | init | True is `init=None`, False is `init=0`
enable_categorical | categorical_features | columns of strings and categories are always recognised; name columns of
    integers
feature_types | categorical_features | the columns of type "c"
max_cat_to_onehot | one_hot_max | one less: columns with fewer categories than the value are one-hot there
max_cat_threshold | category_encoding=Partition(max_levels={}) |
monotone_constraints | monotone_constraints | a list or a dict; "(1,-1)" is `[1, -1]`
interaction_constraints | interaction_constraints | a list; "[[0, 1]]" is `[[0, 1]]`
missing | zero_as_missing | `missing=0` is `zero_as_missing=True`; replace other values by NaN
default_direction | - | each split learns the direction of missing values; impute them
eval_metric | eval_metric | the names of metrics are below; in a list the first decides early stopping here, the last
    there
disable_default_eval_metric | - | metrics are evaluated only if there are validation rows; leave it out
early_stopping_rounds | early_stopping_rounds |
callbacks | callbacks | `EarlyStopping(n)` is `early_stopping_rounds=n`, `LearningRateScheduler(f)` is
    `learning_rate=f`; a callback is a function of a `Progress` here
random_state seed | random_state |
seed_per_iteration | - | random numbers always differ by round; leave it out
n_jobs nthread | n_jobs | 0 there is None here; the model does not depend on it
verbosity verbose_eval silent | verbose | `verbosity` of 0 and 1 is 0 here; `verbose_eval=n` is `verbose=n`
importance_type | importance(kind) | the kinds have the same names; the default there is "gain"
device gpu_id predictor fail_on_invalid_gpu_id use_rmm | - | training uses the CPU only; leave it out
coll_cfg | - | workers use the connections of Dask; leave it out
allow_group_split | - | there is no ranking objective; leave it out
validate_parameters | - | parameters are always checked; leave it out
process_type refresh_leaf | refit_leaves(X, y) | `process_type="update"` with `updater="refresh"`; gains and counts stay
    those of the training
updater | - | trees are grown and pruned in one pass; leave it out
sketch_eps | max_bins | about 1 / sketch_eps
single_precision_histogram | precision="packed" |
sparse_threshold opt_dense_col | - | sparse columns are recognised from the data; leave it out
max_cached_hist_node debug_synchronize | - | histograms of all leaves are kept; leave it out
feature_selector top_k tolerance max_row_perbatch | - | there is no linear booster; use scikit-learn's linear models, or
    `leaf_model="linear"` for linear leaves
"""

FIT_ARGUMENTS = """
X y sample_weight eval_set | = |
base_margin | init_score | predictions do not add it: add it to `predict_raw(X)`
base_margin_eval_set | eval_set=[(X, y, init_score)] |
sample_weight_eval_set | eval_sample_weight |
xgb_model | init_model |
verbose verbose_eval | verbose |
eval_metric | eval_metric |
early_stopping_rounds | early_stopping_rounds |
callbacks | callbacks | `LearningRateScheduler(f)` is `learning_rate=f`; a callback is a function of a `Progress` here
feature_weights | feature_weights | an argument of the constructor
group qid eval_group eval_qid | - | there is no ranking objective; `groups` keeps rows together in validation
dtrain | X, y |
evals | eval_set={name: (X, y)} |
num_boost_round | n_estimators |
obj | objective | a function of (y, score), or `GradientLoss`
custom_metric feval | eval_metric | a function of (y, prediction, weight) that returns a number
maximize | - | a metric knows whether more is better; set `greater_is_better = True` on your function
evals_result | evals_result_ | a fitted attribute
params | - | parameters belong to the estimator; pass them to its constructor
"""

PREDICT_ARGUMENTS = """
X | = |
data | X |
output_margin | predict_raw(X) |
iteration_range | iterations=n | `(0, n)` is `iterations=n`; for `(m, n)` slice the model, `model_[m:n]`
ntree_limit | iterations={} |
pred_leaf | apply(X) | in a `Model`, `leaf_indices(X)`; leaves have the numbers of their nodes
pred_contribs approx_contribs | shap_values(X) | base values, the last column there, are those of `explain(X)`
pred_interactions | shap_interaction_values(X) | without the last row and column
base_margin | - | predictions have no offset; add it to `predict_raw(X)`
validate_features | - | columns are always checked, and found by name in data frames; leave it out
training | - | rounds are dropped in training only; leave it out
strict_shape | - | the shape is (rows,) for one output, else (rows, outputs); leave it out
"""

OBJECTIVES = """
reg:squarederror reg:linear | squared |
reg:absoluteerror | absolute |
reg:squaredlogerror | objective="msle" | the same loss, with the score on the scale of log(1 + y)
reg:pseudohubererror | objective=Huber({1.0}) | the Huber loss, not the pseudo-Huber loss
reg:quantileerror | objective=Quantile(0.9) | with your value of `quantile_alpha`
reg:expectileerror | objective=Expectile(0.9) | with your value of `expectile_alpha`
reg:logistic | cross_entropy |
reg:gamma | gamma |
reg:tweedie | tweedie |
count:poisson | poisson |
binary:logistic | logistic |
binary:logitraw | objective="logistic" | `predict_raw(X)` returns the scores
binary:hinge | hinge |
multi:softprob multi:softmax | softmax |
rank:ndcg rank:map rank:pairwise | - | there is no ranking objective; use "logistic" or "squared" on the relevance
survival:aft survival:cox | - | there is no survival objective; use "gamma" on uncensored durations
"""

METRICS = """
rmse | rmse |
mae | mae |
mape | mape |
rmsle | rmsle |
mphe | pseudo_huber |
quantile | eval_metric="quantile@0.9" | with your value of `quantile_alpha`
expectile | eval_metric="expectile@0.9" | with your value of `expectile_alpha`
logloss mlogloss | log_loss |
error merror | error |
auc | auc |
aucpr | average_precision | the mean of precisions, not the interpolated area
poisson-nloglik | eval_metric="poisson_deviance" | twice the negative log-likelihood, up to a constant
gamma-nloglik | eval_metric="gamma_deviance" | twice the negative log-likelihood, up to a constant
tweedie-nloglik | eval_metric="tweedie_deviance@{1.5}" | twice the negative log-likelihood, up to a constant
gamma-deviance | gamma_deviance |
ndcg ndcg- map map- pre | - | there are no ranking metrics; use a function of (y, prediction, weight)
cox-nloglik aft-nloglik interval-regression-accuracy | - | there are no survival metrics; use a function of (y,
    prediction, weight)
ams | - | there is no such metric; use a function of (y, prediction, weight)
"""

ALIASES: list[Alias] = [
    *read_table("XGBoost", PARAMETER, PARAMETERS),
    *read_table("XGBoost", FIT, FIT_ARGUMENTS),
    *read_table("XGBoost", PREDICT, PREDICT_ARGUMENTS),
    *read_table("XGBoost", OBJECTIVE, OBJECTIVES),
    *read_table("XGBoost", METRIC, METRICS),
]
