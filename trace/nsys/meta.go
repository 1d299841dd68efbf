package nsys

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/llmstrata/strata/trace"
)

// extraStoredAPINames is the key of [trace.Meta.Extra] under which the names
// of API calls are as the export stores them: a JSON object from the name
// without version suffix to the list of stored names.
const extraStoredAPINames = "nsys_stored_api_names"

// extraProductVersion is the key of [trace.Meta.Extra] with the version of the
// nsys that exported the file, as a JSON string.
const extraProductVersion = "nsys_product_version"

// The rows of the table of metadata that are read.
const (
	rowSchemaVersion  = "EXPORT_SCHEMA_VERSION"
	rowProductVersion = "EXPORT_PRODUCT_VERSION"
)

// readMeta reads the schema version and the session's start.
func (l *loader) readMeta() error {
	m := &l.b.Meta
	m.Extra = map[string]json.RawMessage{}
	err := l.db.scan("META_DATA_EXPORT", []string{"name", "value"}, func(r row) error {
		switch r.Text(0) {
		case rowSchemaVersion:
			m.Format = r.Text(1)
		case rowProductVersion:
			m.Extra[extraProductVersion], _ = json.Marshal(r.Text(1))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return l.db.scan("TARGET_INFO_SESSION_START_TIME", []string{"utcEpochNs"}, func(r row) error {
		if v := r.Int(0); v > 0 && v < 1<<62 {
			m.BaseTime = v
		}
		return nil
	})
}

// hertzOfMegahertz turns the clock of an export, in Hz, into MHz.
const hertzOfMegahertz = 1e6

// readDevices reads the GPUs, and which GPU a process means by a CUDA device
// number: with CUDA_VISIBLE_DEVICES every rank calls its own GPU 0.
func (l *loader) readDevices() error {
	m := &l.b.Meta
	cols := []string{"id", "name", "totalMemory", "smCount", "threadsPerWarp", "computeMajor", "computeMinor",
		"memoryBandwidth", "clockRate"}
	err := l.db.scan("TARGET_INFO_GPU", cols, func(r row) error {
		m.Devices = append(m.Devices, trace.GPU{
			ID: device(r.Int(0)), Name: r.Text(1), MemoryBytes: r.Int(2), SMs: int(r.Int(3)), WarpSize: int(r.Int(4)),
			ComputeMajor: int(r.Int(5)), ComputeMinor: int(r.Int(6)),
			Bandwidth: max(0, r.Int(7)), MaxClockMHz: float64(max(0, r.Int(8))) / hertzOfMegahertz,
		})
		return nil
	})
	if err != nil {
		return err
	}
	return l.db.scan("TARGET_INFO_CUDA_DEVICE", []string{"gpuId", "cudaId", "pid"}, func(r row) error {
		l.devices[cudaDevice{r.Int(2), r.Int(1)}] = r.Int(0)
		return nil
	})
}

// readNames reads the names of processes and threads.
func (l *loader) readNames() error {
	err := l.db.scan("PROCESSES", []string{"globalPid", "name"}, func(r row) error {
		l.b.Name(trace.Thread{Process: l.pid(r.Int(0)), ProcessName: r.Text(1)})
		return nil
	})
	if err != nil {
		return err
	}
	return l.db.scan("ThreadNames", []string{"nameId", "globalTid"}, func(r row) error {
		if s := l.name(r.Int(0)); s != "" {
			g := r.Int(1)
			l.b.Name(trace.Thread{Process: l.pid(g), ID: tidOf(g), Name: s})
		}
		return nil
	})
}

// describe records the API names as stored.
func (l *loader) describe() {
	for _, k := range slices.Collect(maps.Keys(l.suffixed)) {
		slices.Sort(l.suffixed[k])
	}
	if len(l.suffixed) > 0 {
		l.b.Meta.Extra[extraStoredAPINames], _ = json.Marshal(l.suffixed)
	}
}

// device converts a device number; what no GPU can have is no device. CUPTI
// writes INT_MAX for a graph that starts on the host.
func device(v int64) trace.DeviceID {
	if v < 0 || v >= 1<<31-1 {
		return trace.None
	}
	return trace.DeviceID(v)
}
