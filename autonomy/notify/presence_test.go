package notify_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"hob/autonomy/notify"
)

func TestPresence_ReturnsTheMachineOnlyWhileTheUserIsThere(t *testing.T) {
	for _, tt := range []struct {
		name, last string
		ago        time.Duration
		runs       bool
		want       string
	}{
		{"the channel of the machine does not run", "desktop", time.Second, false, ""},
		{"a message from the machine", "desktop", time.Second, true, "desktop"},
		{"a message from a phone", "telegram", time.Second, true, ""},
		{"an old message from the machine", "desktop", time.Hour, true, ""},
		{"no message", "", 0, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := notify.Presence{
				Machine: "desktop", Has: func(string) bool { return tt.runs }, Talking: time.Minute, AtMachine: 5 * time.Minute, Simulated: true, Log: slog.New(slog.DiscardHandler),
				LastMessage: func(context.Context) (string, time.Time, error) { return tt.last, time.Now().Add(-tt.ago), nil },
			}
			if got := p.Channel(t.Context()); got != tt.want {
				t.Errorf("Channel() = %q, want %q", got, tt.want)
			}
		})
	}
}
