package session

import (
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/llm"
	"hob/platform/phrase"
)

// A tool's result that left the window is shown by its first characters and
// where the whole is; shorter ones stay.
const (
	stubChars = 160
	stubFrom  = 400
)

// stub is a message whose long results are cut down. It stays an answer to its
// calls, with the provenance of the whole.
func stub(id int64, m llm.Message) llm.Message {
	if m.Role != llm.ToolRole || !slices.ContainsFunc(m.Parts, long) {
		return m
	}
	m.Parts = slices.Clone(m.Parts)
	for i, p := range m.Parts {
		if !long(p) {
			continue
		}
		r := *p.Result
		r.Text = fmt.Sprintf("%s\n[the rest of this result, %d characters in all, was left out to save room; use_tool search_conversations {\"message\": %d} shows the whole]",
			strings.TrimSpace(phrase.Cut(r.Text, stubChars)), len(r.Text), id)
		m.Parts[i].Result, m.Parts[i].Fenced = &r, 0
	}
	return m
}

func long(p llm.Part) bool { return p.Result != nil && len(p.Result.Text) > stubFrom }

// stubbed is how long the window is with stubs before a message.
func (w *window) stubbed(at int64) (chars int) {
	for i, m := range w.msgs {
		if w.ids[i] < at {
			m = stub(w.ids[i], m)
		}
		chars += Chars(m)
	}
	return chars
}

// stubsFor finds from where on results stay whole so that the messages from
// index begin on have room, as far as stubs can give it. The last keep messages
// always stay.
func (w *window) stubsFor(begin, room, keep int) int64 {
	chars := 0
	for _, m := range w.msgs[begin:] {
		chars += Chars(m)
	}
	at := w.stubs
	for i := begin; i < len(w.msgs)-keep && chars > room; i++ {
		if saved := Chars(w.msgs[i]) - Chars(stub(w.ids[i], w.msgs[i])); saved > 0 {
			chars -= saved
			at = w.ids[i] + 1
		}
	}
	return at
}
