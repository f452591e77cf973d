// Lanes of threads on a canvas: bars, cells of many bars, other events, arrows.
//
//   bars, cells, ticks (columns of numbers) ─▶ rows of lanes ─▶ the canvas ─▶ hits, for pointers
//   the range of the time, the lane at the top ─────────────────┘
//
// A lane is as tall as its rows. The canvas shows a part of all lanes, which a box around it scrolls.
"use strict";
const laneChart = (data, box, page, tools, on) => {
  const { css, bytes, count, PALETTE } = page;
  const { brief, time, told } = tools;
  const [ROW, TICKS, GAP] = [18, 9, 10]; // Heights in pixels.
  const ARROWS_MAX = 400; // Arrows that are drawn at once.
  const LETTER = 6.4; // The width of a letter in a bar, about.
  const doubles = (text) => new Float64Array(bytes(text).buffer);
  const numbers = (text) => new Uint32Array(bytes(text).buffer);
  const table = (all) => ({ ...all, begins: doubles(all.begins), lengths: doubles(all.lengths),
    places: numbers(all.places), names: numbers(all.names) });
  const bars = table(data.bars);
  const cells = { ...table(data.cells), counts: numbers(data.cells.counts), busy: doubles(data.cells.busy) };
  const ticks = { ...table(data.ticks), counts: numbers(data.ticks.counts) };
  const arrows = { ...data.arrows, froms: doubles(data.arrows.froms), tos: doubles(data.arrows.tos),
    fromLanes: numbers(data.arrows.fromLanes), toLanes: numbers(data.arrows.toLanes) };
  const lanes = data.lanes.map(([name, number, pid, slices, busy, events, late], at) =>
    ({ at, name, number, pid, slices, busy, events, late, rows: 0, hasTicks: false, arrives: false }));
  const laneOf = (all, i) => all.places[i] >>> 16;
  const rowOf = (all, i) => (all.places[i] >>> 8) & 0xff;
  const flagOf = (all, i) => all.places[i] & 0xff;
  for (const all of [bars, cells])
    all.places.forEach((_, i) => {
      const lane = lanes[laneOf(all, i)];
      lane.rows = Math.max(lane.rows, rowOf(all, i) + 1);
    });
  ticks.places.forEach((_, i) => { lanes[laneOf(ticks, i)].hasTicks = true; });
  // Bars in order of time, so that the first and the next one are known.
  const order = Uint32Array.from(bars.begins, (_, i) => i)
    .sort((a, b) => bars.begins[a] - bars.begins[b] || rowOf(bars, a) - rowOf(bars, b));
  // Cells of one row and stretch of time lie on each other: runs, and waits by their causes.
  const piles = new Map();
  cells.begins.forEach((begin, i) => {
    const key = `${cells.places[i] >>> 8} ${Math.floor(begin / data.width)}`;
    if (!piles.has(key)) piles.set(key, { from: Infinity, to: 0, cells: [] });
    const pile = piles.get(key);
    pile.from = Math.min(pile.from, begin);
    pile.to = Math.max(pile.to, begin + cells.lengths[i]);
    pile.cells.push(i);
  });
  const pileList = [...piles.values()];
  const pileOf = new Map(pileList.flatMap((pile) => pile.cells.map((i) => [i, pile])));

  let shown = lanes; // The lanes that are drawn.
  let tops = []; // By lane, the pixels above it; undefined if it is not drawn.
  let hits = []; // What is drawn: place, table, index.
  let found = null; // The names that a search finds.
  let picked = null; // { all, i }
  let head = 0; // The height of a name above a lane.
  const layout = (above) => {
    head = above;
    tops = [];
    let at = 4;
    for (const lane of shown) {
      tops[lane.at] = at;
      at += head + (lane.hasTicks ? TICKS : 0) + Math.max(1, lane.rows) * ROW + GAP;
    }
    return at;
  };
  const firstRow = (at) => tops[at] + head + (lanes[at].hasTicks ? TICKS : 0);
  const nameOf = (all, i) => (all === ticks ? data.ticks.types[all.names[i]] : data.names[all.names[i]][0]);
  const classOf = (i, all) => data.names[all.names[i]][1];
  const hues = new Map();
  const hue = (name) => {
    if (!hues.has(name)) {
      let hash = 7;
      for (const letter of name) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
      hues.set(name, PALETTE[hash % PALETTE.length]);
    }
    return hues.get(name);
  };
  const { label, fitted, stripe } = barPaint(brief);
  const color = (all, i) => ["", css("--run"), css("--wait"), css("--disk")][classOf(i, all)] ||
    hue(nameOf(all, i));
  const drawBars = (context, x, inRange, top, bottom) => {
    const lasts = new Map(); // By row, where the last narrow bar ended.
    for (const i of order) {
      const [lane, row] = [laneOf(bars, i), rowOf(bars, i)];
      const end = bars.begins[i] + bars.lengths[i];
      if (tops[lane] === undefined || !inRange(bars.begins[i], end)) continue;
      const y = firstRow(lane) + row * ROW - top;
      if (y + ROW < 0 || y > bottom) continue;
      const [from, to] = [Math.max(x(bars.begins[i]), left() - 2), Math.min(x(end), canvas.clientWidth + 2)];
      const wide = Math.max(1, to - from);
      const last = lasts.get(bars.places[i] >>> 8);
      const isPicked = picked && picked.all === bars && picked.i === i;
      if (to <= last && !isPicked) continue; // Another bar is there.
      lasts.set(bars.places[i] >>> 8, Math.max(last || 0, from + wide));
      const kind = classOf(i, bars);
      const tall = kind > 1 ? ROW - 6 : ROW - 2;
      const [high, name] = [y + (ROW - 2 - tall), nameOf(bars, i)];
      context.globalAlpha = found && !found.has(bars.names[i]) ? 0.22 : 1;
      context.fillStyle = color(bars, i);
      context.fillRect(from, high, wide > 3 ? wide - 0.6 : wide, tall);
      stripe(context, kind, from, high, wide, tall);
      const flag = flagOf(bars, i);
      if (flag > 0 && wide > 6) { // Not whole: a broken edge.
        context.fillStyle = css("--card");
        for (let at = high + 1; at < high + tall; at += 4) context.fillRect(from + wide - 3, at, 2, 2);
      }
      const letters = Math.floor((wide - 8) / LETTER);
      if (letters >= 3) {
        const text = fitted(name, letters);
        context.fillStyle = css("--card");
        if (kind > 1) context.fillRect(from + 3, high + 1, LETTER * [...text].length + 3, tall - 2);
        context.fillStyle = kind > 1 ? css("--ink") : label(color(bars, i));
        context.textAlign = "left";
        context.fillText(text, from + 4, high + tall / 2 + 4);
      }
      context.globalAlpha = 1;
      if (isPicked) {
        context.strokeStyle = css("--ink");
        context.lineWidth = 2;
        context.strokeRect(from + 1, high + 1, Math.max(2, wide - 2), tall - 2);
      }
      hits.push({ x: from, y: high, wide, tall, all: bars, i });
    }
  };
  const drawPiles = (context, x, inRange, top, bottom) => {
    for (const pile of pileList) {
      const [lane, row] = [laneOf(cells, pile.cells[0]), rowOf(cells, pile.cells[0])];
      if (tops[lane] === undefined || !inRange(pile.from, pile.to)) continue;
      const y = firstRow(lane) + row * ROW - top;
      if (y + ROW < 0 || y > bottom) continue;
      const [from, to] = [Math.max(x(pile.from), left() - 2), Math.min(x(pile.to), canvas.clientWidth + 2)];
      const [wide, tall] = [Math.max(1, to - from), ROW - 2];
      let base = 0;
      for (const i of pile.cells) {
        const part = Math.min(1 - base, pile.to > pile.from ? cells.busy[i] / (pile.to - pile.from) : 1);
        const high = Math.max(1, part * tall);
        context.globalAlpha = found && !found.has(cells.names[i]) ? 0.2 : 0.85;
        context.fillStyle = flagOf(cells, i) && !classOf(i, cells) ? css("--many") : color(cells, i);
        const low = y + tall - base * tall;
        context.fillRect(from, low - high, wide, high);
        stripe(context, classOf(i, cells), from, low - high, wide, high);
        base += part;
        hits.push({ x: from, y: Math.max(y, low - Math.max(high, tall / pile.cells.length)), wide,
          tall: Math.max(high, tall / pile.cells.length), all: cells, i });
      }
      context.globalAlpha = 1;
      const isPicked = picked && picked.all === cells && pile.cells.includes(picked.i);
      if (wide > 3) {
        context.strokeStyle = css(isPicked ? "--ink" : "--many");
        context.lineWidth = isPicked ? 2 : 1;
        context.strokeRect(from + 0.5, y + 0.5, wide - 1, tall - 1);
      }
      const sum = pile.cells.reduce((all, i) => all + cells.counts[i], 0);
      const [one] = pile.cells;
      const text = sum > 1 ? `${count(sum)} slices` : nameOf(cells, one);
      if (text.length * LETTER + 8 < wide) {
        context.fillStyle = css("--card");
        context.fillRect(from + 3, y + 2, text.length * LETTER + 3, tall - 4);
        context.fillStyle = css("--ink");
        context.textAlign = "left";
        context.fillText(text, from + 4, y + tall / 2 + 4);
      }
    }
  };
  const drawTicks = (context, x, inRange, top, bottom) => {
    const lasts = new Map();
    context.fillStyle = css("--tick");
    ticks.begins.forEach((begin, i) => {
      const [lane, end] = [laneOf(ticks, i), begin + ticks.lengths[i]];
      if (tops[lane] === undefined || !inRange(begin, end)) return;
      const y = tops[lane] + head - top;
      if (y + TICKS < 0 || y > bottom) return;
      const from = x(begin);
      const wide = Math.max(1.4, x(end) - from);
      if (from + wide - (lasts.get(lane) || -9) < 0.7) return;
      lasts.set(lane, from + wide);
      const isOne = ticks.counts[i] === 1;
      context.globalAlpha = isOne ? 1 : 0.5;
      context.fillRect(from, y + (isOne ? 0 : 3), wide, isOne ? TICKS - 2 : TICKS - 5);
      context.globalAlpha = 1;
      if (picked && picked.all === ticks && picked.i === i) {
        context.strokeStyle = css("--ink");
        context.lineWidth = 2;
        context.strokeRect(from - 3, y - 2, wide + 6, TICKS + 2);
      }
      hits.push({ x: from - 2, y, wide: wide + 4, tall: TICKS, all: ticks, i });
    });
  };
  // The flows that leave or reach a bar.
  const flowsOf = (all, i) => {
    const [lane, from, to] = [laneOf(all, i), all.begins[i], all.begins[i] + all.lengths[i]];
    const is = (at, of) => of === lane && at >= from && at <= to;
    return [...arrows.tos.keys()].filter((a) =>
      is(arrows.tos[a], arrows.toLanes[a]) || is(arrows.froms[a], arrows.fromLanes[a]));
  };
  const drawArrows = (context, x, inRange, top) => {
    const own = new Set(picked ? flowsOf(picked.all, picked.i).slice(0, 50) : []);
    const has = (a) => tops[arrows.fromLanes[a]] !== undefined && tops[arrows.toLanes[a]] !== undefined &&
      inRange(arrows.froms[a], arrows.tos[a]);
    const all = [...arrows.tos.keys()].filter(has);
    const drawn = all.length > ARROWS_MAX ? all.filter((a) => own.has(a)) : all;
    for (const a of drawn) {
      const [from, to] = [x(arrows.froms[a]), x(arrows.tos[a])];
      const [high, low] = [arrows.fromLanes[a], arrows.toLanes[a]].map((at) => firstRow(at) + ROW / 2 - top);
      context.strokeStyle = context.fillStyle = css(own.has(a) ? "--accent" : "--flow");
      context.lineWidth = own.has(a) ? 2 : 1;
      const bend = Math.min(40, Math.max(10, Math.abs(low - high) / 4));
      context.beginPath();
      context.moveTo(from, high);
      context.bezierCurveTo(from + bend, high, to - bend, low, to, low);
      context.stroke();
      context.beginPath();
      context.moveTo(to, low);
      context.lineTo(to - 6, low - 3.5);
      context.lineTo(to - 6, low + 3.5);
      context.fill();
    }
    return [drawn.length, all.length - drawn.length];
  };

  // Hatches the time before the history of each lane.
  const drawLates = (context, x, top, height) => {
    context.strokeStyle = css("--line");
    for (const lane of shown.filter((one) => one.late > 0)) {
      const [y, end] = [firstRow(lane.at) - top, Math.max(x(0), x(lane.late))];
      const tall = Math.max(1, lane.rows) * ROW;
      if (y > height || y + tall < 0) continue;
      context.save();
      context.beginPath();
      context.rect(x(0), y, end - x(0), tall);
      context.clip();
      context.beginPath();
      for (let at = Math.max(x(0), left()) - tall; at < Math.min(end, left() + box.clientWidth); at += 9) {
        context.moveTo(at, y + tall);
        context.lineTo(at + tall, y);
      }
      context.stroke();
      context.restore();
    }
  };

  // The names of all lanes, cut to a number of letters: the numbers of a thread, and a part of its name.
  let cut = { most: 0, texts: [] };
  const cutTo = (most) => {
    const parts = lanes.map(({ name }) => /^thread (?:stream (\d+): )?(\d+) (.+)$/.exec(name));
    const heads = parts.map((part) => (part ? `${part[1] ? `${part[1]}:` : ""}${part[2]} ` : ""));
    const room = most - heads.reduce((longest, head) => Math.max(longest, head.length), 0);
    const rest = told(lanes.map(({ name }, at) => (parts[at] ? parts[at][3] : name)), room);
    return lanes.map(({ name }, at) => ([...name].length > most ? heads[at] + rest[at] : name));
  };
  const texts = (most) => {
    if (cut.most !== most) cut = { most, texts: cutTo(most) };
    return cut.texts;
  };
  const drawn = { titles: [], arrowCount: 0, hidden: 0 };
  const draw = ({ context, width, height, from, to, inner, top }) => {
    const x = (at) => left() + ((at - from) / (to - from)) * inner;
    const inRange = (begin, end) => begin <= to && end >= from;
    hits = [];
    for (const lane of shown) {
      const y = tops[lane.at] - top;
      if (y > height || firstRow(lane.at) + lane.rows * ROW + GAP - top < 0) continue;
      context.fillStyle = css("--line");
      context.fillRect(0, y - GAP / 2, width, 1);
    }
    context.save();
    context.beginPath();
    context.rect(left(), 0, inner, height);
    context.clip();
    drawLates(context, x, top, height);
    drawPiles(context, x, inRange, top, height);
    drawBars(context, x, inRange, top, height);
    drawTicks(context, x, inRange, top, height);
    [drawn.arrowCount, drawn.hidden] = drawArrows(context, x, inRange, top);
    context.restore();
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "left";
    drawn.titles = [];
    for (const lane of shown) {
      const y = tops[lane.at] - top;
      if (y > height || y < -60) continue;
      context.fillStyle = css("--soft");
      const most = head ? width : left() - 8;
      const text = texts(Math.floor(most / 6.3))[lane.at];
      context.fillText(text, 0, y + 12, most);
      drawn.titles.push(text);
    }
  };
  // What lies at a place of the canvas, a small thing before the large one below it.
  const hitAt = (x, y) => {
    const near = hits.filter((hit) => x >= hit.x - 1.5 && x <= hit.x + hit.wide + 1.5 &&
      y >= hit.y && y <= hit.y + hit.tall + 1);
    return near.sort((a, b) => a.wide - b.wide)[0] || null;
  };
  const own = scene(box, data, tools, page, { least: 240, layout, draw, hitAt, ...on,
    drawn: (range) => on.drawn({ ...range, ...drawn, hits }),
    zoomed: ({ all, i }) => reveal(all.begins[i], all.begins[i] + all.lengths[i]) });
  const { canvas, left } = own;
  // Shows a stretch of time, and scrolls to a lane.
  const reveal = (from, to, lane) => {
    if (lane !== undefined && tops[lane] === undefined) {
      shown = lanes;
      own.layout();
    }
    own.reveal(from, to, Math.max(to - from, 20) * 0.6, tops[lane]);
  };
  return { ...own, lanes, bars, cells, ticks, arrows, order, hits: () => hits, reveal,
    time, laneOf, rowOf, flagOf, nameOf, classOf, flowsOf, pileOf,
    mark: (names) => { found = names; own.draw(); },
    pick: (thing) => { picked = thing; own.draw(); },
    choose: (at) => {
      shown = at === null ? lanes : [lanes[at]];
      box.scrollTop = 0;
      own.draw();
    } };
};
