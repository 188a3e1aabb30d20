package hooks

import (
	"testing"
	"time"
)

func TestGroupRecord_RecognizesTheGroupOfTheRun(t *testing.T) {
	start := time.UnixMicro(1_700_000_000_123_456)
	r, err := parseGroupRecord(groupRecord{Start: start, Limit: 5 * time.Second}.String())
	if err != nil || !r.Start.Equal(start) || r.Limit != 5*time.Second {
		t.Fatalf("parseGroupRecord = %+v, %v", r, err)
	}
	if _, err := parseGroupRecord("x"); err == nil {
		t.Error("a damaged record is valid")
	}
	for name, tt := range map[string]struct {
		started map[int]time.Time
		want    bool
	}{
		"the program runs":                  {map[int]time.Time{7: start, 8: start.Add(time.Second)}, true},
		"another program has its id":        {map[int]time.Time{7: start.Add(time.Microsecond)}, false},
		"a descendant is left":              {map[int]time.Time{8: start.Add(time.Second)}, true},
		"a process that started before":     {map[int]time.Time{8: start.Add(-time.Second)}, false},
		"a process that started long after": {map[int]time.Time{8: start.Add(time.Second), 9: start.Add(time.Minute)}, false},
		"no process":                        {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := r.isGroup(7, tt.started); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
