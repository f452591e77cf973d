// What a person does with the flame of waits. Each result becomes an attribute of the page.
"use strict";
setTimeout(() => {
  const said = document.documentElement.dataset;
  const one = (query) => document.querySelector(query);
  const all = (query) => [...document.querySelectorAll(query)];
  said.tabs = all("#tabs button").map((tab) => `${tab.textContent} ${tab.getAttribute("aria-selected")}`).join(" | ");
  const canvas = one("#waitFlame");
  if (!canvas) return;
  const tip = one("#waitFlameTab section > .note");
  canvas.setPointerCapture = () => {};
  const press = (key, more) => (document.activeElement || document.body).dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
  const pointer = (name, x, y) => canvas.dispatchEvent(new PointerEvent(name,
    { clientX: x, clientY: y, bubbles: true, cancelable: true, pointerId: 1 }));
  const details = () => one("#stack").innerText.replace(/\s+/g, " ").trim();
  const title = () => (one("#stack h3") ? one("#stack h3").textContent : one("#stack").textContent);
  const find = (text, from = 0) => {
    const box = canvas.getBoundingClientRect();
    // Half a row high, and less than the narrowest frame that is looked for: each event costs.
    for (let y = Math.ceil(box.top) + 2; y < box.bottom; y += 9)
      for (let x = Math.ceil(box.left + from * box.width) + 1; x < box.right; x += 6) {
        pointer("pointermove", x, y);
        if (tip.textContent.startsWith(text)) return [x, y];
      }
    return null;
  };
  const tell = (text) => (find(text) ? tip.textContent : `nothing begins with ${text}`);
  const click = (text) => {
    const at = find(text);
    if (!at) return `nothing begins with ${text}`;
    pointer("pointerdown", ...at);
    pointer("pointerup", ...at);
    canvas.dispatchEvent(new MouseEvent("click", { clientX: at[0], clientY: at[1], bubbles: true }));
    return details();
  };
  const link = (heading) => {
    const found = all("#stack dt").find((dt) => dt.textContent === heading);
    return found && found.nextSibling.querySelector("button");
  };
  const bars = () => all("#merged .bar").map((bar) => `${bar.textContent} ${bar.className.split(" ")[1]}`).join(" | ");

  said.opened = title();
  said.wide = document.documentElement.scrollWidth > window.innerWidth;
  said.legend = all("#waitFlameTab .swatch").map((swatch) => swatch.textContent).join(" | ");
  said.notes = one("#flameNotes").textContent;
  said.merged = bars();
  said.mergedkinds = [...one("#mergedKind").options].map((option) => option.textContent).join(" | ");
  // The text that is saved.
  // A blob's text comes later than the page is read, so it is taken as the blob is made.
  window.Blob = class {
    constructor(parts) { said.tsv = parts.join("").replaceAll("\n", "⏎").replaceAll("\t", "⇥"); }
  };
  URL.createObjectURL = () => "blob:none";
  HTMLAnchorElement.prototype.click = () => {};
  one("#mergedTsv").click();
  // The steps are for the log of a shop. An address with a stack only opens it.
  if (!one("#data").textContent.includes("main (4711)") || location.hash.includes("stack=")) return;

  // Merged: other paths, threads as one, keys.
  const select = one("#mergedKind");
  select.value = "1";
  select.onchange();
  said.others = bars();
  select.value = "0";
  select.onchange();
  one("#mergeThreads").click();
  said.threadless = bars();
  one("#mergeThreads").click();
  all("#merged .bar")[0].focus();
  press("ArrowDown");
  press("ArrowDown");
  said.focused = document.activeElement.textContent;
  document.activeElement.click();
  said.zoomedmerged = one("#mergedPath").textContent;
  press("Escape");
  press("Escape");
  press("Escape");
  said.outmerged = one("#mergedPath").textContent;
  document.activeElement.blur();

  // Over time: what is told, and links.
  said.process = tell("shop");
  said.both = tell("work");
  said.io = click("a write to disk");
  said.path = click("other work of");
  link("That work").click();
  said.other = `${title()} | ${details()}`;
  link("Set to work by").click();
  said.lane = `${all("#tabs button").find((tab) => tab.getAttribute("aria-selected") === "true").textContent} | ` +
    one("#slice h3").textContent;
  const back = all("#slice button").find((button) => button.textContent === "Show its flame");
  said.hasback = Boolean(back);
  back.click();
  said.back = `${all("#tabs button").find((tab) => tab.getAttribute("aria-selected") === "true").textContent} | ` +
    details();
  press("Escape");
  said.escaped = title();
  document.activeElement.blur();
  press("0");
  const light = canvas.toDataURL();
  one("#theme").click();
  said.themes = light !== canvas.toDataURL();
  one("#theme").click();

  // Zoom: equal frames with nothing that can be seen between them are one, and part again.
  said.whole = said.flamerange;
  said.wholeframes = said.frames;
  said.one = tell("running");
  const box = canvas.getBoundingClientRect();
  const left = box.width < 640 ? 0 : 168;
  // A wheel has whole pixels only: each turn aims again.
  for (let n = 0; n < 80; n += 1) {
    const [from, to] = said.flamerange.split(" ").map(Number);
    const x = box.left + left + (box.width - left) * ((5.0005e6 - from) / (to - from));
    canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -60, clientX: x, clientY: box.top + 60, cancelable: true }));
  }
  said.zoomed = said.flamerange;
  const names = [];
  for (let at = box.left + left + 1; at < box.right; at += 2) {
    pointer("pointermove", at, box.top + 4 + (box.width < 640 ? 17 : 0) + 2 * 18 + 6);
    const name = tip.textContent.split(":")[0];
    if (name !== names[names.length - 1]) names.push(name);
  }
  said.split = names.join(" → ");
  press("0");
  press("+");
  said.plus = said.flamerange !== said.whole;
  press("0");
  press("/");
  said.slash = document.activeElement.id;
  document.activeElement.blur();
  press("ArrowRight", { shiftKey: true });
  const titles = [title()];
  for (let n = 0; n < 2; n += 1) press("ArrowDown", { shiftKey: true });
  titles.push(title());
  press("ArrowRight", { shiftKey: true });
  titles.push(title());
  said.stepped = titles.join(" → ");
  press("Enter");
  said.entered = said.flamerange !== said.whole;
  const search = one("#frameSearch");
  search.value = "disk";
  search.dispatchEvent(new Event("input"));
  said.searched = one("#frameHits").textContent;
  said.marked = all("#merged .bar.found").length;
  said.address = location.hash;
  said.clipped = all("#waitFlameTab section").filter((part) => part.scrollWidth > part.clientWidth).length;
}, 300);
