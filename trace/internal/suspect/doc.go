// Package suspect finds what GPU activities can not be, taken together, although each
// for itself may.
package suspect
