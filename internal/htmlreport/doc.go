// Package htmlreport writes results as one HTML file that needs nothing else:
// no network, no other file, no server. It holds charts as SVG, tables that can
// be sorted and filtered, and the style for screens, dark and light, and paper.
//
// The caller describes what to show ([Report]); nothing here knows a trace.
// Texts come from traces, that is from anywhere: html/template escapes each for
// the place it stands in, and the page's content security policy allows only
// the scripts that were embedded here, so that even a hole in the escaping
// could neither run code nor reach the network.
//
// Charts are rectangles computed here and drawn by the template. The page
// works without JavaScript; with it tables sort (assets/sortable.min.js, an
// embedded public-domain library) and filter (assets/filter.js).
//
// Size is bounded: tables, charts and texts are cut at limits (see the
// constants) and say so.
package htmlreport
