package knowledge

import (
	"time"

	"hob/platform/provenance"
	"hob/platform/text/credential"
)

// ConversationQuery selects messages. An empty field does not restrict the search.
type ConversationQuery struct {
	Text, Session, Who string
	Since, Until       time.Time
	Limit              int
	Without            string // event of the search request; its own messages are excluded
	// Viewer is the reader of the result. Text that the viewer may not see is marked as Withheld.
	Viewer credential.Viewer
}

// Said is one message of a conversation.
type Said struct {
	Message    int64             `json:"message"`
	Session    string            `json:"session"`
	Who        string            `json:"who"`
	At         time.Time         `json:"at"`
	Text       string            `json:"text"` // the complete text or the matching part of it
	Provenance provenance.Source `json:"provenance"`
	// Origins are the origins of untrusted text in the message.
	Origins []provenance.Origin `json:"origins,omitempty"`
	// Withheld is true if the text looks like a credential that the user did not request by name.
	Withheld bool `json:"-"`
}
