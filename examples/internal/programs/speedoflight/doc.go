// Package speedoflight is the program speed-of-light, which says what each forward pass should take on its GPU, and
// where the rest of its time goes; without a trace it plans.
package speedoflight
