package agree

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// documents are what the programs say about one trace. A program that failed has
// its message in failed instead.
type documents struct {
	timeline timelineDoc
	perfetto perfettoDoc
	triage   triageDoc
	detect   detectDoc
	compare  compareDoc
	rows     []row // of kernel-export, all devices
	shown    []row // of kernel-export without --device
	failed   map[string]string
}

// The parts of each document that are compared.
type (
	timelineDoc struct {
		NumLayers  int `json:"num_layers"`
		NumKernels int `json:"num_kernels"`
		Device     int
		TP         struct {
			N       int
			Assumed bool
		}
		Categories []categoryDoc `json:"kernel_categories"`
		Passes     []struct {
			Stage  string
			Layers int
		}
		FwdPass int `json:"fwd_pass"`
		Layers  []struct {
			AllReduces int `json:"ar_count"`
		}
	}
	categoryDoc struct {
		Category  string
		TimeMS    float64 `json:"time_ms"`
		GPUTimeUS float64 `json:"gpu_time_us"`
	}
	perfettoDoc struct {
		Passes []struct{ Stage string }
	}
	triageDoc struct {
		Framework string
		TPSize    int `json:"tp_size"`
		Stages    []struct {
			Stage      string
			GPUTimeUS  float64 `json:"gpu_time_us"`
			Launches   int
			Devices    int
			Steps      int
			Categories []categoryDoc
		}
	}
	detectDoc struct {
		Deciding int
		Ranks    []struct {
			Device  int
			Kernels int
			Steps   int
			BusyNS  int64   `json:"busy_ns"`
			Comm    float64 `json:"exchange_ratio"`
			Stages  []struct {
				Stage    string
				Headroom struct {
					WallNS int64 `json:"wall_ns"`
					IdleNS int64 `json:"idle_ns"`
				}
			}
		}
	}
	compareDoc struct {
		Steps  int `json:"steps_found"`
		TPSize int `json:"tp_size"`
	}
)

// row is a GPU activity as kernel-export writes it.
type row struct {
	start, dur          int64
	device, pass, layer int
	kind, stage         string
	category            string
}

// set parses the document of a program.
func (d *documents) set(program string, data []byte) (err error) {
	switch program {
	case "layer-timeline":
		err = json.Unmarshal(data, &d.timeline)
	case "perfetto-map":
		err = json.Unmarshal(data, &d.perfetto)
	case "triage":
		err = json.Unmarshal(data, &d.triage)
	case "host-detect":
		err = json.Unmarshal(data, &d.detect)
	case "host-compare":
		err = json.Unmarshal(data, &d.compare)
	case "kernel-export":
		d.rows, err = parseRows(data)
	case "kernel-export shown":
		d.shown, err = parseRows(data)
	default:
		err = fmt.Errorf("unknown program")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	return nil
}

// parseRows reads the CSV of kernel-export by the names of its columns.
func parseRows(data []byte) ([]row, error) {
	records, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("no header")
	}
	at := map[string]int{}
	for i, name := range records[0] {
		at[name] = i
	}
	var rows []row
	for _, r := range records[1:] {
		num := func(name string) int64 {
			n, bad := strconv.ParseInt(r[at[name]], 10, 64)
			if bad != nil {
				err = fmt.Errorf("column %s: %w", name, bad)
			}
			return n
		}
		rows = append(rows, row{
			start: num("ts_ns"), dur: num("dur_ns"), device: int(num("device")), pass: int(num("pass")),
			layer: int(num("layer")),
			kind:  r[at["kind"]], stage: r[at["stage"]], category: r[at["category"]],
		})
	}
	return rows, err
}
