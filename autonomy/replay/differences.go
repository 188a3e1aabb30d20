package replay

import (
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/llm"
	"hob/autonomy/session"
)

// differences collects the differences between a recording and its replay.
type differences struct{ list *[]Difference }

func (d *differences) addIfDifferent(what, where, was, now string) {
	if was != now {
		*d.list = append(*d.list, Difference{what, where, was, now})
	}
}

// compareStamps compares those parts of requests that are not messages. A turn without a stamp has
// nothing to compare.
func (d *differences) compareStamps(was, now session.RequestFingerprint) {
	if was == (session.RequestFingerprint{}) {
		return
	}
	if now.System != "" {
		d.addIfDifferent("system", "", was.System, now.System)
	}
	before, after := toolLines(was.Tools), toolLines(now.Tools)
	for _, n := range unionNames(before, after) {
		switch {
		case after[n] == "":
			d.addIfDifferent("tools", n, "offered", "not offered")
		case before[n] == "":
			d.addIfDifferent("tools", n, "not offered", "offered")
		case before[n] != after[n]:
			d.addIfDifferent("tools", n, "described as "+before[n], "described as "+after[n])
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

func unionNames(a, b map[string]string) (out []string) {
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

// compareMessages compares the stored messages of the turn. It ignores messages that only the
// recording has, because the end of the turn is compared separately. If only the replay has further
// messages, it reports the first of them.
func (d *differences) compareMessages(was, now []llm.Message) {
	for i := range min(len(was), len(now)) {
		a, b := was[i], now[i]
		if a.Role == llm.ToolRole && b.Role == llm.ToolRole {
			d.compareResults(a, b)
			continue
		}
		d.addIfDifferent("answer", "", formatAnswer(a), formatAnswer(b))
		d.addIfDifferent("provenance", "of the answer", taintLabel(a), taintLabel(b))
	}
	if len(now) > len(was) {
		d.addIfDifferent("answer", "", "", formatAnswer(now[len(was)]))
	}
}

func (d *differences) compareResults(was, now llm.Message) {
	for i := range max(len(was.Parts), len(now.Parts)) {
		a, b := resultOf(was, i), resultOf(now, i)
		name := a.Name
		if name == "" {
			name = b.Name
		}
		d.addIfDifferent("result", name, a.Text, b.Text)
	}
	d.addIfDifferent("provenance", "of results", taintLabel(was), taintLabel(now))
}

func resultOf(m llm.Message, i int) llm.ToolResult {
	if i >= len(m.Parts) || m.Parts[i].Result == nil {
		return llm.ToolResult{}
	}
	return *m.Parts[i].Result
}

// formatAnswer formats an answer and its tool calls.
func formatAnswer(m llm.Message) string {
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

func taintLabel(m llm.Message) string {
	for _, p := range m.Parts {
		if p.Source.Tainted() {
			return "outside"
		}
	}
	return "clean"
}

// compareVerdicts compares the guard's decisions on calls that both turns made.
func (d *differences) compareVerdicts(was, now []bus.Entry) {
	for _, a := range was {
		i := slices.IndexFunc(now, func(b bus.Entry) bool { return a.Call == b.Call })
		if i >= 0 {
			d.addIfDifferent("verdict", a.Tool, a.Decision, now[i].Decision)
		}
	}
}
