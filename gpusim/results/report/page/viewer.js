// The viewer of a timeline: lanes of spans on a canvas, in the place of the picture that is there without a script.
for (const box of document.querySelectorAll("div.timeline")) {
  const {texts, lanes, colours} = JSON.parse(box.dataset.timeline);
  const HEIGHT = 22, AXIS = 24;
  const last = Math.max(...lanes.map((lane) => lane.spans[4].reduce((a, b) => Math.max(a, b), 1)));
  const colourOf = new Map();
  for (const lane of lanes) {
    for (const text of lane.spans[0]) {
      if (!colourOf.has(text)) colourOf.set(text, colours[colourOf.size % colours.length]);
    }
  }
  const make = (name, values, parent = box) => parent.appendChild(Object.assign(document.createElement(name), values));
  const bar = make("div", {className: "controls"});
  const button = (text, label, act) => {
    const made = make("button", {type: "button", textContent: text}, bar);
    made.setAttribute("aria-label", label);
    made.addEventListener("click", act);
  };
  const canvas = make("canvas", {tabIndex: 0, textContent: "A timeline"});
  const row = make("output", {className: "span"});
  make("p", {className: "tells", textContent:
    "Wheel or + and −: zoom; drag or Shift with an arrow: move; arrows: from span to span, from lane to lane; " +
    "Home: the whole timeline; Escape: choose none."});
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", `Timeline with ${lanes.length} lanes: arrow keys go from span to span`);
  const view = {from: 0, to: last};
  let chosen = null, pointed = null, queued = false;
  const pen = canvas.getContext("2d");
  const left = () => Math.min(230, canvas.clientWidth * 0.3);
  const width = () => Math.max(canvas.clientWidth - left(), 1);
  const place = (ns) => left() + (ns - view.from) / (view.to - view.from) * width();
  const time = (x) => view.from + (x - left()) / width() * (view.to - view.from);
  const micro = (ns) => (ns / 1000).toLocaleString("en", {maximumFractionDigits: 3});
  // the first span that ends after a time: spans of a lane follow one another
  const after = (ends, ns) => {
    let low = 0, high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle] > ns) high = middle; else low = middle + 1;
    }
    return low;
  };
  const tell = (found) => {
    if (found === null) return "";
    const lane = lanes[found.lane], [names, places, bounds, begins, ends, numbers] = lane.spans, n = found.span;
    const parts = [texts[names[n]], lane.title];
    if (lane.kind === "kernel" && numbers[n]) parts.push(`launch ${numbers[n].toLocaleString("en")}`);
    if (lane.kind === "copy") parts.push(`${numbers[n].toLocaleString("en")} bytes`);
    if (lane.kind === "passes" || lane.kind === "layers") parts.push(`${numbers[n].toLocaleString("en")} launches`);
    if (texts[places[n]]) parts.push(texts[places[n]]);
    parts.push(`starts at ${micro(begins[n])} us`, `takes ${micro(ends[n] - begins[n])} us`);
    if (texts[bounds[n]]) parts.push(`bound, over all of its row: ${texts[bounds[n]]}`);
    return parts.join(" · ");
  };
  const light = (colour) => {
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    return 0.299 * r + 0.587 * g + 0.114 * b > 128;
  };
  const drawLane = (lane, top) => {
    const [names, , , begins, ends] = lane.spans;
    let drawn = 0;
    for (let n = after(ends, view.from); n < begins.length && begins[n] < view.to; n++) {
      const first = n, x = Math.max(place(begins[n]), left());
      // what is narrower than a pixel becomes one with what follows in the pixel
      while (n + 1 < begins.length && begins[n + 1] < view.to && place(ends[n + 1]) - x <= 1) n++;
      const wide = Math.max(Math.min(place(ends[n]), canvas.clientWidth) - x, 1), colour = colourOf.get(names[first]);
      pen.fillStyle = colour;
      pen.fillRect(x, top + 2, wide > 3 ? wide - 0.5 : wide, HEIGHT - 4);
      if (wide > 30) {
        pen.save();
        pen.beginPath();
        pen.rect(x, top, wide - 2, HEIGHT);
        pen.clip();
        pen.fillStyle = light(colour) ? "#000" : "#fff";
        pen.fillText(texts[names[first]], x + 3, top + HEIGHT / 2);
        pen.restore();
      }
      drawn++;
    }
    return drawn;
  };
  const draw = () => {
    queued = false;
    const style = getComputedStyle(document.body), scale = devicePixelRatio || 1;
    const high = lanes.length * HEIGHT + AXIS;
    canvas.style.height = `${high}px`;
    canvas.width = canvas.clientWidth * scale;
    canvas.height = high * scale;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.font = `12px ${style.fontFamily}`;
    pen.textBaseline = "middle";
    let drawn = 0;
    lanes.forEach((lane, number) => {
      pen.fillStyle = style.color;
      pen.fillText(lane.title, 2, number * HEIGHT + HEIGHT / 2, left() - 8);
      drawn += drawLane(lane, number * HEIGHT);
    });
    const span = view.to - view.from, rough = span / Math.max(width() / 110, 1), power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    pen.fillStyle = pen.strokeStyle = style.color;
    for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
      pen.fillRect(place(at), lanes.length * HEIGHT, 1, 5);
      const text = `${micro(at)} us`, half = pen.measureText(text).width / 2;
      pen.fillText(text, Math.min(Math.max(place(at) - half, left()), canvas.clientWidth - 2 * half), high - 9);
    }
    if (chosen !== null) {
      const {spans} = lanes[chosen.lane], x = Math.max(place(spans[3][chosen.span]), left());
      const end = Math.min(place(spans[4][chosen.span]), canvas.clientWidth);
      pen.lineWidth = 2;
      if (end >= left() && x <= canvas.clientWidth) {
        pen.strokeRect(x, chosen.lane * HEIGHT + 1, Math.max(end - x, 2), HEIGHT - 2);
      }
    }
    row.textContent = tell(pointed ?? chosen);
    Object.assign(canvas.dataset, {from: view.from, to: view.to, drawn});
  };
  const redraw = () => {
    if (!queued) requestAnimationFrame(draw);
    queued = true;
  };
  const show = (from, to) => {
    const span = Math.min(Math.max(to - from, 10), last);
    view.from = Math.min(Math.max(from, 0), last - span);
    view.to = view.from + span;
    redraw();
  };
  const move = (share) => {
    const by = share * (view.to - view.from);
    show(view.from + by, view.to + by);
  };
  const zoom = (factor, around) => show(around - (around - view.from) * factor, around + (view.to - around) * factor);
  const centre = () => {
    if (chosen === null) return (view.from + view.to) / 2;
    const {spans} = lanes[chosen.lane];
    return (spans[3][chosen.span] + spans[4][chosen.span]) / 2;
  };
  const at = (event) => {
    const lane = Math.floor(event.offsetY / HEIGHT);
    if (!(lane in lanes) || event.offsetX < left()) return null;
    const [, , , begins, ends] = lanes[lane].spans, span = after(ends, time(event.offsetX - 1));
    return span < begins.length && begins[span] <= time(event.offsetX + 1) ? {lane, span} : null;
  };
  const choose = (found) => {
    chosen = found;
    pointed = null;
    if (found !== null) {
      const {spans} = lanes[found.lane], begin = spans[3][found.span], end = spans[4][found.span];
      if (begin > view.to || end < view.from) {
        const half = (view.to - view.from) / 2;
        show((begin + end) / 2 - half, (begin + end) / 2 + half);
      }
    }
    redraw();
  };
  const step = (by) => {
    if (chosen === null) return choose({lane: 0, span: Math.min(after(lanes[0].spans[4], view.from), lanes[0].spans[4].length - 1)});
    const span = chosen.span + by;
    if (span in lanes[chosen.lane].spans[3]) choose({lane: chosen.lane, span});
  };
  const change = (by) => {
    if (chosen === null) return step(0);
    const lane = chosen.lane + by;
    if (lane in lanes) choose({lane, span: Math.min(after(lanes[lane].spans[4], centre()), lanes[lane].spans[4].length - 1)});
  };
  const keys = {
    ArrowRight: () => step(1), ArrowLeft: () => step(-1), ArrowDown: () => change(1), ArrowUp: () => change(-1),
    "+": () => zoom(0.5, centre()), "=": () => zoom(0.5, centre()), "-": () => zoom(2, centre()),
    Home: () => show(0, last), Escape: () => choose(null),
  };
  const moved = {ArrowRight: () => move(0.2), ArrowLeft: () => move(-0.2)};
  canvas.addEventListener("keydown", (event) => {
    const act = (event.shiftKey && moved[event.key]) || keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  canvas.addEventListener("wheel", (event) => {
    const aside = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!aside && event.deltaY > 0 && view.to - view.from >= last) return;  // the page itself scrolls on
    event.preventDefault();
    if (aside) move((event.deltaX || event.deltaY) / width());
    else zoom(Math.exp(Math.max(Math.min(event.deltaY, 200), -200) / 300), time(Math.max(event.offsetX, left())));
  }, {passive: false});
  let held = null;
  canvas.addEventListener("pointerdown", (event) => {
    held = {x: event.offsetX, from: view.from, to: view.to, moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (held === null) {
      pointed = at(event);
      canvas.title = tell(pointed).replaceAll(" · ", "\n");
      return redraw();
    }
    held.moved ||= Math.abs(event.offsetX - held.x) > 3;
    const by = (held.x - event.offsetX) / width() * (held.to - held.from);
    if (held.moved) show(held.from + by, held.to + by);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (held !== null && !held.moved) choose(at(event));
    held = null;
  });
  canvas.addEventListener("pointercancel", () => { held = null; });
  canvas.addEventListener("pointerleave", () => { pointed = null; redraw(); });
  button("+", "Zoom in", () => zoom(0.5, centre()));
  button("−", "Zoom out", () => zoom(2, centre()));
  button("←", "Move to earlier times", () => move(-0.2));
  button("→", "Move to later times", () => move(0.2));
  button("Whole", "Show the whole timeline", () => show(0, last));
  box.parentElement.querySelector(":scope > svg").setAttribute("hidden", "");
  box.hidden = false;
  new ResizeObserver(redraw).observe(box);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}
