package bench

import "time"

// usage contains the resources used by a process.
type usage struct {
	rss      int64 // resident bytes now
	anon     int64 // those not mapped from a file; 0 when unknown
	cpu      time.Duration
	switches int64 // voluntary context switches of all threads; -1 when unknown
}
