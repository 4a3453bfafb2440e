"""CatBoost: parameters and their synonyms, arguments, objectives and metrics."""

from __future__ import annotations

from sapwood.params.aliases.alias import FIT, METRIC, OBJECTIVE, PARAMETER, PREDICT, Alias, read_table

PARAMETERS = """
loss_function objective | objective | the names of objectives are below
iterations num_boost_round n_estimators num_trees | n_estimators | the default there is 1000, as with
    `preset="catboost"`
learning_rate eta | learning_rate | the default there depends on the data, as with `preset="catboost"`
depth max_depth | max_depth | the default there is 6, as with `preset="catboost"`
max_leaves num_leaves | max_leaves |
grow_policy | growth | "SymmetricTree" is "symmetric", "Depthwise" is "levelwise", "Lossguide" is "leafwise"
min_data_in_leaf min_child_samples | min_child_samples | the default there is 1
l2_leaf_reg reg_lambda | reg_lambda | the default there is 3; there it is multiplied by the mean sample weight
random_strength | random_strength | the default there is 1
random_score_type | - | the noise of `random_strength` is normal; leave it out
score_function | growth=Symmetric(score) | "Cosine" is `Symmetric("cosine")`, "L2" is `Symmetric("l2")`
leaf_estimation_iterations | leaf_steps |
leaf_estimation_method | - | leaves take Newton steps, or the exact optimum where the loss has one; use `leaf_steps`
leaf_estimation_backtracking | - | Newton steps are not shortened; use `max_delta_step`
boosting_type | boosting | "Plain" is "plain", "Ordered" is "ordered"
boost_from_average | init | True is `init=None`, False is `init=0`
model_shrink_rate model_shrink_mode | - | earlier rounds are not shrunk; raise `reg_lambda`
langevin diffusion_temperature posterior_sampling | - | gradients have no noise; use `random_strength` or `subsample`
approx_on_full_history fold_permutation_block fold_len_multiplier | - | ordered boosting chooses its permutations and
    prefixes itself; leave it out
bootstrap_type | sampling | "Bernoulli" is "uniform", "Bayesian" is "bayesian", "MVS" is "mvs", "No" is "none",
    "Poisson" is `Uniform(replacement=True)`
bagging_temperature | sampling=Bayesian({}) |
subsample | subsample |
mvs_reg | sampling=Mvs(smoothing) | in units of Σg²/Σh² here
sampling_unit | sampling=Uniform(by="groups") | for "Group", with `fit(groups=...)`; "Object" is the default
sampling_frequency | - | rows are drawn once per round, as with "PerTree"; leave it out
rsm colsample_bylevel | colsample_bylevel |
border_count max_bin | max_bins | one more: 254 borders divide 255 bins
feature_border_type per_float_feature_quantization | - | bins have about equal numbers of rows, in all features alike;
    use `max_bins`
input_borders output_borders | - | bin edges are not read from files; a `sapwood.Dataset` keeps its bins for several
    fits
nan_mode | - | each split learns the direction of missing values; impute them
cat_features | categorical_features |
one_hot_max_size | one_hot_max |
max_ctr_complexity | max_combination | tree_combinations=True also grows combinations inside trees
has_time | has_time |
simple_ctr combinations_ctr per_feature_ctr ctr_description ctr_target_border_count target_border_count |
    category_encoding | `Ordered(priors=..., permutations=...)` and others; a dict sets them by column
counter_calc_method final_ctr_computation_mode ctr_leaf_count_limit store_all_simple_ctr ctr_history_unit model_size_reg
    | - | statistics of categories come from the training rows and are all kept; choose others by `category_encoding`
monotone_constraints | monotone_constraints | a list or a dict
feature_weights penalties_coefficient first_feature_use_penalties per_object_feature_penalties | - | gains are not
    weighted by feature; remove columns from X, or use `interaction_constraints`
fixed_binary_splits | - | splits cannot be prescribed; train a model for each part of the rows
ignored_features | - | all columns of X are features; remove the others
text_features tokenizers dictionaries feature_calcers text_processing | - | texts are categories, not words; encode them
    by `TfidfVectorizer` (sparse tables are accepted)
embedding_features | - | columns hold one value per row; pass each component as a column
class_weights | class_weight | a dict from class to weight
auto_class_weights | class_weight="balanced" | there is no "SqrtBalanced"; "effective" too lies between "balanced" and
    None
scale_pos_weight | class_weight={0: 1, 1: {}} | with the labels of your classes
class_names | classes | in sorted order, whatever the order of the list
classes_count | - | the classes are those in y, or those that `classes` names; leave it out
target_border | - | a number is not made a class; pass `y > border`
allow_const_label | - | a constant number is accepted, a single class is not; leave it out
eval_metric custom_metric custom_loss | eval_metric | a list; the first metric decides early stopping
early_stopping_rounds od_wait | early_stopping_rounds |
od_type od_pval | - | early stopping counts rounds without improvement, as with "Iter"; use `early_stopping_rounds`
use_best_model | early_stopping_rounds | after early stopping the model is that of the best round
best_model_min_trees | - | the best round may be any; use `n_estimators` without early stopping
eval_fraction | validation_fraction |
metric_period | - | metrics are evaluated in every round; leave it out
callback callbacks | callbacks | a callback is a function of a `Progress` here
random_seed random_state | random_state |
thread_count n_jobs | n_jobs | the model does not depend on it
verbose verbose_eval logging_level silent | verbose | "Silent" and `silent=True` are 0; n is a line every n rounds
save_snapshot snapshot_file | checkpoint | the path of a file
snapshot_interval | checkpoint_every | in seconds in both
sparse_features_conflict_fraction | bundle=Bundle({}) |
name train_dir allow_writing_files metadata | - | training writes no files but `checkpoint`; leave it out
used_ram_limit | - | memory is checked against what is free; lower `max_bins` or `max_leaves`
dev_score_calc_obj_block_size dev_efb_max_buckets | - | they only serve CatBoost's developers; leave it out
task_type devices device_config gpu_ram_part gpu_cat_features_storage pinned_memory_size data_partition | - | training
    uses the CPU only; leave it out
"""

FIT_ARGUMENTS = """
X y sample_weight eval_set init_model | = |
baseline | init_score | predictions do not add it: add it to `predict_raw(X)`
cat_features | categorical_features |
text_features embedding_features | - | columns hold numbers or categories; encode texts and embeddings as numeric
    columns
use_best_model | early_stopping_rounds | after early stopping the model is that of the best round
early_stopping_rounds | early_stopping_rounds |
verbose verbose_eval logging_level silent | verbose |
metric_period | verbose | metrics are evaluated in every round, and shown every `verbose` rounds
plot plot_file | - | nothing is plotted; `evals_result_` has the values of each round
save_snapshot snapshot_file | checkpoint | the path of a file
snapshot_interval | checkpoint_every | in seconds in both
callbacks | callbacks | a callback is a function of a `Progress` here
log_cout log_cerr | - | progress goes to standard error; use `callbacks`
column_description | - | X and y are given as they are; use `categorical_features` for the types of columns
group_id subgroup_id group_weight pairs pairs_weight graph | - | there is no ranking objective; `groups` keeps rows
    together in validation
pool dtrain | X, y |
evals | eval_set={name: (X, y)} |
iterations num_boost_round | n_estimators |
params | - | parameters belong to the estimator; pass them to its constructor
"""

PREDICT_ARGUMENTS = """
X | = |
data | X |
prediction_type | predict_raw(X) | for "RawFormulaVal"; "Class" is `predict(X)`, "Probability" `predict_proba(X)`,
    "LogProbability" `np.log(predict_proba(X))`
ntree_end | iterations={} | 0 there is None here
ntree_start | model_[{}:] | its `predict` still adds the initial score
thread_count | n_jobs |
verbose | - | predictions print nothing; leave it out
task_type | - | predictions use the CPU only; leave it out
"""

OBJECTIVES = """
RMSE | squared |
MAE | absolute |
Quantile | quantile |
Quantile:alpha | objective=Quantile({}) |
MultiQuantile:alpha MultiQuantile | objective=Quantile([{}]) |
Expectile:alpha Expectile | objective=Expectile({}) |
Huber:delta Huber | objective=Huber({}) |
LogCosh | log_cosh |
MAPE | mape | absolute targets below 1 count as 1 there
Poisson | poisson |
Tweedie:variance_power Tweedie | objective=Tweedie({}) |
Logloss | logistic |
CrossEntropy | cross_entropy |
Focal:focal_gamma Focal:focal_alpha Focal | objective=Focal(gamma=2, alpha=None) | with your values of `focal_gamma` and
    `focal_alpha`
MultiClass | softmax |
MultiClassOneVsAll | one_vs_all |
Lq Lq:q LogLinQuantile LogLinQuantile:alpha RMSEWithUncertainty | - | there is no such loss; use a function of (y,
    score)
Cox SurvivalAft | - | there is no survival objective; use "gamma" on uncensored durations
MultiRMSE MultiRMSEWithMissingValues MultiLogloss MultiCrossEntropy PythonUserDefinedMultiTarget | - | a model has one
    target; use `MultiOutputRegressor` or `MultiOutputClassifier` of scikit-learn
YetiRank YetiRankPairwise PairLogit PairLogitPairwise LambdaMart StochasticRank StochasticFilter QueryRMSE QuerySoftMax
    QueryCrossEntropy GroupQuantile | - | there is no ranking objective; use "logistic" or "squared" on the relevance
PythonUserDefinedPerObject UserPerObjMetric UserQuerywiseMetric | - | the loss itself is passed; use a function of (y,
    score) or `GradientLoss`
CtrFactor MSLE MedianAbsoluteError SMAPE RMSPE R2 NumErrors FairLoss AUC Accuracy BalancedAccuracy BalancedErrorRate
    BrierScore Precision Recall F1 TotalF1 F MCC ZeroOneLoss HammingLoss HingeLoss Kappa WKappa
    LogLikelihoodOfPrediction NormalizedGini PRAUC PairAccuracy AverageGain QueryAverage QueryAUC PFound PrecisionAt
    RecallAt MAP NDCG DCG FilteredDCG MRR ERR Combination | - | it is a metric of CatBoost; use an objective, and
    `eval_metric` for metrics
"""

METRICS = """
RMSE | rmse |
MAE | mae |
MAPE | mape | absolute targets below 1 count as 1 there
MSLE | msle |
R2 | r2 |
Quantile | quantile |
Quantile:alpha MultiQuantile MultiQuantile:alpha | eval_metric="quantile@{}" |
Poisson | poisson_deviance | the negative log-likelihood there: half of the deviance and a constant
Tweedie | tweedie_deviance | the negative log-likelihood there: half of the deviance and a constant
Tweedie:variance_power | eval_metric="tweedie_deviance@{}" | twice the negative log-likelihood, up to a constant
Logloss MultiClass | log_loss |
CrossEntropy | cross_entropy |
AUC | auc |
PRAUC | eval_metric="average_precision" | the mean of precisions, not the area by trapezoids
Accuracy | accuracy |
ZeroOneLoss | error |
BrierScore | brier |
NormalizedGini | eval_metric="auc" | it is 2 AUC - 1
MultiClassOneVsAll | eval_metric="log_loss" | of the normalised probabilities
HingeLoss | eval_metric="hinge" | of 2 p - 1 instead of the score
Expectile | eval_metric="expectile@{}" |
Expectile:alpha | eval_metric="expectile@{}" |
Huber Huber:delta | eval_metric="huber@{}" |
LogCosh Lq LogLinQuantile FairLoss RMSEWithUncertainty Focal | - | there is no such metric; leave `eval_metric` unset
    for the mean of the loss itself
F1 | f1 |
F F:beta | eval_metric="fbeta@{}" |
TotalF1 | f1_weighted |
Precision | precision |
Recall | recall |
MCC | matthews |
Kappa | kappa |
WKappa | kappa_quadratic |
BalancedAccuracy | balanced_accuracy |
BalancedErrorRate | eval_metric="balanced_accuracy" | 1 - the error
HammingLoss | error |
SMAPE | eval_metric="smape" | in percent there
MedianAbsoluteError | medae |
LogLikelihoodOfPrediction | eval_metric="neg_log_loss" |
AUCMulticlass | eval_metric="auc_ovr" | or "auc_mu"
RMSPE NumErrors CtrFactor PRAUCMulticlass NormalizedGiniMulticlass Combination | - | there is no such metric; use a
    function of (y, prediction, weight)
MultiRMSE MultiRMSEWithMissingValues MultiLogloss MultiCrossEntropy | - | a model has one target; use
    `MultiOutputRegressor` or `MultiOutputClassifier` of scikit-learn
Cox SurvivalAft | - | there are no survival metrics; use a function of (y, prediction, weight)
NDCG DCG FilteredDCG MAP MRR ERR PFound PrecisionAt RecallAt QueryAUC QueryAUCMulticlass QueryAverage QueryRMSE
    QuerySoftMax QueryCrossEntropy GroupQuantile PairAccuracy PairLogit PairLogitPairwise AverageGain YetiRank
    YetiRankPairwise LambdaMart StochasticRank StochasticFilter | - | there are no ranking metrics; use a function of
    (y, prediction, weight)
UserPerObjMetric UserQuerywiseMetric PythonUserDefinedPerObject PythonUserDefinedMultiTarget | - | the metric itself is
    passed; use a function of (y, prediction, weight)
"""

ALIASES: list[Alias] = [
    *read_table("CatBoost", PARAMETER, PARAMETERS),
    *read_table("CatBoost", FIT, FIT_ARGUMENTS),
    *read_table("CatBoost", PREDICT, PREDICT_ARGUMENTS),
    *read_table("CatBoost", OBJECTIVE, OBJECTIVES),
    *read_table("CatBoost", METRIC, METRICS),
]
