// The tab of calls: the hot path, functions, their callers and callees, what was never called.
//
//   flame.js: nodes (paths), spans (calls in order of time) ─▶ bars ─┐
//   graph.js: functions and edges ─▶ the call graph ─────────────────┴─▶ sections of the tab
//
// Text of the log becomes text and attributes, never markup.
"use strict";
const callsTab = (root, data, page) => {
  const { node, count, sortTable, changed } = page;
  const LISTED_MAX = 300; // Rows of the table of functions.
  const { nodes } = data;
  const functions = data.functions.map((row, at) => {
    const [calls, own, total, unfinished, doubtful, unwound, muted, alone] = row.n;
    const { mean, p50, p99, max, isExact, cluster } = row;
    return { at, name: data.names[at], place: data.places[at], calls, own, total, unfinished,
      doubtful, unwound, muted, alone, mean, p50, p99, max, isExact, cluster };
  });
  let found = null; // The functions that the search finds.
  let picked = null;
  const tools = tabTools(root, data, functions, page);
  const { time, share, many, button, nameOf, section } = tools;
  const flame = flameGraph(data, functions, tools, page, (at) => pick(at));
  const calls = callGraph(data, functions, tools, page, (at) => pick(at));
  const { hot } = flame;
  const titleOf = ({ name, place }) => [name, place].filter(Boolean).join("\n");
  const link = (at) => {
    const made = button(undefined, () => pick(at, true), "link");
    made.append(nameOf(functions[at].name));
    made.title = titleOf(functions[at]);
    return made;
  };

  const [most, ...next] = [...functions].sort((a, b) => b.own - a.own);
  const summary = () => {
    const untimed = data.untimedCount;
    const to = (name, part, many) => (many
      ? button(name, () => byId(part).scrollIntoView({ block: "start" }), "link") : name);
    root.append(factBoxes([["calls", count(data.count)], ["functions called", count(data.calledCount)],
      [to("never called", "unused", data.unused.count), count(data.unused.count)],
      ["time in calls", time(data.time)],
      [to("in progress at the end", "open", data.openCount), count(data.openCount)],
      ["calls without a time", count(untimed), untimed > 0]]));
    if (!most || !data.time) {
      section("Where the time goes", node("p", data.count
        ? functions.some(({ mean }) => mean !== null)
          ? "Each call took less time than the clock tells."
          : "The time of no call is known: their ends or other events are not in the log."
        : "The log has no calls, or none is selected.", "note"));
      return;
    }
    const lead = node("p", undefined, "lead");
    lead.id = "hottest";
    lead.append(`${share(most.own)} of the time is in `, link(most.at), " itself");
    const more = node("p", `${time(most.own)} in ${many(most.calls, "call")}, without the functions ` +
      "that it calls. No other function has more time of its own.", "note");
    next.filter(({ own }) => own > 0).slice(0, 4).forEach((one, at) =>
      more.append(at ? ", " : " Next: ", link(one.at), " " + share(one.own)));
    const path = node("ol", undefined, "path");
    path.id = "hotPath";
    const shown = hot.length <= 12 ? hot : [...hot.slice(0, 3), -1, ...hot.slice(-7)];
    for (const at of shown) {
      const item = node("li");
      if (at < 0) item.append(node("span", many(hot.length - 10, "more call"), "soft"));
      else item.append(link(nodes.functions[at]), node("span", " " + share(nodes.weights[at]), "soft"));
      path.append(item);
    }
    if (flame.isHotCut) path.append(node("li", "calls that are not on this page", "soft"));
    section("Where the time goes", lead, more,
      node("p", "The hot path: from the outermost call on, always into the call that takes the most " +
        "time, while that is 5 % of all or more. Each percentage is the time of that call with all calls in it.", "note"), path,
      node("p", `All times are of ${data.isPart ? "the selected" : "recorded"} calls, added over all threads. The code of ` +
        "functions that are not recorded counts for the function that called them.", "note"));
  };

  const search = node("input");
  const hits = node("span", undefined, "soft");
  const find = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    found = null;
    hits.textContent = "";
    if (words.length) {
      const has = ({ name }) => words.every((word) => name.toLowerCase().includes(word));
      found = new Set(functions.filter(has).map(({ at }) => at));
      // A path counts once: below a bar that is found, others add nothing.
      const within = [];
      let sum = 0;
      nodes.functions.forEach((of, at) => {
        const above = nodes.parents[at] >= 0 && within[nodes.parents[at]];
        within.push(above || found.has(of));
        if (!above && found.has(of)) sum += nodes.weights[at];
      });
      // The total of one function counts the paths that are left out too.
      if (found.size === 1) found.forEach((at) => { sum = functions[at].total; });
      const least = found.size > 1 && nodes.left + nodes.rest ? "at least " : "";
      hits.textContent = `${many(found.size, "function")}; ${least}${share(sum)} of the time is in calls of ` +
        (found.size === 1 ? "it" : "them");
    }
    flame.mark(found);
    drawTable();
    changed();
  };
  // The table of functions.
  const table = node("table");
  const listed = node("p", undefined, "note");
  const detail = node("div", undefined, "about");
  const sorted = { by: "own", down: true };
  const COLUMNS = tools.named([["name", "Function", "", true], ["calls", "Calls", "how often it ran"],
    ["own", "Own time", "in the function itself"], ["total", "Total time", "with all calls in it"],
    ["mean", "Average", "time of one call"], ["p50", "Median", "half of the calls are shorter"],
    ["p99", "p99", "99 of 100 calls are shorter"], ["max", "Longest", "the slowest call"]],
  { name: "function", calls: "calls", total: "" });
  const drawTable = () => {
    const shown = functions.filter(({ at }) => !found || found.has(at));
    sortTable(table, COLUMNS, shown, sorted, drawTable, LISTED_MAX, (row, one) => {
      row.className = "pick" + (picked === one.at ? " picked" : "");
      row.onclick = () => pick(one.at);
      row.onkeydown = tools.onPress(() => pick(one.at));
      const name = node("td", undefined, "left name");
      name.append(nameOf(one.name));
      name.title = titleOf(one);
      const isKnown = one.mean !== null;
      const own = node("td", isKnown ? `${time(one.own)} · ${share(one.own)}` : "–", "share");
      const [gauge, part] = [node("i"), node("b")];
      part.style.width = data.time ? `${(100 * one.own) / data.time}%` : "0";
      gauge.append(part);
      if (isKnown) own.append(gauge);
      const about = one.isExact ? "" : "≈ ";
      row.append(name, node("td", count(one.calls)), own, node("td", one.calls ? time(one.total) : "–"),
        node("td", time(one.mean)), node("td", about + time(one.p50)),
        node("td", about + time(one.p99)), node("td", time(one.max)));
    });
    const notes = [];
    if (shown.length > LISTED_MAX)
      notes.push(`The first ${LISTED_MAX} of ${count(shown.length)} functions: search or sort.`);
    if (data.left.count) notes.push(`${many(data.left.count, "more function")} with less time ${page.are(data.left.count)} ` +
      `not on this page; their own time is ${share(data.left.own)} together.`);
    if (data.full) notes.push(`${many(data.full, "call")} left out, begun while too many were in progress.`);
    listed.textContent = notes.join(" ");
  };
  // Until a function is picked, the one with the most time of its own.
  const drawDetail = () => {
    detail.replaceChildren(node("p", "Click a function anywhere on this page to see which functions " +
      "call it, and which it calls.", "note"));
    const at = picked ?? most.at;
    const one = functions[at];
    const facts = [many(one.calls, "call"), `own time ${share(one.own)}`,
      `total time ${share(one.total)}`];
    for (const [n, text] of [[one.unfinished, "in progress at the end"],
      [one.doubtful, "without a time: events are missing"], [one.unwound, "ended by a panic"],
      [one.muted, "not recorded, as the filter selects some of many"],
      [one.alone, "ended whose beginning is not in the log"]])
      if (n) facts.push(`${count(n)} ${text}`);
    const title = node("h3");
    title.append(nameOf(one.name));
    detail.append(title, node("p", [one.place, ...facts].filter(Boolean).join(" · "),
      "note"));
    if (page.hasSource(one.name))
      detail.append(button("Show its lines in Source", () => page.showSource(one.name), "link"));
    const both = node("div", undefined, "columns");
    for (const [title, own, other, none] of [
      ["Called by", 1, 0, "No recorded function calls it."],
      ["It calls", 0, 1, "It calls no recorded function."]]) {
      const rows = data.edges.filter((edge) => edge[own] === at);
      const part = node("div");
      const made = node("table");
      made.id = own ? "callers" : "callees";
      const head = made.createTHead().insertRow();
      for (const [text, cls] of [[title, "left"], ["Calls"], ["Time in these calls"]])
        head.append(node("th", text, cls));
      const body = made.createTBody();
      for (const edge of rows) {
        const row = body.insertRow();
        const name = node("td", edge[other] < 0 ? "(no recorded function)" : undefined, "left name");
        if (edge[other] >= 0) name.append(link(edge[other]));
        row.append(name, node("td", count(edge[2])), node("td", `${time(edge[3])} · ${share(edge[3])}`));
      }
      const scroll = node("div", undefined, "scroll");
      scroll.append(made);
      part.append(rows.length ? scroll : node("p", none, "note"));
      const absent = one.calls - rows.reduce((sum, edge) => sum + edge[2], 0);
      if (own && absent > 0)
        part.append(node("p", `${many(absent, "call")} by functions that are not on this page.`, "note"));
      both.append(part);
    }
    detail.append(both);
  };
  const pick = (at, isFar) => {
    picked = at;
    drawTable();
    drawDetail();
    calls.light(picked);
    if (!isFar) return;
    detail.scrollIntoView({ block: "center" });
    detail.focus({ preventScroll: true });
  };

  const listOf = (title, note, heading, rows, more) => {
    const [made] = section(title);
    if (note) made.append(node("p", note, "note"));
    if (rows.length) {
      const scroll = node("div", undefined, "scroll");
      const own = node("table");
      const head = own.createTHead().insertRow();
      heading.forEach(([text, cls]) => head.append(node("th", text, cls)));
      const body = own.createTBody();
      for (const cells of rows) {
        const row = body.insertRow();
        cells.forEach((text, at) => {
          const cell = row.appendChild(node("td", undefined, heading[at][1] && "left name"));
          cell.append(nameOf(text));
          cell.title = text;
        });
      }
      scroll.append(own);
      made.append(scroll);
    }
    if (more > 0) made.append(node("p", `${count(more)} more ${page.are(more)} not on this page.`, "note"));
    return made;
  };

  summary();
  if (functions.length) {
    const [made, row] = section("Flame graph");
    tools.prepare(search, "callSearch", "functions", find, hits, "callHits");
    flame.fill(made, row);
    row.append(search, hits);
    const scroll = node("div", undefined, "scroll");
    scroll.append(table);
    table.id = "functions";
    section("Functions", scroll, listed);
    detail.id = "detail";
    detail.tabIndex = -1;
    section("Callers and callees", detail);
    calls.graph.id = "graph";
    section("Call graph", node("p", `The ${many(calls.drawnCount, "function")} with the ` +
      "most total time. Callers are on the left, and lines lead to the functions that they call; a " +
      "dashed line closes a circle. The thicker a line, the more time its calls take; the warmer a box, " +
      "the more time the function has of its own. A frame holds a cluster: functions that are called " +
      "together. Click a function to see its callers in blue and its callees in orange.", "note"), calls.graph);
  }
  const { overwritten } = data.unused;
  listOf("Never called", data.unused.count
    ? `${data.isPart ? "The selected part of the log" : "The log"} has no call of these functions, ` +
      `though the program contains them.${overwritten ? ` ${many(overwritten, "older event")} of calls ` +
      "were overwritten: these functions may have been called before." : ""}`
    : "Each function whose place the log states was called.",
  [["Function", "left"], ["Source", "left"]], data.unused.rows,
  data.unused.count - data.unused.rows.length).id = "unused";
  if (data.open.count)
    listOf("In progress at the end", "These calls had begun and not ended where the log ends: of a " +
      "program that died or hangs, they tell where.",
    [["Thread", "left"], ["Calls, the outermost first", "left"], ["The innermost runs for"]],
    data.open.rows.map(([thread, names, all, running]) => [thread,
      (all > names.length ? `${count(all - names.length)} more → ` : "") + names.join(" → "),
      time(running)]), data.open.count - data.open.rows.length).id = "open";
  drawTable();
  if (most) drawDetail();
  return { search, find, pick, enter: flame.enter };
};
