package session

import (
	"bytes"
	"context"
	"database/sql"
	_ "embed" // embeds the templates
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/platform/text/minitmpl"
)

// Summary replaces the older part of a conversation.
type Summary struct {
	First int64 `json:"first"` // range of the summarized messages
	Last  int64 `json:"last"`
	Turns int   `json:"turns"`
	// Clean is the summary of messages from the owner and Hob that contain no untrusted text. It
	// was written without access to other messages. Outside is the summary of the other messages.
	Clean   Digest `json:"clean"`
	Outside Digest `json:"outside"`
	// Aged reports whether the last summarized messages were trusted. Outside is then no longer
	// shown; only its location is.
	Aged bool `json:"aged,omitempty"`
	// Origins lists the origins of the untrusted text.
	Origins []provenance.Origin `json:"origins,omitempty"`
	// Fence is the delimiter around Outside (see llm.FenceUntrusted).
	Fence string `json:"fence,omitempty"`
	Pins  []Pin  `json:"pins"`
}

// Digest is a model's summary of messages.
type Digest struct {
	Goal  string   `json:"goal,omitempty"`
	State string   `json:"state,omitempty"`
	Facts []string `json:"facts,omitempty"`
	Refs  []string `json:"refs,omitempty"`
	// Lines holds the first lines of messages. It is used if no model wrote a summary.
	Lines []string `json:"lines,omitempty"`
}

// Empty reports whether the digest is empty.
func (d Digest) Empty() bool {
	return d.Goal == "" && d.State == "" && len(d.Facts)+len(d.Refs)+len(d.Lines) == 0
}

// Pin is a verbatim quote that still applies.
type Pin struct {
	Kind    string            `json:"kind"` // constraint, decision, task or correction
	Quote   string            `json:"quote"`
	Message int64             `json:"message"` // message that contains the quote
	Source  provenance.Source `json:"source"`
}

//go:embed summary.tmpl
var summaryText string

// Message returns the summary as a message. The message has one part per provenance, so that
// untrusted text taints the conversation but the owner's text does not.
func (s *Summary) Message() llm.Message {
	m := llm.Message{Role: llm.User}
	add := func(name string, src provenance.Source, data any) {
		if text := renderTemplate(name, data); text != "" {
			p := llm.Part{Text: text, Source: src, Context: true}
			if src.Tainted() {
				p.Origins, p.Fence = s.Origins, s.Fence
			}
			m.Parts = append(m.Parts, p)
		}
	}
	add("clean", provenance.Hob, s)
	for _, src := range []provenance.Source{provenance.Owner, provenance.Hob} {
		add(string(src), src, s.pinsOf(src))
	}
	if !s.Aged {
		add("outside", provenance.Outside, map[string]any{"Outside": s.Outside, "Pins": s.pinsOf(provenance.Outside)})
	}
	return m
}

// HiddenPins returns the ids of the messages whose pins are not shown.
func (s *Summary) HiddenPins() (ids []int64) {
	if !s.Aged {
		return nil
	}
	for _, p := range s.pinsOf(provenance.Outside) {
		if !slices.Contains(ids, p.Message) {
			ids = append(ids, p.Message)
		}
	}
	return ids
}

// HidesUntrusted reports whether there is a summary of untrusted text that is not shown.
func (s *Summary) HidesUntrusted() bool { return s.Aged && !s.Outside.Empty() }

func (s *Summary) pinsOf(src provenance.Source) (out []Pin) {
	for _, p := range s.Pins {
		if p.Source == src || src == provenance.Outside && p.Source.Tainted() {
			out = append(out, p)
		}
	}
	return out
}

func renderTemplate(name string, data any) string {
	t := minitmpl.Must(minitmpl.Parse(summaryText, minitmpl.Funcs{"empty": Digest.Empty, "hidden": (*Summary).HidesUntrusted, "elsewhere": (*Summary).HiddenPins}))
	var b strings.Builder
	if err := t.ExecuteTemplate(&b, name, data); err != nil { // the embedded text has an error; the tests render all of it
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

// readSummary returns the current summary of a conversation.
func (s *Sessions) readSummary(ctx context.Context, session string, id int64) (*Summary, error) {
	var raw []byte
	err := s.db.Read().QueryRowContext(ctx, `SELECT content FROM summaries WHERE id = ? AND session = ?`, id, session).Scan(&raw)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("summary %d of %s not found", id, session)
	}
	if err != nil {
		return nil, err
	}
	var out Summary
	return &out, json.Unmarshal(raw, &out)
}

// encodeSummary encodes a summary without HTML escapes, like encodeMessage.
func encodeSummary(s *Summary) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return bytes.TrimSpace(b.Bytes()), err
}
