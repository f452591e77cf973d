// What all pages have: elements, colours of the theme, tables that their headings sort.
"use strict";
const byId = (id) => document.getElementById(id);
const node = (name, text, cls) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (cls) made.className = cls;
  return made;
};
// A colour of the style, as a canvas takes it: that of the theme that is shown.
const css = (() => {
  const [probe, brush] = [node("i"), document.createElement("canvas").getContext("2d")];
  probe.hidden = true;
  document.body.append(probe);
  const known = new Map();
  byId("theme").addEventListener("change", () => known.clear());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => known.clear());
  return (name) => {
    if (known.has(name)) return known.get(name);
    probe.style.color = `var(${name})`;
    brush.fillStyle = getComputedStyle(probe).color;
    known.set(name, brush.fillStyle);
    return brush.fillStyle;
  };
})();
// Boxes of a name and a value each; a bad one stands out. A name may be an element.
const factBoxes = (all) => {
  const facts = node("div", undefined, "facts");
  for (const [name, value, bad] of all) {
    const fact = node("div", undefined, bad ? "fact bad" : "fact");
    fact.append(node("b", value), name.append ? name : node("span", name, "soft"));
    facts.append(fact);
  }
  return facts;
};

// Draws a table that its headings sort. A column has a key, a title, what it means, whether it is
// text, and its name for programs; `fill` writes the row of an item.
const sortTable = (table, columns, items, sorted, redraw, most, fill) => {
  const focused = table.contains(document.activeElement) && document.activeElement;
  const heading = focused && focused.closest("th");
  table.replaceChildren();
  const head = table.createTHead().insertRow();
  for (const [key, title, meaning, isText, field] of columns) {
    const cell = node("th", undefined, isText ? "left" : "");
    const is = sorted.by === key;
    cell.setAttribute("aria-sort", is ? (sorted.down ? "descending" : "ascending") : "none");
    if (field) cell.dataset.field = field;
    const button = node("button", title + (is && key ? (sorted.down ? " ↓" : " ↑") : ""));
    button.type = "button";
    button.onclick = () => {
      [sorted.by, sorted.down] = [key, is ? !sorted.down : !isText];
      redraw();
    };
    cell.append(key ? button : title);
    if (meaning) cell.append(node("small", meaning));
    head.append(cell);
  }
  const value = (item) => item[sorted.by] ?? -1;
  const order = (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0);
  const rows = [...items].sort((a, b) => (sorted.down ? order(b, a) : order(a, b)));
  const body = table.createTBody();
  rows.slice(0, most).forEach((item) => fill(body.insertRow(), item));
  // Of rows to pick, Tab reaches one; the arrow keys go to the others.
  const picks = [...body.querySelectorAll("tr.pick")];
  const own = Math.max(0, picks.findIndex((row) => row.classList.contains("picked")));
  picks.forEach((row, at) => { row.tabIndex = at === own ? 0 : -1; });
  if (picks.length) table.onkeydown = (event) => {
    const at = picks.indexOf(event.target);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: picks.length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    if (!picks[next]) return;
    [event.target.tabIndex, picks[next].tabIndex] = [-1, 0];
    picks[next].focus();
  };
  // The keyboard stays where it was.
  const again = focused && (heading ? head.cells[heading.cellIndex].firstChild
    : table.querySelector("tr.picked"));
  if (again) again.focus({ preventScroll: true });
};

// The tables that the page was written with.
for (const table of document.querySelectorAll("table.sorted")) {
  const columns = [...table.tHead.rows[0].cells].map(({ dataset: { field }, textContent, className }) =>
    [field, textContent, "", className === "left", field]);
  const value = ({ dataset, textContent }) =>
    ("value" in dataset ? Number(dataset.value) : textContent || undefined);
  const items = [...table.tBodies[0].rows].map((row) => Object.assign({ row },
    ...[...row.cells].map((cell, at) => ({ [columns[at][0]]: value(cell) }))));
  const sorted = {};
  const draw = () => sortTable(table, columns, items, sorted, draw, items.length,
    (row, item) => row.replaceWith(item.row));
  draw();
}
