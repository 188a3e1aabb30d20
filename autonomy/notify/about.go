package notify

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/knowledge/store"
	"hob/platform/provenance"
)

// Cause is what a notice comes from.
type Cause string

// The causes.
const (
	Answer   Cause = "answer" // to what the owner wrote
	Reminder Cause = "reminder"
	Schedule Cause = "schedule"
	Watcher  Cause = "watcher"
	Webhook  Cause = "webhook"
	Goal     Cause = "goal"
	Task     Cause = "task"
	Guest    Cause = "guest" // somebody else wrote
	Plan     Cause = "plan"
	Trouble  Cause = "trouble" // something of Hob's does not work
	Own      Cause = "hob"
	Digest   Cause = "digest"
)

// Source is that of the events which tell what was held.
const Source = "notify"

// about is what is known of a notice when it is judged. What outside text can set
// in it (People, Names, Text, At) is compared with the owner's rules and with nothing else.
type about struct {
	Cause   Cause
	Watcher string // id of the watcher, schedule or goal
	Title   string
	Channel string   // that brought it
	Report  string   // the conversation in which its cause was made
	People  []string // addresses and ids of whom it is about
	Names   []string // as they call themselves, which anybody may
	Text    string
	At      time.Time       // when what it is about begins or is due
	Data    json.RawMessage // what the watcher saw
	// Timed: the owner chose its time, after which it comes so late.
	Timed bool
	Late  time.Duration
	// Urgency is what the code that tells it says; 0: nothing.
	Urgency Urgency
}

// came is the part of an event's payload that says what it is about, whatever its
// kind; see autonomy.fired, goals.Order and the order of a task.
type came struct {
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

// skipped reports whether a schedule tells of times that have passed without it.
func (c came) skipped() bool {
	var d struct {
		Skipped int `json:"skipped"`
	}
	return json.Unmarshal(c.Data, &d) == nil && d.Skipped > 0
}

// seen is the part of what a watcher saw that names people and times.
type seen struct {
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

// aboutTx reads what is known of a notice from the event it belongs to.
func aboutTx(q store.Querier, o bus.Out, event string) (about, error) {
	a := about{Cause: Own, Text: o.Text}
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
		return a, fmt.Errorf("notify: %w", err)
	}
	var c came
	_ = json.Unmarshal(payload, &c) // what cannot be read says nothing
	a.Watcher, a.Title, a.Report = c.Watcher, c.Title, c.Report
	switch kind {
	case bus.Message:
		a.Watcher, a.Title, a.Channel = "", "", channel // its title is the chat's, which others name
		if a.Cause = Answer; from != provenance.Owner {
			a.Cause, a.People, a.Names = Guest, []string{sender, channel + ":" + sender}, []string{c.Name}
		}
	case bus.Schedule:
		a.Cause, a.Timed, a.Late = Schedule, c.Made == provenance.Owner && !c.skipped(), c.Late
		if c.Mode == "remind" {
			a.Cause, a.Urgency = Reminder, High
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
		a.system(source, c)
	}
	if a.Cause != Answer && a.Cause != Digest {
		a.Text += "\n" + c.Signal
		a.Data = c.Data
		a.look(c.Data)
	}
	return a, nil
}

func (a *about) system(source string, c came) {
	switch {
	case source == Source:
		a.Cause = Digest
	case source == "plan":
		a.Cause, a.Timed = Plan, true
	case strings.HasPrefix(source, "watcher:"):
		a.Cause = Trouble
	default: // only Hob itself makes them
		a.Urgency = c.Urgency
	}
}

// look takes people and times out of what a watcher saw.
func (a *about) look(data json.RawMessage) {
	var s seen
	if len(data) == 0 || json.Unmarshal(data, &s) != nil {
		return
	}
	for _, v := range []any{s.From, s.By, s.Sender, s.Organizer} {
		a.people(v, 0)
	}
	if author, ok := s.Author.(string); ok { // of an entry of a feed
		a.Names = append(a.Names, author)
	} else {
		a.people(s.Author, 0)
	}
	if from, ok := s.From.(string); ok && s.Channel != "" { // a message
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

// most is how many people a notice is about.
const most = 50

// people takes addresses and ids, and names, out of a value of JSON.
func (a *about) people(v any, depth int) {
	switch v := v.(type) {
	case string:
		a.People = append(a.People, v)
	case []any:
		for _, x := range v[:min(len(v), most)] {
			if depth == 0 {
				a.people(x, 1)
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
