// The stacks of the flame of waits, as the page has them, and what they look like.
//
//   names, nodes (frames above frames), pieces (row, time, node), control paths ─▶ rows, stacks,
//   stretches of equal neighbours
"use strict";
const waitStacks = (data, { bytes }) => {
  const NONE = 0xffffffff;
  const DEPTH_MAX = 48; // Frames of a row that are drawn.
  const CLASSES = ["name", "run", "wait", "both", "io", "path", "unknown"];
  const WORDS = ["a process or a thread", "running", "waiting", "running and waiting", "disk or network",
    "work of another control path", "unknown"];
  const KINDS = ["threads of the target", "work that does not fit the wait for it",
    "work that nothing waited for"];
  const doubles = (text) => new Float64Array(bytes(text).buffer);
  const numbers = (text) => new Uint32Array(bytes(text).buffer);
  const table = (all) => Object.fromEntries(Object.entries(all).map(([key, text]) =>
    [key, key === "begins" || key === "lengths" ? doubles(text) : key === "owns" ? text.map(doubles) : numbers(text)]));
  const [nodes, pieces] = [table(data.nodes), table(data.pieces)];
  const paths = data.paths.map(([row, kind, thread, parent, waker, begin, length, name], at) =>
    ({ at, row, kind, thread, parent, waker, begin, length, name }));
  const endOf = (i) => pieces.begins[i] + pieces.lengths[i];
  const isKind = (kinds, kind) => Boolean(kinds & (1 << kind));
  // What a frame looks like: one that runs and waits is both.
  const look = (kinds) => {
    if (isKind(kinds, 2)) return isKind(kinds, 3) ? 3 : 1;
    if (isKind(kinds, 3)) return 2;
    if (isKind(kinds, 4)) return 4;
    if (isKind(kinds, 5)) return 5;
    return isKind(kinds, 0) || isKind(kinds, 1) ? 0 : 6;
  };
  const nameOf = (at) => data.names[nodes.names[at]];
  const stacks = new Map();
  const stackOf = (at) => {
    if (!stacks.has(at)) {
      const stack = [];
      for (let next = at; next !== NONE; next = nodes.parents[next]) stack.unshift(next);
      stacks.set(at, stack);
    }
    return stacks.get(at);
  };
  // Rows: those of the target first, then by their beginnings; each with its pieces in order of time.
  const kindOf = (row) => (paths.find((path) => path.row === row) || { kind: 0 }).kind;
  const rows = data.rows.map((name, at) => ({ at, name, kind: kindOf(at), pieces: [], depth: 1 }));
  pieces.rows.forEach((row, i) => {
    rows[row].pieces.push(i);
    rows[row].depth = Math.max(rows[row].depth, Math.min(DEPTH_MAX, stackOf(pieces.nodes[i]).length));
  });
  const shownRows = rows.filter((row) => row.pieces.length)
    .sort((a, b) => a.kind - b.kind || a.at - b.at);
  // The first piece of a row that ends after a time.
  const firstAfter = (all, at) => {
    let [low, high] = [0, all.length];
    while (low < high) {
      const mid = (low + high) >> 1;
      if (endOf(all[mid]) <= at) low = mid + 1;
      else high = mid;
    }
    return low;
  };
  // The stretch of a frame around a piece: neighbours in time that have the same frame.
  const stretchOf = (i, depth) => {
    const own = stackOf(pieces.nodes[i])[depth];
    const all = rows[pieces.rows[i]].pieces;
    const at = Math.min(firstAfter(all, pieces.begins[i]), all.length - 1);
    const is = (n) => all[n] !== undefined && stackOf(pieces.nodes[all[n]])[depth] === own;
    const touches = (n) => endOf(all[n]) === pieces.begins[all[n + 1]];
    let [first, last] = [at, at];
    while (is(first - 1) && touches(first - 1)) first -= 1;
    while (is(last + 1) && touches(last)) last += 1;
    return [pieces.begins[all[first]], endOf(all[last]), last - first + 1];
  };
  // The piece of a thread at a time: on its own path, else at the top of another one.
  const at = (number, ns) => {
    const covers = (i) => pieces.begins[i] <= ns && endOf(i) > ns;
    const isPath = (i) => pieces.paths[i] !== NONE && paths[pieces.paths[i]].thread === number;
    const all = Array.from(pieces.begins.keys()).filter((i) => covers(i) && (isPath(i) || pieces.threads[i] === number));
    return all.find(isPath) ?? all[0];
  };
  return { NONE, CLASSES, WORDS, KINDS, nodes, pieces, paths, rows, shownRows, endOf, isKind, look, nameOf, stackOf,
    firstAfter, stretchOf, at };
};
