// What a person does with the tab of calls. Each result becomes an attribute of the page.
"use strict";
setTimeout(() => {
  const said = document.documentElement.dataset;
  const one = (query) => document.querySelector(query);
  const all = (query) => [...document.querySelectorAll(query)];
  const texts = (query) => all(query).map((found) => found.textContent).join(" | ");
  const named = (query, name) => all(query).find((found) => found.textContent.includes(name));
  const cells = (row, places) => places.map((at) => row.cells[at].textContent).join(" ");
  const rows = (query, places) => all(`${query} tbody tr`).map((row) => cells(row, places)).join(" | ");
  const press = (key, at = document) =>
    at.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const type = (text) => {
    one("#callSearch").value = text;
    one("#callSearch").dispatchEvent(new Event("input"));
  };
  const click = (element) => {
    element.focus();
    element.click();
  };
  const shown = () => all("[role=tabpanel]").map((part) => !part.hidden);

  const [events, calls] = all("#tabs button");
  events.click();
  const before = shown();
  calls.click();
  said.tabs = [before, shown()].map(([a, b]) =>
    (a && !b ? "Events, not Calls" : b && !a ? "Calls, not Events" : "both")).join(" | ");

  said.table = rows("#functions", [0, 1]);
  said.hottest = one("#hottest") ? one("#hottest").textContent : "";
  said.hot = texts("#hotPath li");
  said.framed = texts(".bar.hot");
  said.bars = all(".bar").length;
  said.unused = rows("#unused", [0, 1]);
  said.open = all("#open tbody tr").map((row) => `${row.cells[0].textContent}: ${row.cells[1].textContent}`)
    .join(" | ");
  said.notes = texts(".note");
  said.innerwidth = window.innerWidth;
  said.wide = document.documentElement.scrollWidth > window.innerWidth;
  said.times = texts("#functions tbody td:nth-child(4)");
  said.detail = one("#detail h3") ? one("#detail h3").textContent : "";
  // A name as a person copies it, and the part of it that is seen.
  const name = one("#functions tbody td span");
  if (name) {
    getSelection().selectAllChildren(name);
    said.copied = String(getSelection());
    getSelection().removeAllRanges();
    const seen = name.cloneNode(true);
    seen.querySelectorAll(".cut").forEach((cut) => cut.replaceWith("…"));
    said.seen = seen.textContent;
    said.hover = name.parentElement.title;
    // The keyboard alone: a heading sorts, a row is picked, and both stay where they are.
    const heading = one("#functions th button");
    heading.focus();
    heading.click();
    said.heading = document.activeElement.textContent;
    one("#functions tbody tr").focus();
    press(" ", document.activeElement);
    said.row = document.activeElement.className;
    const link = one("#callers .link, #callees .link");
    if (link) click(link);
    said.link = link ? document.activeElement.id : "";
    named("#functions th button", "Own time").click();
  }
  // As on paper.
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  const printed = rules.filter((rule) => rule.media && rule.media.mediaText === "print");
  printed.forEach((rule) => { rule.media.mediaText = "all"; });
  const cut = all("#callsTab .scroll").filter((box) => box.scrollHeight > box.clientHeight + 1);
  const controls = all("#tabs, #theme, #callSearch, #callsTab .row button");
  said.printed = `${cut.length} tables are cut, ` +
    `${controls.filter((one) => one.offsetParent).length} controls are seen`;
  printed.forEach((rule) => { rule.media.mediaText = "print"; });
  said.clipped = all(".scroll, .fact").filter((box) => box.scrollWidth > box.clientWidth).length;
  named("button", "In order of time").click();
  said.timebars = all(".bar").length;
  said.timenotes = texts(".note");
  said.alllanes = all("#flame .lane").map((lane) => lane.textContent)
    .filter((text) => text.startsWith("thread")).join(" | ");
  named("button", "All calls merged").click();
  type("function");
  said.searched = one("#callHits").textContent;
  type("");
  if (one("#functions tbody tr")) {
    one("#functions tbody tr").click();
    said.total = one("#detail h3 + .note").textContent;
    type(one("#detail h3").textContent);
    said.searchedone = one("#callHits").textContent;
    type("");
  }
  if (!named(".bar", "shop::sell")) return;

  click(named(".bar", "shop::sell"));
  said.zoomed = texts(".bar");
  said.crumbs = texts("#zoomed li");
  press("ArrowDown", document.activeElement);
  said.down = document.activeElement.textContent;
  press("ArrowUp", document.activeElement);
  said.up = document.activeElement.textContent;
  press("Escape", document.activeElement);
  said.out = one(".bar").textContent;
  press("Escape", document.activeElement);

  one("#flame").focus();
  press("/");
  said.slash = document.activeElement.id;
  type("sell");
  said.hits = one("#callHits").textContent;
  said.marked = texts(".bar.found");
  said.filtered = rows("#functions", [0]);
  said.address = location.hash;
  type("");

  const sort = (name) => named("#functions th button", name).click();
  const ends = (place) => {
    const found = all("#functions tbody tr").map((row) => row.cells[place].textContent);
    return [found[0], found[found.length - 1]];
  };
  sort("Function");
  sort("Function");
  said.byname = ends(0).map((name) => name.split("|")[0]).join(" | ");
  sort("Calls");
  said.bycalls = ends(1).join(" | ");
  sort("Longest");
  said.bylongest = ends(0)[0];

  named("#functions td", "shop::sell").click();
  said.callers = rows("#callers", [0, 1]);
  said.callees = rows("#callees", [0, 1]);

  const box = all("#graph .call").find((call) => call.ariaLabel.startsWith("shop::hash"));
  box.dispatchEvent(new MouseEvent("click"));
  said.graph = `${one("#detail h3").textContent}: callers ${all("#graph path.caller").length}, ` +
    `callees ${all("#graph path.callee").length}`;
  said.bright = all("#graph .call:not(.dim)").map((call) => call.ariaLabel.split(": ")[0]).sort()
    .join(" | ");
  said.clusters = texts("#graph .group text");

  named("button", "In order of time").click();
  said.lanes = all("#flame .lane").map((lane) => lane.textContent)
    .filter((text) => text.startsWith("thread")).join(" | ");
  said.calls = all(".bar").length;
  said.unfinished = texts(".bar.open");
  one(".bar").focus();
  for (let n = 0; n < 10; n += 1) press("ArrowDown", document.activeElement);
  said.lowest = `${document.activeElement.textContent} ${document.activeElement.style.top}`;
  click(named(".bar", "shop::sell"));
  said.timed = texts(".bar");
  press("Escape", document.activeElement);

  const paper = () => getComputedStyle(one(".bar")).backgroundColor + getComputedStyle(document.body).color;
  const first = paper();
  one("#theme").click();
  [said.light, said.dark] = [first, paper()];
  said.foreign = all("main script, main img, main iframe").length;
}, 200);
