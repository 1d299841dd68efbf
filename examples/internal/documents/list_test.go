package documents

import (
	"reflect"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/command"
	"github.com/llmstrata/strata/examples/internal/programs"
	"github.com/llmstrata/strata/examples/internal/programs/answer"
	captureprogram "github.com/llmstrata/strata/examples/internal/programs/capture"
	"github.com/llmstrata/strata/examples/internal/programs/perfettomap"
	triageprogram "github.com/llmstrata/strata/examples/internal/programs/triage"
	"github.com/llmstrata/strata/hostoverhead/replay"
	"github.com/llmstrata/strata/internal/view"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/triage"
)

// document is one JSON document of a program.
type document struct {
	id string // as the field schema has it
	// by is the command line that writes it.
	by string
	// types are those that it may be; the first is what it is where nothing went wrong.
	types []reflect.Type
}

// doc describes a document.
func doc(id, by string, values ...any) document {
	d := document{id: id, by: by}
	for _, v := range values {
		d.types = append(d.types, reflect.TypeOf(v))
	}
	return d
}

// documents are all JSON documents of all programs.
var documents = []document{
	doc("strata.report/2", "strata report", strata.Report{}),
	doc("strata.answer/1", "strata answer", answer.Answer{}),
	doc("strata.bundle/1", "strata bundle", programs.BundleDocument{}),
	doc("strata.timeline/1", "strata layers", programs.LayerTimelineDocument{}),
	doc("strata.breakdown/1", "strata breakdown", view.Detail{}),
	doc("strata.plan/1", "strata breakdown --plan", profile.Plan{}),
	doc("strata.light/2", "strata light", roofline.Report{}),
	doc("strata.triage/2", "strata triage", triage.Report{}),
	doc("strata.triage-compare/2", "strata triage --compare-input", triageprogram.Comparison{}),
	doc("strata.host/4", "strata host", programs.HostDetectDocument{}, programs.HostErrorDocument{}),
	doc("strata.host-published/1", "strata host --comparable", programs.PublishedHostDocument{},
		programs.HostErrorDocument{}),
	doc("strata.what-if/1", "strata what-if", replay.Report{}),
	doc("strata.host-compare/1", "strata host-compare --baseline", programs.HostCompareDocument{}),
	doc("strata.host-run/1", "strata host-compare", programs.HostRunDocument{}),
	doc("strata.compare/4", "strata compare", compare.Report{}),
	doc("strata.baseline/2", "strata compare --save", compare.Side{}),
	doc("strata.explain/1", "strata explain", command.ExplainDocument{}),
	doc("strata.fleet/1", "strata fleet", fleet.Report{}),
	doc("strata.rank/1", "strata digest, a line", fleet.Rank{}),
	doc("strata.trend/1", "strata fleet trend", compare.Trend{}),
	doc("strata.kernel/1", "strata export --format ndjson, a line", programs.ExportedRow{}),
	doc("strata.perfetto/1", "strata perfetto", perfetto.Map{}),
	doc("strata.perfetto-ranks/1", "strata perfetto --all-ranks", perfettomap.Ranks{}),
	doc("strata.capture/1", "strata capture", captureprogram.ResultDocument{}),
	doc("strata.capture-pair/1", "strata capture --mapping-url", captureprogram.PairDocument{}),
	doc("strata.capture-dry-run/1", "strata capture --dry-run", captureprogram.PlanDocument{}),
	doc("strata.capture-matrix/2", "strata capture matrix", captureprogram.MatrixDocument{}),
	doc("strata.capture-probe/1", "strata capture probe", captureprogram.ProbeDocument{}),
	doc("strata.capture-doctor/2", "strata capture doctor", capture.Diagnosis{}),
}
