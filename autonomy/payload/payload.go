// Package payload defines the payloads of inbox events (bus.Event.Payload) and derives the origins
// of untrusted text from them. The packages that accept events write the payloads. The packages
// that answer and explain events read them. The fields are stored as JSON, so their names must not
// change.
package payload

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hob/autonomy/bus"
	"hob/autonomy/notify"
	"hob/channels"
	"hob/platform/provenance"
	"hob/watchers"
)

// Message is the payload of a message event.
type Message struct {
	Outside []string `json:"outside,omitempty"`
	// OutsideFrom has the same meaning as in channels.Inbound.
	OutsideFrom []channels.TextSource `json:"outside_from,omitempty"`
	Images      []channels.Image      `json:"images,omitempty"`
	Via         string                `json:"via,omitempty"`
	Unknown     bool                  `json:"unknown,omitempty"` // whether the program that sent the message could not be identified
	Name        string                `json:"name,omitempty"`
	Title       string                `json:"title,omitempty"`  // name of the chat
	Server      string                `json:"server,omitempty"` // id of the server or workspace
	Extra       json.RawMessage       `json:"extra,omitempty"`
	// Until is set if the sender exceeded the limit. Hob ignores the sender's messages until then,
	// and mentions that time in its reply.
	Until time.Time `json:"until,omitzero"`
	// Refused is the reason if a hook refused the message. It is untrusted text.
	Refused string `json:"refused,omitempty"`
	// Client is the API program that sent the message. See channels.Inbound for the fields.
	Client      string   `json:"client,omitempty"`
	ReplyTo     []string `json:"reply_to,omitempty"`
	Threaded    bool     `json:"threaded,omitempty"`
	OnlyReplies bool     `json:"only_replies,omitempty"`
	// Shared reports whether a message is not from a private chat with the owner, or is answered on
	// another channel. See bus.OwnerChat.
	Shared bool `json:"shared,omitempty"`
}

// ParseMessage parses the payload of a message event. A missing payload is treated as an empty one.
func ParseMessage(ev bus.Event) (m Message, err error) {
	if len(ev.Payload) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(ev.Payload, &m); err != nil {
		return m, fmt.Errorf("event %s: %w", ev.ID, err)
	}
	return m, nil
}

// Signal is the payload of an event from a watcher, a schedule, a trigger or Hob itself.
type Signal struct {
	Watcher string            `json:"watcher"`
	Title   string            `json:"title"`
	Mode    watchers.Mode     `json:"mode"`
	Action  string            `json:"action,omitempty"`
	Report  string            `json:"report"`
	Signal  string            `json:"signal"`
	Late    time.Duration     `json:"late,omitempty"`
	Note    string            `json:"note,omitempty"`   // describes a delay to users
	Made    provenance.Source `json:"made"`             // provenance of the watcher itself
	Agent   string            `json:"agent,omitempty"`  // agent that created the watcher; "" means the default agent
	Urgency notify.Urgency    `json:"urgency,omitzero"` // set by Hob and by the priority of a reminder; 0 means the default
	Data    json.RawMessage   `json:"data,omitempty"`
}

// ParseSignal parses the payload of an event that is not a message, a goal or a tool call.
func ParseSignal(ev bus.Event) (s Signal, err error) {
	if err := json.Unmarshal(ev.Payload, &s); err != nil {
		return s, fmt.Errorf("event %s: %w", ev.ID, err)
	}
	return s, nil
}

// ReminderText returns the text of a reminder, with its priority and its delay.
func (s Signal) ReminderText() string {
	label := "Reminder"
	if s.Urgency != 0 && s.Urgency != notify.Normal {
		label += " (" + s.Urgency.String() + " priority)"
	}
	return label + ": " + s.Action + s.LatenessNote(" (", ")")
}

// LatenessNote describes the delay of an event, enclosed in open and end. It returns "" if the
// event was on time.
func (s Signal) LatenessNote(open, end string) string {
	switch {
	case s.Note != "":
		return open + s.Note + end
	case s.Late >= time.Minute: // the event was stored before the field Note existed
		return open + "ran late" + end
	}
	return ""
}

// ReportSession returns the session to which an event from a watcher, a schedule or a trigger
// reports. For other events it returns the event's own session.
func ReportSession(ev bus.Event) string {
	if s, err := ParseSignal(ev); err == nil && s.Report != "" {
		return s.Report
	}
	return ev.Session
}

// SourceName names what an event came from, for approval requests: `watcher "Downloads"`,
// "trigger deploy", "conversation main".
func SourceName(ev bus.Event) string {
	kind := string(ev.Kind)
	switch ev.Kind {
	case bus.Message:
		return "conversation " + ev.Session
	case bus.Webhook:
		kind = "trigger"
	case bus.Watcher, bus.Schedule:
	case bus.Goal, bus.Task, bus.Approval, bus.System:
		if ev.Kind == bus.Task && ev.Source == ClientSource {
			return "program " + ev.Sender
		}
		return kind
	}
	s, err := ParseSignal(ev)
	if err != nil || s.Title == "" || ev.Kind == bus.Webhook {
		_, id, _ := strings.Cut(ev.Session, ":")
		return kind + " " + id
	}
	return fmt.Sprintf("%s %q", kind, s.Title)
}

// ClientSource is the source of events for tool calls by external programs. The sender of such an
// event identifies the program.
const ClientSource = "client"

// ToolCall is the payload of a tool call that the owner or an external program made directly.
type ToolCall struct {
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	Report string          `json:"report"`
	// Client is the identity of the external program that made the call, such as "mcp:laptop"; ""
	// means that the owner made it. Origins then describes the program.
	Client  string              `json:"client,omitempty"`
	Origins []provenance.Origin `json:"origins,omitempty"`
}
