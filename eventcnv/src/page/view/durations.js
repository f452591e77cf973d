// The tab of durations: how long slices lasted, the slowest of each name, and how they lie in each other.
//
//   rows ─▶ table ─▶ a row that is picked ─▶ its slowest bars of the lanes ─▶ what else ran meanwhile
//   nodes (paths of names) ─▶ flamegraph.js
//
// Text of the log becomes text and attributes, never markup.
"use strict";
const durationsTab = (root, data, page) => {
  const { node, count, sortTable, changed, fit, css, lanes: { chart } } = page;
  const [LISTED_MAX, SLOWEST_MAX, OTHERS_MAX, SMALL_MAX] = [300, 8, 6, 8];
  const ODD = ["that ended after a slice around their beginning", "with events missing in between",
    "that began again before they ended", "without an end in the log", "that gave way, as too many were open",
    "without a beginning in the log"];
  const { nodes } = data;
  const rows = data.rows.map(({ percentiles, ...row }, at) => {
    const [p50, p90, p99] = percentiles;
    return { at, ...row, p50, p90, p99, own: 0 };
  });
  nodes.functions.forEach((of, at) => { rows[of].own += nodes.owns[at]; });
  const tools = tabTools(root, data, rows, page);
  const { time, many, button, nameOf, section, share } = tools;
  let found = null; // The rows that the search finds.
  let picked = rows.length ? 0 : null;
  const [search, hits] = [node("input"), node("span", undefined, "soft")];
  const [table, listed, slowest] = [node("table"), node("p", undefined, "note"), node("div", undefined, "about")];
  const sorted = { by: "total", down: true };

  // Bars: the counts of durations by powers of two, on one axis for all rows.
  const octave = (from) => (from < 1 ? 0 : Math.floor(Math.log2(from)) + 1);
  const octaves = rows.flatMap(({ bars }) => bars.map(([from]) => octave(from)));
  const [least, most] = octaves.reduce(([a, b], at) => [Math.min(a, at), Math.max(b, at)], [64, 0]);
  const drawBars = (canvas, { bars, p50 }) => {
    const [context, width, height] = fit(canvas);
    const step = width / (most - least + 1);
    const top = bars.reduce((all, [, n]) => Math.max(all, n), 1);
    context.fillStyle = css("--line");
    context.fillRect(0, height - 1, width, 1);
    for (const [from, n] of bars) {
      const tall = Math.max(2, (n / top) * height);
      context.fillStyle = css(octave(from) === octave(p50 ?? -1) ? "--accent" : "--many");
      context.fillRect((octave(from) - least) * step, height - tall, Math.max(1, step - 1), tall);
    }
  };
  const COLUMNS = tools.named([["name", "Slice", "", true], ["count", "Count", ""], ["total", "Total", ""],
    ["p50", "p50", ""], ["p90", "p90", ""], ["p99", "p99", ""], ["max", "Longest", ""],
    ["", octaves.length ? `${time(least ? 2 ** (least - 1) : 0)} to ${time(2 ** most)}` : "Histogram", "", true]],
  { name: "slice", count: "count", "": "" });
  const drawTable = () => {
    const shown = rows.filter(({ at }) => !found || found.has(at));
    const canvases = [];
    sortTable(table, COLUMNS, shown, sorted, drawTable, LISTED_MAX, (row, one) => {
      row.className = "pick" + (picked === one.at ? " picked" : "");
      row.onclick = () => pick(one.at);
      row.onkeydown = tools.onPress(() => pick(one.at));
      const name = node("td", undefined, "left name");
      name.append(nameOf(one.name));
      const about = one.isExact ? "" : "≈ ";
      row.append(name, node("td", count(one.count)), node("td", one.count ? time(one.total) : "–"),
        ...[one.p50, one.p90, one.p99].map((ns) => node("td", ns === null ? "–" : about + time(ns))),
        node("td", time(one.max)));
      const [cell, canvas] = [node("td", undefined, "left"), node("canvas")];
      canvas.role = "img";
      canvas.ariaLabel = cell.title = one.bars.map(([from, n]) => `${count(n)} from ${time(from)}`).join(", ");
      if (one.bars.length) cell.append(canvas);
      row.append(cell);
      canvases.push([canvas, one]);
    });
    if (table.offsetParent) canvases.filter(([, { bars }]) => bars.length).forEach((one) => drawBars(...one));
    const notes = [];
    if (shown.length > LISTED_MAX) notes.push(`The first ${LISTED_MAX} of ${count(shown.length)} names: search or sort.`);
    if (data.left) notes.push(`${many(data.left, "more name")} with less time ${page.are(data.left)} not on this page.`);
    if (rows.some(({ isExact }) => !isExact)) notes.push("≈ is at most a thousandth too high.");
    listed.textContent = notes.join(" ");
  };

  // The time that is in any of these parts of it: a name may lie in itself.
  const lengthOf = (parts) => parts.sort((a, b) => a[0] - b[0]).reduce(([sum, until], [begin, end]) =>
    [sum + Math.max(0, end - Math.max(begin, until)), Math.max(until, end)], [0, -Infinity])[0];
  // What other threads did while a bar lasted: by thread, the names that took the most of it.
  const { bars, lanes } = chart;
  const overlaps = (i, isWanted) => {
    const [from, to] = [bars.begins[i], bars.begins[i] + bars.lengths[i]];
    const all = new Map();
    bars.begins.forEach((begin, other) => {
      const part = Math.min(to, begin + bars.lengths[other]) - Math.max(from, begin);
      const lane = chart.laneOf(bars, other);
      if (data.rowOf[bars.names[other]] === null) return; // A part of an answer.
      if (part < 0 || (part === 0 && bars.lengths[other]) || !isWanted(lane, other)) return;
      const key = `${lane} ${bars.names[other]}`;
      const one = all.get(key) || { lane, first: other, parts: [], n: 0 };
      one.parts.push([Math.max(from, begin), Math.min(to, begin + bars.lengths[other])]);
      one.n += 1;
      all.set(key, one);
    });
    const found = [...all.values()].map(({ parts, ...one }) => ({ ...one, part: lengthOf(parts) }));
    return found.sort((a, b) => b.part - a.part);
  };
  const isSame = (a, b) => a === b || (lanes[a].number > 0 && lanes[a].number === lanes[b].number &&
    lanes[a].pid === lanes[b].pid);
  const listOf = (all, isNamed) => {
    const made = node("span");
    all.slice(0, OTHERS_MAX).forEach((one, at) => made.append(at ? "; " : "",
      isNamed ? `${lanes[one.lane].name}: ` : "", button(chart.nameOf(bars, one.first), () => page.showBar(one.first), "link"),
      ` ${one.n > 1 ? `${count(one.n)} times, ` : ""}${time(one.part)}`));
    if (all.length > OTHERS_MAX) made.append(`; and ${count(all.length - OTHERS_MAX)} more`);
    return made;
  };
  const drawOne = (i, isOpen) => {
    const [made, list] = [node("details"), node("dl")];
    const lane = chart.laneOf(bars, i);
    made.open = isOpen;
    made.append(node("summary", `${time(bars.lengths[i])}, at ${chart.moment(bars.begins[i])}, ${lanes[lane].name}`), list);
    const row = (title, value) => {
      const cell = node("dd");
      cell.append(value);
      list.append(node("dt", title), cell);
    };
    const [begin, end] = bars.texts[i] || ["", ""];
    if (begin) row("Its beginning", node("code", begin));
    if (end) row("Its end", node("code", end));
    const isOwn = (at) => isSame(lane, at);
    const isThread = (at) => lanes[at].name.startsWith("thread ");
    const waits = overlaps(i, (at, other) => isOwn(at) && chart.classOf(other, bars) > 1);
    if (waits.length) row("Its thread waited", listOf(waits, false));
    const inner = overlaps(i, (at, other) => at === lane && other !== i && isThread(at) &&
      chart.rowOf(bars, other) > chart.rowOf(bars, i) && chart.classOf(other, bars) < 2);
    if (inner.length) row("In it", listOf(inner, false));
    const others = overlaps(i, (at) => !isOwn(at) && isThread(at));
    if (lanes.filter((one) => isThread(one.at)).length > 1) row("Meanwhile", others.length ? listOf(others, true) : "No slice of another thread is known from then.");
    made.append(button("Show in Threads", () => page.showBar(i)));
    return made;
  };
  const drawSlowest = () => {
    slowest.replaceChildren();
    if (picked === null) return;
    const one = rows[picked];
    const title = node("h3");
    title.append(nameOf(one.name));
    slowest.append(title);
    const odd = one.odd.flatMap((n, at) => (n ? [`${count(n)} ${ODD[at]}`] : []));
    if (odd.length) slowest.append(node("p", `Also of this name: ${odd.join("; ")}.`, "note"));
    const own = [...bars.names.keys()].filter((i) => data.rowOf[bars.names[i]] === picked &&
      chart.flagOf(bars, i) < 2).slice(0, SLOWEST_MAX);
    if (!own.length) slowest.append(node("p", one.count ? "The page has none of them on its own." : "None has a duration.", "note"));
    slowest.append(...own.map((i, at) => drawOne(i, !at)));
    if (own.length && chart.cells.counts.some((n) => n > 1)) slowest.append(node("p", "Named are slices with bars of their own; " +
      "the tab of threads merges shorter ones.", "note"));
  };
  const pick = (at) => {
    picked = at;
    drawTable();
    drawSlowest();
    changed();
  };
  const flame = flameGraph(data, rows, tools, page, pick, { id: "ownFlame", zoomed: "ownPath", all: "all slices",
    things: "Slices", hasHot: false, none: "No slice with a time to draw.",
    explain: "Each bar is a name, and lies below the slices around it. Its width is its time with all slices in it, " +
      "added over all threads; slices on the same path are one bar. The warmer the colour, the more time the name has of " +
      "its own. Click a bar to zoom; arrow keys move, Esc zooms out, / searches.",
    tell: (at) => `${tools.middle(rows[nodes.functions[at]].name)}: ${share(nodes.weights[at])} of the time, ` +
      `${time(nodes.weights[at])} in ${many(nodes.counts[at], "slice")} on this path; ${time(nodes.owns[at])} of it its own` });
  const find = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = ({ name }) => words.every((word) => name.toLowerCase().includes(word));
    found = words.length ? new Set(rows.filter(has).map(({ at }) => at)) : null;
    hits.textContent = found ? many(found.size, "name") : "";
    drawTable();
    if (data.time) flame.mark(found);
    changed();
  };
  // The next row of the table, up or down.
  const step = (by) => () => {
    const all = [...table.tBodies[0].rows];
    const next = all[Math.max(0, Math.min(all.length - 1, all.findIndex((row) => row.classList.contains("picked")) + by))];
    if (!next) return;
    next.click();
    table.querySelector("tr.picked").focus();
  };

  tools.prepare(search, "pairSearch", "names of slices", find, hits, "pairHits");
  table.id = "durations";
  slowest.id = "slowest";
  const scroll = node("div", undefined, "scroll");
  scroll.append(table);
  const [, row] = section("Durations", scroll, node("p", "The bars count durations by powers of two, on one axis for " +
    "all rows; the blue one has the median. Click a row for its slowest slices.", "note"), listed);
  row.append(search, hits);
  section("The slowest", slowest);
  if (data.time) flame.fill(...section("Flame graph"));
  // Small bars of the first rows for the tab of events, each a button that leads here.
  const small = rows.filter(({ bars }) => bars.length).slice(0, SMALL_MAX).map((one) => {
    const made = button(undefined, () => { page.open(); pick(one.at); }, "small");
    const canvas = node("canvas");
    canvas.ariaHidden = "true";
    made.append(node("b", `${time(one.p50)} · p99 ${time(one.p99)}`), node("span", `${one.name}, ${many(one.count, "time")}`, "soft"), canvas);
    made.title = one.name;
    return { made, canvas, one };
  });
  const draw = () => {
    drawTable();
    for (const { canvas, one } of small) if (canvas.offsetParent) drawBars(canvas, one);
  };
  const [first] = rows;
  const tail = (part, text) => (part === null ? "" : text + time(part));
  if (first.count) tools.lead(`${tools.middle(first.name)} took the most time: ${time(first.total)}, ${many(first.count, "time")}` +
    `${tail(first.p50, ", half of them at most ")}${first.count > 1 ? tail(first.max, ", the longest ") : ""}`);
  else tools.lead("No slice has a known duration: their ends, or events in between, are not in the log.");
  drawSlowest();
  new ResizeObserver(draw).observe(scroll);
  return { search, find, draw, small: small.map(({ made }) => made), keys: { "/": () => search.focus(), ArrowDown: step(1), ArrowUp: step(-1) },
    place: () => (picked ? String(picked) : ""), showAt: (text) => pick(rows[text] ? Number(text) : rows.length ? 0 : null) };
};
