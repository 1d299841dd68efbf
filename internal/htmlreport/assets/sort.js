// Sorting of tables: a click on a heading, or Enter on it. Numbers begin with the largest, texts with A.
"use strict";
document.documentElement.classList.add("js");
const sortBy = (th) => {
  const table = th.closest("table.sortable");
  if (!table) return;
  const numeric = th.classList.contains("n");
  const now = th.getAttribute("aria-sort");
  const down = now ? now === "ascending" : numeric;
  for (const other of th.parentNode.cells) other.removeAttribute("aria-sort");
  th.setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = table.tBodies[0];
  const key = (row) => {
    const cell = row.cells[th.cellIndex];
    return numeric ? +(cell?.dataset.sort ?? NaN) : (cell?.textContent ?? "").trim();
  };
  const order = [...body.rows].map((row) => [key(row), row]);
  order.sort(([a], [b]) => (numeric ? a - b : a.localeCompare(b)) * (down ? -1 : 1));
  body.append(...order.map(([, row]) => row));
  table.dispatchEvent(new Event("sort-end", { bubbles: true }));
};
for (const th of document.querySelectorAll("table.sortable th")) {
  th.tabIndex = 0;
  th.addEventListener("click", () => sortBy(th));
  th.addEventListener("keydown", (e) => {
    if (e.key !== "Enter" && e.key !== " ") return;
    e.preventDefault();
    sortBy(th);
  });
}
