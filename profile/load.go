package profile

import (
	"fmt"
	"io"
	"strings"

	"github.com/llmstrata/strata/profile/internal/document"
)

// profileFields are the fields a profile file may hold, in the order errors
// list them.
var profileFields = []string{
	"name", "description", "model_types", "anchor", "anchor_position", "auto_anchors", "blocks_per_layer",
	"half_labels", "default_layers", "rules", "base_rules", "renames", "base_renames",
}

// Resolve turns what a user gave as a profile, a built-in name or a file, into a
// profile. Built-in names win; write ./generic for a file of that name. The error
// lists the built-in names where there is no such file, and names file and field
// where one is wrong.
func Resolve(nameOrPath string) (*ModelProfile, error) {
	if p, ok := builtinNamed(nameOrPath); ok {
		return p, nil
	}
	p, err := load(nameOrPath)
	if err != nil && !strings.ContainsAny(nameOrPath, "./\\") {
		return nil, fmt.Errorf("profile: %w %q: built in are %s; a file must exist", errUnknownProfile, nameOrPath,
			strings.Join(builtinNames(), ", "))
	}
	return p, err
}

// load reads a profile from a JSON file. The error is one that names the
// file, field and index.
func load(path string) (*ModelProfile, error) {
	f, err := document.OpenRegular("profile", path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := Parse(f)
	return p, document.Located(err, path)
}

// Parse reads a profile from JSON (docs/profiles.md). Only name is required;
// what is left out has the values of the generic profile without its rich rules:
// one block a layer labelled "full", default_layers 1, base rules "universal",
// base renames "standard". A field the package does not know is an error, since
// it is most likely a misspelt one.
func Parse(r io.Reader) (*ModelProfile, error) {
	data, err := document.Read("profile", r)
	if err != nil {
		return nil, err
	}
	o, err := document.Parse("profile", data)
	if err != nil {
		return nil, err
	}
	if err := o.Only(profileFields); err != nil {
		return nil, err
	}
	p := &ModelProfile{AnchorPosition: anchorUnknown, BlocksPerLayer: 1, DefaultLayers: 1, BaseRules: baseUniversal,
		BaseRenames: baseStandard}
	if err := p.fill(o); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	return p, nil
}

// fill copies the document's fields over the defaults.
func (p *ModelProfile) fill(o document.Object) error {
	var err error
	texts := []struct {
		field string
		dst   *string
	}{{"name", &p.Name}, {"description", &p.Description}, {"anchor", &p.Anchor}}
	for _, t := range texts {
		if *t.dst, err = o.Text(t.field); err != nil {
			return err
		}
	}
	if s, err := o.Text("anchor_position"); err != nil {
		return err
	} else if s != "" {
		p.AnchorPosition = s
	}
	if s, err := o.Text("base_rules"); err != nil {
		return err
	} else if s != "" {
		p.BaseRules = s
	}
	if s, err := o.Text("base_renames"); err != nil {
		return err
	} else if s != "" {
		p.BaseRenames = s
	}
	lists := []struct {
		field string
		dst   *[]string
	}{{"model_types", &p.ModelTypes}, {"auto_anchors", &p.AutoAnchors}, {"half_labels", &p.HalfLabels}}
	for _, l := range lists {
		if *l.dst, _, err = o.Strings(l.field); err != nil {
			return err
		}
	}
	if n, ok, err := o.Integer("blocks_per_layer", 1, maxBlocks); err != nil {
		return err
	} else if ok {
		p.BlocksPerLayer = n
	}
	if n, ok, err := o.Integer("default_layers", 1, maxLayers); err != nil {
		return err
	} else if ok {
		p.DefaultLayers = n
	}
	if p.HalfLabels == nil {
		if p.BlocksPerLayer != 1 {
			return o.Fail("half_labels", "missing: %d blocks per layer need %d labels", p.BlocksPerLayer,
				p.BlocksPerLayer)
		}
		p.HalfLabels = []string{"full"}
	}
	if err := p.fillRules(o); err != nil {
		return err
	}
	return p.fillRenames(o)
}

func (p *ModelProfile) fillRules(o document.Object) error {
	items, _, err := o.List("rules")
	if err != nil {
		return err
	}
	if len(items) > maxRules {
		return o.Fail("rules", "%w: %d rules, at most %d", errLimit, len(items), maxRules)
	}
	for i, raw := range items {
		c, _, err := document.ChildOf(o, fmt.Sprintf("rules[%d]", i), raw)
		if err != nil {
			return err
		}
		if err := c.Only([]string{"key", "label", "patterns", "ignore_case"}); err != nil {
			return err
		}
		var r RuleSpec
		if r.Key, err = c.Text("key"); err != nil {
			return err
		}
		if r.Label, err = c.Text("label"); err != nil {
			return err
		}
		if r.Patterns, _, err = c.Strings("patterns"); err != nil {
			return err
		}
		if r.IgnoreCase, _, err = c.Flag("ignore_case"); err != nil {
			return err
		}
		p.Rules = append(p.Rules, r)
	}
	return nil
}

func (p *ModelProfile) fillRenames(o document.Object) error {
	items, _, err := o.List("renames")
	if err != nil {
		return err
	}
	if len(items) > maxRules {
		return o.Fail("renames", "%w: %d renames, at most %d", errLimit, len(items), maxRules)
	}
	for i, raw := range items {
		c, _, err := document.ChildOf(o, fmt.Sprintf("renames[%d]", i), raw)
		if err != nil {
			return err
		}
		if err := c.Only([]string{"old", "new"}); err != nil {
			return err
		}
		var r Rename
		if r.Old, err = c.Text("old"); err != nil {
			return err
		}
		if r.New, err = c.Text("new"); err != nil {
			return err
		}
		p.Renames = append(p.Renames, r)
	}
	return nil
}
