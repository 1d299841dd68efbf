package nsysgen_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/llmstrata/strata/internal/gen/nsysgen"
)

func TestSameConfigurationSameFile(t *testing.T) {
	dir := t.TempDir()
	var files [2][]byte
	for i := range files {
		path := filepath.Join(dir, "x.sqlite")
		st, err := nsysgen.Write(path, nsysgen.Default(7))
		if err != nil {
			t.Fatal(err)
		}
		// 60 steps × 8 layers × 7 kernels × 2 ranks.
		if st.Kernels != 6720 {
			t.Errorf("kernels = %d, want 6720", st.Kernels)
		}
		if files[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two files of one configuration differ")
	}
}
