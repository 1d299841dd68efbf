package pftracegen

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Msg appends a field that is a message, or any other run of bytes.
func Msg(dst []byte, id protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, id, protowire.BytesType), m)
}

// Num appends a field that is a whole number.
func Num(dst []byte, id protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, id, protowire.VarintType), v)
}

// Str appends a field that is a text.
func Str(dst []byte, id protowire.Number, s string) []byte { return Msg(dst, id, []byte(s)) }

// Double appends a field that is a float.
func Double(dst []byte, id protowire.Number, v float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(dst, id, protowire.Fixed64Type), math.Float64bits(v))
}

// Packet is a packet of sequence 1 with a time and a body.
func Packet(ts uint64, body []byte) []byte {
	return Msg(nil, 1, append(Num(Num(Num(nil, 8, ts), 10, 1), 13, 2), body...))
}
