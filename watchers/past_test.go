package watchers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/platform/store"
	"hob/watchers"
)

// historyWatcher is a kind with a history.
type historyWatcher struct{ polledSource }

func (historyWatcher) Past(_ context.Context, since time.Time) (out []watchers.Signal, err error) {
	for _, d := range []time.Duration{time.Hour, 1000 * time.Hour} {
		out = append(out, watchers.Signal{Text: d.String(), At: since.Add(d)})
	}
	return out, nil
}

// historyDriver is a driver that creates tellers. It panics if the configuration says so.
type historyDriver struct{ source }

func (*historyDriver) Describe() watchers.Description          { return watchers.Description{Kind: "teller"} }
func (*historyDriver) DescribeConfig(c json.RawMessage) string { return "the past" }
func (*historyDriver) Migrations() []store.MigrationSet        { return nil }

func (s *historyDriver) New(spec watchers.Spec, _ watchers.Deps) (any, error) {
	if string(spec.Config) == `{"panic":true}` {
		panic("boom")
	}
	return historyWatcher{polledSource{&s.source}}, nil
}

func TestPast(t *testing.T) {
	until := time.Date(2026, 5, 8, 12, 0, 0, 0, time.UTC)
	h := newFixture(t, &source{}, &historyDriver{})
	for _, c := range []struct {
		kind, config string
		want         []string
		err          error
	}{
		{"cron", `{"cron":"0 8 * * 1-5"}`, []string{"4 08:00", "5 08:00", "6 08:00", "7 08:00", "8 08:00"}, nil},
		{"cron", `{"interval":"72h"}`, []string{"1 12:00", "4 12:00", "7 12:00"}, nil},
		{"oneshot", `{"at":"2026-05-03T10:00:00Z"}`, []string{"3 10:00"}, nil},
		{"oneshot", `{"at":"2026-05-09T10:00:00Z"}`, nil, nil},
		{"teller", `{}`, []string{"1 13:00"}, nil},
		{"source", `{}`, nil, watchers.ErrNoPast},
		{"source", `{"colour":1}`, nil, watchers.ErrInvalid},
		{"nonsense", `{}`, nil, watchers.ErrInvalid},
	} {
		t.Run(c.kind+c.config, func(t *testing.T) {
			list, err := h.m.Past(t.Context(), watchers.Spec{Kind: c.kind, Config: json.RawMessage(c.config)}, until.AddDate(0, 0, -7), until)
			var got []string
			for _, s := range list {
				got = append(got, s.At.UTC().Format("2 15:04"))
				if s.Text == "" {
					t.Errorf("%+v", s)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" || !errors.Is(err, c.err) {
				t.Error(diff, err)
			}
		})
	}
	if _, err := h.m.Past(t.Context(), watchers.Spec{Kind: "teller", Config: json.RawMessage(`{"panic":true}`)}, until, until); err == nil {
		t.Error("a panic is not reported as an error")
	}
	if rows := len(h.sink.Fired()); rows != 0 {
		t.Errorf("fired %d times", rows)
	}
	if list, err := h.m.Past(t.Context(), watchers.Spec{Kind: "cron", Config: json.RawMessage(`{"interval":"1s"}`)}, until.AddDate(0, 0, -7), until); err != nil || len(list) != 1000 {
		t.Errorf("%d, %v", len(list), fmt.Sprint(err))
	}
}
