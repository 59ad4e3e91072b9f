// The chosen direction, shared by all architectures: pointer, keys, buttons.
const content = JSON.parse(document.getElementById("content").textContent);
const input = document.getElementById("index");
const state = { pinned: 0, hover: null };
const explorers = content.explorers.map((one, n) => makeExplorer(one, document.querySelector(`[data-explorer="${n}"]`)));
const last = Math.max(...content.explorers.map((one) => one.size)) - 1;

function element(name, words = "", parent = null) {
  const node = document.createElement(name);
  node.textContent = words;
  if (parent) parent.append(node);
  return node;
}

function bandOf(one, index) {
  return one.bands.findIndex(([first, end]) => first <= index && index <= end);
}

// [first index, window, lowest index, highest index, lowest eigenvalue, highest, directions]
function levelOf(one, index) {
  let from = 0, to = one.levels.length;
  while (to - from > 1) {
    const middle = (from + to) >> 1;
    if (one.levels[middle][0] <= index) from = middle; else to = middle;
  }
  return one.levels[from];
}

function pictureOf(one, index) {
  const row = Math.floor(index / one.copies), at = one.rows.indexOf(row);
  return at < 0 ? null : decode(one.pictures[at]);
}

function makeExplorer(one, card) {
  const plot = card.querySelector(".plot"), chosen = card.querySelector(".chosen"), thumbs = card.querySelector(".thumbs");
  const explorer = { one, plot, chosen, thumbs, buttons: [], drawn: null };
  plot.tabIndex = 0;
  plot.setAttribute("role", "slider");
  plot.setAttribute("aria-label", `Direction of ${one.name}`);
  plot.setAttribute("aria-valuemin", 0);
  plot.setAttribute("aria-valuemax", one.size - 1);
  const at = (event) => {
    const box = plot.getBoundingClientRect();
    return explorer.drawn.indexAt((event.clientX - box.left) / box.width);
  };
  plot.addEventListener("pointermove", (event) => { state.hover = at(event); show(); });
  plot.addEventListener("pointerleave", () => { state.hover = null; show(); });
  plot.addEventListener("click", (event) => pin(at(event)));
  plot.addEventListener("keydown", (event) => onKey(event, one));
  const count = Math.min(9, one.size);
  explorer.some = Array.from({ length: count }, (_, k) => (k === 0 ? 0 : Math.floor(one.size * k / (count - 1)) - 1));
  return explorer;
}

function addThumb(explorer, index) {
  const values = pictureOf(explorer.one, index);
  if (!values) return;
  const button = element("button", "", explorer.thumbs), canvas = element("canvas", "", button);
  button.type = "button";
  button.setAttribute("aria-label", `Direction ${index}`);
  button.addEventListener("click", () => pin(index));
  paint(canvas, values, explorer.one.shape, BLUE_WHITE_RED, true);
  element("span", String(index), button);
  explorer.buttons.push([index, button]);
}

function onKey(event, one) {
  const moves = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };
  if (event.key in moves) pin(state.pinned + moves[event.key]);
  else if (event.key === "Home") pin(0);
  else if (event.key === "End") pin(one.size - 1);
  else if (event.key === "PageDown") pin(nextBand(one, 1));
  else if (event.key === "PageUp") pin(nextBand(one, -1));
  else return;
  event.preventDefault();
}

function nextBand(one, step) {
  const band = one.bands[bandOf(one, state.pinned) + step];
  return band ? band[0] : step > 0 ? one.size - 1 : 0;
}

function pin(index) {
  if (!Number.isFinite(index)) return;
  state.pinned = Math.min(last, Math.max(0, Math.round(index)));
  state.hover = null;
  show();
}

function show() {
  const index = state.hover ?? state.pinned;
  if (document.activeElement !== input || state.hover === null) input.value = index;
  for (const explorer of explorers) showIn(explorer, Math.min(index, explorer.one.size - 1));
}

function showIn(explorer, index) {
  const { one, plot, buttons } = explorer;
  explorer.drawn.move(index);
  const known = facts(one, index);
  plot.setAttribute("aria-valuenow", index);
  plot.setAttribute("aria-valuetext", [`direction ${index}`, ...known.map(([name, value]) => `${name} ${value}`)].join(", "));
  for (const [own, button] of buttons) button.setAttribute("aria-pressed", own === index);
  if (explorer.shown === index) return;
  explorer.shown = index;
  const heading = element("h4", `Direction ${index.toLocaleString("en")} of ${one.size.toLocaleString("en")}`);
  const list = document.createElement("dl");
  for (const [name, value] of known) {
    const pair = element("div", "", list);
    element("dt", name, pair);
    element("dd", value, pair);
  }
  explorer.chosen.replaceChildren(heading, ...pictures(one, index), list);
}

function pictures(one, index) {
  const values = pictureOf(one, index);
  if (!values) {
    const words = `The picture of this direction is not in the file: it holds ${one.rows.length.toLocaleString("en")} of ${one.values.length.toLocaleString("en")}. In Python: load_geometry(DIR).spectrum().vector(${index}).`;
    const missing = element("p", words);
    missing.className = "missing";
    return [missing];
  }
  const [height, width] = one.shape.length === 1 ? [1, one.shape[0]] : one.shape;
  const energy = dftEnergy(values, height, width), frequency = meanFrequency(energy, height, width).toFixed(2);
  const over = one.kind === "isotropic" ? ": all directions are alike, this is one" : one.kind === "tokens" ? ", over patches" : one.copies > 1 && one.kind === "channels" ? `, channel ${index % one.copies}` : "";
  return [
    figure(values, one.shape, BLUE_WHITE_RED, true, `eigenvector${over}`, `Eigenvector ${index}${over}, mean frequency ${frequency} of the highest`),
    figure(energy, one.shape, VIRIDIS, false, `DFT energy, zero in the centre; mean frequency ${frequency} of the highest`, `DFT energy of eigenvector ${index}`),
  ];
}

function figure(values, shape, stops, signed, caption, label) {
  const node = document.createElement("figure"), canvas = element("canvas", "", node);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  paint(canvas, values, shape, stops, signed);
  element("figcaption", caption, node);
  return node;
}

function facts(one, index) {
  const row = Math.floor(index / one.copies), value = one.values[row], error = one.errors[row];
  const [first, end, overlap, spread, certified, isNull, exact] = one.bands[bandOf(one, index)];
  const wide = end - first + 1, percent = (v) => number(100 * v, 3) + " %";
  const band = wide === 1 ? "alone" : `${first}–${end}, ${wide} directions${exact ? " with equal eigenvalues" : " that are not told apart"}`;
  const [, window, lowest, highest, low, high, group] = levelOf(one, index);
  const reach = (window ? `± ${window}: known with ${window} level${window > 1 ? "s" : ""} on either side` : "0: known alone") + (group > 1 ? `; one of ${group} of equal eigenvalue` : "");
  const place = lowest === highest ? String(lowest) : `${lowest} to ${highest}`;
  const rows = [
    ["eigenvalue", isNull ? (certified ? "0: no output along it before training" : "not known: too few networks") : `${number(value)}${error ? " ± " + number(error, 2) : ""}, ${number(value / one.mean, 3)} times the mean`],
  ];
  if (!exact && !isNull) rows.push(["95 % limits", `${number(low)} to ${number(high)}; index ${place}`], ["window", reach]);
  rows.push(
    ["band", band],
    ["certificate", exact ? "exact" : `${certified ? "certified" : "not certified"}: overlap ${overlap.toFixed(3)} ± ${spread.toFixed(3)}`],
  );
  if (one.shares) {
    const own = one.shares[row];
    rows.push([`share of ${one.data}`, `${percent(own)}, ${number(own * one.size, 3)} times no preference`]);
  }
  const m = one.measured.find((part) => part.first <= index && index <= part.last);
  if (m) rows.push(["measured MSW2", `${number(m.mean)}${m.error ? " ± " + number(m.error, 2) : ""}, ${m.seeds} seed${m.seeds > 1 ? "s" : ""}`]);
  else if (one.measured.length) rows.push(["measured MSW2", "not measured in this band"]);
  const f = one.forecast.find((part) => part.first <= index && index <= part.last);
  if (f) rows.push(["forecast drift", `${number(f.mean, 3)} ± ${number(f.error, 2)}`]);
  return rows;
}

function draw() {
  for (const explorer of explorers) {
    explorer.thumbs.replaceChildren();
    explorer.buttons = [];
    for (const index of explorer.some) addThumb(explorer, index);
    explorer.shown = null;
    explorer.drawn = drawSpectrum(explorer.plot, explorer.one, Math.max(280, explorer.plot.clientWidth || 600));
  }
  for (const overlay of content.overlays) drawOverlay(document.querySelector(`[data-overlay="${overlay.id}"]`), overlay.curves);
  show();
}

document.getElementById("controls").addEventListener("click", (event) => {
  const go = event.target.dataset.go, one = content.explorers[0];
  if (!go) return;
  if (go === "first" || go === "last") pin(go === "first" ? 0 : last);
  else if (go.startsWith("band")) pin(nextBand(one, Number(go.slice(4))));
  else pin(state.pinned + Number(go));
});
input.addEventListener("input", () => { if (input.value !== "") pin(Number(input.value)); });
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth !== width) { width = window.innerWidth; draw(); }
});
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
draw();
