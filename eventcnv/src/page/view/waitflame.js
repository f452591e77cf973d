// The tab of the flame of waits: pseudo-stacks over time, and merged.
//
//   pieces (row, time, node) ─▶ for each pixel the piece that takes most of it ─▶ frames, which are
//   equal neighbours at one depth ─▶ the canvas; a piece that is picked ─▶ details, with links
//   waitstacks.js: the pieces and their stacks; waitmerged.js: the merged flame
//
// Text of the log becomes text and attributes, never markup.
"use strict";
const waitFlameTab = (root, data, page) => {
  const { node, count, css, fit, scale, viewport, changed } = page;
  const [ROW, GAP, HEAD, FOOT] = [18, 12, 17, 26]; // Heights in pixels.
  const MOST_MIN = 260; // The rows may take this height in any window.
  const NARROW = 640; // Below this width, names of rows lie above them.
  const LETTER = 6.4; // The width of a letter in a frame, about.
  const FONT = "11px ui-monospace, \"DejaVu Sans Mono\", Menlo, Consolas, monospace";
  const tools = tabTools(root, { isNs: data.isNs, time: 0 }, [], page);
  const { time, many, button, brief, middle, section } = tools;
  const stacks = waitStacks(data, page);
  const { NONE, CLASSES, WORDS, KINDS, nodes, pieces, paths, rows, shownRows } = stacks;
  const { endOf, look, nameOf, stackOf, firstAfter, stretchOf } = stacks;
  const merged = waitMerged(data, stacks, tools, page);
  const box = node("div", undefined, "lanes");
  const canvas = node("canvas");
  const room = node("div");
  const foot = node("canvas", undefined, "axis");
  const tip = node("p", "Point at a frame to read about it.", "note");
  const note = node("p", undefined, "note");
  const details = node("div");
  const search = node("input");
  const found = { names: null, text: node("span", undefined, "soft") };
  const rangeText = node("span", undefined, "soft");
  room.append(canvas);
  box.append(room);
  canvas.tabIndex = 0;
  canvas.role = "img";
  const length = data.length || 1;
  const { timeBy, drawAxis } = scale(data.isNs ? length / 1e9 : length, data.isNs);
  const unit = data.isNs ? 1e9 : 1;
  const moment = (at) => timeBy(at / unit, data.isNs ? 1e-9 : 1);
  const tints = new Map();
  const tint = (name) => {
    if (!tints.has(name)) tints.set(name, css(name));
    return tints.get(name);
  };
  const { label, fitted, stripe } = barPaint(tint, brief);
  let isNarrow = false;
  const left = () => (isNarrow ? 0 : 168);
  let tops = new Map();
  let hits = [];
  let picked = null; // { i, depth }
  const view = viewport(canvas, Math.min(1, (data.isNs ? 1000 : 10) / length), left, () => draw(),
    (by) => { box.scrollTop -= by; });

  const layout = () => {
    isNarrow = box.clientWidth < NARROW;
    tops = new Map();
    let at = 4;
    for (const row of shownRows) {
      tops.set(row.at, at + (isNarrow ? HEAD : 0));
      at += (isNarrow ? HEAD : 0) + row.depth * ROW + GAP;
    }
    const tall = Math.min(at, Math.max(MOST_MIN, Math.round(window.innerHeight * 0.64)));
    box.style.height = `${tall + 2}px`;
    room.style.height = `${at}px`;
    canvas.style.height = `${tall}px`;
  };
  // For each pixel the piece that takes most of it.
  const columnsOf = (row, from, to, inner) => {
    const columns = new Int32Array(inner).fill(-1);
    const most = new Float64Array(inner);
    const each = (to - from) / inner;
    for (let n = firstAfter(row.pieces, from); n < row.pieces.length; n += 1) {
      const i = row.pieces[n];
      if (pieces.begins[i] >= to) break;
      const [begin, end] = [(pieces.begins[i] - from) / each, (endOf(i) - from) / each];
      for (let x = Math.max(0, Math.floor(begin)); x < Math.min(inner, end); x += 1) {
        const part = Math.min(end, x + 1) - Math.max(begin, x);
        if (part > most[x]) [columns[x], most[x]] = [i, part];
      }
    }
    return columns;
  };
  const paint = (context, kind, x, y, wide, tall) => {
    context.fillStyle = tint(`--flame-${CLASSES[kind]}`);
    context.fillRect(x, y, wide > 3 ? wide - 0.6 : wide, tall);
    if (kind === 2) stripe(context, 2, x, y, wide, tall);
    if (kind === 4) stripe(context, 3, x, y, wide, tall);
    if (kind < 5 || wide < 4) return;
    context.strokeStyle = tint("--soft");
    context.lineWidth = 1;
    context.setLineDash(kind === 5 ? [4, 3] : [1, 3]);
    context.strokeRect(x + 0.5, y + 0.5, wide - 1.6, tall - 1);
    context.setLineDash([]);
  };
  const drawRow = (context, row, from, to, inner, top, height) => {
    const base = tops.get(row.at) - top;
    if (base > height || base + row.depth * ROW < 0) return;
    const columns = columnsOf(row, from, to, inner);
    const stackAt = columns.length ? Array.from(columns, (i) => (i < 0 ? [] : stackOf(pieces.nodes[i]))) : [];
    for (let depth = 0; depth < row.depth; depth += 1) {
      const y = base + depth * ROW;
      if (y + ROW < 0 || y > height) continue;
      for (let x = 0; x < inner; x += 1) {
        const own = stackAt[x][depth];
        if (own === undefined) continue;
        const begin = x;
        while (x + 1 < inner && stackAt[x + 1][depth] === own) x += 1;
        const [at, wide, tall] = [left() + begin, x + 1 - begin, ROW - 1];
        const kind = look(nodes.kinds[own]);
        context.globalAlpha = found.names && !found.names.has(nodes.names[own]) ? 0.25 : 1;
        paint(context, kind, at, y, wide, tall);
        const letters = Math.floor((wide - 8) / LETTER);
        if (letters >= 3) {
          const text = fitted(nameOf(own), letters);
          context.textAlign = "left";
          context.fillStyle = label(tint(`--flame-${CLASSES[kind]}`));
          if (kind === 2 || kind === 4) {
            context.fillStyle = tint("--card");
            context.fillRect(at + 3, y + 2, context.measureText(text).width + 3, tall - 4);
            context.fillStyle = tint("--ink");
          }
          context.fillText(text, at + 4, y + tall / 2 + 4);
        }
        context.globalAlpha = 1;
        if (picked && picked.depth === depth && columns.slice(begin, x + 1).includes(picked.i)) {
          context.strokeStyle = tint("--ink");
          context.lineWidth = 2;
          context.strokeRect(at + 1, y + 1, Math.max(2, wide - 2), tall - 2);
        }
        hits.push({ x: at, y, wide, tall, row, depth, own, columns });
      }
    }
  };
  const draw = () => {
    if (!box.offsetParent) return;
    layout();
    tints.clear();
    const [context, width, height] = fit(canvas);
    const [from, to] = view.range.map((part) => part * length);
    const inner = Math.max(10, Math.floor(width - left()));
    hits = [];
    context.clearRect(0, 0, width, height);
    context.font = FONT;
    const top = box.scrollTop;
    for (const row of shownRows) drawRow(context, row, from, to, inner, top, height);
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "left";
    for (const row of shownRows) {
      const y = tops.get(row.at) - top - (isNarrow ? HEAD : 0);
      context.fillStyle = tint("--line");
      context.fillRect(0, y - GAP / 2, width, 1);
      context.fillStyle = tint("--soft");
      const most = Math.floor((isNarrow ? width : left() - 8) / 6.3);
      const letters = [...row.name];
      context.fillText(letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : row.name, 0, y + 12,
        isNarrow ? width : left() - 8);
    }
    const [below, wide, tall] = fit(foot);
    below.clearRect(0, 0, wide, tall);
    below.font = "12px system-ui, sans-serif";
    const labels = drawAxis(below, from / unit, (to - from) / unit, [left(), inner], [2, FOOT]);
    const step = (to - from) / 1e4 / unit;
    rangeText.textContent = [from, to].map((at) => timeBy(at / unit, step)).join(" to ");
    const said = document.documentElement.dataset;
    [said.flamerange, said.flameaxis, said.frames] = [`${from} ${to}`, labels.join("|"), hits.length];
    changed();
  };
  const hitAt = (event) => {
    const at = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - at.left, event.clientY - at.top];
    const hit = hits.find((one) => x >= one.x && x < one.x + one.wide && y >= one.y && y < one.y + one.tall);
    return hit && { ...hit, i: hit.columns[Math.floor(x - left())] };
  };
  const tell = ({ i, depth, own, row }) => {
    const [from, to] = stretchOf(i, depth);
    return `${middle(nameOf(own))}: ${time(to - from)} at ${moment(from)}, ` +
      `${WORDS[look(nodes.kinds[own])]}, ${row.name}`;
  };
  view.pointed = (event) => {
    const hit = hitAt(event);
    tip.textContent = hit ? tell(hit) : moment((view.range[0] + view.place(event) *
      (view.range[1] - view.range[0])) * length);
  };
  let pressed = null;
  canvas.addEventListener("pointerdown", (event) => { pressed = [event.clientX, event.clientY]; });
  canvas.addEventListener("click", (event) => {
    const isDrag = pressed && Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 4;
    if (!isDrag) pick(hitAt(event));
  });
  canvas.ondblclick = (event) => {
    const hit = hitAt(event);
    if (hit) reveal(...stretchOf(hit.i, hit.depth));
    else view.show(0, 1);
  };
  box.addEventListener("scroll", () => draw());
  const reveal = (from, to, row) => {
    const margin = Math.max(to - from, 20) * 0.1;
    view.show((from - margin) / length, (to + margin) / length);
    const at = tops.get(row);
    if (at === undefined) return;
    if (at < box.scrollTop || at + 60 > box.scrollTop + box.clientHeight)
      box.scrollTop = Math.max(0, at - box.clientHeight / 3);
  };

  const pathName = (at) => `${paths[at].name}: ${KINDS[paths[at].kind]}`;
  const goToPath = (at) => {
    const path = paths[at];
    const all = rows[path.row].pieces;
    const first = all.find((i) => pieces.paths[i] === at);
    if (first !== undefined) pick({ i: first, depth: 0 });
    reveal(path.begin, path.begin + path.length, path.row);
  };
  const drawDetails = () => {
    details.replaceChildren();
    if (!picked) return details.append(node("p", "Click a frame for its details.", "note"));
    const { i, depth } = picked;
    const stack = stackOf(pieces.nodes[i]);
    const list = node("dl");
    const line = (title, ...values) => {
      const made = node("dd");
      made.append(...values);
      list.append(node("dt", title), made);
    };
    details.append(node("h3", middle(nameOf(stack[Math.min(depth, stack.length - 1)]))), list);
    const [from, to, parts] = stretchOf(i, Math.min(depth, stack.length - 1));
    line("Begin", moment(from));
    line("Duration", `${time(to - from)}${parts > 1 ? `, in ${count(parts)} stacks` : ""}`);
    if (parts > 1) line("This stack", `${time(pieces.lengths[i])} at ${moment(pieces.begins[i])}`);
    if (pieces.counts[i] > 1) line("Merged", `${many(pieces.counts[i], "short stack")} are one here; the longest is told`);
    line("Spent on", data.shares[pieces.shares[i]] || "unknown");
    const laneLink = (number, at) => (page.hasLane(number)
      ? button(`thread number ${number}, at ${moment(at)}`, () => page.showLane(number, at), "link")
      : `thread number ${number}`);
    const [thread, waker, other, path] = [pieces.threads[i], pieces.wakers[i], pieces.others[i], pieces.paths[i]];
    if (thread) line("At the top", laneLink(thread, pieces.begins[i]));
    if (waker) line("Waker", laneLink(waker, endOf(i)));
    if (other !== NONE) line("That work", button(pathName(other), () => goToPath(other), "link"));
    if (path !== NONE) {
      const own = paths[path];
      line("Control path", `${pathName(path)}; ${time(own.length)} from ${moment(own.begin)} on`);
      if (own.waker) line("Set to work by", laneLink(own.waker, own.begin));
      if (own.parent !== NONE) line(own.kind === 2 ? "Caused by" : "Waited for by",
        button(pathName(own.parent), () => goToPath(own.parent), "link"));
    }
    const frames = node("ol", undefined, "path");
    stack.forEach((at, deep) => {
      const item = node("li");
      item.append(button(brief(nameOf(at)), () => pick({ i, depth: deep })));
      frames.append(item);
    });
    line("Stack", frames);
    details.append(button("Zoom to it", () => reveal(from, to, pieces.rows[i])));
  };
  const pick = (thing) => {
    picked = thing && thing.i >= 0 ? { i: thing.i, depth: thing.depth } : null;
    draw();
    drawDetails();
    changed();
  };
  const step = (by, deeper) => {
    const [from, to] = view.range.map((part) => part * length);
    if (!picked) {
      const i = shownRows.flatMap((row) => row.pieces).find((one) => endOf(one) > from && pieces.begins[one] < to);
      return pick(i === undefined ? null : { i, depth: 0 });
    }
    const depth = Math.max(0, Math.min(stackOf(pieces.nodes[picked.i]).length - 1, picked.depth + deeper));
    const all = rows[pieces.rows[picked.i]].pieces;
    const [begin, end] = stretchOf(picked.i, depth);
    const next = by === 0 ? picked.i : by > 0 ? all.find((one) => pieces.begins[one] >= end)
      : all.findLast((one) => endOf(one) <= begin);
    if (next === undefined) return;
    pick({ i: next, depth: Math.min(depth, stackOf(pieces.nodes[next]).length - 1) });
    if (endOf(next) < from || pieces.begins[next] > to) reveal(pieces.begins[next], endOf(next), pieces.rows[next]);
  };

  const find = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    found.names = words.length ? new Set() : null;
    if (words.length) data.names.forEach((name, at) => {
      if (words.every((word) => name.toLowerCase().includes(word))) found.names.add(at);
    });
    const ns = words.length ? pieces.nodes.reduce((sum, own, i) =>
      sum + (stackOf(own).some((at) => found.names.has(nodes.names[at])) ? pieces.lengths[i] : 0), 0) : 0;
    found.text.textContent = words.length ? `${many(found.names.size, "name")}, ${time(ns)} in all rows` : "";
    draw();
    merged.mark(found.names);
  };
  const shifted = (usual, other) => (event) => (event && event.shiftKey ? other() : usual());
  const scrollBy = (by) => { box.scrollTop += by; };
  const keys = { ...view.keys, "/": () => search.focus(),
    ArrowLeft: shifted(view.keys.ArrowLeft, () => step(-1, 0)),
    ArrowRight: shifted(view.keys.ArrowRight, () => step(1, 0)),
    ArrowUp: shifted(() => scrollBy(-80), () => step(0, -1)),
    ArrowDown: shifted(() => scrollBy(80), () => step(0, 1)),
    Enter: () => { if (picked) reveal(...stretchOf(picked.i, picked.depth).slice(0, 2), pieces.rows[picked.i]); },
    Escape: () => pick(null) };
  // Keys of the merged flame and of buttons are their own.
  const isOwn = (event) => event && event.target.closest &&
    (event.target.closest("#merged") || (event.key === "Enter" && event.target.closest("button")));

  search.id = "frameSearch";
  search.type = "search";
  search.placeholder = "Search names of frames";
  search.setAttribute("aria-label", "Search frames");
  search.oninput = find;
  canvas.id = "waitFlame";
  canvas.setAttribute("aria-label", "Who waited for whom over time; arrow keys move, plus and minus zoom, 0 " +
    "shows all, Shift and arrow keys go from frame to frame, Enter zooms to a frame");
  for (const live of [tip, details, found.text]) live.setAttribute("aria-live", "polite");
  details.id = "stack";
  found.text.id = "frameHits";
  note.id = "flameNotes";
  const legend = node("div", undefined, "row legend");
  const used = new Set(Array.from(nodes.kinds, look));
  CLASSES.forEach((name, kind) => {
    if (!used.has(kind)) return;
    const made = node("span", undefined, "swatch");
    made.append(node("i", undefined, `f-${name}`), WORDS[kind]);
    legend.append(made);
  });
  const notes = [];
  if (data.width) notes.push(`${count(data.count)} stacks are ${count(pieces.begins.length)} pieces here: those ` +
    `that begin within ${time(data.width)} in a row are one, with the frames of the longest. The merged flame has ` +
    "the times of all. For a part of the time in full: eventcnv report --from TIME --to TIME.");
  const [leftNodes, leftTime, leftPaths] = data.left;
  if (leftNodes) notes.push(`${many(leftNodes, "frame")} with little time ${leftNodes === 1 ? "is" : "are"} left out; ` +
    `${time(leftTime)} of them count for the frames below.`);
  if (leftPaths) notes.push(`${many(leftPaths, "control path")} more are in the log.`);
  note.textContent = notes.join(" ");
  const [, row] = section("Who waited for whom, over time", legend, box, foot, tip,
    node("p", "A frame waits for the one below it, or calls it; the lowest runs, or is waited for. Wheel or + − zoom, " +
      "drag or arrow keys move, 0 shows all, / searches; Shift and arrow keys go from frame to frame, Enter or a " +
      "double click zooms to a frame.", "note"), note);
  const tight = [["+", "Zoom in", view.keys["+"]], ["−", "Zoom out", view.keys["-"]],
    ["Whole log", "Whole log", view.keys[0]]].map(([text, said, act]) => {
    const made = button(text, act);
    made.setAttribute("aria-label", said);
    return made;
  });
  row.append(rangeText, search, found.text, ...tight);
  section("Details", details);
  section("Who waited for whom, merged", merged.merged)[1].append(...merged.controls);
  merged.draw();
  drawDetails();
  new ResizeObserver(() => draw()).observe(box);

  return { search, find, draw,
    has: (number, ns) => number > 0 && stacks.at(number, ns) !== undefined,
    go: (number, ns) => {
      const i = stacks.at(number, ns);
      if (i === undefined) return;
      pick({ i, depth: stackOf(pieces.nodes[i]).length - 1 });
      reveal(pieces.begins[i], endOf(i), pieces.rows[i]);
      canvas.focus({ preventScroll: true });
    },
    keys: Object.fromEntries(Object.entries(keys).map(([key, act]) => [key, (event) => {
      if (!isOwn(event)) act(event);
      else if (key === "Enter") event.target.click();
    }])),
    // The range and the picked piece, as the address has them.
    place: () => {
      const range = view.range.map((part) => Math.round(part * length));
      const isWhole = view.range[0] <= 0 && view.range[1] >= 1;
      return isWhole && !picked ? "" : range.join("-") + (picked ? `-${picked.i}-${picked.depth}` : "");
    },
    showAt: (text) => {
      const [from, to, i, depth] = text.split("-").map(Number);
      if (Number.isInteger(i) && i >= 0 && i < pieces.begins.length)
        pick({ i, depth: Math.max(0, Math.min(depth || 0, stackOf(pieces.nodes[i]).length - 1)) });
      if (from < to) view.show(from / length, to / length);
    } };
};
