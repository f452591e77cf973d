// The merged flame of waits: equal stacks are one.
//
//   nodes of one kind of path ─▶ a tree ─┬─▶ flamegraph.js
//                                        └─▶ TSV: ns, stacks, frames
"use strict";
const waitMerged = (data, stacks, tools, page) => {
  const { NONE, CLASSES, KINDS, nodes, isKind, look } = stacks;
  const { time, many, button, middle } = tools;
  const { node } = page;
  const merged = node("div");
  const mergedRow = node("div", undefined, "row");
  const kindSelect = node("select");
  const threadsBox = node("input");
  let tree = null;
  let graph = null;
  let found = null; // The names that the search finds.
  const merge = () => {
    const kind = Number(kindSelect.value);
    const made = [{ name: NONE, kinds: 0, own: 0, count: 0, children: new Map() }];
    const place = [];
    nodes.parents.forEach((parent, at) => {
      const below = parent === NONE ? 0 : place[parent];
      const isThread = isKind(nodes.kinds[at], 1) && !isKind(nodes.kinds[at], 0);
      if (threadsBox.checked && isThread) place[at] = below;
      else {
        const { children } = made[below];
        const name = nodes.names[at];
        if (!children.has(name)) {
          children.set(name, made.length);
          made.push({ name, kinds: 0, own: 0, count: 0, children: new Map() });
        }
        place[at] = children.get(name);
        made[place[at]].kinds |= nodes.kinds[at];
      }
      const own = made[place[at]];
      own.own += nodes.owns[kind][at];
      if (nodes.owns[kind][at]) own.count += nodes.counts[at];
    });
    made.forEach((one) => { one.weight = one.own; });
    for (let at = made.length - 1; at >= 0; at -= 1)
      for (const child of made[at].children.values()) made[at].weight += made[child].weight;
    return made;
  };
  const draw = () => {
    tree = merge();
    const flat = { parents: [], weights: [], owns: [], counts: [], functions: [], kinds: [] };
    const work = [[0, -1]];
    while (work.length) {
      const [at, parent] = work.pop();
      const own = tree[at];
      if (at > 0) {
        flat.parents.push(parent);
        flat.weights.push(own.weight);
        flat.owns.push(own.own);
        flat.counts.push(own.count);
        flat.functions.push(own.name);
        flat.kinds.push(own.kinds);
      }
      const next = at > 0 ? flat.parents.length - 1 : -1;
      const inner = [...own.children.values()].filter((child) => tree[child].weight > 0)
        .sort((a, b) => tree[a].weight - tree[b].weight);
      work.push(...inner.map((child) => [child, next]));
    }
    const functions = data.names.map((name) => ({ name, own: 0 }));
    const all = { isNs: data.isNs, time: tree[0].weight, nodes: flat };
    const its = tabTools(merged, all, functions, page);
    graph = flameGraph(all, functions, its, page, () => {}, {
      id: "merged", zoomed: "mergedPath", all: "all time", hasHot: false,
      none: "No stack with a time to draw.",
      explain: "Equal stacks are one, those with the most time first; each frame lies below the one that waits " +
        "for it, or calls it. Click a frame to zoom; arrow keys move, Esc zooms out.",
      tell: (at) => `${middle(functions[flat.functions[at]].name)}: ${its.share(flat.weights[at])} of the time, ` +
        `${time(flat.weights[at])}; ${time(flat.owns[at])} of it as the top of ${many(flat.counts[at], "stack")}`,
      paint: (bar, at) => {
        bar.classList.add(`f-${CLASSES[look(flat.kinds[at])]}`);
      },
    });
    merged.replaceChildren();
    mergedRow.replaceChildren();
    graph.fill(merged, mergedRow);
    if (found) graph.mark(found);
  };
  // The merged flame as text: ns, stacks, frames.
  const tsv = () => {
    const lines = [];
    const work = [[0, ""]];
    while (work.length) {
      const [at, text] = work.pop();
      if (tree[at].own > 0) lines.push([tree[at].own, tree[at].count, text]);
      for (const child of tree[at].children.values())
        work.push([child, `${text}${text ? ";" : ""}${data.names[tree[child].name]}`]);
    }
    lines.sort((a, b) => b[0] - a[0] || (a[2] < b[2] ? -1 : 1));
    return `${data.isNs ? "ns" : "ticks"}\tstacks\tframes\n${lines.map((line) => `${line.join("\t")}\n`).join("")}`;
  };
  const save = () => {
    const link = node("a");
    link.href = URL.createObjectURL(new Blob([tsv()], { type: "text/tab-separated-values" }));
    link.download = "flame.tsv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  KINDS.forEach((text, kind) => {
    if (data.sums[kind]) kindSelect.append(new Option(`${text}: ${time(data.sums[kind])}`, String(kind)));
  });
  kindSelect.setAttribute("aria-label", "Control paths");
  kindSelect.id = "mergedKind";
  kindSelect.onchange = draw;
  threadsBox.type = "checkbox";
  threadsBox.id = "mergeThreads";
  threadsBox.onchange = draw;
  const boxLabel = node("label");
  boxLabel.append(threadsBox, " merge threads");
  const tsvButton = button("Save as TSV", save);
  tsvButton.id = "mergedTsv";
  const mark = (names) => {
    found = names;
    graph.mark(found);
  };
  const controls = [kindSelect, boxLabel, tsvButton, mergedRow];
  return { merged, controls, draw, mark };
};
