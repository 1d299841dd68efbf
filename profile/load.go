package profile

import (
	"cmp"
	"fmt"
	"io"
	"strings"
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
	o, err := parseDocument("profile", data)
	if err != nil {
		return nil, err
	}
	o.Only(profileFields)
	p := &ModelProfile{AnchorPosition: anchorUnknown, BlocksPerLayer: 1, DefaultLayers: 1, BaseRules: baseUniversal,
		BaseRenames: baseStandard}
	p.fill(o)
	if err := o.Err(); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	return p, nil
}

// fill copies the document's fields over the defaults.
func (p *ModelProfile) fill(o object) {
	for _, t := range []struct {
		field string
		dst   *string
	}{{"name", &p.Name}, {"description", &p.Description}, {"anchor", &p.Anchor},
		{"anchor_position", &p.AnchorPosition}, {"base_rules", &p.BaseRules}, {"base_renames", &p.BaseRenames}} {
		*t.dst = cmp.Or(o.Field(t.field).Text(), *t.dst)
	}
	p.ModelTypes, p.AutoAnchors = o.Field("model_types").Strings(), o.Field("auto_anchors").Strings()
	p.HalfLabels = o.Field("half_labels").Strings()
	if n := o.Field("blocks_per_layer"); n.Given() {
		p.BlocksPerLayer = n.Integer(1, maxBlocks)
	}
	if n := o.Field("default_layers"); n.Given() {
		p.DefaultLayers = n.Integer(1, MaxLayers)
	}
	if p.HalfLabels == nil {
		if p.BlocksPerLayer != 1 {
			o.Fail("half_labels", "missing: %d blocks per layer need %d labels", p.BlocksPerLayer, p.BlocksPerLayer)
		}
		p.HalfLabels = []string{"full"}
	}
	for _, c := range objects(o, "rules", "key", "label", "patterns", "ignore_case") {
		p.Rules = append(p.Rules, RuleSpec{Key: c.Field("key").Text(), Label: c.Field("label").Text(),
			Patterns: c.Field("patterns").Strings(), IgnoreCase: c.Field("ignore_case").Flag()})
	}
	for _, c := range objects(o, "renames", "old", "new") {
		p.Renames = append(p.Renames, Rename{Old: c.Field("old").Text(), New: c.Field("new").Text()})
	}
}

// objects reads a list of objects that have no other fields than the known ones.
func objects(o object, field string, known ...string) (out []object) {
	list := o.Field(field)
	items := list.List()
	if len(items) > maxRules {
		list.Fail("%w: %d %s, at most %d", errLimit, len(items), field, maxRules)
		return nil
	}
	for _, item := range items {
		if !item.Given() {
			item.Fail("want an object, got a null: null")
		}
		c := item.Object()
		c.Only(known)
		out = append(out, c)
	}
	return out
}
