// The tab of the flame of waits: pseudo-stacks over time, and merged.
//
//   pieces (row, time, node) ─▶ for each pixel the piece that takes most of it ─▶ frames, which are
//   equal neighbours at one depth ─▶ the canvas; a piece that is picked ─▶ details, with links
//   waitstacks.js: the pieces and their stacks; waitmerged.js: the merged flame
//
// Text of the log becomes text and attributes, never markup.
"use strict";
const waitFlameTab = (root, data, page) => {
  const { node, count, css, changed } = page;
  const [ROW, GAP] = [18, 12]; // Heights in pixels.
  const LETTER = 6.4; // The width of a letter in a frame, about.
  const tools = tabTools(root, { isNs: data.isNs, time: 0 }, [], page);
  const { time, many, button, brief, middle, section, prepare, legendOf } = tools;
  const stacks = waitStacks(data, page);
  const { NONE, CLASSES, WORDS, KINDS, nodes, pieces, paths, rows, shownRows } = stacks;
  const { endOf, look, nameOf, stackOf, firstAfter, stretchOf } = stacks;
  const merged = waitMerged(data, stacks, tools, page);
  const box = node("div", undefined, "lanes");
  const tip = node("p", "Point at a frame to read about it.", "note hint");
  const note = node("p", undefined, "note");
  const details = node("div", undefined, "about");
  const search = node("input");
  const found = { names: null, text: node("span", undefined, "soft") };
  const rangeText = node("span", undefined, "soft");
  const { label, fitted, stripe } = barPaint(brief);
  let head = 0; // The height of a name above a row.
  let tops = new Map();
  let hits = [];
  let picked = null; // { i, depth }

  const layout = (above) => {
    head = above;
    tops = new Map();
    let at = 4;
    for (const row of shownRows) {
      tops.set(row.at, at + head);
      at += head + row.depth * ROW + GAP;
    }
    return at;
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
    context.fillStyle = css(`--flame-${CLASSES[kind]}`);
    context.fillRect(x, y, wide > 3 ? wide - 0.6 : wide, tall);
    if (kind === 2) stripe(context, 2, x, y, wide, tall);
    if (kind === 4) stripe(context, 3, x, y, wide, tall);
    if (kind < 5 || wide < 4) return;
    context.strokeStyle = css("--soft");
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
          context.fillStyle = label(css(`--flame-${CLASSES[kind]}`));
          if (kind === 2 || kind === 4) {
            context.fillStyle = css("--card");
            context.fillRect(at + 3, y + 2, context.measureText(text).width + 3, tall - 4);
            context.fillStyle = css("--ink");
          }
          context.fillText(text, at + 4, y + tall / 2 + 4);
        }
        context.globalAlpha = 1;
        if (picked && picked.depth === depth && columns.slice(begin, x + 1).includes(picked.i)) {
          context.strokeStyle = css("--ink");
          context.lineWidth = 2;
          context.strokeRect(at + 1, y + 1, Math.max(2, wide - 2), tall - 2);
        }
        hits.push({ x: at, y, wide, tall, row, depth, own, columns });
      }
    }
  };
  const drawAll = ({ context, width, height, from, to, inner, top }) => {
    hits = [];
    for (const row of shownRows) drawRow(context, row, from, to, inner, top, height);
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "left";
    for (const row of shownRows) {
      const y = tops.get(row.at) - top - head;
      context.fillStyle = css("--line");
      context.fillRect(0, y - GAP / 2, width, 1);
      context.fillStyle = css("--soft");
      const most = Math.floor((head ? width : left() - 8) / 6.3);
      const letters = [...row.name];
      context.fillText(letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : row.name, 0, y + 12,
        head ? width : left() - 8);
    }
  };
  const drawn = ({ from, to, labels, ends }) => {
    rangeText.textContent = ends.join(" to ");
    const said = document.documentElement.dataset;
    [said.flamerange, said.flameaxis, said.frames] = [`${from} ${to}`, labels.join("|"), hits.length];
    changed();
  };
  const hitAt = (x, y) => {
    const hit = hits.find((one) => x >= one.x && x < one.x + one.wide && y >= one.y && y < one.y + one.tall);
    return hit && { ...hit, i: hit.columns[Math.floor(x - left())] };
  };
  const tell = ({ i, depth, own, row }) => {
    const [from, to] = stretchOf(i, depth);
    return `${middle(nameOf(own))}: ${time(to - from)} at ${moment(from)}, ` +
      `${WORDS[look(nodes.kinds[own])]}, ${row.name}`;
  };
  const flame = scene(box, data, tools, page, { least: 260, layout, draw: drawAll, drawn, hitAt,
    pointed: (hit, at) => { tip.textContent = hit ? tell(hit) : moment(at); },
    picked: (hit) => pick(hit),
    zoomed: (hit) => reveal(...stretchOf(hit.i, hit.depth)) });
  const { canvas, left, moment, range, draw } = flame;
  const reveal = (from, to, row) => flame.reveal(from, to, Math.max(to - from, 20) * 0.1, tops.get(row));

  const pathName = (at) => `${paths[at].name}: ${KINDS[paths[at].kind]}`;
  const goToPath = (at) => {
    const path = paths[at];
    const all = rows[path.row].pieces;
    const first = all.find((i) => pieces.paths[i] === at);
    page.leave();
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
    const [from, to] = range();
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
  // Keys of the merged flame are its own.
  const keys = flame.keys(step, 0, { "/": () => search.focus(),
    Enter: () => { if (picked) reveal(...stretchOf(picked.i, picked.depth).slice(0, 2), pieces.rows[picked.i]); },
    Escape: () => pick(null) }, (event) => event.target.closest("#merged"));

  prepare(search, "frameSearch", "names of frames", find, found.text, "frameHits");
  canvas.id = "waitFlame";
  canvas.setAttribute("aria-label", "Who waited for whom over time; arrow keys move, plus and minus zoom, 0 " +
    "shows all, Shift and arrow keys go from frame to frame, Enter zooms to a frame");
  for (const live of [tip, details]) live.setAttribute("aria-live", "polite");
  details.id = "stack";
  note.id = "flameNotes";
  const used = new Set(Array.from(nodes.kinds, look));
  const legend = legendOf(CLASSES.map((name, kind) => [`f-${name}`, WORDS[kind]])
    .filter((_, kind) => used.has(kind)));
  const notes = [];
  if (data.width) notes.push(`${count(data.count)} stacks are ${count(pieces.begins.length)} pieces here: those ` +
    `that begin within ${time(data.width)} in a row are one, with the frames of the longest. The merged flame has ` +
    "the times of all. For a part of the time in full: eventcnv report --from TIME --to TIME.");
  const [leftNodes, leftTime, leftPaths] = data.left;
  if (leftNodes) notes.push(`${many(leftNodes, "frame")} with little time ${leftNodes === 1 ? "is" : "are"} left out; ` +
    `${time(leftTime)} of them count for the frames below.`);
  if (leftPaths) notes.push(`${many(leftPaths, "control path")} more are in the log.`);
  note.textContent = notes.join(" ");
  const [, row] = section("Who waited for whom, over time", legend, box, flame.foot, tip,
    node("p", "A frame waits for the one below it, or calls it; the lowest runs, or is waited for. Wheel or + − zoom, " +
      "drag or arrow keys move, 0 shows all, / searches; Shift and arrow keys go from frame to frame, Enter or a " +
      "double click zooms to a frame.", "note hint"), note);
  row.append(rangeText, search, found.text, ...flame.buttons);
  section("Details", details);
  section("Who waited for whom, merged", merged.merged)[1].append(...merged.controls);
  merged.draw();
  drawDetails();
  const spent = new Map();
  pieces.shares.forEach((of, i) => spent.set(of, (spent.get(of) || 0) + pieces.lengths[i]));
  const all = pieces.lengths.reduce((sum, length) => sum + length, 0);
  const told = [...spent].sort((a, b) => b[1] - a[1]).slice(0, 3);
  tools.lead(`${many(data.count, "stack")} in ${many(shownRows.length, "row")}: ` +
    told.map(([of, ns]) => `${tools.percentOf(ns, all)} ${data.shares[of] || "unknown"}`).join(", "));
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
    keys,
    place: () => (picked ? `${picked.i}-${picked.depth}` : ""),
    showAt: (text) => {
      const [i, depth] = /^\d+-\d+$/.test(text) ? text.split("-").map(Number) : [-1, 0];
      pick(i >= 0 && i < pieces.begins.length ? { i, depth: Math.min(depth, stackOf(pieces.nodes[i]).length - 1) } : null);
    } };
};
