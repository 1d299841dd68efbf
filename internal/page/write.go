package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/mask"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

//go:embed assets/*.css assets/*.js
var assets embed.FS

// The texts that are embedded in each page.
var (
	style  = causeColours() + asset("page.css")
	script = asset("table.js") + "\n" + asset("timeline.js")
	// details is added to served pages.
	details = asset("details.js")
)

func asset(name string) string {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(fmt.Sprintf("page: embedded file: %v", err)) // a build without it fails each test
	}
	return string(b)
}

// causeColours are the colours of the table of causes, as variables and as fills.
func causeColours() string {
	var vars, fills strings.Builder
	for c := range finding.NumCauses {
		fmt.Fprintf(&vars, "--w%d: %s; ", c, c.Info().Colour)
		fmt.Fprintf(&fills, ".w%d { fill: var(--w%d); }\n", c, c)
	}
	return ":root { " + vars.String() + "}\n" + fills.String()
}

// script is that of the page.
func (page *Page) script() string {
	if page.Served {
		return script + "\n" + details
	}
	return script
}

// policy allows the page's own style and script and nothing else: no request leaves it. A served page may ask the
// server that it came from.
func policy(script string, served bool) string {
	rest := ""
	if served {
		rest = "; connect-src 'self'"
	}
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hash(style) + "; script-src " +
		hash(script) + rest
}

// writer is a document that grows. Nothing gets into it unescaped but what this package
// holds as constants: see put.
type writer struct {
	bytes.Buffer
	colours map[string]string
	pinned  map[int]bool // cards whose place a timeline shows
	paths   bool         // folders of absolute paths are kept
}

// withPaths is a writer of [WithPaths].
type withPaths struct{ io.Writer }

// WithPaths returns a writer for pages that keep the folders of absolute paths. Other pages are made to be sent, and
// show no folder that begins at the root, as it names users and machines.
func WithPaths(w io.Writer) io.Writer { return withPaths{w} }

func keepsPaths(w io.Writer) bool {
	_, ok := w.(withPaths)
	return ok
}

// markup is text that is HTML already: made by this package, never by a caller.
type markup string

// put appends a format of this package with its arguments, escaped for a text or a
// quoted attribute unless they are numbers or markup.
func (p *writer) put(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = html.EscapeString(s)
		}
	}
	fmt.Fprintf(p, format, args...)
}

func class(name string) markup {
	if name == "" {
		return ""
	}
	return markup(` class="` + name + `"`)
}

// Write writes the page as one HTML document.
func (page *Page) Write(w io.Writer) error {
	p := writer{colours: page.Colours, pinned: map[int]bool{}, paths: keepsPaths(w)}
	for i := range page.Sections {
		for _, t := range page.Sections[i].Timelines {
			for _, pin := range t.Pins {
				p.pinned[pin.Card] = true
			}
		}
	}
	p.head(page)
	for i := range page.Sections {
		if err := p.section(&page.Sections[i], i); err != nil {
			return err
		}
	}
	p.health(page)
	p.put("</main>\n<script>%s</script>\n</body>\n</html>\n", markup(page.script()))
	text := p.Bytes()
	if !p.paths {
		text = withoutFolders(text, page.Inputs)
	}
	m := mask.NewWriter(w)
	if _, err := m.Write(text); err != nil {
		return err
	}
	return m.Flush()
}

// withoutFolders takes the folders of absolute paths out of a page: as markup and as the timeline's data spell them.
func withoutFolders(page []byte, paths []string) []byte {
	var dirs []string
	for _, path := range paths {
		// a short one names nobody, and may be in the timeline's data by chance
		if dir := filepath.Dir(path); filepath.IsAbs(path) && len(dir) > 5 {
			dirs = append(dirs, dir+string(filepath.Separator))
		}
	}
	slices.SortFunc(dirs, func(a, b string) int { return len(b) - len(a) }) // one may be inside of another
	for _, dir := range slices.Compact(dirs) {
		page = bytes.ReplaceAll(page, []byte(html.EscapeString(dir)), nil)
		if data, err := json.Marshal(dir); err == nil {
			page = bytes.ReplaceAll(page, bytes.Trim(data, `"`), nil)
		}
	}
	return page
}

func (p *writer) head(v *Page) {
	p.put(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="strata %s">
<title>%s – strata %s</title>
<style>%s</style>
</head>
<body>
<svg class="defs" width="0" height="0" aria-hidden="true"><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="hatch" width="3" height="6"/></pattern></svg>
<a class="skip" href="#main">Skip to the findings</a>
<header>
<p class="top"><b>strata</b> %s<span>%s</span><button type="button" id="theme" class="js" aria-label="Light or dark">◐</button></p>
`, markup(policy(v.script(), v.Served)), p.text(v.Program), p.text(v.Title), p.text(v.Program), markup(style),
		p.text(v.Program), p.text(v.Title))
	p.put("<h1>%s</h1>\n", p.rich(cmp.Or(v.Verdict, v.Title)))
	if len(v.Figures) > 0 {
		p.put(`<p class="figures">`)
		for i, f := range v.Figures {
			if i > 0 {
				p.put(" · ")
			}
			p.put("<b>%s</b> %s", p.text(f.Value), p.text(f.Name))
		}
		p.put("</p>\n")
	}
	p.put(`<p class="context">`)
	context := v.Context
	if p.paths {
		context = append(slices.Clone(v.Inputs), context...)
	}
	for _, c := range context {
		p.put("%s · ", p.text(c))
	}
	if v.Health.Status != "" {
		state := strings.Join([]string{"recording " + string(v.Health.Status), v.Health.Coverage}, ", ")
		p.put("<a href=\"#health\" class=\"%s\">%s</a>", badge(v.Health.Status), p.text(strings.TrimSuffix(state, ", ")))
	}
	p.put("</p>\n</header>\n<main id=\"main\">\n")
}

// badge is the class of a health status.
func badge(status trace.HealthStatus) string {
	if status == trace.HealthOK {
		return "good"
	}
	return "warn"
}

func (p *writer) health(v *Page) {
	if v.Health.Status == "" && len(v.Notes) == 0 {
		return
	}
	p.put("<section id=\"health\"><h2>What is not certain</h2>\n")
	if len(v.Health.Findings) == 0 {
		p.put("<p>The recording is complete: nothing was found that changes a result.</p>\n")
	}
	if len(v.Health.Findings)+len(v.Notes) > 0 {
		p.put(`<ul class="notes">`)
		for _, f := range v.Health.Findings {
			p.put(`<li><b>%s</b> %s</li>`, p.text(f.Code), p.rich(f.Message))
		}
		for _, n := range v.Notes[:min(len(v.Notes), maxNotes)] {
			p.put("<li>%s</li>", p.rich(n))
		}
		p.put("</ul>\n")
		if n := len(v.Notes) - maxNotes; n > 0 {
			p.put("<p class=\"notes\">%d more remarks are not shown.</p>\n", n)
		}
	}
	p.put("</section>\n")
}

func (p *writer) section(s *Section, i int) error {
	id := "s" + strconv.Itoa(i)
	if s.ID != "" {
		id = anchor(s.ID)
	}
	p.put("<section id=\"%s\">", id)
	if s.Title != "" {
		p.put("<h2>%s", p.text(s.Title))
		if s.Text != "" {
			p.put(" <small>%s</small>", p.rich(s.Text))
		}
		p.put("</h2>")
	}
	p.put("\n")
	for _, t := range s.Timelines {
		if err := p.timeline(t); err != nil {
			return err
		}
	}
	if len(s.Cards) > 0 {
		p.cards(s.Cards)
	}
	if len(s.Falls) > 0 {
		p.put("<div class=\"falls\">\n")
		for k := range s.Falls {
			p.waterfall(&s.Falls[k])
		}
		p.put("</div>\n")
	}
	if len(s.Plots) > 0 {
		p.plots(s.Plots)
	}
	if len(s.Heats) > 0 {
		p.put("<div class=\"falls\">\n")
		for _, h := range s.Heats {
			p.heat(h)
		}
		p.put("</div>\n")
	}
	for k := range s.Tables {
		p.table(&s.Tables[k], id+"t"+strconv.Itoa(k))
	}
	p.put("</section>\n")
	return nil
}

// cards writes findings, the largest as cards with a bar, the others as a folded list.
func (p *writer) cards(cards []Card) {
	most := 0.0
	for i := range cards {
		most = max(most, cards[i].Size)
	}
	p.put("<div class=\"cards\">\n")
	for i := range cards[:min(len(cards), maxCards)] {
		if i == topCards {
			p.put("</div>\n<details class=\"more\"><summary>%s</summary>\n<div class=\"cards\">\n",
				fmt.Sprintf("%d smaller findings", min(len(cards), maxCards)-topCards))
		}
		p.card(&cards[i], i+1, most)
	}
	p.put("</div>\n")
	if len(cards) > topCards {
		p.put("</details>\n")
	}
	if n := len(cards) - maxCards; n > 0 {
		p.put("<p class=\"notes\">%d more findings are not shown.</p>\n", n)
	}
}

func (p *writer) card(c *Card, n int, most float64) {
	p.put("<article class=\"card\" id=\"finding-%d\"><h3><span class=\"pin\">%d</span>%s</h3>", n, n, p.prose(c.Title))
	if c.Gain != "" {
		share := 0.0
		if most > 0 {
			share = max(1, 100*c.Size/most)
		}
		kind := markup("takes")
		if c.Wins {
			kind = "wins"
		}
		p.put(`<svg class="gain %s" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="rail" width="100" height="4"/><rect width="%s" height="4"/></svg><p class="size">%s</p>`,
			kind, markup(number(share)), p.text(c.Gain))
	}
	if c.Evidence != "" {
		p.put("<p>%s</p>", p.rich(c.Evidence))
	}
	if c.Where != "" {
		p.put("<p class=\"where\">Where: %s</p>", p.rich(c.Where))
	}
	if c.Doubt != "" {
		p.put("<p class=\"doubt\">%s</p>", p.rich(c.Doubt))
	}
	p.put("<p><b>Fix:</b> %s</p><p class=\"act\">", p.rich(cmp.Or(c.Fix, "none known.")))
	if p.pinned[n] {
		p.put("<button type=\"button\" class=\"js\" data-card=\"%d\">Show</button>", n)
	}
	if c.Next != "" {
		p.put(" <code>%s</code>", p.text(c.Next))
	}
	p.put("</p></article>\n")
}

func (p *writer) waterfall(f *Waterfall) {
	steps := f.Steps[:min(len(f.Steps), maxSteps)]
	end := f.Max
	for i := range steps {
		end = max(end, steps[i].To, steps[i].From)
	}
	if !(end > 0) {
		return
	}
	p.put("<figure><figcaption>%s", p.text(f.Label))
	if f.Total != "" {
		p.put(" <b>%s</b>", p.text(f.Total))
	}
	p.put("</figcaption>\n<ol class=\"fall\">\n")
	var used [numKinds]bool
	for i := range steps {
		s := &steps[i]
		used[s.Kind] = true
		x, w := 100*max(s.From, 0)/end, max(100*(s.To-s.From)/end, .2)
		p.put(`<li title="%s"><span>%s</span><svg aria-hidden="true"><rect class="%s" x="%s%%" width="%s%%" height="16"/></svg><b>%s</b></li>`,
			p.text(s.Detail), p.text(s.Name), markup(kinds[s.Kind].class), markup(number(x)), markup(number(w)), p.text(s.Value))
		p.put("\n")
	}
	p.put("</ol>\n<ul class=\"legend\">")
	for k, u := range used {
		if u {
			p.put("<li>%s%s</li>", dot(kinds[k].class), kinds[k].name)
		}
	}
	p.put("</ul>")
	if f.Text != "" {
		p.put("<p class=\"notes\">%s</p>", p.rich(f.Text))
	}
	p.put("</figure>\n")
}

// plots writes small charts: a path for columns, one for those that are marked. Of more columns than there is room for
// the largest of neighbours are drawn.
func (p *writer) plots(list []Plot) {
	p.put("<div class=\"plots\">\n")
	for i := range list {
		f := &list[i]
		most, join := 0.0, (len(f.Values)+maxColumns-1)/maxColumns
		for _, v := range f.Values {
			most = max(most, v)
		}
		if !(most > 0) {
			continue
		}
		var paths [2]strings.Builder
		for k := 0; k < len(f.Values); k += join {
			end := min(k+join, len(f.Values))
			marked := 0
			if k < f.Mark+f.Marked && end > f.Mark {
				marked = 1
			}
			if h := 40 * slices.Max(f.Values[k:end]) / most; h > 0 {
				fmt.Fprintf(&paths[marked], "M%d 40v-%sh%sv%sz", k, number(h), number(.88*float64(end-k)), number(h))
			}
		}
		p.put(`<figure class="plot"><figcaption>%s</figcaption><svg viewBox="0 0 %d 40" preserveAspectRatio="none" role="img" aria-label="%s"><path class="whole" d="%s"/><path class="win" d="%s"/></svg><p>%s</p></figure>`,
			p.text(f.Title), len(f.Values), p.text(f.Title)+": "+p.text(f.Text), markup(paths[0].String()),
			markup(paths[1].String()), p.rich(f.Text))
		p.put("\n")
	}
	p.put("</div>\n")
}

// heatSteps are the colours of a layer picture: up to a ratio to the median. The middle one is within 5 %.
var heatSteps = [...]struct {
	below float64
	name  string
}{{.6, "< 0.60×"}, {.8, "0.60–0.80×"}, {.95, "0.80–0.95×"}, {1.05, "0.95–1.05×"}, {1.25, "1.05–1.25×"},
	{1.6, "1.25–1.60×"}, {2.5, "1.60–2.50×"}, {math.Inf(1), "> 2.50×"}}

// heat writes one path a colour: a rectangle each would be twenty times the bytes.
func (p *writer) heat(h *Heat) {
	columns := min(len(h.Columns), maxLayers)
	if columns == 0 || len(h.Rows) == 0 {
		return
	}
	paths := make([]strings.Builder, len(heatSteps)+1) // the last is of those without a median
	for r := range h.Rows {
		for c := range columns {
			if h.NS[r][c] == 0 {
				continue
			}
			i := len(heatSteps)
			if ratio := h.Ratio[r][c]; ratio > 0 {
				for i = 0; ratio > heatSteps[i].below; i++ {
				}
			}
			if i == len(heatSteps) { // lines across
				fmt.Fprintf(&paths[i], "M%d %d.9l.94-.9M%d %d.45l.47-.45M%d.47 %d.9l.47-.45", c, r, c, r, c, r)
				continue
			}
			fmt.Fprintf(&paths[i], "M%d %dh.94v.9h-.94z", c, r)
		}
	}
	p.put("<figure class=\"heat\"><figcaption>%s</figcaption>\n<div class=\"heatbox\"><ul>", p.prose(h.Text))
	for _, r := range h.Rows {
		p.put("<li><button type=\"button\" class=\"find\" data-find=\"%s\">%s</button></li>", p.text(r), p.text(r))
	}
	p.put("</ul><svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"%s. %s\" "+
		"data-rows=\"%d\">", columns, len(h.Rows), p.text(h.Label), p.prose(h.Text), len(h.Rows))
	for i := range paths {
		if paths[i].Len() > 0 {
			class := "h" + strconv.Itoa(i)
			if i == len(heatSteps) {
				class = "across"
			}
			p.put(`<path class="%s" d="%s"/>`, markup(class), markup(paths[i].String()))
		}
	}
	p.put("</svg></div><ol aria-hidden=\"true\"><li>layer %s</li><li>layer %s</li></ol>\n<ul class=\"legend\">",
		p.text(h.Columns[0]), p.text(h.Columns[columns-1]))
	for i, step := range heatSteps {
		p.put("<li>%s%s</li>", dot("h"+strconv.Itoa(i)), step.name)
	}
	if paths[len(paths)-1].Len() > 0 {
		p.put("<li>%s%s</li>", dot("unknown"), "fewer than three layers to compare with")
	}
	p.put("</ul>\n")
	p.heatRows(h, columns)
	p.put("</figure>\n")
}

// heatRows lists the cells as a folded table, for reading and for screen readers.
func (p *writer) heatRows(h *Heat, columns int) {
	t := Table{Caption: "Layers and operators in numbers", Folded: true,
		Columns: []Column{Text("Operator"), Number("Layers"), Number("Least"), Number("Most"), Text("Most, in layer"),
			Number("Most, × median")}}
	for r, name := range h.Rows {
		least, most, at, n := int64(0), int64(0), 0, 0
		for c := range columns {
			v := h.NS[r][c]
			if v == 0 {
				continue
			}
			n++
			if least == 0 || v < least {
				least = v
			}
			if v > most {
				most, at = v, c
			}
		}
		ns := func(v int64) Cell { return Cell{Text: table.Duration(time.Duration(v)), Sort: float64(v)} }
		ratio := Cell{Text: table.None, Sort: -1}
		if v := h.Ratio[r][at]; v > 0 {
			ratio = Cell{Text: table.Fixed(v, 2), Sort: v}
		}
		t.Add(name, Cell{Text: strconv.Itoa(n), Sort: float64(n)}, ns(least), ns(most), h.Columns[at], ratio)
	}
	p.table(&t, "heat-"+anchor(h.Label))
}

// dot is a square of a colour's class.
func dot(class string) markup {
	return markup(`<svg class="dot" viewBox="0 0 10 10" aria-hidden="true"><rect class="` + class +
		`" width="10" height="10"/></svg>`)
}
