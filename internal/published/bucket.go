package published

import (
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/trace/event"
)

// Bucket is the coarse kind of work that the overlap analysis separates.
type Bucket uint8

// The buckets. Strong ones follow from the event's kind or an unmistakable
// name, weak ones only by the classifier's category.
const (
	BucketOther Bucket = iota
	BucketCompute
	BucketCommunicationStrong
	BucketCommunicationWeak
	BucketMemoryStrong
	BucketMemoryWeak
	BucketElementwise
)

// buckets say of each its name, how well it explains hidden time, and how much its exclusive time is worth when
// headroom is ranked (the reference's factors): communication can nearly always move, compute seldom.
var buckets = [...]struct {
	name   string
	rank   int
	weight float64
}{
	BucketOther: {"other", 0, 0.8}, BucketCompute: {"compute", 4, 0.35},
	BucketCommunicationStrong: {"communication-strong", 3, 1.3},
	BucketCommunicationWeak:   {"communication-weak", 3, 1.3},
	BucketMemoryStrong:        {"memory-strong", 2, 1.15}, BucketMemoryWeak: {"memory-weak", 2, 1.15},
	BucketElementwise: {"elementwise", 1, 1},
}

// String returns the bucket's lower-case name.
func (b Bucket) String() string { return buckets[b].name }

// IsCommunication reports whether b is one of the communication buckets.
func (b Bucket) IsCommunication() bool {
	return b == BucketCommunicationStrong || b == BucketCommunicationWeak
}

// IsMemory reports whether b is one of the memory buckets.
func (b Bucket) IsMemory() bool { return b == BucketMemoryStrong || b == BucketMemoryWeak }

// workBuckets says which bucket a kind of work falls into; what is not known falls
// into BucketOther. Communication is strong where a library made for it runs, see
// BucketOf.
var workBuckets = map[classify.Work]Bucket{
	classify.WorkExchange:  BucketCommunicationWeak,
	classify.WorkMemory:    BucketMemoryWeak,
	classify.WorkPointwise: BucketElementwise,
	classify.WorkCompute:   BucketCompute,
	classify.WorkUnknown:   BucketOther,
}

// BucketOf maps an activity's kind, category and library to its bucket.
func BucketOf(kind event.Kind, category classify.Category, library string) Bucket {
	switch kind {
	case event.Memcpy, event.Memset:
		return BucketMemoryStrong
	case event.Graph:
		return BucketCompute
	}
	b := workBuckets[category.Work()]
	if b == BucketCommunicationWeak && library == classify.LibraryNCCL {
		return BucketCommunicationStrong
	}
	return b
}
