package bench

import "time"

// usage is what a process has used so far.
type usage struct {
	rss      int64 // bytes now
	cpu      time.Duration
	switches int64 // voluntary context switches of all threads; -1 when unknown
}
