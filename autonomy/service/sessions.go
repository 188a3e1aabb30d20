package service

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"hob/autonomy/agents"
	"hob/autonomy/api"
	"hob/autonomy/llm"
	"hob/autonomy/payload"
	"hob/autonomy/session"
	"hob/platform/store"
	"hob/platform/text/credential"
)

// Sessions implements api.Sessions.
func (sv *Service) Sessions(ctx context.Context, q api.Query) ([]api.Session, error) {
	list, err := sv.o.Sessions.List(ctx, q.Limit)
	return ConvertEach(list, apiSession), Classify(err)
}

// Messages implements api.Sessions: it merges the received and the sent messages.
func (sv *Service) Messages(ctx context.Context, q api.Query) ([]api.ChatLine, error) {
	heard, err := sv.o.Bus.Inbox.List(ctx, q.Of, "", q.Limit)
	if err != nil {
		return nil, Classify(err)
	}
	said, err := sv.o.Bus.Outbox.Deliveries(ctx, q.Of, "", "", q.Limit)
	if err != nil {
		return nil, Classify(err)
	}
	out, err := sv.forkedLines(ctx, q.Of)
	if err != nil {
		return nil, Classify(err)
	}
	out = append([]api.ChatLine{}, out...)
	for _, e := range heard {
		from := "owner"
		if e.Provenance.Tainted() || agents.IsTaskEvent(e) { // another agent handed it on
			from = e.Sender
		}
		out = append(out, api.ChatLine{ID: e.ID, Event: e.ID, From: from, Kind: "message", Text: e.Text, State: string(e.State), At: e.ReceivedAt, Attached: payload.Attachments(e)})
	}
	for _, d := range said {
		out = append(out, api.ChatLine{ID: d.ID, Event: d.Event, From: "hob", Kind: string(d.Kind), Text: d.Text, State: string(d.State), At: d.CreatedAt})
	}
	slices.SortStableFunc(out, func(x, y api.ChatLine) int { return y.At.Compare(x.At) })
	if q.Before != "" {
		if i := slices.IndexFunc(out, func(l api.ChatLine) bool { return l.ID == q.Before }); i >= 0 {
			out = out[i+1:]
		}
	}
	return out[:min(len(out), q.Limit)], nil
}

// forkedLines are the lines that a fork has from its original.
func (sv *Service) forkedLines(ctx context.Context, id string) ([]api.ChatLine, error) {
	var out []api.ChatLine
	err := sv.o.Sessions.ForEachCopied(ctx, id, func(r session.Row) {
		text := ""
		for _, p := range r.Message.Parts {
			if !p.Context && p.Text != "" {
				text = strings.TrimSpace(text + "\n" + p.Text)
			}
		}
		l := api.ChatLine{ID: fmt.Sprint("m", r.ID), Event: r.Turn, From: session.SpeakerOf(r.Message), Kind: "message", Text: text, State: "done", At: r.CreatedAt}
		if r.Message.Role == llm.Assistant {
			l.Kind = "reply"
		}
		if text != "" {
			out = append(out, l)
		}
	})
	slices.Reverse(out)
	return out, err
}

// Search implements api.Sessions.
func (sv *Service) Search(ctx context.Context, q api.SearchQuery) ([]api.FoundMessage, error) {
	if q.Who != "" && !slices.Contains(session.Speakers(), q.Who) {
		return nil, fmt.Errorf("%w: who=%q; use %s", api.ErrInvalid, q.Who, strings.Join(session.Speakers(), ", "))
	}
	found, err := sv.o.Messages.Search(ctx, session.Query{Text: q.Text, Session: q.Session, Who: q.Who, Since: q.Since, Until: q.Until, Limit: q.Limit, Viewer: credential.AskedBy(q.Text)})
	return ConvertEach(found, apiFoundMessage), Classify(err)
}

// Export implements api.Sessions.
func (sv *Service) Export(ctx context.Context, id, format string, w io.Writer) error {
	return Classify(sv.o.Sessions.Export(ctx, id, format, sv.o.Zone(), w))
}

// Fork implements api.Sessions.
func (sv *Service) Fork(ctx context.Context, from, to, at string) (api.Session, error) {
	var out session.Info
	err := sv.o.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if to == "" {
			if to, err = sv.o.Sessions.FreeTx(tx, from+"-fork"); err != nil {
				return err
			}
		}
		out, err = sv.o.Sessions.ForkTx(tx, from, to, at)
		return err
	})
	return api.Session(out), Classify(err)
}

// Replay implements api.Sessions.
func (sv *Service) Replay(ctx context.Context, id, turn string) (api.Replay, error) {
	r, err := sv.o.Replayer.Replay(ctx, id, turn)
	return apiReplay(r), Classify(err)
}

// Reset implements api.Sessions.
func (sv *Service) Reset(ctx context.Context, session string) (api.ResetSession, error) {
	err := sv.o.Store.Write(ctx, func(tx *store.Tx) error { return sv.o.Sessions.ResetTx(tx, session) })
	return api.ResetSession{Session: session}, Classify(err)
}
