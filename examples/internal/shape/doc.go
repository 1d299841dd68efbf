// Package shape cuts JSON documents to what a reader has room for. What is left out is said in the document.
package shape
