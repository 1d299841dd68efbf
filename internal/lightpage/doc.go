// Package lightpage shows what passes should take as sections of a page for browsers: a waterfall for each stage, a bar for each operator, what a
// token costs. All pages that hold a speed-of-light report have it from here.
package lightpage
