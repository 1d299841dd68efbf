package page

import (
	"fmt"

	"github.com/llmstrata/strata/trace"
)

// Limits of what a page shows. They keep a page below some megabytes whatever the trace
// holds; what is left out is counted in the page.
const (
	maxRows   = 600  // rows of a table: measured 0.4 kB each with a long kernel name
	foldedAt  = 4    // rows below which a remainder is not worth folding
	maxNotes  = 40   // remarks
	maxText   = 240  // characters of a line of a cell, or of a label
	maxLines  = 8    // lines of a cell
	maxName   = 4000 // characters of a name that is shown whole
	maxCards  = 40   // findings
	topCards  = 5    // findings that are cards; the others are a list
	maxSteps  = 80   // bars of a waterfall: more operators than any public model has
	maxLayers = 400  // columns of a layer picture

	maxColumns = 800 // of a small chart

	maxFolded   = 40    // lines of a cell that are folded
	otherColour = "c16" // of categories without a colour of their own
)

// Page is what is shown, from top to bottom.
type Page struct {
	Title   string // what was analysed
	Program string // what wrote the page
	Verdict string // the result in one sentence; the page's heading
	// Figures are the few numbers below the verdict, Context is the setting: framework, model, GPU.
	Figures []Figure
	Context []string
	Health  Health
	Notes   []string // remarks for people
	// Colours gives names of tables and waterfalls the colours of the timeline, as CSS variables.
	Colours  map[string]string
	Sections []Section
	// Served says that the server of the page answers its script at "details": see [Timeline.WriteData]. Other pages
	// ask for nothing.
	Served bool
	// Inputs are paths of what was read; see [WithPaths].
	Inputs []string
}

// Figure is a number with its name: "7.51 ms" "a step".
type Figure struct{ Value, Name string }

// Health says how far the figures can be trusted.
type Health struct {
	Status   trace.HealthStatus
	Coverage string // how much of the recording is explained; may be empty
	Findings []Remark
}

// Remark is one thing that is wrong with the input.
type Remark struct{ Code, Message string }

// Section is one part of the page. Its parts are shown in the order of the fields; those
// that are empty are left out.
type Section struct {
	ID        string // what links name it by; empty for a number
	Title     string
	Text      string // a paragraph below the heading; may be empty
	Timelines []*Timeline
	Cards     []Card
	Falls     []Waterfall
	Plots     []Plot
	Heats     []*Heat
	Tables    []Table
}

// Card is a finding: what the problem is, what it costs, what shows it, and what to do.
type Card struct {
	Title string
	Gain  string  // "up to 1.26 ms per step (7.4%)"; empty for a finding without a size
	Size  float64 // for the bar, in any unit that is the same for all cards
	// Wins says that Gain can be won; otherwise it is what something takes.
	Wins     bool
	Evidence string
	Doubt    string // its confidence; may be empty
	Fix      string // what to do; empty where nothing is known
	Next     string // a command that shows more
	Where    string // the place in words; may be empty
}

// Waterfall is where a time goes: steps that add up, each beginning where the one above ends.
type Waterfall struct {
	Label string // what it shows, for people who cannot see it
	Total string // of all steps; may be empty
	Text  string // what is to be known of it; may be empty
	Max   float64
	Steps []Step
}

// Kind is what a step of a waterfall is, and so its colour.
type Kind uint8

// The kinds of steps.
const (
	Must    Kind = iota // has to be
	Win                 // a possible gain
	Unknown             // nothing says how much of it has to be
	Idle                // the GPU does nothing
	Alone               // communication that nothing hides
	Whole               // what others are compared with
	Slower              // more than in the other run
	Faster              // less than in the other run
	numKinds
)

// kinds names the kinds in legends.
var kinds = [numKinds]struct{ class, name string }{
	{"must", "has to be"}, {"win", "above the floor"}, {"unknown", "no floor known"}, {"idle", "GPU idle"},
	{"alone", "exposed communication"},
	{"whole", "whole step"}, {"win", "slower"}, {"must", "faster"},
}

// Step is one bar.
type Step struct {
	Name, Value, Detail string
	Kind                Kind
	From, To            float64
}

// Plot is one of several small charts beside one another: a column a value, of ranks or runs or steps.
type Plot struct {
	Title, Text string
	Values      []float64
	// Mark is the first column that is set apart, of Marked ones; Marked 0: none.
	Mark, Marked int
}

// Heat is a picture of values against their median: rows are operators, columns layers.
type Heat struct {
	Label, Text string
	Rows        []string
	Columns     []string
	NS          [][]int64   // by row and column; 0 for none
	Ratio       [][]float64 // to the median; 0 where there is none
}

// Table is a table that can be sorted by each column.
type Table struct {
	Caption string
	Columns []Column
	Rows    []Row
	// Search adds a field that filters rows by words in any of their cells.
	Search bool
	// Folded shows only the caption until it is opened. FoldAfter folds the rows after the first so many; 0: none.
	Folded    bool
	FoldAfter int
	// Hidden counts rows that the caller left out.
	Hidden int
}

// Row is a row of a table.
type Row []Cell

// Add appends a row. What is no [Cell] is shown as a text.
func (t *Table) Add(cells ...any) {
	row := make(Row, len(cells))
	for i, c := range cells {
		cell, ok := c.(Cell)
		if !ok {
			cell.Text = fmt.Sprint(c)
		}
		row[i] = cell
	}
	t.Rows = append(t.Rows, row)
}

// Column describes one column of a [Table].
type Column struct {
	Title   string
	Help    string // shown on hovering over the title
	Numeric bool
	Code    bool // set in a fixed-width font and broken after its punctuation
	Prose   bool // sentences: wide enough to read
}

// Text is a column of texts.
func Text(title string) Column { return Column{Title: title} }

// Code is a column of names of code.
func Code(title string) Column { return Column{Title: title, Code: true} }

// Prose is a column of sentences.
func Prose(title string) Column { return Column{Title: title, Prose: true} }

// Number is a column of numbers.
func Number(title string) Column { return Column{Title: title, Numeric: true} }

// Cell is one cell of a [Table].
type Cell struct {
	Text string
	// Lines are shown below Text, or alone, one under the other; Folded ones once Text is opened.
	Lines  []string
	Folded bool
	// Hover is shown while the pointer rests on the cell: the whole of what Text shortens.
	Hover string
	// Sort is the value by which numeric columns are ordered.
	Sort float64
	// Bar is the length of a bar below the number, 0 to 1.
	Bar float64
	// Series shows the colour of the name in Text.
	Series bool
	// Strong is set in bold.
	Strong bool
	// Href leads to the Perfetto UI. Find searches the timeline for a text instead.
	Href string
	Find string
}
