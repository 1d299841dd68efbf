// Package wordmatch finds words in the names of kernels, ops and functions.
//
// Names are compared by words, not by letters, because plain substrings
// lie: "fp4" is found in a matmul's dtype list, "rope" in "property", "combine"
// in "_combined_routing". An identifier is cut into lower-case words at
// underscores, other punctuation and camel-case humps, and stored as text:
//
//	.vllm.moe.topk_gating_softmax     identifiers start with '.', words with '_'
//
// A pattern is compared without separators and must begin and end where a word
// begins and ends, so that "topk", "TopK" and "top_k" are one thing. A leading
// or trailing '*' lifts that condition on its side ("*_ssm" does not: the '_'
// asks for a word start). A match never runs from one identifier into the
// next, and one that begins inside a word passes to the next word only where
// the pattern has a separator: "*mha" is not in gemm_half, "*ssm*" not in
// ws_sm90, though the letters are.
package wordmatch
