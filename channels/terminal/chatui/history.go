package chatui

import (
	"slices"
	"strings"

	"hob/platform/text/visible"
)

// history holds the earlier messages, oldest first.
type history struct {
	entries []string
	at      int    // index of the entry in the input; len(entries) for the text being written
	draft   string // text being written
}

// maxHistory is the number of earlier messages.
const maxHistory = 1000

func (h *history) addMessage(text string) {
	text = visible.Text(text)
	if n := len(h.entries); n == 0 || h.entries[n-1] != text {
		h.entries = append(h.entries, text)
	}
	if n := len(h.entries) - maxHistory; n > 0 {
		h.entries = h.entries[n:]
	}
	h.at = len(h.entries)
}

// prependEarlier adds the messages of earlier chats.
func (h *history) prependEarlier(earlier []string) {
	for i, e := range earlier {
		earlier[i] = visible.Text(e)
	}
	h.entries = append(slices.Clip(slices.Compact(earlier)), h.entries...)
	h.at = len(h.entries)
}

func (h *history) olderMessage(current string) (string, bool) {
	if h.at > len(h.entries) {
		h.at = len(h.entries)
	}
	if h.at == 0 {
		return "", false
	}
	if h.at == len(h.entries) {
		h.draft = current
	}
	h.at--
	return h.entries[h.at], true
}

func (h *history) newerMessage() (string, bool) {
	if h.at >= len(h.entries) {
		return "", false
	}
	if h.at++; h.at == len(h.entries) {
		return h.draft, true
	}
	return h.entries[h.at], true
}

// historySearch is the state of Ctrl-R.
type historySearch struct {
	query  string
	before string // the input before the search
	at     int    // index of the match; len(entries) if there is none
}

// findMatch moves to the newest match at or before index from. If there is none, it does not move.
func (s *historySearch) findMatch(entries []string, from int) {
	for i := min(from, len(entries)-1); i >= 0; i-- {
		if strings.Contains(strings.ToLower(entries[i]), strings.ToLower(s.query)) {
			s.at = i
			return
		}
	}
}
