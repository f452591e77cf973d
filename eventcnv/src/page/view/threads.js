// The tab of threads: lanes over time, and what a person points at, clicks, or searches.
//
//   lanes.js: the canvas ─▶ a bar that is picked ─▶ details, with links to other bars and lanes
//
// Text of the log becomes text and attributes, never markup.
"use strict";
const threadsTab = (root, data, page) => {
  const { node, count, changed } = page;
  const LISTED_MAX = 8; // Flows and bars that the details list.
  const VERDICTS = ["", "It ended after a slice that encloses its beginning.",
    "Events are missing in between: its duration is doubtful.",
    "It began again before it ended.", "It has no end in the log."];
  const tools = tabTools(root, { isNs: data.isNs, time: 0 }, [], page);
  const { time, many, button, section, prepare, legendOf } = tools;
  const box = node("div", undefined, "lanes");
  const tip = node("p", "Point at a bar to read about it.", "note hint");
  const note = node("p", undefined, "note");
  const hits = node("span", undefined, "soft");
  const search = node("input");
  const details = node("div", undefined, "about");
  const select = node("select");
  const rangeText = node("span", undefined, "soft");
  let picked = null; // { all, i }
  let matches = []; // Bars that the search finds, in order of time.
  let atMatch = -1;

  const endOf = ({ all, i }) => all.begins[i] + all.lengths[i];
  const isCell = ({ all, i }) => all !== chart.bars && all.counts[i] > 1;
  const titleOf = (thing) => {
    const { all, i } = thing;
    const name = chart.nameOf(all, i);
    if (!isCell(thing)) return name;
    const what = all === chart.ticks ? "events" : "slices";
    return `${count(all.counts[i])} ${chart.flagOf(all, i) ? what : `× ${name}`}`;
  };
  const percent = (part, all) => `${all > 0 ? Math.round((100 * part) / all) : 100}\u202f%`;
  const tell = (thing) => {
    const { all, i } = thing;
    const parts = [titleOf(thing)];
    if (isCell(thing) && all === chart.cells) {
      const pile = chart.pileOf.get(i);
      parts.push(`${percent(all.busy[i], pile.to - pile.from)} of ${time(pile.to - pile.from)}`);
      if (chart.flagOf(all, i)) parts.push(`the longest is ${chart.nameOf(all, i)}`);
    } else if (all !== chart.ticks) parts.push(time(all.lengths[i]));
    parts.push(`at ${chart.moment(all.begins[i])}`, chart.lanes[chart.laneOf(all, i)].name);
    return parts.join(", ");
  };

  const chart = laneChart(data, box, page, tools, {
    pointed: (hit, at) => { tip.textContent = hit ? tell(hit) : chart.moment(at); },
    picked: (hit) => pick(hit),
    drawn: ({ from, to, ends, labels, titles, hits: drawn, arrowCount, hidden }) => {
      rangeText.textContent = ends.join(" to ");
      const said = document.documentElement.dataset;
      said.lanerange = `${from} ${to}`;
      said.laneaxis = labels.join("|");
      said.lanenames = titles.join("|");
      said.drawn = `${drawn.length} ${arrowCount}`;
      const notes = [...fixedNotes];
      if (hidden) notes.push(`${many(hidden, "arrow")} in this range: zoom in to see them, or pick a bar.`);
      note.textContent = notes.join(" ");
      changed();
    },
  });
  const { bars, cells, ticks, arrows, lanes } = chart;

  // What the page does not have in full.
  const fixedNotes = [];
  const exact = bars.begins.length;
  const inCells = cells.counts.reduce((sum, n) => sum + n, 0);
  const merged = cells.counts.reduce((sum, n) => sum + (n > 1 ? n : 0), 0);
  const frames = "a frame has the number of its slices, and is filled as far as they took the time. For a part of the " +
    "time with all its slices, make a page of that part: eventcnv report --from TIME --to TIME.";
  if (merged && data.width > 1) fixedNotes.push(`${count(exact)} of ${many(data.sliceCount, "slice")} are bars of ` +
    "their own: the longest of each name, and the longest of all. The others are merged by stretches of " +
    `${time(data.width)}: ${frames}`);
  else if (merged) fixedNotes.push(`${many(merged, "slice")} of ${count(data.sliceCount)} begin together with others ` +
    `of their row, and are merged: ${frames}`);
  const [otherSlices, otherEvents, otherFlows] = data.elsewhere;
  if (otherSlices + otherEvents + otherFlows)
    fixedNotes.push(`${many(data.otherCount, "more thread")} with fewer events ` +
      `${data.otherCount === 1 ? "has" : "have"} no lane here: ${many(otherSlices, "slice")} and ` +
      `${many(otherEvents, "other event")} of them are not on this page.`);
  const shownFlows = arrows.tos.length;
  if (data.flowCount - otherFlows > shownFlows)
    fixedNotes.push(`${count(shownFlows)} of ${many(data.flowCount, "flow")} are arrows: those that came ` +
      "after the longest pauses of their receivers.");
  const [leftSlices, leftEvents, leftFlows] = data.left;
  if (leftSlices + leftEvents + leftFlows)
    fixedNotes.push(`No room was left for ${many(leftSlices, "slice")}, ${many(leftEvents, "event")} and ` +
      `${many(leftFlows, "flow")}.`);
  if (data.deep) fixedNotes.push(`Slices deeper than the last row, drawn in it: ${count(data.deep)}.`);
  if (lanes.some((lane) => lane.late > 0))
    fixedNotes.push("The log lacks events of a lane where the lane is hatched.");
  if (data.isPart) fixedNotes.push("A selection chose these events: slices by their beginnings.");

  // The bars around a place in time, of the lanes of the same thread, the innermost first.
  const around = (lane, at, row, isOther) => {
    const own = lanes[lane];
    const same = (other) => (isOther ? other !== own && own.number > 0 && other.number === own.number &&
      other.pid === own.pid : other === own);
    const found = [];
    for (const i of chart.order) {
      if (bars.begins[i] > at) break;
      const of = lanes[chart.laneOf(bars, i)];
      if (same(of) && bars.begins[i] + bars.lengths[i] >= at && (isOther || chart.rowOf(bars, i) < row))
        found.push({ all: bars, i });
    }
    return found.reverse().sort((a, b) => chart.rowOf(bars, b.i) - chart.rowOf(bars, a.i));
  };
  const goTo = (thing) => {
    page.leave();
    pick(thing);
    chart.reveal(thing.all.begins[thing.i], endOf(thing), chart.laneOf(thing.all, thing.i));
  };
  const linkTo = (thing) => button(titleOf(thing), () => goTo(thing), "link");
  // A link to a lane at a time: to the bar there, if one is there.
  const linkAt = (text, lane, at) => button(text, () => {
    page.leave();
    const [bar] = around(lane, at, 256, false);
    if (bar) pick(bar);
    chart.reveal(at - 500, at + 500, lane);
    chart.canvas.focus({ preventScroll: true });
  }, "link");
  const listOf = (links) => {
    const made = node("span");
    links.slice(0, LISTED_MAX).forEach((link, at) => made.append(at ? ", " : "", link));
    if (links.length > LISTED_MAX) made.append(`, and ${count(links.length - LISTED_MAX)} more`);
    return made;
  };

  const paramsOf = (text) => {
    const waker = /(?:^| )waker:(\d+)/.exec(text);
    return { text, waker: waker && Number(waker[1]) };
  };
  const drawDetails = () => {
    details.replaceChildren();
    if (!picked) return details.append(node("p", "Click a bar for its details.", "note"));
    const { all, i } = picked;
    const lane = chart.laneOf(all, i);
    const [from, to] = [all.begins[i], endOf(picked)];
    const list = node("dl");
    const row = (title, value) => {
      const made = node("dd");
      made.append(value);
      list.append(node("dt", title), made);
    };
    details.append(node("h3", titleOf(picked)), list);
    row("Begin", chart.moment(from));
    if (all !== ticks || isCell(picked)) row(isCell(picked) ? "From the first to the end of the last" : "Duration",
      `${time(to - from)}${to - from >= 1000 ? ` (${count(to - from)}\u202f${data.isNs ? "ns" : "ticks"})` : ""}`);
    if (isCell(picked) && all === cells) {
      row("Time in them", `${time(all.busy[i])}, ${time(all.busy[i] / all.counts[i])} each`);
      if (chart.flagOf(all, i)) row("The longest", chart.nameOf(all, i));
    }
    const { name, number, pid } = lanes[lane];
    const known = number > 0 && number < 0x40000000 ? `, number ${number} of process ${pid}` : "";
    row(name.startsWith("thread ") ? "Thread" : "Of", name.replace(/^thread /, "") + known);
    const verdict = all === bars ? VERDICTS[chart.flagOf(bars, i)] : "";
    if (verdict) row("Note", verdict);
    const kind = all === ticks ? 0 : chart.classOf(i, all);
    const within = all === ticks ? around(lane, from, 256, false)
      : around(lane, from, chart.rowOf(all, i), false).filter((bar) => bar.i !== i);
    if (within.length) row("Lies in", listOf(within.map(linkTo)));
    const others = around(lane, from, 256, true);
    if (others.length) row("At its beginning, the thread is in", listOf(others.map(linkTo)));
    const [begin, end] = all.texts[i] || ["", ""];
    if (begin) row(end ? "Parameters of the beginning" : "Parameters", node("code", begin));
    if (end) row("Parameters of the end", node("code", end));
    const flows = isCell(picked) ? [] : chart.flowsOf(all, i);
    const isIn = (a) => arrows.toLanes[a] === lane && arrows.tos[a] >= from && arrows.tos[a] <= to;
    const incoming = flows.filter(isIn).map((a) => linkAt(`${arrows.pairs[arrows.names[a]]} from ` +
      `${lanes[arrows.fromLanes[a]].name}, sent at ${chart.moment(arrows.froms[a])}`,
    arrows.fromLanes[a], arrows.froms[a]));
    const outgoing = flows.filter((a) => !isIn(a)).map((a) => linkAt(`${arrows.pairs[arrows.names[a]]} to ` +
      `${lanes[arrows.toLanes[a]].name}, there at ${chart.moment(arrows.tos[a])}`,
    arrows.toLanes[a], arrows.tos[a]));
    if (kind > 1 && !isCell(picked)) {
      row("Cause", chart.nameOf(all, i).replace(/^Wait /, "") || "unknown");
      const { waker } = paramsOf(end);
      const of = waker > 0 && lanes.find((other) => other.number === waker && other.slices > 0);
      if (of) row("Waker", linkAt(`${of.name}, at ${chart.moment(to)}`, of.at, to));
      else if (waker > 0) row("Waker", `thread number ${waker}, which has no lane here`);
    }
    if (incoming.length) row("Arrived in it", listOf(incoming));
    if (outgoing.length) row("Sent in it", listOf(outgoing));
    if (!isCell(picked) && !all.texts[i]) row("Parameters", "The page has no room for them.");
    const zoom = button("Zoom to it", () => chart.reveal(from, to, lane));
    details.append(zoom);
    if (page.hasFlame(number, from)) details.append(" ", button("Show its flame", () =>
      page.showFlame(number, from)));
  };
  const pick = (thing) => {
    picked = thing && { all: thing.all, i: thing.i };
    chart.pick(picked);
    drawDetails();
    changed();
  };

  // From the picked bar to the next one in its row, to the bar around it, or into it.
  const step = (by, rows) => {
    const [from, to] = chart.view.range.map((part) => part * chart.length);
    const inView = () => {
      const i = chart.order.find((at) => bars.begins[at] + bars.lengths[at] >= from && bars.begins[at] <= to);
      return i === undefined ? null : { all: bars, i };
    };
    if (!picked || picked.all !== bars) return pick(inView());
    const { i } = picked;
    const [lane, row] = [chart.laneOf(bars, i), chart.rowOf(bars, i)];
    const order = by < 0 ? [...chart.order].reverse() : [...chart.order];
    const at = order.indexOf(i);
    let next;
    if (rows < 0) [next] = around(lane, bars.begins[i], row, false).filter((bar) => bar.i !== i).map((bar) => bar.i);
    else next = order.slice(at + 1).find((other) => chart.laneOf(bars, other) === lane &&
      chart.rowOf(bars, other) === row + rows && (!rows || bars.begins[other] <= bars.begins[i] + bars.lengths[i]));
    if (next === undefined) return;
    pick({ all: bars, i: next });
    const [begin, end] = [bars.begins[next], bars.begins[next] + bars.lengths[next]];
    if (end < from || begin > to) chart.reveal(begin, end, lane);
  };
  const find = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const names = new Set();
    data.names.forEach(([name], at) => {
      if (words.length && words.every((word) => name.toLowerCase().includes(word))) names.add(at);
    });
    chart.mark(words.length ? names : null);
    matches = words.length ? [...chart.order].filter((i) => names.has(bars.names[i])) : [];
    atMatch = -1;
    const merged = words.length ? cells.names.reduce((sum, name, i) =>
      sum + (names.has(name) && !chart.flagOf(cells, i) ? cells.counts[i] : 0), 0) : 0;
    hits.textContent = !words.length ? "" : many(matches.length, "bar") +
      (merged ? ` and ${count(merged)} merged` : "") + (matches.length ? "; Enter goes to the next" : "");
    changed();
  };
  search.onkeydown = (event) => {
    if (event.key !== "Enter" || !matches.length) return;
    event.preventDefault();
    atMatch = (atMatch + (event.shiftKey ? matches.length - 1 : 1)) % matches.length;
    goTo({ all: bars, i: matches[atMatch] });
    hits.textContent = `${count(atMatch + 1)} of ${many(matches.length, "bar")}`;
  };

  const keys = chart.keys(step, 1, { "/": () => search.focus(),
    Enter: () => { if (picked) goTo(picked); }, Escape: () => pick(null) });

  prepare(search, "laneSearch", "names of slices", find, hits, "laneHits");
  chart.canvas.id = "lanes";
  chart.canvas.setAttribute("aria-label", "What each thread does over time; arrow keys move, plus and minus " +
    "zoom, 0 shows all, Shift and arrow keys go from bar to bar, Enter zooms to a bar");
  tip.setAttribute("aria-live", "polite");
  details.id = "slice";
  details.setAttribute("aria-live", "polite");
  note.id = "laneNotes";
  select.setAttribute("aria-label", "Thread");
  select.append(new Option(lanes.length === 1 ? "the only lane" : `all ${count(lanes.length)} lanes`, ""));
  lanes.forEach((lane) => select.append(new Option(`${lane.name}: ${many(lane.slices, "slice")}, ` +
    `${many(lane.events, "event")}`, String(lane.at))));
  select.onchange = () => chart.choose(select.value === "" ? null : Number(select.value));
  const has = (kind) => data.names.some(([, own]) => own === kind);
  const legend = legendOf([[has(1), "run", "runs"], [has(2), "wait", "waits"],
    [has(3), "disk", "waits for a disk"], [merged, "merged", "many short slices"],
    [ticks.begins.length, "tick", "other events"], [shownFlows, "flow", "flows"]]
    .filter(([isThere]) => isThere).map(([, ...swatch]) => swatch));
  const [, row] = section("Threads over time", legend, box, chart.foot, tip,
    node("p", "Wheel or + − zoom, drag or arrow keys move, 0 shows all, / searches; Shift and arrow keys go from " +
      "bar to bar, Enter or a double click zooms to a bar.", "note hint"), note);
  row.append(rangeText, search, hits, select, ...chart.buttons);
  section("Details", details);
  drawDetails();
  // What threads did for how long: the outermost bars and cells of each.
  const sums = lanes.map(() => [0, 0, 0]);
  for (const [all, times] of [[bars, bars.lengths], [cells, cells.busy]])
    all.places.forEach((_, i) => {
      if (!chart.rowOf(all, i)) sums[chart.laneOf(all, i)][Math.min(2, chart.classOf(i, all))] += times[i];
    });
  const share = (part) => tools.percentOf(Math.min(part, data.length), data.length);
  const isWaits = has(1) || has(2) || has(3);
  const is = ({ at, name }) => name.startsWith("thread ") && (isWaits ? sums[at][1] + sums[at][2] : sums[at][0]) > 0;
  const did = ({ at, name }) => `${tools.middle(name, 60)} ` + (isWaits ? `ran for ${share(sums[at][1])} of the time and waited ` +
    `for ${share(sums[at][2])}` : `was in slices for ${share(sums[at][0])} of the time`);
  const told = lanes.filter(is).slice(0, 2).map(did);
  const first = told.length ? told.join("; ") : `${many(data.sliceCount, "slice")} in ${many(lanes.length, "lane")}`;
  tools.lead(first[0].toUpperCase() + first.slice(1));
  new ResizeObserver(chart.draw).observe(box);
  // The lane of a thread by its number: the one whose slices are runs and waits, if any.
  const laneOf = (number) => {
    const own = lanes.filter((lane) => lane.number === number && number > 0);
    const isOf = (lane) => [bars, cells].some((all) => all.places.some((_, i) =>
      chart.laneOf(all, i) === lane.at && chart.classOf(i, all) > 0));
    return own.find(isOf) || own[0];
  };
  return { search, find, chart, draw: chart.draw, show: (i) => goTo({ all: bars, i }), hasWaits: has(2) || has(3), has: (number) => Boolean(laneOf(number)),
    go: (number, at) => {
      const lane = laneOf(number);
      if (lane) linkAt("", lane.at, at).click();
    },
    keys,
    place: () => (picked && picked.all === bars ? String(picked.i) : ""),
    showAt: (text) => pick(/^\d+$/.test(text) && Number(text) < exact ? { all: bars, i: Number(text) } : null) };
};
