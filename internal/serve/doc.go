// Package serve hands one trace file to one page of the Perfetto UI, once, over
// a server on the loopback interface. It is apart from package perfetto so
// that those who only make links and files do not link an HTTP server.
package serve
