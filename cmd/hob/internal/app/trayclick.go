package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hob/autonomy/guard"
	"hob/autonomy/notify"
	"hob/platform/host/desktop"
	"hob/platform/store"
)

// handleClick runs the action of a menu item. Programs on the user's desktop can click, too;
// therefore approvals wait until no program started by Hob is running, as for buttons of
// notifications.
func (m *trayMenu) handleClick(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(ctx, trayWait)
	defer cancel()
	verb, rest, _ := strings.Cut(key, " ")
	said, err := m.runAction(ctx, verb, rest)
	if err != nil {
		m.d.opt.Log.Warn("tray click ignored", "what", verb, "err", err)
		m.showResult(ctx, "Action failed", err.Error())
	} else if said != "" {
		m.showResult(ctx, m.d.opt.Config.Agent.Name, said)
	}
	m.requestRefresh()
}

func (m *trayMenu) runAction(ctx context.Context, verb, rest string) (string, error) {
	switch verb {
	case "yes", "no":
		return buttons{m.d}.Answer(ctx, trayOrigin, rest, m.shownSince(rest), verb == "yes")
	case "pause":
		return m.pauseWork(ctx, rest)
	case "resume":
		return m.resumeWork(ctx)
	case "quiet":
		return m.setQuiet(ctx, rest)
	case "ask":
		session, _, _, err := m.d.bus.Owner.LastSession(ctx)
		if err != nil {
			return "", err
		}
		return m.openSession(ctx, session)
	case "open":
		session, _, _ := strings.Cut(rest, " ")
		return m.openSession(ctx, session)
	case "dashboard":
		return m.openSession(ctx, "")
	case "template":
		return "A template changes how I work. Preview and apply it in a terminal: hob template use " + rest, nil
	case "quit":
		m.recordAudit(ctx, "quit", "")
		m.d.Shutdown()
	}
	return "", nil
}

func (m *trayMenu) pauseWork(ctx context.Context, text string) (string, error) {
	until, err := m.d.loop.Pause(ctx, text)
	if err != nil {
		return "", err
	}
	m.recordAudit(ctx, "pause", text)
	return "Paused " + m.d.loop.PauseText(until) + ".", nil
}

// resumeWork ends a pause that the owner started. No program of Hob's may do that.
func (m *trayMenu) resumeWork(ctx context.Context) (string, error) {
	if ok, err := (buttons{m.d}).hasNoSubprocess(); !ok {
		return "", errors.Join(errPressed, err)
	}
	if _, err := m.d.loop.Resume(ctx); err != nil {
		return "", err
	}
	m.recordAudit(ctx, "resume", "")
	return "", nil
}

func (m *trayMenu) setQuiet(ctx context.Context, text string) (string, error) {
	m.recordAudit(ctx, "quiet", text)
	if text == "off" {
		_, err := m.d.notices.Unmute(ctx)
		return "", err
	}
	until, err := notify.ParseUntil(text, time.Now().In(m.d.zone()))
	if err != nil {
		return "", err
	}
	if until, err = m.d.notices.Mute(ctx, until); err != nil {
		return "", err
	}
	return "Quiet until " + m.formatClock(until, true) + ".", nil
}

// openSession shows the page in the owner's browser, which signs in with a link that works once.
// Only the desktop gets the link.
func (m *trayMenu) openSession(ctx context.Context, session string) (string, error) {
	link := m.d.web.LoginLink()
	if (buttons{m.d}).Page("") == "" || link == "" {
		return "", errors.New("the page cannot be opened from here; run: hob open")
	}
	if session != "" {
		link += "#" + url.PathEscape(session)
	}
	if err := m.note.Open(ctx, link); err != nil {
		return "", fmt.Errorf("cannot open the browser; run: hob open (%w)", err)
	}
	return "", nil
}

// recordAudit records the owner's command in the audit log, as for commands in a chat.
func (m *trayMenu) recordAudit(ctx context.Context, what, args string) {
	err := m.d.store.Write(ctx, func(tx *store.Tx) error {
		return m.d.guard.AuditTx(tx, guard.Record{Actor: "owner", Action: what, Origin: trayOrigin, Verdict: "allow", Rule: "owner's command", Args: json.RawMessage(strconv.Quote(args))})
	})
	if err != nil {
		m.d.opt.Log.Error("cannot record a click", "what", what, "err", err)
	}
}

// showResult shows the result of a click: in the menu, and in a notification if possible.
func (m *trayMenu) showResult(ctx context.Context, title, text string) {
	m.mu.Lock()
	m.said, m.saidAt = text, time.Now()
	m.mu.Unlock()
	n := desktop.Notification{ID: "tray", Title: title, Body: text, Urgency: desktop.Low, Transient: true}
	if err := m.note.Notify(ctx, n); err != nil {
		m.d.opt.Log.Debug("cannot show the result of a click", "err", err)
	}
}
