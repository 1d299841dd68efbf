// Package rendezvous says whether two GPUs exchange data with one another: by the times at which their collectives end.
package rendezvous
