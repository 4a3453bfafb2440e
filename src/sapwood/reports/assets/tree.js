// One tree, from left to right; the upper branch leads to the rows for which the condition holds.
function drawTree(tree) {
  const column = 236, row = 44, box = { width: 208, height: 36 };
  const depth = Math.max(...tree.nodes.map((n) => n.depth)), lines = Math.max(...tree.nodes.map((n) => n.position));
  const width = depth * column + box.width + 24, height = (lines + 1) * row + 12;
  const x = (n) => 8 + n.depth * column, y = (n) => 26 + n.position * row;
  const largest = Math.max(...tree.nodes.filter((n) => n.condition === null && n.value.length === 1).map((n) => Math.abs(n.value[0])), 1e-300);
  const total = Math.max(tree.nodes[0].rows, 1);
  const drawing = svg("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, role: "img", style: "max-width:none",
    "aria-label": `Tree ${tree.index}: ${tree.nodes.length} nodes are drawn, the first condition is ${tree.nodes[0].condition || "none, it is a single leaf"}.`,
  });
  tree.nodes.forEach((n) => {
    if (n.parent < 0) return;
    const p = tree.nodes[n.parent], x1 = x(p) + box.width, bend = x1 + (column - box.width) / 2;
    drawing.append(svg("path", {
      d: `M${x1},${y(p)} C${bend},${y(p)} ${bend},${y(n)} ${x(n)},${y(n)}`,
      fill: "none", stroke: "var(--grey)", opacity: 0.55, "stroke-width": 1 + 6 * Math.sqrt(n.rows / total),
    }));
  });
  tree.nodes.forEach((n) => {
    const leaf = n.condition === null;
    const value = n.value.length === 1 ? (n.value[0] >= 0 ? "+" : "−") + fmt(Math.abs(n.value[0])) : n.value.map(fmt).join(", ");
    const first = n.hidden_leaves ? `${n.hidden_leaves} leaves below` : leaf ? n.formula || value : `${short(n.name, Math.max(10, 29 - n.test.length))} ${n.test}`;
    const strength = leaf && n.value.length === 1 ? Math.round((60 * Math.abs(n.value[0])) / largest) : 0;
    const fill = leaf ? `color-mix(in srgb, ${n.value[0] >= 0 ? "var(--orange)" : "var(--blue)"} ${strength}%, var(--paper))` : "var(--panel)";
    const missing = leaf || n.hidden_leaves || n.missing_left === null ? "" : ` · missing ${n.missing_left ? "up" : "down"}`;
    const long = [leaf ? first : n.condition, `${integer(n.rows)} rows${missing}`];
    if (n.left_categories.length > 4) long.push(`upper branch: ${n.left_categories.join(", ")}`);
    drawing.append(hover(svg("g", {},
      svg("rect", { x: x(n), y: y(n) - box.height / 2, width: box.width, height: box.height, rx: 6, style: `fill:${fill}`, stroke: "var(--line)" }),
      svg("text", { x: x(n) + 8, y: y(n) - 3 }, Array.from(first).length > 30 ? Array.from(first).slice(0, 29).join("") + "…" : first),
      svg("text", { class: "soft", x: x(n) + 8, y: y(n) + 12 }, short(`${integer(n.rows)} rows${missing}`, 29))), long.join("\n")));
  });
  return el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Drawing of a tree; scroll to see all of it" }, drawing);
}
