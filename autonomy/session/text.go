package session

import (
	"math"
	"strings"

	"hob/autonomy/llm"
	"hob/knowledge"
	"hob/platform/provenance"
)

// resultText is the maximum length of the searchable part of a tool's result, in bytes.
const resultText = 4_000

// searchableText returns the searchable text of a message and the worst provenance in it.
func searchableText(m llm.Message) (string, provenance.Source) { return textOf(m, resultText) }

// Text returns the text of a message, without the text that Hob added, and the worst provenance in
// it.
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

// Speakers in a transcript.
const (
	WhoOwner   = knowledge.ByOwner
	WhoHob     = knowledge.ByHob
	WhoTool    = knowledge.ByTool
	WhoOutside = knowledge.ByOutside // guests, and forwarded text
)

// Speakers lists the values of Query.Who.
func Speakers() []string { return []string{WhoOwner, WhoHob, WhoTool, WhoOutside} }

// SpeakerOf returns the speaker of a message.
func SpeakerOf(m llm.Message) string {
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
		if p.Source == provenance.Hob && !p.Context { // the action of a schedule
			return WhoHob
		}
	}
	return WhoOutside
}
