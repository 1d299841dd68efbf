package live

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/app"
)

// inspector looks into traces, and into the SQLite files that host reads of reports of Nsight Systems.
func inspector(env *app.Env) func(context.Context, string) (capture.Found, error) {
	return func(ctx context.Context, path string) (capture.Found, error) {
		if strings.HasSuffix(path, ".nsys-rep") || strings.HasSuffix(path, ".qdrep") {
			var err error
			if path, err = export(ctx, env, path); err != nil {
				return capture.Found{}, err
			}
		}
		return inspect(ctx, path)
	}
}

// export turns a report of Nsight Systems into an SQLite file, with the nsys of this machine.
func export(ctx context.Context, env *app.Env, report string) (string, error) {
	out := strings.TrimSuffix(strings.TrimSuffix(report, ".nsys-rep"), ".qdrep") + ".sqlite"
	args := []string{"export", "--type", "sqlite", "--force-overwrite", "true", "--output", out, report}
	nsys, err := exec.LookPath("nsys")
	if err != nil {
		return "", fmt.Errorf("nsys is not on this machine; export the report with: nsys %s", strings.Join(args, " "))
	}
	env.Notef("nsys %s", strings.Join(args, " "))
	if text, err := exec.CommandContext(ctx, nsys, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("nsys export: %w: %s", err,
			strings.Join(strings.Fields(string(text[:min(len(text), 300)])), " "))
	}
	env.Notef("next: strata host %s", out)
	return out, nil
}
