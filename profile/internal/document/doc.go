// Package document reads JSON objects field by field: configs, profiles and
// server arguments. An error names the field as the document calls it.
package document
