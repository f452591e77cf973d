// The tab of counters: values over time, and the same as small lines for the tab of events.
//
//   cells: place, least, greatest, last ─▶ a band and a line ─▶ charts that share one range of the time
//
// Text of the log becomes text and attributes, never markup.
"use strict";
const countersTab = (root, data, page) => {
  const { node, count, css, fit, viewport, drawAxis, timeText } = page;
  const [LEFT, FOOT, SMALL_MAX] = [74, 24, 8];
  const tools = tabTools(root, { isNs: true, time: 0 }, [], page);
  const { many, section, button, lead } = tools;
  const rows = data.rows.map((row) => {
    const [at, low, high, last] = [0, 1, 2, 3].map((part) => row.cells.filter((_, i) => i % 4 === part));
    return { ...row, at, low, high, last };
  });
  const BYTES = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 1024]];
  const UNITS = { bytes: [...BYTES, ["B", 1]], ns: [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]] };
  const COUNTS = [["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1]];
  // The unit in which values up to `most` are told.
  const unitOf = (unit, most) => {
    const all = UNITS[unit] || COUNTS;
    return all.find(([, size]) => most >= size) || all[all.length - 1];
  };
  const text = (value, unit) => {
    const [name, size] = unitOf(unit, Math.abs(value));
    const most = Math.abs(value / size);
    const digits = most >= 1e12 ? (value / size).toExponential(3) : most >= 1000 ? count(value / size)
      : String(Number((value / size).toPrecision(4)));
    return name ? `${digits}\u202f${name}` : digits;
  };
  // The values from one part of the time to another; `held` is the value at its beginning.
  const shownOf = (row, [from, to]) => {
    const { parts } = data;
    const [first, end] = [Math.floor(from * parts), Math.ceil(to * parts)];
    let begin = row.at.findIndex((at) => at >= first);
    if (begin < 0) begin = row.at.length;
    let until = row.at.findIndex((at) => at >= end);
    if (until < 0) until = row.at.length;
    const held = begin > 0 ? row.last[begin - 1] : null;
    return { begin, until, held };
  };
  const bounds = (row, { begin, until, held }) => {
    let [low, high] = held === null ? [Infinity, -Infinity] : [held, held];
    for (let i = begin; i < until; i += 1) [low, high] = [Math.min(low, row.low[i]), Math.max(high, row.high[i])];
    if (low > high) [low, high] = [0, 1];
    const isFar = low > 0.6 * high || row.least !== null;
    if (!isFar) [low, high] = [Math.min(0, low), Math.max(0, high)];
    return low < high ? [low, high] : [low - (Math.abs(low) / 2 || 1), high + (Math.abs(high) / 2 || 1)];
  };
  // The band from the least to the greatest value of each cell, and the line of the last ones.
  const paint = (context, row, range, [left, top, wide, tall], [low, high]) => {
    const [from, to] = range;
    const x = (at) => left + Math.max(0, Math.min(1, (at / data.parts - from) / (to - from))) * wide;
    const y = (value) => top + tall - ((value - low) / (high - low)) * tall;
    const { begin, until, held } = shownOf(row, range);
    context.save();
    context.beginPath();
    context.rect(left, top - 2, wide, tall + 4);
    context.clip();
    context.fillStyle = context.strokeStyle = css("--accent");
    context.globalAlpha = 0.22;
    for (let i = begin; i < until; i += 1) {
      const [a, b] = [y(row.high[i]), y(row.low[i])];
      context.fillRect(x(row.at[i]), a, Math.max(1, x(row.at[i] + 1) - x(row.at[i])), Math.max(1, b - a));
    }
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    context.beginPath();
    if (held !== null) context.moveTo(left, y(held));
    for (let i = begin; i < until; i += 1) {
      const at = x(row.at[i] + 0.5);
      if (i > begin || held !== null) context.lineTo(at, y(i > 0 ? row.last[i - 1] : row.last[i]));
      else context.moveTo(at, y(row.last[i]));
      context.lineTo(at, y(row.last[i]));
    }
    if (until > 0) context.lineTo(left + wide, y(row.last[until - 1]));
    context.stroke();
    context.restore();
  };
  // At most five lines between two values, each with its label: multiples of 1, 2 or 5 times a power of ten. Where
  // labels would be long, those after the first one tell how much more their lines are.
  const linesOf = (low, high, unit) => {
    const [name, size] = unitOf(unit, Math.max(Math.abs(low), Math.abs(high)));
    const power = 10 ** Math.floor(Math.log10((high - low) / size / 2));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => (high - low) / size / n <= 4);
    const first = Math.ceil(low / size / step - 1e-9) * step;
    const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
    const isLong = digits > 6 || Math.max(Math.abs(low), Math.abs(high)) / size >= 1e6;
    const label = (at, n) => {
      if (Math.abs(at) < step / 2) return "0";
      if (isLong && n && first) return `+${text(n * step * size, unit)}`;
      const number = !isLong ? at.toFixed(digits) : Math.abs(at) < 1e6 ? String(Number(at.toPrecision(5))) : at.toExponential(3);
      return name ? `${number}\u202f${name}` : number;
    };
    return [0, 1, 2, 3, 4].map((n) => [first + n * step, n]).filter(([at]) => at * size <= high + 1e-9 * step * size)
      .map(([at, n]) => [at * size, label(at, n)]);
  };
  const drawChart = ({ canvas, row, view }) => {
    const [context, width, height] = fit(canvas);
    const [wide, tall] = [Math.max(10, width - LEFT), height - FOOT - 8];
    const [from, to] = view.range;
    const [low, high] = bounds(row, shownOf(row, [from, to]));
    context.clearRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    for (const [at, label] of linesOf(low, high, row.unit)) {
      const y = 8 + tall - ((at - low) / (high - low)) * tall;
      context.fillStyle = css("--line");
      context.fillRect(LEFT, Math.round(y), wide, 1);
      context.fillStyle = css("--soft");
      context.textAlign = "right";
      context.fillText(label, LEFT - 6, Math.max(10, y + 4));
    }
    paint(context, row, [from, to], [LEFT, 8, wide, tall], [low, high]);
    drawAxis(context, from * page.length, (to - from) * page.length || page.moment, [LEFT, wide], [8 + tall, height]);
  };
  const told = (row) => {
    const parts = [`${many(row.changes, "change")}`,
      `${text(Math.min(...row.low), row.unit)} to ${text(Math.max(...row.high), row.unit)}`,
      `${text(row.last[row.last.length - 1], row.unit)} at the end`];
    if (row.least !== null) parts.push("all values are relative to the first one, which is unknown" +
      (row.least > 0 ? ` and at least ${text(row.least, row.unit)}` : ""));
    return parts.join(" · ");
  };
  const charts = [];
  const notes = [];
  if (data.count > rows.length) notes.push(`${count(rows.length)} of ${many(data.count, "counter")}: ` +
    "those of each mark that changed most.");
  const [full, overflow] = data.refused;
  if (full) notes.push(`Changes of further counters, left out as the log has too many: ${count(full)}.`);
  if (overflow) notes.push(`Changes that give no finite number, left out: ${count(overflow)}.`);
  if (data.certainty) notes.push(`Note: ${data.certainty}.`);
  notes.push("The line is the last value in each part of the time, the band has its least and greatest.");
  for (const row of rows) {
    const [canvas, tip] = [node("canvas", undefined, "counter"), node("span", told(row), "soft")];
    const view = viewport(canvas, () => LEFT);
    canvas.tabIndex = 0;
    canvas.role = "img";
    canvas.ariaLabel = `${row.name}: ${told(row)}`;
    view.pointed = (event) => {
      const [from, to] = view.range;
      const part = from + (to - from) * view.place(event);
      let i = row.at.findIndex((at) => at > part * data.parts);
      i = (i < 0 ? row.at.length : i) - 1;
      const isIn = i >= 0 && row.at[i] === Math.floor(part * data.parts);
      tip.textContent = i < 0 ? "no value yet" : `${timeText(part)}: ` + (isIn && row.low[i] < row.high[i]
        ? `${text(row.low[i], row.unit)} to ${text(row.high[i], row.unit)}, then ` : "") + text(row.last[i], row.unit);
    };
    canvas.onpointerleave = () => { tip.textContent = told(row); };
    const [made, head] = section(row.name, canvas);
    made.classList.add("counted");
    head.append(tip);
    charts.push({ canvas, row, view });
  }
  root.prepend(node("p", notes.join(" "), "note"),
    node("p", "Wheel or + − zoom, drag or arrow keys move, 0 shows all: in all tabs.", "note hint"));
  // When a counter had its greatest value, and what it has at the end.
  const [most] = rows;
  const top = most.high.reduce((at, high, i) => (high > most.high[at] ? i : at), 0);
  lead(`${tools.middle(most.name)}: at most ${text(most.high[top], most.unit)}, at ` +
    `${timeText((most.at[top] + 0.5) / data.parts, 3)}, and ${text(most.last[most.last.length - 1], most.unit)} at the end`);
  // Small lines of the first counters, each a button that leads here.
  const small = charts.slice(0, SMALL_MAX).map(({ row }) => {
    const made = button(undefined, page.open, "small");
    const canvas = node("canvas");
    canvas.ariaHidden = "true";
    made.append(node("b", text(row.last[row.last.length - 1], row.unit)), node("span", row.name, "soft"), canvas);
    made.title = `${row.name}: ${told(row)}`;
    return { made, canvas, row };
  });
  const draw = () => {
    if (root.offsetParent) charts.forEach(drawChart);
    for (const { canvas, row } of small.filter((one) => one.canvas.offsetParent)) {
      const [context, width, height] = fit(canvas);
      paint(context, row, [0, 1], [0, 2, width, height - 4], bounds(row, shownOf(row, [0, 1])));
    }
  };
  new ResizeObserver(draw).observe(root);
  return { draw, small: small.map(({ made }) => made) };
};
