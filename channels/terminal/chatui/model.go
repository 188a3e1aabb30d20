package chatui

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
)

// model is the state of the screen (tea.Model). Only the program's goroutine uses it.
type model struct {
	ui            *UI
	width, height int

	blocks   []*block
	scroll   int  // lines below the visible part; 0 follows the end
	unfolded bool // whether tool lines show arguments and results
	cards    []*card
	pending  *pendingDecision

	input   textarea.Model
	pastes  []Paste
	history history
	search  *historySearch
	menu    *menu

	status  Status
	running map[int]*activity
	frame   int  // frame of the spinner
	ticking bool // whether a tick is scheduled
	armed   bool // whether the last key was Ctrl-C
	leaving bool
}

// activity is the state of a running turn.
type activity struct {
	begun time.Time
	what  string // "thinking", "answering" or the name of a tool
}

// pendingDecision is a key on an approval request that the user can still cancel.
type pendingDecision struct {
	number int
	id     string
	key    string // y, n or d; d has an immediate effect, which is reverted
}

// decisionDelay is the time between the key and the decision. A further key in this time shows that
// the user is typing a message, so it cancels the decision.
const decisionDelay = 400 * time.Millisecond

func newModel(u *UI) *model {
	m := &model{ui: u, width: 80, height: 24, running: map[int]*activity{}}
	m.input = newInput()
	return m
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return m.input.Focus() }

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width > 0 && msg.Height > 0 { // some terminals do not know their size
			m.width, m.height = msg.Width, msg.Height
		}
		m.fitInput()
		return m, tea.ClearScreen
	case tea.KeyPressMsg:
		return m, m.pressKey(msg)
	case tea.PasteMsg:
		m.armed = false
		m.pasteText(msg.Content)
		return m, nil
	case tickMsg:
		m.ticking = false
		m.frame++
		return m, m.scheduleTick()
	case pendingMsg:
		if m.pending != nil && m.pending.number == int(msg) {
			m.decidePending()
		}
		return m, nil
	case historyMsg:
		m.history.prependEarlier(msg)
		return m, nil
	}
	m.showEvent(msg)
	if m.leaving {
		return m, tea.Quit
	}
	return m, m.scheduleTick()
}

// spinnerPause is the time between two frames of the spinner.
const spinnerPause = 100 * time.Millisecond

// scheduleTick schedules the next frame while a turn runs or a decision is near.
func (m *model) scheduleTick() tea.Cmd {
	if m.ticking || len(m.running) == 0 {
		return nil
	}
	m.ticking = true
	return tea.Tick(spinnerPause, func(t time.Time) tea.Msg { return tickMsg(t) })
}

// showEvent shows something that happened outside the screen.
func (m *model) showEvent(msg tea.Msg) {
	switch msg := msg.(type) {
	case noteMsg:
		m.addBlock(&block{items: []*item{{kind: noteItem, note: msg.kind, text: msg.text}}})
	case askMsg:
		m.addCard(msg.card)
	case decidedMsg:
		m.closeCard(msg)
	case Status:
		m.status = msg
		m.dropDecided(msg)
	case turnMsg:
		m.showTurn(msg)
	}
}

func (m *model) showTurn(msg turnMsg) {
	b := m.blockOf(msg.turn)
	now := m.running[msg.turn]
	if now == nil {
		now = &activity{}
	}
	switch msg.what {
	case turnBegins:
		m.scroll = 0
		b.items = append(b.items, &item{kind: userItem, text: msg.text})
		m.running[msg.turn] = &activity{begun: time.Now(), what: "thinking"}
	case turnText:
		now.what = "answering"
		b.addText(msg.text)
	case turnEndsText:
		b.endText()
	case toolBegins:
		now.what = strings.ReplaceAll(oneLine(msg.name), "_", " ")
		b.toolOf(msg.id, msg.name)
	case toolArguments:
		it := b.toolOf(msg.id, msg.name)
		it.tool.arguments, it.stale = it.tool.arguments+msg.text, true
	case toolProgress:
		it := b.toolOf(msg.id, msg.name)
		it.tool.progress, it.stale = msg.text, true
	case toolEnds:
		now.what = "thinking"
		it := b.toolOf(msg.id, msg.name)
		t := it.tool
		t.name, t.done, t.failure, t.result, t.took = msg.name, true, msg.failure, msg.text, time.Since(t.begun)
		it.stale = true
	case turnEnds:
		b.endText()
		for _, it := range b.items {
			if it.kind == toolItem && !it.tool.done {
				it.tool.done, it.stale = true, true
			}
		}
		delete(m.running, msg.turn)
	}
}

func (m *model) addCard(c *card) {
	if slices.ContainsFunc(m.cards, func(o *card) bool { return o.request.ID == c.request.ID }) {
		return
	}
	m.cards = append(m.cards, c)
	if len(m.cards) == 1 {
		m.showCard()
	}
}

// showCard scrolls to the beginning of the first card.
func (m *model) showCard() {
	m.scroll = 0
	if len(m.cards) > 0 {
		m.scroll = max(0, len(m.cards[0].drawLines(max(m.width, 10), len(m.cards)-1, nil))-m.transcriptRows())
	}
}

// closeCard removes a card that was decided on this screen.
func (m *model) closeCard(d decidedMsg) {
	for i, c := range m.cards {
		if c.request.ID != d.id {
			continue
		}
		if d.err != nil {
			c.deciding, c.failure = false, "Your answer was not accepted: "+oneLine(d.err.Error())
			m.dropItem(c.line)
			return
		}
		if c.line != nil {
			c.line.text, c.line.stale = d.outcome, true
		}
		m.removeCard(i)
		return
	}
}

// removeCard removes a card.
func (m *model) removeCard(i int) {
	m.cards = slices.Delete(m.cards, i, i+1)
	if i == 0 {
		m.showCard()
	}
}

// addDecision adds a line about a decision to the block of the running turn or, if no turn runs, at
// the end of the transcript. It restarts the timers of running tools, so that the wait for the
// decision does not count.
func (m *model) addDecision(text string) *item {
	it := &item{kind: noteItem, note: Hint, text: text}
	first := m.oldestTurn()
	if first == 0 {
		m.addBlock(&block{items: []*item{it}})
		return it
	}
	b := m.blockOf(first)
	b.endText()
	for _, other := range b.items {
		if other.kind == toolItem && !other.tool.done {
			other.tool.begun = time.Now()
		}
	}
	b.items = append(b.items, it)
	return it
}

func (m *model) dropItem(it *item) {
	for _, b := range m.blocks {
		b.items = slices.DeleteFunc(b.items, func(o *item) bool { return o == it })
	}
}

// dropDecided removes the cards of requests that were decided elsewhere.
func (m *model) dropDecided(s Status) {
	if s.Pending == nil {
		return
	}
	for i := len(m.cards) - 1; i >= 0; i-- {
		c := m.cards[i]
		if c.created.Before(s.AsOf) && !c.deciding && !slices.Contains(s.Pending, c.request.ID) {
			m.removeCard(i)
			m.addDecision("Answered elsewhere or expired: " + c.sentence)
		}
	}
}

// sendInput passes an input to the caller. It reports whether there was room for it.
func (m *model) sendInput(in Input) bool {
	select {
	case m.ui.inputs <- in:
		return true
	default:
		m.showEvent(noteMsg{Failure, "Too many messages are waiting. Your text was kept; send it later."})
		return false
	}
}

// pressKey handles a key.
func (m *model) pressKey(k tea.KeyPressMsg) tea.Cmd {
	if k.Mod&^tea.ModShift == tea.ModAlt && unicode.IsPrint(k.Code) && k.Code < tea.KeyExtended {
		// A terminal sends Esc and a letter in the same way as Alt and the letter. The chat has no keys
		// with Alt and a letter, so that Esc never swallows the letter.
		cmd := m.handleKey(tea.KeyPressMsg{Code: tea.KeyEscape})
		r := k.Code
		if k.Mod.Contains(tea.ModShift) {
			r = unicode.ToUpper(r)
		}
		if k.ShiftedCode != 0 {
			r = k.ShiftedCode
		}
		return tea.Batch(cmd, m.handleKey(tea.KeyPressMsg{Code: k.Code, Text: string(r)}))
	}
	return m.handleKey(k)
}

func (m *model) handleKey(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	wasArmed := m.armed
	m.armed = false
	switch {
	case name == "ctrl+c":
		return m.pressInterrupt(wasArmed)
	case name == "ctrl+d" && m.input.Value() == "":
		return m.leaveChat()
	case name == "ctrl+z":
		return tea.Suspend
	case m.search != nil:
		return m.searchKey(k)
	case m.pending != nil:
		return m.pendingKey(k)
	case m.menu != nil && m.menuKey(name):
		return nil
	case m.cardKey(k):
		return m.delayDecision()
	}
	switch name {
	case "enter":
		return m.pressEnter()
	case "alt+enter", "shift+enter", "ctrl+enter", "ctrl+j":
		m.input.InsertString("\n")
		m.updateMenu()
	case "tab":
		m.completeWord()
	case "esc":
		m.menu = nil
		m.scroll = 0
	case "ctrl+r":
		m.search = &historySearch{before: m.input.Value(), at: len(m.history.entries)}
	case "ctrl+o":
		m.toggleTools()
	case "ctrl+l":
		return tea.ClearScreen
	case "pgup", "shift+up", "pgdown", "shift+down", "ctrl+home", "ctrl+end":
		m.scrollBy(name)
	case "up", "ctrl+p":
		if m.input.Line() > 0 {
			m.input.CursorUp()
		} else if s, ok := m.history.olderMessage(m.input.Value()); ok {
			m.setInput(s)
		}
	case "down", "ctrl+n":
		if m.input.Line() < m.input.LineCount()-1 {
			m.input.CursorDown()
		} else if s, ok := m.history.newerMessage(); ok {
			m.setInput(s)
		}
	default:
		var cmd tea.Cmd
		m.input, cmd = m.input.Update(k)
		m.updateMenu()
		return cmd
	}
	return nil
}

// pressInterrupt handles Ctrl-C: it clears the input, or stops the running answer, or leaves when it
// is pressed twice.
func (m *model) pressInterrupt(armed bool) tea.Cmd {
	m.pending = nil
	switch {
	case m.search != nil:
		m.setInput(m.search.before)
		m.search = nil
	case m.input.Value() != "":
		m.clearInput()
	case armed:
		return m.leaveChat()
	case len(m.running) > 0:
		m.armed = true
		m.sendInput(Input{Interrupt: true})
	default:
		m.armed = true
		m.showEvent(noteMsg{Hint, "Nothing is running. Press Ctrl-C again, or Ctrl-D, to leave."})
	}
	return nil
}

func (m *model) leaveChat() tea.Cmd {
	m.leaving = true
	return tea.Quit
}

func (m *model) toggleTools() {
	m.unfolded = !m.unfolded
	for _, b := range m.blocks {
		for _, it := range b.items {
			it.stale = it.stale || it.kind == toolItem
		}
	}
}

func (m *model) scrollBy(name string) {
	page := max(m.transcriptRows()-2, 1)
	switch name {
	case "pgup":
		m.scroll += page
	case "pgdown":
		m.scroll = max(0, m.scroll-page)
	case "shift+up":
		m.scroll++
	case "shift+down":
		m.scroll = max(0, m.scroll-1)
	case "ctrl+home":
		m.scroll = 1 << 30 // visibleLines limits it
	case "ctrl+end":
		m.scroll = 0
	}
}

// cardKey handles the keys of an approval request. It reports whether the key begins a decision or
// was used.
func (m *model) cardKey(k tea.KeyPressMsg) bool {
	if len(m.cards) == 0 || m.input.Value() != "" || k.Mod != 0 {
		return false
	}
	c := m.cards[0]
	switch k.Text {
	case "d":
		m.toggleDetails(c)
	case "y", "n":
		if !c.isReady(time.Now()) || k.Text == "y" && (m.scroll > 0 || c.needsReading()) {
			return false
		}
	default:
		return false
	}
	m.pending = &pendingDecision{number: m.nextDecision(), id: c.request.ID, key: k.Text}
	return true
}

// toggleDetails shows or hides the details of a request.
func (m *model) toggleDetails(c *card) {
	c.open, c.read = !c.open, c.read || !c.open
	m.showCard()
}

// nextDecision returns a number for a decision.
func (m *model) nextDecision() int {
	m.frame++
	return m.frame
}

// delayDecision schedules the decision that is pending, if any.
func (m *model) delayDecision() tea.Cmd {
	if m.pending == nil {
		return nil
	}
	n := m.pending.number
	return tea.Tick(decisionDelay, func(time.Time) tea.Msg { return pendingMsg(n) })
}

// pendingKey handles a key shortly after y or n: Enter confirms, and other keys cancel, because the
// user is then typing a message that begins with this letter.
func (m *model) pendingKey(k tea.KeyPressMsg) tea.Cmd {
	p := m.pending
	if k.String() == "enter" && p.key != "d" {
		m.decidePending()
		return nil
	}
	m.pending = nil
	switch {
	case k.Text == "" && p.key == "d":
		return m.handleKey(k)
	case k.Text == "":
		return nil
	}
	if p.key == "d" && len(m.cards) > 0 && m.cards[0].request.ID == p.id {
		m.toggleDetails(m.cards[0])
	}
	m.input.InsertString(p.key)
	return m.handleKey(k)
}

func (m *model) decidePending() {
	p := m.pending
	m.pending = nil
	for _, c := range m.cards {
		if p.key != "d" && c.request.ID == p.id && m.sendInput(Input{Decision: &Decision{Request: c.request, Approved: p.key == "y"}}) {
			c.deciding, c.failure = true, ""
			c.line = m.addDecision("Sending your answer: " + c.sentence)
		}
	}
}
