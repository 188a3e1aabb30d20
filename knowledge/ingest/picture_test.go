package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"hob/autonomy/api"
	"hob/platform/provenance"
	"hob/platform/text/document"
)

const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

// fakeVision is a fake vision model that is sometimes unavailable.
type fakeVision struct {
	away, bad bool
	asked     int
}

func (e *fakeVision) Ready(context.Context) error {
	if e.away {
		return fmt.Errorf("the budget is used up; %w", ErrLater)
	}
	return nil
}

func (e *fakeVision) Describe(context.Context, []byte) (string, error) {
	e.asked++
	if e.bad {
		return "", errors.New("not an image")
	}
	return "A red bicycle in front of the town hall.", nil
}

func TestPicture_IsRetried(t *testing.T) {
	w := openFixture(t)
	see := &fakeVision{away: true}
	w.l.opt.Pictures = see
	f := Folder{Path: "/f"}
	w.putFile("/f/bike.png", png)
	r, err := w.l.Reconcile(t.Context(), f, nil)
	failOnError(t, err)
	if len(r.Skipped) != 1 || !r.later["/f/bike.png"] || !strings.Contains(r.Skipped[0].Reason, "the budget is used up; retrying later") {
		t.Fatalf("%+v", r)
	}
	list, err := w.l.Documents(t.Context(), api.Query{Limit: 10})
	failOnError(t, err)
	if len(list) != 1 || !strings.Contains(list[0].Error, "budget") {
		t.Fatalf("%+v", list)
	}
	see.away = false
	for range 3 {
		r, err = w.l.Reconcile(t.Context(), f, nil)
		failOnError(t, err)
	}
	if r.Documents != 1 || len(r.Skipped) > 0 || see.asked != 1 {
		t.Fatalf("Reconcile = %+v, calls of the model = %d, want 1", r, see.asked)
	}
	if broken, err := w.l.Documents(t.Context(), api.Query{State: "failed", Limit: 10}); err != nil || len(broken) > 0 {
		t.Fatalf("Documents = %+v, %v", broken, err)
	}
	list, err = w.l.Documents(t.Context(), api.Query{Limit: 10})
	failOnError(t, err)
	if len(list) != 1 || list[0].Provenance != provenance.Outside || list[0].Kind != "image" || list[0].Error != "" {
		t.Fatalf("%+v", list)
	}
}

// An image that cannot be described is skipped until it changes or the user requests it.
func TestPicture_UnusableIsSkipped(t *testing.T) {
	w := openFixture(t)
	see := &fakeVision{bad: true}
	w.l.opt.Pictures = see
	w.putFile("/f/bike.png", png)
	for range 2 {
		r, err := w.l.Reconcile(t.Context(), Folder{Path: "/f"}, nil)
		failOnError(t, err)
		if len(r.Skipped) != 1 || len(r.later) > 0 {
			t.Fatalf("%+v", r)
		}
	}
	if see.asked != 1 {
		t.Errorf("calls of the model = %d, want 1", see.asked)
	}
	_, err := w.l.Ingest(t.Context(), FileOptions{Path: "/f/bike.png", Asked: true, Dry: true})
	if !errors.Is(err, document.ErrUnsupported) && err != nil || see.asked != 1 {
		t.Errorf("Ingest: %v, calls of the model = %d, want 1", err, see.asked)
	}
}
