package autonomy

import (
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/llm"
	"hob/autonomy/session"
	"hob/platform/phrase"
)

// differences collects what is otherwise.
type differences struct{ list *[]Difference }

func (d *differences) add(what, where, was, now string) {
	if was != now {
		*d.list = append(*d.list, Difference{what, where, was, now})
	}
}

// stamps compares what requests are made of besides messages. A turn without a
// stamp has nothing to compare.
func (d *differences) stamps(was, now session.Stamp) {
	if was == (session.Stamp{}) {
		return
	}
	if now.System != "" {
		d.add("system", "", was.System, now.System)
	}
	before, after := toolLines(was.Tools), toolLines(now.Tools)
	for _, n := range names(before, after) {
		switch {
		case after[n] == "":
			d.add("tools", n, "offered", "not offered")
		case before[n] == "":
			d.add("tools", n, "not offered", "offered")
		case before[n] != after[n]:
			d.add("tools", n, "described as "+before[n], "described as "+after[n])
		}
	}
}

func toolLines(s string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(s) {
		name, digest, _ := strings.Cut(strings.TrimSpace(line), " ")
		out[name] = digest
	}
	return out
}

func names(a, b map[string]string) (out []string) {
	for _, m := range []map[string]string{a, b} {
		for n := range m {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	slices.Sort(out)
	return out
}

// messages compares the stored messages of the turn. It ignores messages that only one side
// has, because the turn's end is compared separately.
func (d *differences) messages(was, now []llm.Message) {
	for i := range min(len(was), len(now)) {
		a, b := was[i], now[i]
		if a.Role == llm.ToolRole && b.Role == llm.ToolRole {
			d.results(a, b)
			continue
		}
		d.add("answer", "", said(a), said(b))
		d.add("provenance", "of the answer", source(a), source(b))
	}
	if len(now) > len(was) {
		d.add("answer", "", "", said(now[len(was)]))
	}
}

func (d *differences) results(was, now llm.Message) {
	for i := range max(len(was.Parts), len(now.Parts)) {
		a, b := resultOf(was, i), resultOf(now, i)
		name := a.Name
		if name == "" {
			name = b.Name
		}
		d.add("result", name, a.Text, b.Text)
	}
	d.add("provenance", "of results", source(was), source(now))
}

func resultOf(m llm.Message, i int) llm.ToolResult {
	if i >= len(m.Parts) || m.Parts[i].Result == nil {
		return llm.ToolResult{}
	}
	return *m.Parts[i].Result
}

// said formats an answer and its calls.
func said(m llm.Message) string {
	var parts []string
	for _, p := range m.Parts {
		switch {
		case p.Call != nil:
			parts = append(parts, fmt.Sprintf("calls %s %s", p.Call.Name, p.Call.Args))
		case p.Text != "":
			parts = append(parts, p.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func source(m llm.Message) string {
	for _, p := range m.Parts {
		if p.Source.Tainted() {
			return "outside"
		}
	}
	return "clean"
}

// verdicts compares what the guard said to each call that was made both times.
func (d *differences) verdicts(was, now []bus.Entry) {
	for _, a := range was {
		i := slices.IndexFunc(now, func(b bus.Entry) bool { return a.Call == b.Call })
		if i >= 0 {
			d.add("verdict", a.Tool, a.Decision, now[i].Decision)
		}
	}
}

// Text formats the comparison for users.
func (r Replayed) Text() string {
	if r.Same {
		return fmt.Sprintf("same: turn %s of %s, %d answers and %d calls", r.Turn, r.Session, r.ModelCalls, r.Calls)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d differences: turn %s of %s, %d answers and %d calls", len(r.Differences), r.Turn, r.Session, r.ModelCalls, r.Calls)
	for _, x := range r.Differences {
		fmt.Fprintf(&b, "\n%s\n  - %s\n  + %s", strings.TrimSpace(x.What+" "+x.Where), around(x.Was, x.Now), around(x.Now, x.Was))
	}
	return b.String()
}

// around shows a text from shortly before the place where it differs.
func around(s, other string) string {
	at := 0
	for at < min(len(s), len(other)) && s[at] == other[at] {
		at++
	}
	if s == "" {
		return "(nothing)"
	}
	if from := at - 40; from > 0 {
		s = "… " + strings.ToValidUTF8(s[from:], "")
	}
	return phrase.Cut(s, 200)
}
