// What a person does with all tabs. Each result becomes an attribute of the page.
"use strict";
setTimeout(() => {
  const said = document.documentElement.dataset;
  const all = (query) => [...document.querySelectorAll(query)];
  const one = (query) => document.querySelector(query);
  const press = (key, at = document.activeElement || document.body) =>
    at.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const tabs = all("#tabs button");
  const shown = () => tabs.filter((tab) => tab.getAttribute("aria-selected") === "true").map((tab) => tab.textContent).join();
  const isSeen = (element) => element && element.getBoundingClientRect().height > 0;
  const panel = () => all("main > div").find((part) => !part.classList.contains("tabs") && isSeen(part));
  const go = (title) => tabs.find((tab) => tab.textContent === title).click();

  const [leads, wide, ranges] = [[], [], []];
  said.first = true;
  said.plurals = "";
  if (steps && tabs.length) press("+");
  for (const tab of tabs.length ? tabs : [null]) {
    if (tab) tab.click();
    const lead = [...panel().querySelectorAll(".lead")].find(isSeen) || panel().querySelector(".note, p");
    leads.push(`${tab ? tab.textContent : "Events"}: ${isSeen(lead) ? lead.textContent.trim() : ""}`);
    const above = [...panel().querySelectorAll("section, p, table, canvas")]
      .find((part) => isSeen(part) && !part.contains(lead));
    if (above && !(lead.compareDocumentPosition(above) & Node.DOCUMENT_POSITION_FOLLOWING)) said.first = false;
    const plural = /(?<![\d.,\u202f])1[ \u202f](threads|events|slices|lanes|streams|changes|counters|rows|stacks|times|bars|functions|calls|statements|names|types)\b/;
    const found = plural.exec(panel().innerText);
    if (found) said.plurals += `${tab && tab.textContent}: ${found[0]} `;
    if (document.documentElement.scrollWidth > window.innerWidth) wide.push(tab ? tab.textContent : "Events");
    if (tab && /Events|Threads|Flame|Counters/.test(tab.textContent)) ranges.push(said.range);
    const length = tab && { Threads: ["lanes", said.lanerange], Flame: ["waitFlame", said.flamerange] }[tab.textContent];
    if (length) {
      const data = JSON.parse(one("#data").textContent)[length[0]];
      ranges.push(length[1].split(" ").map((at) => (at / data.length).toFixed(6)).join(" "));
    }
  }
  said.leads = leads.join(" | ");
  said.toowide = wide.join();
  said.rows = new Set(tabs.map((tab) => tab.getBoundingClientRect().top)).size || 1;
  said.wide = wide.length > 0;
  said.ranges = ranges.join(" | ");
  if (!steps) return;

  // The keyboard on a table.
  go("Events");
  const rows = () => all("#types tbody tr");
  said.stops = rows().filter((row) => row.tabIndex === 0).length;
  rows()[0].focus();
  said.walked = ["", "ArrowDown", "ArrowDown", "ArrowUp", "End", "Home"].map((key) => {
    if (key) press(key);
    return rows().indexOf(document.activeElement);
  }).join(" ");
  document.activeElement.blur();

  // Steps, and back.
  press("0");
  go("Threads");
  press("+");
  go("Events");
  press("0");
  go("Durations");
  const backs = [];
  const back = (then) => {
    history.back();
    setTimeout(() => {
      backs.push(`${shown()} ${said.range}`);
      then();
    }, 300);
  };
  back(() => back(() => {
    said.backs = backs.join(" | ");
    const keyed = [];
    press(String(1 + tabs.findIndex((tab) => tab.textContent === "Events")));
    keyed.push(shown());
    press("?");
    keyed.push(one("dialog").open ? "help" : "nothing");
    press("?", one("dialog"));
    keyed.push(one("dialog").open ? "help" : "no help");
    press("/");
    keyed.push(document.activeElement.id);
    press("Escape");
    keyed.push(document.activeElement.id ? "still search" : "no search");
    said.keyed = keyed.join(", ");
  }));
}, 400);
