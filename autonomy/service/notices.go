package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/notify"
)

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
			said = "Resumed. Waiting work starts now."
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
