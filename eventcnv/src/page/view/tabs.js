// What all tabs use.
//
//   ns, counts, names ─▶ texts of a bounded length
//
// Text of the log becomes text and attributes, never markup.
"use strict";
// Numbers and names as a tab writes them, its sections, and buttons.
const tabTools = (root, data, functions, { node, count, short }) => {
  const NAME_MAX = 160; // Letters of a name that are seen.
  const ownMax = functions.reduce((most, one) => Math.max(most, one.own), 0) || 1;
  const time = (ns) => {
    if (ns === null || ns === undefined) return "–";
    if (!data.isNs) return short(ns) + "\u202fticks";
    const units = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]];
    const [unit, size] = units.find(([, least]) => ns >= least) || ["ns", 1];
    return Number((ns / size).toPrecision(3)) + "\u202f" + unit;
  };
  const percentOf = (part, all) => {
    const percent = all > 0 ? (100 * part) / all : 0;
    return (percent > 0 && percent < 0.1 ? "< 0.1" : percent.toFixed(1)) + "\u202f%";
  };
  const share = (part) => percentOf(part, data.time);
  const many = (n, one, more) => `${count(n)} ${n === 1 ? one : more || one + "s"}`;
  const heat = (at) => `${Math.round(100 * Math.sqrt(functions[at].own / ownMax))}%`;
  // The beginning and the end of a long name, which tell it from others.
  const middle = (name, most = NAME_MAX) => {
    const letters = [...name];
    if (letters.length <= most) return name;
    const half = (most - 1) / 2;
    return `${letters.slice(0, Math.ceil(half)).join("")}…${letters.slice(-Math.floor(half)).join("")}`;
  };
  // Names, cut to so many letters. Those that would look alike show where they begin to differ.
  const told = (names, most) => {
    const alike = new Map();
    names.forEach((name, at) => {
      const text = middle(name, most);
      alike.set(text, [...(alike.get(text) || []), at]);
    });
    const found = [];
    for (const [text, places] of alike) {
      const own = places.map((at) => [...names[at]]);
      const least = Math.min(...own.map((letters) => letters.length));
      let same = 0;
      while (same < least && own.every((letters) => letters[same] === own[0][same])) same += 1;
      const head = own[0].slice(0, Math.min(same, Math.floor(most / 3))).join("");
      const end = (letters) => middle(letters.slice(same).join(""), most - head.length - 1);
      places.forEach((at, i) => { found[at] = own.length > 1 && same < least ? `${head}…${end(own[i])}` : text; });
    }
    return found;
  };
  // The end of a long path: what tells it from others.
  const brief = (name) => {
    let depth = 0;
    const cuts = [];
    for (let i = 0; i < name.length; i += 1) {
      if ("<([{".includes(name[i])) depth += 1;
      if (">)]}".includes(name[i]) && name[i - 1] !== "-") depth -= 1;
      if (depth === 0 && name.startsWith("::", i)) cuts.push(i + 2);
    }
    return middle(cuts.length > 1 ? name.slice(cuts[cuts.length - 2]) : name, 80);
  };
  // A name in the page. The middle of a long one is not seen, and copied with the rest.
  const nameOf = (name) => {
    const made = node("span");
    const [letters, part] = [[...name], NAME_MAX / 2];
    if (letters.length <= NAME_MAX) made.textContent = name;
    else made.append(letters.slice(0, part).join(""),
      node("span", letters.slice(part, -part).join(""), "cut"), letters.slice(-part).join(""));
    return made;
  };
  // Adds a section to the tab. Returns it, and the row of its heading.
  const section = (title, ...parts) => {
    const made = node("section");
    made.setAttribute("aria-label", title);
    const row = node("div", undefined, "row");
    row.append(node("h2", title));
    made.append(row, ...parts);
    root.append(made);
    return [made, row];
  };
  const button = (text, onclick, cls) => {
    const made = node("button", text, cls);
    made.type = "button";
    made.onclick = onclick;
    return made;
  };
  // Columns with their names for programs, as the command of the tab has them.
  const named = (columns, names) => columns.map(([key, title, meaning, isText]) =>
    [key, title, meaning, isText, names[key] ?? `${key}_${data.isNs ? "ns" : "ticks"}`]);
  // What Enter and Space do on an element that is no button.
  const onPress = (act) => (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    act();
  };
  return { time, share, many, heat, brief, button, nameOf, middle, onPress, section, told, named };
};
// What is drawn on a canvas for a bar: the label, as far as there is room, and stripes.
const barPaint = (tint, brief) => {
  // The colour of a label on a bar: the one that is seen better.
  const label = (hex) => {
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
    return 0.3 * r + 0.6 * g + 0.1 * b > 0.54 ? "#14171a" : "#ffffff";
  };
  // A name as far as there is room: of a path, rather its end.
  const fitted = (name, most) => {
    const text = brief(name);
    const last = text.slice(text.lastIndexOf("::") + 2);
    const letters = [...(text.length > most && text.includes("::") ? last : text)];
    return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : letters.join("");
  };
  // Stripes, so that waits are told from runs without colour: they lean, those of the disk stand.
  const stripe = (context, kind, x, y, wide, tall) => {
    if (kind < 2 || wide < 5) return;
    context.save();
    context.beginPath();
    context.rect(x, y, wide, tall);
    context.clip();
    context.strokeStyle = tint("--stripes");
    context.lineWidth = 1;
    context.beginPath();
    const lean = kind === 2 ? tall : 0;
    for (let at = x - lean - (x % 6); at < x + wide; at += 6) {
      context.moveTo(at, y + tall);
      context.lineTo(at + lean, y);
    }
    context.stroke();
    context.restore();
  };
  return { label, fitted, stripe };
};
