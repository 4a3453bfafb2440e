// Charts in SVG. Colours are those of the style sheet, so that they follow the theme.
const COLORS = ["var(--blue)", "var(--orange)", "var(--green)", "var(--purple)", "var(--grey)", "var(--accent)"];

function ticks(low, high, count) {
  if (!(high > low)) return [low];
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw);
  const found = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + 1e-9 * step; t += step) found.push(Number(t.toPrecision(12)));
  return found;
}
const scale = (low, high, from, to) => (x) => from + ((x - low) / (high - low || 1)) * (to - from);
const finite = (values) => values.filter((v) => v !== null && v !== undefined && Number.isFinite(v));
function domain(values, pad = 0.04) {
  const known = finite(values);
  if (!known.length) return [0, 1];
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const extra = (high - low) * pad || Math.abs(high) * 0.1 || 1;
  return [low - extra, high + extra];
}
const legend = (series) => el("div", { class: "legend" }, series.filter((s) => s.name).map((s) =>
  el("span", {}, el("i", { style: `background:${s.color}` }), short(s.name, 60))));

function frameAxes(width, height, margin, xs, ys, xLabel, yLabel, options = {}) {
  const x = scale(xs[0], xs[1], margin.left, width - margin.right);
  const y = scale(ys[0], ys[1], height - margin.bottom, margin.top);
  const group = svg("g", {});
  for (const t of ticks(ys[0], ys[1], 5)) {
    group.append(svg("line", { class: "axis", x1: margin.left, x2: width - margin.right, y1: y(t), y2: y(t) }));
    group.append(svg("text", { class: "soft", x: margin.left - 6, y: y(t) + 4, "text-anchor": "end" }, fmt(t)));
  }
  if (!options.noX) for (const t of ticks(xs[0], xs[1], Math.max(2, Math.floor(width / 90)))) {
    group.append(svg("text", { class: "soft", x: x(t), y: height - margin.bottom + 16, "text-anchor": "middle" }, fmt(t)));
  }
  group.append(svg("text", { class: "soft", x: (margin.left + width - margin.right) / 2, y: height - 4, "text-anchor": "middle" }, xLabel));
  group.append(svg("text", { class: "soft", x: 4, y: 12 }, yLabel));
  return { group, x, y };
}

// Let pointer and arrow keys walk over points {x, y, text} in pixels.
function walk(picture, points, marker) {
  let at = -1;
  const show = (k, event) => {
    at = Math.max(0, Math.min(points.length - 1, k));
    const point = points[at];
    if (!point) return;
    marker.setAttribute("cx", point.x);
    marker.setAttribute("cy", point.y);
    marker.setAttribute("visibility", "visible");
    const box = picture.getBoundingClientRect();
    const ratio = box.width / picture.viewBox.baseVal.width;
    showTip(point.text, event ? event.clientX : box.left + point.x * ratio, event ? event.clientY : box.top + point.y * ratio);
  };
  const hide = () => { marker.setAttribute("visibility", "hidden"); hideTip(); };
  add(picture, {
    tabindex: 0,
    onmousemove: (event) => {
      const box = picture.getBoundingClientRect();
      const px = ((event.clientX - box.left) / box.width) * picture.viewBox.baseVal.width;
      const py = ((event.clientY - box.top) / box.height) * picture.viewBox.baseVal.height;
      let best = 0;
      points.forEach((p, k) => {
        const distance = (q) => Math.abs(q.x - px) + 0.25 * Math.abs(q.y - py);
        if (distance(p) < distance(points[best])) best = k;
      });
      show(best, event);
    },
    onmouseleave: hide,
    onblur: hide,
    onkeydown: (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      show(at + step);
    },
  }, []);
}

// Lines: series of {name, x, y, color, dash, low, high, dots}.
function lineChart({ series, xLabel, yLabel, xs, ys, mark, alt, height = 280 }) {
  const all = (key) => series.flatMap((s) => s[key] || []);
  const [xd, yd] = [xs || domain(all("x"), 0.01), ys || domain([...all("y"), ...all("low"), ...all("high")])];
  const picture = responsive((width) => {
    const margin = { left: 52, right: 12, top: 22, bottom: 38 };
    const { group, x, y } = frameAxes(width, height, margin, xd, yd, xLabel, yLabel);
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": alt }, group);
    if (mark) {
      drawing.append(svg("line", { x1: x(mark.x), x2: x(mark.x), y1: margin.top, y2: height - margin.bottom, stroke: "var(--grey)", "stroke-dasharray": "4 3" }));
      const late = x(mark.x) > width * 0.6;
      drawing.append(svg("text", { class: "soft", x: x(mark.x) + (late ? -6 : 6), y: margin.top + 12, "text-anchor": late ? "end" : "start" }, mark.label));
    }
    const points = [];
    for (const s of series) {
      const known = s.x.map((v, k) => [v, s.y[k], k]).filter(([a, b]) => a !== null && b !== null);
      if (s.low) known.forEach(([a, , k]) => {
        if (s.low[k] !== null) drawing.append(svg("line", { x1: x(a), x2: x(a), y1: y(s.low[k]), y2: y(s.high[k]), stroke: s.color, "stroke-width": 1.5, opacity: 0.6 }));
      });
      drawing.append(svg("polyline", {
        points: known.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" "),
        fill: "none", stroke: s.color, "stroke-width": s.dash ? 1.2 : 2, "stroke-dasharray": s.dash ? "5 4" : null, "stroke-linejoin": "round",
      }));
      if (s.dots) known.forEach(([a, b]) => drawing.append(svg("circle", { cx: x(a), cy: y(b), r: 3.5, fill: s.color })));
      if (!s.dash) known.forEach(([a, b]) => points.push({ x: x(a), y: y(b), text: `${s.name}\n${xLabel}: ${fmt(a)}\n${yLabel}: ${fmt(b)}` }));
    }
    const marker = svg("circle", { r: 5, fill: "none", stroke: "var(--ink)", "stroke-width": 2, visibility: "hidden" });
    drawing.append(marker);
    walk(drawing, points, marker);
    return drawing;
  });
  const named = series.filter((s) => !s.dash);
  return el("figure", {}, legend(series), picture, asTable([
    { title: "line", value: (r) => r[0] }, { title: xLabel, value: (r) => r[1], number: true }, { title: yLabel, value: (r) => r[2], number: true },
  ], named.flatMap((s) => s.x.map((v, k) => [s.name, v, s.y[k]]).filter((_, k) => k % Math.ceil(s.x.length / 40) === 0))));
}

// Horizontal bars: entries of {name, value, error, text}.
function barChart({ entries, label, alt }) {
  return responsive((width) => {
    const row = 26, left = Math.min(240, Math.max(110, width * 0.36)), right = 70;
    const height = entries.length * row + 26;
    const largest = Math.max(...entries.map((e) => (e.value || 0) + (e.error || 0)), 1e-300);
    const x = scale(0, largest, left, width - right);
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": alt });
    entries.forEach((e, k) => {
      const y = k * row, text = `${e.name}\n${label}: ${fmt(e.value)}${e.error ? " ± " + fmt(e.error) : ""}`;
      const bar = svg("g", { class: "bar" },
        svg("rect", { x: 0, y, width, height: row, fill: "transparent" }),
        svg("text", { x: left - 8, y: y + 17, "text-anchor": "end" }, short(e.name, Math.floor(left / 7.2))),
        svg("rect", { x: left, y: y + 5, width: Math.max(1, x(e.value || 0) - left), height: row - 10, rx: 3, fill: e.color || "var(--bar)" }),
        e.error ? svg("line", { x1: x(Math.max(0, e.value - e.error)), x2: x(e.value + e.error), y1: y + row / 2, y2: y + row / 2, stroke: "var(--ink)", "stroke-width": 1.2 }) : null,
        svg("text", { class: "soft", x: x((e.value || 0) + (e.error || 0)) + 6, y: y + 17 }, e.text || fmt(e.value)));
      drawing.append(hover(bar, text));
    });
    drawing.append(svg("text", { class: "soft", x: left, y: height - 6 }, label));
    return drawing;
  });
}

// Contributions of features that lead from a base to a score.
function waterfall({ base, score, parts, alt }) {
  return responsive((width) => {
    const row = 28, left = Math.min(280, Math.max(130, width * 0.4)), right = 64;
    const steps = [];
    let at = base;
    for (const part of parts.slice().reverse()) { steps.unshift({ ...part, from: at, to: at + part.contribution }); at += part.contribution; }
    const [low, high] = domain([base, score, ...steps.flatMap((s) => [s.from, s.to])], 0.06);
    const x = scale(low, high, left, width - right);
    const height = steps.length * row + 54;
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": alt });
    const line = (v, y1, y2, name, y) => [
      svg("line", { x1: x(v), x2: x(v), y1, y2, stroke: "var(--grey)", "stroke-dasharray": "3 3" }),
      svg("text", { class: "soft", x: x(v), y, "text-anchor": x(v) > width * 0.75 ? "end" : x(v) < left + 40 ? "start" : "middle" }, `${name} ${fmt(v)}`),
    ];
    drawing.append(...line(score, 16, steps.length * row + 20, "score", 12), ...line(base, 20, steps.length * row + 26, "average", height - 10));
    steps.forEach((s, k) => {
      const y = 20 + k * row, positive = s.contribution >= 0, color = positive ? "var(--orange)" : "var(--blue)";
      const shown = s.value === "" ? s.name : `${s.name} = ${s.value}`;
      drawing.append(hover(svg("g", {},
        svg("rect", { x: 0, y, width, height: row, fill: "transparent" }),
        svg("text", { x: left - 8, y: y + 18, "text-anchor": "end" }, short(shown, Math.floor(left / 7))),
        svg("rect", { x: Math.min(x(s.from), x(s.to)), y: y + 5, width: Math.max(1.5, Math.abs(x(s.to) - x(s.from))), height: row - 10, rx: 3, fill: color }),
        svg("text", { class: "soft", x: Math.max(x(s.from), x(s.to)) + 5, y: y + 18 }, (positive ? "+" : "−") + fmt(Math.abs(s.contribution)))),
      `${shown}\ncontribution ${positive ? "+" : "−"}${fmt(Math.abs(s.contribution))}`));
    });
    return drawing;
  });
}

// One line of dots per feature: contributions, coloured by the rank of the feature's value.
function swarmChart(features) {
  const xd = domain(features.flatMap((f) => f.contribution));
  return responsive((width) => {
    const row = 30, left = Math.min(220, Math.max(100, width * 0.32)), height = features.length * row + 40;
    const x = scale(xd[0], xd[1], left, width - 14);
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Contributions of the strongest features to the scores of a sample of rows; the mean sizes are in the chart of importances." });
    for (const t of ticks(xd[0], xd[1], Math.max(2, Math.floor(width / 110)))) {
      drawing.append(svg("line", { class: "axis", x1: x(t), x2: x(t), y1: 0, y2: height - 36 }), svg("text", { class: "soft", x: x(t), y: height - 20, "text-anchor": "middle" }, fmt(t)));
    }
    drawing.append(svg("text", { class: "soft", x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, "contribution to the score"));
    features.forEach((f, k) => {
      const middle = k * row + row / 2, columns = {};
      const group = svg("g", {}, svg("rect", { x: 0, y: k * row, width, height: row, fill: "transparent" }), svg("text", { x: left - 8, y: middle + 4, "text-anchor": "end" }, short(f.name, Math.floor(left / 7.2))));
      f.contribution.forEach((v, i) => {
        const px = x(v), cell = Math.round(px / 3), n = (columns[cell] = (columns[cell] || 0) + 1);
        const dy = Math.min(12, Math.ceil((n - 1) / 2) * 2) * (n % 2 ? 1 : -1), rank = f.rank.length ? f.rank[i] : undefined;
        const color = rank === undefined ? "var(--green)" : rank === null ? "var(--grey)" : `color-mix(in srgb, var(--orange) ${Math.round(100 * rank)}%, var(--blue))`;
        group.append(svg("circle", { cx: px.toFixed(1), cy: middle + dy, r: 2.6, style: `fill:${color}`, opacity: 0.75 }));
      });
      drawing.append(hover(group, f.name));
    });
    return drawing;
  });
}

// Columns for the rows of each bin, lines for means.
function effectChart({ bins, rows, series, yLabel, joined, alt }) {
  return responsive((width) => {
    const height = 320, margin = { left: 64, right: 12, top: 12, bottom: 92 };
    const yd = domain(series.flatMap((s) => [...s.y, ...(s.low || []), ...(s.high || [])]), 0.08);
    const { group, y } = frameAxes(width, height, margin, [0, 1], yd, "", yLabel, { noX: true });
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": alt }, group);
    const step = (width - margin.left - margin.right) / bins.length, center = (k) => margin.left + (k + 0.5) * step;
    const largest = Math.max(...rows, 1), floor = height - margin.bottom;
    bins.forEach((bin, k) => {
      drawing.append(svg("rect", { x: center(k) - step * 0.4, y: floor - (rows[k] / largest) * 60, width: step * 0.8, height: (rows[k] / largest) * 60, fill: "var(--line)" }));
      if (k % Math.ceil(20 / step) === 0) drawing.append(svg("text", { class: "soft", transform: `translate(${center(k) + 4},${floor + 12}) rotate(-40)`, "text-anchor": "end" }, short(bin.label, 15)));
    });
    if (yd[0] < 0 && yd[1] > 0) drawing.append(svg("line", { x1: margin.left, x2: width - margin.right, y1: y(0), y2: y(0), stroke: "var(--grey)" }));
    const points = [];
    series.forEach((s) => {
      const known = s.y.map((v, k) => [k, v]).filter(([, v]) => v !== null);
      if (s.low) known.forEach(([k]) => drawing.append(svg("line", { x1: center(k), x2: center(k), y1: y(s.low[k]), y2: y(s.high[k]), stroke: s.color, "stroke-width": 6, opacity: 0.22, "stroke-linecap": "round" })));
      if (joined) drawing.append(svg("polyline", { points: known.filter(([k]) => bins[k].label !== "missing").map(([k, v]) => `${center(k)},${y(v)}`).join(" "), fill: "none", stroke: s.color, "stroke-width": 1.8, opacity: 0.8 }));
      known.forEach(([k, v]) => {
        drawing.append(svg("circle", { cx: center(k), cy: y(v), r: 4, fill: s.color }));
        points.push({ x: center(k), y: y(v), text: `${bins[k].label} (${integer(rows[k])} rows)\n${s.name}: ${fmt(v)}` });
      });
    });
    points.sort((a, b) => a.x - b.x);
    const marker = svg("circle", { r: 6, fill: "none", stroke: "var(--ink)", "stroke-width": 2, visibility: "hidden" });
    drawing.append(marker);
    walk(drawing, points, marker);
    return drawing;
  });
}

// Dots of predictions and targets or residuals.
function scatterChart({ x: xv, y: yv, xLabel, yLabel, diagonal, bands, alt }) {
  return responsive((width) => {
    const height = 320, margin = { left: 60, right: 12, top: 22, bottom: 38 };
    const xd = diagonal ? domain([...xv, ...yv]) : domain(xv), yd = diagonal ? xd : domain(yv);
    const { group, x, y } = frameAxes(width, height, margin, xd, yd, xLabel, yLabel);
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": alt }, group);
    xv.forEach((v, k) => drawing.append(hover(svg("circle", { cx: x(v).toFixed(1), cy: y(yv[k]).toFixed(1), r: 2.6, fill: "var(--blue)", opacity: 0.45 }), `${xLabel}: ${fmt(v)}\n${yLabel}: ${fmt(yv[k])}`)));
    if (diagonal) drawing.append(svg("line", { x1: x(xd[0]), y1: y(xd[0]), x2: x(xd[1]), y2: y(xd[1]), stroke: "var(--grey)", "stroke-dasharray": "5 4" }));
    else drawing.append(svg("line", { x1: x(xd[0]), y1: y(0), x2: x(xd[1]), y2: y(0), stroke: "var(--grey)" }));
    if (bands) {
      const line = (key) => bands.map((b) => `${x(b.prediction).toFixed(1)},${y(b[key]).toFixed(1)}`);
      drawing.append(svg("polygon", { points: [...line("low"), ...line("high").reverse()].join(" "), fill: "var(--orange)", opacity: 0.14 }));
      drawing.append(svg("polyline", { points: line("median").join(" "), fill: "none", stroke: "var(--orange)", "stroke-width": 2 }));
    }
    return drawing;
  });
}
