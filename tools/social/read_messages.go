package social

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type readIn struct {
	Contact string `json:"contact,omitempty" jsonschema:"name, address or number of the other person"`
	Channel string `json:"channel,omitempty" jsonschema:"imessage, or the name of a channel; default all"`
	Session string `json:"session,omitempty" jsonschema:"only this conversation"`
	Since   string `json:"since,omitempty" jsonschema:"a day such as 2026-03-01, or yesterday; default 30 days ago"`
	Limit   int    `json:"limit,omitempty" jsonschema:"newest messages, default 20, at most 100"`
}

// readOut is the Data of read_messages.
type readOut struct {
	Messages []message `json:"messages"` // oldest first
	Older    int       `json:"older"`    // older messages of the period that are left out
	Problems []string  `json:"problems,omitempty"`
}

func (d Deps) readMessages() tools.Tool {
	return tools.New(tools.Def[readIn]{
		Spec: tools.Spec{
			Name: "read_messages", Category: "social", Effects: tools.Read, Timeout: messageTime,
			Description: "Read the latest chat messages with a person or in a channel: iMessage and SMS on a Mac, and the conversations of Hob's channels.",
			Keywords:    "text texts sms imessage chat whatsapp telegram slack discord wrote said message history inbox",
		},
		Summary: func(in readIn) string {
			return strings.TrimSpace("Read the messages " + cmp.Or(in.Contact, in.Session, in.Channel))
		},
		Run: func(ctx context.Context, c tools.Call, in readIn) (tools.Result, error) {
			if in.Limit < 0 {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "limit must be positive")
			}
			q := messageQuery{session: strings.TrimSpace(in.Session), channel: strings.ToLower(strings.TrimSpace(in.Channel)), contact: strings.TrimSpace(in.Contact), since: c.Now.AddDate(0, 0, -30)}
			if in.Since != "" {
				var err error
				if q.since, err = tools.ParsePastDay(in.Since, c.Now); err != nil {
					return tools.Result{}, err
				}
			}
			list, problems, err := d.readChats(ctx, c, q)
			if err != nil {
				return tools.Result{}, err
			}
			older := max(0, len(list)-min(cmp.Or(in.Limit, 20), 100))
			list = list[older:]
			var b strings.Builder
			for i, m := range list {
				if i == 0 || m.Chat != list[i-1].Chat {
					fmt.Fprintf(&b, "\n%s (%s):", m.Chat, m.Channel)
				}
				b.WriteString("\n" + m.messageLine(c.Now, 600))
			}
			if len(list) == 0 {
				b.WriteString("There are no such messages since " + dateparse.FormatDay(q.since, c.Now) + ".")
			}
			if older > 0 {
				fmt.Fprintf(&b, "\n(%s)", textnorm.CountNoun(older, "older message", "older messages"))
			}
			src, from := chatSource(list)
			return tools.Result{Text: strings.TrimSpace(b.String() + problemText(problems)), Data: readOut{Messages: append([]message{}, list...), Older: older, Problems: problems}, Source: src, Origins: from}, nil
		},
	})
}

type summaryIn struct {
	Hours   int    `json:"hours,omitempty" jsonschema:"period in hours, default 24, at most 744"`
	Session string `json:"session,omitempty" jsonschema:"only this conversation"`
	Channel string `json:"channel,omitempty" jsonschema:"only this channel; imessage for the Messages app"`
	Contact string `json:"contact,omitempty" jsonschema:"only chats with this person"`
}

// chatSummary is one chat in the Data of message_summary.
type chatSummary struct {
	Chat       string    `json:"chat"`
	Channel    string    `json:"channel"`
	Messages   int       `json:"messages"`
	Mine       int       `json:"from_you"`
	Hob        int       `json:"from_hob"`
	First      time.Time `json:"first"`
	Last       time.Time `json:"last"`
	Topics     []topicOf `json:"topics"`
	Highlights []message `json:"highlights"`
	// Open is the last message of another person if it asks something and you have not answered.
	Open string `json:"unanswered,omitempty"`
}

// summaryOut is the Data of message_summary.
type summaryOut struct {
	From     time.Time     `json:"from"`
	To       time.Time     `json:"to"`
	Messages int           `json:"messages"`
	Chats    []chatSummary `json:"chats"`
	Problems []string      `json:"problems,omitempty"`
}

func (d Deps) messageSummary() tools.Tool {
	return tools.New(tools.Def[summaryIn]{
		Spec: tools.Spec{
			Name: "message_summary", Category: "social", Effects: tools.Read, Timeout: messageTime,
			Description: "Summarize what was talked about in chats and conversations, and how much: counts, topics, the most important sentences quoted, and open questions.",
			Keywords:    "summary summarize recap chats messages conversations talked discussed missed catch up",
		},
		Summary: func(in summaryIn) string {
			return strings.TrimSpace("Summarize the messages " + cmp.Or(in.Contact, in.Session, in.Channel))
		},
		Run: func(ctx context.Context, c tools.Call, in summaryIn) (tools.Result, error) {
			if in.Hours < 0 || in.Hours > 744 {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "hours must be 1 to 744")
			}
			hours := cmp.Or(in.Hours, 24)
			q := messageQuery{session: strings.TrimSpace(in.Session), channel: strings.ToLower(strings.TrimSpace(in.Channel)), contact: strings.TrimSpace(in.Contact), since: c.Now.Add(-time.Duration(hours) * time.Hour)}
			list, problems, err := d.readChats(ctx, c, q)
			if err != nil {
				return tools.Result{}, err
			}
			out := summaryOut{From: q.since, To: c.Now, Messages: len(list), Chats: summarizeChats(list), Problems: problems}
			src, from := chatSource(list)
			return tools.Result{Text: out.describeSummary(c.Now, hours) + problemText(problems), Data: out, Source: src, Origins: from}, nil
		},
	})
}

// summarizeChats summarizes each chat, the longest first.
func summarizeChats(list []message) []chatSummary {
	chats, order := map[string][]message{}, []string{}
	for _, m := range list {
		key := m.Channel + "\x00" + m.Chat
		if chats[key] == nil {
			order = append(order, key)
		}
		chats[key] = append(chats[key], m)
	}
	sorting.StableByFunc(order, func(a, b string) int { return cmp.Compare(len(chats[b]), len(chats[a])) })
	out := []chatSummary{}
	for _, key := range order {
		out = append(out, summarizeChat(chats[key]))
	}
	return out
}

func summarizeChat(list []message) chatSummary {
	last := list[len(list)-1]
	s := chatSummary{Chat: last.Chat, Channel: last.Channel, Messages: len(list), First: list[0].At, Last: last.At}
	var texts []string
	for _, m := range list {
		switch {
		case m.Mine:
			s.Mine++
		case m.Who == "hob":
			s.Hob++
			continue // answers repeat the words of the questions
		}
		texts = append(texts, m.Text)
	}
	s.Topics = findTopics(texts, 8)
	s.Highlights = pickHighlights(list, s.Topics, 5)
	if !last.Mine && last.Who != "hob" {
		s.Open = asksSomething(last.Text)
	}
	return s
}

// pickHighlights returns the most informative messages in their order: those with many topics, with
// figures, questions and requests. Answers of Hob are not quoted.
func pickHighlights(list []message, topics []topicOf, most int) []message {
	type rated struct {
		at    int
		score float64
	}
	var all []rated
	seen := map[string]bool{}
	for i, m := range list {
		folded := textnorm.Fold(m.Text)
		if m.Who == "hob" || len(m.Text) < 8 || seen[folded] {
			continue
		}
		seen[folded] = true
		r := rated{at: i}
		for _, t := range topics {
			if strings.Contains(folded, textnorm.Fold(t.Word)) {
				r.score += float64(t.Texts)
			}
		}
		if strings.ContainsFunc(m.Text, unicode.IsDigit) {
			r.score += 2
		}
		if asksSomething(m.Text) != "" {
			r.score += 1.5
		}
		r.score /= math.Sqrt(float64(max(40, len(m.Text)))) // otherwise the longest message always wins
		all = append(all, r)
	}
	sorting.StableByFunc(all, func(a, b rated) int { return cmp.Compare(b.score, a.score) })
	all = all[:min(len(all), most)]
	sorting.StableByFunc(all, func(a, b rated) int { return a.at - b.at })
	out := []message{}
	for _, r := range all {
		out = append(out, list[r.at])
	}
	return out
}

// maxChats limits the chats in the text of a summary.
const maxChats = 10

func (o summaryOut) describeSummary(now time.Time, hours int) string {
	period := textnorm.CountNoun(hours, "hour", "hours")
	if o.Messages == 0 {
		return "No messages in the last " + period + "."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s in the last %s.", textnorm.CountNoun(o.Messages, "message", "messages"), textnorm.CountNoun(len(o.Chats), "conversation", "conversations"), period)
	for i, s := range o.Chats {
		if i == maxChats {
			fmt.Fprintf(&b, "\n\n(%d shorter conversations left out)", len(o.Chats)-maxChats)
			break
		}
		fmt.Fprintf(&b, "\n\n%s (%s): %s", s.Chat, s.Channel, textnorm.CountNoun(s.Messages, "message", "messages"))
		if s.Mine > 0 {
			fmt.Fprintf(&b, ", %d from you", s.Mine)
		}
		if s.Hob > 0 {
			fmt.Fprintf(&b, ", %d from Hob", s.Hob)
		}
		fmt.Fprintf(&b, ", last %s", dateparse.Format(s.Last.In(now.Location()), now))
		if len(s.Topics) > 0 {
			var words []string
			for _, t := range s.Topics {
				words = append(words, t.Word)
			}
			b.WriteString("\nAbout: " + strings.Join(words, ", "))
		}
		for _, m := range s.Highlights {
			b.WriteString("\n" + m.messageLine(now, 240))
		}
		if s.Open != "" {
			b.WriteString("\nNot answered yet: " + s.Open)
		}
	}
	return b.String()
}

// worstSource returns the provenance of a result that quotes untrusted sources if outside is set.
func worstSource(outside bool) provenance.Source {
	if outside {
		return provenance.Outside
	}
	return provenance.Tool
}
