package store_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/store"
)

// blockWriter occupies the writer until the returned function is called, so that jobs queued meanwhile
// share one commit with the blocker.
func blockWriter(t *testing.T, db *store.Store) (release func()) {
	t.Helper()
	entered, leave, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- db.Write(context.Background(), func(*store.Tx) error {
			close(entered)
			<-leave
			return nil
		})
	}()
	<-entered
	return func() {
		close(leave)
		if err := <-done; err != nil && !errors.Is(err, store.ErrFull) {
			t.Error(err)
		}
	}
}

func TestWrite_GroupsCommits(t *testing.T) {
	db := openStore(t, tempPath(t))
	boom := errors.New("boom")
	const writers, each = 20, 25
	var wg sync.WaitGroup
	var panics atomic.Int32
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				k := w*each + i
				func() {
					defer func() {
						if p := recover(); p != nil {
							panics.Add(1)
							if p != "oh" {
								t.Errorf("panic %v", p)
							}
						}
					}()
					err := db.Write(t.Context(), func(tx *store.Tx) error {
						if _, err := tx.Exec(`INSERT INTO t VALUES (?, 'x')`, k); err != nil {
							return err
						}
						switch k % 5 {
						case 1:
							return boom
						case 2:
							panic("oh")
						case 3:
							_, err := tx.Exec(`INSERT INTO t VALUES (?, 'again')`, k) // the key exists
							return err
						}
						return nil
					})
					want := k%5 == 1 || k%5 == 3
					if (err != nil) != want || (k%5 == 1 && !errors.Is(err, boom)) {
						t.Errorf("write %d: %v", k, err)
					}
				}()
			}
		})
	}
	wg.Wait()
	if n := int(panics.Load()); n != writers*each/5 {
		t.Errorf("%d panics reached their callers", n)
	}
	var want []string
	for k := range writers * each {
		if k%5 == 0 || k%5 == 4 {
			want = append(want, fmt.Sprintf("%d=x", k))
		}
	}
	if diff := cmp.Diff(want, listRows(t, db.Reader(t.Context()))); diff != "" {
		t.Error(diff)
	}
}

// In a group commit, a failing closure loses only its own changes.
func TestWrite_FailureInAGroupAffectsNoOther(t *testing.T) {
	db := openStore(t, tempPath(t))
	release := blockWriter(t, db)
	errs := make([]error, 9)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			defer func() { _ = recover() }()
			errs[i] = db.Write(t.Context(), func(tx *store.Tx) error {
				if _, err := tx.Exec(`INSERT INTO t VALUES (?, 'x')`, i); err != nil {
					return err
				}
				switch {
				case i%3 == 1:
					return errors.New("no")
				case i == 5:
					panic("oh")
				}
				return nil
			})
		})
	}
	release()
	wg.Wait()
	if diff := cmp.Diff([]string{"0=x", "2=x", "3=x", "6=x", "8=x"}, listRows(t, db.Reader(t.Context()))); diff != "" {
		t.Error(diff)
	}
	for i, err := range errs {
		if (err != nil) != (i%3 == 1) {
			t.Errorf("write %d: %v", i, err)
		}
	}
}

func TestAfterCommit_RunsInOrder(t *testing.T) {
	db := openStore(t, tempPath(t))
	var mu sync.Mutex
	var got []string
	said := func(s string) func() {
		return func() {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, s)
		}
	}
	failOnError(t, db.Write(t.Context(), func(tx *store.Tx) error {
		tx.AfterCommit(said("1a"))
		tx.AfterCommit(func() {
			if n := countRows(t, db); n != 1 {
				t.Errorf("%d rows in AfterCommit, want the committed one", n)
			}
		})
		tx.AfterCommit(said("1b"))
		_, err := tx.Exec(`INSERT INTO t VALUES (1, 'x')`)
		return err
	}))
	said("returned")()
	if err := db.Write(t.Context(), func(tx *store.Tx) error {
		tx.AfterCommit(said("never"))
		return errors.New("no")
	}); err == nil {
		t.Error("Write returned no error")
	}
	// The writer runs the closures of a group in the order of the queue.
	release := blockWriter(t, db)
	var wg sync.WaitGroup
	var ran, after []int
	for i := range 20 {
		wg.Go(func() {
			failOnError(t, db.Write(t.Context(), func(tx *store.Tx) error {
				ran = append(ran, i)
				tx.AfterCommit(func() { after = append(after, i) })
				return nil
			}))
		})
	}
	release()
	wg.Wait()
	if diff := cmp.Diff([]string{"1a", "1b", "returned"}, got); diff != "" {
		t.Error(diff)
	}
	if len(ran) != 20 || !slices.Equal(ran, after) {
		t.Errorf("ran %v, after %v", ran, after)
	}
}

func TestWrite_CanceledContexts(t *testing.T) {
	db := openStore(t, tempPath(t))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Write(gone, func(*store.Tx) error { t.Error("Write ran with a canceled context"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("Write with a canceled context = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	release := blockWriter(t, db)
	waiting := make(chan error, 1)
	go func() {
		waiting <- db.Write(ctx, func(*store.Tx) error { t.Error("Write ran after its context ended"); return nil })
	}()
	cancel()
	release()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("Write canceled while it waits = %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	err := db.Write(ctx, func(tx *store.Tx) error { // a write that has started is not canceled
		cancel()
		_, err := tx.Exec(`INSERT INTO t VALUES (1, 'x')`)
		return err
	})
	if err != nil || countRows(t, db) != 1 {
		t.Errorf("Write canceled while it runs = %v", err)
	}
}

// A caller can leave a full queue when its context ends.
func TestWrite_CallerCanLeaveAFullQueue(t *testing.T) {
	db := openStore(t, tempPath(t))
	release := blockWriter(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	var left atomic.Int32
	for range 400 {
		wg.Go(func() {
			if err := db.Write(ctx, func(*store.Tx) error { return nil }); errors.Is(err, context.Canceled) {
				left.Add(1)
			}
		})
	}
	cancel()
	for left.Load() < 400-256 { // the calls that do not fit in the queue return while the writer is blocked
		runtime.Gosched()
	}
	release()
	wg.Wait()
	if n := left.Load(); n != 400 {
		t.Errorf("%d of 400 callers left the queue", n)
	}
}

func TestClose_WhileWriting(t *testing.T) {
	for range 8 {
		path := tempPath(t)
		db := openStore(t, path)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var kept []string
		begun := make(chan struct{}, 64)
		for w := range 8 {
			wg.Go(func() {
				for i := 0; ; i++ {
					k := w*100_000 + i
					err := db.Write(context.Background(), func(tx *store.Tx) error {
						_, err := tx.Exec(`INSERT INTO t VALUES (?, 'x')`, k)
						return err
					})
					if err != nil {
						if !errors.Is(err, store.ErrClosed) {
							t.Errorf("Write during Close = %v", err)
						}
						return
					}
					mu.Lock()
					kept = append(kept, fmt.Sprintf("%d=x", k))
					mu.Unlock()
					select {
					case begun <- struct{}{}:
					default:
					}
				}
			})
		}
		<-begun
		failOnError(t, db.Close())
		failOnError(t, db.Close())
		wg.Wait()
		if err := db.Write(t.Context(), func(*store.Tx) error { return nil }); !errors.Is(err, store.ErrClosed) {
			t.Errorf("Write after Close = %v", err)
		}
		// Exactly the acknowledged writes exist.
		got := listRows(t, openStore(t, path).Reader(t.Context()))
		slices.Sort(kept)
		slices.Sort(got)
		if diff := cmp.Diff(kept, got); diff != "" {
			t.Fatal(diff)
		}
	}
}
