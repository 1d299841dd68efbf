// Filters of tables: words in a search field, choices of columns.
for (const box of document.querySelectorAll(".tablebox")) {
  const search = box.querySelector("input[type=search]");
  const choices = [...box.querySelectorAll("select")];
  const status = box.querySelector("output");
  if (!status) continue;
  const apply = () => {
    const words = search ? search.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
    // Sorting replaces the table's body: look it up each time.
    const rows = box.querySelector("table").tBodies[0].rows;
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const keep = words.every((w) => text.includes(w)) &&
        choices.every((c) => c.value === "" || row.cells[+c.dataset.column].textContent.trim() === c.value);
      row.hidden = !keep;
      shown += keep ? 1 : 0;
    }
    status.textContent = shown + " of " + rows.length + " rows; click a heading to sort";
  };
  for (const field of [search, ...choices]) field?.addEventListener("input", apply);
  apply();
}
// Paper has no way to open a folded table.
window.addEventListener("beforeprint", () => {
  for (const d of document.querySelectorAll("details:not([open])")) {
    d.open = true;
    d.dataset.folded = "1";
  }
});
window.addEventListener("afterprint", () => {
  for (const d of document.querySelectorAll("details[data-folded]")) {
    d.open = false;
    delete d.dataset.folded;
  }
});

// A link into the page opens what holds its target.
const reveal = () => {
  const at = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (!at) return;
  for (let d = at.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
  at.closest("tr")?.removeAttribute("hidden");
  at.scrollIntoView({ block: "center" });
};
window.addEventListener("hashchange", reveal);
reveal();
