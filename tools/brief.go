package tools

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"hob/platform/provenance"
	"hob/platform/text/credential"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// BriefItem is one line of a daily briefing.
type BriefItem struct {
	At   time.Time `json:"at"` // zero if the item has no time of day
	Text string    `json:"text"`
	// Source is Outside if Text contains text that the owner did not write. An empty Source is
	// treated as Outside.
	Source provenance.Source `json:"source"`
	// Beside is true for an item that is not important enough for a notification of its own.
	Beside bool `json:"beside,omitempty"`
}

// BriefSource contributes a section to the daily briefing: tasks, reminders, calendars, email,
// habits or spending. An error means that the source, or part of it, could not be read; the
// briefing then shows the error in addition to the items that were found. An empty list means that
// there are no items. Brief must return soon even if a server does not respond, and must not write
// anything.
type BriefSource interface {
	BriefTitle() string
	// Brief returns the items of the day [from, to) in the owner's zone.
	Brief(ctx context.Context, from, to time.Time) ([]BriefItem, error)
}

// BriefSection is the section of one source.
type BriefSection struct {
	Title string      `json:"title"`
	Items []BriefItem `json:"items"` // items with a time first, in order of time
	// Error describes why the source, or part of it, could not be read.
	Error string `json:"error,omitempty"`
}

// Brief queries all sources concurrently and returns their sections in the order of sources,
// including empty ones. The provenance that it returns covers the text of all items.
func Brief(ctx context.Context, sources []BriefSource, from, to time.Time) ([]BriefSection, provenance.Source) {
	out := make([]BriefSection, len(sources))
	said := make([]provenance.Source, len(sources))
	var wg sync.WaitGroup
	for i, s := range sources {
		wg.Go(func() { out[i], said[i] = readBriefSection(ctx, s, from, to) })
	}
	wg.Wait()
	return out, provenance.Worst(append(said, provenance.Tool)...)
}

func readBriefSection(ctx context.Context, s BriefSource, from, to time.Time) (BriefSection, provenance.Source) {
	source := provenance.Tool
	items, err := s.Brief(ctx, from, to)
	out := BriefSection{Title: s.BriefTitle(), Items: append([]BriefItem{}, items...)}
	if err != nil {
		out.Error, source = err.Error(), SourceOf(err)
	}
	sorting.StableByFunc(out.Items, func(a, b BriefItem) int {
		if a.At.IsZero() != b.At.IsZero() {
			if a.At.IsZero() {
				return 1
			}
			return -1
		}
		return a.At.Compare(b.At)
	})
	for i, it := range out.Items {
		// hide all credentials, because the user did not ask for one by name
		out.Items[i].Text, _ = credential.Viewer{}.Show("", it.Text)
		if it.Source.Tainted() {
			source = provenance.Outside
		}
	}
	return out, source
}

// JoinSourceErrors joins the errors of several network sources into one. It returns nil if there
// are none. The error may quote a server.
func JoinSourceErrors(errs []error) error {
	var words []string
	for _, err := range errs {
		if err != nil {
			words = append(words, err.Error())
		}
	}
	if len(words) == 0 {
		return nil
	}
	return &Error{Code: Failed, Message: textnorm.Ellipsize(strings.Join(words, "; "), 600), Err: errors.Join(errs...), Source: provenance.Outside}
}
