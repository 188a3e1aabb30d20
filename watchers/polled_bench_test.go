//go:build unix

package watchers_test

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"hob/platform/store"
	"hob/watchers"
	"hob/watchers/watcherstest"
)

// BenchmarkPolledAtRest measures 1,000 watchers polled every 15 minutes: memory and goroutines per
// watcher, and the cost of an idle second.
func BenchmarkPolledAtRest(b *testing.B) {
	const n = 1000
	s := &source{}
	st := watcherstest.Open(b, s)
	m, err := watchers.New(watcherstest.Options(st, watcherstest.NewSink(st), s))
	if err != nil {
		b.Fatal(err)
	}
	err = st.Write(b.Context(), func(tx *store.Tx) error {
		for range n {
			spec := watchers.Spec{Kind: "source", Config: []byte(`{"name":"https://example.org/a/feed/of/usual/length.xml"}`), Report: "main"}
			spec.Every = "15m"
			if _, err := m.CreateTx(tx, spec); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	memory, goroutines := liveMemory()
	stop := watcherstest.Start(b, m)
	for s.countReads() < n { // wait for the baselines
		<-time.After(10 * time.Millisecond)
	}
	<-time.After(200 * time.Millisecond)
	with, more := liveMemory()
	before := processorTime()
	begun := time.Now()
	for b.Loop() {
		<-time.After(time.Second)
	}
	b.ReportMetric((processorTime()-before).Seconds()/time.Since(begun).Seconds()*100, "%core")
	b.ReportMetric(float64(with-memory)/n, "B/watcher")
	b.ReportMetric(float64(more-goroutines)/n, "goroutines/watcher")
	stop()
}

// liveMemory returns the live memory in bytes and the number of goroutines.
func liveMemory() (bytes int64, goroutines int) {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc + stats.StackInuse), runtime.NumGoroutine()
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
