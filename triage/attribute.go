package triage

import "context"

// attribute gives replayed activities the source of the kernel they stand for.
func (a *analysis) attribute(ctx context.Context) error { return ctx.Err() }
