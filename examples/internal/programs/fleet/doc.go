// Package fleet is the programs digest and fleet: digests of the ranks of many recordings, and what they show together.
package fleet
