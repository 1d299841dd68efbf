package fusion_test

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/fusion"
)

// fitting is a setting in which all conditions hold, as far as one exists.
func fitting(r *fusion.Requirements) fusion.Setting {
	s := fusion.Setting{Platform: "cuda", Arch: "sm90", Model: "some model", TP: 2, Tokens: 1, Hidden: 8192,
		HeadDim: 128}
	if len(r.Platforms) > 0 {
		s.Platform = r.Platforms[0]
	}
	if len(r.Archs) > 0 {
		s.Arch = strings.Replace(r.Archs[0], "*", "0", 1)
	}
	if len(r.Models) > 0 {
		s.Model = r.Models[0]
	}
	if len(r.Hidden) > 0 {
		s.Hidden = r.Hidden[0]
	}
	s.TP = max(s.TP, r.MinTP)
	for arch, sizes := range r.MaxMB {
		if arch == s.Arch && sizes[strconv.Itoa(s.TP)] == 0 {
			s.TP, _ = strconv.Atoi(slices.Min(slices.Collect(maps.Keys(sizes))))
		}
	}
	if len(r.MinMBPerRank) > 0 {
		s.Tokens = 1 << 20
	}
	return s
}

// TestConditionsDecide: of each path of the data, and of each condition on it: all hold in a setting that fits, one
// step to the other side makes it fail and says the value, and without the value nothing is known. Each field of
// Requirements that the data uses is tried on both sides.
func TestConditionsDecide(t *testing.T) {
	reg := fusion.Load()
	all := map[string]*fusion.Requirements{}
	for i := range reg.Patterns {
		all[reg.Patterns[i].Pattern] = &reg.Patterns[i].Requires
	}
	for i := range reg.Families {
		all["family "+reg.Families[i].Pattern] = &reg.Families[i].Requires
	}
	conditions := 0
	for name, r := range all {
		fits := fitting(r)
		if o, _, why := fusion.Worst(r.Judge(&fits)); o != fusion.Holds {
			t.Errorf("%s in %+v: %v %q", name, fits, o, why)
			continue
		}
		tried := map[string]map[fusion.Outcome]bool{} // by field
		side := func(field, what string, asked bool, want fusion.Outcome, change func(*fusion.Setting)) {
			if !asked {
				return
			}
			if tried[field] == nil {
				tried[field] = map[fusion.Outcome]bool{}
			}
			tried[field][want] = true
			s := fits
			change(&s)
			if o, _, why := fusion.Worst(r.Judge(&s)); o != want || len(why) == 0 {
				t.Errorf("%s, %s: %v %q, want %v", name, what, o, why, want)
			}
		}
		side("Platforms", "another platform", len(r.Platforms) == 1, fusion.Fails,
			func(s *fusion.Setting) { s.Platform = "other" })
		side("Platforms", "no platform", len(r.Platforms) > 0, fusion.Unknown, func(s *fusion.Setting) { s.Platform = "" })
		side("Archs", "no architecture", len(r.Archs) > 0, fusion.Unknown, func(s *fusion.Setting) { s.Arch = "" })
		side("Archs", "another architecture", len(r.Archs) > 0, fusion.Fails, func(s *fusion.Setting) { s.Arch = "sm70" })
		side("Models", "another model", len(r.Models) > 0, fusion.Fails, func(s *fusion.Setting) { s.Model = "other" })
		side("Models", "no model", len(r.Models) > 0, fusion.Unknown, func(s *fusion.Setting) { s.Model = "" })
		side("MinTP", "no ranks", r.MinTP > 0, fusion.Unknown, func(s *fusion.Setting) { s.TP = 0 })
		side("NotTP", "no ranks", len(r.NotTP) > 0, fusion.Unknown, func(s *fusion.Setting) { s.TP = 0 })
		side("MinTP", "a rank less", r.MinTP > 1, fusion.Fails, func(s *fusion.Setting) { s.TP = r.MinTP - 1 })
		for _, n := range r.NotTP {
			side("NotTP", "ranks it excludes", true, fusion.Fails, func(s *fusion.Setting) { s.TP = n })
		}
		side("MaxTokens", "a token more", r.MaxTokens > 0, fusion.Fails,
			func(s *fusion.Setting) { s.Tokens = r.MaxTokens + 1 })
		side("MaxTokens", "no tokens", r.MaxTokens > 0, fusion.Unknown, func(s *fusion.Setting) { s.Tokens = 0 })
		for arch, sizes := range r.MaxMB {
			for ranks, mb := range sizes {
				at := func(extra int64) func(s *fusion.Setting) {
					return func(s *fusion.Setting) {
						s.Platform, s.Arch = "cuda", arch
						s.TP, _ = strconv.Atoi(ranks)
						s.Tokens = int64(mb*(1<<20))/int64(2*s.Hidden) + extra
					}
				}
				side("MaxMB", "a row more than "+ranks+" ranks exchange on "+arch, true, fusion.Fails, at(1))
				fit := fits
				at(0)(&fit)
				if n := r.Tokens(&fit); n != fit.Tokens {
					t.Errorf("%s: %d ranks on %s take %d tokens, want %d", name, fit.TP, arch, n, fit.Tokens)
				}
				if o, _, why := fusion.Worst(r.Judge(&fit)); o != fusion.Holds && fit.Tokens > 0 {
					t.Errorf("%s: at its limit on %s with %s ranks: %q", name, arch, ranks, why)
				}
			}
			side("MaxMB", "no message on "+arch, true, fusion.Unknown,
				func(s *fusion.Setting) { s.Arch, s.Tokens = strings.Replace(arch, "*", "0", 1), 0 })
			side("MaxMB", "ranks without a path on "+arch, true, fusion.Fails,
				func(s *fusion.Setting) { s.Arch, s.TP = arch, 3 })
		}
		side("AnyMaxMB", "no message", r.AnyMaxMB > 0, fusion.Unknown, func(s *fusion.Setting) { s.Tokens = 0 })
		side("AnyMaxMB", "a message above", r.AnyMaxMB > 0, fusion.Fails,
			func(s *fusion.Setting) { s.Tokens = int64(r.AnyMaxMB*(1<<20))/int64(2*s.Hidden) + 1 })
		for arch, mb := range r.MinMBPerRank {
			arch = strings.Replace(arch, "*", "0", 1)
			whole := int64(mb * (1 << 20) * float64(fits.TP))
			side("MinMBPerRank", "no message on "+arch, true, fusion.Unknown,
				func(s *fusion.Setting) { s.Arch, s.Tokens = arch, 0 })
			side("MinMBPerRank", "a message below on "+arch, true, fusion.Fails,
				func(s *fusion.Setting) { s.Arch, s.Tokens = arch, whole/int64(2*s.Hidden)-1 })
			fit := fits
			fit.Arch, fit.Tokens = arch, whole/int64(2*fit.Hidden)
			if o, _, why := fusion.Worst(r.Judge(&fit)); o != fusion.Holds {
				t.Errorf("%s at its least on %s: %q", name, arch, why)
			}
		}
		side("MinHidden", "a smaller model", r.MinHidden > 0, fusion.Fails,
			func(s *fusion.Setting) { s.Hidden = r.MinHidden - 1 })
		side("MaxHidden", "a larger model", r.MaxHidden > 0, fusion.Fails,
			func(s *fusion.Setting) { s.Hidden = r.MaxHidden + 1 })
		side("Hidden", "another hidden size", len(r.Hidden) > 0, fusion.Fails, func(s *fusion.Setting) { s.Hidden++ })
		for field, asked := range map[string]bool{"Hidden": len(r.Hidden) > 0, "MinHidden": r.MinHidden > 0,
			"MaxHidden": r.MaxHidden > 0} {
			side(field, "no hidden size", asked, fusion.Unknown, func(s *fusion.Setting) { s.Hidden = 0 })
		}
		side("HeadDims", "another head", len(r.HeadDims) > 0, fusion.Fails, func(s *fusion.Setting) { s.HeadDim++ })
		side("HeadDims", "no head", len(r.HeadDims) > 0, fusion.Unknown, func(s *fusion.Setting) { s.HeadDim = 0 })
		for v, i := reflect.ValueOf(r).Elem(), 0; i < v.NumField(); i++ {
			field := v.Type().Field(i).Name
			if v.Field(i).IsZero() || field == "Platforms" && len(r.Platforms) > 1 { // all that there are
				continue
			}
			conditions++
			if sides := tried[field]; !sides[fusion.Fails] || !sides[fusion.Unknown] {
				t.Errorf("%s: condition %s is not tried on both sides: %v", name, field, sides)
			}
		}
	}
	t.Logf("%d conditions of %d paths and families", conditions, len(all))
	if conditions == 0 {
		t.Error("the data has no conditions")
	}
}

// TestRanksOfCollectives: where collectives run there are two ranks, and more is not certain.
func TestRanksOfCollectives(t *testing.T) {
	for least, want := range map[int]fusion.Outcome{2: fusion.Holds, 4: fusion.Unknown} {
		r := fusion.Requirements{MinTP: least}
		if o, _, _ := fusion.Worst(r.Judge(&fusion.Setting{Exchanges: true})); o != want {
			t.Errorf("%d ranks: %v, want %v", least, o, want)
		}
	}
}
