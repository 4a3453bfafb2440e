// The sections of the report; each returns an element, or null if there is nothing to show.
const section = (id, title, lead, ...children) =>
  el("section", { id, "aria-labelledby": id + "-title" }, el("h2", { id: id + "-title" }, title), lead && el("p", { class: "lead" }, lead), children);
const panel = (...children) => el("div", { class: "panel" }, children);
const MODEL_NAMES = { model: "this model", linear: "linear model", constant: "constant", train: "this model, training rows" };

// A panel whose content is drawn for one of several options.
function picker(label, options, draw, id) {
  const box = el("div", {}), show = (k) => box.replaceChildren(draw(k));
  const list = select(label, options, show);
  list.querySelector("select").id = id;
  const move = (step) => {
    const node = list.querySelector("select");
    node.value = (Number(node.value) + step + options.length) % options.length;
    show(Number(node.value));
  };
  show(0);
  return panel(el("div", { class: "controls" }, list, options.length > 1 && [
    el("button", { type: "button", onclick: () => move(-1), "aria-label": `Previous ${label}` }, "←"),
    el("button", { type: "button", onclick: () => move(1), "aria-label": `Next ${label}` }, "→"),
  ]), box);
}

function summarySection() {
  const { model, data, quality } = content;
  const figures = [];
  for (const m of (quality ? quality.metrics : []).slice(0, 4)) {
    const other = m.linear !== null && m.linear !== undefined ? `linear model ${fmt(m.linear)}` : `constant ${fmt(m.constant)}`;
    figures.push([m.title, m.name.includes("accuracy") ? percent(m.model) : fmt(m.model), m.name.includes("accuracy") && m.linear ? `linear model ${percent(m.linear)}` : other]);
  }
  const skill = quality && quality.skill;
  if (skill && skill.constant !== undefined) figures.unshift(["Skill against a constant", percent(skill.constant), skill.linear !== undefined ? `against a linear model ${percent(skill.linear)}` : ""]);
  const cards = figures.map(([label, figure, aside]) => el("div", { class: "card" }, el("div", { class: "label" }, label), el("div", { class: "figure" }, figure), el("div", { class: "aside" }, aside)));
  const task = { regression: "a number", binary: "one of two classes", multiclass: `one of ${model.classes.length} classes` }[model.task];
  const top = content.importances.features.slice(0, 3).filter((f) => f.strength > 0).map((f) => short(f.name, 40));
  const sentences = [
    `The model predicts ${task} from ${integer(model.n_features)} columns` + (model.n_categorical ? `, ${integer(model.n_categorical)} of them categorical` : "") + ".",
    model.n_rows ? `It was trained on ${integer(model.n_rows)} rows and has ${integer(model.n_trees)} trees from ${integer(model.n_iterations)} rounds.` : `It has ${integer(model.n_trees)} trees from ${integer(model.n_iterations)} rounds.`,
    `This report looks at ${integer(data.n_rows)} rows.`,
    skill && skill.constant !== undefined && `Its loss is ${percent(Math.abs(skill.constant), 0)} ${skill.constant >= 0 ? "below" : "above"} that of a constant prediction` + (skill.linear !== undefined ? ` and ${percent(Math.abs(skill.linear), 0)} ${skill.linear >= 0 ? "below" : "above"} that of a linear model.` : "."),
    top.length > 0 && `The predictions depend most on ${top.join(", ")}.`,
  ].filter(Boolean).join(" ");
  return section("summary", "Summary", sentences, cards.length > 0 && el("div", { class: "cards" }, cards));
}

function findingsSection() {
  const names = { problem: "Problem", check: "Check", note: "Note" };
  const found = content.findings.map((f) => el("div", { class: `finding ${f.level}` }, el("span", { class: "level" }, names[f.level]), el("b", {}, f.title), f.text));
  return section("warnings", "Warnings", found.length ? "What looks unusual, the gravest first." : "Nothing looks unusual: no sign of leakage, overfitting, drift or broken columns was found.", found);
}

function qualitySection() {
  const q = content.quality;
  if (!q) return null;
  const columns = Object.keys(MODEL_NAMES).filter((c) => q.metrics.some((m) => m[c] !== null && m[c] !== undefined));
  const metrics = q.metrics.length > 0 && panel(el("div", { class: "scroll" }, table([
    { title: "Metric", value: (m) => m.title + (m.greater_is_better ? " ↑" : " ↓") },
    ...columns.map((c) => ({ title: MODEL_NAMES[c], value: (m) => m[c], number: true })),
  ], q.metrics)), q.notes && el("figcaption", {}, "↑ higher is better, ↓ lower is better. ", Object.entries(q.notes).map(([name, note]) => `${MODEL_NAMES[name]}: ${note}. `)));
  const charts = [];
  if (q.thresholds) charts.push(panel(el("h3", {}, "Decisions at a threshold"), thresholdBox(q)));
  if (q.roc) charts.push(panel(el("h3", {}, "ROC"), lineChart({
    series: [{ name: q.positive, ...q.roc, color: COLORS[0] }, { x: [0, 1], y: [0, 1], color: "var(--grey)", dash: true, name: "by chance" }],
    xLabel: "false positive rate", yLabel: "true positive rate", xs: [0, 1], ys: [0, 1], alt: `ROC curve of ${q.positive}`,
  })));
  if (q.pr) charts.push(panel(el("h3", {}, "Precision and recall"), lineChart({
    series: [{ name: q.positive, ...q.pr, color: COLORS[0] }, { x: [0, 1], y: [q.base_rate, q.base_rate], color: "var(--grey)", dash: true, name: "by chance" }],
    xLabel: "recall", yLabel: "precision", xs: [0, 1], ys: [0, 1], alt: `Precision and recall of ${q.positive}`,
  })));
  if (q.calibration) charts.push(panel(el("h3", {}, "Calibration"), lineChart({
    series: [
      { name: q.positive || "likeliest class", x: q.calibration.map((b) => b.predicted), y: q.calibration.map((b) => b.observed), low: q.calibration.map((b) => b.low), high: q.calibration.map((b) => b.high), color: COLORS[0], dots: true },
      { x: [0, 1], y: [0, 1], color: "var(--grey)", dash: true, name: "perfect" },
    ],
    xLabel: "predicted probability", yLabel: "observed frequency", xs: [0, 1], ys: [0, 1], alt: "Observed frequency against predicted probability in ten bins, with 95 % intervals",
  })));
  if (q.classes) charts.push(panel(el("h3", {}, "Classes"), el("div", { class: "tablebox" }, table([
    { title: "Class", value: (c) => c.name }, { title: "Rows", value: (c) => c.rows, number: true },
    { title: "Recall", value: (c) => c.recall, number: true, text: (c) => percent(c.recall) }, { title: "Precision", value: (c) => c.precision, number: true, text: (c) => percent(c.precision) },
  ], q.classes, { sortable: true }))));
  if (q.confusion) charts.push(el("div", { class: q.confusion.names.length > COMPACT ? "panel wide" : "panel" }, el("h3", {}, "Confusion matrix"), confusionTable(q.confusion)));
  if (q.points) {
    const residual = q.points.target.map((t, k) => t - q.points.prediction[k]);
    charts.push(panel(el("h3", {}, "Target against prediction"), scatterChart({ x: q.points.prediction, y: q.points.target, xLabel: "prediction", yLabel: "target", diagonal: true, alt: "Target against prediction for a sample of rows" })));
    charts.push(panel(el("h3", {}, "Residuals"), scatterChart({ x: q.points.prediction, y: residual, xLabel: "prediction", yLabel: "target − prediction", bands: q.bands, alt: "Residuals against prediction for a sample of rows, with median and 80 % band" })));
  }
  return section("quality", "How good it is", q.note || "Compared with simple models on the same rows. The skill is 1 − loss ÷ loss of the simple model.", metrics, el("div", { class: "grid" }, charts));
}

function thresholdBox(q) {
  const out = el("div", { id: "decisions" });
  const show = (k) => {
    const [tp, fp] = [q.thresholds.positive[k], q.thresholds.negative[k]], [p, n] = [q.thresholds.positive[0], q.thresholds.negative[0]];
    const cells = [[q.positive, tp, p - tp], ["other", fp, n - fp]];
    out.replaceChildren(el("table", { class: "matrix" },
      el("thead", {}, el("tr", {}, el("th", {}, "true class"), el("th", { scope: "col" }, "predicted " + short(q.positive, 18)), el("th", { scope: "col" }, "predicted other"))),
      el("tbody", {}, cells.map(([name, yes, no]) => el("tr", {}, el("th", { scope: "row" }, short(name, 24)), [yes, no].map((v) => shade(v, (yes + no) || 1)))))),
    el("p", { class: "aside" }, `Precision ${percent(tp + fp ? tp / (tp + fp) : null)}, recall ${percent(p ? tp / p : null)}, accuracy ${percent((tp + n - fp) / ((p + n) || 1))}`));
  };
  const label = el("output", {}, "0.50");
  const slider = el("input", { type: "range", min: 0, max: 100, value: 50, id: "threshold", "aria-label": "Threshold in percent", oninput: (event) => { label.textContent = (event.target.value / 100).toFixed(2); show(Number(event.target.value)); } });
  show(50);
  return [el("div", { class: "controls" }, el("label", {}, "Threshold", slider, label)), out];
}
const COMPACT = 8;
function shade(value, total, compact) {
  const strength = Math.round((48 * value) / total);
  const text = compact ? (value ? integer(value) : "") : [integer(value), el("br"), percent(value / total)];
  return el("td", { style: `background:color-mix(in srgb, var(--blue) ${strength}%, var(--panel))` }, text);
}
function confusionTable(m) {
  return [el("div", { class: "scroll" }, el("table", { class: m.names.length > COMPACT ? "matrix compact" : "matrix" },
    el("thead", {}, el("tr", {}, el("th", {}, "true ↓ predicted →"), m.names.map((name) => el("th", { scope: "col" }, short(name, 16))))),
    el("tbody", {}, m.counts.map((row, i) => el("tr", {}, el("th", { scope: "row" }, short(m.names[i], 24)), row.map((v, j) => hover(shade(v, row.reduce((a, b) => a + b, 0) || 1, m.names.length > COMPACT), `${m.names[i]} predicted as ${m.names[j]}: ${integer(v)} rows`))))))),
  m.n_classes > m.names.length && el("figcaption", {}, `The ${m.names.length} most frequent of ${m.n_classes} classes.`)];
}

function curvesSection() {
  if (!content.curves.length) return section("curves", "Learning curves", "No metric was evaluated during training, or the history is not part of the model. Fit with eval_set or validation_fraction and report on the estimator.");
  const draw = (k) => {
    const c = content.curves[k];
    return lineChart({
      series: c.sets.map((s, i) => ({ name: s.name, x: s.rounds, y: s.values, color: COLORS[i % COLORS.length] })),
      xLabel: "boosting round", yLabel: c.metric, alt: `${c.metric} against the boosting round`,
      mark: c.best && { x: c.best, label: `best round ${c.best}` },
    });
  };
  return section("curves", "Learning curves", "A metric after each boosting round on the rows that were set aside.", picker("Metric", content.curves.map((c) => c.metric), draw, "pick-metric"));
}

function importancesSection() {
  const { features, n_features, n_unused, reason } = content.importances;
  const kinds = [["contribution", "mean absolute contribution (SHAP)"], ["permutation", "increase of the loss when it is permuted"], ["gain", "total gain of its splits"], ["splits", "number of splits"]].filter(([key]) => features.some((f) => f[key] !== null));
  const draw = (k) => {
    const [key, label] = kinds[k];
    const sorted = features.slice().sort((a, b) => b[key] - a[key]), shown = sorted.slice(0, 20);
    const entries = shown.map((f) => ({ name: f.name, value: f[key], error: { contribution: f.error, permutation: f.permutation_error }[key] }));
    if (n_features > 20) entries.push({ name: `${n_features - shown.length} more, together`, value: sorted.slice(20).reduce((sum, f) => sum + f[key], 0), color: "var(--bar-soft)" });
    return barChart({ entries, label, alt: `Importance: ${shown.slice(0, 5).map((f) => `${f.name} ${fmt(f[key])}`).join(", ")}` });
  };
  const all = el("details", {}, el("summary", {}, "All importances as a table"), el("div", { class: "tablebox" }, table([
    { title: "Feature", value: (f) => f.name }, ...kinds.map(([key, label]) => ({ title: label, value: (f) => f[key], number: true })),
  ], features, { sortable: true, caption: "Click a heading to sort." })));
  const lead = `How much each column matters.${n_unused ? ` ${integer(n_unused)} columns are not used by any tree.` : ""}${reason ? ` ${reason}` : ""}`;
  const swarm = content.swarm && panel(el("h3", {}, "Contributions in single rows"), swarmChart(content.swarm.features), el("figcaption", {}, "Each dot is a row: to the right, the feature raises the score. Orange: high values of the feature, blue: low ones, grey: missing; green: categories."));
  return section("importances", "What matters", lead, picker("Importance", kinds.map((k) => k[1]), draw, "pick-importance"), all, el("p", {}), swarm);
}

function effectsSection() {
  if (!content.effects.length) return null;
  const target = { regression: "mean target", binary: `frequency of ${content.quality && content.quality.positive}`, multiclass: "fraction predicted right" }[content.model.task];
  const predicted = { regression: "mean prediction", binary: "mean predicted probability", multiclass: "mean of the highest probability" }[content.model.task];
  const draw = (k) => {
    const e = content.effects[k], outputs = Object.keys(e.contribution);
    const means = [{ name: predicted, y: e.prediction, color: COLORS[0] }];
    if (e.target.length) means.push({ name: target, y: e.target, color: COLORS[1] });
    const box = el("div", {}), first = el("div", {}, el("h3", {}, "Predicted and observed"), legend(means), effectChart({ bins: e.bins, rows: e.rows, series: means, joined: e.kind === "number", yLabel: "", alt: `${predicted} over the values of ${e.name}` }));
    const show = (j) => {
      const values = e.contribution[outputs[j]];
      const series = [{ name: outputs.length > 1 ? outputs[j] : "mean contribution", color: COLORS[2], y: values.map((v) => v && v[1]), low: values.map((v) => v && v[0]), high: values.map((v) => v && v[2]) }];
      box.replaceChildren(el("h3", {}, "Contribution to the score (SHAP)"), legend(series), effectChart({ bins: e.bins, rows: e.rows, series, joined: e.kind === "number", yLabel: "", alt: `Contribution of ${e.name} to the score over its values` }));
    };
    if (outputs.length) show(0);
    const data = asTable([
      { title: e.name, value: (r) => e.bins[r].label }, { title: "rows", value: (r) => e.rows[r], number: true }, { title: predicted, value: (r) => e.prediction[r], number: true },
      ...(e.target.length ? [{ title: target, value: (r) => e.target[r], number: true }] : []),
    ], e.bins.map((_, r) => r));
    return el("div", {}, outputs.length > 1 && el("div", { class: "controls" }, select("Class", outputs, show)), el("div", { class: "grid" }, first, outputs.length > 0 && box), data);
  };
  return section("effects", "Effects of the features", "How predictions change with the values of a feature. Grey columns show how many rows there are; the band around a contribution holds 80 % of the rows, and is wide where other features change the effect.", picker("Feature", content.effects.map((e) => e.name), draw, "pick-feature"));
}

function interactionsSection() {
  const { pairs, n_rows } = content.interactions;
  if (!pairs.length) return null;
  return section("interactions", "Interactions", `Pairs of features whose effects depend on each other, the strongest first: mean absolute Shapley interaction value of ${integer(n_rows)} rows, in the unit of the score.`,
    panel(barChart({ entries: pairs.map((p) => ({ name: p.name, value: p.strength })), label: "mean absolute interaction", alt: `Strongest interactions: ${pairs.slice(0, 3).map((p) => p.name).join(", ")}` })));
}

function rowsSection() {
  if (!content.rows.length) return null;
  const draw = (k) => {
    const r = content.rows[k], parts = r.parts.slice();
    if (r.n_rest > 0) parts.push({ name: `${r.n_rest} other features`, value: "", contribution: r.rest });
    return el("div", {}, el("p", {}, "Row ", el("b", {}, integer(r.row)), ": predicted ", el("b", {}, r.prediction), r.target !== "" && [", actual ", el("b", {}, r.target)], r.output && [" (score of ", r.output, ")"]),
      waterfall({ base: r.base, score: r.score, parts, alt: `Row ${r.row}: ${parts.slice(0, 5).map((p) => `${p.name} ${fmt(p.contribution)}`).join(", ")}` }),
      asTable([{ title: "Feature", value: (p) => p.name }, { title: "Value", value: (p) => p.value }, { title: "Contribution", value: (p) => p.contribution, number: true }], parts));
  };
  return section("rows", "Predictions explained", "From the average score to the score of a row: what each feature adds. Orange raises the score, blue lowers it.", picker("Row", content.rows.map((r) => `${r.title}: ${r.prediction}`), draw, "pick-row"));
}

function treesSection() {
  if (!content.trees.length) return null;
  return section("trees", "Trees", "The first trees and the last one. The upper branch leads to the rows for which the condition holds; leaves add their value to the score.",
    picker("Tree", content.trees.map((t) => `Tree ${t.index}, round ${t.round}${t.class ? `, ${t.class}` : ""}`), (k) => drawTree(content.trees[k]), "pick-tree"));
}

function columnsSection() {
  const has = (key) => content.columns.some((c) => c[key] !== null && c[key] !== undefined);
  const columns = [
    { title: "Column", value: (c) => c.name }, { title: "Kind", value: (c) => c.kind },
    { title: "Missing", value: (c) => c.missing, number: true, text: (c) => percent(c.missing) },
    has("missing_train") && { title: "Missing in training", value: (c) => c.missing_train, number: true, text: (c) => percent(c.missing_train) },
    { title: "Distinct", value: (c) => c.distinct, number: true, text: (c) => integer(c.distinct) },
    { title: "Range or top categories", value: (c) => (c.top ? c.top.join(", ") : c.low), text: (c) => (c.top ? short(c.top.join(", "), 60) : c.low === null ? "–" : `${fmt(c.low)} – ${fmt(c.high)}, median ${fmt(c.middle)}`) },
    has("unseen") && { title: "New categories", value: (c) => c.unseen, number: true, text: (c) => (c.unseen === null ? "" : percent(c.unseen) + (c.unseen_examples.length ? ` (${short(c.unseen_examples.join(", "), 30)})` : "")) },
    has("drift") && { title: "Drift (PSI)", value: (c) => c.drift, number: true, text: (c) => (c.drift === null ? "" : c.drift.toFixed(3)) },
  ].filter(Boolean);
  const list = table(columns, content.columns, { sortable: true, limit: 1000 });
  const filter = el("input", { type: "search", id: "find-column", placeholder: "name", oninput: (event) => list.filter((c) => c.name.toLowerCase().includes(event.target.value.toLowerCase())) });
  const { n_rows, n_sampled } = content.data;
  const lead = n_sampled < n_rows ? `Counted on a sample of ${integer(n_sampled)} of ${integer(n_rows)} rows.` : `Counted on all ${integer(n_rows)} rows.`;
  return section("columns", "Data quality", lead + " Click a heading to sort.", panel(el("div", { class: "controls" }, el("label", {}, "Find", filter)), el("div", { class: "tablebox", tabindex: 0, role: "group", "aria-label": "Columns" }, list)));
}

function decisionsSection() {
  const { decisions, parameters } = content;
  return section("decisions", "What was decided and why", "Choices of the training, and all parameters in force.",
    decisions.length > 0 && panel(el("div", { class: "tablebox" }, table([{ title: "What", value: (d) => d.what }, { title: "Choice", value: (d) => d.value }, { title: "Why", value: (d) => d.why }], decisions))),
    panel(el("div", { class: "tablebox" }, table([{ title: "Parameter", value: (p) => p.name }, { title: "Value", value: (p) => p.value, text: (p) => el("code", {}, p.value) }, { title: "From", value: (p) => p.origin }], parameters, { sortable: true, mark: (p) => p.origin === "set", caption: "Bold: set by the user." }))));
}
