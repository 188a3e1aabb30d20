package intake

import (
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/intake/chattext"
	"hob/platform/provenance"
)

const steerMark = "\x1fsteer\x1f"

// steerLane returns a separate queue, so that the text waits only for the turn.
func steerLane(session, event string) string { return session + steerMark + event }

// IsSteering reports whether an event is text for a running turn (/steer).
func IsSteering(ev bus.Event) bool { return strings.HasPrefix(ev.Lane, ev.Session+steerMark) }

// IsReset reports whether the owner ends a conversation.
func IsReset(ev bus.Event) bool {
	command, _ := chattext.ParseCommand(ev.Text)
	return command == chattext.New && ev.Provenance == provenance.Owner
}
