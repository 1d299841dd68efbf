// Package page writes results as one HTML file that needs nothing else: no network,
// no other file, no server. Programs and importers share it, so that each page
// has the same parts: a verdict, a timeline of what ran on the GPU, cards of findings,
// a waterfall of a step, a picture of its layers, and tables.
//
// A caller describes a page ([Page]); [FromDevice] and [FromLayers] draw an analysed
// GPU. Texts come from traces, that is from anywhere: one function writes elements,
// and it escapes every text that it is given; the script puts texts into text nodes and
// onto the canvas only. The content security policy allows exactly the embedded style
// and scripts, by their hashes, so that even a hole in the escaping could neither run
// code nor reach the network.
//
// Without a script the page has all tables, cards, waterfalls and a still picture of
// the timeline. Links lead into the page or to the Perfetto UI, and nowhere else.
//
// Size is bounded: tables, timelines and texts are cut at limits and say so.
package page
