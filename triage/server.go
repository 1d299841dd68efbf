package triage

// Server is what a server said about itself, in server_args.json or over HTTP.
type Server struct {
	Framework string // "" when unknown
	Model     string
	TPSize    int // 0 when unknown
}
