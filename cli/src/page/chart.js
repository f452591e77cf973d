// Line charts: shows the values under the pointer, or by the arrow keys.
// The page is complete without it.
//
//   data-points of a chart ─▶ the nearest column ─▶ a vertical line, a mark on each line, the values
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const tip = byId("tip");
  const percent = (part) => `${part * 100}%`;
  const isShown = (series) => series === null || byId(`series${series}`).checked;
  const classOf = (series) => (series === null ? "" : `c${series % 12}`);
  const shape = (parent, name, values) => {
    const made = parent.appendChild(document.createElementNS(SVG, name));
    for (const [key, value] of Object.entries(values)) made.setAttribute(key, value);
  };

  for (const chart of document.querySelectorAll("svg[data-points]")) {
    const points = JSON.parse(chart.dataset.points);
    const layer = chart.appendChild(document.createElementNS(SVG, "g"));
    const levels = [...chart.querySelectorAll(".level")];
    let column = -1;
    let zoom = 1; // The zoom of an axis that begins at 0, by powers of two.
    const place = (y) => 1 - (1 - y) * zoom;

    // The greatest shown value is in the upper half.
    const fit = () => {
      if (levels.length < 2) return;
      const shown = points.lines.filter((line) => isShown(line.series)).flatMap((line) => line.y);
      const top = shown.reduce((most, y) => (y === null ? most : Math.max(most, 1 - y)), 0);
      let level = 0;
      while (level + 1 < levels.length && top * 2 ** (level + 1) <= 1) level += 1;
      zoom = 2 ** level;
      levels.forEach((of, i) => of.classList.toggle("off", i !== level));
      const part = 1000 / zoom;
      chart.querySelector("svg").setAttribute("viewBox", `0 ${1000 - part} 1000 ${part}`);
      for (const mark of chart.querySelectorAll(":scope > circle.mark")) {
        mark.dataset.y ??= parseFloat(mark.getAttribute("cy")) / 100;
        mark.setAttribute("cy", percent(place(mark.dataset.y)));
      }
    };
    const hide = () => {
      column = -1;
      layer.replaceChildren();
      tip.hidden = true;
    };
    const show = (index) => {
      column = index;
      layer.replaceChildren();
      tip.replaceChildren();
      const x = percent(points.x[index]);
      shape(layer, "line", { class: "cross", x1: x, x2: x, y1: "0", y2: "100%" });
      tip.append(node("b", points.at[index]));
      const there = points.lines.filter((line) => line.y[index] !== null && isShown(line.series));
      there.sort((a, b) => a.y[index] - b.y[index]);
      for (const line of there) {
        shape(layer, "circle", { class: `mark ${classOf(line.series)}`, r: 4, cx: x,
          cy: percent(place(line.y[index])) });
        const row = node("div");
        row.append(node("i", "", classOf(line.series)), node("span", line.name),
          node("span", line.text[index]));
        tip.append(row);
      }
      tip.hidden = false;
      const box = chart.getBoundingClientRect();
      const at = box.left + points.x[index] * box.width;
      const size = tip.getBoundingClientRect();
      const isRight = at + 16 + size.width > window.innerWidth;
      tip.style.left = `${Math.max(4, isRight ? at - 16 - size.width : at + 16)}px`;
      const top = Math.min(box.top + 8, window.innerHeight - size.height - 8);
      tip.style.top = `${Math.max(4, top)}px`;
    };
    const nearest = (part) => {
      let best = 0;
      points.x.forEach((x, i) => {
        if (Math.abs(x - part) < Math.abs(points.x[best] - part)) best = i;
      });
      return best;
    };
    const follow = (event) => {
      const box = chart.getBoundingClientRect();
      show(nearest((event.clientX - box.left) / box.width));
    };

    document.addEventListener("change", fit);
    chart.addEventListener("pointermove", follow);
    chart.addEventListener("pointerdown", follow);
    chart.addEventListener("pointerleave", hide);
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step || points.x.length === 0) return;
      event.preventDefault();
      show(Math.max(0, Math.min(points.x.length - 1, column + step)));
    });
  }
})();
