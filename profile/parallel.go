package profile

import (
	"fmt"
	"path/filepath"
)

// DefaultParallelSize is the tensor- and expert-parallel size assumed when
// nothing tells one (pipeline.md §1): the GPUs of one common server.
const DefaultParallelSize = 8

// Size is a parallel size and where it comes from.
type Size struct {
	// N is the number of ranks, at least 1.
	N int `json:"n"`
	// Source says what it was taken from, for people.
	Source string `json:"source"`
	// Assumed: nothing told it; N is the default.
	Assumed bool `json:"assumed,omitempty"`
}

// Parallelism holds the sizes of a run.
type Parallelism struct {
	TP Size `json:"tp"` // tensor parallel
	EP Size `json:"ep"` // expert parallel
}

// ParallelHints is what is known about how a run was spread over GPUs.
type ParallelHints struct {
	// TP and EP are the user's flags; 0: not given.
	TP, EP int
	// TracePath is the trace file; its name and its siblings' names are looked at.
	TracePath string
	// Distributed is the trace's distributedInfo as raw JSON; nil: none.
	Distributed []byte
	// WorldSize is the number of ranks when it is known otherwise; 0: unknown.
	WorldSize int
	// ServerArgs are the server's arguments; nil: a server_args.json beside the
	// trace is looked for.
	ServerArgs *ServerArgs
}

// InferParallelism finds the tensor- and expert-parallel sizes, best evidence
// first: the flags; the file names, where the ranks of one run lie side by side
// (TP-0 … TP-7, tp0 …, rank0 …); distributedInfo and server_args.json; the
// default. A file name alone gives a rank, not a size: rank 0 may be one of any
// number. The error reports a flag out of range; a hint that cannot be read is
// no hint.
func InferParallelism(h ParallelHints) (Parallelism, error) {
	for _, f := range []struct {
		name string
		n    int
	}{{"TP", h.TP}, {"EP", h.EP}} {
		if f.n < 0 || f.n > maxRanks {
			return Parallelism{}, fmt.Errorf("profile: %s size %d is outside 1…%d", f.name, f.n, maxRanks)
		}
	}
	world, worldSource := h.WorldSize, "the trace's world size"
	if d, err := parseDistributed(h.Distributed); err == nil && d.world > 0 {
		world, worldSource = d.world, "world_size of distributedInfo"
	}
	args := h.ServerArgs
	if args == nil && h.TracePath != "" {
		if a, err := LoadServerArgs(filepath.Join(dirOf(h.TracePath), "server_args.json")); err == nil {
			args = a
		}
	}
	if args == nil {
		args = &ServerArgs{}
	}
	argsSource := "server_args"
	if args.Path != "" {
		argsSource = args.Path
	}
	names := readRankFiles(h.TracePath)

	size := func(flag, fromArgs int, kind string) Size {
		byName := names.kinds[kind]
		ranks := names.kinds["rank"]
		switch {
		case flag > 0:
			return Size{N: flag, Source: "flag"}
		case byName.size > 0:
			return Size{N: byName.size, Source: byName.source}
		case fromArgs > 0:
			return Size{N: fromArgs, Source: kind + "_size of " + argsSource}
		case ranks.size > 0 && ranks.size >= world:
			return Size{N: ranks.size, Source: ranks.source}
		case world > 0:
			return Size{N: world, Source: worldSource}
		}
		if least := max(byName.least, ranks.least); least > DefaultParallelSize {
			return Size{N: least, Source: "highest rank in the file names"}
		}
		return Size{N: DefaultParallelSize, Source: "default", Assumed: true}
	}
	return Parallelism{TP: size(h.TP, args.TPSize, "tp"), EP: size(h.EP, args.EPSize, "ep")}, nil
}

// dirOf is the directory of a trace that may be one.
func dirOf(path string) string {
	if isDir(path) {
		return path
	}
	return filepath.Dir(path)
}

// distributed is what is read of distributedInfo.
type distributed struct{ world int }

func parseDistributed(raw []byte) (distributed, error) {
	if len(raw) == 0 || len(raw) > maxDocument {
		return distributed{}, ErrLimit
	}
	o, err := parseObject("distributedInfo", raw)
	if err != nil {
		return distributed{}, err
	}
	n, _, err := o.integer("world_size", 1, maxRanks)
	return distributed{n}, err
}

// String renders "TP 8 (flag), EP 1 (world_size of distributedInfo)", and "(assumed: the trace does not tell)" behind a size
// that nothing tells.
func (p Parallelism) String() string {
	return "TP " + p.TP.String() + ", EP " + p.EP.String()
}

// String renders "8 (flag)".
func (s Size) String() string {
	if s.Assumed {
		return fmt.Sprintf("%d (assumed: the trace does not tell)", s.N)
	}
	return fmt.Sprintf("%d (%s)", s.N, s.Source)
}
