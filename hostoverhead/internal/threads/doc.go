// Package threads tells which threads of a trace work for which GPUs.
package threads
