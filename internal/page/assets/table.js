// @ts-check
// Tables of a page: a click on a heading sorts, a field filters, a button
// shows the rows below the fold. Checked by "tsc --checkJs".
"use strict";

(() => {
  document.documentElement.classList.add("on");

  /** Numbers begin with the largest, texts with A. @param {HTMLTableCellElement} th */
  const sortBy = (th) => {
    const table = th.closest("table");
    if (!table) return;
    const numeric = th.classList.contains("n"), now = th.getAttribute("aria-sort");
    const down = now ? now === "ascending" : numeric;
    for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
    th.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies].flatMap((b) => [...b.rows]);
    /** @param {HTMLTableRowElement} row */
    const key = (row) => {
      const cell = row.cells[th.cellIndex];
      return numeric ? Number(cell?.dataset.sort ?? NaN) : (cell?.textContent ?? "").trim();
    };
    const order = rows.map((row) => ({ row, key: key(row) }));
    order.sort((a, b) => (typeof a.key === "number" && typeof b.key === "number" ? a.key - b.key : String(a.key).localeCompare(String(b.key))) * (down ? -1 : 1));
    const sizes = [...table.tBodies].map((b) => b.rows.length); // before rows move between the bodies
    let at = 0;
    [...table.tBodies].forEach((body, i) => {
      body.append(...order.slice(at, at + sizes[i]).map((o) => o.row));
      at += sizes[i];
    });
  };
  document.addEventListener("click", (e) => {
    const th = e.target instanceof Element ? e.target.closest("th") : null;
    if (th instanceof HTMLTableCellElement) sortBy(th);
  });

  for (const button of document.querySelectorAll("button.unfold")) {
    const table = document.getElementById(button.getAttribute("aria-controls") || "");
    button.addEventListener("click", () => {
      for (const b of table?.querySelectorAll("tbody.rest") || []) b.classList.add("open");
      button.remove();
    });
  }

  for (const box of document.querySelectorAll(".tablebox")) {
    const search = /** @type {HTMLInputElement | null} */ (box.querySelector("input[type=search]"));
    const status = box.querySelector("output"), table = box.querySelector("table");
    if (!search || !status || !table) continue;
    const apply = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0, all = 0;
      for (const body of table.tBodies) {
        body.classList.toggle("open", words.length > 0 || body.classList.contains("open"));
        for (const row of body.rows) {
          const text = (row.textContent || "").toLowerCase();
          row.hidden = !words.every((w) => text.includes(w));
          all++;
          if (!row.hidden) shown++;
        }
      }
      status.textContent = shown + " of " + all + " rows";
    };
    search.addEventListener("input", apply);
    apply();
  }

  // A link into the page opens what holds its target.
  const reveal = () => {
    const at = /^#[\w-]+$/.test(location.hash) ? document.getElementById(location.hash.slice(1)) : null;
    if (!at) return;
    for (let d = at.closest("details"); d; d = d.parentElement ? d.parentElement.closest("details") : null) d.open = true;
    at.closest("tbody")?.classList.add("open");
    at.scrollIntoView({ block: "center" });
  };
  addEventListener("hashchange", reveal);
  reveal();
})();
