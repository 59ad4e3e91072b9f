const table = document.querySelector("table.atlas");
const body = table.tBodies[0];
const filter = document.getElementById("filter");
const kind = document.getElementById("kind");
const shown = document.getElementById("shown");

function cellOf(row, key) {
  return row.querySelector(`[data-key="${key}"]`);
}

function compare(a, b) {
  const known = [a, b].map((cell) => cell.dataset.value);
  if (known.some((value) => value !== undefined)) {
    const [first, second] = known.map((value) => (value === undefined ? Infinity : Number(value)));
    return first === second ? 0 : first - second;
  }
  return a.textContent.trim().localeCompare(b.textContent.trim(), "en", { numeric: true });
}

table.tHead.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const head = button.closest("th");
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.querySelectorAll("th")) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = button.dataset.key;
  const rows = [...body.rows].sort((a, b) => compare(cellOf(a, key), cellOf(b, key)));
  if (down) rows.reverse();
  body.append(...rows);
});

function choose() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const row of body.rows) {
    const text = row.textContent.toLowerCase();
    const fits = (!kind.value || row.dataset.kind === kind.value) && words.every((w) => text.includes(w));
    row.hidden = !fits;
    count += fits;
  }
  shown.textContent = `${count} shown`;
}

filter.addEventListener("input", choose);
kind.addEventListener("change", choose);
