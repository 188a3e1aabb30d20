package bench

import "time"

// usage is what a process has used so far.
type usage struct {
	rss      int64 // resident bytes now
	anon     int64 // those of them that are not mapped from a file; 0 when unknown
	cpu      time.Duration
	switches int64 // voluntary context switches of all threads; -1 when unknown
}
