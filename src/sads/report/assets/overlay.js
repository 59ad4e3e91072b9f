// Several spectra in one plot, told apart by colour and by dashes.
const LINES = [["--certified", ""], ["--uncertain", "7 4"], ["--data", "2 3"], ["--measured", "10 3 2 3"], ["--accent", "4 2"], ["--null", "1 3"]];

function drawOverlay(place, curves) {
  const width = Math.max(280, place.clientWidth || 600), height = 260, right = width - RIGHT;
  const all = curves.flatMap((c) => c.values.filter((v) => v > 0));
  const high = all.reduce((a, b) => Math.max(a, b), 1e-12) * 1.5, low = Math.max(all.reduce((a, b) => Math.min(a, b), high / 10) / 1.5, high * 1e-9);
  const scale = scaleFor(low, high, 24, 210, true);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Eigenvalues divided by their mean, " + curves.map((c) => c.name).join("; ") });
  text(root, 0, 13, "eigenvalue / mean");
  logAxis(root, scale, right);
  const size = Math.max(...curves.map((c) => c.values.length * c.copies));
  const x = (i) => LEFT + (i + 0.5) / size * (right - LEFT);
  indexAxis(root, x, size, 228);
  text(root, (LEFT + right) / 2, 246, "index of the direction", { "text-anchor": "middle" });
  const names = document.createElement("div");
  names.className = "names";
  curves.forEach((curve, n) => {
    const [name, dashes] = LINES[n % LINES.length], style = { class: "curve", "stroke-dasharray": dashes };
    let d = "";
    curve.values.forEach((v, row) => {
      if (v > 0) d += `${d ? "L" : "M"}${x(row * curve.copies).toFixed(1)} ${scale.to(v).toFixed(1)}H${x((row + 1) * curve.copies - 1).toFixed(1)}`;
    });
    svg("path", { d: d || "M0 0", ...style }, root).style.stroke = `var(${name})`;
    const item = document.createElement("span"), key = svg("svg", { viewBox: "0 0 36 12", "aria-hidden": "true" });
    svg("path", { d: "M0 6H36", ...style }, key).style.stroke = `var(${name})`;
    item.append(key, curve.name);
    names.append(item);
  });
  place.replaceChildren(root, names);
}
