// Package htmlreport writes results as one HTML file that needs nothing else:
// no network, no other file, no server. It holds charts as SVG, tables that can
// be sorted and filtered, and the style for screens, dark and light, and paper.
//
// The caller describes what to show ([Report]); nothing here knows a trace.
// Texts come from traces, that is from anywhere: one function writes elements,
// and it escapes every text it is given. The page's content security policy
// allows only the scripts that were embedded here, so that even a hole in the
// escaping could neither run code nor reach the network. (Package html/template
// would do the same, and keeps every exported method of a program that links
// it: two megabytes.)
//
// Charts are rectangles computed here. The page works without JavaScript; with
// it tables sort (assets/sort.js) and filter (assets/filter.js). Links lead into
// the page or to the Perfetto UI, and nowhere else.
//
// Size is bounded: tables, charts and texts are cut at limits (see the
// constants) and say so.
package htmlreport
