package live

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/llmstrata/strata/examples/internal/app"
)

// exporter turns a report of Nsight Systems into the SQLite file that host reads, with the nsys of this machine.
func exporter(env *app.Env) func(ctx context.Context, report string) (string, error) {
	return func(ctx context.Context, report string) (string, error) {
		stem := strings.TrimSuffix(strings.TrimSuffix(report, ".nsys-rep"), ".qdrep")
		out := stem + ".sqlite"
		args := []string{"export", "--type", "sqlite", "--force-overwrite", "true", "--output", out, report}
		nsys, err := exec.LookPath("nsys")
		if err != nil {
			return "", fmt.Errorf("nsys is not on this machine; export the report with: nsys %s",
				strings.Join(args, " "))
		}
		env.Notef("nsys %s", strings.Join(args, " "))
		if text, err := exec.CommandContext(ctx, nsys, args...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("nsys export: %w: %s", err,
				strings.Join(strings.Fields(string(text[:min(len(text), 300)])), " "))
		}
		env.Notef("next: strata host %s", out)
		return out, nil
	}
}
