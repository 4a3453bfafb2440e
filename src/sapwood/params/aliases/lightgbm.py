"""LightGBM: parameters and their synonyms, arguments, objectives and metrics."""

from __future__ import annotations

from sapwood.params.aliases.alias import FIT, METRIC, OBJECTIVE, PARAMETER, PREDICT, Alias, read_table

PARAMETERS = """
objective objective_type app application loss | objective | the names of objectives are below
boosting boosting_type boost | boosting | "gbdt" is "plain", "rf" is "forest", "dart" is "dart"; for "goss" use
    `sampling="goss"`
data_sample_strategy | sampling | "goss" is "goss"; "bagging" is `subsample` below 1
n_estimators num_iterations num_iteration n_iter num_tree num_trees num_round num_rounds nrounds num_boost_round
    max_iter | n_estimators |
learning_rate shrinkage_rate eta | learning_rate |
num_leaves num_leaf max_leaves max_leaf max_leaf_nodes | max_leaves |
max_depth | max_depth | -1 there is None here
min_data_in_leaf min_data_per_leaf min_data min_child_samples min_samples_leaf | min_child_samples | rows are counted
    here and estimated from hessians there, so that small leaves may differ
min_sum_hessian_in_leaf min_sum_hessian_per_leaf min_sum_hessian min_hessian min_child_weight | min_child_weight |
min_gain_to_split min_split_gain | min_split_gain | use half of the value, because gains include the factor ½ here
lambda_l2 reg_lambda lambda l2_regularization | reg_lambda | the default there is 0, as with `preset="lightgbm"`
lambda_l1 reg_alpha l1_regularization | reg_alpha |
max_delta_step max_tree_output max_leaf_output | max_delta_step |
bagging_fraction sub_row subsample bagging | subsample | there it has no effect without `bagging_freq`; here rows are
    drawn again in every round
bagging_freq subsample_freq | - | rows are drawn again in every round; set `subsample` alone
pos_bagging_fraction pos_sub_row pos_subsample pos_bagging neg_bagging_fraction neg_sub_row neg_subsample neg_bagging |
    - | rows of both classes are drawn with the same probability; use `class_weight`
bagging_by_query | sampling=Uniform(by="groups") | with `fit(groups=...)`
top_rate | sampling=Goss(top={}) |
other_rate | sampling=Goss(other={}) |
feature_fraction sub_feature colsample_bytree | colsample_bytree |
feature_fraction_bynode sub_feature_bynode colsample_bynode | colsample_bynode |
extra_trees extra_tree | split_search="random" | thresholds are drawn between the first and last bin of the leaf
path_smooth | - | leaf values are not smoothed towards those of the parent; raise `reg_lambda` or `min_child_samples`
linear_tree linear_trees | leaf_model="linear" |
linear_lambda | leaf_model=Linear({}) | the penalty is per standard deviation of the feature here
drop_rate rate_drop | boosting=Dart(drop={}) |
skip_drop | boosting=Dart(skip={}) |
max_drop | boosting=Dart(max_drop={}) |
uniform_drop | boosting=Dart(weighted=False) | False, the default there, is `Dart(weighted=True)`
xgboost_dart_mode | boosting=Dart(normalise="tree") |
alpha | objective=Quantile({}) | with the quantile loss; the default there is 0.9, here 0.5
alpha | objective=Huber({}) | with the Huber loss; the default there is 0.9, here 1
tweedie_variance_power | objective=Tweedie({}) |
poisson_max_delta_step | - | the hessian of the Poisson loss is exact; `max_delta_step` limits leaf values
fair_c | - | there is no Fair loss; use `objective=Huber(delta)` or `objective="log_cosh"`
reg_sqrt | - | targets are not transformed; use `sklearn.compose.TransformedTargetRegressor`
sigmoid | - | scores are log-odds, as with `sigmoid=1`; leave it out
num_class num_classes | - | the classes are those in y, or those that `classes` names; leave it out
is_unbalance unbalance unbalanced_sets | class_weight="balanced" |
scale_pos_weight | class_weight={0: 1, 1: {}} | with the labels of your classes
class_weight | class_weight |
boost_from_average | init | True is `init=None`, False is `init=0`
lambdarank_truncation_level lambdarank_norm lambdarank_position_bias_regularization label_gain | - | there is no ranking
    objective; leave it out
monotone_constraints mc monotone_constraint monotonic_cst | monotone_constraints |
monotone_constraints_method monotone_constraining_method mc_method | - | there is one method, bounds at the midpoint of
    the values of the children; leave it out
monotone_penalty monotone_splits_penalty ms_penalty mc_penalty | - | splits on constrained features are not penalised;
    leave it out
interaction_constraints | interaction_constraints |
feature_contri feature_contrib fc fp feature_penalty | - | gains are not weighted by feature; remove columns from X, or
    use `interaction_constraints`
cegb_tradeoff cegb_penalty_split cegb_penalty_feature_lazy cegb_penalty_feature_coupled | - | features have no costs;
    remove expensive columns from X, or raise `min_split_gain`
forcedsplits_filename fs forced_splits_filename forced_splits_file forced_splits | - | splits cannot be prescribed;
    train a model for each part of the rows
refit_decay_rate | refit_leaves(X, y, decay_rate={}) |
categorical_feature cat_feature categorical_column cat_column categorical_features | categorical_features | "name:a,b"
    is `["a", "b"]`
max_cat_to_onehot | one_hot_max | `Partition(max_single=...)` limits the splits of one category against the others
max_cat_threshold | category_encoding=Partition(max_levels={}) |
cat_l2 | category_encoding=Partition(penalty={}) |
cat_smooth | category_encoding=Partition(smoothing={}) |
min_data_per_group | category_encoding=Partition(min_group_rows={}) |
max_bin max_bins | max_bins |
max_bin_by_feature | max_bins | a list with one for each column, or a dict by column
min_data_in_bin | - | columns with few values have a bin for each, others bins of about equal numbers of rows; lower
    `max_bins`
bin_construct_sample_cnt subsample_for_bin | - | bin edges always come from up to 200,000 rows, the default there; leave
    it out
forcedbins_filename | - | bin edges cannot be prescribed; round the columns
use_missing | - | missing values are always handled, by the direction that each split learns; impute them if they are
    not to count
zero_as_missing | zero_as_missing |
is_enable_sparse is_sparse enable_sparse sparse | - | sparse columns are always recognised; leave it out
enable_bundle is_enable_bundle bundle | bundle | the model is the same with and without bundles
max_conflict_rate | bundle=Bundle({}) |
feature_pre_filter | - | features that cannot be split are skipped in each fit; leave it out
use_quantized_grad | precision="packed" |
num_grad_quant_bins stochastic_rounding quant_train_renew_leaf | - | `precision="packed"` chooses its scale, rounds
    stochastically and fits leaf values to the unrounded gradients; leave it out
metric metrics metric_types | eval_metric | the names of metrics are below
early_stopping_round early_stopping_rounds early_stopping n_iter_no_change | early_stopping_rounds | 0 there is None
    here
early_stopping_min_delta | early_stopping_rounds=EarlyStopping(rounds, min_delta={}) |
first_metric_only | - | the first metric always decides; `EarlyStopping(rounds, metric=...)` chooses another
metric_freq output_freq | - | metrics are evaluated in every round; leave it out
is_provide_training_metric training_metric is_training_metric train_metric | fit(eval_set={"train": (X, y), ...}) |
multi_error_top_k | eval_metric="top_k_accuracy@{}" | 1 - the error
auc_mu_weights | - | the metric "auc_mu" has equal weights for all pairs of classes; use a function as `eval_metric`
eval_at ndcg_eval_at ndcg_at map_eval_at map_at | - | there are no ranking metrics; leave it out
seed random_seed random_state | random_state | unset is 0 here
bagging_seed bagging_fraction_seed feature_fraction_seed extra_seed drop_seed data_random_seed data_seed objective_seed
    | random_state | one seed serves all random numbers
num_threads num_thread nthread nthreads n_jobs | n_jobs | 0 there is None here; the model does not depend on it
verbosity verbose | verbose | -1 and 0 there are 0 here; n is a line of metrics every n rounds
importance_type saved_feature_importance_type | importance(kind) | "split" is "weight", "gain" is "total_gain"
deterministic | - | fits are always deterministic; leave it out
force_col_wise force_row_wise | - | the layout of histograms is chosen from the data, and the model does not depend on
    it; leave it out
histogram_pool_size hist_pool_size | - | the memory for histograms is not limited; lower `max_leaves` or `max_bins`
device_type device gpu_platform_id gpu_device_id gpu_device_id_list gpu_use_dp num_gpu | - | training uses the CPU only;
    leave it out
tree_learner tree tree_type tree_learner_type top_k topk | - | several workers train by `sapwood.dask` or
    `sapwood.distributed.fit`; use the argument `by` of the latter
num_machines num_machine machines workers nodes machine_list_filename machine_list_file machine_list mlist
    local_listen_port local_port port time_out pre_partition is_pre_partition | - | Sapwood opens no connections:
    `sapwood.dask` uses those of Dask, `sapwood.distributed.fit` a `Communicator`; leave it out
input_model model_input model_in | fit(init_model={}) |
output_model model_output model_out | save({}) |
snapshot_freq save_period | checkpoint_every | with `checkpoint=path`; in seconds
data train train_data train_data_file data_filename label_column label | fit(X, y) |
valid test valid_data valid_data_file test_data test_data_file valid_filenames | fit(eval_set=[(X, y)]) |
weight_column weight | fit(sample_weight={}) |
group_column group group_id query_column query query_id | - | there is no ranking objective; `fit(groups=...)` keeps
    groups of rows together in validation
ignore_column ignore_feature blacklist | - | all columns of X are features; remove the others
task task_type config config_file | - | there is no command line; call `fit` or `predict`
header has_header two_round two_round_loading use_two_round_loading save_binary is_save_binary is_save_binary_file
    precise_float_parser parser_config_file | - | X is a table in memory; read files with pandas, polars or pyarrow
predict_raw_score is_predict_raw_score predict_rawscore raw_score | predict_raw(X) |
predict_leaf_index is_predict_leaf_index leaf_index | apply(X) |
predict_contrib is_predict_contrib contrib | shap_values(X) |
num_iteration_predict | predict(X, iterations={}) |
start_iteration_predict | model_[{}:] |
pred_early_stop pred_early_stop_freq pred_early_stop_margin | - | predictions use all rounds; pass `iterations` to
    `predict`
predict_disable_shape_check | - | the columns of X must be those of training; add the missing ones as NaN
output_result predict_result prediction_result predict_name prediction_name pred_name name_pred | predict(X) |
convert_model convert_model_file convert_model_language | - | models are not converted to source code; use `save(path)`
"""

FIT_ARGUMENTS = """
X y sample_weight eval_set eval_sample_weight init_model | = |
init_score | = | predictions do not add it, here as there
eval_names valid_names | eval_set={name: (X, y)} |
eval_X eval_y valid_sets | eval_set=[(X, y)] |
eval_init_score | eval_set=[(X, y, init_score)] |
eval_class_weight | - | class weights do not apply to validation; pass `eval_sample_weight`
eval_metric | eval_metric |
feval | eval_metric | a function of (y, prediction) or (y, prediction, weight) that returns a number or (name, number,
    greater is better)
feature_name | - | names are those of the columns of X; pass a data frame
categorical_feature | categorical_features |
callbacks | callbacks | `lightgbm.early_stopping(n)` is `early_stopping_rounds=n`, `log_evaluation(n)` is `verbose=n`,
    `record_evaluation` is `evals_result_`, `reset_parameter(learning_rate=f)` is `learning_rate=f`; a callback is a
    function of a `Progress` here
group eval_group eval_at position | - | there is no ranking objective; `groups` keeps rows together in validation
train_set | X, y |
keep_training_booster | - | a model can always be continued; pass it as `init_model`
num_boost_round | n_estimators |
params | - | parameters belong to the estimator; pass them to its constructor
"""

PREDICT_ARGUMENTS = """
X | = |
data | X |
raw_score predict_raw_score is_predict_raw_score predict_rawscore | predict_raw(X) |
num_iteration num_iteration_predict | iterations={} | None and -1 there are the best round or all, as None here
start_iteration start_iteration_predict | model_[{}:] | its `predict` still adds the initial score
pred_leaf predict_leaf_index is_predict_leaf_index leaf_index | apply(X) | in a `Model`, `leaf_indices(X)`; leaves have
    the numbers of their nodes
pred_contrib predict_contrib is_predict_contrib contrib | shap_values(X) | base values, the last column there, are those
    of `explain(X)`
validate_features predict_disable_shape_check | - | columns are always checked, and found by name in data frames; leave
    it out
data_has_header | - | X is a table in memory; leave it out
pred_early_stop pred_early_stop_freq pred_early_stop_margin | - | predictions use all rounds; pass `iterations`
num_threads num_thread nthread nthreads n_jobs | n_jobs |
"""

OBJECTIVES = """
regression regression_l2 l2 mean_squared_error mse l2_root root_mean_squared_error rmse | squared |
regression_l1 l1 mean_absolute_error mae | absolute |
huber | objective=Huber(0.9) | "huber" alone means 0.9 there, 1 here
quantile | objective=Quantile(0.9) | "quantile" alone means 0.9 there, 0.5 (the median) here
mape mean_absolute_percentage_error | mape | absolute targets below 1 count as 1 there
poisson | poisson |
gamma | gamma |
tweedie | tweedie |
fair | - | there is no Fair loss; use `Huber(delta)` or "log_cosh"
binary | logistic |
multiclass softmax | softmax |
multiclassova multiclass_ova ova ovr | one_vs_all |
cross_entropy xentropy | cross_entropy |
cross_entropy_lambda xentlambda | - | there is no such parametrisation; use "cross_entropy"
lambdarank rank_xendcg xendcg xe_ndcg xe_ndcg_mart xendcg_mart | - | there is no ranking objective; use "logistic" or
    "squared" on the relevance
custom none null na | - | the loss itself is passed; use a function of (y, score) or `GradientLoss`
"""

METRICS = """
l1 mean_absolute_error mae regression_l1 | mae |
l2 mean_squared_error mse regression_l2 regression | mse |
rmse root_mean_squared_error l2_root | rmse |
r2 | r2 |
quantile | eval_metric="quantile@0.9" | "quantile" alone means 0.9 there, 0.5 here
mape mean_absolute_percentage_error | mape | absolute targets below 1 count as 1 there
huber | eval_metric="huber@0.9" | "huber" alone means 0.9 there, 1 here
fair | - | there is no such metric; leave `eval_metric` unset for the mean of the loss itself
poisson | poisson_deviance | the negative log-likelihood there: half of the deviance and a constant
gamma | gamma_deviance | the negative log-likelihood there: half of the deviance and a constant
gamma_deviance | gamma_deviance | the mean over rows here, the sum there
tweedie | tweedie_deviance | the negative log-likelihood there: half of the deviance and a constant
auc | auc |
average_precision | average_precision |
binary_logloss binary | log_loss |
binary_error | error |
multi_logloss multiclass softmax multiclassova multiclass_ova ova ovr | log_loss |
multi_error | error |
auc_mu | eval_metric="auc_mu" | of probabilities here, of scores there
cross_entropy xentropy | cross_entropy |
cross_entropy_lambda xentlambda | - | there is no such parametrisation; use "cross_entropy"
kullback_leibler kldiv | eval_metric="cross_entropy" | they differ by the entropy of the targets, a constant
ndcg lambdarank rank_xendcg xendcg xe_ndcg xe_ndcg_mart xendcg_mart map mean_average_precision | - | there are no
    ranking metrics; use a function of (y, prediction, weight)
none null custom na | - | metrics are evaluated only if there are validation rows; leave `eval_set` out
"""

ALIASES: list[Alias] = [
    *read_table("LightGBM", PARAMETER, PARAMETERS),
    *read_table("LightGBM", FIT, FIT_ARGUMENTS),
    *read_table("LightGBM", PREDICT, PREDICT_ARGUMENTS),
    *read_table("LightGBM", OBJECTIVE, OBJECTIVES),
    *read_table("LightGBM", METRIC, METRICS),
]
