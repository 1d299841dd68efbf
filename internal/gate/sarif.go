package gate

import (
	"cmp"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/goccy/go-json"
)

const (
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	sarifVersion = "2.1.0"
	sarifHome    = "https://github.com/llmstrata/strata"
)

// The objects of SARIF 2.1.0 that are written.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Home    string      `json:"informationUri"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		Rule      string            `json:"ruleId"`
		Index     int               `json:"ruleIndex"`
		Kind      string            `json:"kind"`
		Level     string            `json:"level"`
		Message   sarifText         `json:"message"`
		Locations []sarifLocation   `json:"locations"`
		Prints    map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		Start int `json:"startLine"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
	}
)

// writeSARIF writes a rule for each check and a result for each that failed or is undecided. What passed is a rule
// without results: viewers show each result as a problem, whatever its kind. Each result has a location, as some
// readers refuse those without.
func (s *Suite) writeSARIF(w io.Writer) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: clean("strata " + s.Program), Version: s.Version, Home: sarifHome,
		Rules: []sarifRule{}}
	rules := map[string]int{}
	for i := range s.Checks {
		c := &s.Checks[i]
		id := cmp.Or(clean(c.Name), "check")
		at, ok := rules[id]
		if !ok {
			at = len(run.Tool.Driver.Rules)
			rules[id] = at
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{id, sarifText{id}})
		}
		kind, level := "fail", "error"
		switch {
		case c.Verdict == Inconclusive && !s.AllowInconclusive:
			kind, level = "open", "none"
		case c.Verdict != Failed:
			continue
		}
		run.Results = append(run.Results, sarifResult{Rule: id, Index: at, Kind: kind, Level: level,
			Message:   sarifText{clean(c.Text())},
			Locations: []sarifLocation{s.location(c)}, Prints: map[string]string{"check/v1": id}})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(sarifLog{sarifSchema, sarifVersion, []sarifRun{run}})
}

func (s *Suite) location(c *Check) sarifLocation {
	l := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{reference(cmp.Or(c.Place.File, s.Name))}}}
	if c.Place.Line > 0 {
		l.Physical.Region = &sarifRegion{c.Place.Line}
	}
	if c.Place.Within != "" {
		l.Logical = []sarifLogical{{clean(c.Place.Within)}}
	}
	return l
}

// reference writes a path as a URI reference: file: for an absolute one.
func reference(path string) string {
	path = filepath.ToSlash(clean(path))
	if path == "" {
		return "trace"
	}
	u := url.URL{Path: path}
	if strings.HasPrefix(path, "/") {
		u.Scheme = "file"
	}
	return u.String()
}
