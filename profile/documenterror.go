package profile

import (
	"errors"
	"strings"
)

// An error about what is wrong in a profile, a config or server arguments reads
// "profile: config PATH: FIELD: reason".
var (
	// errNotConfig is wrapped when a JSON object holds none of the fields a
	// model's config.json has.
	errNotConfig = errors.New("not a model config")
	// ErrNoConfig is wrapped by FindConfig when no config.json was found.
	ErrNoConfig = errors.New("no config.json found")
	// errUnknownProfile is wrapped when a profile name is neither built in nor a
	// file.
	errUnknownProfile = errors.New("unknown profile")
	// errSyntax is wrapped when a document is not one JSON object.
	errSyntax = errors.New("not a JSON object")
	// errLimit is wrapped when a document is larger, deeper or claims more than
	// is accepted.
	errLimit = errors.New("over a limit")
)

// documentError says what is wrong in a profile or config document, and where.
type documentError struct {
	// Doc is the kind of document: "config", "profile" or "server_args".
	Doc string
	// Path is the file, empty when the document came from a reader.
	Path string
	// Field is the field, with indices, as the document calls it:
	// "num_hidden_layers", "rules[3].patterns[0]". Empty for the document itself.
	Field string
	// Err is the reason.
	Err error
}

// Error renders "profile: config PATH: FIELD: reason".
func (e *documentError) Error() string {
	var b strings.Builder
	b.WriteString("profile: ")
	b.WriteString(e.Doc)
	if e.Path != "" {
		b.WriteString(" " + e.Path)
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field)
	}
	b.WriteString(": ")
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap returns the reason.
func (e *documentError) Unwrap() error { return e.Err }

// located fills in the file of a documentError that came from a reader.
func located(err error, path string) error {
	var e *documentError
	if errors.As(err, &e) && e.Path == "" {
		c := *e
		c.Path = path
		return &c
	}
	return err
}
