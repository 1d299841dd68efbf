package htmlreport

// Limits of what a page shows. They keep a page of a few tables below 1 MB
// whatever the trace holds; what is left out is counted in the page.
const (
	maxRows   = 600 // rows of a table: measured 0.4 kB each with a long kernel name
	maxNotes  = 40
	maxStacks = 160  // columns or bars of a chart: the deepest public models have 126 layers
	maxSpans  = 800  // rectangles of a strip, after neighbours were joined
	maxText   = 240  // characters of a line of a cell, or of a label
	maxLines  = 8    // of a cell
	maxSeries = 11   // colours that can still be told apart; further series share the last
	maxName   = 4000 // characters of a name that is shown whole
	maxNodes  = 2500 // of a tree: measured 0.2 kB each
	maxRects  = 1500 // of a flame graph

	lastColor  = 16 // of the fixed colours; further ones share it
	greySeries = 11 // what has no colour of its own
)

// Others is the series that adds up what has no colour of its own; it is grey.
const Others = "all others"

// Report is what a page shows, from top to bottom.
type Report struct {
	Title   string // what was analysed, as the page's heading
	Program string // what wrote the report
	Summary string // the result in one sentence; may be empty
	Facts   []Fact // what the header lists
	Health  Health
	Notes   []string // remarks for people
	// Colors are series whose colours are fixed, by their place: the same in all
	// reports, whatever else these show. Others get theirs in order of appearance.
	Colors   []string
	Sections []Section
	// Inputs are paths of what was read: the page is made to be sent, and shows no
	// folder of theirs that begins at the root.
	Inputs []string
}

// Fact is one entry of the header.
type Fact struct {
	Name, Value string
	Long        bool // a sentence: gets a line of its own
}

// Health says how far the figures can be trusted.
type Health struct {
	Status   string // ok, degraded, unusable
	Findings []Finding
}

// Finding is one thing that was wrong with the input.
type Finding struct{ Code, Severity, Message string }

// Section is one part of the page. Its parts are shown in the order of the
// fields; those that are nil are left out.
type Section struct {
	ID      string // what links name it by; empty for a number
	Title   string
	Text    string // a paragraph below the heading; may be empty
	Items   []Item
	Strip   *Strip
	Flame   *Flame
	Columns *Chart // stacked columns, one for each stack
	Shares  *Chart // bars of equal length, one for each stack
	Bars    []Bars // bars along one axis: waterfalls, shares
	Tree    []Node // opened level by level
	Tables  []Table
}

// Strip shows spans of time along one axis.
type Strip struct {
	Label string // what the strip shows, for people who cannot see it
	EndMS float64
	Spans []Span // by start
}

// Span is one rectangle of a Strip.
type Span struct {
	Label          string // shown in the rectangle where there is room
	Detail         string // shown on hovering
	Series         string // decides the colour
	StartMS, EndMS float64
	Marked         bool   // stands out
	Href           string // "#id" of what it leads to; may be empty
}

// Chart compares stacks of parts.
type Chart struct {
	Label  string   // what the chart shows, for people who cannot see it
	Unit   string   // of the parts, such as "ms"
	Series []string // the names of the parts
	Stacks []Stack
	// MarkName names the marks; empty where there are none.
	MarkName string
}

// Stack is one column or bar.
type Stack struct {
	Label  string
	Detail string    // shown on hovering, before the parts
	Parts  []float64 // parallel to Chart.Series; negative or non-finite ones count as 0
	Mark   float64   // a value drawn as a line across the column, with MarkName
	// Base is where a column begins: one of a waterfall hangs in the air.
	Base float64
}

// Table is a table that can be sorted by every column.
type Table struct {
	Caption string
	Columns []Column
	Rows    [][]Cell
	// RowIDs are what links name rows by, one a row; may be empty.
	RowIDs []string
	// Search adds a field that filters rows by words in any of their cells.
	Search bool
	// Folded shows only the caption until it is opened.
	Folded bool
	// Hidden counts rows that the caller left out.
	Hidden int
}

// Column describes one column of a Table.
type Column struct {
	Title   string
	Numeric bool
	Code    bool // set in a fixed-width font and broken after its punctuation
	Whole   bool // names are not cut
	Prose   bool // sentences: wide enough to read
	Filter  bool // adds a choice among the column's values
}

// Cell is one cell of a Table.
type Cell struct {
	Text string
	// Lines stand below Text, or alone, one under the other.
	Lines []string
	// Hover is shown while the pointer rests on the cell: the whole of what Text shortens.
	Hover string
	// Sort is the value by which numeric columns are ordered.
	Sort float64
	// Series shows the colour of the series named by Text.
	Series bool
	// Strong stands out.
	Strong bool
	// Href leads somewhere: "#id", or to the Perfetto UI.
	Href string
}

// Item is one entry of a numbered list of findings.
type Item struct {
	ID    string
	Size  string // stands first and stands out
	Text  string
	Lines []Line
}

// Line is a named line of an [Item].
type Line struct {
	Name, Text string
	Code       bool
	Href       string // "#id" or a link to the Perfetto UI; may be empty
}

// Node is a part of a tree that is opened level by level.
type Node struct {
	ID       string // what links name it by; may be empty
	Title    string
	Href     string // where the title leads; may be empty
	Code     bool   // the title is a name of code
	Series   string // decides the colour of its dot; "" for none
	Cells    []string
	Links    []Line // further links, by Text and Href
	Open     bool
	Children []Node
}

// Flame is a graph of parts that stand on their wholes.
type Flame struct {
	Label string
	Unit  string
	Roots []Frame
}

// Frame is a part of a [Flame]. The values of its children add up to at most
// its own.
type Frame struct {
	Name     string
	Value    float64
	Series   string
	Children []Frame
}
