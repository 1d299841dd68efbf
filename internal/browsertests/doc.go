// Package browsertests drives a real Chromium against what the library shows
// and serves to browsers. It is a module of its own so that importers of the
// library never see the browser driver among their dependencies.
//
// The tests need the chromium program (Debian's package of that name); without
// it they are skipped, loudly. Run them with
//
//	go -C internal/browsertests test ./...
package browsertests
