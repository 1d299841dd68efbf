package capture

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// removed replaces a secret.
const removed = "(removed)"

// shortest is the least length of a value that is blotted out wherever it
// occurs: anything shorter would take pieces out of ordinary words.
const shortest = 4

// secrets are values that must not be shown.
type secrets []string

// Add remembers values, and the parts of those that have a scheme before the secret: "Bearer abc" is also abc.
func (s *secrets) Add(values ...string) {
	for _, v := range values {
		v = strings.TrimSpace(v)
		if _, after, ok := strings.Cut(v, " "); ok {
			s.Add(after)
		}
		if len(v) >= shortest && !slices.Contains(*s, v) {
			*s = append(*s, v)
		}
	}
	// The longest first: one value may be the beginning of another.
	slices.SortFunc(*s, func(a, b string) int { return len(b) - len(a) })
}

// telling are names of headers whose values are secrets, whatever they are.
var telling = regexp.MustCompile(`(?i)auth|key|token|secret|cookie|passw|credential|session`)

// longEnough is the least length of any other header's value for it to be blotted out: "true" and "application/json"
// carry no secret, and taking them out of every text would.
const longEnough = 20

// AddHeader remembers the values of all headers that may carry a secret.
func (s *secrets) AddHeader(h http.Header) {
	for k, vs := range h {
		for _, v := range vs {
			if telling.MatchString(k) || len(v) >= longEnough {
				s.Add(v)
			}
		}
	}
}

var (
	// userinfo is the part of an address before the @.
	userinfo = regexp.MustCompile(`(\w+://)[^/@\s"']+@`)
	// shaped are secrets that are known by their shape: a bearer token and the prefixes that issuers of keys use.
	shaped = regexp.MustCompile(`(?i)\b(?:bearer\s+[\w.~+/=-]{4,}|(?:sk|pk|hf|ghp|gho|nvapi|xox[a-z])[-_][\w-]{12,})`)
	// assigned are secrets after their name: --api-key X, api_key=X, "api_key": "X".
	assigned = regexp.MustCompile(`(?i)((?:[\w-]*(?:` + names + `)))(["']?\s*[:=]\s*["']?|\s+)([^\s"',;&}\]]+)`)
	secretly = regexp.MustCompile(`(?i)(?:^token|_token|` + names + `)$`)
)

// names end the names of fields and flags that hold secrets. "token" alone is
// one, "tokenizer" and "max_tokens" are not.
const names = `api[_-]?keys?|passw(?:or)?d|passphrase|secrets?|secret[_-]key|credentials?|authorization|(?:auth|access|hf|hub|bearer|refresh|session)[_-]?tokens?|private[_-]key|access[_-]key(?:[_-]id)?`

// noSecret are values of fields for secrets that are none, in JSON and in Python.
var noSecret = []string{removed, "null", "None"}

// Scrub returns text without secrets.
func (s secrets) Scrub(text string) string {
	for _, v := range s {
		text = strings.ReplaceAll(text, v, removed)
	}
	text = userinfo.ReplaceAllString(text, "${1}")
	text = shaped.ReplaceAllString(text, removed)
	return assigned.ReplaceAllStringFunc(text, func(m string) string {
		p := assigned.FindStringSubmatch(m)
		// A name followed by a word is prose unless it is written as a flag.
		if strings.TrimSpace(p[2]) == "" && !strings.HasPrefix(p[1], "-") || slices.Contains(noSecret, p[3]) {
			return m
		}
		return p[1] + p[2] + removed
	})
}

// Document returns a copy of a decoded JSON value in which the values of secret fields are replaced, also where the
// field is an argument in a command line, and all texts are scrubbed. Depth is the value's own, which its decoder
// bounds.
func (s secrets) Document(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if out[k] = s.Document(e); isName(k) && !empty(e) {
				out[k] = removed
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		hide := false // the argument before is a flag for a secret
		for i, e := range v {
			text, isText := e.(string)
			if out[i] = s.Document(e); hide && isText {
				out[i] = removed
			}
			hide = isText && strings.HasPrefix(text, "-") && !strings.Contains(text, "=") && isName(text)
		}
		return out
	case string:
		return s.Scrub(v)
	}
	return v
}

// vocabularyToken are names of tokens of a model, which are no secrets.
var vocabularyToken = regexp.MustCompile(`(?i)(eos|bos|pad)_token$`)

// isName reports whether a field or flag holds a secret.
func isName(k string) bool {
	return secretly.MatchString(k) && !vocabularyToken.MatchString(k)
}

// empty is a value that says that there is no secret, or how many there are.
func empty(v any) bool {
	switch v.(type) {
	case nil, bool, float64:
		return true
	}
	return v == ""
}
