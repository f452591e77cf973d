// What a person does with the tab of threads. Each result becomes an attribute of the page.
"use strict";
setTimeout(() => {
  const said = document.documentElement.dataset;
  const one = (query) => document.querySelector(query);
  const all = (query) => [...document.querySelectorAll(query)];
  const data = JSON.parse(one("#data").textContent).lanes;
  said.tabs = all("#tabs button").map((tab) => `${tab.textContent} ${tab.getAttribute("aria-selected")}`).join(" | ");
  if (!data) return;
  const canvas = one("#lanes");
  const tip = one("#threadsTab section > .note");
  canvas.setPointerCapture = () => {};
  const press = (key, more) => (document.activeElement || document.body).dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
  const pointer = (name, x, y) => canvas.dispatchEvent(new PointerEvent(name,
    { clientX: x, clientY: y, bubbles: true, cancelable: true, pointerId: 1 }));
  const details = () => one("#slice").innerText.replace(/\s+/g, " ").trim();
  const title = () => (one("#slice h3") ? one("#slice h3").textContent : one("#slice").textContent);
  // Points at place after place, until the tip begins with a text, or matches a pattern.
  const find = (text) => {
    const is = () => (text.test ? text.test(tip.textContent) : tip.textContent.startsWith(text));
    const box = canvas.getBoundingClientRect();
    // A click has whole numbers only.
    for (let y = Math.ceil(box.top) + 2; y < box.bottom; y += 4)
      for (let x = Math.ceil(box.left) + 1; x < box.right; x += 4) {
        pointer("pointermove", x, y);
        if (is()) return [x, y];
      }
    return null;
  };
  const click = (text) => {
    const at = find(text);
    if (!at) return `nothing begins with ${text}`;
    pointer("pointerdown", ...at);
    pointer("pointerup", ...at);
    canvas.dispatchEvent(new MouseEvent("click", { clientX: at[0], clientY: at[1], bubbles: true }));
    return details();
  };
  const link = (title) => {
    const heading = all("#slice dt").find((dt) => dt.textContent === title);
    return heading && heading.nextSibling.querySelector("button");
  };

  // What each lane has, from the numbers of the page.
  const decode = (text, Type) => new Type(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const sums = data.lanes.map(() => [0, 0, 0]);
  const laneOf = (place) => place >>> 16;
  const [barPlaces, barLengths] = [decode(data.bars.places, Uint32Array), decode(data.bars.lengths, Float64Array)];
  barPlaces.forEach((place, i) => {
    sums[laneOf(place)][0] += 1;
    sums[laneOf(place)][1] += (place & 0xff) < 2 ? barLengths[i] : 0;
  });
  const cell = { counts: decode(data.cells.counts, Uint32Array), busy: decode(data.cells.busy, Float64Array) };
  decode(data.cells.places, Uint32Array).forEach((place, i) => {
    sums[laneOf(place)][0] += cell.counts[i];
    sums[laneOf(place)][1] += cell.busy[i];
  });
  const tickCounts = decode(data.ticks.counts, Uint32Array);
  decode(data.ticks.places, Uint32Array).forEach((place, i) => { sums[laneOf(place)][2] += tickCounts[i]; });
  said.sums = data.lanes.map(([name], at) => `${name}=${sums[at].join(" ")}`).join(" | ");
  said.elsewhere = data.elsewhere.slice(0, 2).join(" ");
  said.left = data.left.join(" ");
  said.lanes = all("#threadsTab select option").slice(1).map((option) => option.textContent).join(" | ");
  said.notes = one("#laneNotes").textContent;
  said.opened = title();
  said.wide = document.documentElement.scrollWidth > window.innerWidth;
  said.cell = cell.counts.length ? click(/% of /) : "";
  const pixel = (text) => {
    const at = find(text);
    if (!at) return ["", 0];
    const [box, ratio] = [canvas.getBoundingClientRect(), window.devicePixelRatio];
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const pixels = copy.getContext("2d", { willReadFrequently: true });
    pixels.drawImage(canvas, 0, 0);
    const colorAt = (x, y) => [...pixels.getImageData(Math.round((x - box.left) * ratio),
      Math.round((y - box.top) * ratio), 1, 1).data].join(",");
    // Below the label and between the stripes: the most frequent colour of the lowest rows.
    let low = at[1];
    for (let y = at[1]; y < at[1] + 20; y += 1) {
      pointer("pointermove", at[0], y);
      if (tip.textContent.startsWith(text)) low = y;
    }
    let high = low;
    for (let y = low; y > low - 20; y -= 1) {
      pointer("pointermove", at[0], y);
      if (tip.textContent.startsWith(text)) high = y;
    }
    const counts = new Map();
    for (let x = at[0]; x < at[0] + 9; x += 1) {
      const color = colorAt(x, low - 2);
      counts.set(color, (counts.get(color) || 0) + 1);
    }
    return [[...counts].sort((a, b) => b[1] - a[1])[0][0], low - high];
  };
  if (!data.names.some(([name]) => name.startsWith("Wait woken"))) return;
  said.wait = click("Wait woken");
  link("Waker").click();
  said.waker = `${title()} | ${details().split("Thread ")[1]}`;
  press("0");
  said.disk = click("Wait disk");
  said.job = click("get");
  said.sold = click("Sold");
  press("Escape");
  const [run, wait, disk] = ["Run", "Wait woken", "Wait disk"].map(pixel);
  said.colors = [run[0], wait[0], disk[0]].join(" ");
  said.heights = run[1] > wait[1] && run[1] > disk[1] ? "run higher than wait" : `${run} ${wait} ${disk}`;
  const light = canvas.toDataURL();
  one("#theme").click();
  said.themes = light !== canvas.toDataURL();
  one("#theme").click();

  // Zoom and move: wheel, drag, keys.
  document.activeElement.blur();
  press("0");
  said.whole = said.lanerange;
  const box = canvas.getBoundingClientRect();
  for (let n = 0; n < 80; n += 1)
    canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -120, clientX: box.left + box.width * 0.6,
      clientY: box.top + 20, cancelable: true }));
  [said.wheeled, said.microlabels] = [said.lanerange, said.laneaxis];
  press("0");
  said.back = said.lanerange;
  press("+");
  const before = said.lanerange;
  pointer("pointerdown", box.left + 300, box.top + 20);
  pointer("pointermove", box.left + 250, box.top + 20);
  pointer("pointerup", box.left + 250, box.top + 20);
  said.dragged = Number(said.lanerange.split(" ")[0]) > Number(before.split(" ")[0]);
  const dragged = said.lanerange;
  press("ArrowLeft");
  said.moved = Number(said.lanerange.split(" ")[0]) < Number(dragged.split(" ")[0]);
  press("0");
  press("/");
  said.slash = document.activeElement.id;
  document.activeElement.blur();
  click("Run");
  const titles = [title()];
  for (let n = 0; n < 2; n += 1) {
    press("ArrowRight", { shiftKey: true });
    titles.push(title());
  }
  said.stepped = titles.join(" → ");
  press("Enter");
  const [from, to] = said.lanerange.split(" ").map(Number);
  said.entered = from > 7e6 && to < 1e7;
  press("Escape");
  said.escaped = title();
  press("0");
  const search = one("#laneSearch");
  search.value = "wait";
  search.dispatchEvent(new Event("input"));
  said.searched = one("#laneHits").textContent;
  search.focus();
  press("Enter");
  said.next = title();
  said.address = location.hash;
  said.clipped = all("#threadsTab section").filter((part) => part.scrollWidth > part.clientWidth).length;
}, 300);
