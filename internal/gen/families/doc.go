// Package families holds the orders of kernels of many kinds of models, written down from the public sources of
// servers and models, to try on them what finds passes and layers.
package families
