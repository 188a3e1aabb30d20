package hooks

import (
	"fmt"
	"time"
)

// groupRecord describes the process group of a run, whose id is the pid of the hook's program.
type groupRecord struct {
	Start time.Time     // start of the program, with microseconds
	Limit time.Duration // time limit of the run
}

// String returns the text that parseGroupRecord reads.
func (r groupRecord) String() string {
	return fmt.Sprintf("%d %d\n", r.Start.UnixMicro(), r.Limit.Microseconds())
}

func parseGroupRecord(text string) (groupRecord, error) {
	var start, limit int64
	if _, err := fmt.Sscanf(text, "%d %d\n", &start, &limit); err != nil {
		return groupRecord{}, fmt.Errorf("hooks: parse the process group of a run: %w", err)
	}
	return groupRecord{Start: time.UnixMicro(start), Limit: time.Duration(limit) * time.Microsecond}, nil
}

// isGroup reports whether the processes of the group pgid, by pid with their start times, belong to
// the run. The system may have reused the id for another group. Then the group's program started at
// another time or, if only descendants are left, they started after the run's time limit.
func (r groupRecord) isGroup(pgid int, started map[int]time.Time) bool {
	if at, ok := started[pgid]; ok {
		return at.Equal(r.Start)
	}
	for _, at := range started {
		if at.Before(r.Start) || at.After(r.Start.Add(r.Limit)) {
			return false
		}
	}
	return len(started) > 0
}
