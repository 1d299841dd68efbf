// Package inflate decompresses gzip streams about twice as fast as the general decoders on profiler traces, in pure Go and on one core.
//
// Trace JSON compresses 10 to 20 times: nearly all of it is long copies of what was seen before, a few literals between them. The time
// goes into branches that the processor guesses wrong, and into tables of short blocks. What makes this decoder fast, where each stands:
//
//   - bits are taken from a 64-bit buffer that one unaligned load fills without asking how many there are (fast.go);
//   - every copy begins by moving 64 bytes, however short it is, which spares a branch nobody can foresee; it may write past its end,
//     because the loop stops well before the end of the output (fast.go);
//   - the next symbol's entry is loaded before the copy (fast.go);
//   - one look into a table gives two literals, or a length with where its extra bits lie and perhaps the literal in front of it (table.go);
//   - tables are doubled by copying while codes grow, instead of spreading each code over them (table.go);
//   - output goes straight into the caller's buffer; only the last 32 KiB are kept for copies that reach back into the call before
//     (reader.go).
//
// Near the ends of input and output a slow loop takes over that counts every bit (slow.go), so that a stream that is cut off anywhere
// gives every byte that the standard library's decoder gives.
package inflate
