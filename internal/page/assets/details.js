// @ts-check
// Only in pages that a server gives: kernels of a view that the page only summarises
// are asked for on that server when the view has come to rest. Checked by "tsc --checkJs".
"use strict";

(() => {
  for (const t of /** @type {any} */ (window).strataPage.timelines) {
    let last = "";
    t.rested = (/** @type {number} */ a, /** @type {number} */ b) => {
      if (!t.levels.length || t.data.full.some((/** @type {[number, number]} */ [s, e]) => s <= a && e >= b)) return;
      const address = "details?from=" + Math.floor(a) + "&to=" + Math.ceil(b);
      if (address === last) return;
      last = address;
      fetch(address).then((r) => r.ok ? r.json() : Promise.reject(r.status)).then((data) => {
        if (address === last) t.take(data); // else the reader went on
      }).catch(() => { t.hits.textContent = "no answer from the server: only a summary is drawn"; });
    };
  }
})();
