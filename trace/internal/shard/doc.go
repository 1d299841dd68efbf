// Package shard makes columns of the events of one piece of a Kineto file. Each
// worker of scan.Parallel numbers names, threads and queues for itself, in tables
// that live as long as the load, and writes events into the columns of a shard, one
// shard per piece of the file. Who commits the shards, in file order, translates a
// worker's numbers into those of the trace and appends. Numbers of the trace are
// given in the order of the committed rows, so neither ids nor anything else
// depends on which worker read what.
//
// A worker's tables are only touched by that worker; what is new in them travels in
// the shard ([Fresh]), because who commits runs beside the workers.
package shard
