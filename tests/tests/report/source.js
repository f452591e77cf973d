// What a person does with the tab of source. Each result becomes an attribute of the page.
"use strict";
setTimeout(() => {
  const said = document.documentElement.dataset;
  const one = (query) => document.querySelector(query);
  const all = (query) => [...document.querySelectorAll(query)];
  const texts = (query) => all(query).map((found) => found.textContent).join(" | ");
  const named = (query, name) => all(query).find((found) => found.textContent.startsWith(name));
  const press = (key, at = document.activeElement) =>
    at.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const type = (text) => {
    one("#lineSearch").value = text;
    one("#lineSearch").dispatchEvent(new Event("input"));
  };
  const cells = (row) => [...row.cells].map((cell) => cell.innerText.replaceAll("\n", " @ "));
  const table = () => all("#statements tbody tr").map((row) => cells(row).join(" ; ")).join(" | ");
  const order = () => all("#statements tbody tr").map((row) => row.dataset.at).join(" ");
  const lines = () => all("#lines tbody tr").map((row) => cells(row).join(" ; ")).join(" | ");
  const headings = () => all("#statements th button");

  said.ready = Math.round(performance.now());
  said.tabs = all("#tabs button").map((tab) => `${tab.textContent} ${tab.getAttribute("aria-selected")}`).join(" | ");
  said.facts = all(".fact").filter((fact) => fact.checkVisibility()).map((fact) =>
    [...fact.children].map((part) => part.textContent).join(" ")).join(" | ");
  said.hottest = one("#hottestLine") ? one("#hottestLine").textContent : "";
  said.notes = all("#sourceTab .note").map((note) => note.textContent).join(" | ");
  said.warnings = texts("#lines ~ .warn, .warn");
  said.headings = headings().map((made) => made.textContent).join(" | ");
  said.table = table();
  said.listed = all("#statements tbody tr").length;
  said.lines = lines();
  said.seen = all("#lines tbody tr").length;
  said.gaps = texts("#lines .gap");
  said.wide = document.documentElement.scrollWidth > window.innerWidth;
  said.clipped = all("#sourceTab .scroll").filter((box) => box.scrollWidth > box.clientWidth + 1).length;
  said.code = Math.min(...all("#lines td.code").map((cell) => cell.clientWidth));
  said.foreign = all("main script, main img, main iframe, main b b").length;

  // The table, by each column, twice.
  said.sorts = headings().map((made, at) => [0, 1].map(() => {
    headings()[at].click();
    return order();
  }).join(" / ")).join(" | ");
  // By the keyboard: a heading is a button, a row leads to its line, arrows move.
  headings()[1].focus();
  headings()[1].click();
  if (all("#statements th[aria-sort=ascending]").length) headings()[1].click();
  const first = one("#statements tbody tr");
  if (!first) return;
  first.focus();
  press("Enter");
  said.entered = document.activeElement.cells[document.activeElement.cells.length - 1].textContent;
  said.isshown = document.activeElement.classList.contains("picked");
  said.detail = one("#lines .detail") ? one("#lines .detail").innerText.replaceAll("\n", " ") : "";
  said.address = location.hash;
  press("ArrowDown");
  said.down = document.activeElement.cells[document.activeElement.cells.length - 1].textContent;
  press("ArrowUp");
  press(" ");
  said.closed = all("#lines .detail").length === 0;
  document.activeElement.blur();
  press("/", document.body);
  said.slash = document.activeElement.id;

  // Shades, by both.
  const shades = () => all("#lines tr.shaded:not(.part)").map((row) =>
    `${row.cells[0].textContent} ${row.style.getPropertyValue("--heat")} ` +
    getComputedStyle(row.cells[0]).backgroundColor.replaceAll(" ", "")).join(" | ");
  const legends = () => one("#legendOfLines").innerText.replaceAll("\n", " ");
  if (named("#sourceTab button", "Own time")) named("#sourceTab section button[aria-pressed]", "Own time").click();
  [said.own, said.ownlegend] = [shades(), legends()];
  named("#sourceTab button", "How often it ran").click();
  [said.count, said.countlegend] = [shades(), legends()];
  said.never = all("#lines tr.never").map((row) => cells(row).join(" ; ")).join(" | ");

  // Search, and the other sets.
  type("HASH src");
  [said.found, said.hits] = [table(), one("#lineHits").textContent];
  type("");
  for (const [key, name] of [["waits", "With waiting"], ["unrun", "Never ran"]]) {
    const made = named("#sourceTab button", name);
    if (made) made.click();
    said[key] = made ? table() : "";
    said[key + "notes"] = texts("#statements ~ .note, #sourceTab .scroll + .note");
  }
  named("#sourceTab button", "Ran").click();
  if (one("#lines .gap button")) {
    one("#lines .gap button").click();
    said.opened = all("#lines tbody tr").length;
  }

  // To the calls and back.
  const link = one("#lines tr.function button");
  if (!link) return;
  link.click();
  said.called = `${one("#detail h3").textContent} ${one("#sourceTab").hidden} ${one("#callsTab").hidden}`;
  named("#detail button", "Show its lines").click();
  said.back = `${document.activeElement.cells[0].textContent} ${one("#sourceTab").hidden} ${one("#callsTab").hidden}`;
  one("#tabs button[aria-selected=true]").focus();
  const walk = ["ArrowRight", "ArrowRight", "ArrowLeft"].map((key) => {
    press(key);
    return document.activeElement.textContent;
  });
  said.walk = walk.join(" ");
  const paper = () => getComputedStyle(one("#lines tr.shaded td")).backgroundColor;
  const light = paper();
  one("#theme").click();
  said.themes = light !== paper();
}, 300);
