package browsertests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// npm is the path of a file of a development dependency; the test is skipped where it is not installed.
func npm(t *testing.T, path ...string) string {
	t.Helper()
	file := filepath.Join(append([]string{"node_modules"}, path...)...)
	if _, err := os.Stat(file); err != nil {
		t.Skip("SKIPPED: run npm ci in internal/browsertests to check accessibility and the types of the scripts")
	}
	return file
}

// TestScriptsHaveTypes: the scripts of the page pass the TypeScript compiler's strict checks.
func TestScriptsHaveTypes(t *testing.T) {
	scripts, err := filepath.Glob("../page/assets/*.js")
	if err != nil || len(scripts) < 3 {
		t.Fatal(scripts, err)
	}
	args := append([]string{npm(t, "typescript", "bin", "tsc"), "--allowJs", "--checkJs", "--strict", "--noEmit",
		"--noUnusedLocals", "--noUnusedParameters", "--target", "es2022", "--lib", "es2022,dom,dom.iterable"},
		scripts...)
	if out, err := exec.Command("node", args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestNoAccessibilityViolations: axe-core finds none on any page, wide and dark, and narrow and light.
func TestNoAccessibilityViolations(t *testing.T) {
	axe, err := os.ReadFile(npm(t, "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	names, pages := all(t)
	for _, command := range append(names, "sides") {
		address := pages[command]
		if address == "" {
			address = sides(t)
		}
		ctx := startBrowser(t)
		for theme, width := range map[string]int64{"dark": 1400, "light": 420} {
			if err := chromedp.Run(ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(address)); err != nil {
				t.Fatal(err)
			}
			evaluate[bool](ctx, t, string(axe)+"; true")
			found := evaluate[[]string](ctx, t, fmt.Sprintf(`(document.documentElement.setAttribute("data-theme", %q), axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}).then(r =>
				[String(r.passes.length), ...r.violations.map(v => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 120)).join(" | "))]))`, theme), awaited)
			if found[0] == "0" {
				t.Errorf("%s: axe-core checked nothing", command)
			}
			for _, v := range found[1:] {
				t.Errorf("%s, %d px, %s: %s", command, width, theme, v)
			}
		}
	}
}
