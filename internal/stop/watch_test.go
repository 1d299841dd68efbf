package stop

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
)

func TestWatchLooksAtBoundedDistance(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w := New(ctx)
	for range 3 * Every {
		if w.Over() {
			t.Fatal("over before the context ended")
		}
	}
	cancel()
	rows := 0
	for !w.Over() {
		rows++
	}
	if rows > Every {
		t.Errorf("%d rows were worked on after the end, want at most %d", rows, Every)
	}
	if !w.Over() || !w.Add(1) || !errors.Is(w.Err(), context.Canceled) {
		t.Error("the end was forgotten")
	}
}

func TestWatchOfNothingIsNeverOver(t *testing.T) {
	for _, w := range []*Watch{nil, {}} {
		if w.Add(3*Every) || w.Over() || w.Err() != nil {
			t.Errorf("%v is over", w)
		}
	}
}

func TestEach(t *testing.T) {
	list := make([]int, 4*Every)
	n := 0
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range Each(New(ctx), slices.Values(list)) {
		if n++; n == 10 {
			cancel()
		}
	}
	if n > Every {
		t.Errorf("%d rows came after the end", n)
	}
	n = 0
	for range Each(nil, slices.Values(list)) {
		n++
	}
	if n != len(list) {
		t.Errorf("%d rows of %d came", n, len(list))
	}
}

func TestSort(t *testing.T) {
	shuffled := func() []int {
		list := make([]int, 8*Every)
		for i := range list {
			list[i] = i * 7919 % len(list)
		}
		return list
	}
	list := shuffled()
	Sort(New(context.Background()), list, cmp.Compare[int])
	if !slices.IsSorted(list) {
		t.Error("not sorted")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	list = shuffled()
	Sort(New(ctx), list, func(a, b int) int {
		if n++; n == 10 {
			cancel()
		}
		return cmp.Compare(a, b)
	})
	if n > Every {
		t.Errorf("%d comparisons after the end", n)
	}
	slices.Sort(list)
	if !slices.Equal(list, slices.Sorted(slices.Values(shuffled()))) {
		t.Error("a sort that ended early lost elements")
	}
}

func TestGuard(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cancel()
	rows := 0
	run := func(step func(w *Watch)) (err error) {
		defer Guard(&err)
		for w := New(ctx); rows < 4*Every; rows++ {
			step(w)
		}
		return nil
	}
	if err := run((*Watch).Row); !errors.Is(err, context.Canceled) || rows > Every {
		t.Errorf("%v after %d rows, want context.Canceled after at most %d", err, rows, Every)
	}
	rows = 0
	if err := run(func(w *Watch) { w.Rows(Every) }); !errors.Is(err, context.Canceled) || rows > 0 {
		t.Errorf("%v after %d steps, want context.Canceled at the first", err, rows)
	}
	defer func() {
		if r := recover(); r != "other" {
			t.Errorf("a panic of another kind became %v", r)
		}
	}()
	run(func(*Watch) { panic("other") })
}
