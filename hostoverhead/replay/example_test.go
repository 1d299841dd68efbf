package replay_test

import (
	"fmt"

	"github.com/llmstrata/strata/hostoverhead/replay"
)

func ExampleParse() {
	e, err := replay.Parse("kernel=gemm*0.5")
	fmt.Println(e.Title(), err)
	_, err = replay.Parse("kernel")
	fmt.Println(err)
	// Output:
	// gemm in 0.50× its time <nil>
	// edit "kernel": want cause=NAME, overlap, graphs, sync=NAME, kernel=NAME*FACTOR, fuse=FIRST+SECOND*FACTOR, kernels-of=FILE or chain=NAME
}
