package session

import (
	"bytes"
	"context"
	"database/sql"
	_ "embed" // the text
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/autonomy/llm"
	"hob/platform/provenance"
	"hob/platform/wording"
)

// Summary stands for the older part of one conversation.
type Summary struct {
	First int64 `json:"first"` // the messages it stands for
	Last  int64 `json:"last"`
	Turns int   `json:"turns"`
	// Clean is made from what the owner and Hob said with no outside text in
	// view, by a model that saw nothing else; Outside from all other messages.
	Clean   Digest `json:"clean"`
	Outside Digest `json:"outside"`
	// Aged: the last messages that were taken in were clean, so what Outside
	// holds is no longer shown, only where it can be read.
	Aged bool `json:"aged,omitempty"`
	// Origins are from where the outside texts came.
	Origins []provenance.Origin `json:"origins,omitempty"`
	// Fence is the border around what was made of them (see llm.Fenced).
	Fence string `json:"fence,omitempty"`
	Pins  []Pin  `json:"pins"`
}

// Digest is what a model made of messages.
type Digest struct {
	Goal  string   `json:"goal,omitempty"`
	State string   `json:"state,omitempty"`
	Facts []string `json:"facts,omitempty"`
	Refs  []string `json:"refs,omitempty"`
	// Lines are beginnings of messages, where no model could be asked.
	Lines []string `json:"lines,omitempty"`
}

// Empty reports whether there is nothing in it.
func (d Digest) Empty() bool {
	return d.Goal == "" && d.State == "" && len(d.Facts)+len(d.Refs)+len(d.Lines) == 0
}

// Pin is something that was said and still holds, word for word.
type Pin struct {
	Kind    string            `json:"kind"` // constraint, decision, task, correction
	Quote   string            `json:"quote"`
	Message int64             `json:"message"` // where it was said
	Source  provenance.Source `json:"source"`
}

//go:embed summary.tmpl
var summaryText string

// Message is the summary as it stands in a request: one part for each
// provenance, so that what the owner said does not taint the conversation and
// what outside texts said does.
func (s *Summary) Message() llm.Message {
	m := llm.Message{Role: llm.User}
	add := func(name string, src provenance.Source, data any) {
		if text := render(name, data); text != "" {
			p := llm.Part{Text: text, Source: src, Context: true}
			if src.Tainted() {
				p.Origins, p.Fence = s.Origins, s.Fence
			}
			m.Parts = append(m.Parts, p)
		}
	}
	add("clean", provenance.Hob, s)
	for _, src := range []provenance.Source{provenance.Owner, provenance.Hob} {
		add(string(src), src, s.pins(src))
	}
	if !s.Aged {
		add("outside", provenance.Outside, map[string]any{"Outside": s.Outside, "Pins": s.pins(provenance.Outside)})
	}
	return m
}

// Elsewhere lists the messages in which something was pinned that is not shown.
func (s *Summary) Elsewhere() (ids []int64) {
	if !s.Aged {
		return nil
	}
	for _, p := range s.pins(provenance.Outside) {
		if !slices.Contains(ids, p.Message) {
			ids = append(ids, p.Message)
		}
	}
	return ids
}

// Hidden reports whether outside texts were summarised and are not shown.
func (s *Summary) Hidden() bool { return s.Aged && !s.Outside.Empty() }

func (s *Summary) pins(src provenance.Source) (out []Pin) {
	for _, p := range s.Pins {
		if p.Source == src || src == provenance.Outside && p.Source.Tainted() {
			out = append(out, p)
		}
	}
	return out
}

func render(name string, data any) string {
	t := wording.Must(wording.Parse(summaryText, wording.Funcs{"empty": Digest.Empty, "hidden": (*Summary).Hidden, "elsewhere": (*Summary).Elsewhere}))
	var b strings.Builder
	if err := t.ExecuteTemplate(&b, name, data); err != nil { // a mistake in the embedded text; the tests render it all
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

// summary reads the row of a conversation's own summary.
func (s *Sessions) summary(ctx context.Context, session string, id int64) (*Summary, error) {
	var raw []byte
	err := s.db.Read().QueryRowContext(ctx, `SELECT content FROM summaries WHERE id = ? AND session = ?`, id, session).Scan(&raw)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("the summary %d of %s is missing", id, session)
	}
	if err != nil {
		return nil, err
	}
	var out Summary
	return &out, json.Unmarshal(raw, &out)
}

// encodeSummary writes no HTML escapes, as encode does.
func encodeSummary(s *Summary) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return bytes.TrimSpace(b.Bytes()), err
}
