// Package threads finds which threads of a trace work for which GPUs.
package threads
