// Package secret keeps keys and passwords out of what a program prints and
// writes: values it was given itself, and what servers echo.
package secret
