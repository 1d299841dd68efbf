// Package layertimeline is the program layer-timeline, which shows the forward passes of a trace and, for one of
// them, what each layer and each type of layer costs.
package layertimeline
