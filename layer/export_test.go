package layer

// LayoutOf is layoutOf for tests of the engine below it.
var LayoutOf = layoutOf

// NumberSteps numbers the steps of devices with these passes.
func NumberSteps(devices ...[]ForwardPass) {
	a := &Analysis{}
	for _, passes := range devices {
		a.Devices = append(a.Devices, Device{Passes: passes})
	}
	a.numberSteps()
}
