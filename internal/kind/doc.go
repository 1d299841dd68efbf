// Package kind numbers the kinds and lanes of events, and knows which category of
// a Kineto file is which. Package trace gives the numbers their types and says
// what they mean.
package kind
