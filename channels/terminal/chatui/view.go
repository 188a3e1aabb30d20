package chatui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// transcriptRows returns the number of rows of the transcript.
func (m *model) transcriptRows() int {
	return max(m.height-m.input.Height()-2-len(m.menuLines()), 1)
}

// View implements tea.Model. From top to bottom it shows the transcript, a line about the running
// work, the completions, the input, and the status bar.
func (m *model) View() tea.View {
	room := m.transcriptRows()
	lines := m.visibleLines(room)
	rows := make([]string, 0, m.height)
	for range room - len(lines) {
		rows = append(rows, "")
	}
	for _, l := range lines {
		rows = append(rows, ansi.Truncate(l, m.width, "")+"\x1b[0m")
	}
	rows = append(rows, ansi.Truncate(m.workLine(), m.width, "…"))
	rows = append(rows, m.menuLines()...)
	top := len(rows)
	if m.search != nil {
		rows = append(rows, ansi.Truncate(m.searchLine(), m.width, "…"))
	} else {
		rows = append(rows, strings.Split(m.input.View(), "\n")...)
	}
	rows = append(rows, m.statusBar())
	v := tea.NewView(strings.Join(rows, "\n"))
	v.AltScreen = true
	if c := m.input.Cursor(); c != nil && m.search == nil {
		c.Y, c.Color = c.Y+top, nil // the terminal's own color
		v.Cursor = c
	}
	return v
}

// spinnerFrames are the states of the spinner.
const spinnerFrames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

// workLine returns the line above the input: what Hob does and for how long, or a hint.
func (m *model) workLine() string {
	if a := m.oldestActivity(); a != nil {
		frames := []rune(spinnerFrames)
		s := applyStyle(blue, string(frames[m.frame%len(frames)])) + " " + a.what + " " + formatElapsed(time.Since(a.begun)) + applyStyle(dim, "  Ctrl-C stops")
		if n := len(m.running) - 1; n > 0 {
			s += applyStyle(dim, fmt.Sprintf(" · %d more queued", n))
		}
		return s
	}
	switch {
	case m.scroll > 0 && len(m.cards) > 0 && m.cards[0].shown.IsZero():
		return applyStyle(amber, "↓ PgDn: read "+moreLines(m.scroll)+", then answer")
	case m.scroll > 0:
		return applyStyle(dim, "↓ "+moreLines(m.scroll)+": PgDn, Esc for the end")
	}
	return ""
}

// oldestTurn returns the number of the turn that Hob is working on, or 0.
func (m *model) oldestTurn() (first int) {
	for n := range m.running {
		if first == 0 || n < first {
			first = n
		}
	}
	return first
}

// oldestActivity returns what Hob is working on, or nil if it is idle or waits for an approval.
func (m *model) oldestActivity() *activity {
	if len(m.cards) > 0 && !m.cards[0].deciding {
		return nil
	}
	return m.running[m.oldestTurn()]
}

func moreLines(n int) string {
	if n == 1 {
		return "1 more line"
	}
	return fmt.Sprintf("%d more lines", n)
}

func (m *model) searchLine() string {
	s := m.search
	found := "no match"
	if s.at < len(m.history.entries) && s.query != "" {
		found = strings.ReplaceAll(m.history.entries[s.at], "\n", " ⏎ ")
	}
	return applyStyle(bold, "search: ") + s.query + applyStyle(invert, " ") + "  " + found
}

func (m *model) menuLines() (out []string) {
	if m.menu == nil {
		return nil
	}
	n := min(maxChoices, max(m.height-6, 1), len(m.menu.choices))
	from := max(0, min(m.menu.at-n/2, len(m.menu.choices)-n))
	for i, c := range m.menu.choices[from : from+n] {
		l := fmt.Sprintf("  %-12s %s", strings.TrimSpace(c.text), applyStyle(dim, c.about))
		if from+i == m.menu.at {
			l = applyStyle(bold, fmt.Sprintf("▸ %-12s ", strings.TrimSpace(c.text))) + c.about
		}
		out = append(out, ansi.Truncate(l, m.width, "…"))
	}
	return out
}

// statusBar returns the last line. It leaves out the least important fields if it is too narrow.
func (m *model) statusBar() string {
	state := "ready"
	switch a := m.oldestActivity(); {
	case m.status.Offline:
		state = "reconnecting"
	case len(m.cards) > 0 && m.width < 60:
		state = "waiting"
	case len(m.cards) > 0:
		state = "waiting for your answer"
	case a != nil:
		state = "working"
	}
	model := m.status.Model
	if model == "" {
		model = "Hob"
	}
	fields := []string{oneLine(model), state}
	if m.status.Budget != "" {
		fields = append(fields, m.status.Budget)
	}
	if m.status.Queue > 0 {
		fields = append(fields, fmt.Sprintf("%d queued", m.status.Queue))
	}
	if m.status.Quiet != "" {
		fields = append(fields, "quiet "+m.status.Quiet)
	}
	if m.ui.o.Session != "" {
		fields = append(fields, "session "+oneLine(m.ui.o.Session))
	}
	fields = append(fields, "/help", "Ctrl-O tools", "Ctrl-R search")
	bar := " " + fields[0]
	for _, f := range fields[1:] {
		if next := bar + " · " + f; ansi.StringWidth(next) < m.width {
			bar = next
		}
	}
	bar = ansi.Truncate(bar, m.width, "…")
	return applyStyle(invert, bar+strings.Repeat(" ", max(m.width-ansi.StringWidth(bar), 0)))
}
