// What a person does with the tab of durations. Each result becomes an attribute of the page.
"use strict";
setTimeout(() => {
  const said = document.documentElement.dataset;
  const one = (query) => document.querySelector(query);
  const all = (query) => [...document.querySelectorAll(query)];
  const text = (query) => (one(query) ? one(query).textContent : "");
  const texts = (query) => all(query).map((found) => found.textContent).join(" | ");
  const press = (key) => document.activeElement.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  said.names = texts("#durations tbody td:first-child");
  press("ArrowDown");
  said.picked = text("#durations tr.picked td");
  const row = all("#durations tbody tr").find((one) => ["serve", "Job", "1"].includes(one.cells[0].textContent));
  if (row) row.click();
  said.slowest = text("#slowest summary");
  said.count = all("#slowest details").length;
  said.details = text("#slowest dl");
  said.odd = text("#slowest .note");
  said.flame = texts("#ownFlame .bar:not(.root)");
  const search = one("#pairSearch");
  search.value = "look";
  search.dispatchEvent(new Event("input"));
  said.matched = texts("#durations tbody td:first-child");
  said.wide = document.documentElement.scrollWidth > window.innerWidth;
  const show = all("#slowest button").find((button) => button.textContent === "Show in Threads");
  if (!show) return;
  show.click();
  said.shown = texts("#tabs [aria-selected=true]");
  said.bar = text("#slice h3");
}, 300);
