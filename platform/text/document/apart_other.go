//go:build !linux && !darwin && !windows

package document

// limitResources does nothing: watchMemory alone keeps to the limit.
func limitResources(uint64) error { return nil }
