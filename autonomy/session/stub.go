package session

import (
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/llm"
	"hob/platform/text/textnorm"
)

// In the older messages of a window, a tool's result is replaced with its first characters and a
// reference to the full text. Short results are kept.
const (
	stubChars = 160
	stubFrom  = 400
)

// stubMessage returns a message in which long results are shortened. It keeps the call ids and the
// provenance.
func stubMessage(id int64, m llm.Message) llm.Message {
	if m.Role != llm.ToolRole || !slices.ContainsFunc(m.Parts, isLong) {
		return m
	}
	m.Parts = slices.Clone(m.Parts)
	for i, p := range m.Parts {
		if !isLong(p) {
			continue
		}
		r := *p.Result
		r.Text = fmt.Sprintf("%s\n[the rest of this result, %d characters in total, was omitted to save space; use_tool search_conversations {\"message\": %d} shows all of it]",
			strings.TrimSpace(textnorm.Ellipsize(r.Text, stubChars)), len(r.Text), id)
		m.Parts[i].Result, m.Parts[i].Fenced = &r, 0
	}
	return m
}

func isLong(p llm.Part) bool { return p.Result != nil && len(p.Result.Text) > stubFrom }

// stubbedSize returns the size of the window in bytes if the results in messages before at are
// stubs.
func (w *window) stubbedSize(at int64) (chars int) {
	for i, m := range w.msgs {
		if w.ids[i] < at {
			m = stubMessage(w.ids[i], m)
		}
		chars += MessageBytes(m)
	}
	return chars
}

// stubsFor returns the id of the first message whose results stay complete. It turns only as many
// results into stubs as needed so that the messages from index begin on fit into room, if that is
// possible. Results in the last keep messages stay complete.
func (w *window) stubsFor(begin, room, keep int) int64 {
	chars := 0
	for _, m := range w.msgs[begin:] {
		chars += MessageBytes(m)
	}
	at := w.stubs
	for i := begin; i < len(w.msgs)-keep && chars > room; i++ {
		if saved := MessageBytes(w.msgs[i]) - MessageBytes(stubMessage(w.ids[i], w.msgs[i])); saved > 0 {
			chars -= saved
			at = w.ids[i] + 1
		}
	}
	return at
}
