package llm

import (
	"strings"

	"hob/platform/provenance"
	"hob/platform/text/promptfence"
)

// FenceUntrusted returns the messages as a model receives them: untrusted text is enclosed in the
// fence that was created when the text was stored. The result is deterministic, so an earlier
// request stays a prefix of the next one.
func FenceUntrusted(msgs []Message) []Message {
	var out []Message
	for i, m := range msgs {
		for j, p := range m.Parts {
			if p.Fence == "" || p.Text == "" && p.Result == nil {
				continue
			}
			if out == nil {
				out = append(make([]Message, 0, len(msgs)), msgs...)
			}
			if &out[i].Parts[0] == &m.Parts[0] {
				out[i].Parts = append(make([]Part, 0, len(m.Parts)), m.Parts...)
			}
			out[i].Parts[j] = p.fencedPart()
		}
	}
	if out == nil {
		return msgs
	}
	return out
}

func (p Part) fencedPart() Part {
	from := provenance.Told(unmarkedOrigins(p.Origins), 3)
	warning := ""
	if marks := provenance.Marks(p.Origins); len(marks) > 0 {
		warning = "it looks like an attempt to manipulate you: " + strings.Join(marks, ", ")
	}
	if p.Result != nil {
		r := *p.Result
		n := len(r.Text)
		if p.Fenced > 0 && p.Fenced < n {
			n = p.Fenced
		}
		r.Text = promptfence.Wrap(p.Fence, r.Text[:n], from, warning) + r.Text[n:]
		p.Result = &r
		return p
	}
	p.Text = promptfence.Wrap(p.Fence, p.Text, from, warning)
	return p
}

func unmarkedOrigins(list []provenance.Origin) []provenance.Origin {
	out := make([]provenance.Origin, len(list))
	for i, o := range list {
		o.Marks = nil
		out[i] = o
	}
	return out
}
