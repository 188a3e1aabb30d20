package session

import (
	"math"
	"strings"

	"hob/autonomy/llm"
	"hob/platform/provenance"
)

// resultText is how much of a tool's result can be found, in bytes.
const resultText = 4_000

// searchable is what of a message can be found, and the worst provenance of it.
func searchable(m llm.Message) (string, provenance.Source) { return textOf(m, resultText) }

// Text is all that was said in a message, without what Hob added to it, and the
// worst provenance of it.
func Text(m llm.Message) (string, provenance.Source) { return textOf(m, math.MaxInt) }

func textOf(m llm.Message, most int) (string, provenance.Source) {
	var b strings.Builder
	var sources []provenance.Source
	for _, p := range m.Parts {
		text := p.Text
		if p.Result != nil {
			text = p.Result.Text
			if len(text) > most {
				text = strings.ToValidUTF8(text[:most], "")
			}
		}
		if text == "" || p.Context {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text)
		sources = append(sources, p.Source)
	}
	return b.String(), provenance.Worst(sources...)
}

// The people of a transcript.
const (
	WhoOwner   = "owner"
	WhoHob     = "hob"
	WhoTool    = "tool"
	WhoOutside = "outside" // guests, and what came along
)

// Who tells whose a message is.
func Who(m llm.Message) string {
	switch m.Role {
	case llm.Assistant:
		return WhoHob
	case llm.ToolRole:
		return WhoTool
	}
	for _, p := range m.Parts {
		if p.Source == provenance.Owner && !p.Context {
			return WhoOwner
		}
	}
	for _, p := range m.Parts {
		if p.Source == provenance.Hob && !p.Context { // what a schedule orders
			return WhoHob
		}
	}
	return WhoOutside
}
