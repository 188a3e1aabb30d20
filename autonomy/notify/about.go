package notify

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/platform/provenance"
	"hob/platform/store"
)

// Cause describes what led to a notice.
type Cause string

// Values of Cause.
const (
	Answer   Cause = "answer" // the answer to a message from the owner
	Reminder Cause = "reminder"
	Schedule Cause = "schedule"
	Watcher  Cause = "watcher"
	Webhook  Cause = "webhook"
	Goal     Cause = "goal"
	Task     Cause = "task"
	Guest    Cause = "guest" // a message from another person
	Plan     Cause = "plan"
	Trouble  Cause = "trouble" // an error in Hob
	Own      Cause = "hob"
	Digest   Cause = "digest"
)

// Source is the source of the events that deliver deferred notices.
const Source = "notify"

// noticeContext is the information used to rate a notice. The fields that untrusted text can set
// (People, Names, Text and At) are only compared with the owner's rules.
type noticeContext struct {
	Cause   Cause
	Watcher string // id of the watcher, schedule or goal
	Title   string
	Channel string   // channel of the message that caused the notice
	Report  string   // conversation in which the cause was created
	People  []string // addresses and ids of the people concerned
	Names   []string // display names, which anyone can choose
	Text    string
	At      time.Time       // when the subject of the notice begins or is due
	Data    json.RawMessage // what the watcher observed
	// Timed reports whether the owner chose the time of the notice. Late is the delay after that
	// time.
	Timed bool
	Late  time.Duration
	// Urgency is set by the code that sends the notice, and is otherwise 0.
	Urgency Urgency
}

// eventFields contains the payload fields that describe an event, for all kinds of events. See the
// payloads in package intake, goals.EventPayload and the payload of a task.
type eventFields struct {
	Watcher  string            `json:"watcher"`
	Title    string            `json:"title"`
	Report   string            `json:"report"`
	Mode     string            `json:"mode"`
	Made     provenance.Source `json:"made"`
	Urgency  Urgency           `json:"urgency"`
	Goal     string            `json:"goal"`
	Attended bool              `json:"attended"`
	Name     string            `json:"name"`
	Signal   string            `json:"signal"`
	Late     time.Duration     `json:"late"`
	Data     json.RawMessage   `json:"data"`
}

// hasSkipped reports whether a schedule missed some of its times.
func (c eventFields) hasSkipped() bool {
	var d struct {
		Skipped int `json:"skipped"`
	}
	return json.Unmarshal(c.Data, &d) == nil && d.Skipped > 0
}

// payloadFields contains the fields in a watcher's payload that name people and times.
type payloadFields struct {
	From      any    `json:"from"`
	Name      any    `json:"name"`
	By        any    `json:"by"`
	Sender    any    `json:"sender"`
	Author    any    `json:"author"`
	Organizer any    `json:"organizer"`
	Channel   string `json:"channel"`
	Account   string `json:"account"`
	Start     any    `json:"start"`
	Due       any    `json:"due"`
	Deadline  any    `json:"deadline"`
}

// aboutTx returns the information about a notice from its event.
func aboutTx(q store.Querier, o bus.OutboxItem, event string) (noticeContext, error) {
	a := noticeContext{Cause: Own, Text: o.Text}
	var kind bus.Kind
	var source, channel, sender, text string
	var payload []byte
	var from provenance.Source
	err := q.QueryRow(`SELECT kind, source, channel, sender, text, payload, provenance FROM inbox WHERE id = ?`, event).
		Scan(&kind, &source, &channel, &sender, &text, &payload, &from)
	if errors.Is(err, sql.ErrNoRows) {
		return a, nil
	}
	if err != nil {
		return a, fmt.Errorf("notify: read the event of a notice: %w", err)
	}
	var c eventFields
	_ = json.Unmarshal(payload, &c) // if the payload is invalid, the fields stay empty
	a.Watcher, a.Title, a.Report = c.Watcher, c.Title, c.Report
	switch kind {
	case bus.Message:
		a.Watcher, a.Title, a.Channel = "", "", channel // the title is the name of a chat, which may be chosen by other people
		if a.Cause = Answer; from != provenance.Owner {
			a.Cause, a.People, a.Names = Guest, []string{sender, channel + ":" + sender}, []string{c.Name}
		}
	case bus.Schedule:
		a.Cause, a.Timed, a.Late = Schedule, c.Made == provenance.Owner && !c.hasSkipped(), c.Late
		if c.Mode == "remind" {
			a.setPriority(c)
		}
	case bus.Watcher:
		a.Cause = Watcher
	case bus.Webhook:
		a.Cause = Webhook
	case bus.Goal:
		a.Cause, a.Watcher, a.Title = Goal, c.Goal, text
	case bus.Task:
		if a.Cause = Task; c.Attended || source == "tool" {
			a.Cause = Answer
		}
	case bus.System:
		a.setSystemCause(source, c)
	}
	if a.Cause != Answer && a.Cause != Digest {
		a.Text += "\n" + c.Signal
		a.Data = c.Data
		a.addPayload(c.Data)
	}
	return a, nil
}

// setPriority sets the urgency of a reminder. One of low priority may wait for the end of quiet hours
// and for a digest, although the owner chose its time. Only the owner can make one critical.
func (a *noticeContext) setPriority(c eventFields) {
	a.Cause, a.Urgency = Reminder, cmp.Or(c.Urgency, High)
	if c.Made != provenance.Owner {
		a.Urgency = min(a.Urgency, High)
	}
	a.Timed = a.Timed && a.Urgency > Low
}

func (a *noticeContext) setSystemCause(source string, c eventFields) {
	switch {
	case source == Source:
		a.Cause = Digest
	case source == "plan":
		a.Cause, a.Timed = Plan, true
	case strings.HasPrefix(source, "watcher:"):
		a.Cause = Trouble
	default: // only Hob itself creates events of other kinds
		a.Urgency = c.Urgency
	}
}

// addPayload adds the people and times in a watcher's payload.
func (a *noticeContext) addPayload(data json.RawMessage) {
	var s payloadFields
	if len(data) == 0 || json.Unmarshal(data, &s) != nil {
		return
	}
	for _, v := range []any{s.From, s.By, s.Sender, s.Organizer} {
		a.collectPeople(v, 0)
	}
	if author, ok := s.Author.(string); ok { // an entry in a feed
		a.Names = append(a.Names, author)
	} else {
		a.collectPeople(s.Author, 0)
	}
	if from, ok := s.From.(string); ok && s.Channel != "" { // the payload is a message
		a.People = append(a.People, s.Channel+":"+from)
		if name, ok := s.Name.(string); ok {
			a.Names = append(a.Names, name)
		}
	}
	if s.Channel != "" {
		a.Channel = s.Channel
	} else if a.Channel == "" {
		a.Channel = s.Account
	}
	for _, v := range []any{s.Start, s.Due, s.Deadline} {
		text, _ := v.(string)
		if t, err := time.Parse(time.RFC3339Nano, text); err == nil && !t.IsZero() {
			a.At = t
			return
		}
	}
}

// most is the maximum number of people in one notice.
const most = 50

// collectPeople collects the addresses, ids and names in a JSON value.
func (a *noticeContext) collectPeople(v any, depth int) {
	switch v := v.(type) {
	case string:
		a.People = append(a.People, v)
	case []any:
		for _, x := range v[:min(len(v), most)] {
			if depth == 0 {
				a.collectPeople(x, 1)
			}
		}
	case map[string]any:
		for _, key := range []string{"address", "login", "id"} {
			if s, ok := v[key].(string); ok && s != "" {
				a.People = append(a.People, s)
			}
		}
		if s, ok := v["name"].(string); ok {
			a.Names = append(a.Names, s)
		}
	}
}
