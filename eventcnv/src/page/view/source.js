// The tab of source: the hottest statements, and their lines with counts and times.
//
//   rows (statements) ─▶ the table: sort, filter, search ── a click ─┐
//   files, units (functions) ─▶ lines of a file, shaded, folded ◀────┴─▶ the tab of calls
//
// Text of the log and of files becomes text and attributes, never markup.
"use strict";
const sourceTab = (root, data, page) => {
  const { node, count, sortTable, changed } = page;
  const LISTED_MAX = 200; // Rows of the table of statements.
  const WHOLE_MAX = 400; // A file with more lines is folded to its functions that ran.
  const LINES_MAX = 1500; // Lines of a folded file that are seen at first.
  const OPENED_MAX = 1000; // Lines that a click adds.
  const TEXT_MAX = 90; // Letters of a statement in the table.
  const { time, share, many, button, section, named, prepare } =
    tabTools(root, { isNs: data.isNs, time: data.own }, [], page);
  const columns = ["count", "own", "ownError", "percent", "total", "totalError", "mean", "min",
    "traced", "p50", "p90", "p99", "p999", "max", "deviation", "waiting"];

  // A number of the log: itself, at most itself, or about itself.
  const plain = (value) => (Array.isArray(value) ? value[0] : value);
  const marked = (value, show = time) => (Array.isArray(value)
    ? ["≤ ", "≈ "][value[1]] + show(value[0]) : show(value));
  // What is too short to be measured counts as nothing.
  const rank = (value) => (Array.isArray(value) && !value[1] ? 0 : plain(value));

  const files = data.files.map((file, at) => {
    const lines = new Map();
    for (const [from, text] of file.parts)
      text.split("\n").forEach((line, i) => lines.set(from + i, line));
    return { ...file, at, lines, rows: new Map(), units: [], opened: new Set(), own: 0, ran: 0, all: 0 };
  });
  const units = data.units.map(([file, fn, first, last, head]) =>
    ({ file, fn, first, last, head, own: 0, ran: 0, all: 0 }));
  units.forEach((unit) => files[unit.file].units.push(unit));
  const unitOf = new Map(units.map((unit) => [`${unit.file} ${unit.fn}`, unit]));
  // The first line of a statement, as far as the page has it.
  const textOf = (line, column, letters, ends) => {
    const text = [...(line || "")].slice(column - 1, column - 1 + letters).join("");
    return text + (ends && !text.endsWith("…") ? " …" : "");
  };
  const brief = (text) => (text.length > TEXT_MAX ? text.slice(0, TEXT_MAX) + "…" : text);
  const rows = data.rows.map(([file, fn, line, column, letters, ends, flags, places, ...values], at) => {
    const cells = {};
    columns.forEach((name, i) => { cells[name] = values[i] ?? undefined; });
    const of = files[file];
    const [fits, waits, isAmbiguous, isWrong] = [1, 2, 4, 8].map((flag) => (flags & flag) > 0);
    const text = fits ? textOf(of.lines.get(line), column, letters, ends) : "";
    const place = of.name ? `${of.name}:${line}` : "";
    const row = { at, file, fn, line, column, cells, fits, waits, isAmbiguous, isWrong, places, text, place,
      name: data.functions[fn], count: cells.count };
    for (const name of ["own", "total", "mean", "min", "max", "p50", "p99", "deviation", "waiting"])
      row[name] = rank(cells[name]);
    const unit = unitOf.get(`${file} ${fn}`);
    const [own, ran] = [row.waits ? 0 : plain(cells.own) || 0, row.count > 0 ? 1 : 0];
    for (const sum of [of, unit]) {
      if (!sum) continue;
      sum.own += own;
      sum.ran += ran;
      sum.all += 1;
    }
    if (!of.rows.has(line)) of.rows.set(line, []);
    of.rows.get(line).push(row);
    return row;
  });
  // Their order by files and lines; files are in order of their names.
  const names = new Map([...files].sort((a, b) => (a.name < b.name ? -1 : 1)).map((file, i) => [file.at, i]));
  [...rows].sort((a, b) => names.get(a.file) - names.get(b.file) || a.line - b.line || a.column - b.column)
    .forEach((row, i) => { row.order = i; });
  for (const file of files)
    file.rows.forEach((own) => own.sort((a, b) => a.column - b.column || a.at - b.at));
  const never = rows.filter((row) => !row.count && row.places);
  const waiting = rows.filter((row) => row.count && row.waits);
  const ran = rows.filter((row) => row.count && !row.waits);
  const hot = ran.filter((row) => row.own > 0);

  const placeLink = (row) => button(row.place || row.name, () => pick(row, true), "link");
  const callLink = (fn, text) => {
    const made = button(text || data.functions[fn], () => page.showCall(data.functions[fn]), "link");
    made.title = `${data.functions[fn]}\nin the tab Calls: its callers, and what it calls`;
    return page.hasCall(data.functions[fn]) ? made : node("span", text ? "" : data.functions[fn]);
  };

  const summary = () => {
    const waits = waiting.reduce((sum, row) => sum + (row.waiting || 0), 0);
    const never = data.never
      ? button("never ran", () => { choose("never"); head.scrollIntoView({ block: "start" }); }, "link")
      : "never ran";
    root.append(factBoxes([["statements", count(data.count)], ["ran", count(data.ran)],
      [never, count(data.never)],
      ...(data.hasTimes ? [["time in statements", time(data.own)]] : []),
      ...(waiting.length ? [["waiting time", time(waits)]] : [])]));
    const lead = node("p", undefined, "lead");
    lead.id = "hottestLine";
    const most = data.hasTimes ? hot[0] : ran[0];
    if (!most) {
      section("The hottest line", node("p", ran.length
        ? "Each statement took less time than the recorder can measure. Its counts are below."
        : "No statement ran, or none is selected.", "note"));
      return;
    }
    const what = most.text ? node("code", brief(most.text)) : "a statement";
    lead.append(data.hasTimes ? `${share(most.own)} of the time is in ` : `${many(most.count, "time")} ran `,
      what, " at ", placeLink(most));
    const next = node("p", data.hasTimes
      ? `It ran ${many(most.count, "time")}, on average ${marked(most.cells.mean)} each. ` : "", "note");
    (data.hasTimes ? hot : ran).slice(1, 4).forEach((row, at) =>
      next.append(at ? ", " : "Next: ", placeLink(row), ` ${data.hasTimes ? share(row.own) : count(row.count)}`));
    const how = { raw: "Times are as measured: they contain the cost of the recorder.",
      outer: "Times are without the recorder's cost in the statements inside.",
      leaves: "A statement with others inside has the sum of their times.",
      calibrated: "The cost of the recorder is taken out of the times." }[data.method];
    section("The hottest line", lead, next, node("p", (data.hasTimes
      ? `Own time is time in the statement itself, without the statements inside it. ${how} ` +
        `(The option --method of eventcnv report has other ways; this is “${data.method}”.) ` +
        (rows.some((row) => Array.isArray(row.cells.own)) ? "A time with ≤ is too short to be measured. " : "")
      : "The log has counts, and no times. ") +
      `Numbers are added over all threads${data.isPart ? ", and of the selected part of the log" : ""}.`, "note"));
  };

  // The table of statements: those that ran, those that wait, those that never ran.
  const table = node("table");
  const listed = node("p", undefined, "note");
  const hits = node("span", undefined, "soft");
  const search = node("input");
  const sorted = { by: data.hasTimes ? "own" : "count", down: true };
  const sets = [["ran", "Ran", ran], ["waits", "With waiting", waiting], ["never", "Never ran", never]];
  const choices = new Map();
  let chosen = "ran";
  const TIMES = [["total", "Total time", "with all inside it"], ["mean", "Average", "total time of one run"],
    ["min", "Shortest", "run"], ["max", "Longest", "run"]];
  const COLUMNS = {
    ran: [...(data.hasTimes ? [["own", "Own time", "in the statement itself"]] : []),
      ["count", "Ran", "how often"], ...(data.hasTimes ? [...TIMES,
        ["deviation", "Deviation", "standard deviation of a run"]] : []),
    ...(data.hasTrace ? [["p50", "Median", "half of the runs are shorter"],
      ["p99", "p99", "99 of 100 are shorter"]] : [])],
    waits: [["waiting", "Time with waiting", "from begin to end"], ["count", "Ran", "how often"],
      ...TIMES.slice(1)],
    never: [],
  };
  const seen = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = sets.find(([key]) => key === chosen)[2];
    const has = (row) => {
      row.found ??= [row.text, row.place, row.name].join(" ").toLowerCase();
      return words.every((word) => row.found.includes(word));
    };
    const found = words.length ? all.filter(has) : all;
    hits.textContent = words.length ? `${count(found.length)} of ${many(all.length, "statement")}` : "";
    return found;
  };
  // A cell whose long name is broken after its parts.
  const broken = (name, tag) => {
    const [cell, inner] = [node("td", undefined, "left name"), node(tag)];
    name.split(/(?<=\/|::|_)/).forEach((part, at) => inner.append(...(at ? [node("wbr")] : []), part));
    cell.append(inner);
    return cell;
  };
  const cellOf = (row, key) => {
    if (key === "count") return node("td", count(row.count));
    if (key !== "own" || row.cells.own === undefined) return node("td", marked(row.cells[key]));
    const cell = node("td", `${marked(row.cells.own)} · ${share(plain(row.cells.own))}`, "share");
    const [gauge, part] = [node("i"), node("b")];
    part.style.width = data.own ? `${(100 * row.own) / data.own}%` : "0";
    gauge.append(part);
    cell.append(gauge);
    if (row.cells.ownError) cell.title = `± ${time(row.cells.ownError)}`;
    return cell;
  };
  const drawTable = () => {
    const shown = seen();
    const heading = named([["order", "Statement", "in order of files and lines", true],
      ...COLUMNS[chosen], ["name", "Function", "", true]],
    { order: "place", name: "function", count: "count" });
    sortTable(table, heading, shown, sorted, drawTable, LISTED_MAX, (tr, row) => {
      tr.className = "pick" + (picked === row ? " picked" : "");
      tr.tabIndex = 0;
      tr.dataset.at = row.at;
      tr.onclick = () => pick(row, true);
      tr.onkeydown = (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        pick(row, true);
      };
      const what = broken(row.place, "small");
      what.prepend(row.text ? node("code", brief(row.text)) : node("span", "(no text)", "soft"));
      tr.append(what, ...COLUMNS[chosen].map(([key]) => cellOf(row, key)), broken(row.name, "span"));
    });
    listed.textContent = [
      shown.length > LISTED_MAX ? `The first ${LISTED_MAX} of ${many(shown.length, "statement")}: search or sort.` : "",
      chosen === "waits" ? "These statements contain an .await: their times contain the time in which nothing ran, " +
        "so they have no own time, and are not in the sums." : "",
      chosen === "never" ? "The program contains these statements, and the log has no run of them." : "",
      rows.length < data.count ? `${many(data.count - rows.length, "more statement")} ${page.are(data.count - rows.length)} not on this page, which ` +
        "has the functions with the hottest ones: eventcnv lines prints all." : "",
    ].filter(Boolean).join(" ");
  };
  const choose = (key) => {
    chosen = key;
    choices.forEach((made, own) => made.setAttribute("aria-pressed", String(own === key)));
    const keys = ["order", "name", ...COLUMNS[key].map(([own]) => own)];
    if (!keys.includes(sorted.by) || key === "never")
      [sorted.by, sorted.down] = key === "waits" ? ["waiting", true] : key === "never" ? ["", true]
        : [data.hasTimes ? "own" : "count", true];
    drawTable();
  };

  // The lines of a file.
  const view = node("div", undefined, "scroll");
  const notes = node("div");
  const select = node("select");
  const legend = node("span", undefined, "row");
  const shades = new Map();
  let shade = data.hasTimes && hot.length ? "own" : "count";
  let shown = null;
  let picked = null;
  const ownMax = rows.reduce((most, row) => Math.max(most, row.waits ? 0 : row.own || 0), 0);
  const countMax = rows.reduce((most, row) => Math.max(most, row.count), 0);
  const heats = {
    own: { of: (ns) => (ownMax ? Math.sqrt(Math.min(1, ns / ownMax)) : 0), at: (part) => part * part * ownMax },
    count: { of: (n) => (countMax ? Math.log1p(n) / Math.log1p(countMax) : 0),
      at: (part) => Math.round(Math.expm1(part * Math.log1p(countMax))) },
  };
  const heatOf = (own) => {
    const value = shade === "own"
      ? own.reduce((sum, row) => sum + (row.waits ? 0 : row.own || 0), 0)
      : own.reduce((most, row) => Math.max(most, row.count), 0);
    return heats[shade].of(value);
  };
  const drawLegend = () => {
    legend.replaceChildren(node("span", shade === "own" ? "Own time:" : "Ran:", "soft"));
    const swatches = node("span", undefined, "swatches");
    for (const part of [0.1, 0.4, 0.7, 1]) {
      const value = heats[shade].at(part);
      const swatch = node("span", shade === "own" ? time(value) : count(value));
      swatch.style.setProperty("--heat", `${100 * part}%`);
      swatches.append(swatch);
    }
    const unrun = node("span", undefined, "swatches");
    unrun.append(node("span", "never ran", "never-mark"));
    legend.append(swatches, unrun, node("span", "The stronger the colour, the more " +
      (shade === "own" ? "own time." : "often a line ran."), "soft"));
    shades.forEach((made, key) => made.setAttribute("aria-pressed", String(key === shade)));
    view.dataset.shade = shade;
  };
  const COLS = data.hasTimes ? 6 : 3;
  const wide = (made) => { made.classList.add("wide"); return made; };
  const numbersOf = (row) => {
    const ranCell = node("td", row.count ? count(row.count) : row.places ? "never" : "0", "ran");
    if (!data.hasTimes) return [ranCell];
    const { own, total, mean, waiting: waited } = row.cells;
    const cells = row.count === 0 ? ["", "", ""]
      : row.waits ? ["waits", marked(waited), marked(mean)]
        : [marked(own), marked(total), marked(mean)];
    return [ranCell, node("td", cells[0], "own"), wide(node("td", cells[1])), wide(node("td", cells[2]))];
  };
  const isNever = (own) => own.every((row) => !row.count && row.places);
  const detailOf = (row) => {
    const tr = node("tr", undefined, "detail");
    const cell = node("td");
    cell.colSpan = COLS;
    const box = node("div");
    const first = node("p", undefined, "soft");
    first.style.margin = 0;
    first.append(`${row.place || "unknown place"}:${row.column} in ${row.name} `, callLink(row.fn, "Show it in Calls"));
    box.append(first);
    const said = [
      [row.places > 1, `${row.places} statements have this place, as macros make them: their numbers are added up.`],
      [!row.fits && files[row.file].lineCount, "The file does not have a statement at this place: it was changed after the program was built."],
      [row.isAmbiguous, "The log has other places for it too: it is of different versions of the program."],
      [row.isWrong, "The sums in the log contradict each other: see the notes."],
      [row.waits, "It contains an .await: its time contains the time in which nothing ran."],
    ].filter(([is]) => is).map(([, text]) => text).join(" ");
    if (said) box.append(node("p", said, "note"));
    const list = node("dl");
    const { cells } = row;
    const error = (ns) => (ns ? ` ± ${time(ns)}` : "");
    const covered = cells.traced === undefined ? "" : ` (of ${count(cells.traced)} traced runs)`;
    for (const [name, value, more] of [["ran", count(row.count)],
      ["own time", cells.own, error(cells.ownError)], ["total time", cells.total, error(cells.totalError)],
      ["time with waiting", cells.waiting], ["average", cells.mean], ["shortest", cells.min], ["median", cells.p50, covered],
      ["p90", cells.p90], ["p99", cells.p99], ["p99.9", cells.p999], ["longest", cells.max],
      ["deviation", cells.deviation]]) {
      if (value === undefined) continue;
      const pair = node("div");
      pair.append(node("dt", name), node("dd", (name === "ran" ? value : marked(value)) + (more || "")));
      list.append(pair);
    }
    box.append(list);
    cell.append(box);
    tr.append(cell);
    return tr;
  };
  const lineRow = (tr, own) => {
    tr.classList.add("line");
    tr.tabIndex = -1;
    const [row] = own;
    tr.dataset.at = row.at;
    if (own.includes(picked)) tr.classList.add("picked");
    if (isNever(own)) tr.classList.add("never");
    else if (own.some(({ count: times }) => times)) {
      tr.classList.add("shaded");
      tr.style.setProperty("--heat", `${(100 * heatOf(own)).toFixed(3)}%`);
    }
    tr.onclick = () => pick(row === picked ? null : row);
  };
  const statementRow = (body, row) => {
    const tr = body.insertRow();
    tr.className = "part";
    const text = row.fits ? `↳ ${row.text}` : `↳ (a statement that is not at ${row.line}:${row.column} in this file)`;
    tr.append(node("td", "", "number"), ...numbersOf(row), node("td", files[row.file].lineCount === null
      ? "(no text)" : text, "code"));
    lineRow(tr, [row]);
    if (row === picked) body.append(detailOf(row));
  };
  // Which lines are seen: all of a short file, else those of the functions that ran.
  const visible = (file) => {
    const lines = new Set(file.opened);
    if (file.lineCount === null) return new Set(file.rows.keys());
    if (file.lineCount <= WHOLE_MAX) {
      for (let line = 1; line <= file.lineCount; line += 1) lines.add(line);
    } else {
      for (const unit of [...file.units].sort((a, b) => b.own - a.own)) {
        if (!unit.ran || lines.size > LINES_MAX) continue;
        const last = Math.min(unit.last, unit.first + LINES_MAX);
        for (let line = Math.max(1, unit.first); line <= last; line += 1) lines.add(line);
      }
    }
    // Statements beyond the end of the file, which was changed.
    for (const line of file.rows.keys()) if (line > file.lineCount) lines.add(line);
    return lines;
  };
  const gapRow = (body, file, from, to) => {
    const tr = body.insertRow();
    tr.className = "gap";
    const cell = node("td");
    cell.colSpan = COLS;
    const within = file.units.filter((unit) => unit.first >= from && unit.last <= to + 1);
    const names = within.filter((unit) => !unit.ran).map((unit) => data.functions[unit.fn]);
    const what = many(to - from + 1, "line") + (names.length ? "; never ran: " + names.slice(0, 3).join(", ") +
      (names.length > 3 ? ` and ${many(names.length - 3, "more function")}` : "") : "");
    let has = false;
    for (let line = from; line <= to && !has; line += 1) has = file.lines.has(line) || file.rows.has(line);
    if (has) cell.append(button(`⋯ ${what}`, () => {
      for (let line = from; line <= Math.min(to, from + OPENED_MAX - 1); line += 1) file.opened.add(line);
      drawLines();
    }, "link"));
    else cell.append(`⋯ ${what}: not on this page`);
    tr.append(cell);
  };
  const headRow = (body, file, unit) => {
    const tr = body.insertRow();
    tr.className = "function";
    const cell = node("td");
    cell.colSpan = COLS;
    const strong = node("strong");
    strong.append(callLink(unit.fn));
    cell.append(strong, node("span", ` ${unit.ran} of ${many(unit.all, "statement")} ran` +
      (data.hasTimes && unit.own ? ` · own time ${time(unit.own)} · ${share(unit.own)}` : ""), "soft"));
    tr.append(cell);
  };
  const drawLines = () => {
    if (!shown) return;
    const file = shown;
    const warnings = [];
    if (!file.name) warnings.push("The log does not state the places of these statements.");
    else if (file.lineCount === null) warnings.push("The source file was not found when this page was made, " +
      "so there are numbers and no text. The option --source DIR of eventcnv report names the program's folder.");
    if (file.misfits && file.lineCount !== null) warnings.push(`This file is not the one of the program: ` +
      `${many(file.misfits, "statement")} of ${count(file.all)} ${file.misfits === 1 ? "is" : "are"} not at the stated place. ` +
      "The numbers are right; the text may be of another version.");
    else if (file.isNewer) warnings.push("This file is newer than the log: it may have been changed after the run.");
    if (file.left) warnings.push(`${many(file.left, "statement")} of this file are not on this page.`);
    notes.replaceChildren(...warnings.map((text) => node("p", text, "warn")));
    const made = node("table");
    const head = made.createTHead().insertRow();
    for (const [text, cls] of [["Line"], ["Ran", "ran"], ...(data.hasTimes ? [["Own time", "own"], ["Total time", "wide"],
      ["Average", "wide"]] : []), ["Source", "left"]]) head.append(node("th", text, cls));
    const body = made.createTBody();
    const lines = [...visible(file)].sort((a, b) => a - b);
    const heads = new Map();
    for (const unit of file.units) {
      const first = lines.find((line) => line >= (unit.head || unit.first) && line <= unit.last);
      if (first !== undefined) heads.set(first, [...(heads.get(first) || []), unit]);
    }
    let next = 1;
    for (const line of lines) {
      if (line > next && next <= file.lineCount) gapRow(body, file, next, Math.min(line - 1, file.lineCount));
      next = line + 1;
      (heads.get(line) || []).forEach((unit) => headRow(body, file, unit));
      const all = file.rows.get(line) || [];
      const own = all.filter((row) => row.fits);
      const text = file.lines.get(line);
      if (line <= file.lineCount) {
        const tr = body.insertRow();
        const number = node("td", String(line), "number");
        const code = node("td", text === undefined ? "(not on this page)" : text, "code");
        if (own.length === 1) tr.append(number, ...numbersOf(own[0]), code);
        else {
          // The cells are those of other rows, since a narrow page hides some of them.
          const label = own.length ? many(own.length, "statement") : "";
          tr.append(number, node("td", data.hasTimes ? "" : label, "ran"), ...(data.hasTimes
            ? [node("td", label, "own"), wide(node("td")), wide(node("td"))] : []), code);
        }
        if (own.length) lineRow(tr, own);
        if (own.length === 1 && own[0] === picked) body.append(detailOf(picked));
        if (own.length > 1) own.forEach((row) => statementRow(body, row));
      }
      const others = all.filter((row) => !row.fits);
      others.forEach((row) => statementRow(body, row));
      if (others.length && file.lineCount === null)
        body.rows[body.rows.length - others.length].cells[0].textContent = line || "?";
    }
    if (file.lineCount !== null && next <= file.lineCount) gapRow(body, file, next, file.lineCount);
    view.replaceChildren(made);
    const first = view.querySelector("tr.picked") || view.querySelector("tr.line");
    if (first) first.tabIndex = 0;
  };
  // Scrolls the lines to the hottest one.
  const reveal = () => {
    if (root.hidden) return;
    const lines = [...view.querySelectorAll("tr.shaded")];
    const heat = (line) => Number(line.style.getPropertyValue("--heat").slice(0, -1));
    const most = lines.reduce((a, b) => (heat(b) > heat(a) ? b : a), lines[0]);
    if (!picked && most) scrollTo(most);
  };
  const scrollTo = (line) => {
    view.scrollTop += line.getBoundingClientRect().top - view.getBoundingClientRect().top - view.clientHeight / 3;
  };
  const show = (file) => {
    shown = file;
    select.value = String(file.at);
    drawLines();
    reveal();
  };
  // Shows the line of a statement.
  const pick = (row, isFar) => {
    picked = row;
    if (row) {
      const file = files[row.file];
      if (file.lineCount > WHOLE_MAX && !visible(file).has(row.line))
        for (let line = row.line - 20; line <= Math.min(file.lineCount, row.line + 60); line += 1)
          if (line > 0) file.opened.add(line);
      show(file);
    } else drawLines();
    drawTable();
    changed();
    const line = row && view.querySelector(`tr.line[data-at="${row.at}"], tr.picked`);
    if (!line) return;
    if (isFar) {
      section3.scrollIntoView({ block: "start" });
      scrollTo(line);
    }
    line.focus({ preventScroll: true });
  };
  const move = (by) => {
    const all = [...view.querySelectorAll("tr.line")];
    const at = all.indexOf(document.activeElement);
    const to = all[Math.max(0, Math.min(all.length - 1, at + by))];
    if (!to) return;
    all.forEach((line) => { line.tabIndex = -1; });
    to.tabIndex = 0;
    to.focus();
  };
  view.onkeydown = (event) => {
    const is = event.target.closest("tr.line") === event.target;
    const act = { ArrowDown: () => move(1), ArrowUp: () => move(-1), Enter: () => event.target.click(),
      " ": () => event.target.click() }[event.key];
    if (!is || !act) return;
    event.preventDefault();
    act();
  };

  summary();
  prepare(search, "lineSearch", "files, functions, text", () => { drawTable(); changed(); }, hits, "lineHits");
  table.id = "statements";
  const scroll = node("div", undefined, "scroll");
  scroll.append(table);
  const [head, headLine] = section("Statements", scroll, listed);
  for (const [key, title, all] of sets) {
    if (!all.length && key !== "ran") continue;
    const made = button(`${title} ${count(key === "never" ? data.never : all.length)}`, () => choose(key));
    choices.set(key, made);
    headLine.append(made);
  }
  headLine.append(search, hits);
  view.id = "lines";
  view.tabIndex = -1;
  select.id = "file";
  select.setAttribute("aria-label", "Source file");
  const byOwn = [...files].sort((a, b) => b.own - a.own || b.ran - a.ran);
  for (const file of byOwn) {
    const option = node("option", `${file.name || "(no file)"} — ` +
      (data.hasTimes ? `${share(file.own)}, ` : "") + `${count(file.ran)} of ${count(file.all)} ran`);
    option.value = String(file.at);
    select.append(option);
  }
  select.onchange = () => { picked = null; show(files[Number(select.value)]); };
  const [section3, line3] = section("Lines of a file", notes, node("p", "Click a line for all its numbers. In a " +
    "file of more than " + WHOLE_MAX + " lines, functions that never ran are folded.", "note"), legend, view);
  legend.id = "legendOfLines";
  line3.append(select, node("span", "Shade by", "soft push"));
  for (const [key, title] of [["own", "Own time"], ["count", "How often it ran"]]) {
    if (key === "own" && !(data.hasTimes && hot.length)) continue;
    const made = button(title, () => { shade = key; drawLegend(); drawLines(); });
    shades.set(key, made);
    line3.append(made);
  }
  if (data.notes.length) {
    const [made] = section("Notes");
    data.notes.forEach((text) => made.append(node("p", text, "note")));
  }
  choose(ran.length ? "ran" : never.length ? "never" : "ran");
  drawLegend();
  if (byOwn.length) show(byOwn[0]);
  const functions = new Map();
  rows.forEach((row) => { if (!functions.has(row.name)) functions.set(row.name, row); });
  return { search, find: drawTable, reveal,
    has: (name) => functions.has(name),
    // Shows a function: its hottest statement.
    show: (name) => pick(functions.get(name), true),
    place: () => (picked ? String(picked.at) : ""),
    showAt: (at) => { if (rows[at]) pick(rows[at], true); } };
};
