package triage

import (
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/kernelword"
	"github.com/llmstrata/strata/trace/event"
)

// Bucket is the coarse kind of work that the overlap analysis tells apart.
type Bucket uint8

// The buckets. Strong ones are told by the event's kind or an unmistakable
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

var bucketNames = [...]string{"other", "compute", "communication-strong", "communication-weak", "memory-strong", "memory-weak", "elementwise"}

// String returns the bucket's lower-case name.
func (b Bucket) String() string {
	if int(b) < len(bucketNames) {
		return bucketNames[b]
	}
	return "other"
}

// IsCommunication reports whether b is one of the communication buckets.
func (b Bucket) IsCommunication() bool {
	return b == BucketCommunicationStrong || b == BucketCommunicationWeak
}

// IsMemory reports whether b is one of the memory buckets.
func (b Bucket) IsMemory() bool { return b == BucketMemoryStrong || b == BucketMemoryWeak }

// hiderRank orders buckets by how well they explain hidden time: compute,
// communication, memory, elementwise, other.
func (b Bucket) hiderRank() int {
	switch {
	case b == BucketCompute:
		return 4
	case b.IsCommunication():
		return 3
	case b.IsMemory():
		return 2
	case b == BucketElementwise:
		return 1
	}
	return 0
}

// weight is how much exclusive time of a bucket is worth when headroom is
// ranked (the reference's factors): communication can nearly always move,
// compute seldom.
func (b Bucket) weight() float64 {
	switch {
	case b.IsCommunication():
		return 1.3
	case b.IsMemory():
		return 1.15
	case b == BucketElementwise:
		return 1
	case b == BucketCompute:
		return 0.35
	}
	return 0.8
}

// workBuckets says which bucket a kind of work falls into; what is not known falls
// into BucketOther. Communication is strong where a library made for it runs, see
// BucketOf.
var workBuckets = map[string]Bucket{
	kernelword.WorkExchange:  BucketCommunicationWeak,
	kernelword.WorkMemory:    BucketMemoryWeak,
	kernelword.WorkPointwise: BucketElementwise,
	kernelword.WorkCompute:   BucketCompute,
	"":                       BucketOther,
}

// BucketOf maps an activity's kind, category and library to its bucket.
func BucketOf(kind event.Kind, category classify.Category, library string) Bucket {
	switch kind {
	case event.Memcpy, event.Memset:
		return BucketMemoryStrong
	case event.Graph:
		return BucketCompute
	}
	work, _ := kernelword.Work(string(category))
	b := workBuckets[work]
	if b == BucketCommunicationWeak && library == kernelword.FamilyNCCL {
		return BucketCommunicationStrong
	}
	return b
}
