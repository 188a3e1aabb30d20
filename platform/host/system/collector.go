package system

import (
	"os"
	"runtime/debug"
	"sync/atomic"
)

// Values of GOGC (https://pkg.go.dev/runtime) for a process that is idle most of the time. While it
// works, collecting rarely saves a fourth of the processor time. While it is idle, a small heap
// matters more.
const (
	gogcIdle = 50
	gogcBusy = 200
)

var collectorTuned atomic.Bool

// TuneCollector lets CollectOften and CollectRarely control the garbage collector of this process,
// unless the environment sets GOGC. It begins with CollectOften.
func TuneCollector() {
	if os.Getenv("GOGC") == "" {
		collectorTuned.Store(true)
		CollectOften()
	}
}

// CollectOften keeps the heap small. Call it when the process becomes idle.
func CollectOften() { setCollector(gogcIdle) }

// CollectRarely lets the heap grow further. Call it when the process begins to work.
func CollectRarely() { setCollector(gogcBusy) }

func setCollector(percent int) {
	if collectorTuned.Load() {
		debug.SetGCPercent(percent)
	}
}
