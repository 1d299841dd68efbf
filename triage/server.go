package triage

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Server is what a server said about itself, in server_args.json or over HTTP.
type Server struct {
	Framework string `json:"framework,omitempty"` // "" when unknown
	Model     string `json:"model,omitempty"`
	TPSize    int    `json:"tp_size,omitempty"` // 0 when unknown
}

// maxServerArgs bounds the size of a server_args.json; real ones have 20 kB.
const maxServerArgs = 4 << 20

// ReadServerArgs reads a server_args.json: the model is model_path, else model.
func ReadServerArgs(r io.Reader) (Server, error) {
	var args struct {
		ModelPath string `json:"model_path"`
		Model     string `json:"model"`
		Framework string `json:"framework"`
		TP        int    `json:"tp_size"`
		TPLong    int    `json:"tensor_parallel_size"`
	}
	data, err := io.ReadAll(io.LimitReader(r, maxServerArgs))
	if err != nil {
		return Server{}, err
	}
	if err := json.Unmarshal(data, &args); err != nil {
		return Server{}, fmt.Errorf("triage: server_args.json: %w", err)
	}
	s := Server{Model: args.ModelPath, TPSize: args.TP, Framework: nameOf(args.Framework)}
	if s.Model == "" {
		s.Model = args.Model
	}
	if s.TPSize == 0 {
		s.TPSize = args.TPLong
	}
	return s, nil
}

// findServer reads the server_args.json beside the traces or one directory
// above; none is no error.
func findServer(paths []string) (Server, error) {
	for _, p := range paths {
		for _, dir := range []string{filepath.Dir(p), filepath.Dir(filepath.Dir(p))} {
			r, err := os.Open(filepath.Join(dir, "server_args.json"))
			if err != nil {
				continue
			}
			s, err := ReadServerArgs(r)
			r.Close()
			if err != nil {
				return Server{}, fmt.Errorf("%s: %w", dir, err)
			}
			return s, nil
		}
	}
	return Server{}, nil
}
