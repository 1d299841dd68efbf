package agree

import (
	"os"

	"github.com/llmstrata/strata/internal/gen/database"
)

// exportOracle reads the activities of an nsys export. Tables that are missing
// hold nothing. Where processes number their GPUs from 0 each,
// TARGET_INFO_CUDA_DEVICE says which is meant.
func exportOracle(path string) (map[int]*work, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	db, err := database.Read(data)
	if err != nil {
		return nil, err
	}
	devices, spans := map[int]*work{}, map[int][]span{}
	for _, kind := range []string{"KERNEL", "MEMCPY", "MEMSET"} {
		t := db.Table("CUPTI_ACTIVITY_KIND_" + kind)
		if t == nil {
			continue
		}
		device, start, end := t.Column("deviceId"), t.Column("start"), t.Column("end")
		for row := range t.Rows() {
			add(devices, spans, int(row[device].(int64)), kind == "KERNEL", span{row[start].(int64), row[end].(int64)})
		}
	}
	return finish(devices, spans), nil
}
