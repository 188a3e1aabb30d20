package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Conversations searches the engine's store of all messages. It is safe for concurrent use.
type Conversations interface {
	// SearchConversations finds messages by their words, best match first. Its errors for invalid
	// arguments are *tools.Error.
	SearchConversations(ctx context.Context, q knowledge.ConversationQuery) ([]knowledge.Said, error)
	// SaidIn returns one complete message.
	SaidIn(ctx context.Context, message int64) (knowledge.Said, error)
}

type conversationsIn struct {
	Query   string `json:"query,omitempty" jsonschema:"words that were said"`
	Message int64  `json:"message,omitempty" jsonschema:"instead of query: the number of a message to show in full"`
	Session string `json:"session,omitempty" jsonschema:"only this conversation"`
	Who     string `json:"who,omitempty" jsonschema:"owner, hob, tool or outside"`
	Since   string `json:"since,omitempty" jsonschema:"a day"`
	Until   string `json:"until,omitempty" jsonschema:"a day"`
	Limit   int    `json:"limit,omitempty"`
}

// conversationsOut is the Data of search_conversations.
type conversationsOut struct {
	Said []knowledge.Said `json:"said"`
	// Withheld has the same meaning as in search_knowledge.
	Withheld int `json:"withheld,omitempty"`
}

func (d Deps) searchConversations() tools.Tool {
	return tools.New(tools.Def[conversationsIn]{
		Spec: tools.Spec{
			Name: "search_conversations", Category: "memory", Effects: tools.Read,
			Description: "Find words of earlier conversations, or show one whole message.",
			Keywords:    "history chat earlier said talked discussed message transcript original",
		},
		Summary: func(in conversationsIn) string {
			if in.Message != 0 {
				return fmt.Sprintf("Show message %d", in.Message)
			}
			return "Search the conversations for " + quoteLine(textnorm.Ellipsize(in.Query, 100))
		},
		Run: func(ctx context.Context, c tools.Call, in conversationsIn) (tools.Result, error) {
			found, err := d.findMessages(ctx, c, in)
			if err != nil {
				return tools.Result{}, err
			}
			n := len(found)
			found = slices.DeleteFunc(found, func(s knowledge.Said) bool { return s.Withheld })
			withheld := n - len(found)
			var from [][]provenance.Origin
			for _, s := range found {
				from = append(from, s.Origins)
			}
			return tools.Result{
				Origins: provenance.Join(from...),
				Text:    orWithheld(len(found), conversationsText(in, found, c.Now), withheld, c), Data: conversationsOut{Said: append([]knowledge.Said{}, found...), Withheld: withheld},
				Source: sourceOf(found, func(s knowledge.Said) provenance.Source { return s.Provenance }),
			}, nil
		},
	})
}

func (d Deps) findMessages(ctx context.Context, c tools.Call, in conversationsIn) ([]knowledge.Said, error) {
	if (in.Message != 0) == (strings.TrimSpace(in.Query) != "") {
		return nil, tools.Errorf(tools.InvalidArguments, "give exactly one of query and message")
	}
	if c.Realm != "" { // another agent may read only its own conversation
		if in.Session != "" && in.Session != c.Session {
			return nil, tools.Errorf(tools.PolicyDenied, "this agent can read only its own conversation")
		}
		in.Session = c.Session
	}
	if in.Message != 0 {
		s, err := d.Conversations.SaidIn(ctx, in.Message)
		if err == nil && in.Session != "" && s.Session != in.Session {
			err = tools.Errorf(tools.NotFound, "this conversation has no message %d", in.Message)
		}
		text, ok := c.CredentialViewer().Show("", s.Text)
		s.Text, s.Withheld = text, !ok
		return []knowledge.Said{s}, err
	}
	limit, err := limitOr(in.Limit, 8)
	if err != nil {
		return nil, err
	}
	q := knowledge.ConversationQuery{Text: in.Query, Session: in.Session, Who: in.Who, Limit: limit, Without: c.Event, Viewer: c.CredentialViewer()}
	for _, day := range []struct {
		name, text string
		to         *time.Time
		end        bool
	}{{"since", in.Since, &q.Since, false}, {"until", in.Until, &q.Until, true}} {
		if day.text == "" {
			continue
		}
		t, err := time.ParseInLocation(time.DateOnly, strings.TrimSpace(day.text), c.Now.Location())
		if err != nil {
			return nil, tools.Errorf(tools.InvalidArguments, "%s must be a day such as %s", tools.Clean(day.name), tools.Clean(c.Now.Format(time.DateOnly)))
		}
		if day.end {
			t = t.AddDate(0, 0, 1)
		}
		*day.to = t
	}
	return d.Conversations.SearchConversations(ctx, q)
}

func conversationsText(in conversationsIn, found []knowledge.Said, now time.Time) string {
	switch {
	case len(found) == 0 && in.Message != 0:
		return ""
	case len(found) == 0:
		return fmt.Sprintf("No message matches %s.", quoteLine(textnorm.Ellipsize(in.Query, 100)))
	case in.Message != 0:
		s := found[0]
		return fmt.Sprintf("Message %d, %s in %s, %s:\n%s", s.Message, s.Who, s.Session, dateparse.FormatDay(s.At, now), s.Text)
	}
	var b strings.Builder
	b.WriteString("Found:")
	for _, s := range found {
		fmt.Fprintf(&b, "\n- message %d, %s in %s, %s: %s", s.Message, s.Who, s.Session, dateparse.FormatDay(s.At, now), textnorm.Ellipsize(s.Text, 300))
	}
	return b.String()
}
