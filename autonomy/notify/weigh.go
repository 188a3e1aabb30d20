package notify

import (
	"context"
	_ "embed" // embeds the prompt
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/config"
	"hob/autonomy/llm"
	"hob/channels"
	"hob/platform/provenance"
	"hob/platform/text/promptfence"
	"hob/platform/text/textnorm"
)

//go:embed text/urgency.md
var urgencyText string

// Limits for the request to a model and for its answer.
const (
	weighBytes  = 4000 // maximum bytes from the beginning of the notice
	weighAnswer = 200  // maximum tokens
	weighReason = 120  // maximum characters
	weighRest   = 5 * time.Minute
)

var errWeighed = errors.New("the answer is not the requested JSON object")

// RateUrgency asks a model how urgent a notice is, if the answer can change the decision. This is
// the case if none of the user's rules decides, no quiet hours apply, and a limit depends on the
// urgency. It is called before the notice is sent and takes at most Options.Wait. FilterNotice
// decides how to use the answer. Without an answer the notice stays unchanged. After a failure the
// model is not called for some time, so that notices do not queue up.
func (n *Notifier) RateUrgency(ctx context.Context, event string, o bus.OutboxItem) (h bus.Hint) {
	now := time.Now()
	if n.o.Model == nil || o.Kind != channels.Notice || len(n.o.Digests) == 0 && n.o.PerHour == 0 || n.isPaused(now) || !o.Checked && n.o.Programs.Has(config.NoticeBefore) {
		return h
	}
	q := n.o.Store.Reader(ctx)
	a, err := aboutTx(q, o, event)
	if err != nil || !mayRate(a, n.defaultUrgency(a, now)) {
		return h
	}
	if _, _, quiet, err := n.quietAt(q, now); quiet || err != nil {
		return h
	}
	if ok, _ := n.o.Room(now); !ok {
		return h
	}
	ctx, cancel := context.WithTimeout(ctx, n.o.Wait)
	defer cancel()
	m, err := n.o.Model(ctx)
	if err != nil || m == nil || m.Info().Provider == "offline" || m.Info().Acts {
		return h
	}
	h.By = m.Info().Name()
	h.Urgency, h.Why, err = n.askModel(ctx, m, a, event, o.Text)
	if err != nil {
		n.o.Log.Warn("model did not rate a notice; pausing model calls", "event", event, "model", h.By, "rest", weighRest, "err", err)
		h.Urgency, h.Why = "", "no rating"
		n.mu.Lock()
		n.rest = now.Add(weighRest)
		n.mu.Unlock()
	}
	return h
}

func (n *Notifier) isPaused(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return now.Before(n.rest)
}

// mayRate reports whether a model may rate a notice. It may rate only notices from watchers,
// triggers, schedules and tasks, and only if no rule, sending code or chosen time decides.
// Untrusted text must not downgrade Hob's errors.
func mayRate(a noticeContext, j ratedUrgency) bool {
	return !j.ruled && !a.Timed && a.Urgency == 0 && slices.Contains([]Cause{Watcher, Webhook, Schedule, Task}, a.Cause)
}

// askModel calls the model once. The request contains only the notice, inside a prompt fence.
func (n *Notifier) askModel(ctx context.Context, m llm.Model, a noticeContext, event, text string) (urgency, why string, err error) {
	text = n.o.Redact(text)
	if len(text) > weighBytes {
		text = strings.ToValidUTF8(text[:weighBytes], "") + "\n[...]"
	}
	from := string(a.Cause)
	if a.Title != "" {
		from += " " + textnorm.Ellipsize(a.Title, 80)
	}
	head := "It is " + time.Now().In(n.o.Zone()).Format("Monday, 2 January 2006, 15:04") + ".\n"
	resp, err := llm.Collect(m.Stream(ctx, llm.Request{
		System: strings.TrimSpace(urgencyText), MaxTokens: weighAnswer, NoTools: true,
		Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: head + promptfence.Wrap(promptfence.New(text), text, from, ""), Source: provenance.Outside}}}},
		Account:  llm.Account{Purpose: llm.ForUrgency, Event: event, Unattended: true},
	}))
	if err != nil {
		return "", "", wrapError("rate a notice", err)
	}
	answer := resp.Text()
	begin, to := strings.IndexByte(answer, '{'), strings.LastIndexByte(answer, '}')
	var out struct {
		Urgency string `json:"urgency"`
		Reason  string `json:"reason"`
	}
	if begin < 0 || to < begin || json.Unmarshal([]byte(answer[begin:to+1]), &out) != nil {
		return "", "", wrapError("rate a notice", errWeighed)
	}
	if _, err := ParseUrgency(out.Urgency); err != nil {
		return "", "", fmt.Errorf("%w: %w", errWeighed, err)
	}
	return out.Urgency, textnorm.Ellipsize(n.o.Redact(out.Reason), weighReason), nil
}

// applyRating applies a model's rating within limits. The urgency differs by at most one step from
// the default and is never raised to critical, because only critical notices are sent during quiet
// hours.
func applyRating(j ratedUrgency, h bus.Hint) ratedUrgency {
	if h.By == "" {
		return j
	}
	u, err := ParseUrgency(h.Urgency)
	if err != nil {
		j.why += fmt.Sprintf("; asked the model %s: %s", h.By, h.Why)
		return j
	}
	usual := j
	j.urgency, j.weighed = min(max(u, j.urgency-1, Low), j.urgency+1, High), true
	j.why = fmt.Sprintf("the model %s rated it: %q; %s: %s", h.By, h.Why, usual.why, usual.urgency)
	return j
}
