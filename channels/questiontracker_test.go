package channels_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
)

// TestQuestionTracker: the buttons of a question are removed when the question has ended. If the platform
// cannot be reached at that time, they are removed after the next start.
func TestQuestionTracker(t *testing.T) {
	keep, buttons := &channelstest.Keeper{}, &channelstest.Buttons{Owner: "o", Question: "q"}
	open := func() *channels.QuestionTracker {
		return channels.NewAsked(keep, buttons, slog.New(slog.DiscardHandler))
	}
	kept := func() string {
		raw, err := keep.Get(t.Context(), "asked")
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	began := time.Now().Truncate(time.Millisecond)
	open().Add(t.Context(), "q", "c", "m")
	a := open() // of another start
	a.Add(t.Context(), "q2", "c", "m2")
	if at := a.Since(t.Context(), "q", "m", time.Time{}); at.Before(began) || at.After(time.Now()) {
		t.Errorf("Since = %s, want the time of Add", at)
	}
	if at := a.Since(t.Context(), "q", "m2", began); !at.Equal(began) {
		t.Errorf("Since of another message = %s", at)
	}
	var mu sync.Mutex
	tries := map[string]int{}
	watch := func(a *channels.QuestionTracker, err error) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			a.Watch(ctx, time.Millisecond, func(_ context.Context, s channels.PostedQuestion) error {
				mu.Lock()
				defer mu.Unlock()
				tries[s.Message]++
				return err
			})
		})
		return func() { cancel(); wg.Wait() }
	}
	count := func(message string) int {
		mu.Lock()
		defer mu.Unlock()
		return tries[message]
	}
	stop := watch(a, errors.New("the line is dead"))
	if count("m") > 0 {
		t.Error("the buttons were removed before an answer")
	}
	if _, err := buttons.Answer(t.Context(), "x", "q", time.Now(), true); err != nil {
		t.Fatal(err)
	}
	channelstest.Until(t, "all tries", func() bool { return count("m") == 6 && count("m2") == 6 })
	stop()
	if !strings.Contains(kept(), `"m2"`) {
		t.Errorf("questions whose removal failed are not stored: %s", kept())
	}
	stop = watch(open(), channels.Errorf(channels.Permanent, "the message is gone"))
	channelstest.Until(t, "the removal of the stored questions", func() bool { return kept() == "[]" })
	stop()
	if count("m") != 7 {
		t.Errorf("%d attempts to remove the buttons, want 7", count("m"))
	}
}
