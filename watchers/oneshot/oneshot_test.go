package oneshot

import (
	"encoding/json"
	"testing"
	"time"

	"hob/watchers"
	"hob/watchers/watcherstest"
)

func TestConformance(t *testing.T) {
	watcherstest.Run(t, watcherstest.Suite{
		New:    func() watchers.Driver { return New() },
		Config: func(*testing.T) json.RawMessage { return json.RawMessage(`{"at":"2026-05-04T15:00:00+03:00"}`) },
		Bad: []string{
			`{}`, `{"at":""}`, `{"at":"tomorrow"}`, `{"at":"2026-05-04"}`, `{"at":"2026-05-04T15:00:00"}`, `{"at":1}`,
			`{"at":"0001-01-01T00:00:00Z"}`, `{"at":"9999-12-31T23:59:59Z"}`,
		},
	})
}

func TestNext(t *testing.T) {
	d := New()
	made, err := d.New(watchers.Spec{Config: json.RawMessage(`{"at":"2026-05-04T15:00:00.1239+03:00"}`)}, watchers.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	o := made.(watchers.Timed)
	at := time.Date(2026, 5, 4, 12, 0, 0, 123_000_000, time.UTC)
	for name, c := range map[string]struct {
		after time.Time
		want  bool
	}{
		"long before": {at.AddDate(-5, 0, 0), true},
		"just before": {at.Add(-time.Millisecond), true},
		"at it":       {at, false},
		"after it":    {at.Add(time.Second), false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := o.Next(c.after)
			if ok != c.want || (ok && !got.Equal(at)) {
				t.Errorf("Next(%s) = %s, %t", c.after, got, ok)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	vilnius, err := time.LoadLocation("Europe/Vilnius")
	if err != nil {
		t.Fatal(err)
	}
	config := json.RawMessage(`{"at":"2026-05-04T12:00:00Z"}`)
	if got, want := New().DescribeConfigIn(config, vilnius), "once on Mon 4 May 2026 at 15:00"; got != want {
		t.Errorf("DescribeIn = %q, want %q", got, want)
	}
	if got, want := New().DescribeConfig(config), "once on Mon 4 May 2026 at 12:00"; got != want {
		t.Errorf("Describe = %q, want %q", got, want)
	}
}

func FuzzConfig(f *testing.F) {
	for _, s := range []string{`{"at":"2026-05-04T15:00:00+03:00"}`, `{"at":"2026-05-04T15:00:00"}`, `{}`, `{"at":"9998-12-31T23:59:59-23:59"}`, `{"at":1}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, config string) {
		made, err := New().New(watchers.Spec{Config: json.RawMessage(config)}, watchers.Deps{})
		if err != nil {
			return
		}
		if at, ok := made.(watchers.Timed).Next(time.Time{}); ok {
			if _, err := json.Marshal(at); err != nil {
				t.Fatal(err)
			}
			if _, again := made.(watchers.Timed).Next(at); again {
				t.Fatal("Next returns the same time twice")
			}
		}
		_ = New().DescribeConfig(json.RawMessage(config))
	})
}
