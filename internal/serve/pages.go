package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// Pages answers browsers of this machine with a handler until the context ends. ready is given the address of the first
// page. The address has a part that nobody can guess: other users and other pages do not find what is served.
func Pages(ctx context.Context, h http.Handler, ready func(url string)) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	path := "/" + rand.Text() + "/"
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !loopbackHost(ln, r.Host): // a name elsewhere that leads to this machine (DNS rebinding)
			http.Error(w, "unknown host", http.StatusForbidden)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		default:
			w.Header().Set("X-Content-Type-Options", "nosniff")
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
			http.StripPrefix(path[:len(path)-1], h).ServeHTTP(w, r)
		}
	})
	server := &http.Server{Handler: guarded, ReadHeaderTimeout: headerTimeout}
	done := make(chan error, 1)
	go func() { done <- server.Serve(ln) }()
	ready("http://" + ln.Addr().String() + path)
	select {
	case <-ctx.Done():
		err = server.Close()
	case err = <-done:
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
