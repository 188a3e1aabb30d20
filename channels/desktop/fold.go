package desktop

import (
	"fmt"
	"strings"
	"time"

	"hob/channels"
	"hob/platform/host/desktop"
	"hob/platform/text/textnorm"
)

// burstFolder limits bursts: notifications beyond the limit per minute are combined into one.
type burstFolder struct {
	burst     int
	questions bool
	past      []time.Time // times of the notifications of the last minute
	lines     []string    // folded messages, newest last
	count     int
	last      time.Time // time of the last folded text
}

// foldLines is the number of combined messages that are listed.
const foldLines = 5

// foldID returns the id of the notification that combines the folded messages.
func (f *burstFolder) foldID() string {
	if f.questions {
		return "fold-questions"
	}
	return "fold-notices"
}

// foldNote returns n unchanged, or the combined notification into which it was folded. A retried
// message may be counted twice, which is harmless.
func (c *Channel) foldNote(n desktop.Notification, what shownNote, d channels.Delivery, now time.Time) (desktop.Notification, shownNote) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.folds[d.Kind == channels.Question]
	for len(f.past) > 0 && now.Sub(f.past[0]) >= time.Minute {
		f.past = f.past[1:]
	}
	if len(f.past) < f.burst {
		if now.Sub(f.last) >= time.Minute {
			f.count, f.lines = 0, nil
		}
		f.past = append(f.past, now)
		return n, what
	}
	f.count++
	f.last = now
	line, _, _ := strings.Cut(strings.TrimSpace(d.Text), "\n")
	f.lines = append(f.lines, "• "+textnorm.Ellipsize(line, 90))
	if len(f.lines) > foldLines {
		f.lines = f.lines[1:]
	}
	out := desktop.Notification{ID: f.foldID(), Title: fmt.Sprintf("Hob: %d more notifications", f.count), Urgency: n.Urgency, Body: strings.Join(f.lines, "\n")}
	if f.questions {
		out.Title = fmt.Sprintf("Hob: %d more questions for you", f.count)
	}
	if more := f.count - len(f.lines); more > 0 {
		out.Body = fmt.Sprintf("%s\nand %d earlier", out.Body, more)
	}
	if c.buttons != nil {
		if page := c.buttons.Page(""); page != "" {
			out.Actions = []desktop.Action{{Key: desktop.Default, Label: "Open", URL: page}, {Key: keyOpen, Label: "Open", URL: page}}
		}
	}
	return out, shownNote{}
}

// resetFold resets the fold after the combined notification was closed or opened.
func (c *Channel) resetFold(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.folds {
		if f.foldID() == id {
			f.count, f.lines = 0, nil
		}
	}
}
