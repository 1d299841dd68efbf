package capture

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestScrub: values that are known, shapes and names of secrets, and text that
// looks a little like them.
func TestScrub(t *testing.T) {
	var s secrets
	s.AddHeader(http.Header{"X-Api-Key": {"abcd"}, "Authorization": {"Bearer zyx-987"}, "X-Debug": {"true"},
		"X-Short-Key": {"ab"}})
	for in, want := range map[string]string{
		"got abcd":                             "got (removed)",
		"zyx-987 alone":                        "(removed) alone",
		"it is true, ab":                       "it is true, ab",
		"Bearer eyJhbGciOi.x.y denied":         "(removed) denied",
		"sk-proj-12345678 and hf_AbCdEfGhIjKl": "(removed) and (removed)",
		"http://me:word@host:1/v1 says no":     "http://host:1/v1 says no",
		"serve --api-key qqq --port 8000":      "serve --api-key (removed) --port 8000",
		"serve --api-key=qqq --port 8000":      "serve --api-key=(removed) --port 8000",
		`{"hf_token": "qqq", "tp": 1}`:         `{"hf_token": "(removed)", "tp": 1}`,
		"the api key is missing":               "the api key is missing",
		"max_tokens=64 tokenizer: org/tok":     "max_tokens=64 tokenizer: org/tok",
		"api_key=None password=null":           "api_key=None password=null",
		"a secret word, no credential at all":  "a secret word, no credential at all",
	} {
		if got := s.Scrub(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestDocument: fields, nested ones, and arguments in a list.
func TestDocument(t *testing.T) {
	in := map[string]any{
		"api_key": "q", "admin_api_key": "", "hf_token": "q", "eos_token": "</s>", "bos_token": "<s>",
		"max_tokens": 3.0, "tokenizer_path": "org/tok",
		"keys": map[string]any{"api_keys": []any{"q", "r"}, "password": nil, "num_secrets": 2.0},
		"argv": []any{"serve", "--api-key", "q", "--port", "8000", "--ssl-key", "x", 7.0},
	}
	want := map[string]any{
		"api_key": removed, "admin_api_key": "", "hf_token": removed, "eos_token": "</s>",
		"bos_token": "<s>", "max_tokens": 3.0, "tokenizer_path": "org/tok",
		"keys": map[string]any{"api_keys": removed, "password": nil, "num_secrets": 2.0},
		"argv": []any{"serve", "--api-key", removed, "--port", "8000", "--ssl-key", "x", 7.0},
	}
	if d := cmp.Diff(want, secrets{}.Document(in)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
