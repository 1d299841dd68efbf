package gen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// complete is the phase of an event with a duration, window the category of the one that covers all.
const complete, window = "X", "Trace"

// WriteInTurn writes a trace of several runs on one thread and one GPU that start
// so far apart: those of an encoder and of a language model, for example, or of
// steps of a slow host.
func WriteInTurn(w io.Writer, apart time.Duration, runs ...Config) error {
	var all struct {
		Events []map[string]any `json:"traceEvents"`
	}
	for i, cfg := range runs {
		var b bytes.Buffer
		if err := Write(&b, cfg); err != nil {
			return err
		}
		run := all
		run.Events = nil
		d := json.NewDecoder(&b)
		d.UseNumber()
		if err := d.Decode(&run); err != nil {
			return err
		}
		for _, e := range run.Events {
			if e["ph"] == complete && e["cat"] != window {
				if err := later(e, i, apart); err != nil {
					return err
				}
				all.Events = append(all.Events, e)
			}
		}
	}
	return json.NewEncoder(w).Encode(all)
}

// later makes an event one of the i-th run: it is i times apart later, and its ids are its own.
func later(e map[string]any, i int, apart time.Duration) error {
	ts, ok := e["ts"].(json.Number)
	if !ok {
		return fmt.Errorf("ts is %v, no number", e["ts"])
	}
	us, err := ts.Float64()
	if err != nil {
		return err
	}
	e["ts"] = us + float64(i)*float64(apart.Microseconds())
	args, _ := e["args"].(map[string]any)
	for _, key := range []string{"correlation", "External id", "Python id", "Python parent id"} {
		if id, ok := args[key].(json.Number); ok {
			args[key] = id + json.Number(fmt.Sprint(i+1))
		}
	}
	return nil
}
