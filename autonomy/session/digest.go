package session

import (
	"cmp"
	_ "embed" // embeds the prompt
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/platform/text/promptfence"
	"hob/platform/text/textnorm"
)

//go:embed digest.md
var digestText string

//go:embed digest.json
var digestSchema string

// Limits for a summary, in characters.
const (
	maxLine   = 400
	maxState  = 2_400
	maxDigest = 7_000
	maxPin    = 400
	maxPins   = 8_000
	minQuote  = 4
)

// summarizedMessage is a message in the part that a summary replaces.
type summarizedMessage struct {
	id  int64
	msg llm.Message
}

// summaryAnswer is a model's summary in JSON form (digest.md).
type summaryAnswer struct {
	Goal  string   `json:"goal"`
	State string   `json:"state"`
	Facts []string `json:"facts"`
	Refs  []string `json:"refs"`
	Pins  []struct {
		Kind  string `json:"kind"`
		Quote string `json:"quote"`
	} `json:"pins"`
	Done []int `json:"done"`
}

// summaryRequest returns the request for one half of a summary. One half covers the trusted
// messages, and the other half those that contain untrusted text.
func summaryRequest(p *plan, prev Digest, pins []Pin, outside bool, room int) llm.Request {
	var b strings.Builder
	if !prev.Empty() {
		b.WriteString("# The earlier summary\n")
		b.WriteString(strings.TrimSpace(renderTemplate("digest", prev)) + "\n\n")
	}
	if len(pins) > 0 {
		b.WriteString("# Pinned already\n")
		for i, x := range pins {
			fmt.Fprintf(&b, "%d. %s: %s\n", i+1, x.Kind, x.Quote)
		}
		b.WriteString("\n")
	}
	b.WriteString("# What was said since\n")
	text := formatTranscript(p.old, outside, room-b.Len())
	if outside {
		text = promptfence.Wrap(promptfence.New(text), text, "", "")
	}
	b.WriteString(text)
	src := provenance.Hob
	if outside {
		src = provenance.Outside
	}
	return llm.Request{
		System: strings.TrimSpace(digestText), MaxTokens: 3000, Format: &llm.Format{Name: "summary", Schema: json.RawMessage(digestSchema)},
		Account:  llm.Account{Purpose: llm.ForSummary, Session: p.session, Event: p.turn, Unattended: p.unattended},
		Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: b.String(), Source: src}}}},
	}
}

// errAnswer means that the model's answer has the wrong form.
var errAnswer = errors.New("the model's answer is not a summary")

// parseAnswer parses a model's answer, which may be in a code fence or surrounded by text.
func parseAnswer(text string) (a summaryAnswer, err error) {
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if from < 0 || to < from {
		return a, errAnswer
	}
	if err := json.Unmarshal([]byte(text[from:to+1]), &a); err != nil {
		return a, fmt.Errorf("%w: %w", errAnswer, err)
	}
	if strings.TrimSpace(a.Goal+a.State) == "" && len(a.Facts) == 0 {
		return a, fmt.Errorf("%w: goal, state and facts are empty", errAnswer)
	}
	return a, nil
}

// toDigest limits the lengths of the strings in the answer. It puts each item on a single line, so
// that a summary of untrusted text cannot imitate another section.
func (a summaryAnswer) toDigest() Digest {
	d := Digest{Goal: textnorm.Ellipsize(a.Goal, maxLine), State: textnorm.Ellipsize(a.State, maxState)}
	room := maxDigest - len(d.Goal) - len(d.State)
	fit := func(list []string) (out []string) {
		for _, s := range list {
			if s = textnorm.Ellipsize(s, maxLine); s == "" || len(s) > room {
				continue
			}
			room -= len(s)
			out = append(out, s)
		}
		return out
	}
	d.Facts, d.Refs = fit(a.Facts), fit(a.Refs)
	return d
}

// verifiedPins returns the pins whose quotes occur in the summarized messages: in the parts with
// untrusted text if outside is set, otherwise in the other parts. It drops all other pins.
func (a summaryAnswer) verifiedPins(old []summarizedMessage, outside bool) (out []Pin) {
	for _, p := range a.Pins {
		quote := squeezeSpace(p.Quote)
		if !slices.Contains([]string{"constraint", "decision", "task", "correction"}, p.Kind) || len([]rune(quote)) < minQuote || len([]rune(quote)) > maxPin {
			continue
		}
		if id, src, ok := findQuote(old, quote, outside); ok {
			out = append(out, Pin{Kind: p.Kind, Quote: quote, Message: id, Source: src})
		}
	}
	return out
}

// findQuote searches the messages for a quote, starting with the newest.
func findQuote(old []summarizedMessage, quote string, outside bool) (id int64, src provenance.Source, ok bool) {
	for _, m := range slices.Backward(old) {
		for _, p := range m.msg.Parts {
			if p.Text != "" && !p.Context && p.Source.Tainted() == outside && strings.Contains(squeezeSpace(p.Text), quote) {
				return m.id, worstSource(p.Source), true
			}
		}
	}
	return 0, "", false
}

func worstSource(s provenance.Source) provenance.Source { return provenance.Worst(s) }

// squeezeSpace replaces runs of white space with single spaces.
func squeezeSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

// mergePins adds new pins to the old pins and removes completed ones. If there are too many, it
// drops tasks first, then decisions, and then the owner's constraints. Among pins of the same kind
// it drops the oldest first.
func mergePins(old, fresh []Pin) []Pin {
	out := slices.Clone(old)
	for _, p := range fresh {
		if !slices.ContainsFunc(out, func(q Pin) bool { return q.Kind == p.Kind && q.Quote == p.Quote }) {
			out = append(out, p)
		}
	}
	size := 0
	for _, p := range out {
		size += len(p.Quote)
	}
	for size > maxPins {
		worth := map[string]int{"task": 0, "decision": 1}
		least := 0
		for i, p := range out {
			if pinRank(worth, p) < pinRank(worth, out[least]) {
				least = i
			}
		}
		size -= len(out[least].Quote)
		out = slices.Delete(out, least, least+1)
	}
	return out
}

func pinRank(worth map[string]int, p Pin) int {
	if n, ok := worth[p.Kind]; ok {
		return n
	}
	return 2
}

// withoutDone returns the pins without the tasks that the answer marks as done.
func withoutDone(pins []Pin, done []int) (out []Pin) {
	for i, p := range pins {
		if p.Kind != "task" || !slices.Contains(done, i+1) {
			out = append(out, p)
		}
	}
	return out
}

// extractLines returns the first lines of messages, for use without a model. It returns the newest
// lines that fit.
func extractLines(prev Digest, old []summarizedMessage) Digest {
	var fresh []string
	for _, m := range old {
		for _, p := range m.msg.Parts {
			if p.Text == "" || p.Context || p.Source.Tainted() {
				continue
			}
			fresh = append(fresh, fmt.Sprintf("- %s (message %d): %s", speakerName(m.msg.Role, p), m.id, textnorm.Ellipsize(p.Text, 150)))
		}
	}
	prev.Lines = append(slices.Clone(prev.Lines), fresh...)
	size, from := 0, len(prev.Lines)
	for from > 0 && size+len(prev.Lines[from-1]) <= maxDigest {
		from--
		size += len(prev.Lines[from])
	}
	prev.Lines = prev.Lines[from:]
	return prev
}

func speakerName(role llm.Role, p llm.Part) string {
	switch {
	case role == llm.Assistant:
		return "Hob"
	case p.Source == provenance.Owner:
		return "owner"
	case p.Source == provenance.Hob:
		return "task"
	}
	return "outside"
}

// formatTranscript formats messages for the model that summarizes them: either the parts with
// untrusted text or the other parts. If room is too small, it first shortens results and then
// removes text from the middle.
func formatTranscript(old []summarizedMessage, outside bool, room int) string {
	text := ""
	for _, limit := range []struct{ said, result int }{{8000, 1500}, {4000, 500}, {2000, 150}, {600, 60}} {
		if text = transcriptLines(old, outside, limit.said, limit.result); len(text) <= room {
			return text
		}
	}
	half := max(room/2-20, 0)
	return strings.ToValidUTF8(text[:half]+"\n[...]\n"+text[len(text)-half:], "\uFFFD")
}

func transcriptLines(old []summarizedMessage, outside bool, said, result int) string {
	var b strings.Builder
	for _, m := range old {
		for _, p := range m.msg.Parts {
			if p.Context || p.Reasoning != nil || p.Source.Tainted() != outside {
				continue
			}
			switch {
			case p.Call != nil:
				fmt.Fprintf(&b, "[%d] Hob calls %s %s\n", m.id, p.Call.Name, shortenMiddle(string(p.Call.Args), result))
			case p.Result != nil:
				fmt.Fprintf(&b, "[%d] result of %s: %s\n", m.id, p.Result.Name, shortenMiddle(p.Result.Text, result))
			case p.Image != nil:
				fmt.Fprintf(&b, "[%d] (a picture)\n", m.id)
			default:
				fmt.Fprintf(&b, "[%d] %s: %s\n", m.id, speakerName(m.msg.Role, p), shortenMiddle(p.Text, said))
			}
		}
	}
	return b.String()
}

// shortenMiddle keeps the beginning and the end of s.
func shortenMiddle(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n*2/3]+" [...] "+s[len(s)-n/3:], "")
}

// hasTainted reports whether any part of the messages is untrusted.
func hasTainted(old []summarizedMessage) bool {
	return slices.ContainsFunc(old, func(m summarizedMessage) bool {
		return slices.ContainsFunc(m.msg.Parts, func(p llm.Part) bool { return p.Source.Tainted() })
	})
}

// hasClean reports whether any part of the messages is trusted and not empty.
func hasClean(old []summarizedMessage) bool {
	return slices.ContainsFunc(old, func(m summarizedMessage) bool {
		return slices.ContainsFunc(m.msg.Parts, func(p llm.Part) bool { return !p.Source.Tainted() && !p.Context })
	})
}

// modelName returns the name of the model for records.
func modelName(r llm.Response, m llm.Model) string { return cmp.Or(r.Model, m.Info().Name()) }
