package stat

// Mean is the arithmetic mean, 0 of nothing.
func Mean(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// Int is 1 for what holds and 0 for what does not: false is less than true, and true ones are counted.
func Int(holds bool) int {
	if holds {
		return 1
	}
	return 0
}
