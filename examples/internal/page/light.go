package page

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/llmstrata/strata/internal/htmlreport"
	"github.com/llmstrata/strata/internal/lightpage"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
)

// SpeedOfLight is the report of what passes should take.
func SpeedOfLight(r *roofline.Report, a *layer.Analysis, name string) *htmlreport.Report {
	gpu := "unknown"
	if r.GPU != nil {
		gpu = r.GPU.ID + " (" + r.GPUWhy + ")"
	}
	out := &htmlreport.Report{Title: filepath.Base(name), Program: "speed of light", Notes: r.Notes, Sections: lightpage.Sections(r),
		Facts: []htmlreport.Fact{
			{Name: "Model", Value: r.Model}, {Name: "GPU", Value: gpu},
			{Name: "Tensor parallel", Value: strconv.Itoa(r.TP)}, {Name: "Expert parallel", Value: strconv.Itoa(r.EP)},
			{Name: "Trace", Value: name, Long: true},
		}}
	if a != nil {
		out.Health = health(a.Trace().Health())
	}
	if typical := r.Typical(); len(typical) > 0 && typical[0].Floor > 0 && typical[0].Wall > 0 {
		p := typical[0]
		out.Summary = fmt.Sprintf("A %s pass takes %s ms; at least %s ms of that must be (%s %%).", p.Stage, ms(p.Wall), ms(p.Floor), table.Percent(float64(p.Floor), float64(p.Wall), 1))
	}
	return out
}

func ms(d time.Duration) string { return table.Fixed(float64(d)/1e6, 3) }
