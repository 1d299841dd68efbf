package profile

import "errors"

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
)
