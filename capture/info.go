package capture

import (
	"encoding/json"
	"strings"
)

// ServerArgsFile is the name of the document with the server's information
// that [Run] leaves beside the traces; triage and profile read it there.
const ServerArgsFile = "server_args.json"

// ServerInfo is what a server says of itself.
type ServerInfo struct {
	// Endpoint is where it said so.
	Endpoint string `json:"endpoint,omitempty"`
	Model    string `json:"model,omitempty"`
	Version  string `json:"version,omitempty"`
	// Sizes of the parallel dimensions, 0 when not said.
	TP int `json:"tp_size,omitempty"`
	PP int `json:"pp_size,omitempty"`
	DP int `json:"dp_size,omitempty"`
	EP int `json:"ep_size,omitempty"`
	// Note says what could not be learnt, "" for nothing.
	Note string `json:"note,omitempty"`
	// Expected are the processes that write a trace each, nil when unknown.
	Expected []Rank `json:"-"`
	// Document is the whole answer, secrets blotted out.
	Document map[string]any `json:"-"`
}

// file renders server_args.json.
func (in ServerInfo) file() ([]byte, error) {
	b, err := json.MarshalIndent(in.Document, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// secretKeys are parts of field names whose values do not belong into a file
// that people share: SGLang's /server_info lists its own API keys.
var secretKeys = []string{"api_key", "apikey", "password", "secret", "auth_token", "access_token", "hf_token", "credential"}

// redact returns v with the values of secret fields replaced. Depth is that of
// a decoded document, which encoding/json bounds.
func redact(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if s, ok := e.(string); ok && s != "" && isSecret(k) {
				out[k] = "(removed)"
				continue
			}
			out[k] = redact(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = redact(e)
		}
		return out
	}
	return v
}

func isSecret(key string) bool {
	k := strings.ToLower(key)
	for _, s := range secretKeys {
		if strings.Contains(k, s) {
			return true
		}
	}
	return false
}

// firstString is the first of keys with a string that is not empty.
func firstString(doc map[string]any, keys ...string) string {
	for _, k := range keys {
		if s, ok := doc[k].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// intField is a whole number, 0 for anything else.
func intField(doc map[string]any, key string) int {
	if f, ok := doc[key].(float64); ok && f >= 0 && f <= 1<<20 && f == float64(int(f)) {
		return int(f)
	}
	return 0
}
