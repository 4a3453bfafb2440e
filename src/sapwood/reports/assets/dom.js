// Elements, numbers and tooltips. Text of the user is set as text, never as markup.
const content = JSON.parse(document.getElementById("content").textContent);

function add(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(9)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}
const el = (tag, attributes, ...children) => add(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  add(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

function fmt(x) {
  if (x === null || x === undefined) return "–";
  if (typeof x !== "number") return String(x);
  const size = Math.abs(x);
  if (x === 0) return "0";
  if (size >= 1e9 || size < 1e-4) return x.toExponential(2);
  if (size >= 1e4) return Math.round(x).toLocaleString("en-US");
  return String(Number(x.toPrecision(4)));
}
const integer = (x) => (x === null || x === undefined ? "–" : x.toLocaleString("en-US"));
const percent = (x, digits = 1) => (x === null || x === undefined ? "–" : (100 * x).toFixed(digits) + " %");
const short = (text, length) => {
  const letters = Array.from(String(text));
  if (letters.length <= length) return letters.join("");
  const head = Math.ceil((length - 1) / 2);
  return letters.slice(0, head).join("") + "…" + letters.slice(letters.length - (length - 1 - head)).join("");
};

const tip = el("div", { id: "tip", role: "status", "aria-live": "polite" });
function showTip(text, x, y) {
  tip.textContent = text;
  tip.style.display = "block";
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
  tip.style.top = Math.max(4, y - box.height - 12 < 4 ? y + 16 : y - box.height - 12) + "px";
}
const hideTip = () => { tip.style.display = "none"; };
function hover(node, text) {
  add(node, {
    onmousemove: (event) => showTip(text, event.clientX, event.clientY),
    onmouseleave: hideTip,
  }, []);
  return node;
}

// A box whose picture is drawn again when its width changes; `draw` gets the width in pixels.
function responsive(draw) {
  const box = el("div", {});
  let last = 0;
  const redraw = () => {
    const width = Math.floor(box.clientWidth);
    if (width > 0 && width !== last) {
      last = width;
      box.replaceChildren(draw(width));
    }
  };
  new ResizeObserver(redraw).observe(box);
  return box;
}

function select(label, options, onchange, chosen = 0) {
  const list = el("select", { onchange: (event) => onchange(Number(event.target.value)) });
  options.forEach((text, k) => list.append(el("option", { value: k, selected: k === chosen }, short(text, 60))));
  return el("label", {}, label, list);
}

// A table whose columns can be sorted. Columns: {title, value(row), text(row), number}.
function table(columns, rows, options = {}) {
  const body = el("tbody", {});
  let sorted = rows.slice();
  const fill = () => body.replaceChildren(...sorted.slice(0, options.limit || sorted.length).map((row) =>
    el("tr", { class: options.mark && options.mark(row) ? "best" : null }, columns.map((c) =>
      el("td", { class: c.number ? "number" : null }, c.text ? c.text(row) : c.number ? fmt(c.value(row)) : c.value(row))))));
  const heads = columns.map((c) => {
    if (!options.sortable) return el("th", { scope: "col", class: c.number ? "number" : null }, c.title);
    const head = el("th", { scope: "col", class: c.number ? "number" : null, "aria-sort": "none" });
    head.append(el("button", {
      type: "button",
      onclick: () => {
        const up = head.getAttribute("aria-sort") === "descending";
        heads.forEach((other) => other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rank = (row) => c.value(row);
        sorted.sort((a, b) => {
          const [x, y] = [rank(a), rank(b)];
          if (x === y) return 0;
          if (x === null || x === undefined) return 1;
          if (y === null || y === undefined) return -1;
          return (x < y ? -1 : 1) * (up ? 1 : -1);
        });
        fill();
      },
    }, c.title));
    return head;
  });
  fill();
  const result = el("table", {},
    options.caption && el("caption", {}, options.caption), el("thead", {}, el("tr", {}, heads)), body);
  result.filter = (test) => { sorted = rows.filter(test); fill(); };
  return result;
}
const asTable = (columns, rows) =>
  el("details", {}, el("summary", {}, "Show as table"), el("div", { class: "tablebox" }, table(columns, rows)));
