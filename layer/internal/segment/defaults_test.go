package segment

import "testing"

// TestWhatConfidencesAre: users see these numbers, and the documentation explains them.
func TestWhatConfidencesAre(t *testing.T) {
	for field, want := range map[string]float64{
		"CapFront": 0.5, "CapUnlike": 0.795, "CapForeign": 0.795, "CapOutside": 0.75, "CapSingle": 0.95, "CapGuess": 0.92, "CapUneven": 0.6, "CapBare": 0.95, "CapNameless": 0.799,
		"CapUnstarted": 0.899, "CapDamaged": 0.795, "CapUnplaced": 0.899, "CapLost": 0.1, "CapBack": 0.97, "CapParts": 0.795, "CapSeveral": 0.795, "CapMiscounted": 0.795,
		"ConfidenceWhole": 0.3, "ConfidenceOneStack": 0.95, "ConfidenceStructure": 0.995, "ConfidenceGraph": 0.995, "ConfidenceLoose": 0.985, "ConfidenceProfilerStep": 0.9,
		"ConfidenceAnchor": 0.97, "ConfidenceRepeat": 0.96, "ConfidenceAlike": 0.035, "ConfidenceOpen": 0.1, "ConfidenceReference": 0.985, "ConfidenceBothEnds": 0.4, "ConfidenceFragment": 0.96,
	} {
		if got := valueOf(field); got != want {
			t.Errorf("%s is %v, want %v", field, got, want)
		}
	}
}
