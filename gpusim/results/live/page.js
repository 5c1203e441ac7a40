"use strict";
// Asks for what is new again and again, and shows it. Texts are only ever set as texts.
const SVG = "http://www.w3.org/2000/svg";
const PAUSE_MS = 300, RETRY_MS = 1000, TRIES = 3;
const at = (id) => document.getElementById(id);
const colour = (number) => `var(--c${number % 10})`;
let chosen = null, counter = "", last = null, findText = "";

function node(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
function shape(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
function number(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  for (const [limit, suffix] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]])
    if (size >= limit) return (value / (suffix === "k" ? 1e3 : limit)).toPrecision(3) + suffix;
  return Number.isInteger(value) ? String(value) : value.toPrecision(3);
}
const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
// Rows are kept where they are: what has the focus does not lose it, and a reader's place stays.
function fill(parent, count, make) {
  while (parent.children.length > count) parent.lastElementChild.remove();
  while (parent.children.length < count) parent.append(make());
  return [...parent.children];
}
function put(element, text) { if (element.textContent !== text) element.textContent = text; }
function cells(row, texts) {
  fill(row, texts.length, () => node("td"));
  texts.forEach((text, place) => { row.cells[place].className = place ? "number" : ""; put(row.cells[place], String(text)); });
}
function bar(share) {
  const made = node("span", {class: "bar", "aria-hidden": "true"}, node("i"));
  made.firstChild.style.width = `${100 * share}%`;
  return made;
}

function showRun(state) {
  put(at("title"), `gpusim: ${state.run.title}`);
  document.title = `${state.outcome === null ? "" : "ended: "}gpusim: ${state.run.title}`;
  if (state.outcome === null) say("running", "running");
  else say("ended", `the run has ended${state.outcome === "ended" ? "" : ` (${state.outcome})`}; this is its last state`);
  put(at("about"), `${clock(state.seconds)}, process ${state.run.process}, gpusim ${state.run.version}`);
}
function say(kind, text) {
  at("status").dataset.state = kind;
  put(at("status"), text);
}
function showProgress(state) {
  const lines = fill(at("overall"), state.overall.length, () => node("p", {}, node("span"), bar(0)));
  state.overall.forEach((part, place) => {
    const [words, drawn] = lines[place].children;
    put(words, `${part.work ? `${part.work}: ` : ""}${part.done} of ${part.total} ${part.unit}${part.text ? `: ${part.text}` : ""}`);
    drawn.firstChild.style.width = `${part.total ? 100 * part.done / part.total : 0}%`;
  });
  const rows = fill(at("launches"), state.launches.length, () => {
    const button = node("button", {type: "button", class: "choose"});
    button.addEventListener("click", () => { chosen = button.dataset.work; refresh(); });
    return node("tr", {}, node("th", {scope: "row"}, button), node("td", {}, bar(0)), node("td"));
  });
  state.launches.forEach((launch, place) => {
    const [head, drawn, words] = rows[place].cells;
    const button = head.firstChild;
    button.dataset.work = launch.work;
    button.setAttribute("aria-pressed", String(state.launch !== null && state.launch.work === launch.work));
    put(button, launch.work ? `${launch.work}: ${launch.title}` : launch.title);
    drawn.firstChild.firstChild.style.width = `${100 * (launch.done ?? 0)}%`;
    put(words, `${launch.text ?? "begins"}${launch.running ? "" : " (ended)"}`);
  });
}

function plot(figure, name, unit, seconds, values) {
  const known = values.filter((value) => value !== null);
  const most = known.length ? Math.max(...known) : null, top = Math.max(most, 1e-9), bottom = Math.min(...known, 0);
  const first = seconds[0] ?? 0, span = Math.max((seconds.at(-1) ?? 0) - first, 1e-9);
  const points = [];
  values.forEach((value, place) => {
    if (value === null) return;
    const x = 300 * (seconds[place] - first) / span, y = 76 - 72 * (value - bottom) / (top - bottom);
    points.push(`${points.length && values[place - 1] !== null ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`);
    if (values.length === 1) points.push(`L300 ${y.toFixed(1)}`);
  });
  const [drawn, words] = figure.children;
  drawn.firstChild.setAttribute("d", points.join(""));
  drawn.setAttribute("aria-label", `${name}: now ${number(values.at(-1))} ${unit}, at most ${number(most)}`);
  words.replaceChildren(`${name}: `, node("b", {}, number(values.at(-1))), ` ${unit}; at most ${number(most)}`);
}
function chart() {
  const drawn = shape("svg", {viewBox: "0 0 300 80", preserveAspectRatio: "none", role: "img"});
  drawn.append(shape("path", {fill: "none", stroke: "currentColor", "stroke-width": "1.5", "vector-effect": "non-scaling-stroke"}));
  return node("figure", {}, drawn, node("figcaption"));
}
function showCharts(history) {
  const series = Object.entries(history.rates).map(([name, rate]) => [name, rate.unit, history.seconds, rate.values]);
  if (history.counter !== null) {
    const {name, values} = history.counter;
    const more = values.slice(1).map((value, place) => {
      const cycles = history.cycle[place + 1] - history.cycle[place];
      return cycles > 0 ? 1000 * (value - values[place]) / cycles : null;
    });
    series.push([name, "in 1000 cycles", history.seconds.slice(1), more]);
  }
  const figures = fill(at("charts"), series.length, chart);
  series.forEach((one, place) => plot(figures[place], ...one));
}
function showUnits(launch) {
  const legend = fill(at("legend"), launch.states.length, () => node("li", {}, shape("svg", {viewBox: "0 0 1 1", "aria-hidden": "true"}), node("span")));
  launch.states.forEach((name, place) => {
    const [mark, words] = legend[place].children;
    if (!mark.firstChild) mark.append(shape("rect", {width: 1, height: 1, fill: colour(place)}));
    put(words, name);
  });
  const units = launch.compute_units;
  const most = Math.max(1, ...units.map((unit) => unit.states.reduce((a, b) => a + b, 0)));
  const boxes = fill(at("cus"), units.length, () => node("div", {}, shape("svg", {viewBox: "0 0 10 10", preserveAspectRatio: "none", role: "img"}), node("span")));
  units.forEach((unit, place) => {
    const [drawn, words] = boxes[place].children;
    let y = 10;
    const parts = unit.states.map((count, state) => {
      const height = 10 * count / most;
      y -= height;
      return shape("rect", {x: 0, y, width: 10, height, fill: colour(state)});
    });
    drawn.replaceChildren(...parts);
    const resident = unit.states.reduce((a, b) => a + b, 0);
    drawn.setAttribute("aria-label", `compute unit ${place}: ${resident} wavefronts`);
    put(words, `${place}: ${resident}`);
  });
  if (!at("cu-rows").closest("details").open) return;
  const heads = ["compute unit", "workgroups", "wavefronts", ...launch.states, ...launch.stall_reasons.map((name) => `${name}, cycles`)];
  fill(at("cu-heads"), 1, () => node("tr"));
  const row = at("cu-heads").rows[0];
  fill(row, heads.length, () => node("th", {scope: "col"}));
  heads.forEach((text, place) => put(row.cells[place], text));
  fill(at("cu-rows"), units.length, () => node("tr")).forEach((line, place) => {
    const unit = units[place];
    cells(line, [place, unit.workgroups, unit.states.reduce((a, b) => a + b, 0), ...unit.states, ...unit.stalls.map(number)]);
  });
}
function showQueues(queues) {
  const rows = fill(at("queues"), queues.length, () => node("tr", {}, node("th", {scope: "row"}), node("td", {class: "number"}), node("td", {}, bar(0)),
    node("td", {class: "number"}), node("td", {class: "number"}), node("td", {class: "number"})));
  queues.forEach((queue, place) => {
    const [name, entries, drawn, peak, fullest, units] = rows[place].cells;
    put(name, queue.name);
    put(entries, number(queue.entries));
    drawn.firstChild.firstChild.style.width = `${queue.peak ? 100 * queue.entries / queue.peak : 0}%`;
    put(peak, number(queue.peak));
    put(fullest, number(queue.fullest));
    put(units, number(queue.units));
  });
}
function showCounts(counts) {
  const names = Object.keys(counts);
  fill(at("counters"), names.length, () => node("option")).forEach((option, place) => { option.value = names[place]; });
  if (!at("all").open) return;
  const found = names.filter((name) => name.includes(findText));
  fill(at("counts"), found.length, () => node("tr")).forEach((row, place) => cells(row, [found[place], counts[found[place]].toLocaleString("en")]));
}
function show(state) {
  last = state;
  showRun(state);
  showProgress(state);
  fill(at("messages"), state.messages.length, () => node("li")).forEach((line, place) => put(line, state.messages[place]));
  const seen = state.launch !== null && state.launch.queues.length > 0;  // not of one that is executed without timing
  at("launch").hidden = !seen;
  if (!seen) return;
  put(at("launch-title"), state.launch.work ? `${state.launch.work}: ${state.launch.title}` : state.launch.title);
  showCharts(state.launch.history);
  showUnits(state.launch);
  showQueues(state.launch.queues);
  showCounts(state.launch.counts);
}

async function ask(after) {
  const query = new URLSearchParams();
  if (after !== null) query.set("after", String(after));
  if (chosen !== null) query.set("work", chosen);
  if (counter) query.set("counter", counter);
  const answer = await fetch(`state.json?${query}`, {cache: "no-store"});
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
}
async function refresh() {
  if (last !== null && last.outcome !== null) return;
  try { show(await ask(null)); } catch { /* the loop below says so */ }
}
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
async function follow() {
  let failed = 0, after = 0;
  for (;;) {
    let state;
    try { state = await ask(after); } catch {
      failed += 1;
      if (failed >= TRIES) {
        say("lost", "the run has ended or cannot be reached any more; this is the last state that was seen");
        return;
      }
      await pause(RETRY_MS);
      continue;
    }
    failed = 0;
    after = state.number;
    show(state);
    if (state.outcome !== null) return;
    await pause(PAUSE_MS);
  }
}
at("counter").addEventListener("change", () => { counter = at("counter").value.trim(); refresh(); });
at("find").addEventListener("input", () => { findText = at("find").value.trim().toLowerCase(); if (last) showCounts(last.launch?.counts ?? {}); });
for (const details of document.querySelectorAll("details")) details.addEventListener("toggle", () => { if (last) show(last); });
follow();
