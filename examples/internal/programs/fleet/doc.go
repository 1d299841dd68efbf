// Package fleet is the programs digest and fleet: what the ranks of many recordings leave, and what they tell together.
package fleet
