// @ts-check
// The timeline of a page: rows of bars on a canvas, from the data that Go wrote
// beside it. Everything is drawn from four parallel arrays a row, so that one
// function draws, finds and measures all of them. Texts of a trace reach the page
// only as text nodes and canvas text. Checked by "tsc --checkJs".
"use strict";

/**
 * One row of bars that do not overlap, by start. Times are ns since the window's start.
 * @typedef {object} Row
 * @property {string} name
 * @property {"gap"|"pass"|"layer"|"operator"|"kernel"} kind
 * @property {number} h height in pixels
 * @property {number} y
 * @property {Float64Array} s starts
 * @property {Float64Array} e ends
 * @property {Uint16Array} c colours, indices of the palette
 * @property {Int32Array} ref what the bar is: index of a gap, pass, layer, operator's first kernel, or kernel
 */

/**
 * @typedef {object} Level summary of the whole window in equal buckets
 * @property {number} n
 * @property {string} op dominant colour a bucket, 255 for none; base64 bytes
 * @property {string} busy 0–255 a bucket; base64 bytes
 */

/**
 * @typedef {object} Data what Go writes; see timeline.go
 * @property {string} id
 * @property {string} label
 * @property {string} link timelines with one link share their view; "" for none
 * @property {number} span
 * @property {number} kernels of the window, also those that are only summarised
 * @property {[string, string][]} palette name and CSS variable of each colour
 * @property {number} collectives colour of communication, −1 for none
 * @property {string[]} operators
 * @property {[string, string][]} names short and whole names of kernels
 * @property {string[]} streams
 * @property {string[]} sources source lines
 * @property {string} bars kernels as varints; base64
 * @property {[number, number, string, number, string, number][]} passes start, end, label, colour, link to Perfetto, ns idle
 * @property {string} layers varints; base64
 * @property {string} gaps varints; base64
 * @property {[number, string, string][]} causes colour, label and explanation of each cause
 * @property {string[][]} gapNotes lines of the largest gaps, by index of the gap's note
 * @property {[number, number, number][]} pins card, start, end
 * @property {Level[]} levels
 * @property {[number, number][]} full windows whose kernels are all here
 */

(() => {
  const MIN_VIEW = 400; // ns; a kernel takes a microsecond
  const LABELS = matchMedia("(max-width: 640px)").matches ? 74 : 112; // pixels left of the bars
  const GAP_JOINS = 500; // ns between kernels of one operator that do not end its bar

  /** @param {string} tag @param {string=} text @param {string=} name @returns {HTMLElement} */
  const element = (tag, text, name) => {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (name) e.className = name;
    return e;
  };

  /** @param {string} s */
  const bytes = (s) => {
    const raw = atob(s), out = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
    return out;
  };

  /** Unsigned varints, and signed ones as zigzag. @param {string} s */
  const numbers = (s) => {
    const b = bytes(s);
    let at = 0;
    const next = () => {
      let v = 0, f = 1;
      for (; ;) {
        const c = b[at++];
        v += (c & 127) * f;
        if (c < 128) return v;
        f *= 128;
      }
    };
    return { next, signed: () => { const v = next(); return v % 2 ? -(v + 1) / 2 : v / 2; }, more: () => at < b.length };
  };

  /** A duration with three significant digits. @param {number} ns */
  const duration = (ns) => {
    const [v, unit] = ns < 1e3 ? [ns, "ns"] : ns < 1e6 ? [ns / 1e3, "µs"] : ns < 1e9 ? [ns / 1e6, "ms"] : [ns / 1e9, "s"];
    const digits = v >= 100 || unit === "ns" ? 0 : v >= 10 ? 1 : 2;
    return v.toFixed(digits) + " " + unit;
  };

  /** @param {number} n @param {string} one @param {string=} many */
  const count = (n, one, many) => n.toLocaleString("en") + " " + (n === 1 ? one : many || one + "s");

  /** @type {Timeline[]} */
  const timelines = [];

  class Timeline {
    /** @type {Row[]} */
    rows = [];
    n = 0; // kernels that are here one by one, in the columns below
    start = new Float64Array(0);
    end = new Float64Array(0);
    name = new Int32Array(0);
    op = new Int32Array(0);
    colour = new Uint16Array(0);
    stream = new Int32Array(0);
    source = new Int32Array(0);
    /** @type {[number, number][]} cause and note of each gap */
    gaps = [];
    /** @type {[number, number][]} pass and number of each layer */
    layers = [];
    /** @type {{n: number, op: Uint8Array, busy: Uint8Array}[]} */
    levels = [];
    /** @type {(string | CanvasPattern)[]} */
    colours = [];
    width = 200;
    height = 0;
    pinY = 61;
    waiting = false;
    saving = 0;
    /** @type {HTMLCanvasElement | undefined} the overview, drawn once for each width and theme */
    map;
    mapScheme = "";

    /** @param {HTMLElement} root @param {Data} data */
    constructor(root, data) {
      this.root = root;
      this.data = data;
      this.find = /** @type {HTMLInputElement} */ (element("input"));
      this.hits = element("output", "", "hits");
      this.where = element("span", "", "where");
      this.box = element("div", undefined, "canvas");
      this.canvas = document.createElement("canvas");
      this.context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
      this.tip = element("div", "", "tip");
      this.panel = element("div", undefined, "panel");
      this.view = { a: 0, b: data.span };
      this.draws = 0; // frames drawn, and rectangles of the last one: what tests ask
      this.rects = 0;
      this.selected = { row: -1, i: -1 };
      this.pin = -1;
      this.query = "";
      /** @type {Uint8Array | null} names and operators that the search found */
      this.found = null;
      this.measure = { a: 0, b: 0 };
      /** @type {((a: number, b: number) => void) | undefined} called when a view has come to rest: see details.js */
      this.rested = undefined;
      this.decode();
      this.build();
      this.listen();
      this.resize();
      this.details();
    }

    // ---- data -------------------------------------------------------------

    decode() {
      const d = this.data, r = numbers(d.bars);
      this.rows = [];
      this.gaps = [];
      this.layers = [];
      const n = r.next();
      this.n = n;
      this.start = new Float64Array(n);
      this.end = new Float64Array(n);
      this.name = new Int32Array(n);
      this.op = new Int32Array(n);
      this.colour = new Uint16Array(n);
      this.stream = new Int32Array(n);
      this.source = new Int32Array(n);
      /** @type {[number, number, number, number][]} name, operator, colour, source of each pair */
      const pairs = [];
      const p = r.next();
      for (let i = 0; i < p; i++) pairs.push([r.next(), r.next(), r.next(), r.next()]);
      let t = 0;
      for (let i = 0; i < n; i++) {
        t += r.next();
        this.start[i] = t;
        this.end[i] = t + r.next();
        [this.name[i], this.op[i], this.colour[i], this.source[i]] = pairs[r.next()];
        this.stream[i] = r.next();
      }
      this.gapRow();
      this.passRow();
      this.layerRow();
      this.operatorRow();
      this.streamRows();
      this.collectiveRow();
      this.levels = d.levels.map((l) => ({ n: l.n, op: bytes(l.op), busy: bytes(l.busy) }));
    }

    /** @param {string} name @param {Row["kind"]} kind @param {number} h @param {[number, number, number, number][]} bars */
    row(name, kind, h, bars) {
      if (!bars.length) return;
      const n = bars.length;
      /** @type {Row} */
      const row = { name, kind, h, y: 0, s: new Float64Array(n), e: new Float64Array(n), c: new Uint16Array(n), ref: new Int32Array(n) };
      bars.forEach((b, i) => { [row.s[i], row.e[i], row.c[i], row.ref[i]] = b; });
      this.rows.push(row);
    }

    gapRow() {
      const r = numbers(this.data.gaps);
      /** @type {[number, number, number, number][]} */
      const bars = [];
      let t = 0;
      while (r.more()) {
        t += r.next();
        const e = t + r.next(), cause = r.next(), note = r.next() - 1;
        bars.push([t, e, this.data.causes[cause][0], this.gaps.length]);
        this.gaps.push([cause, note]);
        t = e;
      }
      this.row("GPU idle", "gap", 26, bars);
    }

    passRow() {
      this.row("Passes", "pass", 20, this.data.passes.map((p, i) => [p[0], p[1], p[3], i]));
    }

    layerRow() {
      const r = numbers(this.data.layers);
      /** @type {[number, number, number, number][]} */
      const bars = [];
      let t = 0;
      while (r.more()) {
        const pass = r.next(), number = r.signed();
        t += r.next();
        const e = t + r.next();
        bars.push([t, e, this.shade(this.layers.length % 2), this.layers.length]);
        this.layers.push([pass, number]);
        t = e;
      }
      this.row("Layers", "layer", 16, bars);
    }

    /** The two greys of layers are the last colours of the palette. @param {number} i */
    shade(i) { return this.data.palette.length - 2 + i; }

    operatorRow() {
      /** @type {[number, number, number, number][]} */
      const bars = [];
      let end = -Infinity;
      for (let i = 0; i < this.n; i++) {
        const s = Math.max(this.start[i], end), e = this.end[i];
        if (e <= s) continue;
        const last = bars[bars.length - 1];
        if (last && this.op[last[3]] === this.op[i] && last[2] === this.colour[i] && s - last[1] < GAP_JOINS && s === Math.max(s, last[1])) last[1] = e;
        else bars.push([s, e, this.colour[i], i]);
        end = e;
      }
      this.row("Operators", "operator", 32, bars);
    }

    streamRows() {
      const shown = matchMedia("(max-width: 640px)").matches ? 4 : 8;
      this.data.streams.forEach((name, stream) => {
        /** @type {[number, number, number, number][][]} */
        const lanes = [];
        for (let i = 0; i < this.n; i++) {
          if (this.stream[i] !== stream) continue;
          let lane = lanes.findIndex((l) => l[l.length - 1][1] <= this.start[i]);
          if (lane < 0) {
            if (lanes.length === 3) continue; // a fourth kernel at once is in the operators' row and in the tables
            lane = lanes.push([]) - 1;
          }
          lanes[lane].push([this.start[i], this.end[i], this.colour[i], i]);
        }
        lanes.forEach((l, i) => {
          if ((this.rows.length ?? 0) < 5 + shown) this.row(i ? "overlapping" : name, "kernel", i ? 16 : 24, l);
        });
      });
    }

    /** What ranks exchange has a row of its own, besides its stream. */
    collectiveRow() {
      /** @type {[number, number, number, number][]} */
      const bars = [];
      let end = 0;
      for (let i = 0; i < this.n; i++) {
        if (this.colour[i] !== this.data.collectives || this.end[i] <= end) continue;
        bars.push([Math.max(this.start[i], end), end = this.end[i], this.colour[i], i]);
      }
      this.row("Collectives", "kernel", 16, bars);
    }

    // ---- page -------------------------------------------------------------

    build() {
      const bar = element("div", undefined, "tools");
      const find = this.find;
      find.type = "search";
      find.placeholder = "Find operator, kernel, source line";
      find.setAttribute("aria-label", "Find in the timeline");
      if (this.data.link) bar.append(element("b", this.data.label));
      bar.append(find, this.hits);
      /** @type {[string, string, () => void][]} */
      const buttons = [["−", "Zoom out (S)", () => this.zoom(1.6)], ["+", "Zoom in (W)", () => this.zoom(1 / 1.6)],
      ["All", "All: show the whole window (0)", () => this.show(0, this.data.span)], ["Layer", "Layer: show one layer (L)", () => this.oneLayer()]];
      for (const [text, title, act] of buttons) {
        const b = element("button", text);
        b.title = title;
        b.setAttribute("aria-label", title);
        b.addEventListener("click", act);
        bar.append(b);
      }
      bar.append(this.where);
      const keys = element("span", "", "keys");
      for (const [k, what] of [["W S", "zoom"], ["A D", "move"], ["N", "next finding"], ["/", "find"]]) keys.append(element("kbd", k), " " + what + " ");
      bar.append(keys);

      this.box.tabIndex = 0;
      this.box.setAttribute("role", "application");
      this.box.setAttribute("aria-label", this.data.label + ". W and S zoom, A and D move, arrows go from kernel to kernel, N to the next finding.");
      this.box.append(this.canvas, this.tip);
      this.panel.setAttribute("aria-live", "polite");
      this.panel.tabIndex = 0;
      this.panel.setAttribute("role", "region");
      this.panel.setAttribute("aria-label", "Details: " + this.data.label);
      const body = element("div", undefined, "body");
      body.append(this.box, this.panel);
      this.root.replaceChildren(bar, body);
      this.layout();
    }

    layout() {
      let y = 50 + (this.data.pins.length ? 24 : 0);
      for (const r of this.rows) {
        r.y = y;
        y += r.h + (r.name === "overlapping" ? 1 : 5);
      }
      this.height = y + 4;
    }

    resize() {
      const ratio = Math.min(devicePixelRatio || 1, 3);
      this.width = Math.max(this.box.clientWidth ?? 0, 200);
      const c = this.canvas;
      c.width = Math.round(this.width * ratio);
      c.height = Math.round(this.height * ratio);
      c.style.height = this.height + "px";
      this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.map = undefined;
      this.draw();
    }

    // ---- view -------------------------------------------------------------

    /** @param {number} a @param {number} b @param {boolean=} quiet do not move linked timelines */
    show(a, b, quiet) {
      const span = this.data.span, w = Math.min(Math.max(b - a, MIN_VIEW), span);
      const mid = (a + b) / 2;
      a = Math.min(Math.max(mid - w / 2, 0), span - w);
      this.view = { a, b: a + w };
      this.later();
      if (quiet) return;
      for (const t of timelines) if (t !== this && t.data.link && t.data.link === this.data.link) t.show(a, a + w, true);
      clearTimeout(this.saving);
      this.saving = setTimeout(() => {
        const all = a <= 0 && a + w >= span;
        this.rested?.(a, a + w);
        try { history.replaceState(null, "", all ? location.pathname + location.search : "#" + this.data.id + "/" + (a / 1e6).toFixed(4) + "-" + ((a + w) / 1e6).toFixed(4)); } catch { /* a page without an address */ }
      }, 250);
    }

    /** Draws other data of the same window. @param {Data} data */
    take(data) {
      this.data = data;
      this.decode();
      this.layout();
      this.select(-1, -1);
      this.search(this.query);
      this.resize();
    }

    /** @param {number} factor @param {number=} at */
    zoom(factor, at) {
      const { a, b } = this.view, t = at ?? (a + b) / 2;
      this.show(t - (t - a) * factor, t + (b - t) * factor);
    }

    /** @param {number} share */
    move(share) {
      const { a, b } = this.view, by = (b - a) * share;
      const c = Math.min(Math.max(by, -a), this.data.span - b);
      this.show(a + c, b + c);
    }

    oneLayer() {
      const row = this.rows.find((r) => r.kind === "layer");
      if (!row) return;
      const t = this.selected.row >= 0 ? this.bar()[0] : (this.view.a + this.view.b) / 2;
      const i = Math.min(this.first(row, t), row.s.length - 1);
      this.show(row.s[i] - (row.e[i] - row.s[i]) * .05, row.e[i] + (row.e[i] - row.s[i]) * .05);
      this.select(this.rows.indexOf(row), i);
    }

    /** @param {number} x */
    time(x) { return this.view.a + (x - LABELS) / (this.width - LABELS) * (this.view.b - this.view.a); }
    /** @param {number} t */
    x(t) { return LABELS + (t - this.view.a) / (this.view.b - this.view.a) * (this.width - LABELS); }

    /** The first bar that ends after t. @param {Row} r @param {number} t */
    first(r, t) {
      let lo = 0, hi = r.e.length;
      while (lo < hi) {
        const m = (lo + hi) >> 1;
        if (r.e[m] > t) hi = m; else lo = m + 1;
      }
      return lo;
    }

    // ---- drawing ----------------------------------------------------------

    later() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => { this.waiting = false; this.draw(); });
    }

    /** @param {string} name */
    css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

    /** What is not known. @param {CanvasRenderingContext2D} g @returns {string | CanvasPattern} */
    hatch(g) {
      const tile = document.createElement("canvas"), colour = this.css("--unknown");
      tile.width = tile.height = 6;
      const m = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
      m.strokeStyle = colour;
      m.lineWidth = 2;
      for (const x of [-6, 0, 6]) {
        m.moveTo(x - 1, 7);
        m.lineTo(x + 7, -1);
      }
      m.stroke();
      return g.createPattern(tile, "repeat") || colour;
    }

    draw() {
      const g = this.context;
      this.draws++;
      this.rects = 0;
      const w = this.width, h = this.height;
      const hatch = this.hatch(g);
      this.colours = this.data.palette.map((p) => p[1] === "--unknown" ? hatch : this.css(p[1]));
      const ink = this.css("--ink"), mute = this.css("--mute"), line = this.css("--line"), pane = this.css("--pane");
      g.clearRect(0, 0, w, h);
      g.font = "11px system-ui, sans-serif";
      g.textBaseline = "middle";
      this.axis(g, mute, line);
      const gaps = this.rows.find((r) => r.kind === "gap");
      if (gaps) this.holes(g, gaps);
      g.fillStyle = mute;
      for (const r of this.rows) {
        g.fillStyle = mute;
        g.textAlign = "right";
        g.fillText(this.fit(g, r.name, LABELS - 10), LABELS - 8, r.y + r.h / 2);
      }
      g.save();
      g.beginPath();
      g.rect(LABELS, 0, w - LABELS, h);
      g.clip();
      this.rows.forEach((r) => {
        if (r.kind === "operator") this.summary(g, r.y, r.h);
        this.bars(g, r);
      });
      this.outline(g, ink);
      this.pins(g, ink, pane);
      if (this.measure.b !== this.measure.a) this.ruler(g, ink);
      g.restore();
      this.minimap(g, mute, ink);
      const all = this.view.a <= 0 && this.view.b >= this.data.span;
      this.where.textContent = (all ? "all " : "") + duration(this.view.b - this.view.a) + (all ? "" : " from " + duration(this.view.a));
    }

    /** @param {CanvasRenderingContext2D} g @param {string} mute @param {string} line */
    axis(g, mute, line) {
      const w = this.view.b - this.view.a;
      let step = 10 ** Math.floor(Math.log10(w / 4));
      for (const f of [5, 2.5, 2]) if (w / (step * f) >= 4) { step *= f; break; }
      g.textAlign = "left";
      for (let t = Math.ceil(this.view.a / step) * step; t <= this.view.b; t += step) {
        const x = this.x(t);
        g.fillStyle = line;
        g.fillRect(x, 36, 1, this.height - 36);
        g.fillStyle = mute;
        if (x < this.width - 50) g.fillText(this.tick(t, step), x + 3, 42);
      }
    }

    /** @param {number} t @param {number} step */
    tick(t, step) {
      const [f, unit] = this.view.b < 1e4 ? [1, "ns"] : this.view.b < 1e7 && step < 1e4 ? [1e3, "µs"] : this.view.b < 1e10 ? [1e6, "ms"] : [1e9, "s"];
      const digits = Math.max(0, Math.ceil(-Math.log10(step / f) - 1e-9));
      return (t / f).toFixed(Math.min(digits, 4)) + " " + unit;
    }

    /** Idle time is drawn through all rows. @param {CanvasRenderingContext2D} g @param {Row} gaps */
    holes(g, gaps) {
      g.fillStyle = this.css("--hole");
      const top = gaps.y + gaps.h, h = this.height - top;
      for (let i = this.first(gaps, this.view.a); i < gaps.s.length && gaps.s[i] < this.view.b; i++) {
        const a = Math.max(this.x(gaps.s[i]), LABELS), b = Math.min(this.x(gaps.e[i]), this.width);
        if (b - a >= 2) { g.fillRect(a, top, b - a, h); this.rects++; }
      }
    }

    /** Whether a bar is dimmed by the search. @param {Row} r @param {number} i */
    faded(r, i) {
      if (!this.found) return false;
      if (r.kind === "kernel") return !this.found[r.ref[i]];
      if (r.kind === "operator") return !this.found[r.ref[i]];
      return false;
    }

    /** @param {CanvasRenderingContext2D} g @param {Row} r */
    bars(g, r) {
      const scale = (this.width - LABELS) / (this.view.b - this.view.a), colours = this.colours;
      let px = -1, cover = 0, longest = 0, colour = 0, dim = true;
      const flush = () => {
        if (px < 0) return;
        g.globalAlpha = (dim ? .18 : 1) * Math.min(1, Math.max(.22, cover));
        g.fillStyle = colours[colour];
        g.fillRect(px, r.y, 1, r.h);
        this.rects++;
        px = -1;
      };
      for (let i = this.first(r, this.view.a); i < r.s.length && r.s[i] < this.view.b; i++) {
        const x = LABELS + (r.s[i] - this.view.a) * scale, w = (r.e[i] - r.s[i]) * scale, fade = this.faded(r, i);
        if (w < 1) {
          const p = Math.floor(x);
          if (p !== px) { flush(); px = p; cover = 0; longest = 0; dim = true; }
          cover += w;
          if (!fade) dim = false;
          if (w > longest) { longest = w; colour = r.c[i]; }
          continue;
        }
        flush();
        const a = Math.max(x, LABELS), b = Math.min(x + w, this.width);
        g.globalAlpha = fade ? .18 : 1;
        g.fillStyle = colours[r.c[i]];
        g.fillRect(a, r.y, Math.max(b - a - (w > 3 ? 1 : 0), .5), r.h);
        this.rects++;
        if (b - a > 34 && r.h > 14) {
          g.fillStyle = typeof colours[r.c[i]] === "string" ? "#0b0d10" : this.css("--ink");
          g.textAlign = "left";
          g.fillText(this.fit(g, this.text(r, i), b - a - 8), a + 4, r.y + r.h / 2);
        }
      }
      flush();
      g.globalAlpha = 1;
    }

    /** The text of a bar. @param {Row} r @param {number} i */
    text(r, i) {
      const d = this.data, at = r.ref[i];
      switch (r.kind) {
        case "gap": return duration(r.e[i] - r.s[i]) + " " + d.causes[this.gaps[at][0]][1];
        case "pass": return d.passes[at][2];
        case "layer": return String(this.layers[at][1]);
        case "operator": return d.operators[this.op[at]] || "";
        case "kernel": return d.names[this.name[at]][0];
      }
      return "";
    }

    /** @param {CanvasRenderingContext2D} g @param {string} s @param {number} room */
    fit(g, s, room) {
      if (g.measureText(s).width <= room) return s;
      let lo = 0, hi = s.length;
      while (lo < hi) {
        const m = (lo + hi + 1) >> 1;
        if (g.measureText(s.slice(0, m) + "…").width <= room) lo = m; else hi = m - 1;
      }
      return lo ? s.slice(0, lo) + "…" : "";
    }

    /** Where kernels were not kept one by one, buckets are drawn instead: height is how busy the GPU is. @param {CanvasRenderingContext2D} g @param {number} y @param {number} h */
    summary(g, y, h) {
      if (!this.levels.length) return;
      const w = this.view.b - this.view.a;
      const l = this.levels.find((v) => v.n * w / this.data.span >= this.width - LABELS) || this.levels[this.levels.length - 1];
      const size = this.data.span / l.n;
      for (let i = Math.max(0, Math.floor(this.view.a / size)); i < l.n && i * size < this.view.b; i++) {
        if (l.op[i] === 255 || !l.busy[i]) continue;
        const t = i * size;
        if (this.data.full.some(([a, b]) => t + size > a && t < b)) continue;
        const x = this.x(t), part = h * l.busy[i] / 255;
        g.fillStyle = this.colours[l.op[i]];
        g.fillRect(Math.floor(x), y + h - part, Math.max(1, Math.ceil(this.x(t + size) - x)), part);
        this.rects++;
      }
    }

    /** @param {CanvasRenderingContext2D} g @param {string} ink */
    outline(g, ink) {
      if (this.selected.row < 0) return;
      const r = this.rows[this.selected.row], [s, e] = this.bar();
      const a = Math.max(this.x(s), LABELS - 2), b = Math.min(this.x(e), this.width + 2);
      if (b < LABELS || a > this.width) return;
      g.strokeStyle = ink;
      g.lineWidth = 2;
      g.strokeRect(a - 1, r.y - 1, Math.max(b - a, 3) + 1, r.h + 2);
    }

    /** @param {CanvasRenderingContext2D} g @param {string} ink @param {string} pane */
    pins(g, ink, pane) {
      g.textAlign = "center";
      let last = -100;
      this.data.pins.forEach(([card, a], i) => {
        let x = this.x(a);
        if (x < LABELS - 8 || x > this.width + 8) return;
        x = Math.max(x, last + 19, LABELS + 10);
        last = x;
        g.beginPath();
        g.arc(x, this.pinY, 9, 0, 7);
        g.fillStyle = i === this.pin ? ink : this.css("--accent");
        g.fill();
        g.fillStyle = pane;
        g.fillText(String(card), x, this.pinY + .5);
        this.rects++;
      });
    }

    /** @param {CanvasRenderingContext2D} g @param {string} ink */
    ruler(g, ink) {
      const a = this.x(Math.min(this.measure.a, this.measure.b)), b = this.x(Math.max(this.measure.a, this.measure.b));
      g.globalAlpha = .15;
      g.fillStyle = ink;
      g.fillRect(a, 36, b - a, this.height - 36);
      g.globalAlpha = 1;
      g.textAlign = "center";
      g.fillText(duration(Math.abs(this.measure.b - this.measure.a)), (a + b) / 2, 30);
    }

    /** @param {CanvasRenderingContext2D} g @param {string} mute @param {string} ink */
    minimap(g, mute, ink) {
      const top = 2, h = 28, w = this.width - LABELS;
      const scheme = this.css("--unknown");
      if (!this.map || this.mapScheme !== scheme) { // drawn once for each width and theme
        this.mapScheme = scheme;
        const { a, b } = this.view;
        this.view = { a: 0, b: this.data.span };
        const off = document.createElement("canvas"), ratio = Math.min(devicePixelRatio || 1, 3);
        off.width = Math.round(this.width * ratio);
        off.height = Math.round(h * ratio);
        const m = /** @type {CanvasRenderingContext2D} */ (off.getContext("2d"));
        m.setTransform(ratio, 0, 0, ratio, 0, 0);
        const found = this.found;
        this.found = null;
        for (const r of this.rows) {
          if (r.kind === "gap") this.bars(m, { ...r, y: 0, h: h / 2 });
          if (r.kind === "operator") { this.summary(m, h / 2, h / 2); this.bars(m, { ...r, y: h / 2, h: h / 2 }); }
        }
        this.found = found;
        this.view = { a, b };
        this.map = off;
      }
      g.drawImage(this.map, 0, top, this.width, h);
      g.fillStyle = mute;
      g.textAlign = "right";
      g.fillText(this.fit(g, "Whole window", LABELS - 10), LABELS - 8, top + h / 2);
      const a = LABELS + this.view.a / this.data.span * w, b = LABELS + this.view.b / this.data.span * w;
      g.strokeStyle = ink;
      g.lineWidth = 1.5;
      g.strokeRect(a + .5, top + .5, Math.max(b - a - 1, 2), h - 1);
    }

    // ---- what is under the pointer, and what was chosen ---------------------

    /** The bar at a point of the canvas. @param {number} x @param {number} y @returns {{row: number, i: number} | null} */
    hit(x, y) {
      const rows = this.rows;
      if (x < LABELS) return null;
      for (let n = 0; n < rows.length; n++) {
        const r = rows[n];
        if (y < r.y || y > r.y + r.h) continue;
        const slack = (this.view.b - this.view.a) / (this.width - LABELS) * 2, t = this.time(x);
        const i = this.first(r, t - slack);
        return i < r.s.length && r.s[i] <= t + slack ? { row: n, i } : null;
      }
      return null;
    }

    /** What a bar is, for tests and readers. @param {number} row @param {number} i */
    describe(row, i) {
      const r = this.rows[row];
      return { row: r.name, kind: r.kind, text: this.text(r, i), start: r.s[i], end: r.e[i] };
    }

    /** @returns {[number, number]} */
    bar() {
      const r = this.rows[this.selected.row];
      return [r.s[this.selected.i], r.e[this.selected.i]];
    }

    /** @param {number} row @param {number} i */
    select(row, i) {
      this.selected = { row, i };
      this.details();
      this.later();
    }

    /** @param {number} card */
    showPin(card) {
      const i = this.data.pins.findIndex((p) => p[0] === card);
      if (i < 0) return;
      this.pin = i;
      const [, a, b] = this.data.pins[i], w = Math.max(b - a, MIN_VIEW * 4);
      this.show(a - w * .6, b + w * .6);
      const gaps = this.rows.findIndex((r) => r.kind === "gap");
      if (gaps >= 0) {
        const r = this.rows[gaps], k = this.first(r, a);
        if (k < r.s.length && r.s[k] <= b && r.e[k] - r.s[k] > (b - a) * .5) this.select(gaps, k);
      }
      for (const c of document.querySelectorAll(".card")) c.classList.toggle("current", c.id === "finding-" + card);
    }

    details() {
      const p = this.panel;
      p.replaceChildren();
      if (this.selected.row < 0) return this.legend(p);
      const r = this.rows[this.selected.row], i = this.selected.i, at = r.ref[i], d = this.data;
      const list = element("dl");
      /** @param {string} name @param {string} value */
      const add = (name, value) => { if (value) list.append(element("dt", name), element("dd", value)); };
      let title = this.text(r, i), copy = title, href = "";
      switch (r.kind) {
        case "gap": {
          const [cause, note] = this.gaps[at];
          title = "GPU idle: " + d.causes[cause][1];
          add("Length", duration(r.e[i] - r.s[i]));
          add("Means", d.causes[cause][2]);
          if (note >= 0) for (const l of d.gapNotes[note]) add("Also", l);
          break;
        }
        case "pass": {
          const pass = d.passes[at];
          add("Length", duration(pass[1] - pass[0]));
          add("GPU idle", duration(pass[5]) + " (" + (100 * pass[5] / Math.max(pass[1] - pass[0], 1)).toFixed(1) + "%)");
          href = pass[4];
          break;
        }
        case "layer": {
          const [pass, number] = this.layers[at];
          title = "Layer " + number;
          add("Length", duration(r.e[i] - r.s[i]));
          add("Pass", d.passes[pass] ? d.passes[pass][2] : "");
          break;
        }
        default: {
          const k = at;
          const names = d.names[this.name[k]];
          title = r.kind === "operator" ? d.operators[this.op[k]] : names[0];
          copy = names[1];
          add(r.kind === "operator" ? "Length" : "Duration", duration(r.e[i] - r.s[i]));
          add("Operator", d.operators[this.op[k]]);
          add("Category", d.palette[this.colour[k]][0]);
          add("Kernel", names[1]);
          add("Source", d.sources[this.source[k]]);
          add("Stream", d.streams[this.stream[k]]);
          const layer = this.around("layer", r.s[i]), pass = this.around("pass", r.s[i]);
          add("Layer", layer);
          add("Pass", pass);
        }
      }
      add("Start", duration(r.s[i]) + " after the window's start");
      p.append(element("h2", title), list);
      const copying = element("button", "Copy name");
      copying.addEventListener("click", () => {
        const done = () => { copying.textContent = "Copied"; };
        if (navigator.clipboard) navigator.clipboard.writeText(copy).then(done, () => { copying.textContent = "Not allowed here"; });
        else copying.textContent = "Not allowed here";
      });
      p.append(copying);
      const frame = element("button", "Frame (F)");
      frame.addEventListener("click", () => this.frame());
      p.append(" ", frame);
      if (href) {
        const a = /** @type {HTMLAnchorElement} */ (element("a", "Open in Perfetto"));
        a.href = href;
        a.target = "_blank";
        a.rel = "noopener noreferrer";
        p.append(" ", a);
      }
    }

    /** @param {"layer"|"pass"} kind @param {number} t */
    around(kind, t) {
      const r = this.rows.find((x) => x.kind === kind);
      if (!r) return "";
      const i = this.first(r, t);
      return i < r.s.length && r.s[i] <= t ? this.text(r, i) : "";
    }

    /** @param {HTMLElement} p */
    legend(p) {
      /** @type {Map<number, number>[]} time by colour of the work, and of idle time */
      const sums = [new Map(), new Map()];
      for (const r of this.rows) {
        const m = r.kind === "operator" ? sums[0] : r.kind === "gap" ? sums[1] : null;
        if (m) for (let i = 0; i < r.s.length; i++) m.set(r.c[i], (m.get(r.c[i]) || 0) + r.e[i] - r.s[i]);
      }
      sums.forEach((m, which) => {
        if (!m.size) return;
        p.append(element("h2", which ? "GPU idle because of" : "GPU works on"));
        const list = element("ul", undefined, "legend");
        [...m].sort((a, b) => b[1] - a[1]).slice(0, 8).forEach(([c, ns]) => {
          const li = element("li");
          const variable = this.data.palette[c][1], dot = element("span", "", "dot " + variable.slice(2));
          if (variable !== "--unknown") dot.style.background = "var(" + variable + ")";
          li.append(dot, element("span", this.data.palette[c][0]), element("b", duration(ns)));
          list.append(li);
        });
        p.append(list);
      });
      if (this.n < this.data.kernels) p.append(element("p", count(this.n, "kernel") + " of " + this.data.kernels.toLocaleString("en") + " are drawn one by one; elsewhere bars are a summary of how busy the GPU is and with what.", "note"));
    }

    frame() {
      if (this.selected.row < 0) return;
      const [s, e] = this.bar(), w = Math.max(e - s, MIN_VIEW);
      this.show(s - w * .15, e + w * .15);
    }

    /** Moves the choice: along the row, or to the next run of the same kernel. @param {number} by @param {boolean} same */
    step(by, same) {
      const rows = this.rows;
      if (this.selected.row < 0) {
        const n = rows.findIndex((r) => r.kind === "operator");
        if (n < 0) return;
        this.select(n, Math.min(this.first(rows[n], this.view.a), rows[n].s.length - 1));
      } else {
        const r = rows[this.selected.row], from = this.selected.i;
        let i = from + by;
        if (same && (r.kind === "kernel" || r.kind === "operator")) {
          const key = r.kind === "kernel" ? this.name : this.op;
          while (i >= 0 && i < r.s.length && key[r.ref[i]] !== key[r.ref[from]]) i += by;
        }
        if (i < 0 || i >= r.s.length) return;
        this.select(this.selected.row, i);
      }
      const [s, e] = this.bar();
      if (s < this.view.a || e > this.view.b) {
        const w = Math.max(this.view.b - this.view.a, (e - s) * 1.2);
        this.show((s + e - w) / 2, (s + e + w) / 2);
      }
    }

    /** @param {string} query */
    search(query) {
      this.query = query.trim().toLowerCase();
      const out = this.hits;
      if (!this.query) {
        this.found = null;
        out.textContent = "";
        return this.later();
      }
      const d = this.data, q = this.query, has = (/** @type {string} */ s) => s.toLowerCase().includes(q);
      const names = d.names.map((n) => has(n[0]) || has(n[1])), ops = d.operators.map(has), sources = d.sources.map(has);
      const found = this.found = new Uint8Array(this.n);
      let n = 0, ns = 0;
      for (let i = 0; i < this.n; i++) {
        if (!names[this.name[i]] && !ops[this.op[i]] && !sources[this.source[i]]) continue;
        found[i] = 1;
        n++;
        ns += this.end[i] - this.start[i];
      }
      out.textContent = n ? count(n, "kernel") + ", " + duration(ns) : "nothing found";
      this.later();
    }

    /** Frames what the search found, or goes to the next of it. */
    nextHit() {
      if (!this.found) return;
      const rows = this.rows;
      for (let n = 0; n < rows.length; n++) {
        if (rows[n].kind !== "kernel") continue;
        let i = this.selected.row === n ? this.selected.i + 1 : this.first(rows[n], this.view.a);
        for (; i < rows[n].s.length; i++) {
          if (!this.found[rows[n].ref[i]]) continue;
          this.select(n, i);
          const [s, e] = this.bar(), w = Math.max((e - s) * 12, 20000);
          return this.show(s - w / 2, e + w / 2);
        }
      }
    }

    // ---- input ------------------------------------------------------------

    listen() {
      const c = this.canvas, box = this.box;
      let focused = false;
      box.addEventListener("focus", () => { focused = true; });
      box.addEventListener("blur", () => { focused = false; });
      c.addEventListener("wheel", (e) => {
        const sideways = Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey;
        if (!sideways && !e.ctrlKey && !focused) return; // the page scrolls until the timeline was clicked
        e.preventDefault();
        if (sideways) this.move((e.deltaX || e.deltaY) / (this.width - LABELS));
        else this.zoom(Math.exp(Math.max(-200, Math.min(200, e.deltaY)) * .003), this.time(e.offsetX));
      }, { passive: false });

      /** @type {Map<number, number>} x of each pointer that is down */
      const down = new Map();
      let mode = "", from = 0, moved = false;
      c.addEventListener("pointerdown", (e) => {
        box.focus({ preventScroll: true });
        c.setPointerCapture(e.pointerId);
        down.set(e.pointerId, e.offsetX);
        moved = false;
        from = this.time(e.offsetX);
        mode = down.size === 2 ? "pinch" : e.offsetY < 32 && e.offsetX > LABELS ? "map" : e.shiftKey ? "measure" : "drag";
        if (mode === "map") this.mapTo(e.offsetX);
        if (mode === "measure") this.measure = { a: from, b: from };
      });
      c.addEventListener("pointermove", (e) => {
        const before = down.get(e.pointerId);
        if (before === undefined) return this.hover(e.offsetX, e.offsetY);
        if (Math.abs(e.offsetX - before) > 2) moved = true;
        if (mode === "pinch" && down.size === 2) {
          const [p, q] = [...down.values()], wide = Math.abs(p - q), mid = this.time((p + q) / 2);
          down.set(e.pointerId, e.offsetX);
          const [r, s] = [...down.values()];
          this.zoom(Math.max(wide, 8) / Math.max(Math.abs(r - s), 8), mid);
          return;
        }
        down.set(e.pointerId, e.offsetX);
        if (mode === "map") this.mapTo(e.offsetX);
        if (mode === "measure") { this.measure = { a: from, b: this.time(e.offsetX) }; this.later(); }
        if (mode === "drag") this.move((before - e.offsetX) / (this.width - LABELS));
      });
      const up = (/** @type {PointerEvent} */ e) => {
        down.delete(e.pointerId);
        if (!moved && mode === "drag") this.click(e.offsetX, e.offsetY);
        if (mode !== "measure") this.measure = { a: 0, b: 0 };
        mode = down.size ? "drag" : "";
      };
      c.addEventListener("pointerup", up);
      c.addEventListener("pointercancel", (e) => { down.delete(e.pointerId); mode = ""; });
      c.addEventListener("pointerleave", () => this.tip.classList.remove("shown"));
      c.addEventListener("dblclick", (e) => {
        const h = this.hit(e.offsetX, e.offsetY);
        if (h) { this.select(h.row, h.i); this.frame(); }
      });
      box.addEventListener("keydown", (e) => this.key(e));
      const find = this.find;
      find.addEventListener("input", () => this.search(find.value));
      find.addEventListener("keydown", (e) => {
        if (e.key === "Enter") this.nextHit();
        if (e.key === "Escape") { find.value = ""; this.search(""); box.focus(); }
      });
      new ResizeObserver(() => { if (box.clientWidth !== this.width) this.resize(); }).observe(box);
    }

    /** @param {number} x */
    mapTo(x) {
      const t = (x - LABELS) / (this.width - LABELS) * this.data.span, w = this.view.b - this.view.a;
      this.show(t - w / 2, t + w / 2);
    }

    /** @param {number} x @param {number} y */
    click(x, y) {
      if (this.data.pins.length && Math.abs(y - this.pinY) < 11) {
        let best = -1, near = 12;
        this.data.pins.forEach(([, a], i) => { const far = Math.abs(this.x(a) - x); if (far < near) { near = far; best = i; } });
        if (best >= 0) return this.showPin(this.data.pins[best][0]);
      }
      const h = this.hit(x, y);
      this.select(h ? h.row : -1, h ? h.i : -1);
    }

    /** @param {number} x @param {number} y */
    hover(x, y) {
      const h = this.hit(x, y), tip = this.tip;
      tip.classList.toggle("shown", h !== null);
      if (!h) return;
      const r = this.rows[h.row];
      tip.textContent = this.text(r, h.i) + " · " + duration(r.e[h.i] - r.s[h.i]);
      tip.style.left = Math.max(0, Math.min(x + 12, this.width - 220)) + "px";
      tip.style.top = y + 16 + "px";
    }

    /** @param {KeyboardEvent} e */
    key(e) {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      /** @type {Record<string, () => void>} */
      const keys = {
        w: () => this.zoom(1 / 1.5), s: () => this.zoom(1.5), a: () => this.move(-.2), d: () => this.move(.2),
        0: () => this.show(0, this.data.span), l: () => this.oneLayer(), f: () => this.frame(),
        n: () => this.nextPin(e.shiftKey ? -1 : 1),
        arrowright: () => this.step(1, false), arrowleft: () => this.step(-1, false),
        arrowdown: () => this.step(1, true), arrowup: () => this.step(-1, true),
        "/": () => this.find.focus(),
        escape: () => { this.measure = { a: 0, b: 0 }; this.pin = -1; this.select(-1, -1); },
      };
      const act = keys[e.key.toLowerCase()];
      if (!act) return;
      e.preventDefault();
      act();
    }

    /** @param {number} by */
    nextPin(by) {
      const n = this.data.pins.length;
      if (n) this.showPin(this.data.pins[(this.pin + by + n) % n][0]);
    }
  }

  const fromAddress = () => {
    const m = /^#([\w-]+)\/(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(location.hash);
    const t = m && timelines.find((x) => x.data.id === m[1]);
    if (t && m) t.show(Number(m[2]) * 1e6, Number(m[3]) * 1e6);
  };

  for (const s of document.querySelectorAll("script.timeline-data")) {
    const root = document.getElementById(s.getAttribute("data-for") || "");
    if (root) timelines.push(new Timeline(root, JSON.parse(s.textContent || "{}")));
  }
  fromAddress();
  addEventListener("hashchange", fromAddress);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => timelines.forEach((t) => t.later()));
  document.getElementById("theme")?.addEventListener("click", () => {
    const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = root.getAttribute("data-theme") || (dark ? "dark" : "light");
    root.setAttribute("data-theme", now === "dark" ? "light" : "dark");
    timelines.forEach((t) => t.later());
  });
  document.addEventListener("click", (e) => {
    const at = e.target instanceof Element ? e.target : null;
    const show = at?.closest("[data-card]"), find = at?.closest("[data-find]");
    const t = timelines[0];
    if (!t || !(show || find)) return;
    if (show) t.showPin(Number(show.getAttribute("data-card")));
    if (find && t.find) {
      t.find.value = find.getAttribute("data-find") || "";
      t.search(t.find.value);
    }
    t.root.scrollIntoView({ block: "nearest" });
  });

  Object.assign(window, { strataPage: { timelines } });
})();
