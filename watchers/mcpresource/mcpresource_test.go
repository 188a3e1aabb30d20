package mcpresource_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hob/watchers"
	"hob/watchers/mcpresource"
	"hob/watchers/watcherstest"
)

// fakeResources is a fake of watchers.Resources with the resources keyed by URI.
type fakeResources struct {
	mu    sync.Mutex
	texts map[string]string
	fails bool
	reads int
}

func (s *fakeResources) setText(uri, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	s.texts[uri] = text
}

func (s *fakeResources) CheckServer(name string) error {
	if name != "files" {
		return errors.New("no such server")
	}
	return nil
}

func (s *fakeResources) WatchResource(ctx context.Context, _, uri string) (watchers.Resource, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if s.fails {
		return watchers.Resource{}, errors.New("the server ended")
	}
	text := s.texts[uri]
	return watchers.Resource{Text: text, Size: len(text), Digest: fmt.Sprintf("%x", text)}, ctx.Err()
}

func uriOf(config json.RawMessage) string {
	var c struct{ URI string }
	_ = json.Unmarshal(config, &c)
	return c.URI
}

func TestConformance(t *testing.T) {
	s := &fakeResources{}
	watcherstest.Run(t, watcherstest.Suite{
		New: func() watchers.Driver { return mcpresource.New() },
		Config: func(t *testing.T) json.RawMessage {
			return json.RawMessage(fmt.Sprintf(`{"server":"files","uri":"memo://%s"}`, strings.NewReplacer("/", "-", " ", "_", ",", "").Replace(t.Name())))
		},
		Bad:     []string{`{}`, `{"server":"files"}`, `{"uri":"memo://x"}`, `{"server":"files","uri":"two words"}`, `{"server":"other","uri":"memo://x"}`},
		Provoke: func(_ *testing.T, config json.RawMessage, n int) { s.setText(uriOf(config), fmt.Sprint("version ", n)) },
		Polled:  true, Timeless: true, Merges: true, Resources: s,
		Fail: func(_ *testing.T, on bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.fails = on
		},
	})
}

func TestPoll(t *testing.T) {
	s := &fakeResources{}
	p := watchers.Progress{First: true}
	var said []string
	for _, text := range []string{"a\nb", "a\nb", "a\nurgent: c", "a\nd", "a\nurgent: c"} {
		s.setText("memo://x", text)
		made, err := mcpresource.New().New(watchers.Spec{Config: json.RawMessage(`{"server":"files","uri":"memo://x","words":["urgent"]}`)}, watchers.Deps{Resources: s})
		if err != nil {
			t.Fatal(err)
		}
		found, err := made.(watchers.Polled).Poll(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, sig := range found.Signals {
			said = append(said, sig.Key[strings.Index(sig.Key, ":"):][:3]+" "+sig.Text)
			if !sig.Source.Tainted() {
				t.Errorf("%q is trusted", sig.Text)
			}
		}
		p.First, p.Cursor = false, found.Cursor
	}
	want := `:1: Changed: memo://x of files: "b" became "urgent: c"|:2: Changed: memo://x of files: "urgent: c" became "d"|:3: Changed: memo://x of files: "d" became "urgent: c"`
	if got := strings.Join(said, "|"); got != want {
		t.Errorf("fired %s\nwant  %s", got, want)
	}
}

// Announcements cause an immediate poll, but at most one poll every 10 s.
func TestAnnouncements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeResources{}
		s.setText("memo://x", "one")
		st := watcherstest.Open(t, mcpresource.New())
		sink := watcherstest.NewSink(st)
		opt := watcherstest.Options(st, sink, mcpresource.New())
		opt.Resources = func() watchers.Resources { return s }
		m, err := watchers.New(opt)
		if err != nil {
			t.Fatal(err)
		}
		topic := watchers.ResourceTopic("files", "memo://x")
		if m.AnnounceChange(topic); m.HasTopic(topic) {
			t.Error("AnnounceChange without Run created a topic")
		}
		defer watcherstest.Start(t, m)()
		watcherstest.Create(t, st, m, watchers.Spec{Kind: mcpresource.Kind, Config: json.RawMessage(`{"server":"files","uri":"memo://x"}`), Mode: watchers.Notify, Report: "test", CreatedAt: time.Now()})
		for _, step := range []struct {
			text  string
			after time.Duration
			fired int
			reads int
		}{{"one", time.Second, 0, 1}, {"two", time.Second, 0, 1}, {"two", 10 * time.Second, 1, 2}, {"three", 10 * time.Second, 2, 3}} {
			s.setText("memo://x", step.text)
			if step.reads > 1 || step.text == "two" {
				for range 1000 {
					m.AnnounceChange(topic)
				}
			}
			time.Sleep(step.after)
			synctest.Wait()
			s.mu.Lock()
			if len(sink.Fired()) != step.fired || s.reads != step.reads {
				t.Errorf("%q: fired %d, read %d times, want %+v", step.text, len(sink.Fired()), s.reads, step)
			}
			s.mu.Unlock()
		}
		if !m.HasTopic(topic) {
			t.Error("the topic is unknown")
		}
	})
}
