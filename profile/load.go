package profile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// profileFields are the fields a profile file may hold, in the order errors
// list them.
var profileFields = []string{
	"name", "description", "model_types", "anchor", "anchor_position", "auto_anchors", "blocks_per_layer",
	"half_labels", "default_layers", "rules", "base_rules", "renames", "base_renames",
}

// Resolve turns what a user gave as a profile, a built-in name or a file, into a
// profile. Built-in names win; write ./generic for a file of that name.
func Resolve(nameOrPath string) (*ModelProfile, error) {
	if p, ok := Builtin(nameOrPath); ok {
		return p, nil
	}
	p, err := load(nameOrPath)
	if err != nil && !strings.ContainsAny(nameOrPath, "./\\") {
		return nil, fmt.Errorf("profile: %w %q: built in are %s; a file must exist", ErrUnknownProfile, nameOrPath, strings.Join(Names(), ", "))
	}
	return p, err
}

// load reads a profile from a JSON file. The error is an [*Error] that names the
// file, field and index.
func load(path string) (*ModelProfile, error) {
	f, err := openRegular("profile", path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := Parse(f)
	return p, located(err, path)
}

// Parse reads a profile from JSON (docs/profiles.md). Only name is required;
// what is left out has the values of the generic profile without its rich rules:
// one block a layer labelled "full", default_layers 1, base rules "universal",
// base renames "standard". A field the package does not know is an error, since
// it is most likely a misspelt one.
func Parse(r io.Reader) (*ModelProfile, error) {
	data, err := readDocument("profile", r)
	if err != nil {
		return nil, err
	}
	o, err := parseObject("profile", data)
	if err != nil {
		return nil, err
	}
	if err := o.only(profileFields); err != nil {
		return nil, err
	}
	p := &ModelProfile{BlocksPerLayer: 1, DefaultLayers: 1, BaseRules: BaseUniversal, BaseRenames: baseStandard}
	if err := p.fill(o); err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return p, nil
}

// fill copies the document's fields over the defaults.
func (p *ModelProfile) fill(o object) error {
	var err error
	texts := []struct {
		field string
		dst   *string
	}{{"name", &p.Name}, {"description", &p.Description}, {"anchor", &p.Anchor}}
	for _, t := range texts {
		if *t.dst, err = o.text(t.field); err != nil {
			return err
		}
	}
	if s, err := o.text("anchor_position"); err != nil {
		return err
	} else if s != "" {
		if err := p.AnchorPosition.UnmarshalText([]byte(s)); err != nil {
			return o.fail("anchor_position", "%w", err)
		}
	}
	if s, err := o.text("base_rules"); err != nil {
		return err
	} else if s != "" {
		p.BaseRules = BaseRules(s)
	}
	if s, err := o.text("base_renames"); err != nil {
		return err
	} else if s != "" {
		p.BaseRenames = BaseRenames(s)
	}
	lists := []struct {
		field string
		dst   *[]string
	}{{"model_types", &p.ModelTypes}, {"auto_anchors", &p.AutoAnchors}, {"half_labels", &p.HalfLabels}}
	for _, l := range lists {
		if *l.dst, _, err = o.strings(l.field); err != nil {
			return err
		}
	}
	if n, ok, err := o.integer("blocks_per_layer", 1, maxBlocks); err != nil {
		return err
	} else if ok {
		p.BlocksPerLayer = n
	}
	if n, ok, err := o.integer("default_layers", 1, maxLayers); err != nil {
		return err
	} else if ok {
		p.DefaultLayers = n
	}
	if p.HalfLabels == nil {
		if p.BlocksPerLayer != 1 {
			return o.fail("half_labels", "missing: %d blocks per layer need %d labels", p.BlocksPerLayer, p.BlocksPerLayer)
		}
		p.HalfLabels = []string{"full"}
	}
	if err := p.fillRules(o); err != nil {
		return err
	}
	return p.fillRenames(o)
}

func (p *ModelProfile) fillRules(o object) error {
	items, _, err := o.list("rules")
	if err != nil {
		return err
	}
	if len(items) > maxRules {
		return o.fail("rules", "%w: %d rules, at most %d", ErrLimit, len(items), maxRules)
	}
	for i, raw := range items {
		c, _, err := childOf(o, fmt.Sprintf("rules[%d]", i), raw)
		if err != nil {
			return err
		}
		if err := c.only([]string{"key", "label", "patterns", "ignore_case"}); err != nil {
			return err
		}
		var r RuleSpec
		if r.Key, err = c.text("key"); err != nil {
			return err
		}
		if r.Label, err = c.text("label"); err != nil {
			return err
		}
		if r.Patterns, _, err = c.strings("patterns"); err != nil {
			return err
		}
		if r.IgnoreCase, _, err = c.flag("ignore_case"); err != nil {
			return err
		}
		p.Rules = append(p.Rules, r)
	}
	return nil
}

func (p *ModelProfile) fillRenames(o object) error {
	items, _, err := o.list("renames")
	if err != nil {
		return err
	}
	if len(items) > maxRules {
		return o.fail("renames", "%w: %d renames, at most %d", ErrLimit, len(items), maxRules)
	}
	for i, raw := range items {
		c, _, err := childOf(o, fmt.Sprintf("renames[%d]", i), raw)
		if err != nil {
			return err
		}
		if err := c.only([]string{"old", "new"}); err != nil {
			return err
		}
		var r Rename
		if r.Old, err = c.text("old"); err != nil {
			return err
		}
		if r.New, err = c.text("new"); err != nil {
			return err
		}
		p.Renames = append(p.Renames, r)
	}
	return nil
}

// only refuses fields that are not known, the first in alphabetical order.
func (o object) only(known []string) error {
	var unknown []string
	for f := range o.fields {
		if !slices.Contains(known, f) {
			unknown = append(unknown, f)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return &Error{Doc: o.doc, Field: o.prefix + excerpt([]byte(unknown[0])), Err: errors.New("unknown field; known are " + strings.Join(known, ", "))}
}
