package app

import (
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/internal/page"
)

// Page is where a program writes its page for browsers: the flags --html, --open and --full-paths, the same in all
// programs that have them.
type Page struct {
	path        string
	open, paths bool
}

// Flags defines --html, --open and --full-paths.
func (p *Page) Flags(fs *flag.FlagSet) {
	OutputFile(fs, &p.path, "html", "`FILE`: also write a self-contained HTML page")
	fs.BoolVar(&p.open, "open", false, "open the page in a browser")
	fs.BoolVar(&p.paths, "full-paths", false, "keep full paths in the --html page (default: file names only)")
}

// OpenPage is a page that is opened and not kept.
func OpenPage() Page { return Page{open: true} }

// Wanted reports whether a page is written.
func (p *Page) Wanted() bool { return p.path != "" || p.open }

// To returns the writer of the page's bytes into w.
func (p *Page) To(w io.Writer) io.Writer {
	if p.paths {
		return page.WithPaths(w)
	}
	return w
}

// WriteHTML writes the page, all or nothing, and says where, where one is wanted.
func (e *Env) WriteHTML(p *Page, write func(io.Writer) error) error {
	switch {
	case p.Wanted():
	case p.paths && e.Format != HTML:
		return Usagef("--full-paths is of the page: add --html FILE or --open")
	default:
		return nil
	}
	path := p.path
	if path == "" {
		dir, err := os.MkdirTemp("", "strata-")
		if err != nil {
			return fmt.Errorf("html: %w", err)
		}
		path = filepath.Join(dir, filepath.Base(e.TraceName())+".html")
	}
	if err := atomicfile.Write(path, fileMode, func(w io.Writer) error { return write(p.To(w)) }); err != nil {
		return fmt.Errorf("html: %w", err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("html: %w", err)
	}
	address := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(abs), "/")}
	if !p.open || !e.Browse(FindBrowser(), address.String()) {
		e.Notef("wrote %s; open it in any browser", path)
	}
	return nil
}

// Browser is what opens pages on the computer that a program runs on.
type Browser struct {
	Open func(url string) error // opens a web browser; nil where there is none
	SSH  string                 // the computer's address, where the user came by SSH
}

// FindBrowser returns the browser of this computer.
func FindBrowser() Browser {
	command := openers[runtime.GOOS]
	if command == nil {
		// Without a display the tool would start a text browser, or wait.
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return Browser{SSH: sshAddress(os.Getenv("SSH_CONNECTION"))}
		}
		command = []string{"xdg-open"}
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return Browser{}
	}
	return Browser{Open: func(url string) error { return exec.Command(path, append(command[1:], url)...).Run() }}
}

// openers are the commands that open a web page, of systems without X or Wayland.
var openers = map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}

// sshAddress is the address of this machine in SSH_CONNECTION, which has the client's address and port and then the
// server's; "" without one.
func sshAddress(connection string) string {
	f := strings.Fields(connection)
	if len(f) != 4 {
		return ""
	}
	return f[2]
}

// Browse opens a page and reports whether a browser was started.
func (e *Env) Browse(b Browser, url string) bool {
	if b.Open == nil {
		return false
	}
	if err := b.Open(url); err != nil {
		e.Notef("no browser could be started: %v", err)
		return false
	}
	e.Notef("opened %s", url)
	return true
}
