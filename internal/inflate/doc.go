// Package inflate decompresses gzip streams about twice as fast as the general
// decoders on profiler traces, in pure Go and on one core.
//
// Trace JSON compresses 10 to 20 times: nearly all of it is long copies of what
// was seen before, a few literals between them. What makes this decoder fast on
// such data, where each of it stands:
//
//   - bits are taken from a 64-bit buffer that one unaligned load fills (bits.go);
//   - one look into the table of literals and lengths gives up to three literals
//     at once (table.go);
//   - copies move 16 bytes at a time and may write past their end, because the
//     loop stops well before the end of the output (fast.go);
//   - output goes straight into the caller's buffer; only the last 32 KiB are
//     kept for copies that reach back into the call before (reader.go).
//
// Near the ends of input and output a slow loop takes over that counts every bit
// (slow.go), so that a stream that is cut off anywhere gives every byte that the
// standard library's decoder gives.
package inflate
