// Package documents makes the JSON Schemas of all documents from their Go types, in its tests.
package documents
