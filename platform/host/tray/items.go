package tray

import (
	"fmt"
	"strings"
	"time"
)

const (
	questionWidth     = 64 // maximum runes in a line of a question
	questionLineLimit = 18 // maximum lines of a question, and of its details

	shownQuestions = 5
)

// questionItems returns the pending requests, each with the items approve and deny. Users must not
// approve what the menu cannot show completely, so a request that does not fit can only be denied
// or opened. If clicks cannot decide, a request can only be opened.
func questionItems(open []Question, decides bool) (out []Item) {
	for _, a := range open[:min(len(open), shownQuestions)] {
		lines, details, whole := questionLines(a)
		it := Item{Title: "? " + TruncateLine(a.Sentence, questionWidth), Items: textItems(lines)}
		if whole && decides {
			it.Items = append(it.Items, Item{Key: "yes " + a.ID, Title: "Approve"})
		}
		if decides {
			it.Items = append(it.Items, Item{Key: "no " + a.ID, Title: "Deny"})
		}
		if len(details) > 0 {
			it.Items = append(it.Items, Item{Title: "Details", Items: textItems(details)})
		}
		it.Items = append(it.Items, Item{Key: "open " + a.Session, Title: "Open the chat"})
		out = append(out, it)
	}
	if more := len(open) - shownQuestions; more > 0 {
		out = append(out, Item{Key: "dashboard more", Title: fmt.Sprintf("%d more…", more)})
	}
	return out
}

// questionLines returns the lines of a request and of its details, and whether they are complete.
func questionLines(a Question) (lines, details []string, whole bool) {
	lines = append(wrapText(a.Sentence, questionWidth), wrapText(a.Explanation, questionWidth)...)
	for _, d := range a.Details {
		details = append(details, wrapText(d, questionWidth)...)
	}
	whole = true
	for _, part := range []*[]string{&lines, &details} {
		if len(*part) > questionLineLimit {
			*part, whole = append((*part)[:questionLineLimit-1], "… open the chat to read more"), false
		}
	}
	return lines, details, whole
}

// textItems returns menu lines without an action.
func textItems(lines []string) (out []Item) {
	for _, l := range lines {
		out = append(out, Item{Title: l})
	}
	return out
}

// wrapText breaks text into lines of at most n runes. It drops only spaces.
func wrapText(text string, n int) (out []string) {
	for line := range strings.Lines(text) {
		var cur []rune
		for _, word := range strings.Fields(line) {
			w := []rune(word)
			if len(cur) > 0 && len(cur)+1+len(w) > n {
				out, cur = append(out, string(cur)), nil
			}
			if len(cur) > 0 {
				cur = append(cur, ' ')
			}
			for len(w) > n {
				out, w = append(out, string(w[:n])), w[n:]
			}
			cur = append(cur, w...)
		}
		if len(cur) > 0 {
			out = append(out, string(cur))
		}
	}
	return out
}

func noticeItems(told []Notice) (out []Item) {
	for _, x := range told {
		out = append(out, Item{Key: "open " + x.Session + " " + x.ID, Title: x.Text})
	}
	return out
}

// FormatClock formats a time for the menu. It returns "" for the zero time.
func FormatClock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	if time.Until(t) > 12*time.Hour {
		return t.Format("Mon 15:04")
	}
	return t.Format("15:04")
}

// pauseItems returns the items that pause Hob. Their titles state when the pause ends.
func pauseItems(decides, paused bool, until string, quiet bool, quietUntil string) (out []Item) {
	if until != "" {
		until = " until " + until
	}
	switch {
	case paused && decides:
		title := "Resume"
		if until != "" {
			title += " (paused" + until + ")"
		}
		out = append(out, Item{Key: "resume", Title: title})
	case paused:
		out = append(out, Item{Title: "Paused" + until + "; in the chat: /resume"})
	default:
		out = append(out, Item{Key: "pause 1h", Title: "Pause for 1 hour"}, Item{Key: "pause tomorrow", Title: "Pause until tomorrow"})
	}
	if quiet {
		return append(out, Item{Key: "quiet off", Title: "End quiet (until " + quietUntil + ")"})
	}
	return append(out, Item{Key: "quiet 2h", Title: "Quiet for 2 hours"})
}
