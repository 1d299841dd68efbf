package layer

import "github.com/llmstrata/strata/trace"

// ParseBoundaries is parseBoundaries.
var ParseBoundaries = parseBoundaries

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

// StepEnds says where the steps of passes end.
func StepEnds(passes []ForwardPass) []trace.Time {
	d := &Device{Passes: passes}
	d.findStepEnds()
	return d.stepEnds
}

// Window is the time that the device's slices cover: from the start of its first activity to the end of its last.
func (d *Device) Window() (start, end trace.Time) {
	for i := range d.columns.pass {
		e := d.event(int32(i))
		if i == 0 {
			start, end = e.Start(), e.End()
		}
		end = max(end, e.End())
	}
	return start, end
}
