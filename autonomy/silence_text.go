package autonomy

import (
	"fmt"
	"strings"
	"time"

	"hob/platform/text/textnorm"
)

// Text formats the explanation for users.
func (s SilenceReport) Text(zone *time.Location) string {
	var b strings.Builder
	at := func(t time.Time) string { return t.In(zone).Format("2006-01-02 15:04:05") }
	section := func(n int, title string) {
		if n > 0 {
			fmt.Fprintf(&b, "\n%s\n", title)
		}
	}
	for _, w := range s.Watchers {
		b.WriteString(w.Text(at))
	}
	section(len(s.Told), "Told after all:")
	for _, d := range s.Told {
		fmt.Fprintf(&b, "    %s  %s: %q\n", at(d.CreatedAt), wayOf(d, at), textnorm.FirstLine(d.Text))
	}
	section(len(s.Passed), "Seen and not told:")
	for _, p := range s.Passed {
		fmt.Fprintf(&b, "    %s (watcher %s)\n", p.Line(at), p.Watcher)
	}
	section(len(s.Goals), "Goals:")
	for _, g := range s.Goals {
		fmt.Fprintf(&b, "    %s %q: %s\n", g.Goal.ID, g.Goal.Name(), g.Rule)
		if g.Goal.Reason != "" {
			fmt.Fprintf(&b, "        its last reason: %q\n", textnorm.FirstLine(g.Goal.Reason))
		}
	}
	section(len(s.Events), "Came, and nothing was said:")
	for _, e := range s.Events {
		fmt.Fprintf(&b, "    %s  %s %s %q: %s\n", at(e.Event.ReceivedAt), e.Event.Kind, e.Event.ID, textnorm.FirstLine(e.Event.Text), e.Rule)
	}
	section(len(s.Deliveries), "Worded, and not with you yet:")
	for _, d := range s.Deliveries {
		fmt.Fprintf(&b, "    %s  %s: %q\n", at(d.CreatedAt), wayOf(d, at), textnorm.FirstLine(d.Text))
	}
	section(len(s.Notices), "Held for later, or dropped:")
	for _, n := range s.Notices {
		fmt.Fprintf(&b, "    %s: %q\n", n.Line(at), textnorm.FirstLine(n.Text))
	}
	section(len(s.Denied), "Not allowed unasked:")
	for _, r := range s.Denied {
		fmt.Fprintf(&b, "    %s  %s: %s (event %s)\n", at(r.At), r.Tool, r.Rule, r.Event)
	}
	if b.Len() == 0 {
		what := "Nothing"
		if s.About != "" {
			what = fmt.Sprintf("Nothing about %q", s.About)
		}
		return fmt.Sprintf("%s was held back since %s: no watcher suppressed an event, no notice waits, no call was denied. `hob watch list` shows the watchers.", what, at(s.Since))
	}
	return strings.TrimSpace(b.String())
}
