// The report: draws what is in #data, and never asks the network for anything.
//
//   #data (JSON; counts as base64) ─▶ series ─▶ chart, table, sample of events
//   the range that is shown, what is searched ◀─▶ location.hash, so that a view can be sent
"use strict";
(() => {
  const data = JSON.parse(byId("data").textContent);
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const numbers = (text) => new Uint32Array(bytes(text).buffer);
  const times = new Float64Array(bytes(data.sample.times).buffer);
  const texts = data.sample.texts.split("\n");
  const lower = texts.map((text, i) =>
    (text + " " + data.names[data.sample.names[i]] + " " + data.threadNames[data.sample.threads[i]])
      .toLowerCase());
  const PALETTE = ["#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#e15759", "#4fb3ac", "#d9b51c",
    "#9c755f", "#f48a9a", "#8a8f94"];
  const kinds = data.kinds.map((kind, i) => ({ ...kind, cells: numbers(kind.cells), on: true,
    color: PALETTE[i] || `hsl(${(205 + i * 137.5) % 360} 45% 58%)` }));
  const listed = new Map();
  data.sample.names.forEach((at) =>
    listed.set(data.names[at], (listed.get(data.names[at]) || 0) + 1));
  const types = data.types.map((type) =>
    ({ ...type, cells: type.cells && numbers(type.cells), listed: listed.get(type.name) || 0 }));
  const cellCount = data.cellCount;
  const moment = data.isSeconds ? 1e-6 : 1; // What an axis shows of a log that has one time alone.
  const SHOWN_MAX = 400; // Events that are listed at once.
  const ZOOM_MAX = 2000; // The shortest range is this part of the log; of a log with threads, 1 µs or 10 ticks.
  const least = data.lanes ? Math.min(1, (data.lanes.isNs ? 1000 : 10) / (data.lanes.length || 1)) : 1 / ZOOM_MAX;
  let range = [0, 1]; // The stretch of time, as parts of the whole, that all tabs show.
  let picked = null;
  const sorted = { by: "events", down: true };
  let calls = null; // The tab of calls, if the log has any.
  let source = null; // The tab of source, if the log has statements.
  let threads = null; // The tab of threads, if the log has slices or flows.
  let counters = null; // The tab of counters, if the log has any.
  let durations = null; // The tab of durations, if the log has slices.
  let first = "eventsTab"; // The tab on which the page opens.
  let waitFlame = null; // The flame of waits, if the log has pseudo-stacks.

  const many = (n, one, more) => `${count(n)} ${n === 1 ? one : more || one + "s"}`;
  const are = (n) => (n === 1 ? "is" : "are");
  const count = (n) => Math.round(n).toLocaleString("en-US").replaceAll(",", "\u202f");
  const short = (n) => {
    for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]])
      if (n >= size) return Number((n / size).toPrecision(3)) + "\u202f" + unit;
    return n >= 100 || Number.isInteger(n) ? String(Math.round(n)) : n.toPrecision(2);
  };
  // Times of an axis of a length, in seconds or else in ticks.
  const scale = (length, isSeconds) => {
    const least = isSeconds ? 1e-9 : 1; // A nanosecond; a tick.
    // A time, so precise that two which are `step` apart are told apart.
    const timeBy = (at, step) => {
      const [unit, size] = !isSeconds
        ? [["G ticks", 1e9], ["M ticks", 1e6], ["k ticks", 1e3]].find(([, size]) =>
          length >= size && step >= size / 1e6) || ["ticks", 1]
        : length < 1e-3 ? ["µs", 1e-6] : length < 1 ? ["ms", 1e-3] : ["s", 1];
      const places = Math.ceil(-Math.log10(Math.max(step, least) / size) - 1e-9);
      const [whole, rest] = (at / size).toFixed(Math.max(0, Math.min(12, places))).split(".");
      return count(whole) + (rest ? "." + rest : "") + "\u202f" + unit;
    };
    // Where the axis has labels: at multiples of 1, 2, or 5 times a power of ten, so far apart that
    // no label touches the next.
    const axis = (context, from, shownFor, inner) => {
      for (let power = Math.floor(Math.log10(Math.max(least, shownFor / 10))); ; power += 1) {
        for (const step of [1, 2, 5].map((n) => n * 10 ** power)) {
          const room = 1.5 * context.measureText(timeBy(from + shownFor, step)).width + 16;
          if ((shownFor / step) * room > inner && shownFor > step) continue;
          const first = Math.ceil(from / step - 1e-9);
          const count = Math.floor((from + shownFor) / step + 1e-9) - first + 1;
          return Array.from({ length: Math.max(0, count) }, (_, i) => ({ at: (first + i) * step, step }));
        }
      }
    };
    // Writes the labels below a drawing from `left` on, and returns their texts.
    const drawAxis = (context, from, shownFor, [left, inner], [top, height]) => {
      context.fillStyle = css("--soft");
      return axis(context, from, shownFor, inner).map(({ at, step }) => {
        const [text, x] = [timeBy(at, step), left + ((at - from) / shownFor) * inner];
        const half = context.measureText(text).width / 2;
        context.textAlign = "center";
        context.fillText(text, Math.min(left + inner - half, Math.max(half, x)), height - 6);
        context.fillRect(Math.round(x), top, 1, 4);
        return text;
      });
    };
    return { timeBy, drawAxis };
  };
  const { timeBy, drawAxis } = scale(data.length, data.isSeconds);
  // A time of what is shown, with so many digits; all of them without a number.
  const time = (part, digits) => {
    const width = (range[1] - range[0]) * data.length || 1;
    return timeBy(part * data.length, digits ? width / 10 ** digits : 0);
  };

  // The size of a canvas in pixels of the screen; what is drawn is measured in those of the page.
  const fit = (canvas) => {
    const ratio = window.devicePixelRatio || 1;
    const { width, height } = canvas.getBoundingClientRect();
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return [context, width, height];
  };

  // Sums of a series in `columns` columns between two parts of the time.
  const sums = (cells, columns, from, to) => {
    const found = new Float64Array(columns);
    const step = ((to - from) * cells.length) / columns;
    for (let column = 0; column < columns; column += 1) {
      const begin = from * cells.length + column * step;
      const end = begin + step;
      for (let cell = Math.floor(begin); cell < end && cell < cells.length; cell += 1) {
        const part = Math.min(end, cell + 1) - Math.max(begin, cell);
        found[column] += cells[cell] * part;
      }
    }
    return found;
  };

  const MARGIN = 52;
  const FOOT = 24;
  let columns = [];
  const drawChart = () => {
    const [context, width, height] = fit(byId("chart"));
    const [inner, tall] = [Math.max(10, width - MARGIN), height - FOOT];
    const most = Math.ceil((range[1] - range[0]) * cellCount);
    const columnCount = Math.max(1, Math.min(Math.floor(inner / 2), most));
    const shown = picked ? [{ cells: picked.cells, color: css("--accent") }]
      : kinds.filter((kind) => kind.on);
    const series = shown.map((kind) => sums(kind.cells, columnCount, ...range));
    columns = Array.from({ length: columnCount }, (_, i) =>
      series.reduce((sum, one) => sum + one[i], 0));
    const top = columns.reduce((a, b) => Math.max(a, b), 0) * 1.08 || 1;
    context.clearRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    const seconds = ((range[1] - range[0]) * data.length) / columnCount;
    const unit = data.isSeconds && seconds > 0 ? seconds : 1; // As a rate, if there are seconds.
    const digits = Math.floor(Math.log10(top / unit / 3));
    const power = 10 ** (unit === 1 ? Math.max(0, digits) : digits); // An event has no fractions.
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => top / unit / n <= 5) * unit;
    for (let value = 0; value <= top; value += step) {
      const y = tall - (value / top) * (tall - 8);
      context.fillStyle = css("--line");
      context.fillRect(MARGIN, Math.round(y), inner, 1);
      context.fillStyle = css("--soft");
      context.textAlign = "right";
      context.fillText(short(value / unit), MARGIN - 8, y + 4);
    }
    context.textAlign = "left";
    const unitText = unit !== 1 ? "events/s" : "events";
    context.clearRect(MARGIN + 2, 0, context.measureText(unitText).width + 4, 14);
    context.fillText(unitText, MARGIN + 4, 11);
    const bar = inner / columnCount;
    const base = new Float64Array(columnCount);
    series.forEach((one, i) => {
      context.fillStyle = shown[i].color;
      for (let column = 0; column < columnCount; column += 1) {
        const tallness = (one[column] / top) * (tall - 8);
        const x = MARGIN + column * bar;
        context.fillRect(x, tall - base[column] - tallness, Math.max(bar - (bar > 4 ? 1 : 0), 0.6),
          tallness);
        base[column] += tallness;
      }
    });
    const [from, shownFor] = [range[0] * data.length, (range[1] - range[0]) * data.length || moment];
    const labels = drawAxis(context, from, shownFor, [MARGIN, inner], [tall, height]);
    document.documentElement.dataset.axis = labels.join("|");
    drawLate(context, inner, tall);
  };
  // Hatches the time before which the log lacks events of a kind that is shown.
  const drawLate = (context, inner, tall) => {
    const late = kinds.filter((kind) =>
      kind.late > 0 && (picked ? picked.kind === kind.name : kind.on));
    const until = late.reduce((most, kind) => Math.max(most, kind.late / data.length), 0);
    const to = Math.min(1, (until - range[0]) / (range[1] - range[0])) * inner;
    const text = `${late.map((kind) => kind.name).join(", ")}: events are ${data.reason}`;
    document.documentElement.dataset.late = to > 0 ? text : "";
    if (to <= 0) return;
    context.save();
    context.beginPath();
    context.rect(MARGIN, 16, to, tall - 16);
    context.clip();
    context.globalAlpha = 0.45;
    context.strokeStyle = css("--soft");
    context.beginPath();
    for (let x = MARGIN - tall; x < MARGIN + to; x += 9) {
      context.moveTo(x, tall);
      context.lineTo(x + tall, 0);
    }
    context.stroke();
    context.globalAlpha = 1;
    context.fillStyle = css("--soft");
    context.textAlign = "left";
    context.fillText(text, MARGIN + 4, 28);
    context.restore();
  };
  const drawOverview = () => {
    const [context, width, height] = fit(byId("overview"));
    const inner = width - MARGIN;
    const all = new Float64Array(Math.max(1, Math.floor(inner)));
    kinds.forEach((kind) => sums(kind.cells, all.length, 0, 1).forEach((n, i) => { all[i] += n; }));
    const top = all.reduce((a, b) => Math.max(a, b), 1);
    context.clearRect(0, 0, width, height);
    context.fillStyle = css("--soft");
    all.forEach((n, i) => context.fillRect(MARGIN + i, height, 1, -Math.ceil((n / top) * height)));
    context.globalAlpha = 0.28;
    context.fillStyle = css("--accent");
    context.fillRect(MARGIN + range[0] * inner, 0, Math.max(2, (range[1] - range[0]) * inner), height);
    context.globalAlpha = 1;
  };

  const spark = (canvas, cells) => {
    const [context, width, height] = fit(canvas);
    const found = sums(cells, Math.max(1, Math.floor(width)), 0, 1);
    const top = found.reduce((a, b) => Math.max(a, b), 1);
    context.fillStyle = css("--accent");
    found.forEach((n, i) => n > 0 && context.fillRect(i, height, 1, -Math.max(1, (n / top) * height)));
  };

  const drawTypes = () => {
    const titles = [["name", "Event type", "", true, "event_type"], ["kind", "Kind", "", true, "kind"],
      ["events", "Events", "", false, "events"], ["bytes", "Bytes", "", false, "bytes"],
      ["listed", "Listed below"], ["", "Over time", "", true]];
    const sparks = [];
    sortTable(byId("types"), titles, types, sorted, drawTypes, types.length, (row, type) => {
      row.className = "pick" + (picked === type ? " picked" : "");
      for (const [text, cls] of [[type.name, "left"], [type.kind, "left"], [count(type.events)],
        [count(type.bytes)], [type.listed < type.events ? count(type.listed) : "all"]])
        row.append(node("td", text, cls));
      const cell = node("td", undefined, "left");
      if (type.cells) {
        const canvas = node("canvas");
        cell.append(canvas);
        sparks.push([canvas, type.cells]);
      }
      row.append(cell);
      row.onclick = () => {
        picked = picked === type || !type.cells ? null : type;
        drawTypes();
        draw();
      };
      row.onkeydown = (event) => { if (event.key === "Enter") row.onclick(); };
    });
    sparks.forEach(([canvas, cells]) => spark(canvas, cells));
  };

  const drawEvents = () => {
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [from, to] = range.map((part) => part * data.length);
    const table = byId("events");
    table.replaceChildren();
    const head = table.createTHead().insertRow();
    for (const [title, cls] of [["Time"], ["Thread", "left"], ["Event", "left"], ["", "left"]])
      head.append(node("th", title, cls));
    const body = table.createTBody();
    let found = 0;
    for (let i = 0; i < times.length; i += 1) {
      if (times[i] < from || times[i] > to) continue;
      const name = data.names[data.sample.names[i]];
      if (picked && picked.name !== name) continue;
      if (!words.every((word) => lower[i].includes(word))) continue;
      found += 1;
      if (found > SHOWN_MAX) continue;
      const row = body.insertRow();
      row.append(
        node("td", time(times[i] / (data.length || 1)) + data.sample.coarse[data.sample.names[i]]),
        node("td", data.threadNames[data.sample.threads[i]], "left"), node("td", name, "left"),
        node("td", texts[i], "text"));
    }
    const whole = times.length >= data.events;
    const [listed, all] = picked ? [picked.listed, picked.events] : [times.length, data.events];
    byId("found").textContent = `${count(found)} of ${many(listed, "event")}` +
      (whole || listed >= all ? "" : ` of the sample (the log has ${count(all)})`) +
      (picked ? ` of ${picked.name}` : "") +
      (found > SHOWN_MAX ? `; the first ${SHOWN_MAX} are shown` : "");
    document.documentElement.dataset.found = found;
  };

  // The tabs that the log has: title, element, name in the address.
  const hasDurations = data.durations && data.durations.rows.length > 0;
  const parts = [["Waits", "waitsTab", "waits", data.waits], ["Events", "eventsTab", "events", true],
    ["Calls", "callsTab", "calls", data.calls], ["Source", "sourceTab", "source", data.source],
    ["Counters", "countersTab", "counters", data.counters], ["Durations", "durationsTab", "durations", hasDurations],
    ["Threads", "threadsTab", "threads", data.lanes], ["Flame", "waitFlameTab", "flame", data.waitFlame],
    ["Plan", "planTab", "plan", data.plan]].filter((part) => part[3]);
  let shown = "eventsTab"; // The tab that is shown.
  // What the parts of the page have in the address: a search each, and what is picked.
  const kept = () => [["find", "", calls], ["lines", "line", source], ["pairs", "slice", durations],
    ["name", "lanes", threads], ["frame", "stack", waitFlame]].filter(([, , part]) => part);
  // Puts what is shown into the address, so that it can be sent, and so that going back leads there.
  const keepState = () => {
    const state = new URLSearchParams();
    const part = (n) => n.toFixed(12).replace(/\.?0+$/, "");
    if (range[0] > 0 || range[1] < 1) state.set("range", range.map(part).join("-"));
    if (byId("search").value) state.set("search", byId("search").value);
    if (picked) state.set("type", picked.name);
    if (shown !== first) state.set("tab", parts.find(([, id]) => id === shown)[2]);
    for (const [search, place, of] of kept()) {
      if (of.search.value) state.set(search, of.search.value);
      if (place && of.place()) state.set(place, of.place());
    }
    // A browser takes a few hundred changes of the address in ten seconds.
    if (isCheck || `#${state}` === (location.hash || "#")) return;
    try { history.replaceState(null, "", `#${state}`); } catch { /* about:blank */ }
  };
  // What is shown from here on is a step of its own: going back leads to what is shown now.
  const leave = () => { if (!isCheck) try { history.pushState(null, "", location.hash || "#"); } catch { /* about:blank */ } };
  let waiting = 0;
  // Draws what the tab that is shown has of the range.
  const draw = () => {
    if (shown === "eventsTab") {
      drawChart();
      drawOverview();
      clearTimeout(waiting);
      waiting = setTimeout(drawEvents, 60);
    }
    byId("range").textContent = `${time(range[0], 3)} to ${time(range[1], 3)}`;
    document.documentElement.dataset.range = range.map((part) => part.toFixed(6)).join(" ");
    for (const part of [counters, threads, waitFlame]) if (part) part.draw();
    keepState();
  };
  // A range that the page can show.
  const stretch = (from, to) => {
    const width = Math.min(1, Math.max(least, to - from));
    const begin = Math.min(1 - width, Math.max(0, from));
    return [begin, begin + width];
  };
  // A range of the time, 0 … 1, on a canvas: the wheel, + and − zoom, a drag and arrow keys move, 0
  // shows all. `left` returns where the time begins on the canvas.
  const viewport = (canvas, left, dragged = () => {}) => {
    const view = { get range() { return range; } };
    const show = (from, to) => {
      range = stretch(from, to);
      draw();
    };
    const zoom = (factor, at = 0.5) => {
      const width = view.range[1] - view.range[0];
      // The place under the pointer stays there, also at the shortest range.
      const next = Math.min(1, Math.max(least, width * factor));
      const from = view.range[0] + (width - next) * at;
      show(from, from + next);
    };
    const move = (part) => {
      const width = view.range[1] - view.range[0];
      show(view.range[0] + width * part, view.range[1] + width * part);
    };
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      const inner = Math.max(1, box.width - left());
      return Math.min(1, Math.max(0, (event.clientX - box.left - left()) / inner));
    };
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX * 0.0008);
      else zoom(Math.exp(event.deltaY * 0.0015), place(event));
    }, { passive: false });
    let held = null;
    canvas.onpointerdown = (event) => {
      held = { x: event.clientX, y: event.clientY, range: [...view.range] };
      canvas.setPointerCapture(event.pointerId);
    };
    canvas.onpointerup = canvas.onpointercancel = () => { held = null; };
    canvas.onpointermove = (event) => {
      if (held) {
        const width = held.range[1] - held.range[0];
        const by = ((held.x - event.clientX) / Math.max(1, canvas.clientWidth - left())) * width;
        show(held.range[0] + by, held.range[0] + by + width);
        dragged(event.clientY - held.y);
        held.y = event.clientY;
      }
      if (view.pointed) view.pointed(event);
    };
    canvas.ondblclick = () => show(0, 1);
    const keys = { ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), "+": () => zoom(0.6),
      "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), 0: () => show(0, 1) };
    return Object.assign(view, { show, zoom, move, place, keys });
  };
  const chart = byId("chart");
  const view = viewport(chart, () => MARGIN);
  const { show, place } = view;
  view.pointed = (event) => {
    const at = Math.min(columns.length - 1, Math.floor(place(event) * columns.length));
    const part = range[0] + (range[1] - range[0]) * place(event);
    const events = columns[at] || 0;
    const about = Number.isInteger(events) ? "" : "about ";
    byId("tip").textContent = `${time(part, 5)}: ${about}${short(events)} ${events === 1 ? "event" : "events"} in this bar`;
  };
  byId("overview").onclick = (event) => {
    const width = range[1] - range[0];
    const box = event.target.getBoundingClientRect();
    const at = (event.clientX - box.left - MARGIN) / (box.width - MARGIN);
    show(at - width / 2, at + width / 2);
  };
  const keys = { ...view.keys, "/": () => byId("search").focus() };
  const intoFlame = () => calls.enter();
  const keysOf = { eventsTab: () => keys, countersTab: () => view.keys, durationsTab: () => durations.keys,
    threadsTab: () => threads.keys, waitFlameTab: () => waitFlame.keys, sourceTab: () => ({ "/": () => source.search.focus() }),
    callsTab: () => ({ "/": () => calls.search.focus(), ArrowDown: intoFlame, ArrowRight: intoFlame }) };
  const tabKeys = () => (keysOf[shown] ? keysOf[shown]() : {});
  // The list of keys of the tab that is shown.
  const help = node("dialog");
  help.setAttribute("aria-label", "Keys");
  document.body.append(help);
  const showHelp = () => {
    const own = tabKeys();
    const among = own.Enter ? [["Shift ← → ↑ ↓", "from one to the next, to the one around it, into it"], ["↑ ↓", "scroll"],
      ["Enter", "zooms to the one that is picked"], ["Esc", "picks none"]] : [];
    const rows = [...(own["+"] ? [["+ −", "zoom"], ["← →", "move in time"], ["0", "shows the whole log"]] : []), ...among,
      ...(shown === "callsTab" ? [["↓ →", "into the flame graph: arrow keys move there, Enter zooms, Esc zooms out"]] : []),
      ...(shown === "durationsTab" ? [["↑ ↓", "from row to row"]] : []),
      ...(own["/"] ? [["/", "searches; Esc ends the search"]] : []),
      ...(parts.length > 1 ? [[`1 … ${parts.length}`, parts.map(([title]) => title).join(", ")]] : []), ["?", "shows and hides this list"]];
    const list = node("dl");
    for (const [key, what] of rows) {
      const [name, text] = [node("dt"), node("dd", what)];
      name.append(node("kbd", key));
      list.append(name, text);
    }
    const close = node("button", "Close");
    Object.assign(close, { type: "button", onclick: () => help.close() });
    help.replaceChildren(node("h2", "Keys"), list, close);
    help.showModal();
  };
  help.onclick = (event) => { if (event.target === help) help.close(); };
  const ask = node("button", "?", "help");
  Object.assign(ask, { type: "button", title: "Keys", ariaLabel: "Keys", onclick: showHelp });
  document.querySelector("header").append(ask);
  // What a list or a row of buttons does with keys by itself.
  const OWN_KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Enter", " "];
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const isIn = (query) => event.target.closest && event.target.closest(query);
    if (event.key === "Escape" && isIn("input")) event.target.blur(); // The browser clears the search.
    if (isIn("input:not(#theme), select") || (OWN_KEYS.includes(event.key) && isIn(".scroll, .tabs"))) return;
    if (help.open) {
      if (event.key === "?") help.close();
      return;
    }
    const part = parts.length > 1 && parts[Number(event.key) - 1];
    const known = tabKeys()[event.key] || (event.key === "?" && showHelp) || (part && (() => showTab(part[1])));
    if (!known) return;
    event.preventDefault();
    known(event);
  });
  byId("in").onclick = keys["+"];
  byId("out").onclick = keys["-"];
  byId("reset").onclick = keys[0];
  byId("search").oninput = draw;

  const redraw = () => {
    drawTypes();
    draw();
    if (durations) durations.draw();
  };
  byId("theme").onchange = redraw;

  const tabs = (parts.length > 1 ? parts : []).map(([title, id]) => {
    const tab = node("button", title);
    Object.assign(tab, { type: "button", role: "tab", id: `${id}Button`, onclick: () => showTab(id) });
    tab.setAttribute("aria-controls", id);
    byId(id).role = "tabpanel";
    byId(id).setAttribute("aria-labelledby", tab.id);
    byId("tabs").append(tab);
    return { tab, id };
  });
  // Shows the events, the calls, the source, the durations, the threads, the flame of waits or the plan.
  const openTab = (id) => {
    shown = id;
    for (const { tab, id: own } of tabs) {
      byId(own).hidden = own !== shown;
      tab.setAttribute("aria-selected", String(own === shown));
      tab.tabIndex = own === shown ? 0 : -1;
      if (own === shown) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    redraw();
    if (shown === "sourceTab") source.reveal();
  };
  const showTab = (id) => {
    if (id !== shown) leave();
    openTab(id);
  };
  byId("tabs").onkeydown = (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const at = tabs.findIndex((other) => other.id === shown);
    const by = event.key === "ArrowLeft" ? tabs.length - 1 : 1;
    const { tab } = tabs[(at + by) % tabs.length];
    tab.click();
    tab.focus();
  };

  const build = () => {
    for (const kind of kinds) {
      const button = node("button");
      const dot = node("span", undefined, "dot");
      dot.style.background = kind.color;
      button.type = "button";
      button.append(dot, `${kind.name} ${short(kind.events)}`);
      button.setAttribute("aria-pressed", "true");
      button.onclick = () => {
        kind.on = !kind.on;
        button.setAttribute("aria-pressed", String(kind.on));
        draw();
      };
      byId("legend").append(button);
    }
    for (const part of document.querySelectorAll("#eventsTab > section")) part.hidden = !data.events;
    if (times.length < data.events) {
      const whole = types.filter((type) => type.listed >= type.events).length;
      byId("sampled").textContent =
        `A sample, ${count(times.length)} of ${count(data.events)} events: all events of ${count(whole)} of ` +
        `${count(types.length)} event types, as each with at most ${count(data.sampleOfType)} is whole; ` +
        `${data.lanes ? "both ends of the slowest slices of each name; " : ""}of the other events some, ` +
        "spread over time. The column “Listed below” says how many.";
    }
  };

  // What a view was sent with; `check` has the page say of itself what tests ask.
  const state = new URLSearchParams(location.hash.slice(1));
  const isCheck = state.has("check");
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  byId("theme").checked = state.has("theme") && isDark !== (state.get("theme") === "dark");
  build();
  const tools = { node, count, many, are, short, bytes, sortTable, leave, changed: () => keepState() };
  const called = new Map(data.calls ? data.calls.names.map((name, at) => [name, at]) : []);
  if (data.source) source = sourceTab(byId("sourceTab"), data.source, { ...tools,
    hasCall: (name) => called.has(name),
    showCall: (name) => { showTab("callsTab"); calls.pick(called.get(name), true); } });
  if (data.calls) calls = callsTab(byId("callsTab"), data.calls, { ...tools,
    hasSource: (name) => source && source.has(name),
    showSource: (name) => { showTab("sourceTab"); source.show(name); } });
  const drawing = { ...tools, css, fit, scale, viewport, PALETTE };
  if (data.lanes) threads = threadsTab(byId("threadsTab"), data.lanes, { ...drawing,
    hasFlame: (number, at) => waitFlame && waitFlame.has(number, at),
    showFlame: (number, at) => { showTab("waitFlameTab"); waitFlame.go(number, at); } });
  if (data.counters) {
    counters = countersTab(byId("countersTab"), data.counters, { ...drawing, drawAxis,
      timeText: (part, digits) => time(part, digits || 5), length: data.length, moment, open: () => showTab("countersTab") });
  }
  if (hasDurations) durations = durationsTab(byId("durationsTab"), data.durations, { ...drawing, lanes: threads,
    open: () => showTab("durationsTab"), showBar: (i) => { showTab("threadsTab"); threads.show(i); } });
  const hasOwn = !data.calls && !data.source && !data.waits; // Other tabs of such logs tell more of durations.
  for (const [id, part] of [["counterLines", counters], ["durationLines", hasOwn && durations]]) {
    byId(id).hidden = !part || !part.small.length;
    if (part) byId(id).lastElementChild.append(...part.small);
  }
  if (data.waitFlame) waitFlame = waitFlameTab(byId("waitFlameTab"), data.waitFlame, { ...drawing,
    hasLane: (number) => threads && threads.has(number),
    showLane: (number, at) => { showTab("threadsTab"); threads.go(number, at); } });
  // What such a log was made for.
  const made = (threads && threads.hasWaits && !data.waits) ? "threadsTab" : calls ? "callsTab" : source ? "sourceTab" : "eventsTab";
  first = data.waits ? "waitsTab" : made;
  byId("tabs").hidden = !tabs.length;
  // Shows what an address tells: that with which the page was opened, or an earlier step.
  const restore = (state) => {
    const [from, to] = (state.get("range") || "0-1").split("-").map(Number);
    range = from < to ? stretch(from, to) : [0, 1];
    byId("search").value = state.get("search") || "";
    picked = types.find(({ name, cells }) => cells && name === state.get("type")) || null;
    openTab((parts.find(([, , name]) => name === state.get("tab")) || [, first])[1]);
    for (const [search, place, part] of kept()) {
      const words = state.get(search) || "";
      if (words !== part.search.value) {
        part.search.value = words;
        part.find();
      }
      if (place) part.showAt(state.get(place) || "");
    }
    draw();
    drawEvents();
  };
  restore(state);
  addEventListener("hashchange", () => restore(new URLSearchParams(location.hash.slice(1))));
  new ResizeObserver(draw).observe(chart);
  const said = document.documentElement.dataset;
  if (isCheck) {
    const pixels = chart.getContext("2d").getImageData(0, 0, chart.width, chart.height).data;
    const colors = new Set();
    for (let i = 0; i < pixels.length; i += 4)
      if (pixels[i + 3] > 200) colors.add((pixels[i] << 16) | (pixels[i + 1] << 8) | pixels[i + 2]);
    said.colors = colors.size;
    said.before = said.range;
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "+" }));
    said.zoomed = said.range;
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "0" }));
    said.reset = said.range;
    byId("types").querySelector("th button").click();
    said.first = byId("types").querySelector("tbody td").textContent;
    const clipped = [...document.querySelectorAll(".scroll, .fact")]
      .filter((box) => box.scrollWidth > box.clientWidth);
    said.clipped = clipped.map((box) => box.parentElement.textContent.slice(0, 20)).join();
    // The labels of the axis, ever further in.
    const axes = [];
    for (let width = 1; width >= 1 / ZOOM_MAX; width /= 1.7) {
      show(0.9, 0.9 + width);
      axes.push(said.axis);
    }
    said.axes = axes.join(" / ");
    show(0, 1);
  }
  said.ready = Math.round(performance.now());
})();
