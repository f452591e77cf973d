// What all tabs use.
//
//   ns, counts, names ─▶ texts of a bounded length
//
// Text of the log becomes text and attributes, never markup.
"use strict";
// Numbers and names as the tabs write them, and buttons.
const tabTools = (data, functions, { node, count, short }) => {
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
    return `${letters.slice(0, most / 2).join("")}…${letters.slice(-most / 2).join("")}`;
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
  const button = (text, onclick, cls) => {
    const made = node("button", text, cls);
    made.type = "button";
    made.onclick = onclick;
    return made;
  };
  // What Enter and Space do on an element that is no button.
  const onPress = (act) => (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    act();
  };
  return { time, share, many, heat, brief, button, nameOf, middle, onPress };
};
