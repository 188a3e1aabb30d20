package chatui

import (
	"fmt"
	"strings"
	"time"

	"hob/platform/text/visible"
)

// oneLine returns text on one line without hidden characters.
func oneLine(s string) string { return visible.Text(strings.Join(strings.Fields(s), " ")) }

// formatElapsed formats a duration for the spinner: "0.4 s", "12 s", "3 min 5 s".
func formatElapsed(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}
