// The call graph as SVG: a column for each step away from the outermost functions, a band for each
// cluster.
"use strict";
const callGraph = (data, functions, tools, { node }, pick) => {
  const DRAWN_MAX = 40; // Functions.
  const { time, share, many, heat, brief } = tools;
  const SVG = "http://www.w3.org/2000/svg";
  const [COLUMN, WIDTH, STEP, HEIGHT] = [250, 196, 54, 40];
  const graph = node("div");
  const draw = (name, attributes, ...parts) => {
    const made = document.createElementNS(SVG, name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    made.append(...parts);
    return made;
  };
  const drawGraph = () => {
    // Functions without a recorded call come last.
    const shown = functions.slice(0, DRAWN_MAX).filter((one) => one.calls);
    const edges = data.edges.filter(([from, to]) =>
      from >= 0 && from !== to && shown[from] && shown[to]);
    const out = shown.map(() => []);
    edges.forEach((edge) => out[edge[0]].push(edge));
    // Columns: the longest way from a function without callers; an edge that closes a circle goes
    // back.
    const [state, order, back] = [shown.map(() => 0), [], new Set()];
    const visit = (at) => {
      state[at] = 1;
      for (const edge of out[at]) {
        if (state[edge[1]] === 1) back.add(edge);
        if (state[edge[1]] === 0) visit(edge[1]);
      }
      state[at] = 2;
      order.unshift(at);
    };
    const isCalled = new Set(edges.map(([, to]) => to));
    shown.forEach(({ at }) => { if (!isCalled.has(at) && !state[at]) visit(at); });
    shown.forEach(({ at }) => { if (!state[at]) visit(at); });
    const column = shown.map(() => 0);
    for (const at of order)
      for (const edge of out[at])
        if (!back.has(edge)) column[edge[1]] = Math.max(column[edge[1]], column[at] + 1);
    // Bands: clusters, and one for the functions in none.
    const bands = new Map();
    shown.forEach((one) => {
      const key = one.cluster === null ? -1 : one.cluster;
      if (!bands.has(key)) bands.set(key, []);
      bands.get(key).push(one.at);
    });
    bands.forEach((members, key) => {
      if (members.length > 1 || key < 0) return;
      bands.delete(key);
      bands.set(-1, [...(bands.get(-1) || []), ...members]);
    });
    const places = new Map();
    const groups = [];
    let top = 10;
    const first = (members) => Math.min(...members.map((at) => column[at]));
    const rank = ([key, members]) => [key < 0 ? -1 : 0, first(members)];
    const inOrder = [...bands].sort((a, b) => rank(a)[0] - rank(b)[0] || rank(a)[1] - rank(b)[1]);
    for (const [key, members] of inOrder) {
      const used = new Map();
      const above = (at) => {
        const ys = edges.filter((edge) => edge[1] === at && places.has(edge[0]) && !back.has(edge))
          .map((edge) => places.get(edge[0]).y);
        return ys.length ? ys.reduce((sum, y) => sum + y, 0) / ys.length : 0;
      };
      const begin = top + (key < 0 ? 0 : 20);
      const columns = [...new Set(members.map((at) => column[at]))].sort((a, b) => a - b);
      for (const step of columns) {
        const inColumn = members.filter((at) => column[at] === step);
        const ranked = inColumn.map((at) => [above(at), at]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
        for (const [, at] of ranked) {
          const row = used.get(step) || 0;
          used.set(step, row + 1);
          places.set(at, { x: 14 + step * COLUMN, y: begin + row * STEP });
        }
      }
      const rows = Math.max(...used.values());
      if (key >= 0) {
        const [x, right] = [14 + columns[0] * COLUMN, 14 + columns[columns.length - 1] * COLUMN];
        const of = brief(functions[members.reduce((a, b) =>
          (functions[b].calls > functions[a].calls ? b : a))].name);
        const group = draw("g", { class: "group" }, draw("rect", { x: x - 8, y: begin - 20, rx: 8,
          width: right - x + WIDTH + 16, height: rows * STEP + 14 }),
        draw("text", { x, y: begin - 7 }, `cluster around ${of}`));
        groups.push(group);
      }
      top = begin + rows * STEP + (key < 0 ? 6 : 14);
    }
    const most = edges.reduce((a, edge) => Math.max(a, edge[3]), 0) || 1;
    const lines = edges.map((edge) => {
      const [from, to] = [places.get(edge[0]), places.get(edge[1])];
      const [x1, y1] = [from.x + WIDTH, from.y + HEIGHT / 2];
      const [x2, y2] = [to.x, to.y + HEIGHT / 2];
      const bend = Math.max(30, Math.abs(x2 - x1) / 2);
      const made = draw("path", { d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`,
        "stroke-width": (1 + 5 * Math.sqrt(edge[3] / most)).toFixed(1) });
      if (back.has(edge)) made.classList.add("back");
      made.dataset.from = edge[0];
      made.dataset.to = edge[1];
      made.append(draw("title", {}, `${functions[edge[0]].name} calls ${functions[edge[1]].name}: ` +
        `${many(edge[2], "call")}, ${time(edge[3])}`));
      return made;
    });
    const clipped = (text) => (text.length > 27 ? "…" + text.slice(-26) : text);
    const calls = shown.map((one) => {
      const { x, y } = places.get(one.at);
      const own = data.edges.some(([from, to]) => from === one.at && to === one.at);
      const made = draw("g", { class: "call", tabindex: 0, role: "button",
        "aria-label": `${one.name}: own time ${share(one.own)}, ${many(one.calls, "call")}` },
      draw("rect", { x, y, width: WIDTH, height: HEIGHT, rx: 7 }),
      draw("text", { x: x + 9, y: y + 17 }, clipped(brief(one.name))),
      draw("text", { x: x + 9, y: y + 32, class: "small" },
        `own ${share(one.own)} · ${many(one.calls, "call")}${own ? " · recursive" : ""}`),
      draw("title", {}, one.name));
      made.style.setProperty("--heat", heat(one.at));
      made.dataset.at = one.at;
      made.onclick = () => pick(one.at);
      made.onkeydown = tools.onPress(() => pick(one.at));
      return made;
    });
    const width = 40 + WIDTH + Math.max(0, ...column) * COLUMN;
    const svg = draw("svg", { width, height: top + 4, viewBox: `0 0 ${width} ${top + 4}`, role: "group", "aria-label": "Call graph" },
      ...groups, ...lines, ...calls);
    graph.replaceChildren(svg);
    return shown.length;
  };
  // Highlights the picked function, its callers and its callees.
  const light = (picked) => {
    const near = new Set([String(picked)]);
    graph.querySelectorAll("path").forEach((line) => {
      const [from, to] = [line.dataset.from, line.dataset.to];
      const is = [to === String(picked), from === String(picked)];
      line.classList.toggle("caller", is[0]);
      line.classList.toggle("callee", is[1]);
      line.classList.toggle("dim", !is[0] && !is[1]);
      if (is[0]) near.add(from);
      if (is[1]) near.add(to);
    });
    graph.querySelectorAll(".call").forEach((made) => {
      made.classList.toggle("picked", made.dataset.at === String(picked));
      made.classList.toggle("dim", !near.has(made.dataset.at));
    });
  };
  const drawnCount = drawGraph();
  return { graph, light, drawnCount };
};
