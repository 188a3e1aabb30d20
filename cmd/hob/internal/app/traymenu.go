package app

import (
	"fmt"
	"strings"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/platform/host/tray"
	"hob/templates"
)

const (
	trayWidth = 64 // runes in a line of a question
	trayLines = 18 // of a question
)

// questionItems returns the pending requests, each with approve and deny. A user cannot approve
// what the menu cannot show: a request that does not fit can only be denied or opened here.
// Where clicks cannot decide, it can only be opened.
func questionItems(open []guard.Approval, decides bool) (out []tray.Item) {
	for _, a := range open[:min(len(open), trayQuestions)] {
		lines, whole := questionLines(a)
		it := tray.Item{Title: "? " + tray.TruncateLine(a.Summary, trayWidth)}
		for _, l := range lines {
			it.Items = append(it.Items, tray.Item{Title: l})
		}
		if whole && decides {
			it.Items = append(it.Items, tray.Item{Key: "yes " + a.ID, Title: "Approve"})
		}
		if decides {
			it.Items = append(it.Items, tray.Item{Key: "no " + a.ID, Title: "Deny"})
		}
		it.Items = append(it.Items, tray.Item{Key: "open " + a.Session, Title: "Open the chat"})
		out = append(out, it)
	}
	if more := len(open) - trayQuestions; more > 0 {
		out = append(out, tray.Item{Key: "dashboard more", Title: fmt.Sprintf("%d more…", more)})
	}
	return out
}

// questionLines returns the lines of a request, and whether they are complete.
func questionLines(a guard.Approval) (lines []string, whole bool) {
	for _, p := range [][2]string{{"", a.Summary}, {"it would", a.Why}, {"exactly", a.CallText()}, {"which runs", a.Exact}, {"why I ask", a.Reason}, {"in view", a.OriginText()}} {
		if p[1] == "" {
			continue
		}
		text := p[1]
		if p[0] != "" {
			text = p[0] + ": " + text
		}
		lines = append(lines, wrapText(text, trayWidth)...)
	}
	if len(lines) > trayLines {
		return append(lines[:trayLines-1], "… open the chat to read more"), false
	}
	return lines, true
}

// wrapText breaks a text into lines of at most n runes, and drops only spaces.
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

func noticeItems(told []bus.Delivery) (out []tray.Item) {
	for _, x := range told {
		out = append(out, tray.Item{Key: "open " + x.Session + " " + x.ID, Title: x.Text})
	}
	return out
}

// templateItems list the templates; the one in use has a mark.
func templateItems(shelf templates.Registry, state string) []tray.Item {
	list, err := shelf.List()
	if err != nil || len(list) == 0 {
		return nil
	}
	used, _ := templates.InUse(state) // an unreadable state marks nothing
	var out []tray.Item
	for _, t := range list {
		out = append(out, tray.Item{Key: "template " + t.Name, Title: t.Name, Checked: t.Name == used.Name})
	}
	return []tray.Item{{Title: "Templates", Items: out}}
}

// pauseItems returns the items that pause Hob; their texts state the end of the pause.
func pauseItems(decides, paused bool, until string, quiet bool, quietUntil string) (out []tray.Item) {
	if until != "" {
		until = " until " + until
	}
	switch {
	case paused && decides:
		title := "Resume"
		if until != "" {
			title += " (paused" + until + ")"
		}
		out = append(out, tray.Item{Key: "resume", Title: title})
	case paused:
		out = append(out, tray.Item{Title: "Paused" + until + "; in the chat: /resume"})
	default:
		out = append(out, tray.Item{Key: "pause 1h", Title: "Pause for 1 hour"}, tray.Item{Key: "pause tomorrow", Title: "Pause until tomorrow"})
	}
	if quiet {
		return append(out, tray.Item{Key: "quiet off", Title: "End quiet (until " + quietUntil + ")"})
	}
	return append(out, tray.Item{Key: "quiet 2h", Title: "Quiet for 2 hours"})
}
