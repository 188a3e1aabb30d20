package turn

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/llm"
	"hob/autonomy/session"
	"hob/autonomy/turn/modelrouter"
	"hob/platform/failpoint"
	"hob/platform/host/system"
	"hob/platform/provenance"
	"hob/platform/store"
)

// modelExchange asks the model for the next answer.
type modelExchange struct {
	o      *Options
	t      *Turn
	runner *Runner
	conv   *conversation
	rec    *stepRecorder
	budget *turnBudget
	chain  *hookChain
	feed   *liveFeed
	agent  *externalAgent

	chosen  llm.Model
	usage   llm.Usage
	by      string // the model that answered last, if there are several
	partial string // text of an interrupted answer
}

// chooseModel finds the model of the turn, once.
func (m *modelExchange) chooseModel(ctx context.Context) error {
	c, err := m.o.Models.Choose(ctx, modelrouter.TurnInfo{
		Agent:   m.o.Name,
		Session: m.t.Event.Session, Event: m.t.Event.ID, Text: m.t.Text, Bare: len(m.t.Images) == 0 && len(m.t.Outside) == 0,
		Attended: m.t.Attended && m.t.Depth == 0, Chain: m.conv.usedToolsBefore(), Resumed: m.conv.stored > 0,
	})
	if err != nil {
		return err
	}
	m.chosen, m.conv.actor = c.Model, c.Model
	m.rec.queueWrite(func(tx *store.Tx) error {
		return m.o.Sessions.StampTx(tx, m.t.Event.Session, m.t.Event.ID, m.runner.Stamp(m.conv.system))
	})
	if c.Record != nil {
		m.rec.queueWrite(c.Record)
	}
	m.o.Bus.Feed.Publish("message_start", m.t.Event.ID, m.t.Event.Session, map[string]string{"model": c.Model.Info().Name(), "reason": c.Reason})
	return nil
}

// billingAccount returns the account for the usage of this turn's calls.
func (m *modelExchange) billingAccount() llm.Account {
	purpose := llm.ForTurn
	if m.t.Depth > 0 {
		purpose = llm.ForSubAgent
	}
	return llm.Account{Purpose: purpose, Agent: m.o.Name, Session: m.t.Event.Session, Event: m.t.Event.ID, Unattended: !m.t.Attended && !m.t.Guest}
}

// mayStandIn reports whether the built-in brain may answer if the model cannot be reached. For a
// message from a person it may answer at once, otherwise only after the last retry. Goals and
// delegated tasks need a model, so they wait for it.
func (m *modelExchange) mayStandIn() bool {
	e := m.t.Event
	return m.t.Depth == 0 && e.Kind != bus.Goal && (e.Kind == bus.Message || e.Attempts >= bus.MaxAttempts)
}

// callModel sends one request to the model and returns its answer.
func (m *modelExchange) callModel(ctx context.Context) (llm.Response, error) {
	m.budget.round++
	if err := m.fitWindow(ctx); err != nil {
		return llm.Response{}, err
	}
	q := modelCall{model: m.chosen, round: m.budget.round, req: llm.Request{System: m.conv.system, Messages: m.shownTo(), Tools: m.runner.offered, Session: m.t.Event.Session, Now: time.Now().In(m.o.Zone()), StandIn: m.mayStandIn(), Account: m.billingAccount()}}
	if err := m.chain.beforeModel(ctx, &q); err != nil {
		return q.resp, err
	}
	if err := m.o.Bus.Lease.Check(); err != nil { // another instance may have this turn already
		return q.resp, err
	}
	if err := m.streamFitting(ctx, &q); err != nil {
		m.partial = q.resp.Text()
		return q.resp, err
	}
	m.recordTokenCount(q.resp.Usage)
	m.chain.afterModel(ctx, &q)
	m.usage = m.usage.Add(q.resp.Usage)
	m.by = q.resp.Model
	if q.req.NoTools {
		q.resp.Parts = dropCalls(q.resp.Parts)
	}
	m.conv.assignCallIDs(q.resp.Parts)
	return q.resp, nil
}

// readStream reads the answer to its end and publishes it to the live feed.
func (m *modelExchange) readStream(ctx context.Context, q *modelCall) error {
	desk, leave := m.agent.newBroker(ctx)
	defer leave()
	q.req.Broker = desk
	m.partial = ""
	m.feed.begun = map[string]string{}
	starts := 0
	shown := m.o.Redact.Stream()
	asked := time.Now()
	failpoint.Hit("model.call.before")
	for e, err := range m.chosen.Stream(ctx, q.req) {
		if err != nil {
			return err
		}
		if e.Kind == llm.CallStart { // calls run in the order in which their start events arrive
			m.feed.begun[e.Call.ID] = m.conv.callID(starts)
			starts++
		}
		if e.Source == provenance.Outside {
			m.conv.external.Store(true)
		}
		q.resp.Add(e)
		if e.Kind == llm.TextDelta {
			e.Text = shown.Push(e.Text)
		}
		m.feed.publishModelEvent(e)
	}
	m.feed.publishModelEvent(llm.Event{Kind: llm.TextDelta, Text: shown.End()})
	leave() // actions of an external agent are recorded with the answer
	failpoint.Hit("model.call.after")
	q.took = time.Since(asked)
	return nil
}

// shownTo returns the messages as the model gets them. The built-in brain parses tool results, so
// it gets them unchanged.
func (m *modelExchange) shownTo() []llm.Message {
	msgs := session.MergeSummary(m.conv.msgs)
	if m.chosen.Info().Unfenced {
		return msgs
	}
	return llm.FenceUntrusted(msgs)
}

// estimateTokens estimates the tokens of an answer, for models that do not report them.
func estimateTokens(parts []llm.Part) int {
	n := 0
	for _, p := range parts {
		n += len(p.Text)
		if p.Call != nil {
			n += len(p.Call.Name) + len(p.Call.Args)
		}
		if p.Reasoning != nil {
			n += len(p.Reasoning.Text)
		}
	}
	return n / 4
}

// fitWindow compacts the conversation before a request that would exceed the
// model's window.
func (m *modelExchange) fitWindow(ctx context.Context) error {
	if m.o.Compactor == nil {
		return nil
	}
	room, enough := m.o.Compactor.ByteLimits(m.t.Event.Session, m.chosen)
	if room == 0 || m.conv.messageBytes()+m.overheadBytes() <= room {
		return nil
	}
	err := m.shrinkWindow(ctx, enough-m.overheadBytes())
	if errors.Is(err, session.ErrNothing) { // send the request anyway: the provider may still accept it
		return nil
	}
	return err
}

// streamFitting retries with a shorter conversation if the model rejects it as too long.
func (m *modelExchange) streamFitting(ctx context.Context, q *modelCall) error {
	again, err := m.handleOverflow(ctx, m.readStream(ctx, q))
	if !again {
		return err
	}
	q.req.Messages, q.resp = m.shownTo(), llm.Response{}
	if err := m.chain.beforeModel(ctx, q); err != nil {
		return err
	}
	return tooLong(m.readStream(ctx, q))
}

// handleOverflow reports whether to retry a failed call because the conversation was shortened.
// Otherwise it returns the error for the owner.
func (m *modelExchange) handleOverflow(ctx context.Context, err error) (again bool, _ error) {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != llm.Overflow || e.Visible || m.o.Compactor == nil {
		return false, err
	}
	room := m.conv.messageBytes() / 2
	if _, enough := m.o.Compactor.ByteLimits(m.t.Event.Session, m.chosen); enough > 0 {
		room = min(room, enough-m.overheadBytes())
	}
	switch serr := m.shrinkWindow(ctx, max(room, 0)); {
	case errors.Is(serr, session.ErrNothing):
		return false, tooLong(e)
	case serr != nil:
		return false, serr
	}
	return true, nil
}

// tooLong returns the error for a request that exceeds the context window and cannot be shortened.
func tooLong(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != llm.Overflow {
		return err
	}
	return &llm.Error{
		Kind: llm.Overflow, Provider: e.Provider, Status: e.Status, Err: e,
		Message: "the request does not fit in the model's context window, even after the conversation was shortened",
		Remedy:  "send a shorter message, start a new conversation with /new, or choose a model with a larger window",
	}
}

// shrinkWindow stores the turn's steps, shrinks the window and reloads it.
func (m *modelExchange) shrinkWindow(ctx context.Context, room int) error {
	if err := m.rec.saveSteps(ctx); err != nil {
		return err
	}
	if err := m.o.Compactor.CompactForOverflow(ctx, m.chosen, m.t.Event.Session, m.t.Event.ID, room); err != nil {
		return err
	}
	before, recorded, err := m.o.Sessions.History(ctx, m.t.Event.Session, m.t.Event.ID)
	if err != nil {
		return err
	}
	if before, err = m.rec.answerAbandonedCalls(ctx, before); err != nil {
		return err
	}
	m.conv.own, m.conv.stored = len(before), len(recorded)
	m.conv.msgs = append(append(make([]llm.Message, 0, len(before)+len(recorded)+8), before...), recorded...)
	return nil
}

func (m *modelExchange) overheadBytes() int {
	n := len(m.conv.system)
	for _, t := range m.runner.offered {
		n += len(t.Name) + len(t.Description) + len(t.Schema) + 32
	}
	return n
}

// recordTokenCount stores the provider's token count, which improves the size estimates of later
// requests.
func (m *modelExchange) recordTokenCount(u llm.Usage) {
	if u.Known {
		m.o.Sessions.RecordTokenCount(m.t.Event.Session, m.conv.messageBytes()+m.overheadBytes(), m.overheadBytes(), u.Input)
	}
}

// answerTextMiddleware returns the middleware that adds the paths of saved pictures to an answer,
// and text to a refusal without text.
func (m *modelExchange) answerTextMiddleware() middleware {
	return middleware{name: "say", afterModel: func(_ context.Context, q *modelCall) {
		m.keepPictures(&q.resp)
		if q.resp.Stop == llm.Refused && len(q.resp.Calls()) == 0 && strings.TrimSpace(q.resp.Text()) == "" {
			q.resp.Parts = []llm.Part{{Text: strings.TrimSpace(refused)}}
		}
	}}
}

// maxPicture is the maximum size of a saved picture, in bytes.
const maxPicture = 20 << 20

//go:embed text/refused.md
var refused string

// keepPictures saves each picture to a file and adds the path of the file to the answer. The file
// names stay the same after a crash.
func (m *modelExchange) keepPictures(resp *llm.Response) {
	if len(resp.Images()) == 0 {
		return
	}
	var out []llm.Part
	for i, p := range resp.Parts {
		if p.Image == nil {
			out = append(out, p)
			continue
		}
		where, err := m.keepPicture(i, p.Image)
		if err != nil {
			m.o.Log.Warn("cannot save a picture", "event", m.t.Event.ID, "err", err)
			out = append(out, llm.Part{Text: fmt.Sprintf("\n[a picture that could not be saved: %v]\n", err)})
			continue
		}
		out = append(out, p, llm.Part{Text: "\n[picture: " + where + "]\n"})
	}
	resp.Parts = out
}

// keepPicture saves one picture. It detects the type from the bytes and ignores the declared type.
func (m *modelExchange) keepPicture(n int, i *llm.Image) (string, error) {
	ext := map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp", "image/gif": ".gif"}[http.DetectContentType(i.Data)]
	switch {
	case ext == "":
		return "", fmt.Errorf("the format is not PNG, JPEG, WebP or GIF")
	case len(i.Data) > maxPicture:
		return "", fmt.Errorf("the picture is larger than %d MB", maxPicture>>20)
	case m.o.Pictures == nil:
		return "", fmt.Errorf("storage for pictures is not configured")
	}
	return m.o.Pictures.KeepPicture(fmt.Sprintf("%s-%d-%d%s", lastIDChars(m.t.Event.ID), len(m.conv.msgs)-m.conv.own, n, ext), i.Data)
}

// PictureFolder is a PictureStore that writes files to a folder.
type PictureFolder string

// KeepPicture implements PictureStore.
func (f PictureFolder) KeepPicture(name string, data []byte) (string, error) {
	path := filepath.Join(string(f), filepath.Base(name))
	return path, system.WriteFile(path, data)
}
