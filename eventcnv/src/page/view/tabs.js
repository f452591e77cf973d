// What all tabs use.
//
//   ns, counts, names ─▶ texts of a bounded length
//
// Text of the log becomes text and attributes, never markup.
"use strict";
// Numbers and names as a tab writes them, its sections, and buttons.
const tabTools = (root, data, functions, { node, count, many, short }) => {
  const NAME_MAX = 160; // Letters of a name that are seen.
  const ownMax = functions.reduce((most, one) => Math.max(most, one.own), 0) || 1;
  const time = (ns) => {
    if (ns === null || ns === undefined) return "–";
    if (!data.isNs) return short(ns) + "\u202fticks";
    const units = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]];
    const [unit, size] = units.find(([, least]) => ns >= least) || ["ns", 1];
    return Number((ns / size).toPrecision(3)) + "\u202f" + unit;
  };
  const percentOf = (part, all) => {
    const percent = all > 0 ? (100 * part) / all : 0;
    return (percent > 0 && percent < 0.1 ? "< 0.1" : percent.toFixed(1)) + "\u202f%";
  };
  const share = (part) => percentOf(part, data.time);
  const heat = (at) => `${Math.round(100 * Math.sqrt(functions[at].own / ownMax))}%`;
  // The beginning and the end of a long name, which tell it from others.
  const middle = (name, most = NAME_MAX) => {
    const letters = [...name];
    if (letters.length <= most) return name;
    const half = (most - 1) / 2;
    return `${letters.slice(0, Math.ceil(half)).join("")}…${letters.slice(-Math.floor(half)).join("")}`;
  };
  // Names, cut to so many letters. Those that would look alike show where they begin to differ.
  const told = (names, most) => {
    const alike = new Map();
    names.forEach((name, at) => {
      const text = middle(name, most);
      alike.set(text, [...(alike.get(text) || []), at]);
    });
    const found = [];
    for (const [text, places] of alike) {
      const own = places.map((at) => [...names[at]]);
      const least = Math.min(...own.map((letters) => letters.length));
      let same = 0;
      while (same < least && own.every((letters) => letters[same] === own[0][same])) same += 1;
      const head = own[0].slice(0, Math.min(same, Math.floor(most / 3))).join("");
      const end = (letters) => middle(letters.slice(same).join(""), most - head.length - 1);
      places.forEach((at, i) => { found[at] = own.length > 1 && same < least ? `${head}…${end(own[i])}` : text; });
    }
    return found;
  };
  // The end of a long path: what tells it from others.
  const brief = (name) => {
    let depth = 0;
    const cuts = [];
    for (let i = 0; i < name.length; i += 1) {
      if ("<([{".includes(name[i])) depth += 1;
      if (">)]}".includes(name[i]) && name[i - 1] !== "-") depth -= 1;
      if (depth === 0 && name.startsWith("::", i)) cuts.push(i + 2);
    }
    return middle(cuts.length > 1 ? name.slice(cuts[cuts.length - 2]) : name, 80);
  };
  // A name in the page. The middle of a long one is not seen, and copied with the rest.
  const nameOf = (name) => {
    const made = node("span");
    const [letters, part] = [[...name], NAME_MAX / 2];
    if (letters.length <= NAME_MAX) made.textContent = name;
    else made.append(letters.slice(0, part).join(""),
      node("span", letters.slice(part, -part).join(""), "cut"), letters.slice(-part).join(""));
    return made;
  };
  // Adds a section to the tab. Returns it, and the row of its heading.
  const section = (title, ...parts) => {
    const made = node("section");
    made.setAttribute("aria-label", title);
    const row = node("div", undefined, "row");
    row.append(node("h2", title));
    made.append(row, ...parts);
    root.append(made);
    return [made, row];
  };
  // The first line of the tab: what it answers.
  const lead = (text) => root.prepend(node("p", text, "lead"));
  const button = (text, onclick, cls) => {
    const made = node("button", text, cls);
    made.type = "button";
    made.onclick = onclick;
    return made;
  };
  // Columns with their names for programs, as the command of the tab has them.
  const named = (columns, names) => columns.map(([key, title, meaning, isText]) =>
    [key, title, meaning, isText, names[key] ?? `${key}_${data.isNs ? "ns" : "ticks"}`]);
  // Prepares a search of the tab, and what it found.
  const prepare = (search, id, what, oninput, hits, hitsId) => {
    Object.assign(search, { id, type: "search", placeholder: `Search ${what}`, oninput });
    search.setAttribute("aria-label", search.placeholder);
    hits.id = hitsId;
    hits.setAttribute("aria-live", "polite");
  };
  // What the colours of a drawing mean.
  const legendOf = (all) => {
    const legend = node("div", undefined, "row legend");
    for (const [cls, text] of all) {
      const made = node("span", undefined, "swatch");
      made.append(node("i", undefined, cls), text);
      legend.append(made);
    }
    return legend;
  };
  // What Enter and Space do on an element that is no button.
  const onPress = (act) => (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    act();
  };
  return { time, share, percentOf, many, lead, heat, brief, button, nameOf, middle, onPress, section, told, named, prepare, legendOf };
};
// What is drawn on a canvas for a bar: the label, as far as there is room, and stripes.
const barPaint = (brief) => {
  // The colour of a label on a bar: the one that is seen better.
  const label = (hex) => {
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
    return 0.3 * r + 0.6 * g + 0.1 * b > 0.54 ? "#14171a" : "#ffffff";
  };
  // A name as far as there is room: of a path, rather its end.
  const fitted = (name, most) => {
    const text = brief(name);
    const last = text.slice(text.lastIndexOf("::") + 2);
    const letters = [...(text.length > most && text.includes("::") ? last : text)];
    return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : letters.join("");
  };
  // Stripes, so that waits are told from runs without colour: they lean, those of the disk stand.
  const stripe = (context, kind, x, y, wide, tall) => {
    if (kind < 2 || wide < 5) return;
    context.save();
    context.beginPath();
    context.rect(x, y, wide, tall);
    context.clip();
    context.strokeStyle = css("--stripes");
    context.lineWidth = 1;
    context.beginPath();
    const lean = kind === 2 ? tall : 0;
    for (let at = x - lean - (x % 6); at < x + wide; at += 6) {
      context.moveTo(at, y + tall);
      context.lineTo(at + lean, y);
    }
    context.stroke();
    context.restore();
  };
  return { label, fitted, stripe };
};
// A drawing over time in a box that scrolls, with the axis below it. `on` lays out and draws rows, and
// finds what lies at a place of the canvas.
const scene = (box, data, tools, { node, fit, scale, viewport }, on) => {
  const NARROW = 640; // Below this width, names of rows lie above them.
  const [HEAD, FOOT] = [17, 26]; // Heights in pixels.
  const [canvas, room, foot] = [node("canvas"), node("div"), node("canvas", undefined, "axis")];
  canvas.tabIndex = 0;
  canvas.role = "img";
  room.append(canvas);
  box.append(room);
  const length = data.length || 1;
  const unit = data.isNs ? 1e9 : 1;
  const { timeBy, drawAxis } = scale(length / unit, data.isNs);
  const moment = (at) => timeBy(at / unit, data.isNs ? 1e-9 : 1);
  let head = 0; // The height of a name above a row.
  const left = () => (head ? 0 : 168);
  const view = viewport(canvas, left, (by) => { box.scrollTop -= by; });
  const range = () => view.range.map((part) => part * length);
  const layout = () => {
    head = box.clientWidth < NARROW ? HEAD : 0;
    const all = on.layout(head);
    const tall = Math.min(all, Math.max(on.least, Math.round(window.innerHeight * 0.64)));
    box.style.height = `${tall + 2}px`;
    room.style.height = `${all}px`;
    canvas.style.height = `${tall}px`;
  };
  const draw = () => {
    if (!box.offsetParent) return;
    layout();
    const [context, width, height] = fit(canvas);
    const [from, to] = range();
    const inner = Math.max(10, Math.floor(width - left()));
    context.clearRect(0, 0, width, height);
    context.font = "11px ui-monospace, \"DejaVu Sans Mono\", Menlo, Consolas, monospace";
    on.draw({ context, width, height, from, to, inner, top: box.scrollTop });
    const [below, wide, tall] = fit(foot);
    below.clearRect(0, 0, wide, tall);
    below.font = "12px system-ui, sans-serif";
    const labels = drawAxis(below, from / unit, (to - from) / unit, [left(), inner], [2, FOOT]);
    const step = (to - from) / 1e4 / unit;
    on.drawn({ from, to, labels, ends: [from, to].map((at) => timeBy(at / unit, step)) });
  };
  const hitAt = (event) => {
    const at = canvas.getBoundingClientRect();
    return on.hitAt(event.clientX - at.left, event.clientY - at.top);
  };
  view.pointed = (event) => on.pointed(hitAt(event), (view.range[0] +
    view.place(event) * (view.range[1] - view.range[0])) * length);
  let pressed = null;
  canvas.addEventListener("pointerdown", (event) => { pressed = [event.clientX, event.clientY]; });
  canvas.addEventListener("click", (event) => {
    const isDrag = pressed && Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 4;
    if (!isDrag) on.picked(hitAt(event));
  });
  canvas.ondblclick = (event) => {
    const hit = hitAt(event);
    if (hit) on.zoomed(hit);
    else view.show(0, 1);
  };
  box.addEventListener("scroll", draw);
  // Shows a stretch of time with a margin, and scrolls to a place.
  const reveal = (from, to, margin, top) => {
    view.show((from - margin) / length, (to + margin) / length);
    if (top !== undefined && (top < box.scrollTop || top + 60 > box.scrollTop + box.clientHeight))
      box.scrollTop = Math.max(0, top - box.clientHeight / 3);
  };
  // Keys of the drawing; with Shift, arrows go from one thing to the next. Enter on a button is its own.
  const keys = (step, down, own, isOwn = () => false) => {
    const shifted = (usual, other) => (event) => (event && event.shiftKey ? other() : usual());
    const scrollBy = (by) => () => { box.scrollTop += by; };
    const all = { ...view.keys, ...own,
      ArrowLeft: shifted(view.keys.ArrowLeft, () => step(-1, 0)),
      ArrowRight: shifted(view.keys.ArrowRight, () => step(1, 0)),
      ArrowUp: shifted(scrollBy(-80), () => step(down, -1)),
      ArrowDown: shifted(scrollBy(80), () => step(down, 1)) };
    const isButton = (event) => event.key === "Enter" && event.target.closest("button");
    return Object.fromEntries(Object.entries(all).map(([key, act]) => [key, (event) => {
      const target = event && event.target.closest && (isButton(event) || isOwn(event));
      if (!target) act(event);
      else if (key === "Enter") event.target.click();
    }]));
  };
  const buttons = [["+", "Zoom in", "+"], ["−", "Zoom out", "-"], ["Whole log", "Whole log", 0]]
    .map(([text, label, key]) => {
      const made = tools.button(text, view.keys[key]);
      made.setAttribute("aria-label", label);
      return made;
    });
  return { canvas, foot, view, length, moment, left, range, layout, draw, reveal, keys, buttons };
};
