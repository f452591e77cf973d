// A flame graph: paths of calls with their time, or calls in order of time.
//
//   nodes (paths), a caller before its callees ─▶ children ─▶ the hot path
//   nodes or spans ─▶ bars: places of all that is drawn, for zoom and keyboard
//
// The tab of calls and the flame of waits use it. `own` has what differs from that of calls: ids,
// words, colours.
"use strict";
const flameGraph = (data, functions, tools, { node, bytes, count }, pick, own = {}) => {
  const ROWS_MAX = 24; // Rows of bars of the flame graph, and of one thread in order of time.
  const LANES_MAX = 8; // Threads that are shown at once.
  const LANE_ROWS_MAX = 12;
  const THIN = 0.0012; // The least part of the width that is drawn.
  const ROW = 22;
  const LEAST = 0.05; // The least part of the time for the hot path.
  const { nodes } = data;
  const spans = data.spans || { begins: "", lengths: "", lanes: [], open: [] };
  const { time, share, many, heat, brief, button, middle } = tools;
  const doubles = (text) => new Float64Array(bytes(text).buffer);
  const [begins, lengths] = [doubles(spans.begins), doubles(spans.lengths)];
  const isOpen = new Set(spans.open);
  const look = { id: "flame", zoomed: "zoomed", all: "all calls", none: "No call with a time to draw.",
    things: "Calls", hasHot: true, paint: () => {}, ...own };
  let found = null; // The functions that the search finds.
  let isByTime = false;

  // Paths: the children of each, the one with the most time first.
  const children = new Map();
  nodes.parents.forEach((parent, at) => {
    if (!children.has(parent)) children.set(parent, []);
    children.get(parent).push(at);
  });
  const below = (at) => children.get(at) || [];
  const weightOf = (at) => (at < 0 ? data.time : nodes.weights[at]);
  // From the outermost call, on into the call with the most time, while that has more than the own
  // time of the function that calls it, and is no small part of all.
  const hot = [];
  for (let at = -1; ; at = hot[hot.length - 1]) {
    const [next] = below(at);
    if (next === undefined || !look.hasHot || nodes.weights[next] < LEAST * data.time || !data.time) break;
    if (at >= 0 && nodes.owns[at] > nodes.weights[next]) break;
    hot.push(next);
  }
  const isHot = new Set(hot);

  // Bars: places of all that is drawn, for the keyboard.
  const flame = node("div", undefined, "flame");
  const crumbs = node("ol", undefined, "path");
  const tip = node("p", undefined, "note");
  const left = node("p", undefined, "note");
  const lane = node("select");
  let zoom = { at: -1 };
  let bars = [];
  const bar = (at, row, from, width, said, onclick) => {
    const made = button(at < 0 ? said : brief(functions[at].name), onclick, at < 0 ? "bar root" : "bar");
    made.style.left = `${100 * from}%`;
    made.style.width = `${100 * width}%`;
    made.style.top = `${row * ROW}px`;
    made.tabIndex = bars.length ? -1 : 0;
    if (at >= 0) {
      made.style.setProperty("--heat", heat(at));
      if (found && found.has(at)) made.classList.add("found");
    }
    if (width < 0.025) made.classList.add("thin");
    made.ariaLabel = said;
    made.title = at < 0 ? said : said.replace(middle(functions[at].name), () => functions[at].name);
    made.onfocus = made.onpointerenter = () => { tip.textContent = said; };
    bars.push({ row, from, width, made });
    flame.append(made);
    return made;
  };
  const drawPaths = () => {
    const all = weightOf(zoom.at);
    const tell = look.tell || ((at) => `${middle(functions[nodes.functions[at]].name)}: ${share(nodes.weights[at])} of the ` +
      `time, ${time(nodes.weights[at])} in ${many(nodes.counts[at], "call")} on this path; ` +
      `${time(nodes.owns[at])} of it in the function itself`);
    const work = [[zoom.at, 0, 0]];
    let [deepest, isDeeper] = [0, false];
    while (work.length) {
      const [at, row, from] = work.pop();
      const width = all ? weightOf(at) / all : 0;
      if (width < THIN) continue;
      if (row >= ROWS_MAX) {
        isDeeper = true;
        continue;
      }
      deepest = Math.max(deepest, row);
      const of = at < 0 ? -1 : nodes.functions[at];
      const said = at < 0 ? `${look.all}: ${time(data.time)}` : tell(at);
      const made = bar(of, row, from, width, said, () => zoomTo({ at }));
      if (at >= 0) look.paint(made, at);
      if (isHot.has(at)) made.classList.add("hot");
      let next = from;
      const inner = [];
      for (const child of below(at)) {
        inner.push([child, row + 1, next]);
        next += nodes.weights[child] / all;
      }
      work.push(...inner.reverse());
    }
    flame.style.height = `${(deepest + 1) * ROW}px`;
    const path = [];
    for (let at = zoom.at; at >= 0; at = nodes.parents[at]) path.unshift(at);
    const outer = path.length > 8 ? [...path.slice(0, 2), null, ...path.slice(-5)] : path;
    crumbs.replaceChildren(...[-1, ...outer].map((at) => {
      const item = node("li");
      if (at === null) item.append("…");
      else item.append(button(at < 0 ? look.all : brief(functions[nodes.functions[at]].name),
        () => zoomTo({ at })));
      return item;
    }));
    const notes = [];
    if (isDeeper) notes.push(`${look.things} are deeper than this drawing: zoom in to see them.`);
    if (nodes.leftCount) notes.push(`${many(nodes.leftCount, "path")} with little time ` +
      `(${share(nodes.left)} of it together) ${nodes.leftCount === 1 ? "is" : "are"} left out.`);
    if (data.isFull) notes.push("The log has too many paths: further ones have no bars " +
      `of their own. Their time (${share(nodes.rest)} of all) is in the bars around them.`);
    left.textContent = notes.join(" ");
  };
  const drawTimes = () => {
    const end = begins.reduce((last, begin, at) => Math.max(last, begin + lengths[at]), 0);
    const [from, to] = zoom.from === undefined ? [0, end] : [zoom.from, zoom.to];
    const all = to - from || 1;
    const wanted = lane.value === "" ? spans.lanes.map((_, at) => at).slice(0, LANES_MAX)
      : [Number(lane.value)];
    const [tops, bases, rows] = [new Map(), new Map(), new Map()];
    let height = 0;
    for (const at of wanted) {
      const base = zoom.lane === at ? Math.max(0, zoom.depth - 3) : 0;
      const most = wanted.length > 1 ? LANE_ROWS_MAX : ROWS_MAX;
      const deepest = spans.depths.reduce((deep, depth, i) =>
        (spans.ofLane[i] === at ? Math.max(deep, depth - base + 1) : deep), 1);
      tops.set(at, height + 1);
      bases.set(at, base);
      rows.set(at, Math.min(most, deepest));
      const name = node("div", `thread ${spans.lanes[at]}`, "lane");
      name.style.top = `${height * ROW}px`;
      flame.append(name);
      height += rows.get(at) + 1;
    }
    const lasts = new Map();
    let isDeeper = false;
    begins.forEach((begin, i) => {
      const [at, length] = [spans.ofLane[i], lengths[i]];
      if (!tops.has(at) || begin > to || begin + length < from) return;
      const row = spans.depths[i] - bases.get(at);
      isDeeper = isDeeper || row >= rows.get(at);
      if (row < 0 || row >= rows.get(at)) return;
      const x = Math.max(0, (begin - from) / all);
      const right = Math.min(1, Math.max(x + THIN, (begin + length - from) / all));
      const place = tops.get(at) + row;
      if (right - (lasts.get(place) || 0) < THIN / 2) return; // Another bar is there.
      lasts.set(place, right);
      const of = spans.functions[i];
      const said = `${middle(functions[of].name)}: ${time(length)}` +
        `${isOpen.has(i) ? " to the end of the log, where it was in progress" : ""}, ` +
        (begin ? `${time(begin)} after the first call` : "the first call");
      const made = bar(of, place, x, right - x, said, () => zoomTo({ from: begin,
        to: begin + length, lane: at, depth: spans.depths[i] }));
      if (isOpen.has(i)) made.classList.add("open");
    });
    for (let mark = 0; mark < 5 && begins.length; mark += 1) {
      const label = node("div", `+${time((all * mark) / 5)}`, "lane");
      label.style.left = `${20 * mark}%`;
      label.style.top = `${height * ROW}px`;
      flame.append(label);
    }
    flame.style.height = `${(height + 1) * ROW}px`;
    const whole = node("li");
    whole.append(button("whole time", () => zoomTo({})));
    crumbs.replaceChildren(whole);
    if (zoom.from !== undefined)
      crumbs.append(node("li", `${time(to - from)}, from ${time(from)} after the first call`));
    const notes = [];
    const absent = data.count - begins.length;
    if (absent > 0) notes.push(`${count(begins.length)} of ${count(data.count)} calls are on this ` +
      "page: the longest ones, of its functions" + (spans.laneCount > spans.lanes.length
      ? ` and its ${many(spans.lanes.length, "thread")}` : "") + `. All calls shorter than ${time(spans.least)} are ` +
      "left out. To see a part of the time with all its calls, make a page of that part: " +
      "eventcnv report --from TIME --to TIME.");
    if (wanted.length < spans.lanes.length && lane.value === "")
      notes.push(`Drawn are the ${LANES_MAX} threads with the most time in calls; choose another of ` +
        `${count(spans.lanes.length)} above.`);
    if (spans.laneCount > spans.lanes.length)
      notes.push(`The long calls of ${many(spans.laneCount - spans.lanes.length, "more thread")} are not ` +
        "on this page.");
    if (isDeeper) notes.push(`${look.things} are deeper than this drawing: zoom in to see them.`);
    left.textContent = notes.join(" ");
  };
  const drawFlame = () => {
    flame.replaceChildren();
    bars = [];
    tip.textContent = "Point at a bar to read about it.";
    flame.classList.toggle("searched", Boolean(found));
    (isByTime ? drawTimes : drawPaths)();
    if (!bars.length) flame.append(node("p", isByTime ? "No call with a known time." : look.none, "note"));
  };
  const zoomTo = (to) => {
    const isFocused = [flame, crumbs].some((part) => part.contains(document.activeElement));
    zoom = isByTime ? to : { at: -1, ...to };
    drawFlame();
    if (!isByTime && zoom.at >= 0) pick(nodes.functions[zoom.at]);
    const [first] = bars;
    if (first && isFocused) first.made.focus({ preventScroll: true });
  };
  const zoomOut = () => {
    if (!isByTime) return zoomTo({ at: zoom.at < 0 ? -1 : nodes.parents[zoom.at] });
    return zoomTo({});
  };
  flame.onkeydown = (event) => {
    const own = bars.find(({ made }) => made === document.activeElement);
    if (event.key === "Escape") zoomOut();
    if (!own) return;
    // The next row with bars: an empty one parts two threads.
    const inRow = (step) => {
      const rows = bars.map(({ row }) => row).filter((row) => step * (row - own.row) > 0);
      const next = step ? step * Math.min(...rows.map((row) => step * row)) : own.row;
      return bars.filter(({ row }) => row === next);
    };
    const near = (all) => all.find(({ from, width }) => from + width > own.from + 1e-9) ||
      all[all.length - 1];
    const next = {
      ArrowDown: () => near(inRow(1)),
      ArrowUp: () => near(inRow(-1)),
      ArrowRight: () => inRow(0).find(({ from }) => from > own.from),
      ArrowLeft: () => inRow(0).reverse().find(({ from }) => from < own.from),
    }[event.key];
    if (!next) return;
    event.preventDefault();
    const to = next();
    if (!to) return;
    [own.made.tabIndex, to.made.tabIndex] = [-1, 0];
    to.made.focus();
  };
  // Fills a section, and the row of its heading.
  const fill = (made, row) => {
    flame.id = look.id;
    crumbs.id = look.zoomed;
    tip.setAttribute("aria-live", "polite");
    lane.setAttribute("aria-label", "Thread");
    lane.append(new Option("all threads", ""));
    spans.lanes.forEach((name, at) => lane.append(new Option(`thread ${name}`, at)));
    lane.onchange = () => zoomTo({});
    const modes = [["All calls merged", false], ["In order of time", true]].map(([text, is]) => {
      const one = button(text, () => {
        isByTime = is;
        modes.forEach(({ one: other, is: its }) => other.setAttribute("aria-pressed", its === is));
        lane.hidden = !is || spans.lanes.length < 2;
        explain.textContent = is ? TIMES : PATHS;
        zoomTo({});
      });
      one.setAttribute("aria-pressed", String(!is));
      return { one, is };
    });
    lane.hidden = true;
    const out = button("Zoom out", zoomOut);
    row.append(...(data.spans ? modes.map(({ one }) => one) : []), lane, out);
    const PATHS = look.explain || "Each bar is a function, and lies below the function that called it. Its width is " +
      "its time with all calls in it; calls on the same path are one bar. The warmer the colour, the " +
      "more time the function has of its own. The red frame marks the hot path. Click a bar to zoom; " +
      "arrow keys move, Esc zooms out, / searches.";
    const TIMES = "Each bar is one call, from its beginning to its end, below the call that made it. " +
      "The warmer the colour, the more time its function has of its own. Click a bar to zoom; arrow " +
      "keys move, Esc zooms out, / searches.";
    const explain = node("p", PATHS, "note");
    made.append(explain, crumbs, flame, tip, left);
    drawFlame();
  };
  // Marks the functions that a search found.
  const mark = (all) => {
    found = all;
    drawFlame();
  };
  const last = hot[hot.length - 1];
  const isHotCut = hot.length > 0 && !below(last).length &&
    nodes.weights[last] - nodes.owns[last] >= Math.max(nodes.owns[last], LEAST * data.time);
  // Goes to the first bar with the keyboard.
  const enter = () => { if (bars.length) bars[0].made.focus(); };
  return { hot, isHotCut, fill, mark, enter };
};
