package channel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/config"
	"hob/channels"
)

// patience is the timeout for one sign-in.
const patience = 12 * time.Second

// Reasons why a channel cannot be tested.
var (
	ErrUnknown  = errors.New("unknown channel")
	ErrUnset    = errors.New("channel is not set up")
	ErrUntested = errors.New("channel cannot be tested without sending a message")
)

// Test creates a channel from the configuration with the driver called name, and signs in and out.
// It sends nothing. It returns the result as a sentence. deps needs no Keep, because the channel
// does not run. Test also tests disabled channels. An error has its remedy after the last "; ".
// Test returns ErrUntested if the channel can be created but has no sign-in.
func Test(ctx context.Context, c *config.Config, drivers []channels.Driver, name string, deps channels.Deps) (string, error) {
	k, known := Find(name)
	s, there := c.Channel(name)
	i := slices.IndexFunc(drivers, func(d channels.Driver) bool { return d.Describe().Name == name })
	switch {
	case k.Always:
		return "always available", nil
	case !known && i < 0:
		return "", fmt.Errorf("%w: %q; known channels: %s", ErrUnknown, name, strings.Join(Names(), ", "))
	case i < 0:
		return "", fmt.Errorf("%s does not work on this machine", name)
	case !there && !k.OnDesktop:
		return "", fmt.Errorf("%w: [channels.%s] is missing; set it up: hob channel add %s", ErrUnset, name, name)
	}
	decode := s.Decode
	if !there {
		decode = func(any) error { return nil }
	}
	ch, err := drivers[i].New(decode, deps)
	if err != nil {
		return "", err
	}
	t, ok := ch.(channels.Tester)
	if !ok {
		return "", fmt.Errorf("%w; send yourself a test message: hob channel test %s --send", ErrUntested, name)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	said, err := runTester(ctx, t)
	if err != nil && ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s: %w; check the internet connection and the server name", patience, err)
	}
	return said, err
}

// runTester runs the test and converts a driver's panic into an error.
func runTester(ctx context.Context, t channels.Tester) (said string, err error) {
	defer func() {
		if p := recover(); p != nil {
			said, err = "", fmt.Errorf("the channel crashed: %v; see the log: hob doctor log", p)
		}
	}()
	return t.Test(ctx)
}

// Tested is the result of a channel test.
type Tested struct {
	Channel string `json:"channel"`
	OK      bool   `json:"ok"`
	// Tried is true if a sign-in was tested or a message was sent.
	Tried  bool   `json:"tried"`
	Said   string `json:"said,omitempty"`
	Cause  string `json:"cause,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}

// Done records the result of Test. redact removes secrets from the text of the result.
func (t *Tested) Done(said string, err error, redact func(string) string) {
	t.OK, t.Tried, t.Said = err == nil, err == nil, redact(said)
	switch {
	case errors.Is(err, ErrUntested):
		t.OK = true
		t.Said, t.Remedy = Split(t.Channel, redact(err.Error()))
	case err != nil:
		t.Tried = true
		t.Cause, t.Remedy = Split(t.Channel, redact(err.Error()))
	}
}
