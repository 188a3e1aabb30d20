package templates

import (
	"fmt"
	"strings"

	"hob/platform/text/visible"
)

// Lines describes the changes to settings and items, one per line. It leaves out the differences of
// the files.
func (p *Plan) Lines() (out []string) {
	for _, s := range p.Settings {
		now := strings.Trim(s.Now, `"`)
		switch {
		case s.Stays != "":
			out = append(out, fmt.Sprintf("%s stays %s; the template would set %s, and %s", s.Key, s.Was, now, s.Stays))
		case s.Yours && s.Was != now:
			out = append(out, fmt.Sprintf("yours: you set %s to %s; it becomes %s, and reset restores your value", s.Key, s.Was, now))
		case s.Was != now: // a value that stays the same is no change
			out = append(out, fmt.Sprintf("sets %s to %s (now %s)", s.Key, now, s.Was))
		}
	}
	for _, part := range []struct {
		verb string
		list []Resource
	}{{"would create", p.Things.Made}, {"would remove", p.Things.Removed}, {"keeps", p.Things.Kept}, {"cannot create", p.Things.Failed}} {
		for _, r := range part.list {
			line := part.verb + " " + r.What + ": " + r.Text
			if r.Why != "" {
				line += " (" + r.Why + ")"
			}
			out = append(out, line)
		}
	}
	for _, c := range p.Conflicts {
		out = append(out, "conflict: "+c.File+": "+c.Text)
	}
	for i, line := range out {
		out[i] = visible.Text(strings.Join(strings.Fields(line), " "))
	}
	return out
}

// ChangedLines returns the number of lines that a diff adds and removes.
func (f FilePlan) ChangedLines() (n int) {
	lines := strings.Split(f.Diff, "\n")
	for _, line := range lines[min(2, len(lines)):] { // the first two name the file
		if strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-") {
			n++
		}
	}
	return n
}
