package chatui

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"hob/platform/text/lazyregexp"
	"hob/platform/text/markup"
	"hob/platform/text/visible"
)

// The styles, as ECMA-48 SGR parameters.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	amber  = "33"
	blue   = "34"
	invert = "7"
)

func applyStyle(style, s string) string { return "\x1b[" + style + "m" + s + "\x1b[0m" }

// itemKind is the kind of an item in the transcript.
type itemKind int

const (
	userItem itemKind = iota
	answerItem
	noteItem
	toolItem
)

// item is one part of the transcript. Its lines are cached for one width.
type item struct {
	kind  itemKind
	note  Kind
	text  string
	tool  *toolCall
	open  bool // whether text may still be added
	stale bool // whether lines do not show all of text

	width int
	lines []string
	drawn time.Time
	laid  int // number of lines in the last layout
}

// toolCall is a line for a tool call, which can be unfolded.
type toolCall struct {
	id, name, arguments, progress, failure, result string
	begun                                          time.Time
	took                                           time.Duration
	done                                           bool
}

// block is a group of items that stay together: a message with its answer, or a note.
type block struct {
	turn  int
	items []*item
}

// maxPiece is the length of an item in bytes. A longer answer continues in a new item, so that the time
// to draw an answer while it grows is limited. maxKept is the number of blocks that the chat shows.
const (
	maxPiece = 16 << 10
	maxKept  = 2000
)

// drawEvery is the shortest time between two drawings of an answer that grows.
const drawEvery = 50 * time.Millisecond

// linesOf returns the lines of an item.
func (m *model) linesOf(it *item) []string {
	width := max(m.width, 10)
	if it.width == width && it.lines != nil && (!it.stale || it.open && time.Since(it.drawn) < drawEvery) {
		return it.lines
	}
	if it.width != width {
		it.laid = 0
	}
	it.width, it.drawn, it.stale = width, time.Now(), false
	switch it.kind {
	case userItem:
		it.lines = prefixLines(wrapPlain(it.text, width-2), applyStyle(bold+";"+blue, "› "), bold)
	case answerItem:
		it.lines = markup.Terminal(it.text, width)
	case noteItem:
		it.lines = noteLines(it.note, it.text, width)
	case toolItem:
		it.lines = m.toolLines(it.tool, width)
	}
	if it.lines == nil {
		it.lines = []string{}
	}
	return it.lines
}

// wrapPlain wraps text without styles.
func wrapPlain(text string, width int) []string {
	text = strings.ReplaceAll(visible.Text(text), "\t", "    ")
	return strings.Split(ansi.Wrap(text, max(width, 4), ""), "\n")
}

// prefixLines puts first before the first line and spaces before the other lines.
func prefixLines(lines []string, first, style string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.Repeat(" ", ansi.StringWidth(first)) + applyStyle(style, l)
		if i == 0 {
			out[i] = first + applyStyle(style, l)
		}
	}
	return out
}

func noteLines(kind Kind, text string, width int) []string {
	switch kind {
	case Notice: // notices are Markdown, as on other channels
		lines := markup.Terminal(text, width-2)
		for i, l := range lines {
			lines[i] = applyStyle(green, "┃ ") + l
		}
		return lines
	case Warning:
		return prefixLines(wrapPlain(text, width-2), applyStyle(amber, "! "), amber)
	case Failure:
		return prefixLines(wrapPlain(text, width-2), applyStyle(red, "✗ "), red)
	case Hint:
	}
	return prefixLines(wrapPlain(text, width), "", dim)
}

// innerTool finds the tool that the arguments of use_tool name.
var innerTool = lazyregexp.New(`"name"\s*:\s*"(\w+)"`)

// displayName returns the name of the tool for the user.
func (t *toolCall) displayName() string {
	name := t.name
	if found := innerTool.FindStringSubmatch(t.arguments); t.name == "use_tool" && found != nil {
		name = found[1]
	}
	return strings.ReplaceAll(oneLine(name), "_", " ")
}

// maxUnfolded is the number of lines of an unfolded tool result.
const maxUnfolded = 30

// toolLines returns the line of a tool call, and its arguments and result if tool lines are
// unfolded.
func (m *model) toolLines(t *toolCall, width int) []string {
	name := t.displayName()
	head, style := "  ⋯ "+name, dim
	switch {
	case t.failure != "":
		head, style = "  ✗ "+name+": "+oneLine(t.failure), red
	case t.done && name == "undo" && (strings.Contains(t.result, "here is nothing ") || strings.Contains(t.result, " cannot be undone")): // the undo changed nothing
		head = "  – " + name
	case t.done:
		head = "  ✓ " + name
	case t.progress != "":
		head += ": " + oneLine(t.progress)
	}
	if t.took >= time.Second {
		head += ", " + formatElapsed(t.took)
	}
	out := []string{applyStyle(style, ansi.Truncate(head, width, "…"))}
	if !m.unfolded {
		return out
	}
	var lines []string
	for _, text := range []string{t.arguments, t.result} {
		if text = strings.TrimSpace(text); text != "" {
			lines = append(lines, wrapPlain(text, width-6)...)
		}
	}
	if len(lines) > maxUnfolded {
		lines = append(lines[:maxUnfolded], "…")
	}
	return append(out, prefixLines(lines, "      ", dim)...)
}

// addBlock adds a block at the end of the transcript.
func (m *model) addBlock(b *block) *block {
	m.blocks = append(m.blocks, b)
	if n := len(m.blocks) - maxKept; n > 0 {
		m.blocks = append([]*block(nil), m.blocks[n:]...)
	}
	return b
}

// blockOf returns the block of a turn.
func (m *model) blockOf(turn int) *block {
	for i := len(m.blocks) - 1; i >= 0; i-- {
		if m.blocks[i].turn == turn {
			return m.blocks[i]
		}
	}
	return m.addBlock(&block{turn: turn})
}

// addText adds text of an answer to a block.
func (b *block) addText(text string) {
	if n := len(b.items); n == 0 || b.items[n-1].kind != answerItem || !b.items[n-1].open {
		if strings.TrimSpace(text) == "" {
			return
		}
		b.items = append(b.items, &item{kind: answerItem, open: true})
	}
	it := b.items[len(b.items)-1]
	it.text, it.stale = it.text+text, true
	if len(it.text) < maxPiece {
		return
	}
	cut := strings.LastIndex(it.text, "\n\n")
	if cut <= 0 || strings.Count(it.text[:cut], "```")%2 == 1 {
		if len(it.text) < 4*maxPiece {
			return
		}
		cut = max(strings.LastIndexAny(it.text, " \n"), 0)
		if cut == 0 {
			return
		}
	}
	rest := it.text[cut:]
	it.text, it.open = it.text[:cut], false
	b.items = append(b.items, &item{kind: answerItem, open: true, text: strings.TrimLeft(rest, "\n"), stale: true})
}

// endText completes the last text of a block.
func (b *block) endText() {
	if n := len(b.items); n > 0 && b.items[n-1].kind == answerItem {
		b.items[n-1].open, b.items[n-1].stale = false, true
	}
}

// toolOf returns the tool call with this id, otherwise the oldest unfinished call with this name,
// otherwise a new call.
func (b *block) toolOf(id, name string) *item {
	var same *item
	for _, it := range b.items {
		if it.kind != toolItem || it.tool.done {
			continue
		}
		if id != "" && it.tool.id == id {
			return it
		}
		if same == nil && it.tool.name == name {
			same = it
		}
	}
	if same != nil {
		return same
	}
	b.endText()
	it := &item{kind: toolItem, tool: &toolCall{id: id, name: name, begun: time.Now()}}
	b.items = append(b.items, it)
	return it
}

// visibleLines returns the lines of the transcript that fit into n rows, above the scroll position.
// It collects them from the end, so that its cost does not depend on the length of the chat.
func (m *model) visibleLines(n int) []string {
	var reversed []string // from the last line up
	total := 0            // lines below and in reversed
	full := func() bool { return total >= m.scroll+n }
	add := func(lines []string) {
		for i := len(lines) - 1; i >= 0; i-- {
			if total++; total > m.scroll && len(reversed) < n {
				reversed = append(reversed, lines[i])
			}
		}
	}
	if len(m.cards) > 0 {
		c := m.cards[0]
		add(c.drawLines(max(m.width, 10), len(m.cards)-1, m.pending))
		c.noteShown(total <= m.scroll+n, m.scroll == 0)
	}
	for i := len(m.blocks) - 1; i >= 0 && !full(); i-- {
		items := m.blocks[i].items
		for j := len(items) - 1; j >= 0 && !full(); j-- {
			lines := m.linesOf(items[j])
			spaced := len(lines) > 0 && items[j].kind != toolItem && (i > 0 || j > 0)
			height := len(lines)
			if spaced {
				height++
			}
			if m.scroll > 0 && items[j].laid != height { // keep the scroll position while text arrives below
				m.scroll += height - items[j].laid
			}
			items[j].laid = height
			add(lines)
			if spaced {
				add([]string{""})
			}
		}
	}
	if limit := max(0, total-n); m.scroll > limit {
		m.scroll = limit
		return m.visibleLines(n)
	}
	out := make([]string, 0, n)
	for i := len(reversed) - 1; i >= 0; i-- {
		out = append(out, reversed[i])
	}
	return out
}
