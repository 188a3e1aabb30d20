package service

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/notify"
	"hob/channels"
	"hob/platform/host/tray"
	"hob/platform/store"
	"hob/templates"
)

// TrayOrigin is the channel name for actions in the tray menu.
const TrayOrigin = "tray"

// trayNotices is the number of notifications shown in the tray menu.
const trayNotices = 5

// TrayAssistant implements tray.Assistant. Programs on the user's desktop can also click. Therefore
// approvals wait until no program started by Hob is running, as for the buttons of notifications.
type TrayAssistant struct {
	*Buttons
	// Link returns a login link to Hob's page that can be used once, or "" if there is none.
	Link func() string
	// Shutdown stops Hob.
	Shutdown func()
}

// Status implements tray.Assistant.
func (a TrayAssistant) Status(ctx context.Context) (s tray.Status, err error) {
	o := a.service().o
	open, err := o.Guard.Approvals(ctx, guard.Pending, "", "", 100)
	if err != nil {
		return s, err
	}
	for _, q := range open {
		x := q.API()
		shown := tray.Question{ID: q.ID, Session: q.Session, Sentence: x.Sentence(), Explanation: x.Explanation()}
		for _, d := range x.Details() {
			shown.Details = append(shown.Details, d.Label+": "+d.Text)
		}
		s.Questions = append(s.Questions, shown)
	}
	if s.PausedUntil, s.Paused, err = o.Bus.Pause.Current(ctx); err != nil {
		return s, err
	}
	s.PauseText = o.Loop.PauseText(s.PausedUntil)
	if s.PausedUntil.Before(bus.EndlessPause()) && !s.PausedUntil.IsZero() {
		s.PausedUntil = s.PausedUntil.In(o.Zone())
	} else {
		s.PausedUntil = time.Time{}
	}
	if s.QuietUntil, _, s.Quiet, err = o.Notices.Quiet(ctx); err != nil {
		return s, err
	}
	if !s.QuietUntil.IsZero() {
		s.QuietUntil = s.QuietUntil.In(o.Zone())
	}
	if i := slices.IndexFunc(o.Channels.Status(), func(h channels.Health) bool { return h.State == "stopped" }); i >= 0 {
		s.Problem = "the channel " + o.Channels.Status()[i].Name + " has stopped"
	}
	if p := a.service().Problems(ctx); s.Problem == "" && len(p) > 0 {
		s.Problem = p[0].Text
	}
	s.Working = o.Loop.Running() > 0
	s.Templates = a.listTemplates()
	s.Notices, err = a.lastNotices(ctx)
	return s, err
}

// lastNotices returns the most recently sent notifications.
func (a TrayAssistant) lastNotices(ctx context.Context) (out []tray.Notice, err error) {
	list, err := a.service().o.Bus.Outbox.Deliveries(ctx, "", "", "", 60)
	for _, x := range list {
		if x.Kind == channels.Notice && strings.TrimSpace(x.Text) != "" && len(out) < trayNotices {
			out = append(out, tray.Notice{ID: x.ID, Session: x.Session, Text: x.Text})
		}
	}
	return out, err
}

// listTemplates returns the templates. If the folder cannot be read, it returns none.
func (a TrayAssistant) listTemplates() (out []tray.Template) {
	p := a.service().o.Paths
	list, err := templates.Registry{Dir: p.TemplatesDir()}.List()
	if err != nil {
		return nil
	}
	used, _ := templates.InUse(p.TemplateState()) // if the state cannot be read, no template is marked
	for _, t := range list {
		out = append(out, tray.Template{Name: t.Name, Used: t.Name == used.Name})
	}
	return out
}

// Follow implements tray.Assistant.
func (a TrayAssistant) Follow(ctx context.Context, on func(tray.Change)) func() {
	feed := a.service().o.Bus.Feed.Follow()
	return func() {
		defer feed.Close()
		for {
			select {
			case <-ctx.Done():
				return
			case e := <-feed.C():
				switch e.Type {
				case "error":
					on(tray.TurnFailed)
				case "message_end":
					on(tray.TurnEnded)
				default:
					on(tray.Updated)
				}
			}
		}
	}
}

// WaitAnswered implements tray.Assistant.
func (a TrayAssistant) WaitAnswered(ctx context.Context, question string) {
	_, _ = a.service().o.Guard.Wait(ctx, question) // only the end of the wait matters
}

// Answer implements tray.Assistant.
func (a TrayAssistant) Answer(ctx context.Context, question string, shown time.Time, yes bool) (string, error) {
	return a.Buttons.Answer(ctx, TrayOrigin, question, shown, yes)
}

// Pause implements tray.Assistant.
func (a TrayAssistant) Pause(ctx context.Context, text string) (string, error) {
	loop := a.service().o.Loop
	until, err := loop.Pause(ctx, text)
	if err != nil {
		return "", err
	}
	a.recordAudit(ctx, "pause", text)
	return "Paused " + loop.PauseText(until) + ".", nil
}

// Resume implements tray.Assistant. It ends a pause that the user started. Programs started by Hob
// must not do that.
func (a TrayAssistant) Resume(ctx context.Context) error {
	if ok, err := a.HasNoSubprocess(); !ok {
		return errors.Join(ErrForeignPress, err)
	}
	if _, err := a.service().o.Loop.Resume(ctx); err != nil {
		return err
	}
	a.recordAudit(ctx, "resume", "")
	return nil
}

// SetQuiet implements tray.Assistant.
func (a TrayAssistant) SetQuiet(ctx context.Context, text string) (string, error) {
	o := a.service().o
	a.recordAudit(ctx, "quiet", text)
	if text == "off" {
		_, err := o.Notices.Unmute(ctx)
		return "", err
	}
	until, err := notify.ParseUntil(text, time.Now().In(o.Zone()))
	if err != nil {
		return "", err
	}
	if until, err = o.Notices.Mute(ctx, until); err != nil {
		return "", err
	}
	return "Quiet until " + tray.FormatClock(until.In(o.Zone())) + ".", nil
}

// Page implements tray.Assistant.
func (a TrayAssistant) Page(ctx context.Context, session string, last bool) (_ string, err error) {
	if last {
		if session, _, _, err = a.service().o.Bus.Owner.LastSession(ctx); err != nil {
			return "", err
		}
	}
	link := a.Link()
	if a.Buttons.Page("") == "" || link == "" {
		return "", errors.New("the page cannot be opened from here; run: hob open")
	}
	if session != "" {
		link += "#" + url.PathEscape(session)
	}
	return link, nil
}

// Quit implements tray.Assistant.
func (a TrayAssistant) Quit(ctx context.Context) {
	a.recordAudit(ctx, "quit", "")
	a.Shutdown()
}

// recordAudit records the user's command in the audit log, like commands in a chat.
func (a TrayAssistant) recordAudit(ctx context.Context, what, args string) {
	o := a.service().o
	err := o.Store.Write(ctx, func(tx *store.Tx) error {
		return o.Guard.AuditTx(tx, guard.Record{Actor: "owner", Action: what, Origin: TrayOrigin, Verdict: "allow", Rule: "owner's command", Args: json.RawMessage(strconv.Quote(args))})
	})
	if err != nil {
		o.Log.Error("cannot record a click", "what", what, "err", err)
	}
}
