package system

import (
	"os"
	"runtime/debug"
)

// Values of GOGC (https://pkg.go.dev/runtime) for a process that is idle most of the time. While it
// works, collecting rarely saves a fourth of the processor time. While it is idle, a small heap
// matters more.
const (
	gogcIdle = 50
	gogcBusy = 200
)

// TuneCollector prepares the garbage collector of this process for CollectRarely and CollectOften,
// unless the environment sets GOGC. In other processes, these two change nothing.
func TuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gogcIdle)
	}
}

// CollectRarely lets the heap grow further. Call it when the process begins to work.
func CollectRarely() { swapPercent(gogcIdle, gogcBusy) }

// CollectOften keeps the heap small. Call it when the process becomes idle.
func CollectOften() { swapPercent(gogcBusy, gogcIdle) }

func swapPercent(from, to int) {
	if was := debug.SetGCPercent(to); was != from {
		debug.SetGCPercent(was)
	}
}
