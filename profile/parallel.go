package profile

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/goccy/go-json"

	"github.com/llmstrata/strata/internal/framework"
)

// Size is a parallel size and where it comes from.
type Size struct {
	// N is the number of ranks; 0: unknown.
	N int `json:"n,omitempty"`
	// Source says what it was taken from, or that it is unknown, for people.
	Source string `json:"source"`
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
	// Divided says that the trace's layers sum over GPUs what they compute, as
	// tensor-parallel ones do; see layer.Analysis.Divided.
	Divided bool
	// ServerArgs are the server's arguments; nil: a server_args.json beside the
	// trace is looked for.
	ServerArgs *ServerArgs
}

// InferParallelism finds the tensor- and expert-parallel sizes, best evidence
// first: the flags; the file names, where the ranks of one run lie side by side
// (TP-0 … TP-7, tp0 …); server_args.json; the process groups of distributedInfo
// that are named for what they divide; a world of one rank. A file name alone
// gives a rank, not a size: rank 0 may be one of any number. The number of all
// ranks alone is no size either, as they may be pipeline stages or replicas;
// only a server that names each kind of rank in its files' names, and names
// tensor-parallel ones alone, makes it one, or layers that are divided where
// all groups of ranks have one size. An unknown size is 0. The error
// reports a flag out of range; a hint that cannot be read is no hint.
func InferParallelism(h ParallelHints) (Parallelism, error) {
	for _, f := range []struct {
		name string
		n    int
	}{{"TP", h.TP}, {"EP", h.EP}} {
		if f.n < 0 || f.n > maxRanks {
			return Parallelism{}, fmt.Errorf("profile: %s size %d is outside 1…%d", f.name, f.n, maxRanks)
		}
	}
	d, _ := parseDistributed(h.Distributed)
	names := readRunNames(h.TracePath)
	d.world = max(cmp.Or(d.world, h.WorldSize), names.Ranks)
	args := h.serverArgs()
	return Parallelism{
		TP: d.ofDivided(h.Divided, inferSize(h.TP, args.TPSize, kindTP, args.Path, names, d)),
		EP: inferSize(h.EP, args.EPSize, kindEP, args.Path, names, d),
	}, nil
}

// ofDivided completes an unknown tensor-parallel size: where layers are divided,
// it is above one, and so the size of the groups where all that are above one
// have the same.
func (d *distributed) ofDivided(divided bool, s Size) Size {
	if s.N > 0 || !divided {
		return s
	}
	sizes := d.sizes
	if sizes == nil { // any divisor
		for n := 2; n <= d.world; n++ {
			if d.world%n == 0 {
				sizes = append(sizes, n)
			}
		}
	}
	one := 0
	for _, n := range sizes {
		if n > 1 && one > 1 && n != one {
			return s
		}
		if n > 1 {
			one = n
		}
	}
	if one == 0 {
		return s
	}
	return Size{one, "layers sum over GPUs, and ranks come in groups of one size"}
}

// serverArgs are those given, or those beside the trace; without any, empty ones.
func (h *ParallelHints) serverArgs() *ServerArgs {
	if h.ServerArgs != nil {
		return h.ServerArgs
	}
	if h.TracePath != "" {
		if a, err := LoadServerArgs(filepath.Join(runDir(h.TracePath), framework.ServerArgsFile)); err == nil {
			return a
		}
	}
	return &ServerArgs{}
}

// kindTP and kindEP are kinds of parallelism, as files and groups are named for them.
const kindTP, kindEP = "tp", "ep"

// inferSize takes the best evidence for the size of one kind.
func inferSize(flag, fromArgs int, kind, argsPath string, names runNames, d distributed) Size {
	byName := names.Kinds[kind]
	switch {
	case flag > 0:
		return Size{flag, "flag"}
	case byName.N > 0:
		return byName
	case fromArgs > 0:
		return Size{fromArgs, kind + "_size of " + cmp.Or(argsPath, "server_args")}
	case d.groups[kind] > 0:
		return Size{d.groups[kind], "process groups of distributedInfo"}
	case d.world == 1:
		return Size{1, "world_size of distributedInfo"}
	case d.world > 1 && kind == kindTP && names.OnlyTP:
		return Size{d.world, "world_size of distributedInfo; the file's name knows tensor-parallel ranks only"}
	case d.world > 1:
		return Size{0, fmt.Sprintf("%d ranks in all", d.world)}
	}
	return Size{0, "not in the trace"}
}

// distributed is what is read of distributedInfo.
type distributed struct {
	world  int
	sizes  []int          // of all groups; nil where none are listed
	groups map[string]int // size by kind, of groups that are named for it
}

func parseDistributed(raw []byte) (distributed, error) {
	if len(raw) > maxBytes {
		return distributed{}, errLimit
	}
	o, err := parseDocument("distributedInfo", raw)
	if err != nil {
		return distributed{}, err
	}
	d := distributed{world: o.Field("world_size").Integer(1, maxRanks)}
	d.sizes, d.groups = groupSizes(raw)
	return d, o.Err()
}

// groupSizes reads the sizes of process groups, and by what their descriptions
// say they divide. Most servers leave these "undefined"; Megatron and device meshes
// name them. Groups of one kind that differ in size say nothing.
func groupSizes(raw []byte) (all []int, sizes map[string]int) {
	var info struct {
		Groups []struct {
			Description string `json:"pg_desc"`
			Size        int    `json:"pg_size"`
			Ranks       []int  `json:"ranks"`
		} `json:"pg_config"`
	}
	if json.Unmarshal(raw, &info) != nil {
		return nil, nil
	}
	sizes = map[string]int{}
	for _, g := range info.Groups {
		kind, n := groupKind(g.Description), cmp.Or(g.Size, len(g.Ranks))
		if n < 1 || n > maxRanks {
			continue
		}
		all = append(all, n)
		if kind == "" {
			continue
		}
		if had, ok := sizes[kind]; ok && had != n {
			n = -1
		}
		sizes[kind] = n
	}
	return all, sizes
}

// groupWords say what a process group divides.
var groupWords = map[string]string{
	"tp": kindTP, "tensor": kindTP, "ep": kindEP, "expert": kindEP, "dp": "dp", "data": "dp", "pp": "pp", "pipeline": "pp",
	"cp": "cp", "context": "cp", "sp": "sp", "sequence": "sp",
}

// groupKind reads "mesh_tp" or "TENSOR_MODEL_PARALLEL_GROUP" as tp; a group that
// divides two things at once, such as EXPERT_TENSOR_PARALLEL_GROUP, is of no kind.
func groupKind(description string) string {
	found := ""
	for _, w := range strings.FieldsFunc(strings.ToLower(description),
		func(r rune) bool { return r < 'a' || r > 'z' }) {
		if kind := groupWords[w]; kind != "" {
			if found != "" && found != kind {
				return ""
			}
			found = kind
		}
	}
	return found
}

// String renders "TP 8 (flag), EP unknown (not in the trace)".
func (p Parallelism) String() string {
	return "TP " + p.TP.String() + ", EP " + p.EP.String()
}

// String renders "8 (flag)", "unknown (128 ranks in all)".
func (s Size) String() string {
	if s.N == 0 {
		return fmt.Sprintf("unknown (%s)", s.Source)
	}
	return fmt.Sprintf("%d (%s)", s.N, s.Source)
}
