package main

import (
	"testing"

	"hob/channels/web/apiclient"
)

func TestProgressLine(t *testing.T) {
	third := 30
	none := 0
	for name, tc := range map[string]struct {
		tool     string
		progress apiclient.Progress
		want     string
	}{
		"only the time":           {"read_page", apiclient.Progress{Seconds: 15}, "read page: 15 s"},
		"a percentage and a note": {"crawl", apiclient.Progress{Seconds: 45, Percent: &third, Note: "page 3\nof 10"}, "crawl: 45 s, 30 %, page 3 of 10"},
		"zero percent":            {"crawl", apiclient.Progress{Percent: &none}, "crawl: 0 s, 0 %"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := progressLine(tc.tool, tc.progress); got != tc.want {
				t.Errorf("progressLine = %q, want %q", got, tc.want)
			}
		})
	}
}
