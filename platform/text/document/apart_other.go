//go:build !linux && !darwin && !windows

package document

// limitResources does nothing, because watchMemory enforces the limit.
func limitResources(uint64) error { return nil }
