package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/guard/pairing"
	"hob/autonomy/notify"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/retry"
	"hob/platform/store"
)

// ChannelSetup shows and tests the configured channels, whether or not they are running.
type ChannelSetup interface {
	// Rows returns the channels without their pairings. running reports whether the channels in
	// health are running.
	Rows(health []channels.Health, running bool) []api.Channel
	// Test signs in to a channel, and then calls send unless send is nil. It returns
	// api.ErrNotFound if the channel is unknown. Other problems are part of the result.
	Test(ctx context.Context, name string, send func(ctx context.Context) (string, error), redact func(string) string) (api.ChannelTest, error)
	// HasFixedRecipient reports whether a channel can reach the user even if no account is paired.
	HasFixedRecipient(name string) bool
	// UnpairableReason explains why accounts cannot be paired on a channel, and what to do.
	UnpairableReason(name string, health []channels.Health, pairable []string) string
}

// Channels implements api.Channels.
func (sv *Service) Channels(ctx context.Context) ([]api.Channel, error) {
	all, err := sv.o.Pairings.List(ctx)
	if err != nil {
		return nil, Classify(err)
	}
	out := sv.o.ChannelSetup.Rows(sv.o.Channels.Status(), sv.o.Daemon)
	redact := sv.o.Redact.Text
	for i := range out {
		c := &out[i]
		c.Error, c.Cause, c.Remedy = redact(c.Error), redact(c.Cause), redact(c.Remedy)
		for _, p := range all {
			if p.Channel == c.Name {
				c.Pairings = append(c.Pairings, api.Pairing(p))
			}
		}
	}
	return out, nil
}

// TestChannel implements api.Channels.
func (sv *Service) TestChannel(ctx context.Context, name string, send bool) (api.ChannelTest, error) {
	var deliver func(context.Context) (string, error)
	if send {
		deliver = func(ctx context.Context) (string, error) { return sv.sendTestMessage(ctx, name) }
	}
	out, err := sv.o.ChannelSetup.Test(ctx, name, deliver, sv.o.Redact.Text)
	return out, Classify(err)
}

// testWithin is the time limit for delivering a test message.
const testWithin = 30 * time.Second

// sendTestMessage sends the user a message on a channel through the outbox, and waits until it is
// delivered.
func (sv *Service) sendTestMessage(ctx context.Context, name string) (string, error) {
	chat, err := sv.testRecipient(ctx, name)
	if err != nil {
		return "", err
	}
	event := "channel-test-" + bus.NewID()
	text := "This is a test: Hob can reach you on " + name + "."
	err = sv.o.Store.Write(ctx, func(tx *store.Tx) error {
		return sv.o.Bus.Outbox.EnqueueTx(tx, event, bus.OutboxItem{
			Delivery:   channels.Delivery{Kind: channels.Notice, Session: "system", Channel: name, Chat: chat, Text: text},
			Provenance: provenance.Hob, Judged: true,
		})
	})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, testWithin)
	defer cancel()
	for {
		list, err := sv.o.Bus.Outbox.EventDeliveries(ctx, event)
		if err == nil && len(list) == 1 {
			switch last := list[0]; last.State {
			case channels.Sent:
				return "test message sent", nil
			case channels.Dead, channels.Failed:
				return "", fmt.Errorf("send test message: %s", last.Error)
			}
		}
		if retry.Sleep(ctx, 50*time.Millisecond) != nil {
			return "", fmt.Errorf("test message not sent within %s; see: hob channel status %s", testWithin, name)
		}
	}
}

// testRecipient returns the chat in which a running channel can reach the user.
func (sv *Service) testRecipient(ctx context.Context, name string) (string, error) {
	list := sv.o.Channels.Status()
	i := slices.IndexFunc(list, func(h channels.Health) bool { return h.Name == name })
	switch {
	case !sv.o.Daemon:
		return "", errors.New("messages cannot be sent while Hob is not running; start it: hob start")
	case i < 0 && (name == "web" || name == "terminal"), i >= 0 && list[i].Pull:
		return "", fmt.Errorf("%s needs no test message: open it with hob chat or hob open", name)
	case i < 0:
		return "", fmt.Errorf("Hob was started before %s was set up; restart it: hob stop, then hob start", name) //nolint:staticcheck // Hob is a name
	case list[i].State == "failed" || list[i].State == "stopped":
		return "", fmt.Errorf("the channel is not running: %s", list[i].Error)
	case list[i].Deaf:
		return "", nil
	}
	all, err := sv.o.Pairings.List(ctx)
	if err != nil {
		return "", err
	}
	for _, p := range all {
		if p.Channel == name {
			return p.Chat, nil
		}
	}
	if sv.o.ChannelSetup.HasFixedRecipient(name) {
		return "", nil
	}
	return "", fmt.Errorf("your account on %s is not paired; pair it: hob channel pair %s", name, name)
}

// Pair implements api.Channels.
func (sv *Service) Pair(ctx context.Context, channel, by string) (api.PairingCode, error) {
	c, err := sv.newPairingCode(ctx, channel, by)
	return api.PairingCode(c), Classify(err)
}

// newPairingCode creates a pairing code for a channel that receives messages.
func (sv *Service) newPairingCode(ctx context.Context, name, by string) (pairing.Code, error) {
	health := sv.o.Channels.Status()
	var pairable []string
	for _, h := range health {
		if h.Pull || h.Deaf || h.State == "failed" {
			continue
		}
		if h.Name == name {
			return sv.o.Pairings.NewCode(ctx, name, by)
		}
		pairable = append(pairable, h.Name)
	}
	return pairing.Code{}, fmt.Errorf("%w: %s", api.ErrInvalid, sv.o.ChannelSetup.UnpairableReason(name, health, pairable))
}

// PairingText creates a pairing code and returns instructions for the user, for use in a chat.
func (sv *Service) PairingText(ctx context.Context, channel, by string) (string, error) {
	c, err := sv.newPairingCode(ctx, channel, by)
	if err != nil {
		return "", errors.New(strings.TrimPrefix(err.Error(), api.ErrInvalid.Error()+": ")) //nolint:err113 // for a person to read
	}
	return fmt.Sprintf("Send this code on %s within 10 minutes, in a separate message and not in a group: %s", channel, c.Code), nil
}

// Unpair implements api.Channels.
func (sv *Service) Unpair(ctx context.Context, id, by string) (api.Pairing, error) {
	p, err := sv.o.Pairings.Remove(ctx, id, by)
	return api.Pairing(p), Classify(err)
}

// Notices implements api.Notices.
func (sv *Service) Notices(ctx context.Context, q api.Query) ([]api.Notice, error) {
	list, err := sv.o.Notices.Why(ctx, q.Of)
	if q.Of == "" {
		list, err = sv.o.Notices.List(ctx, q.State, q.Before, q.Limit)
	}
	for i, n := range list {
		if err != nil {
			break
		}
		list[i].Text, err = sv.o.Notices.NoticeText(ctx, n)
	}
	return ConvertEach(list, apiNotice), Classify(err)
}

// ReleaseNotices implements api.Notices.
func (sv *Service) ReleaseNotices(ctx context.Context, id string) (api.Released, error) {
	n, err := sv.o.Notices.Release(ctx, id)
	return api.Released{Released: n}, noticeError(err)
}

// SnoozeNotice implements api.Notices.
func (sv *Service) SnoozeNotice(ctx context.Context, id, until string) (api.Notice, error) {
	at, err := notify.ParseUntil(until, time.Now().In(sv.o.Zone()))
	if err != nil {
		return api.Notice{}, noticeError(err)
	}
	n, err := sv.o.Notices.Snooze(ctx, id, "", at)
	return apiNotice(n), noticeError(err)
}

// SetQuiet implements api.Notices.
func (sv *Service) SetQuiet(ctx context.Context, until string) (api.Quiet, error) {
	n := sv.o.Notices
	out := api.Quiet{}
	var err error
	switch until {
	case "":
	case "off":
		_, err = n.Unmute(ctx)
	default:
		var at time.Time
		if at, err = notify.ParseUntil(until, time.Now().In(sv.o.Zone())); err == nil {
			_, err = n.Mute(ctx, at)
		}
	}
	if err != nil {
		return out, noticeError(err)
	}
	out.Until, out.Why, out.Quiet, err = n.Quiet(ctx)
	if !out.Quiet {
		out.Until, out.Why = time.Time{}, ""
	}
	return out, err
}

func noticeError(err error) error {
	switch {
	case errors.Is(err, notify.ErrNotFound):
		return fmt.Errorf("%w: %w", api.ErrNotFound, err)
	case errors.Is(err, notify.ErrTime):
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	return Classify(err)
}

// SetPause implements api.Notices.
func (sv *Service) SetPause(ctx context.Context, what string) (api.Pause, error) {
	var err error
	said := "Not paused."
	switch what = strings.TrimSpace(strings.ToLower(what)); what {
	case "":
	case "off":
		var was bool
		if was, err = sv.o.Loop.Resume(ctx); was {
			said = "Resumed. I am starting the work that was waiting."
		} else {
			said = "Not paused."
		}
	case "on":
		_, err = sv.o.Loop.Pause(ctx, "")
	default:
		_, err = sv.o.Loop.Pause(ctx, what)
	}
	if errors.Is(err, notify.ErrTime) {
		return api.Pause{}, fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	if err != nil {
		return api.Pause{}, Classify(err)
	}
	out := api.Pause{Text: said}
	until, on, err := sv.o.Bus.Pause.Current(ctx)
	if on {
		out.Paused, out.Text = true, "Paused "+sv.o.Loop.PauseText(until)+"."
		if until.Before(bus.EndlessPause()) {
			out.Until = until
		}
	}
	return out, Classify(err)
}

// stopNoticeTimeout is the time limit for storing the notification about a stopped channel.
const stopNoticeTimeout = 5 * time.Second

// ReportStoppedChannel notifies the user, on another channel, that a channel needs attention.
func (sv *Service) ReportStoppedChannel(name string, cause error) {
	ctx, cancel := context.WithTimeout(context.Background(), stopNoticeTimeout)
	defer cancel()
	key := fmt.Sprintf("channel-stopped:%s:%d", name, sv.o.Started.UnixMilli())
	text := fmt.Sprintf("The channel %s has stopped: %v. Its messages wait until the next start.", name, cause)
	if err := sv.o.Intake.Notify(ctx, key, text); err != nil {
		sv.o.Log.Error("cannot notify the user of a stopped channel", "channel", name, "err", err)
	}
}
