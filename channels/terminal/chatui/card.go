package chatui

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"hob/autonomy/api"
	"hob/platform/text/visible"
)

// card is an approval request on the screen.
type card struct {
	request               api.Approval
	sentence, consequence string
	details               []api.Detail
	open                  bool // whether the details are shown
	read                  bool // whether the details were shown once
	deciding              bool
	failure               string
	created               time.Time
	shown                 time.Time // when the whole card was first visible
	began                 bool      // whether the beginning of the card was visible
	line                  *item     // the line in the transcript about the decision
}

func newCard(q api.Approval) *card {
	return &card{request: q, sentence: q.Sentence(), consequence: q.Explanation(), details: q.Details(), created: time.Now()}
}

// maxUnread is the length of details, in characters, up to which a request can be approved without
// reading them.
const maxUnread = 10_000

// needsReading reports whether the user must open the details before approving, because the sentence
// is cut off or the details are very long.
func (c *card) needsReading() bool {
	n := 0
	for _, d := range c.details {
		n += utf8.RuneCountInString(d.Text)
	}
	return !c.read && (strings.HasSuffix(c.sentence, "…") || n > maxUnread)
}

// reactionTime is how long a request must be visible before a key can approve it. A key that the user
// meant for something else must not approve.
const reactionTime = time.Second

// isReady reports whether keys may decide the request now.
func (c *card) isReady(now time.Time) bool {
	return !c.shown.IsZero() && now.Sub(c.shown) >= reactionTime && !c.deciding
}

// noteShown records which ends of the card are visible. All of a card that does not fit was visible
// when the user has scrolled from its beginning to its end.
func (c *card) noteShown(top, end bool) {
	c.began = c.began || top
	if c.began && end && c.shown.IsZero() {
		c.shown = time.Now()
	}
}

// drawLines returns the lines of a card. more is the number of further requests.
func (c *card) drawLines(width, more int, p *pendingDecision) []string {
	bar := applyStyle(amber, "┃ ")
	var out []string
	add := func(style, text string) {
		for _, l := range wrapPlain(text, width-2) {
			out = append(out, bar+applyStyle(style, l))
		}
	}
	out = append(out, "")
	add(bold+";"+amber, "Hob asks: "+c.sentence)
	add("0", c.consequence)
	if c.failure != "" {
		add(red, c.failure)
	}
	if c.open {
		for _, d := range c.details {
			add(dim, d.Label+": "+visible.Text(d.Text))
		}
	}
	keys := "y approve · n deny · d details"
	switch {
	case c.deciding:
		keys = "Sending your answer."
	case p != nil && p.id == c.request.ID && p.key == "y":
		keys = "Approving. Esc cancels."
	case p != nil && p.id == c.request.ID && p.key == "n":
		keys = "Denying. Esc cancels."
	case c.needsReading():
		keys = "d details, then y approve · n deny"
	case c.open:
		keys = "y approve · n deny · d hide details"
	}
	add(bold, keys)
	if more > 0 {
		add(dim, fmt.Sprintf("%d more to answer after this one.", more))
	}
	return out
}
