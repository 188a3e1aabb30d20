package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"hob/channels"
)

// postedQuestion is a posted question with buttons.
type postedQuestion struct {
	Question string `json:"question"`
	Channel  string `json:"channel"`
	TS       string `json:"ts"`
	Thread   string `json:"thread,omitempty"`

	mu   sync.Mutex // held while the question is decided
	done bool       // whether the buttons were removed
}

const (
	actionYes = "hob.yes"
	actionNo  = "hob.no"
	maxAsked  = 200
)

type object = map[string]any

// askBlocks returns blocks with text and two buttons
// (docs.slack.dev/reference/block-kit/block-elements/button-element).
func askBlocks(text, question string) string {
	button := func(action, label, style string) object {
		return object{"type": "button", "action_id": action, "value": question, "style": style, "text": object{"type": "plain_text", "text": label}}
	}
	all := append(textSections(text), object{
		"type": "actions", "block_id": "hob", "elements": []object{button(actionYes, "Approve", "primary"), button(actionNo, "Deny", "danger")},
	})
	return encodeBlocks(all)
}

func encodeBlocks(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "[]" // strings can always be encoded
	}
	return string(raw)
}

// textSections splits text into blocks of the allowed size. The blocks are verbatim: names do not
// become links and notify no one.
func textSections(text string) []object {
	var out []object
	for _, part := range splitAtLines(text, maxSection) {
		out = append(out, object{"type": "section", "text": object{"type": "mrkdwn", "text": part, "verbatim": true}})
	}
	return out
}

// splitAtLines splits text at line ends, and never inside an escape or a reference.
func splitAtLines(text string, limit int) []string {
	var out []string
	for utf8.RuneCountInString(text) > limit {
		head := string([]rune(text)[:limit])
		at := strings.LastIndex(head, "\n")
		if at <= 0 {
			at = len(head)
			if i := strings.LastIndexAny(head, "&<"); i > 0 && !strings.ContainsAny(head[i:], ";>") {
				at = i
			}
		}
		out = append(out, head[:at])
		text = strings.TrimPrefix(text[at:], "\n")
	}
	if strings.TrimSpace(text) != "" || len(out) == 0 {
		out = append(out, text)
	}
	return out
}

// trackQuestion records a question and waits until it is closed.
func (c *Channel) trackQuestion(ctx context.Context, question string, a *postedQuestion) {
	c.mu.Lock()
	c.asked[question] = a
	for len(c.asked) > maxAsked {
		delete(c.asked, slices.MinFunc(slices.Collect(maps.Keys(c.asked)), func(x, y string) int { return cmpTS(c.asked[x].TS, c.asked[y].TS) }))
	}
	c.mu.Unlock()
	c.keepAsked(ctx)
	select {
	case c.asks <- a:
	default: // Run finds the question by itself
	}
}

// forgetAsked removes a question from the stored questions.
func (c *Channel) forgetAsked(ctx context.Context, question string) {
	c.mu.Lock()
	_, known := c.asked[question]
	delete(c.asked, question)
	c.mu.Unlock()
	if known {
		c.keepAsked(ctx)
	}
}

// keepAsked stores the posted questions.
func (c *Channel) keepAsked(ctx context.Context) {
	if c.keep == nil {
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	raw, err := json.Marshal(c.asked)
	c.mu.Unlock()
	if err == nil {
		err = c.keep.Set(ctx, keepAsked, raw)
	}
	if err != nil {
		c.log.Warn("storing the posted questions failed", "error", err)
	}
}

// loadAsked loads the questions posted in the last run, once.
func (c *Channel) loadAsked(ctx context.Context) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.loaded {
		return nil
	}
	old := map[string]*postedQuestion{}
	if err := c.loadKept(ctx, keepAsked, &old); err != nil {
		return err
	}
	c.loaded = true
	c.mu.Lock()
	defer c.mu.Unlock()
	for question, a := range old {
		if a != nil && c.asked[question] == nil {
			c.asked[question] = a
		}
	}
	return nil
}

// withdrawAnswered removes the buttons of closed questions, regardless of where they were answered.
func (c *Channel) withdrawAnswered(ctx context.Context, wg *sync.WaitGroup) {
	if c.buttons == nil {
		return
	}
	watched := map[*postedQuestion]bool{}
	watch := func(a *postedQuestion) {
		if watched[a] {
			return
		}
		watched[a] = true
		wg.Go(func() {
			if c.buttons.Ended(ctx, a.Question) != nil {
				return // Hob is shutting down
			}
			c.takeAway(ctx, a)
		})
	}
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.asked))
	c.mu.Unlock()
	for _, a := range all {
		watch(a)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-c.asks:
			watch(a)
		}
	}
}

// takeAway removes the buttons of a question that was answered elsewhere.
func (c *Channel) takeAway(ctx context.Context, a *postedQuestion) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, pressWait)
	defer cancel()
	blocks, text, err := c.fetchShown(ctx, a)
	if err == nil {
		err = c.showOutcome(ctx, a, blocks, text, "This question is no longer open.")
	}
	if err != nil && channels.ClassOf(err) != channels.Permanent {
		c.log.Warn("removing the buttons of an answered question failed", "error", err)
		return
	}
	a.done = true
	c.forgetAsked(ctx, a.Question)
}

// fetchShown fetches a question in the form that Slack shows.
func (c *Channel) fetchShown(ctx context.Context, a *postedQuestion) ([]json.RawMessage, string, error) {
	method, args := "conversations.history", url.Values{"channel": {a.Channel}, "oldest": {a.TS}, "latest": {a.TS}, "inclusive": {"true"}, "limit": {"1"}}
	if a.Thread != "" {
		method = "conversations.replies"
		args.Set("ts", a.Thread)
		args.Set("limit", "2") // the result always contains the thread's first message
	}
	var out struct {
		Messages []message `json:"messages"`
	}
	if err := c.retryRateLimited(ctx, func() error { _, err := c.callAPI(ctx, c.bot, method, args, &out); return err }); err != nil {
		return nil, "", err
	}
	for _, m := range out.Messages {
		if m.TS == a.TS {
			return m.Blocks, m.Text, nil
		}
	}
	return nil, "", channels.Errorf(channels.Permanent, "slack: the question no longer exists")
}

// showOutcome shows a question without buttons, with its outcome.
func (c *Channel) showOutcome(ctx context.Context, a *postedQuestion, blocks []json.RawMessage, text, note string) error {
	var left []any
	for _, b := range blocks {
		var kind struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(b, &kind) == nil && kind.Type != "actions" {
			left = append(left, b)
		}
	}
	left = append(left, object{"type": "context", "elements": []object{{"type": "mrkdwn", "text": escapeText(note), "verbatim": true}}})
	args := url.Values{"channel": {a.Channel}, "text": {text}, "blocks": {encodeBlocks(left)}, "link_names": {"false"}, "parse": {"none"}}
	return c.retryRateLimited(ctx, func() error { return c.updateMessage(ctx, a.TS, args, &postResult{}) })
}

// action is a button press in Slack's format
// (docs.slack.dev/reference/interaction-payloads/block_actions-payload).
type action struct {
	Type string `json:"type"`
	User struct {
		ID   string `json:"id"`
		Team string `json:"team_id"`
		Name string `json:"username"`
	} `json:"user"`
	Team struct {
		ID string `json:"id"`
	} `json:"team"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Message message `json:"message"`
	Actions []struct {
		ID    string `json:"action_id"`
		Value string `json:"value"`
	} `json:"actions"`
}

// parseAction parses a press of one of Hob's buttons.
func parseAction(raw json.RawMessage) (action, bool) {
	var p action
	if json.Unmarshal(raw, &p) != nil || p.Type != "block_actions" || len(p.Actions) != 1 {
		return p, false
	}
	b := p.Actions[0]
	return p, (b.ID == actionYes || b.ID == actionNo) && b.Value != "" && isID(p.User.ID) && isID(p.Channel.ID) && isTS(p.Message.TS)
}

// pressWait is the timeout for handling a press.
const pressWait = 10 * time.Second

// handlePress decides a question. Slack authenticates the person who pressed the button; the
// manager checks whether that person is the owner.
func (s *session) handlePress(ctx context.Context, f frame) {
	p, ok := parseAction(f.env.Payload)
	if !ok || s.buttons == nil {
		s.acknowledgeFrame(f, nil)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, pressWait)
	defer cancel()
	question, yes := p.Actions[0].Value, p.Actions[0].ID == actionYes
	a := s.questionOfPress(question, p)
	a.mu.Lock()
	defer a.mu.Unlock()
	chat := p.Channel.ID
	if p.Message.ThreadTS != "" {
		chat += "/" + p.Message.ThreadTS
	}
	said, err := s.buttons.Press(ctx, channels.ButtonPress{
		Channel: Name, Sender: firstID(s.ownIdentity().Team, p.User.Team, p.Team.ID) + "/" + p.User.ID, Chat: chat,
		Question: question, Shown: ts0(p.Message.TS), Yes: yes,
	})
	s.acknowledgeFrame(f, nil)
	if err != nil {
		s.log.Info("button press had no effect", "error", err)
		s.replyPrivately(ctx, p, err)
		return
	}
	by := s.memberName(ctx, p.User.ID)
	if by == "" {
		by = p.User.Name
	}
	what := "Denied"
	if yes {
		what = "Approved"
	}
	note := strings.TrimSpace(fmt.Sprintf("%s by %s. %s", what, by, said))
	if err := s.showOutcome(ctx, a, p.Message.Blocks, p.Message.Text, note); err != nil {
		s.log.Warn("removing the buttons of an answered question failed", "error", err)
		return
	}
	a.done = true
	s.forgetAsked(ctx, question)
}

// questionOfPress returns the question that a press answers. It recreates an unknown question from
// the press.
func (c *Channel) questionOfPress(question string, p action) *postedQuestion {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.asked[question]; a != nil && a.Channel == p.Channel.ID && a.TS == p.Message.TS {
		return a
	}
	return &postedQuestion{Question: question, Channel: p.Channel.ID, TS: p.Message.TS, Thread: p.Message.ThreadTS}
}

// replyPrivately sends the reason why a press failed to the person who pressed, and to no one else.
func (c *Channel) replyPrivately(ctx context.Context, p action, why error) {
	words := "This did not work: " + why.Error()
	if errors.Is(why, channels.ErrNotOwner) {
		words = "Only my owner can answer this. Nothing changed."
	} else if errors.Is(why, channels.ErrQuick) {
		words = why.Error()
	}
	args := messageArgs(p.Channel.ID, escapeText(words))
	args.Set("user", p.User.ID)
	if p.Message.ThreadTS != "" {
		args.Set("thread_ts", p.Message.ThreadTS)
	}
	if _, err := c.callAPI(ctx, c.bot, "chat.postEphemeral", args, nil); err != nil {
		c.log.Debug("sending the reason for a rejected button press failed", "error", err)
	}
}
