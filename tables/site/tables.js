// Sorting by a click on a column's head, filters, and a link to a configuration opens it. Without it the pages show the same, in the
// paper's order.
"use strict";
document.documentElement.classList.add("js");

function valueOf(row, column) {
  const cell = row.cells[column];
  const number = parseFloat(cell.dataset.value);
  return Number.isNaN(number) ? cell.textContent.trim() : number;
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "number") return -1;
  if (typeof b === "number") return 1;
  return a.localeCompare(b, undefined, { numeric: true });
}

function sortBy(table, column) {
  const head = table.tHead.rows[0].cells[column];
  const descending = head.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows].map((row, i) => ({ row, i, value: valueOf(row, column) }));
  rows.sort((a, b) => {
    if ((a.value === "-" || a.value === "") !== (b.value === "-" || b.value === "")) return a.value === "-" || a.value === "" ? 1 : -1;
    return (descending ? -1 : 1) * compare(a.value, b.value) || a.i - b.i;
  });
  table.tBodies[0].append(...rows.map(({ row }) => row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    button.type = "button";
    button.title = "sort";
    button.addEventListener("click", () => sortBy(table, column));
    head.replaceChildren(button);
  });
}

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) target.open = true;
}
window.addEventListener("hashchange", openTarget);
openTarget();

for (const filters of document.querySelectorAll(".filters")) {
  const table = document.getElementById(filters.dataset.table);
  const chosen = [...filters.querySelectorAll("select")];
  const apply = () => {
    for (const row of table.tBodies[0].rows)
      row.hidden = chosen.some((select) => select.value && row.dataset[select.name] !== select.value);
  };
  chosen.forEach((select) => select.addEventListener("change", apply));
  apply();
}
