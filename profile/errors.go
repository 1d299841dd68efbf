package profile

import (
	"errors"

	"github.com/llmstrata/strata/profile/internal/document"
)

// An error about what is wrong in a profile, a config or server arguments reads
// "profile: config PATH: FIELD: reason".
var (
	// errSyntax is wrapped when a document is not one JSON object.
	errSyntax = document.ErrSyntax
	// errLimit is wrapped when a document is larger, deeper or claims more than
	// the package accepts.
	errLimit = document.ErrLimit
	// errNotConfig is wrapped when a JSON object holds none of the fields a
	// model's config.json has.
	errNotConfig = errors.New("not a model config")
	// ErrNoConfig is wrapped by FindConfig when no config.json was found.
	ErrNoConfig = errors.New("no config.json found")
	// errUnknownProfile is wrapped when a profile name is neither built in nor a
	// file.
	errUnknownProfile = errors.New("unknown profile")
)
